"""Integer data types of 2 and 4 bits from the package ml_dtypes (zarr-extensions, "data-types").

In memory, and stored with the codec ``bytes``, each item takes one byte; ``packbits`` packs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrcore.dtypes.extension import MLType, is_ml
from zarrcore.dtypes.integer import IntegerBase
from zarrcore.dtypes.scalars import unboxed


class SmallInteger(MLType, IntegerBase):
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


class Int2(SmallInteger):
    """Signed integers of 2 bits, -2..1 (``int2``)."""

    bits = 2
    signed = True
    _zarr_v3_name = "int2"


class Int4(SmallInteger):
    """Signed integers of 4 bits, -8..7 (``int4``)."""

    bits = 4
    signed = True
    _zarr_v3_name = "int4"


class UInt2(SmallInteger):
    """Unsigned integers of 2 bits, 0..3 (``uint2``)."""

    bits = 2
    _zarr_v3_name = "uint2"


class UInt4(SmallInteger):
    """Unsigned integers of 4 bits, 0..15 (``uint4``)."""

    bits = 4
    _zarr_v3_name = "uint4"


TYPES = (Int2, Int4, UInt2, UInt4)
