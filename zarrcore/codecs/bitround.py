"""The ``bitround`` codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import integer
from zarrcore.codecs.base import ArrayArrayCodec
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec

__all__ = ["BitRoundCodec"]

# Bits of the mantissa of each floating-point type, by the bits of a number.
_MANTISSA_BITS = {16: 10, 32: 23, 64: 52}
_BFLOAT16_MANTISSA_BITS = 7


@dataclass(frozen=True, kw_only=True)
class BitRoundCodec(ArrayArrayCodec):
    """Numbers rounded to fewer bits, to compress better (codec ``bitround`` of the Zarr extensions).

    Parameters
    ----------
    keepbits : int
        Bits that are kept: of the mantissa of floating-point numbers, of integers, dates and durations from
        the highest bit that is set.

    Notes
    -----
    Decoding changes nothing: what was rounded away is lost.  Ties go to the even neighbour.  An integer whose
    larger neighbour is no number of its type becomes the smaller one.  NaN, NaT and infinities stay as they
    are.
    """

    name: ClassVar[str] = "bitround"
    is_fixed_size: ClassVar[bool] = True
    keepbits: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "keepbits", integer(self.keepbits, "keepbits", 0, 64))

    @classmethod
    def from_json(cls, configuration: Any) -> Self:
        if "keepbits" not in configuration:
            raise MetadataValidationError("is required and missing", where="keepbits")
        return super().from_json(configuration)

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or not (spec.np_dtype.kind in "iumM" or _float_layout(spec)):
            raise MetadataValidationError(
                f"the bitround codec needs numbers, the data type is {spec.dtype!r}"
            )
        return self

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        if chunk.dtype.kind in "iumM":
            native = np.array(chunk, chunk.dtype.newbyteorder("="), order="C")
            kind = "u" if chunk.dtype.kind == "u" else "i"
            rounded = _round_integers(native.view(f"{kind}{native.itemsize}"), self.keepbits)
            rounded = rounded.view(native.dtype)
            if native.dtype.kind in "mM":
                rounded = np.where(np.isnat(native), native, rounded)
            return rounded.astype(chunk.dtype, copy=False)
        layout = _float_layout(spec)
        assert layout is not None, "checked by resolve"
        bits, mantissa = layout
        swapped = not chunk.dtype.isnative
        native = np.array(chunk, chunk.dtype.newbyteorder("=") if swapped else chunk.dtype, order="C")
        words = native.reshape(-1).view(f"u{bits // 8}")
        words[...] = _round_floats(words, mantissa, mantissa - self.keepbits)
        return native.astype(chunk.dtype, copy=False)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]] | None:
        layout = _float_layout(spec)
        if layout is None or spec.np_dtype.kind not in "fc":
            return None  # the engine has the floats of IEEE 754, and no integers
        bits, mantissa = layout
        word = f"{spec.np_dtype.str[0]}u{bits // 8}"  # each part of a complex number is one
        return self.name, {"keepbits": min(self.keepbits, mantissa), "dtype": word, "keep_special": True}


def _float_layout(spec: ArraySpec) -> tuple[int, int] | None:
    """Bits of a floating-point number, or a part of a complex one, and of its mantissa; None for others."""
    from zarrcore.dtypes import bit_layout

    layout = bit_layout(spec.dtype)
    if layout is None or layout.bits not in _MANTISSA_BITS:
        return None
    name = str(getattr(spec.dtype, "_zarr_v3_name", ""))
    if "bfloat16" in name:
        return layout.bits, _BFLOAT16_MANTISSA_BITS
    is_float = spec.np_dtype.kind in "fc" or "float" in name
    return (layout.bits, _MANTISSA_BITS[layout.bits]) if is_float else None


def _round_floats(words: np.ndarray, mantissa: int, drop: int) -> np.ndarray:
    """Round the mantissa, as bits: the carry goes into the exponent, which is the next larger number."""
    if drop <= 0:
        return words
    word = words.dtype.type
    half = word((1 << (drop - 1)) - 1)
    rounded = words + half + ((words >> word(drop)) & word(1))
    rounded &= ~word((1 << drop) - 1)
    exponent = word((1 << (8 * words.itemsize - 1)) - (1 << mantissa))
    return np.where(words & exponent == exponent, words, rounded)


def _round_integers(values: np.ndarray, keepbits: int) -> np.ndarray:
    """Keep `keepbits` bits from the highest that is set; the sign stays apart."""
    word = np.dtype(f"u{values.itemsize}").type
    one, width = word(1), 8 * values.itemsize
    negative = values < 0
    words = values.view(word)
    size = np.where(negative, ~words + one, words)
    drop = np.maximum(_bit_length(size).astype("i8") - keepbits, 0)
    shift = np.minimum(drop, width - 1).astype(word)
    kept = np.where(drop < width, size >> shift, word(0))
    down = kept << shift
    half = np.where(shift > 0, one << (np.maximum(shift, one) - one), one)
    rest = size - down
    up = (rest > half) | ((rest == half) & (kept & one == one))
    rounded = (kept + up.astype(word)) << shift
    most = np.where(negative, one << word(width - 1), word(np.iinfo(values.dtype).max))
    rounded = np.where((rounded < down) | (rounded > most) | (drop == width), down, rounded)
    restored: np.ndarray = np.where(negative, ~rounded + one, rounded).astype(word).view(values.dtype)
    return restored


def _bit_length(words: np.ndarray) -> np.ndarray:
    """Position of the highest bit that is set, from 1; 0 for zero."""
    word = words.dtype.type
    length = np.zeros(words.shape, "u1")
    rest = words.copy()
    for step in (32, 16, 8, 4, 2, 1):
        if step < 8 * words.itemsize:
            big = (rest >> word(step)) > 0
            length += np.where(big, step, 0).astype("u1")
            rest = np.where(big, rest >> word(step), rest)
    return length + (rest > 0)
