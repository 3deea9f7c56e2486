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

_MANTISSA_BITS = {2: 10, 4: 23, 8: 52}


@dataclass(frozen=True, kw_only=True)
class BitRoundCodec(ArrayArrayCodec):
    """Numbers rounded to fewer bits, to compress better (codec ``bitround`` of the Zarr extensions).

    Parameters
    ----------
    keepbits : int
        Bits that are kept: of the mantissa of floating-point numbers, of integers from the highest bit that
        is set.

    Notes
    -----
    Decoding changes nothing: what was rounded away is lost.  Ties go to the even neighbour.
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
        if spec.item_size is None or spec.np_dtype.kind not in "iufc":
            raise MetadataValidationError(
                f"the bitround codec needs numbers, the data type is {spec.dtype!r}"
            )
        return self

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        native = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("="))
        if native.dtype.kind in "iu":
            return _round_integers(native, self.keepbits).astype(chunk.dtype, copy=False)
        parts = native.view(native.real.dtype) if native.dtype.kind == "c" else native
        return _round_floats(parts, self.keepbits).view(native.dtype).astype(chunk.dtype, copy=False)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk


def _round_floats(values: np.ndarray, keepbits: int) -> np.ndarray:
    """Round the mantissa, as bits: the carry goes into the exponent, which is the next larger number."""
    drop = _MANTISSA_BITS[values.dtype.itemsize] - keepbits
    if drop <= 0:
        return values
    word = np.dtype(f"u{values.dtype.itemsize}").type
    bits = values.view(word)
    half = word((1 << (drop - 1)) - 1)
    with np.errstate(over="ignore"):
        rounded = bits + half + ((bits >> word(drop)) & word(1))
    rounded &= ~word((1 << drop) - 1)
    return np.where(np.isfinite(values), rounded, bits).view(values.dtype)


def _round_integers(values: np.ndarray, keepbits: int) -> np.ndarray:
    """Keep `keepbits` bits from the highest that is set; the sign stays apart."""
    exact = values.astype(object)
    rounded = [_round_integer(int(value), keepbits) for value in exact.ravel()]
    info = np.iinfo(values.dtype)
    flat = np.array([min(max(value, int(info.min)), int(info.max)) for value in rounded], dtype=values.dtype)
    return flat.reshape(values.shape)


def _round_integer(value: int, keepbits: int) -> int:
    drop = abs(value).bit_length() - keepbits
    if drop <= 0:
        return value
    step = 1 << drop
    kept, rest = divmod(abs(value), step)
    up = rest * 2 > step or (rest * 2 == step and kept % 2 == 1)
    return (kept + up) * step * (1 if value >= 0 else -1)
