"""The rules of ``cast_value`` in exact arithmetic, one number at a time: what the engine is compared with.

The numbers of a data type come from NumPy and ml_dtypes.  Types of 16 and fewer bits are searched in a sorted
list of all their numbers; of wider ones the distance of neighbours is computed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from zarrcore.dtypes import get_data_type_from_json

INTEGERS = ["int2", "int4", "int8", "int16", "int32", "int64"]
INTEGERS += [f"u{name}" for name in INTEGERS]
FLOATS = ["float16", "float32", "float64"]
ML_FLOATS = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]
ROUNDINGS = ["nearest-even", "nearest-away", "towards-zero", "towards-positive", "towards-negative"]


class Refused(Exception):
    """A number that has no place in the other data type."""


@dataclass(frozen=True)
class Kind:
    """A data type: its NumPy dtype, and how many of its bits mean something."""

    dtype: np.dtype[Any]
    bits: int
    is_integer: bool

    @property
    def word(self) -> np.dtype[Any]:
        return np.dtype(f"u{self.dtype.itemsize}")

    def numbers(self, words: Any) -> np.ndarray:
        """The items with these bits."""
        return np.array(words, self.word).view(self.dtype)

    def doubles(self, words: Any) -> np.ndarray:
        """The same, as float64."""
        with np.errstate(invalid="ignore"):
            return self.numbers(words).astype("f8")


@cache
def kind_of(name: str) -> Kind:
    zdtype = get_data_type_from_json(name, zarr_format=3)
    dtype = zdtype.to_native_dtype()
    return Kind(dtype, getattr(zdtype, "bits", 8 * dtype.itemsize), name in INTEGERS)


def number(value: Any) -> Any:
    """An item as an exact number; NaN and infinities as floats."""
    if isinstance(value, np.integer):
        return Fraction(int(value))
    double = float(value)
    return Fraction(double) if np.isfinite(double) else double


def limits(kind: Kind) -> tuple[int, int]:
    """The lowest and the highest integer."""
    signed = bool(kind.numbers([(1 << kind.bits) - 1])[0] < kind.numbers([0])[0])
    return (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if signed else (0, (1 << kind.bits) - 1)


@cache
def finite(kind: Kind) -> tuple[list[Fraction], list[int]]:
    """All finite numbers of a small floating-point type, ascending, and their bits; of zeros the first."""
    words = range(1 << kind.bits)
    found = zip(kind.doubles(list(words)).tolist(), words, strict=True)
    table: dict[Fraction, int] = {}
    for value, word in found:
        if np.isfinite(value):
            table.setdefault(Fraction(value), word)
    return tuple(map(list, zip(*sorted(table.items()), strict=True)))  # type: ignore[return-value]


@cache
def specials(kind: Kind) -> dict[str, int]:
    """The bits of the infinities of a floating-point type, and of a NaN, as far as it has them."""
    if kind.bits > 16:
        wide = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
        return {name: int(np.array(value, kind.dtype).view(kind.word)) for name, value in wide.items()}
    values = kind.doubles(list(range(1 << kind.bits))).tolist()
    return {str(value): word for word, value in enumerate(values) if not np.isfinite(value)}


def pick(low: int, rest: Fraction, rounding: str, low_is_even: bool, negative: bool) -> int:
    """`low` or the next: `rest`, not 0, of the way to it has to be rounded away."""
    half = Fraction(1, 2)
    up = {
        "nearest-even": rest > half or (rest == half and not low_is_even),
        "nearest-away": rest > half or (rest == half and not negative),
        "towards-zero": negative,
        "towards-positive": True,
        "towards-negative": False,
    }[rounding]
    return low + up


def to_integer(value: Fraction, kind: Kind, rounding: str, out_of_range: str | None) -> int:
    low, high = limits(kind)
    whole = value.numerator // value.denominator
    if whole != value:
        whole = pick(whole, value - whole, rounding, whole % 2 == 0, value < 0)
    if not low <= whole <= high:
        if out_of_range is None:
            raise Refused
        whole = min(max(whole, low), high) if out_of_range == "clamp" else whole
    return whole & ((1 << kind.bits) - 1)


def beyond(value: Fraction, kind: Kind, out_of_range: str | None) -> int:
    """What stands for a number that is out of range."""
    if out_of_range != "clamp":
        raise Refused
    infinity = specials(kind).get("-inf" if value < 0 else "inf")
    if infinity is not None:
        return infinity
    numbers, words = finite(kind)
    return words[0 if value < numbers[0] else -1]


def leaves(value: Fraction, last: Fraction, before: Fraction, word: int, kind: Kind, rounding: str) -> bool:
    """Whether a number beyond the last one is rounded to the next, as if there were more of them."""
    powers = kind.dtype.name == "float8_e8m0fnu"  # which has no zero either
    if powers and value < last:
        return True
    rest = abs(value - last) / (last if powers else abs(last - before))
    if rest >= 1:
        return True
    if value > 0:
        return pick(0, rest, rounding, word % 2 == 0, False) == 1
    return pick(0, 1 - rest, rounding, word % 2 == 1, True) == 0


def to_small_float(value: Fraction, kind: Kind, rounding: str, out_of_range: str | None) -> int:
    numbers, words = finite(kind)
    at = bisect_left(numbers, value)
    if at < len(numbers) and numbers[at] == value:
        return words[at]
    if at == 0 or at == len(numbers):
        end = 0 if at == 0 else -1
        stays = not leaves(value, numbers[end], numbers[1 if at == 0 else -2], words[end], kind, rounding)
        return words[end] if stays else beyond(value, kind, out_of_range)
    low, high = numbers[at - 1], numbers[at]
    even = words[at - 1] % 2 == 0
    return words[pick(at - 1, (value - low) / (high - low), rounding, even, value < 0)]


def to_wide_float(value: Fraction, kind: Kind, rounding: str, out_of_range: str | None) -> int:
    """In steps of the last place; beyond the largest number as if there were more of them."""
    mantissa, lowest = {32: (23, -126), 64: (52, -1022)}[kind.bits]
    size = abs(value)
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= Fraction(2) ** top > size
    step = Fraction(2) ** (max(top, lowest) - mantissa)
    steps = value / step
    whole = steps.numerator // steps.denominator
    if whole != steps:
        whole = pick(whole, steps - whole, rounding, whole % 2 == 0, value < 0)
    rounded = whole * step
    if abs(rounded) > Fraction(float(np.finfo(kind.dtype).max)):
        return beyond(value, kind, out_of_range)
    return int(np.array(float(rounded), kind.dtype).view(kind.word))


def cast(item: Any, source: str, target: str, rounding: str, out_of_range: str | None) -> int:
    """The bits of `item` in another data type, without a scalar map.

    Raises
    ------
    Refused
        If it has no place there.
    """
    kind, value = kind_of(target), number(item)
    if isinstance(value, float):
        found = None if kind.is_integer else specials(kind).get(str(value))
        if found is None:
            raise Refused
        return found
    if kind.is_integer:
        return to_integer(value, kind, rounding, out_of_range)
    convert = to_small_float if kind.bits <= 16 else to_wide_float
    word = convert(value, kind, rounding, out_of_range)
    if kind.dtype.name == "float8_e8m0fnu":
        return word
    # The sign of zero, and of what becomes zero, stays where there are two.
    negative = not kind_of(source).is_integer and bool(np.signbit(float(item)))
    if word == 0 and negative:
        signed = 1 << (kind.bits - 1)
        return signed if float(kind.numbers([signed])[0]) == 0 else 0
    return word
