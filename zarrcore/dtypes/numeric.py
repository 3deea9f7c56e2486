"""NumPy's own numbers: Booleans, integers, floating-point and complex numbers."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._typing import JSON, DTypeJSON, ZarrFormat
from zarrcore.dtypes.base import HasEndianness, HasItemSize, ZDType, is_ml, is_native_kind, order_char
from zarrcore.dtypes.layout import scalar_to_bytes
from zarrcore.dtypes.scalars import integer_from_json, is_integer, unboxed
from zarrcore.dtypes.spelling import type_string_v2

_REAL = (bool, int, float, np.bool_, np.integer, np.floating)
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Texts are rare: the patterns are compiled for the first one.
_HEX = r"0x([0-9a-fA-F]+)"
_NUMBER = r"[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)"

_numpy_dtype: Any = cache(np.dtype)


class NumericBase(ZDType[Any, Any], HasItemSize):
    """A data type that is one NumPy kind with one item size.

    Only classes that add a field are decorated as dataclasses; making one takes a while at import.
    """

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        code = cls._code
        return is_native_kind(dtype, code[0], int(code[1:]))

    def to_native_dtype(self) -> Any:
        return _numpy_dtype(order_char(self) + self._code)

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        return cls._with(type_string_v2(cls, data).endianness)

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            return self._zarr_v3_name
        return {"name": order_char(self) + self._code, "object_codec_id": None}

    @property
    def item_size(self) -> int:
        return int(self._code[1:])


@dataclass(frozen=True, kw_only=True)
class WideNumber(NumericBase, HasEndianness):
    """A number of more than one byte: these have an order."""


# --- Booleans and integers ---


class Bool(NumericBase, code="b1"):
    """Boolean values, one byte each (``bool``, ``"|b1"``)."""

    def cast_scalar(self, data: object) -> np.bool_:
        """Return `data` as a Boolean; numbers must be 0 or 1."""
        data = unboxed(data)
        if not isinstance(data, _REAL) or isinstance(data, np.timedelta64):
            raise self._reject_scalar(data, "a Boolean")
        if data != 0 and data != 1:
            raise self._reject_range(data, "True, False, 1 or 0")
        return np.bool_(data)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.bool_:
        # Writers of format 2 from outside NumPy left numbers.
        is_number = zarr_format == 2 and (is_integer(data) or isinstance(data, float)) and data in (0, 1)
        if not isinstance(data, (bool, np.bool_)) and not is_number:
            raise self._reject_scalar(data, "true or false")
        return np.bool_(data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> bool:
        return bool(self.cast_scalar(data))


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int, Any]:
    """Return the smallest and the largest number, and the scalar type, of a numpy data type."""
    limits = np.iinfo(dtype)  # whose members are computed at each access
    return limits.min, limits.max, limits.dtype.type


class IntegerScalars(ZDType[Any, Any]):
    """What all integer data types share: their scalars."""

    def _within_range(self, value: int, data: object) -> Any:
        least, most, scalar_type = _limits(self.to_native_dtype())
        if not least <= value <= most:
            raise self._reject_range(data, f"an integer {least}..{most}")
        return scalar_type(value)

    def cast_scalar(self, data: object) -> Any:
        """Return `data` as an integer of this type; its value must not change."""
        data = unboxed(data)
        if is_integer(data) or isinstance(data, (bool, np.bool_)):
            return self._within_range(int(data), data)  # type: ignore[call-overload]
        if isinstance(data, (float, np.floating)):
            if float(data).is_integer():
                return self._within_range(int(data), data)
            raise self._reject_range(data, "an integer")
        if hasattr(data, "__index__") and not isinstance(data, np.ndarray):
            return self._within_range(data.__index__(), data)  # pyright: ignore[reportAttributeAccessIssue]
        raise self._reject_scalar(data, "an integer")

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return self._within_range(integer_from_json(self, data, zarr_format=zarr_format), data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> int:
        return int(self.cast_scalar(data))


class Int8(IntegerScalars, NumericBase, code="i1"):
    """Signed integers of 8 bits (``int8``, ``"|i1"``)."""


class UInt8(IntegerScalars, NumericBase, code="u1"):
    """Unsigned integers of 8 bits (``uint8``, ``"|u1"``)."""


class Int16(IntegerScalars, WideNumber, code="i2"):
    """Signed integers of 16 bits (``int16``, ``"<i2"``)."""


class Int32(IntegerScalars, WideNumber, code="i4"):
    """Signed integers of 32 bits (``int32``, ``"<i4"``)."""


class Int64(IntegerScalars, WideNumber, code="i8"):
    """Signed integers of 64 bits (``int64``, ``"<i8"``)."""


class UInt16(IntegerScalars, WideNumber, code="u2"):
    """Unsigned integers of 16 bits (``uint16``, ``"<u2"``)."""


class UInt32(IntegerScalars, WideNumber, code="u4"):
    """Unsigned integers of 32 bits (``uint32``, ``"<u4"``)."""


class UInt64(IntegerScalars, WideNumber, code="u8"):
    """Unsigned integers of 64 bits (``uint64``, ``"<u8"``)."""


# --- floating-point numbers ---


class RealScalars(ZDType[Any, Any]):
    """What all floating-point data types share: their scalars.

    What may be NaN never passes through a Python ``float``: its payload would be lost on the way (a
    conversion between sizes makes every NaN quiet).
    """

    def _rounded(self, data: Any) -> Any:
        """Return the scalar nearest to the real number `data`; finite numbers must stay finite."""
        raise NotImplementedError

    def _from_bits(self, bits: int) -> Any:
        """Return the scalar with these bits."""
        raise NotImplementedError

    def cast_scalar(self, data: object) -> Any:
        """Return `data`, a number or its text, rounded to this type; finite numbers must stay finite."""
        data = unboxed(data)
        if isinstance(data, str):
            try:
                return self.from_json_scalar(data, zarr_format=3)
            except TypeError:
                return self.from_json_scalar(data, zarr_format=2)
        if isinstance(data, np.generic):
            if isinstance(data, self.to_native_dtype().type):
                return data  # with the bits of a NaN
            if is_ml(data.dtype) and str(data.dtype.kind) != "W":  # W: its complex numbers
                data = float(data)
        if isinstance(data, np.timedelta64) or not isinstance(data, _REAL):
            raise self._reject_scalar(data, "a real number")
        return self._rounded(data)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        """Return the scalar of a fill value (v3 core, "Permitted fill values").

        Format 2 adds what its writers left: the bare ``NaN`` of Python's JSON, and numbers as strings.
        """
        if isinstance(data, str):
            found = self._parse_text(data, zarr_format)
            return self._from_bits(found) if isinstance(found, int) else self._rounded(found)
        if not is_integer(data) and not isinstance(data, float):
            raise self._reject_scalar(data, "a number or one of its string forms")
        if zarr_format == 3 and isinstance(data, float) and not math.isfinite(data):
            raise self._reject_scalar(data, "a finite number, or 'NaN', 'Infinity', '-Infinity' as a string")
        return self._rounded(data)

    def _parse_text(self, text: str, zarr_format: ZarrFormat) -> int | float:
        """Return the bits (an int) or the value (a float) that `text` stands for."""
        if text in _SPECIAL:
            return _SPECIAL[text]
        n_digits = 2 * (self.item_size or 0)
        digits = re.fullmatch(_HEX, text, re.ASCII)
        if zarr_format == 3 and digits is not None and len(digits[1]) == n_digits:
            return int(digits[1], 16)
        if zarr_format == 2 and re.fullmatch(_NUMBER, text, re.ASCII | re.IGNORECASE):
            return float(text)
        other = "a number" if zarr_format == 2 else f"'0x' and {n_digits} hexadecimal digits"
        raise self._reject_scalar(text, f"'NaN', 'Infinity', '-Infinity' or {other}")

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> float | str:
        """Return the JSON form of a scalar: in format 3 a NaN other than the usual one as its bits."""
        scalar = self.cast_scalar(data)
        if np.isinf(scalar):
            return "Infinity" if scalar > 0 else "-Infinity"
        if not np.isnan(scalar):
            return float(scalar)
        bits = _bits(scalar)
        if zarr_format == 2 or bits == _bits(scalar.dtype.type(math.nan)):
            return "NaN"
        return f"0x{bits:0{2 * scalar.dtype.itemsize}x}"


def _bits(scalar: Any) -> int:
    return int(np.array(scalar).view(f"u{scalar.dtype.itemsize}"))


class NumPyFloat(RealScalars, WideNumber):
    """What the floating-point data types of NumPy share."""

    def _from_bits(self, bits: int) -> Any:
        return np.array([bits], dtype=f"u{self.item_size}").view(self._code)[0]

    def _rounded(self, data: Any) -> Any:
        try:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                scalar = np.dtype(self._code).type(data)
            is_infinite = isinstance(data, (float, np.floating)) and np.isinf(data)
            overflow = np.isinf(scalar) and not is_infinite
        except OverflowError:  # an integer beyond even float64
            overflow = True
        if overflow:
            raise self._reject_range(data, f"a number within the range of {self._zarr_v3_name}")
        return scalar


class Float16(NumPyFloat, code="f2"):
    """Floating-point numbers of half precision (``float16``, ``"<f2"``)."""


class Float32(NumPyFloat, code="f4"):
    """Floating-point numbers of single precision (``float32``, ``"<f4"``)."""


class Float64(NumPyFloat, code="f8"):
    """Floating-point numbers of double precision (``float64``, ``"<f8"``)."""


# --- complex numbers ---


class ComplexScalars(ZDType[Any, Any]):
    """What all complex data types share: their scalars, pairs of a real and an imaginary part."""

    part_cls: ClassVar[type[ZDType[Any, Any]]]

    @property
    def part(self) -> ZDType[Any, Any]:
        """The data type of the two parts."""
        return self.part_cls._with(getattr(self, "endianness", "little"))

    def _join(self, real: Any, imag: Any) -> Any:
        # As bytes: complex arithmetic would make NaNs quiet and lose the sign of zeros.
        part = self.part
        data = scalar_to_bytes(part, real) + scalar_to_bytes(part, imag)
        return np.frombuffer(data, dtype=self.to_native_dtype())[0]

    def cast_scalar(self, data: object) -> Any:
        """Return `data`, a number or a pair of real and imaginary part, rounded to this type."""
        data = unboxed(data)
        if isinstance(data, str):
            try:
                data = complex(data)
            except ValueError:
                raise self._reject_scalar(data, "a complex number") from None
        elif isinstance(data, np.void) and data.dtype.names == ("real", "imag"):
            data = (data["real"], data["imag"])
        elif isinstance(data, np.generic) and is_ml(data.dtype) and str(data.dtype.kind) == "W":
            data = complex(data)
        if isinstance(data, (complex, np.complexfloating)):
            data = (data.real, data.imag)
        if not isinstance(data, (tuple, list)):
            return self._join(self.part.cast_scalar(data), self.part.default_scalar())
        if len(data) != 2:
            raise self._reject_scalar(data, "a number, or a pair of real and imaginary part")
        return self._join(*map(self.part.cast_scalar, data))

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        if isinstance(data, (list, tuple)) and len(data) == 2:
            return self._join(*(self.part.from_json_scalar(item, zarr_format=zarr_format) for item in data))
        # The zero of writers of format 2 which did not look at the data type.
        is_number = isinstance(data, (int, float)) and not isinstance(data, bool) and math.isfinite(data)
        if zarr_format == 2 and is_number:
            return self.cast_scalar(data)
        raise self._reject_scalar(data, "a pair of real and imaginary part")

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> list[Any]:
        item = np.array([self.cast_scalar(data)], dtype=self.to_native_dtype())
        parts = item.view(self.part.to_native_dtype())
        return [self.part.to_json_scalar(number, zarr_format=zarr_format) for number in parts]


class Complex64(ComplexScalars, WideNumber, code="c8"):
    """Complex numbers with parts of single precision (``complex64``, ``"<c8"``)."""

    part_cls = Float32
    _other_v3_names = ("complex_float32",)


class Complex128(ComplexScalars, WideNumber, code="c16"):
    """Complex numbers with parts of double precision (``complex128``, ``"<c16"``)."""

    part_cls = Float64
    _other_v3_names = ("complex_float64",)
