"""The ``vlen-utf8`` and ``vlen-bytes`` codecs: items of any length, each behind its length.

A chunk is the number of items, then for each item its length in bytes and its bytes; all numbers are unsigned
32-bit little-endian.  The layout is that of the codecs of the same names in format 2.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.codecs.base import ArrayBytesCodec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = ["VLenBytesCodec", "VLenUTF8Codec", "join_items", "split_items", "to_bytes", "to_utf8"]

_LENGTH = struct.Struct("<I")
_MAX_LENGTH = 2**32 - 1


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
        return self


@dataclass(frozen=True, kw_only=True)
class VLenUTF8Codec(_VLenCodec):
    """Strings of any length as UTF-8 (codec ``vlen-utf8`` of the Zarr extensions)."""

    name: ClassVar[str] = "vlen-utf8"

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        return join_items(chunk.ravel().tolist(), to_utf8, self.name)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        return _chunk(from_utf8(split_items(data, spec.size, self.name), self.name), spec)


@dataclass(frozen=True, kw_only=True)
class VLenBytesCodec(_VLenCodec):
    """Byte strings of any length (codec ``vlen-bytes`` of the Zarr extensions)."""

    name: ClassVar[str] = "vlen-bytes"

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        return join_items(chunk.ravel().tolist(), to_bytes, self.name)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        return _chunk(split_items(data, spec.size, self.name), spec)


def join_items(items: Iterable[Any], to_item: Callable[[Any], bytes], codec: str) -> bytes:
    """The encoding of `items`, each turned into bytes by `to_item`."""
    parts = [b""]
    for index, item in enumerate(items):
        try:
            encoded = to_item(item)
        except (TypeError, UnicodeError) as error:
            raise ChunkEncodeError(f"item {index}: {error}", codec=codec) from error
        if len(encoded) > _MAX_LENGTH:
            raise ChunkEncodeError(f"item {index} has {len(encoded)} bytes, at most 2**32-1 fit", codec=codec)
        parts += (_LENGTH.pack(len(encoded)), encoded)
    count = len(parts) // 2
    if count > _MAX_LENGTH:
        raise ChunkEncodeError(f"{count} items, at most 2**32-1 fit", codec=codec)
    parts[0] = _LENGTH.pack(count)
    return b"".join(parts)


def split_items(data: Buffer, count: int, codec: str) -> list[bytes]:
    """The `count` items that `data` holds; every length is checked before it is used."""
    buffer = bytes(data)
    size = len(buffer)
    if size < 4:
        raise ChunkDecodeError(f"expected the number of items, got {size} bytes", codec=codec)
    (found,) = _LENGTH.unpack_from(buffer)
    if found != count:
        raise ChunkDecodeError(f"expected {count} items, the chunk says {found}", codec=codec)
    if size < 4 + 4 * count:
        raise ChunkDecodeError(f"{size} bytes cannot hold {count} items", codec=codec)
    items: list[bytes] = []
    position = 4
    for index in range(count):
        start = position + 4
        if start > size:
            raise ChunkDecodeError(f"the chunk ends before item {index} of {count}", codec=codec)
        position = start + _LENGTH.unpack_from(buffer, start - 4)[0]
        if position > size:
            reason = f"item {index} has {position - start} bytes at {start}, the chunk ends at {size}"
            raise ChunkDecodeError(reason, codec=codec)
        items.append(buffer[start:position])
    if position != size:
        raise ChunkDecodeError(f"{size - position} bytes follow the last item", codec=codec)
    return items


def from_utf8(items: Sequence[bytes], codec: str) -> list[str]:
    """`items` as strings; anything but UTF-8 is refused."""
    try:
        return [item.decode() for item in items]
    except UnicodeDecodeError as error:
        raise ChunkDecodeError(f"an item is not UTF-8: {error}", codec=codec) from error


def to_utf8(item: Any) -> bytes:
    """A string as UTF-8.  None and 0, which stand for items never set in object arrays, are empty."""
    if isinstance(item, str):
        return item.encode()
    if item is None or _is_zero(item):
        return b""
    raise TypeError(f"expected a string, got {type(item).__name__} {item!r}")


def to_bytes(item: Any) -> bytes:
    """A bytes-like item as bytes.  None and 0, which stand for items never set, are empty."""
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    if item is None or _is_zero(item):
        return b""
    raise TypeError(f"expected bytes, got {type(item).__name__} {item!r}")


def _is_zero(item: Any) -> bool:
    return isinstance(item, (int, np.integer)) and item == 0


def _chunk(items: Sequence[Any], spec: ArraySpec) -> np.ndarray:
    flat = np.empty(len(items), object)
    flat[:] = items
    return flat.reshape(spec.shape).astype(spec.np_dtype, copy=False)
