"""Floating-point and complex data types."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.dtypes.base import HasEndianness, HasItemSize
from zarrcore.dtypes.numeric import NumericBase
from zarrcore.dtypes.scalars import float_from_json, float_from_user, float_to_json, round_to_float, unboxed

if TYPE_CHECKING:
    from zarrcore.dtypes.base import JSON, ZarrFormat, ZDType

_REAL = (bool, int, float, np.bool_, np.integer, np.floating)


def _cast_float(zdtype: ZDType[Any, Any], data: object, size: int) -> Any:
    """Return a floating-point scalar from a number or from text; a scalar of that size keeps its bits."""
    data = unboxed(data)
    if isinstance(data, str):
        return float_from_user(data, partial(float_from_json, zdtype, size=size))
    if isinstance(data, np.timedelta64) or not isinstance(data, _REAL):
        raise zdtype._reject_scalar(data, "a real number")
    if isinstance(data, np.floating) and data.dtype.itemsize == size:
        return data.astype(f"f{size}")
    return round_to_float(zdtype, data, size)


@dataclass(frozen=True, kw_only=True)
class FloatBase(NumericBase, HasEndianness, HasItemSize):
    """What all floating-point data types share."""

    def cast_scalar(self, data: object) -> Any:
        """Return `data` rounded to this type; finite numbers must stay finite."""
        return _cast_float(self, data, self.item_size)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return float_from_json(self, data, self.item_size, zarr_format=zarr_format)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> float | str:
        return float_to_json(self.cast_scalar(data), zarr_format=zarr_format)


@dataclass(frozen=True, kw_only=True)
class ComplexBase(NumericBase, HasEndianness, HasItemSize):
    """What all complex data types share: pairs of floating-point numbers."""

    def _join(self, real: Any, imag: Any) -> Any:
        # Through memory: complex arithmetic would make NaNs quiet and lose the sign of zeros.
        return np.array([real, imag]).view(self._code)[0]

    def cast_scalar(self, data: object) -> Any:
        """Return `data`, a number or a pair of real and imaginary part, rounded to this type."""
        data = unboxed(data)
        size = self.item_size // 2
        if isinstance(data, (complex, np.complexfloating)):
            data = (data.real, data.imag)
        elif isinstance(data, str):
            data = parse_complex(self, data)
        if isinstance(data, (tuple, list)) and len(data) == 2:
            return self._join(*(_cast_float(self, part, size) for part in data))
        if isinstance(data, (tuple, list)):
            raise self._reject_scalar(data, "a number, or a pair of real and imaginary part")
        return self._join(_cast_float(self, data, size), np.dtype(f"f{size}").type(0))

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        size = self.item_size // 2
        if isinstance(data, (list, tuple)) and len(data) == 2:
            return self._join(*(float_from_json(self, part, size, zarr_format=zarr_format) for part in data))
        # The zero of writers of format 2 which did not look at the data type.
        if (
            zarr_format == 2
            and isinstance(data, (int, float))
            and not isinstance(data, bool)
            and math.isfinite(data)
        ):
            return self.cast_scalar(data)
        raise self._reject_scalar(data, "a pair of real and imaginary part")

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> list[float | str]:
        parts = np.array([self.cast_scalar(data)]).view(f"f{self.item_size // 2}")
        return [float_to_json(part, zarr_format=zarr_format) for part in parts]


def parse_complex(zdtype: ZDType[Any, Any], text: str) -> tuple[float, float]:
    """Real and imaginary part of a number written as Python does."""
    try:
        number = complex(text)
    except ValueError:
        raise zdtype._reject_scalar(text, "a complex number") from None
    return number.real, number.imag


class Float16(FloatBase, code="f2"):
    """Floating-point numbers of half precision (``float16``, ``"<f2"``)."""


class Float32(FloatBase, code="f4"):
    """Floating-point numbers of single precision (``float32``, ``"<f4"``)."""


class Float64(FloatBase, code="f8"):
    """Floating-point numbers of double precision (``float64``, ``"<f8"``)."""


class Complex64(ComplexBase, code="c8"):
    """Complex numbers with parts of single precision (``complex64``, ``"<c8"``)."""

    _other_v3_names = ("complex_float32",)


class Complex128(ComplexBase, code="c16"):
    """Complex numbers with parts of double precision (``complex128``, ``"<c16"``)."""

    _other_v3_names = ("complex_float64",)


TYPES = (Float16, Float32, Float64, Complex64, Complex128)
