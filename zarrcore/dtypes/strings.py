"""Text: fixed-length UTF-32 and variable-length UTF-8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.dtypes.base import (
    HasEndianness,
    HasItemSize,
    HasLength,
    ZDType,
    check_item_size,
    endianness_of,
    order_char,
)
from zarrcore.dtypes.scalars import is_zero, unboxed
from zarrcore.dtypes.spelling import config_v3, type_string_v2
from zarrcore.dtypes.variable import VariableLength

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.dtypes.base import JSON, DTypeJSON, ZarrFormat


class _Text(ZDType[Any, Any]):
    """What both data types share: fill values in documents."""

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        if not isinstance(data, str) and not (zarr_format == 2 and is_zero(data)):
            raise self._reject_scalar(data, "a string")
        return self.cast_scalar(data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> str:
        return str(self.cast_scalar(data))


@dataclass(frozen=True, kw_only=True)
class FixedLengthUTF32(_Text, HasEndianness, HasLength, HasItemSize):
    """Strings of at most `length` code points, four bytes each (``fixed_length_utf32``, ``"<U4"``)."""

    dtype_cls = np.dtypes.StrDType
    _zarr_v3_name: ClassVar[str] = "fixed_length_utf32"
    _v2_kinds: ClassVar[tuple[str, ...] | None] = ("U",)
    code_point_bytes: ClassVar[int] = 4

    def __post_init__(self) -> None:
        HasEndianness.__post_init__(self)
        check_item_size(check_item_size(self.length) * self.code_point_bytes)

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(length=dtype.itemsize // cls.code_point_bytes, endianness=endianness_of(dtype))

    def to_native_dtype(self) -> Any:
        return np.dtype(f"{order_char(self)}U{self.length}")

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        order, _, length, *_ = type_string_v2(cls, data, "U", "a string such as '<U4'")
        if order == "|":
            raise cls._reject_json(data["name"], "a byte order, '<' or '>'")
        return cls(length=length, endianness="little" if order == "<" else "big")

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        (nbytes,) = config_v3(cls, data, "length_bytes")
        if check_item_size(nbytes) % cls.code_point_bytes:
            raise cls._reject_json(data, "length_bytes to be a multiple of 4")
        return cls(length=nbytes // cls.code_point_bytes)

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 2:
            return {"name": self.to_native_dtype().str, "object_codec_id": None}
        return {"name": self._zarr_v3_name, "configuration": {"length_bytes": self.item_size}}

    def cast_scalar(self, data: object) -> np.str_:
        """Return `data` as a string of at most `length` code points."""
        data = unboxed(data)
        if is_zero(data):
            return self.default_scalar()
        if not isinstance(data, str):
            raise self._reject_scalar(data, "a string")
        text = data.rstrip("\0")
        if len(text) > self.length:
            raise self._reject_range(data, f"at most {self.length} code points")
        return np.str_(text)

    def default_scalar(self) -> np.str_:
        return np.str_("")

    @property
    def item_size(self) -> int:
        return self.length * self.code_point_bytes


@dataclass(frozen=True, kw_only=True)
class VariableLengthUTF8(_Text, VariableLength):
    """Strings of any length (``string``; format 2: ``"|O"`` with the object codec ``vlen-utf8``)."""

    dtype_cls = np.dtypes.StringDType
    _zarr_v3_name: ClassVar[str] = "string"
    object_codec_id: ClassVar[str] = "vlen-utf8"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return super()._check_native_dtype(dtype) and not hasattr(dtype, "na_object")

    def to_native_dtype(self) -> Any:
        return np.dtypes.StringDType()

    def cast_scalar(self, data: object) -> str:
        """Return `data` as a string that UTF-8 can encode."""
        data = unboxed(data)
        if is_zero(data):
            return ""
        if not isinstance(data, str):
            raise self._reject_scalar(data, "a string")
        try:
            data.encode()
        except UnicodeEncodeError:
            raise self._reject_range(data, "text without lone surrogates") from None
        return str(data)

    def default_scalar(self) -> str:
        return ""


TYPES = (FixedLengthUTF32, VariableLengthUTF8)
