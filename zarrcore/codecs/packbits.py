"""The ``packbits`` codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import choice, integer
from zarrcore.codecs.base import ArrayBytesCodec
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = ["PackBitsCodec"]

_PADDING = ("none", "first_byte", "last_byte")


@dataclass(frozen=True, kw_only=True)
class PackBitsCodec(ArrayBytesCodec):
    """Some bits of each item without gaps, lowest first (codec ``packbits`` of the Zarr extensions).

    Parameters
    ----------
    padding_encoding : {"none", "first_byte", "last_byte"}
        Where the number of unused bits of the last byte is recorded, in a byte of its own.
    first_bit, last_bit : int, optional
        The bits of each item that are kept.  Default: all that the data type has (one for ``bool``).
    """

    name: ClassVar[str] = "packbits"
    is_fixed_size: ClassVar[bool] = True
    padding_encoding: str = "none"
    first_bit: int | None = None
    last_bit: int | None = None

    def __post_init__(self) -> None:
        choice(self.padding_encoding, "padding_encoding", _PADDING)
        for name in ("first_bit", "last_bit"):
            if getattr(self, name) is not None:
                integer(getattr(self, name), name, 0, 63)

    def to_json(self) -> dict[str, Any]:
        configuration: dict[str, Any] = {"padding_encoding": self.padding_encoding}
        configuration |= {k: v for k in ("first_bit", "last_bit") if (v := getattr(self, k)) is not None}
        return {"name": self.name, "configuration": configuration}

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or spec.np_dtype.kind not in "biu":
            raise MetadataValidationError(
                f"the packbits codec needs Boolean or integer items, the data type is {spec.dtype!r}"
            )
        first, last = self._bits(spec)
        width = 1 if spec.np_dtype.kind == "b" else 8 * spec.item_size
        if not first <= last < width:
            raise MetadataValidationError(
                f"expected first_bit <= last_bit < {width}, got {first} and {last}", where="configuration"
            )
        return self

    def encoded_size(self, spec: ArraySpec) -> int | None:
        first, last = self._bits(spec)
        return -(-spec.size * (last - first + 1) // 8) + (self.padding_encoding != "none")

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        first, last = self._bits(spec)
        items = np.ascontiguousarray(chunk).reshape(-1)
        if items.dtype.kind == "b":
            bits = items.view(np.uint8)[:, None]
        else:
            raw = items.astype(items.dtype.newbyteorder("<")).view(np.uint8).reshape(items.size, -1)
            bits = np.unpackbits(raw, axis=1, bitorder="little")[:, first : last + 1]
        packed = np.packbits(bits.reshape(-1), bitorder="little").tobytes()
        padding = bytes([-bits.size % 8])
        if self.padding_encoding == "first_byte":
            return padding + packed
        return packed + padding if self.padding_encoding == "last_byte" else packed

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        first, last = self._bits(spec)
        packed = np.frombuffer(data, np.uint8)
        if packed.size != self.encoded_size(spec):
            raise ChunkDecodeError(
                f"expected {self.encoded_size(spec)} bytes, got {packed.size}", codec=self.name
            )
        count = spec.size * (last - first + 1)
        if self.padding_encoding != "none":
            at_start = self.padding_encoding == "first_byte"
            padding, packed = (packed[0], packed[1:]) if at_start else (packed[-1], packed[:-1])
            if padding != -count % 8:
                raise ChunkDecodeError(
                    f"expected {-count % 8} bits of padding, got {padding}", codec=self.name
                )
        bits = np.unpackbits(packed, count=count, bitorder="little").reshape(spec.size, last - first + 1)
        return self._items(bits, spec, first).reshape(spec.shape)

    def _items(self, bits: np.ndarray, spec: ArraySpec, first: int) -> np.ndarray:
        dtype = spec.np_dtype
        if dtype.kind == "b":
            return bits.reshape(-1).view(np.bool_)
        width = 8 * dtype.itemsize
        full = np.zeros((spec.size, width), np.uint8)
        full[:, first : first + bits.shape[1]] = bits
        if dtype.kind == "i":  # the sign is the highest bit that was kept
            full[:, first + bits.shape[1] :] = bits[:, -1:]
        items = np.packbits(full, axis=1, bitorder="little").reshape(-1).view(dtype.newbyteorder("<"))
        return items.astype(dtype, copy=False)

    def _bits(self, spec: ArraySpec) -> tuple[int, int]:
        width = 1 if spec.np_dtype.kind == "b" else 8 * spec.np_dtype.itemsize
        return self.first_bit or 0, width - 1 if self.last_bit is None else self.last_bit
