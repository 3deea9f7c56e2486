"""The ``packbits`` codec."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import choice, integer
from zarrcore.codecs import _native
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.dtypes import BitLayout, bit_layout
from zarrcore.errors import MetadataValidationError

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

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.create_array(
    ...     store, shape=16, dtype="bool", serializer=PackBitsCodec(), compressors=None
    ... )
    >>> array[::2] = True
    >>> len(store["c/0"])  # bytes for 16 items
    2
    """

    name: ClassVar[str] = "packbits"
    is_fixed_size: ClassVar[bool] = True
    padding_encoding: str = option("none", choice, _PADDING)
    first_bit: int | None = option(None, integer, 0, 63, omitted=True)
    last_bit: int | None = option(None, integer, 0, 63, omitted=True)

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
        items: Any = _native.octets(chunk, spec.np_dtype.newbyteorder("="))
        return _native.encode(self._stage(spec), items)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        name, options = self._stage(spec)
        items = _native.engine().decode_bytes(name, options, data, spec.nbytes)
        chunk = np.frombuffer(items, spec.np_dtype.newbyteorder("=")).reshape(spec.shape)
        return chunk.astype(spec.np_dtype, copy=False)

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        swap = 0 if spec.np_dtype.isnative else -(-_layout(spec).bits // 8)
        return ("bytes", swap), ("stage", *self._stage(spec))

    def _stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]]:
        """Return the stage of the engine, which takes the items in the byte order of the machine."""
        layout = _layout(spec)
        options: dict[str, Any] = {"padding": self.padding_encoding}
        words = _native.words_of(spec.dtype)
        if words is not None:  # else each item is a flag
            first, last = self._bits(layout)
            options |= {"dtype": f"={words[1:]}", "first_bit": first, "width": last - first + 1}
        return self._engine_name, options

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
