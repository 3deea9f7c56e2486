"""The filters of format 2 that calculate: each number of a chunk is stored as another one.

The ids, configurations and results are those of numcodecs.  The engine has all of them for Booleans,
integers, floating-point and complex numbers; what numcodecs takes besides (strings and times as other items)
runs through numpy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import fail, integer
from zarrcore.codecs.v2_filters import Filter, as_bytes, converted, dtype_name, items_of, number, require_kind
from zarrcore.errors import ChunkDecodeError

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec
    from zarrcore.codecs.v2_filters import Lowered

__all__ = ["AsType", "BitRound", "FixedScaleOffset", "PackBits", "Quantize"]


@dataclass(frozen=True)
class FixedScaleOffset(Filter):
    """Numbers less an offset, times a scale, rounded to integers.

    Parameters
    ----------
    offset, scale : float
        What is subtracted from the items, and what they are then multiplied by.
    dtype : str
        Data type of the items.
    astype : str, optional
        Data type of the rounded numbers.  Default: `dtype`.

    Notes
    -----
    The arithmetic is that of numpy 2 for items of `dtype` and constants of Python: in single precision for
    ``float32``, modulo a power of two for integers as long as the constants are some, else in double
    precision.
    """

    name: ClassVar[str] = "fixedscaleoffset"
    offset: float
    scale: float
    dtype: str
    astype: str | None = None

    def __post_init__(self) -> None:
        for member in ("offset", "scale"):
            value = getattr(self, member)
            _real(value, member)
            if isinstance(value, np.generic):  # in a document it is a number of Python
                object.__setattr__(self, member, value.item())
        if self.scale == 0:
            fail("scale", "a number other than 0", self.scale)
        _set_dtypes(self)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = items_of(data, np.dtype(self.dtype))
        with np.errstate(all="ignore"):
            return converted(np.around((items - self.offset) * self.scale), _stored(self))

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = items_of(data, _stored(self))
        with np.errstate(all="ignore"):
            return converted(items / self.scale + self.offset, self.dtype)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        kinds = number(self.dtype), number(self.astype)
        offset, scale = _constant(self.offset, "offset"), _constant(self.scale, "scale")
        if None in kinds or not offset or not scale:
            return None
        return (self.name, {"dtype": kinds[0], "astype": kinds[1]} | offset | scale), _stored(self)


@dataclass(frozen=True)
class Quantize(Filter):
    """Floating-point numbers rounded to decimal digits, by the next power of two.

    Parameters
    ----------
    digits : int
        Digits after the decimal point that are kept.
    dtype : str
        Data type of the items.
    astype : str, optional
        Data type of the rounded numbers.  Default: `dtype`.
    """

    name: ClassVar[str] = "quantize"
    digits: int
    dtype: str
    astype: str | None = None

    def __post_init__(self) -> None:
        _real(self.digits, "digits")
        _set_dtypes(self)
        for member in ("dtype", "astype"):
            if np.dtype(getattr(self, member)).kind != "f":
                fail(member, "a floating-point data type", getattr(self, member))

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = items_of(data, np.dtype(self.dtype))
        scale = self._scale()
        with np.errstate(all="ignore"):
            return (np.around(scale * items) / scale).astype(self.astype, copy=False)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        return items_of(data, _stored(self)).astype(self.dtype, copy=False)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        kinds = number(self.dtype), number(self.astype)
        if None in kinds:
            return None
        try:
            options = {"dtype": kinds[0], "astype": kinds[1], "scale": self._scale()}
        except (OverflowError, ValueError):  # the filter fails for whatever it is given
            return None
        return (self.name, options), _stored(self)

    def _scale(self) -> float:
        """Return the power of two whose reciprocal is not more than the last digit that is kept."""
        exponent = math.log10(10.0**-self.digits)
        exponent = math.floor(exponent) if exponent < 0 else math.ceil(exponent)
        return float(2.0 ** math.ceil(math.log2(10.0**-exponent)))


@dataclass(frozen=True)
class BitRound(Filter):
    """Floating-point numbers rounded to fewer bits of their mantissa.

    Parameters
    ----------
    keepbits : int
        Bits that are kept.
    """

    name: ClassVar[str] = "bitround"
    keepbits: int

    def __post_init__(self) -> None:
        integer(self.keepbits, "keepbits", 0, 64)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = np.asarray(data).reshape(-1)
        mantissa = _MANTISSA_BITS.get(items.dtype.itemsize)
        if items.dtype.kind != "f" or mantissa is None:
            raise TypeError(f"expected floating-point items of 2, 4 or 8 bytes, got {items.dtype}")
        if self.keepbits > mantissa:
            raise ValueError(f"keepbits: expected 0..{mantissa} for {items.dtype}, got {self.keepbits}")
        drop = mantissa - self.keepbits
        if drop == 0:
            return items
        native = items.astype(items.dtype.newbyteorder("="), copy=True)
        words = native.view(f"u{items.dtype.itemsize}")
        word = words.dtype.type
        words += (words >> word(drop) & word(1)) + word((1 << (drop - 1)) - 1)
        words &= ~word((1 << drop) - 1)
        return native.astype(items.dtype, copy=False)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        return data

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        mantissa = _MANTISSA_BITS.get(dtype.itemsize)
        if dtype.kind != "f" or mantissa is None or self.keepbits > mantissa:
            return None
        return (self.name, {"keepbits": self.keepbits, "dtype": dtype.str}), dtype


# Bits of the mantissa of a floating-point number, by its bytes.
_MANTISSA_BITS = {2: 10, 4: 23, 8: 52}


@dataclass(frozen=True)
class PackBits(Filter):
    """Eight Boolean items in a byte, after a byte that counts the unused bits of the last one."""

    name: ClassVar[str] = "packbits"

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "b", self.name, "Boolean items")

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        items = items_of(data, np.dtype(bool))
        return bytes([-items.size % 8]) + np.packbits(items).tobytes()

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        packed = np.frombuffer(as_bytes(data), np.uint8)
        unused = int(packed[0]) if packed.size else -1
        if not 0 <= unused < 8 or (packed.size == 1 and unused):
            raise ChunkDecodeError(f"{packed.size} bytes that state {unused} unused bits", codec=self.name)
        return np.unpackbits(packed[1:], count=8 * (packed.size - 1) - unused).view(bool)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        return (self.name, {}), np.dtype("u1")


@dataclass(frozen=True)
class AsType(Filter):
    """Items stored as another data type.

    Parameters
    ----------
    encode_dtype : str
        Data type that is stored.
    decode_dtype : str
        Data type of the items.
    """

    name: ClassVar[str] = "astype"
    encode_dtype: str
    decode_dtype: str

    def __post_init__(self) -> None:
        for member in ("encode_dtype", "decode_dtype"):
            object.__setattr__(self, member, dtype_name(getattr(self, member), member, "biufcmMSUV"))

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        return converted(items_of(data, np.dtype(self.decode_dtype)), self.encode_dtype)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        return converted(items_of(data, np.dtype(self.encode_dtype)), self.decode_dtype)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        kinds = number(self.decode_dtype), number(self.encode_dtype)
        if None in kinds:
            return None
        return (self.name, {"dtype": kinds[0], "astype": kinds[1]}), np.dtype(self.encode_dtype)


def _set_dtypes(codec: FixedScaleOffset | Quantize) -> None:
    """Both data types by their names; what is stored is by default of the data type of the items."""
    object.__setattr__(codec, "dtype", dtype_name(codec.dtype, "dtype", "biufcmM"))
    stored = codec.dtype if codec.astype is None else dtype_name(codec.astype, "astype", "biufcmM")
    object.__setattr__(codec, "astype", stored)


def _stored(codec: FixedScaleOffset | Quantize) -> np.dtype[Any]:
    return np.dtype(codec.astype)


def _real(value: Any, where: str) -> None:
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        fail(where, "a number", value)
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        fail(where, "a finite number", value)


def _constant(value: float, name: str) -> dict[str, float]:
    """Return the options of the engine for a constant; none if the engine has none that does the same."""
    is_whole = isinstance(value, int)
    if not (-(2**63) <= value < 2**64 if is_whole else math.isfinite(value)):
        return {}
    return {name: float(value)} | ({f"whole_{name}": value} if is_whole else {})
