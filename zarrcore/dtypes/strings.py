"""Text and bytes, of fixed and of variable length."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._typing import JSON, DTypeJSON, ZarrFormat
from zarrcore.dtypes.base import (
    HasEndianness,
    HasItemSize,
    HasLength,
    ZDType,
    check_item_size,
    endianness_of,
    order_char,
)
from zarrcore.dtypes.objects import VariableLength
from zarrcore.dtypes.scalars import bytes_from_json, bytes_to_json, is_byte_list, is_zero, unboxed
from zarrcore.dtypes.spelling import config_v3, type_string_v2

_RAW_BITS = r"r([1-9]\d{0,10})"


class _FixedLength(ZDType[Any, Any], HasLength, HasItemSize):
    """What items of `length` units share: of the NumPy kind ``_code``, each unit of `_unit` bytes."""

    _unit: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_item_size(check_item_size(self.length) * self._unit)

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls._with(endianness_of(dtype), length=dtype.itemsize // cls._unit)

    def to_native_dtype(self) -> Any:
        return np.dtype(f"{order_char(self)}{self._code}{self.length}")

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        parts = type_string_v2(cls, data)
        return cls._with(parts.endianness, length=parts.size)

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        (nbytes,) = config_v3(cls, data, "length_bytes")
        if check_item_size(nbytes) % cls._unit:
            raise cls._reject_json(data, f"length_bytes to be a multiple of {cls._unit}")
        return cls(length=nbytes // cls._unit)  # pyright: ignore[reportCallIssue]

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 2:
            return {"name": f"{order_char(self)}{self._code}{self.length}", "object_codec_id": None}
        return {"name": self._zarr_v3_name, "configuration": {"length_bytes": self.item_size}}

    @property
    def item_size(self) -> int:
        return self.length * self._unit


# --- text ---


class _Text(ZDType[Any, Any]):
    """What both data types share: fill values in documents."""

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        if not isinstance(data, str) and not (zarr_format == 2 and is_zero(data)):
            raise self._reject_scalar(data, "a string")
        return self.cast_scalar(data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> str:
        return str(self.cast_scalar(data))


@dataclass(frozen=True, kw_only=True)
class FixedLengthUTF32(_Text, HasEndianness, _FixedLength, code="U", name="fixed_length_utf32"):
    """Strings of at most `length` code points, four bytes each (``fixed_length_utf32``, ``"<U4"``).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype=FixedLengthUTF32(length=4))
    >>> array[:] = ["ab", "grün"]
    >>> array[:].tolist()
    ['ab', 'grün']
    >>> array.metadata.to_dict()["data_type"]
    {'name': 'fixed_length_utf32', 'configuration': {'length_bytes': 16}}
    """

    code_point_bytes: ClassVar[int] = 4
    _unit: ClassVar[int] = code_point_bytes

    def __post_init__(self) -> None:
        HasEndianness.__post_init__(self)
        _FixedLength.__post_init__(self)

    def cast_scalar(self, data: object) -> np.str_:
        """Return `data` as a string of at most `length` code points."""
        data = unboxed(data)
        if is_zero(data):
            return np.str_("")
        if not isinstance(data, str):
            raise self._reject_scalar(data, "a string")
        text = data.rstrip("\0")
        if len(text) > self.length:
            raise self._reject_range(data, f"at most {self.length} code points")
        return np.str_(text)


@dataclass(frozen=True, kw_only=True)
class VariableLengthUTF8(_Text, VariableLength, name="string"):
    """Strings of any length (``string``; format 2: ``"|O"`` with the object codec ``vlen-utf8``).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype=VariableLengthUTF8())
    >>> array[0] = "any length"
    >>> array[:].tolist()
    ['any length', '']
    """

    dtype_cls = np.dtypes.StringDType
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


# --- bytes ---


def _as_bytes(zdtype: ZDType[Any, Any], data: object, expected: str = "bytes") -> bytes:
    """Return what is bytes-like as bytes; 0 is no bytes."""
    if is_zero(data):
        return b""
    item: Any = unboxed(data)
    if isinstance(item, (np.void, bytes, bytearray, memoryview)):
        return bytes(item)
    raise zdtype._reject_scalar(data, expected)


@dataclass(frozen=True, kw_only=True)
class NullTerminatedBytes(_FixedLength, code="S", name="null_terminated_bytes"):
    """Byte strings of at most `length` bytes; zero bytes at the end do not count (``"|S4"``).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype=NullTerminatedBytes(length=4), zarr_format=2)
    >>> array[:] = [b"ab", b"abcd"]
    >>> array[:].tolist(), array.metadata.to_dict()["dtype"]
    ([b'ab', b'abcd'], '|S4')
    """

    def cast_scalar(self, data: object) -> np.bytes_:
        """Return `data`, bytes or ASCII text, as a byte string of at most `length` bytes."""
        if isinstance(data, str) and data.isascii():
            data = data.encode()
        value = _as_bytes(self, data, "bytes, or ASCII text").rstrip(b"\0")
        if len(value) > self.length:
            raise self._reject_range(data, f"at most {self.length} bytes")
        return np.bytes_(value)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.bytes_:
        if zarr_format == 2 and (is_zero(data) or data == "\0"):  # as NumPy and netCDF characters are written
            return self.cast_scalar(0)
        return self.cast_scalar(bytes_from_json(self, data))

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> str:
        return bytes_to_json(self.cast_scalar(data))


@dataclass(frozen=True, kw_only=True)
class RawBytes(_FixedLength, code="V", name="raw_bytes"):
    """Items of `length` bytes without a meaning (``raw_bytes``, ``r<N>``, ``"|V4"``).

    Parameters
    ----------
    length : int
        Bytes of an item.
    spelling : {"raw_bytes", "r"}, optional
        The name in format 3: ``"r"`` for ``r<8 * length>`` of the core specification.  zarr-python knows only
        the other.  A document that is read keeps its own.

    Examples
    --------
    >>> RawBytes(length=4).to_json(zarr_format=3)
    {'name': 'raw_bytes', 'configuration': {'length_bytes': 4}}
    >>> RawBytes(length=4, spelling="r").to_json(zarr_format=3)
    'r32'
    """

    spelling: Literal["raw_bytes", "r"] = field(default="raw_bytes", compare=False, repr=False)

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return dtype.type is np.void and dtype.fields is None and dtype.subdtype is None

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        if isinstance(data, str):
            bits = re.fullmatch(_RAW_BITS, data, re.ASCII)
            if bits is None or int(bits[1]) % 8:
                raise cls._reject_json(
                    data, "'r<N>' where N is a multiple of 8, or 'raw_bytes' with length_bytes"
                )
            return cls(length=int(bits[1]) // 8, spelling="r")
        return super()._from_json_v3(data)

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3 and self.spelling == "r":
            return f"r{8 * self.length}"
        return super().to_json(zarr_format)

    def _item(self, value: bytes) -> np.void:
        item: np.void = np.frombuffer(value.ljust(self.length, b"\0"), dtype=self.to_native_dtype())[0]
        return item

    def cast_scalar(self, data: object) -> np.void:
        """Return `data` as an item, padded with zeros to `length` bytes."""
        if is_byte_list(data):
            data = bytes(data)
        elif isinstance(data, str) and data.isascii():
            data = data.encode()
        value = _as_bytes(self, data)
        if len(value) > self.length:
            raise self._reject_range(data, f"at most {self.length} bytes")
        return self._item(value)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.void:
        if zarr_format == 2 and is_zero(data):
            return self.cast_scalar(0)
        value = bytes_from_json(self, data)
        if len(value) > self.length or (zarr_format == 3 and len(value) < self.length):
            raise self._reject_range(data, f"{self.length} bytes")
        return self._item(value)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> str | list[int]:
        value = self.cast_scalar(data).tobytes()
        return list(value) if zarr_format == 3 and self.spelling == "r" else bytes_to_json(value)


@dataclass(frozen=True, kw_only=True)
class VariableLengthBytes(VariableLength, name="variable_length_bytes"):
    """Byte strings of any length (``bytes``; format 2: ``"|O"`` with the object codec ``vlen-bytes``).

    Parameters
    ----------
    spelling : {"variable_length_bytes", "bytes", "binary"}, optional
        The name in format 3: that of zarr-python, that of the registered extension, or an older one of zarrs.
        A document that is read keeps its own.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype=VariableLengthBytes())
    >>> array[0] = b"any length"
    >>> array[:].tolist()
    [b'any length', b'']
    """

    spelling: Literal["variable_length_bytes", "bytes", "binary"] = field(
        default="variable_length_bytes", compare=False, repr=False
    )

    dtype_cls = np.dtypes.ObjectDType
    _other_v3_names: ClassVar[tuple[str, ...]] = ("bytes", "binary")
    object_codec_id: ClassVar[str] = "vlen-bytes"

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        super()._from_json_v3(data)
        return cls(spelling=data)

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        return self.spelling if zarr_format == 3 else super().to_json(zarr_format)

    def to_native_dtype(self) -> Any:
        return np.dtype("O")

    def cast_scalar(self, data: object) -> bytes:
        """Return `data`, bytes or text (encoded as UTF-8), as a byte string."""
        return data.encode() if isinstance(data, str) else _as_bytes(self, data)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> bytes:
        if zarr_format == 2 and is_zero(data):
            return b""
        return bytes_from_json(self, data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> str:
        return bytes_to_json(self.cast_scalar(data))
