"""Floating-point data types of 16 and fewer bits from ml_dtypes (zarr-extensions, "data-types")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.dtypes.base import HasEndianness, ZDType
from zarrcore.dtypes.extension import MLType, is_ml, ml_finfo
from zarrcore.dtypes.scalars import float_from_json, float_from_user, float_to_json, unboxed

if TYPE_CHECKING:
    from zarrcore.dtypes.base import JSON, ZarrFormat

_REAL = (bool, int, float, np.bool_, np.integer, np.floating)


class MLFloat(MLType):
    """What the floating-point data types of ml_dtypes share.

    The suffixes of the names show where a type departs from IEEE 754: ``f`` it has no infinities, ``n`` its
    NaN has a special pattern or there is none, ``uz`` its zero has no sign, ``u`` it has no sign at all
    and no zero.
    """

    bits: ClassVar[int] = 8
    _has_nan: ClassVar[bool] = True
    _has_infinity: ClassVar[bool] = True
    _has_sign: ClassVar[bool] = True

    def cast_scalar(self, data: object) -> Any:
        """Return `data` rounded to this type; finite numbers must stay finite."""
        data = unboxed(data)
        if isinstance(data, np.generic) and is_ml(data.dtype):
            if data.dtype.name == self._zarr_v3_name:
                return data  # with the bits of a NaN
            data = _number(self, data)
        if isinstance(data, str):
            return float_from_user(data, self.from_json_scalar)
        if isinstance(data, np.timedelta64) or not isinstance(data, _REAL):
            raise self._reject_scalar(data, "a real number")
        return self._rounded(data)

    def default_scalar(self) -> Any:
        return self._from_bits(0)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return float_from_json(
            self,
            data,
            self.item_size,
            zarr_format=zarr_format,
            rounded=lambda zdtype, number, size: self._rounded(number),
            from_bits=lambda bits, size: self._from_bits(bits),
        )

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> float | str:
        return float_to_json(self.cast_scalar(data), zarr_format=zarr_format)

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
            return self._nearest_to_zero(number)
        return self._finite(number)

    def _finite(self, number: float) -> Any:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scalar = np.array([number]).astype(self.to_native_dtype())[0]
        if math.isfinite(number):
            saturated = not self._has_nan and abs(number) > self._largest()
            if saturated or not math.isfinite(float(scalar)):
                raise self._reject_range(number, self._range())
        return scalar

    def _nearest_to_zero(self, number: float) -> Any:
        if number < 0:
            raise self._reject_range(number, f"a number above zero: {self._zarr_v3_name} has no sign")
        return self._from_bits(0)

    def _largest(self) -> float:
        return float(ml_finfo(np.dtype(self._scalar_type())).max)

    def _range(self) -> str:
        return f"a number of at most {self._largest():g}"


def _number(zdtype: ZDType[Any, Any], data: Any) -> float:
    """Return a scalar of another type of ml_dtypes as a Python number, exactly."""
    if data.dtype.kind == "W":
        raise zdtype._reject_scalar(data, "a real number")
    return float(data)


@dataclass(frozen=True, kw_only=True)
class BFloat16(MLFloat, HasEndianness):
    """Floating-point numbers of 16 bits with the exponent of float32 (``bfloat16``)."""

    bits = 16
    _zarr_v3_name: ClassVar[str] = "bfloat16"


class Float8E3M4(MLFloat):
    """8 bits, 3 of them exponent and 4 mantissa, as in IEEE 754 (``float8_e3m4``)."""

    _zarr_v3_name = "float8_e3m4"


class Float8E4M3(MLFloat):
    """8 bits, 4 of them exponent and 3 mantissa, as in IEEE 754 (``float8_e4m3``)."""

    _zarr_v3_name = "float8_e4m3"


class Float8E4M3B11FNUZ(MLFloat):
    """8 bits, 4 of them exponent with a bias of 11, no infinities (``float8_e4m3b11fnuz``)."""

    _zarr_v3_name = "float8_e4m3b11fnuz"
    _has_infinity = False


class Float8E4M3FN(MLFloat):
    """8 bits, 4 of them exponent, no infinities (``float8_e4m3fn``; of tensorstore, not registered)."""

    _zarr_v3_name = "float8_e4m3fn"
    _has_infinity = False


class Float8E4M3FNUZ(MLFloat):
    """8 bits, 4 of them exponent with a bias of 8, no infinities (``float8_e4m3fnuz``)."""

    _zarr_v3_name = "float8_e4m3fnuz"
    _has_infinity = False


class Float8E5M2(MLFloat):
    """8 bits, 5 of them exponent and 2 mantissa, as in IEEE 754 (``float8_e5m2``)."""

    _zarr_v3_name = "float8_e5m2"


class Float8E5M2FNUZ(MLFloat):
    """8 bits, 5 of them exponent with a bias of 16, no infinities (``float8_e5m2fnuz``)."""

    _zarr_v3_name = "float8_e5m2fnuz"
    _has_infinity = False


class Float8E8M0FNU(MLFloat):
    """Powers of two, 8 bits of exponent (``float8_e8m0fnu``).

    There is no zero: the smallest value, 2**-127, whose bits are all zero, stands in for it as a fill value.
    """

    _zarr_v3_name = "float8_e8m0fnu"
    _has_infinity = False
    _has_sign = False


class Float6E2M3FN(MLFloat):
    """6 bits, 2 of them exponent and 3 mantissa, finite numbers only (``float6_e2m3fn``)."""

    bits = 6
    _zarr_v3_name = "float6_e2m3fn"
    _has_nan = _has_infinity = False


class Float6E3M2FN(MLFloat):
    """6 bits, 3 of them exponent and 2 mantissa, finite numbers only (``float6_e3m2fn``)."""

    bits = 6
    _zarr_v3_name = "float6_e3m2fn"
    _has_nan = _has_infinity = False


class Float4E2M1FN(MLFloat):
    """4 bits, 2 of them exponent and 1 mantissa, finite numbers only (``float4_e2m1fn``)."""

    bits = 4
    _zarr_v3_name = "float4_e2m1fn"
    _has_nan = _has_infinity = False


TYPES = (
    BFloat16,
    Float4E2M1FN,
    Float6E2M3FN,
    Float6E3M2FN,
    Float8E3M4,
    Float8E4M3,
    Float8E4M3B11FNUZ,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float8E8M0FNU,
)
