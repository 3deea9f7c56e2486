"""The ``bytes`` codec: items one after the other in C order, in either byte order."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._validate import choice
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.errors import ChunkDecodeError, MetadataValidationError


class Endian(StrEnum):
    """Byte order of items; the plain strings do as well.

    Examples
    --------
    >>> BytesCodec(endian=Endian.big) == BytesCodec(endian="big")
    True
    """

    little = "little"
    big = "big"


@dataclass(frozen=True, kw_only=True)
class BytesCodec(ArrayBytesCodec):
    """Items as they are in memory, in little-endian or big-endian byte order (Zarr v3, codec ``bytes``).

    Parameters
    ----------
    endian : {"little", "big"} or None
        Byte order.  None is right only for data types without one.

    Examples
    --------
    >>> BytesCodec(endian="big").to_json()
    {'name': 'bytes', 'configuration': {'endian': 'big'}}
    """

    name: ClassVar[str] = "bytes"
    is_fixed_size: ClassVar[bool] = True
    endian: str | None = sys.byteorder

    def __post_init__(self) -> None:
        if self.endian is not None:
            object.__setattr__(self, "endian", choice(self.endian, "endian", ("little", "big")))

    @classmethod
    def from_json(cls, configuration: Any) -> Self:
        # A document is read on any machine: without the member there is no byte order.
        return super().from_json({"endian": None, **configuration})

    def to_json(self) -> dict[str, Any]:
        if self.endian is None:
            return {"name": self.name}
        return {"name": self.name, "configuration": {"endian": self.endian}}

    def resolve(self, spec: ArraySpec) -> Self:
        from zarrcore.dtypes import swap_fields

        if spec.item_size is None:
            raise MetadataValidationError(
                f"the bytes codec needs items of a fixed size, the data type {spec.dtype!r} has none"
            )
        if not swap_fields(spec.dtype):
            return self if self.endian is None else replace(self, endian=None)
        if self.endian is None:
            if spec.np_dtype.names is None:
                raise MetadataValidationError(
                    f'expected "little" or "big" for the data type {spec.dtype!r}, it is missing',
                    where="configuration.endian",
                )
            return replace(self, endian="little")  # what writers of structs without a byte order meant
        return self

    def encoded_size(self, spec: ArraySpec) -> int | None:
        return spec.nbytes

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        return contiguous_bytes(chunk, self._stored_dtype(spec))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        chunk = from_bytes(data, self._stored_dtype(spec), spec)
        if _has_unused_bits(spec):
            # In one dimension, since NumPy makes no view of another item size of an array without dimensions.
            mask = np.uint8((1 << spec.dtype.bits) - 1)  # type: ignore[attr-defined]
            octets = chunk.reshape(-1).view(np.uint8) & mask
            return octets.view(spec.np_dtype).reshape(spec.shape)
        return chunk.astype(spec.np_dtype, copy=False)

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        if spec.item_size is None:
            return None
        if _has_unused_bits(spec):
            return ("bytes", 0), ("stage", "low_bits", {"bits": spec.dtype.bits})  # type: ignore[attr-defined]
        return (("bytes", byte_swap(spec, self.endian)),)

    def _stored_dtype(self, spec: ArraySpec) -> np.dtype[Any]:
        return spec.np_dtype if self.endian is None else spec.np_dtype.newbyteorder(self.endian)  # type: ignore[arg-type]


def contiguous_bytes(chunk: np.ndarray, dtype: np.dtype[Any]) -> bytes:
    """Return the items of `chunk` as `dtype`, one after the other in C order."""
    return np.ascontiguousarray(chunk, dtype).tobytes()


def from_bytes(data: Buffer, dtype: np.dtype[Any], spec: ArraySpec) -> np.ndarray:
    """Return a read-only view of `data` as a chunk of the shape of `spec`."""
    found = memoryview(data).nbytes
    if found != spec.nbytes:
        raise ChunkDecodeError(f"expected {spec.nbytes} bytes, got {found}", codec="bytes")
    if spec.nbytes == 0:
        return np.empty(spec.shape, dtype)
    return np.frombuffer(data, np.uint8).view(dtype).reshape(spec.shape)


def byte_swap(spec: ArraySpec, endian: str | None) -> int | tuple[tuple[int, int, int], ...]:
    """Return what the engine has to swap between memory and storage in `endian` order.

    Returns
    -------
    int or tuple of (offset, word, count)
        0 for nothing, the word size where an item is nothing but such words, else the words of an item.
    """
    from zarrcore.dtypes import swap_fields

    if endian is None or spec.np_dtype.newbyteorder(endian) == spec.np_dtype:  # type: ignore[arg-type]
        return 0
    fields = tuple(swap_fields(spec.dtype))
    if len(fields) == 1:
        offset, word, count = fields[0]
        if offset == 0 and word * count == spec.item_size:
            return word
    return fields


def _has_unused_bits(spec: ArraySpec) -> bool:
    """Return whether stored items may have bits that must be ignored, and that ml_dtypes does not ignore.

    Those above the 4 or 6 bits of a floating-point number; integers of 2 and 4 bits are right as they come.
    """
    if spec.np_dtype.kind != "V":
        return False
    from zarrcore.dtypes.base import ExtensionType

    return isinstance(spec.dtype, ExtensionType) and spec.dtype.bits < 8 and not spec.dtype.is_integer
