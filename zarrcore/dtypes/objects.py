"""Items that are Python objects in format 2: those of variable length, JSON, ragged arrays, pickles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore.dtypes.base import JSON, DTypeJSON, HasObjectCodec, ZarrFormat, ZDType
from zarrcore.dtypes.spelling import check_dtype_spec_v2
from zarrcore.errors import DataTypeValidationError

OBJECT_CODEC_IDS = tuple(
    "vlen-utf8 vlen-bytes vlen-array json2 msgpack2 categorize pickle json msgpack".split()
)
"""Codecs that turn Python objects into bytes, by their Zarr v2 identifiers."""


def object_codec_id(ids: Iterable[str | None]) -> str | None:
    """Return the first id, of the filters and the compressor of format 2, that determines the items."""
    found = next((name for name in ids if name in OBJECT_CODEC_IDS), None)
    return "vlen-utf8" if found == "categorize" else found  # categories of objects are strings


class VariableLength(ZDType[Any, Any], HasObjectCodec):
    """A data type named by one word in format 3, and by ``"|O"`` with an object codec in format 2."""

    _v2_kinds: ClassVar[tuple[str, ...] | None] = ("O",)

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        expected = {"name": "|O", "object_codec_id": cls.object_codec_id}
        if data != expected:
            raise cls._reject_json(data, repr(expected))
        return cls()

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 2:
            return {"name": "|O", "object_codec_id": self.object_codec_id}
        return self._zarr_v3_name


@dataclass(frozen=True, kw_only=True)
class PythonObject(ZDType[Any, Any], name="python_object"):
    """Python objects of any kind (format 2 only: ``"|O"`` with an object codec).

    Parameters
    ----------
    object_codec_id : str
        The codec that turns items into bytes.  Whether it may be used is decided elsewhere: unpickling runs
        code.

    Examples
    --------
    >>> zdtype = PythonObject(object_codec_id="json2")
    >>> zdtype.to_json(zarr_format=2)
    {'name': '|O', 'object_codec_id': 'json2'}
    """

    object_codec_id: str

    dtype_cls = np.dtypes.ObjectDType
    _v2_kinds: ClassVar[tuple[str, ...] | None] = ("O",)

    def __post_init__(self) -> None:
        if self.object_codec_id not in OBJECT_CODEC_IDS[2:]:
            known = ", ".join(OBJECT_CODEC_IDS[2:])
            raise DataTypeValidationError(f"unknown object codec {self.object_codec_id!r}; known are {known}")

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        # The NumPy dtype does not determine the codec.
        raise cls._reject_native(dtype)

    def to_native_dtype(self) -> Any:
        return np.dtype("O")

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        if not check_dtype_spec_v2(data) or data["name"] != "|O" or data["object_codec_id"] is None:
            raise cls._reject_json(data, "'|O' and an object codec")
        return cls(object_codec_id=data["object_codec_id"])

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        raise cls._reject_json(data, "Zarr format 2")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            raise DataTypeValidationError("Python objects cannot be stored in Zarr format 3")
        return {"name": "|O", "object_codec_id": self.object_codec_id}

    def cast_scalar(self, data: object) -> Any:
        """Return `data` unchanged."""
        return data

    def default_scalar(self) -> None:
        return None

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return data

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> JSON:
        if isinstance(data, (np.generic, np.ndarray)):
            return data.tolist()
        return data
