"""The Boolean data type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.dtypes.base import HasItemSize, ZDType, is_native_kind
from zarrcore.dtypes.scalars import is_integer
from zarrcore.dtypes.spelling import plain_v3, type_string_v2

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.dtypes.base import JSON, DTypeJSON, ZarrFormat

__all__ = ["TYPES", "Bool"]


@dataclass(frozen=True, kw_only=True)
class Bool(ZDType[np.dtypes.BoolDType, np.bool_], HasItemSize):
    """Boolean values, one byte each (``bool``, ``"|b1"``)."""

    dtype_cls = np.dtypes.BoolDType
    _zarr_v3_name: ClassVar[str] = "bool"
    _v2_kinds: ClassVar[tuple[str, ...] | None] = ("b1",)

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return is_native_kind(dtype, "b", 1)

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        if not cls._check_native_dtype(dtype):
            raise cls._reject_native(dtype)
        return cls()

    def to_native_dtype(self) -> np.dtype[np.bool_]:
        return np.dtype("?")

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        if type_string_v2(cls, data, "b", "'|b1'").size != 1:
            raise cls._reject_json(data["name"], "'|b1'")
        return cls()

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        plain_v3(cls, data)
        return cls()

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        return {"name": "|b1", "object_codec_id": None} if zarr_format == 2 else self._zarr_v3_name

    def cast_scalar(self, data: object) -> np.bool_:
        """Return `data` as a Boolean; numbers must be 0 or 1."""
        if isinstance(data, np.ndarray) and data.ndim == 0:
            data = data[()]
        if not isinstance(data, (bool, int, float, np.bool_, np.integer, np.floating)):
            raise self._reject_scalar(data, "a Boolean")
        if data != 0 and data != 1:
            raise self._reject_range(data, "True, False, 1 or 0")
        return np.bool_(data)

    def default_scalar(self) -> np.bool_:
        return np.False_

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.bool_:
        if isinstance(data, (bool, np.bool_)):
            return np.bool_(data)
        # Writers of format 2 from outside NumPy left numbers.
        if zarr_format == 2 and (is_integer(data) or isinstance(data, float)) and data in (0, 1):
            return np.bool_(data)
        raise self._reject_scalar(data, "true or false")

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> bool:
        return bool(self.cast_scalar(data))


TYPES = (Bool,)
