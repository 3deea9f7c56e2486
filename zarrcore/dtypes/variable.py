"""What data types share whose items vary in length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.dtypes.base import HasObjectCodec, ZDType
from zarrcore.dtypes.spelling import check_dtype_spec_v2

if TYPE_CHECKING:
    from typing import ClassVar, Self

    from zarrcore.dtypes.base import DTypeJSON, ZarrFormat


class VariableLength(ZDType[Any, Any], HasObjectCodec):
    """A data type named by one word in format 3, and by ``"|O"`` with an object codec in format 2."""

    _v2_kinds: ClassVar[tuple[str, ...] | None] = ("O",)

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        expected = {"name": "|O", "object_codec_id": cls.object_codec_id}
        if not check_dtype_spec_v2(data) or dict(data) != expected:
            raise cls._reject_json(data, repr(expected))
        return cls()

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 2:
            return {"name": "|O", "object_codec_id": self.object_codec_id}
        return self._zarr_v3_name
