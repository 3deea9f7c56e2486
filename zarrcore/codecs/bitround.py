"""The ``bitround`` codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import integer
from zarrcore.codecs._native import NativeArrayCodec, words_of
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    import numpy as np

    from zarrcore.codecs.base import ArraySpec

# Bits of the mantissa of each floating-point type.
_MANTISSA_BITS = {"f2": 10, "bfloat16": 7, "f4": 23, "f8": 52}


@dataclass(frozen=True, kw_only=True)
class BitRoundCodec(NativeArrayCodec):
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

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or not (spec.np_dtype.kind in "iumM" or _mantissa_bits(spec)):
            raise MetadataValidationError(
                f"the bitround codec needs numbers, the data type is {spec.dtype!r}"
            )
        return self

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]]:
        kind = spec.np_dtype.kind
        most = 64 if kind in "iumM" else _mantissa_bits(spec)
        keep_special = kind not in "iu"  # NaN, infinities and NaT
        return self.name, {
            "keepbits": min(self.keepbits, most or 0),
            "dtype": words_of(spec.dtype),
            "keep_special": keep_special,
        }


def _mantissa_bits(spec: ArraySpec) -> int | None:
    """Bits of the mantissa of a floating-point number, or a part of a complex one; None for others."""
    words = words_of(spec.dtype)
    return None if words is None else _MANTISSA_BITS.get(words[1:])
