"""Numbers of 16 and fewer bits that NumPy does not have (zarr-extensions, "data-types").

Real numbers and integers are scalars of the package ml_dtypes.  Integers of 2 and 4 bits take one byte each
in memory, and stored with the codec ``bytes``; ``packbits`` packs them.

A complex number is a structure with the fields ``real`` and ``imag`` in memory, which is also how it is
stored.  ml_dtypes has types for two of them, ``complex32`` and ``bcomplex32``, with the same layout: they
name a data type and are taken as values, and an array of items can be viewed as them.  They are not what
arrays have in memory, because NumPy swaps the bytes of such an item as one word and sees no parts.
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar

import numpy as np

from zarrcore._records import dataclass
from zarrcore.dtypes.base import (
    ExtensionType,
    HasEndianness,
    ZDType,
    endianness_of,
    is_ml,
    ml_finfo,
    ml_scalar_type,
)
from zarrcore.dtypes.numeric import ComplexScalars, Float16, IntegerScalars, RealScalars
from zarrcore.dtypes.scalars import unboxed


class _DTypeClass:
    """The class of NumPy dtypes of an :class:`MLType`, looked up late: asking for it loads ml_dtypes."""

    def __get__(self, instance: object, owner: type[MLType]) -> type[Any]:
        return type(np.dtype(owner._scalar_type()))


class MLType(ExtensionType):
    """A data type whose items are scalars of ml_dtypes: ``class Int2(MLType, name="int2")``.

    It has the same name there, whose first number is that of the bits.
    """

    dtype_cls = _DTypeClass()

    def __init_subclass__(cls, name: str = "", **options: Any) -> None:
        super().__init_subclass__(name=name, **options)
        if name:
            cls.bits = int(re.findall(r"\d+", name)[0])
            cls.signed = name.startswith("int")

    @classmethod
    def _scalar_type(cls) -> type[Any]:
        return ml_scalar_type(cls._zarr_v3_name)

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return is_ml(dtype) and dtype.name == cls._zarr_v3_name

    def to_native_dtype(self) -> Any:
        dtype = np.dtype(self._scalar_type())
        same_order = getattr(self, "endianness", endianness_of(dtype)) == endianness_of(dtype)
        return dtype if same_order else dtype.newbyteorder()

    @property
    def item_size(self) -> int:
        return -(-self.bits // 8)

    def _from_bits(self, bits: int) -> Any:
        """Return the scalar with these bits."""
        if bits >> self.bits:
            raise self._reject_range(f"0x{bits:x}", f"at most {self.bits} bits")
        return np.array([bits], dtype=f"u{self.item_size}").view(self._scalar_type())[0]


# --- floating-point numbers ---


class MLFloat(MLType, RealScalars):
    """What the floating-point data types of ml_dtypes share.

    The suffixes of the names show where a type departs from IEEE 754: ``f`` it has no infinities, ``n`` its
    NaN has a special pattern or there is none, ``uz`` its zero has no sign, ``u`` it has no sign at all
    and no zero.  Types of less than 8 bits have no NaN.
    """

    _has_nan: ClassVar[bool]
    _has_infinity: ClassVar[bool]
    _has_sign: ClassVar[bool]

    def __init_subclass__(cls, name: str = "", **options: Any) -> None:
        super().__init_subclass__(name=name, **options)
        if name:
            suffix = re.sub(r"b?float\d+(_e\d+m\d+)?", "", name)
            cls._has_nan = cls.bits >= 8
            cls._has_infinity = "f" not in suffix
            cls._has_sign = not suffix.endswith("u")

    def _rounded(self, data: Any) -> Any:
        """Return the scalar nearest to `data`; what the type has no value for is refused."""
        try:
            number = float(data)
        except OverflowError:
            raise self._reject_range(data, self._range()) from None
        if math.isnan(number) and not self._has_nan:
            raise self._reject_range(data, f"a number: {self._zarr_v3_name} has no NaN")
        if math.isinf(number) and not self._has_infinity:
            raise self._reject_range(data, f"a number: {self._zarr_v3_name} has no infinity")
        if not self._has_sign and number < float(ml_finfo(np.dtype(self._scalar_type())).smallest_normal):
            if number < 0:
                raise self._reject_range(number, f"a number above zero: {self._zarr_v3_name} has no sign")
            return self._from_bits(0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scalar = np.array([number]).astype(self.to_native_dtype())[0]
        if math.isfinite(number):
            saturated = not self._has_nan and abs(number) > self._largest()
            if saturated or not math.isfinite(float(scalar)):
                raise self._reject_range(number, self._range())
        return scalar

    def _largest(self) -> float:
        return float(ml_finfo(np.dtype(self._scalar_type())).max)

    def _range(self) -> str:
        return f"a number of at most {self._largest():g}"


@dataclass(frozen=True, kw_only=True)
class BFloat16(MLFloat, HasEndianness, name="bfloat16"):
    """Floating-point numbers of 16 bits with the exponent of float32 (``bfloat16``)."""


class Float8E3M4(MLFloat, name="float8_e3m4"):
    """8 bits, 3 of them exponent and 4 mantissa, as in IEEE 754 (``float8_e3m4``)."""


class Float8E4M3(MLFloat, name="float8_e4m3"):
    """8 bits, 4 of them exponent and 3 mantissa, as in IEEE 754 (``float8_e4m3``)."""


class Float8E4M3B11FNUZ(MLFloat, name="float8_e4m3b11fnuz"):
    """8 bits, 4 of them exponent with a bias of 11, no infinities (``float8_e4m3b11fnuz``)."""


class Float8E4M3FN(MLFloat, name="float8_e4m3fn"):
    """8 bits, 4 of them exponent, no infinities (``float8_e4m3fn``; of tensorstore, not registered)."""


class Float8E4M3FNUZ(MLFloat, name="float8_e4m3fnuz"):
    """8 bits, 4 of them exponent with a bias of 8, no infinities (``float8_e4m3fnuz``)."""


class Float8E5M2(MLFloat, name="float8_e5m2"):
    """8 bits, 5 of them exponent and 2 mantissa, as in IEEE 754 (``float8_e5m2``)."""


class Float8E5M2FNUZ(MLFloat, name="float8_e5m2fnuz"):
    """8 bits, 5 of them exponent with a bias of 16, no infinities (``float8_e5m2fnuz``)."""


class Float8E8M0FNU(MLFloat, name="float8_e8m0fnu"):
    """Powers of two, 8 bits of exponent (``float8_e8m0fnu``).

    There is no zero: the smallest value, 2**-127, whose bits are all zero, stands in for it as a fill value.
    """


class Float6E2M3FN(MLFloat, name="float6_e2m3fn"):
    """6 bits, 2 of them exponent and 3 mantissa, finite numbers only (``float6_e2m3fn``)."""


class Float6E3M2FN(MLFloat, name="float6_e3m2fn"):
    """6 bits, 3 of them exponent and 2 mantissa, finite numbers only (``float6_e3m2fn``)."""


class Float4E2M1FN(MLFloat, name="float4_e2m1fn"):
    """4 bits, 2 of them exponent and 1 mantissa, finite numbers only (``float4_e2m1fn``)."""


# --- integers ---


class SmallInteger(MLType, IntegerScalars):
    """What the integer data types of less than a byte share."""

    is_integer = True

    def _within_range(self, value: int, data: object) -> Any:
        low = -(1 << (self.bits - 1)) if self.signed else 0
        high = low + (1 << self.bits) - 1
        if not low <= value <= high:
            raise self._reject_range(data, f"an integer {low}..{high}")
        return self._scalar_type()(value)

    def cast_scalar(self, data: object) -> Any:
        """Return `data` as an integer of this type; its value must not change."""
        data = unboxed(data)
        if isinstance(data, np.generic) and is_ml(data.dtype) and str(data.dtype.kind) != "W":
            data = float(data)  # all values of these types are exact
        return super().cast_scalar(data)


class Int2(SmallInteger, name="int2"):
    """Signed integers of 2 bits, -2..1 (``int2``)."""


class Int4(SmallInteger, name="int4"):
    """Signed integers of 4 bits, -8..7 (``int4``)."""


class UInt2(SmallInteger, name="uint2"):
    """Unsigned integers of 2 bits, 0..3 (``uint2``)."""


class UInt4(SmallInteger, name="uint4"):
    """Unsigned integers of 4 bits, 0..15 (``uint4``)."""


# --- complex numbers ---


class ComplexPair(ExtensionType, ComplexScalars):
    """What the complex data types without a NumPy type share: items are pairs of `part`."""

    dtype_cls = np.dtypes.VoidDType
    components = 2
    _ml_name: ClassVar[str | None] = None

    def __init_subclass__(cls, part: type[ZDType[Any, Any]] | None = None, **options: Any) -> None:
        super().__init_subclass__(name=f"complex_{part._zarr_v3_name}" if part else "", **options)
        if part is not None:
            cls.part_cls, cls.bits = part, getattr(part, "bits", 16)

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        # A structure of two fields is a struct: nothing marks it as a complex number.
        return cls._ml_name is not None and is_ml(dtype) and dtype.name == cls._ml_name

    def to_native_dtype(self) -> Any:
        part = self.part.to_native_dtype()
        return np.dtype([("real", part), ("imag", part)])

    @property
    def item_size(self) -> int:
        return 2 * -(-self.bits // 8)


@dataclass(frozen=True, kw_only=True)
class WidePair(ComplexPair, HasEndianness):
    """What the complex data types with parts of more than a byte share: a byte order."""


class ComplexFloat16(WidePair, part=Float16):
    """Complex numbers with parts of half precision (``complex_float16``); needs no other package."""

    _ml_name = "complex32"


class ComplexBFloat16(WidePair, part=BFloat16):
    """Complex numbers with parts of type bfloat16 (``complex_bfloat16``)."""

    _ml_name = "bcomplex32"


class ComplexFloat8E3M4(ComplexPair, part=Float8E3M4):
    """Complex numbers with parts of type float8_e3m4 (``complex_float8_e3m4``)."""


class ComplexFloat8E4M3(ComplexPair, part=Float8E4M3):
    """Complex numbers with parts of type float8_e4m3 (``complex_float8_e4m3``)."""


class ComplexFloat8E4M3B11FNUZ(ComplexPair, part=Float8E4M3B11FNUZ):
    """Complex numbers with parts of type float8_e4m3b11fnuz (``complex_float8_e4m3b11fnuz``)."""


class ComplexFloat8E4M3FNUZ(ComplexPair, part=Float8E4M3FNUZ):
    """Complex numbers with parts of type float8_e4m3fnuz (``complex_float8_e4m3fnuz``)."""


class ComplexFloat8E5M2(ComplexPair, part=Float8E5M2):
    """Complex numbers with parts of type float8_e5m2 (``complex_float8_e5m2``)."""


class ComplexFloat8E5M2FNUZ(ComplexPair, part=Float8E5M2FNUZ):
    """Complex numbers with parts of type float8_e5m2fnuz (``complex_float8_e5m2fnuz``)."""


class ComplexFloat8E8M0FNU(ComplexPair, part=Float8E8M0FNU):
    """Complex numbers with parts of type float8_e8m0fnu (``complex_float8_e8m0fnu``)."""


class ComplexFloat6E2M3FN(ComplexPair, part=Float6E2M3FN):
    """Complex numbers with parts of type float6_e2m3fn (``complex_float6_e2m3fn``)."""


class ComplexFloat6E3M2FN(ComplexPair, part=Float6E3M2FN):
    """Complex numbers with parts of type float6_e3m2fn (``complex_float6_e3m2fn``)."""


class ComplexFloat4E2M1FN(ComplexPair, part=Float4E2M1FN):
    """Complex numbers with parts of type float4_e2m1fn (``complex_float4_e2m1fn``)."""
