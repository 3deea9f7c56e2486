"""The ``vlen-utf8`` and ``vlen-bytes`` codecs: items of any length, each after its length.

A chunk is the number of items, then for each item its length in bytes and its bytes; all numbers are unsigned
32-bit little-endian.  The layout is that of the codecs of the same names in format 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.codecs.base import ArrayBytesCodec
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer


@dataclass(frozen=True, kw_only=True)
class _VLenCodec(ArrayBytesCodec):
    """What the two codecs have in common."""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "configuration": {}}

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is not None:
            raise MetadataValidationError(
                f"the {self.name} codec needs items of variable length, the data type is {spec.dtype!r}"
            )
        own = getattr(spec.dtype, "object_codec_id", None)
        if own not in (None, self.name):
            raise MetadataValidationError(
                f"the data type {spec.dtype!r} goes with the {own} codec, not {self.name}"
            )
        return self


@dataclass(frozen=True, kw_only=True)
class VLenUTF8Codec(_VLenCodec):
    """Strings of any length as UTF-8 (codec ``vlen-utf8`` of the Zarr extensions)."""

    name: ClassVar[str] = "vlen-utf8"
    takes_text: ClassVar[bool] = True

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        return encode_strings(chunk, self.name)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        return decode_strings(data, spec.size, spec.np_dtype, self.name).reshape(spec.shape)

    def decode_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> bool:
        return decode_strings_into(data, out, self.name)


@dataclass(frozen=True, kw_only=True)
class VLenBytesCodec(_VLenCodec):
    """Byte strings of any length (codec ``vlen-bytes`` of the Zarr extensions)."""

    name: ClassVar[str] = "vlen-bytes"

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        return encode_binary(chunk, self.name)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        items = decode_binary(data, spec.size, self.name)
        return items.reshape(spec.shape).astype(spec.np_dtype, copy=False)

    def decode_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> bool:
        return decode_binary_into(data, out, self.name)


def encode_strings(items: np.ndarray, codec: str) -> bytes:
    """Return the encoding of strings, in C order."""
    from zarrcore._core import vlen

    return vlen.encode(items, codec, _to_utf8, utf8=True)


def decode_strings(data: Buffer, count: int, dtype: np.dtype[Any], codec: str) -> np.ndarray:
    """Return the `count` strings in `data`; anything but UTF-8 is refused.

    Returns
    -------
    numpy.ndarray
        One-dimensional, of `dtype` if that is a ``StringDType``, else of objects.
    """
    from zarrcore._core import vlen

    return vlen.decode(data, count, dtype if dtype.kind == "T" else np.dtype(object), codec, utf8=True)


def decode_strings_into(data: Buffer, out: np.ndarray, codec: str) -> bool:
    """Put the strings of `data` into `out` in C order; False if its data type cannot have them."""
    from zarrcore._core import vlen

    if out.dtype.kind not in "TO" or not out.flags.aligned:
        return False
    vlen.decode_into(data, out, codec, utf8=True)
    return True


def encode_binary(items: np.ndarray, codec: str) -> bytes:
    """Return the encoding of bytes-like items, in C order."""
    from zarrcore._core import vlen

    return vlen.encode(items, codec, _to_bytes, utf8=False)


def decode_binary(data: Buffer, count: int, codec: str) -> np.ndarray:
    """Return the `count` byte strings in `data`, as a one-dimensional array of objects."""
    from zarrcore._core import vlen

    return vlen.decode(data, count, np.dtype(object), codec, utf8=False)


def decode_binary_into(data: Buffer, out: np.ndarray, codec: str) -> bool:
    """Put the byte strings of `data` into `out` in C order; False if it takes no objects."""
    from zarrcore._core import vlen

    if out.dtype.kind != "O" or not out.flags.aligned:
        return False
    vlen.decode_into(data, out, codec, utf8=False)
    return True


def _to_utf8(item: Any) -> bytes:
    """Return a string as UTF-8.  None and 0, which stand for items never set in object arrays, are empty."""
    if isinstance(item, str):
        return item.encode()
    if item is None or _is_zero(item):
        return b""
    raise TypeError(f"expected a string, got {type(item).__name__} {item!r}")


def _to_bytes(item: Any) -> bytes:
    """Return a bytes-like item as bytes.  None and 0, which stand for items never set, are empty."""
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    if item is None or _is_zero(item):
        return b""
    raise TypeError(f"expected bytes, got {type(item).__name__} {item!r}")


def _is_zero(item: Any) -> bool:
    return isinstance(item, (int, np.integer)) and item == 0
