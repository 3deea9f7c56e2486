"""The ``packbits`` codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import choice, integer
from zarrcore.codecs.base import ArrayBytesCodec
from zarrcore.dtypes import bit_layout
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer
    from zarrcore.dtypes import BitLayout

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
        The bits of each item, or part, that are kept.  Default: all that the data type has (one for
        ``bool``).

    Notes
    -----
    The two parts of a complex item are packed one after the other.
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
        layout = None if spec.item_size is None else bit_layout(spec.dtype)
        if layout is None:
            raise MetadataValidationError(
                f"the packbits codec needs items that are numbers, the data type is {spec.dtype!r}"
            )
        first, last = self._bits(layout)
        if not first <= last < layout.bits:
            raise MetadataValidationError(
                f"expected first_bit <= last_bit < {layout.bits}, got {first} and {last}",
                where="configuration",
            )
        return self

    def encoded_size(self, spec: ArraySpec) -> int | None:
        return -(-self._bit_count(spec) // 8) + (self.padding_encoding != "none")

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        layout = _layout(spec)
        first, last = self._bits(layout)
        items = np.ascontiguousarray(chunk, _little_endian(spec)).reshape(-1)
        width = spec.np_dtype.itemsize // layout.components
        raw = items.view(np.uint8).reshape(items.size * layout.components, width)
        bits = raw if layout.bits == 1 else np.unpackbits(raw, axis=1, bitorder="little")[:, first : last + 1]
        packed = np.packbits(bits.reshape(-1), bitorder="little").tobytes()
        padding = bytes([-bits.size % 8])
        if self.padding_encoding == "first_byte":
            return padding + packed
        return packed + padding if self.padding_encoding == "last_byte" else packed

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        packed = np.frombuffer(data, np.uint8)
        if packed.size != self.encoded_size(spec):
            raise ChunkDecodeError(
                f"expected {self.encoded_size(spec)} bytes, got {packed.size}", codec=self.name
            )
        count = self._bit_count(spec)
        if self.padding_encoding != "none":
            at_start = self.padding_encoding == "first_byte"
            padding, packed = (packed[0], packed[1:]) if at_start else (packed[-1], packed[:-1])
            if padding != -count % 8:
                raise ChunkDecodeError(
                    f"expected {-count % 8} bits of padding, got {padding}", codec=self.name
                )
        return self._items(np.unpackbits(packed, count=count, bitorder="little"), spec).reshape(spec.shape)

    def native(self, spec: ArraySpec) -> dict[str, Any] | None:
        layout = _layout(spec)
        if spec.np_dtype.kind not in "biufc":
            return None  # the engine has no numbers of less than a byte
        first, last = self._bits(layout)
        options: dict[str, Any] = {"padding": self.padding_encoding}
        if layout.bits > 1:
            word = f"{'i' if layout.signed else 'u'}{layout.bits // 8}"
            options |= {"dtype": np.dtype(word).str[0] + word, "first_bit": first, "width": last - first + 1}
        swap = 0 if spec.np_dtype.isnative else layout.bits // 8
        return {"swap": swap, "stages": ((self.name, options),)}

    def _items(self, bits: np.ndarray, spec: ArraySpec) -> np.ndarray:
        layout = _layout(spec)
        if layout.bits == 1:
            return bits.view(np.bool_)
        first, last = self._bits(layout)
        numbers = spec.size * layout.components
        full = np.zeros((numbers, 8 * spec.np_dtype.itemsize // layout.components), np.uint8)
        full[:, first : last + 1] = bits.reshape(numbers, last - first + 1)
        if layout.signed:  # the sign is the highest bit that was kept
            full[:, last + 1 : layout.bits] = full[:, last : last + 1]
        packed = np.packbits(full, axis=1, bitorder="little").reshape(-1)
        return packed.view(_little_endian(spec)).astype(spec.np_dtype, copy=False)

    def _bit_count(self, spec: ArraySpec) -> int:
        layout = _layout(spec)
        first, last = self._bits(layout)
        return spec.size * layout.components * (last - first + 1)

    def _bits(self, layout: BitLayout) -> tuple[int, int]:
        return self.first_bit or 0, layout.bits - 1 if self.last_bit is None else self.last_bit


def _layout(spec: ArraySpec) -> BitLayout:
    layout = bit_layout(spec.dtype)
    assert layout is not None, "checked by resolve"
    return layout


def _little_endian(spec: ArraySpec) -> np.dtype[Any]:
    return spec.np_dtype.newbyteorder("<")
