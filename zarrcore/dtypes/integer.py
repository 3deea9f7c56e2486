"""Integer data types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.dtypes.base import HasEndianness, HasItemSize
from zarrcore.dtypes.numeric import NumericBase
from zarrcore.dtypes.scalars import integer_from_json, is_integer, unboxed

if TYPE_CHECKING:
    from zarrcore.dtypes.base import JSON, ZarrFormat


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int, Any]:
    """Return the smallest and the largest number, and the scalar type, of a numpy data type."""
    limits = np.iinfo(dtype)  # whose members are computed at each access
    return limits.min, limits.max, limits.dtype.type


class IntegerBase(NumericBase, HasItemSize):
    """What all integer data types share."""

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
            return self._within_range(data.__index__(), data)
        raise self._reject_scalar(data, "an integer")

    def default_scalar(self) -> Any:
        return self._within_range(0, 0)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return self._within_range(integer_from_json(self, data, zarr_format=zarr_format), data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> int:
        return int(self.cast_scalar(data))


@dataclass(frozen=True, kw_only=True)
class WideInteger(IntegerBase, HasEndianness):
    """What the integer data types of more than one byte share: a byte order."""


class Int8(IntegerBase, code="i1"):
    """Signed integers of 8 bits (``int8``, ``"|i1"``)."""


class UInt8(IntegerBase, code="u1"):
    """Unsigned integers of 8 bits (``uint8``, ``"|u1"``)."""


class Int16(WideInteger, code="i2"):
    """Signed integers of 16 bits (``int16``, ``"<i2"``)."""


class Int32(WideInteger, code="i4"):
    """Signed integers of 32 bits (``int32``, ``"<i4"``)."""


class Int64(WideInteger, code="i8"):
    """Signed integers of 64 bits (``int64``, ``"<i8"``)."""


class UInt16(WideInteger, code="u2"):
    """Unsigned integers of 16 bits (``uint16``, ``"<u2"``)."""


class UInt32(WideInteger, code="u4"):
    """Unsigned integers of 32 bits (``uint32``, ``"<u4"``)."""


class UInt64(WideInteger, code="u8"):
    """Unsigned integers of 64 bits (``uint64``, ``"<u8"``)."""


TYPES = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)
