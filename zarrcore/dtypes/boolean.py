"""The Boolean data type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from zarrcore.dtypes.base import HasItemSize
from zarrcore.dtypes.numeric import NumericBase
from zarrcore.dtypes.scalars import is_integer, unboxed

if TYPE_CHECKING:
    from zarrcore.dtypes.base import JSON, ZarrFormat


class Bool(NumericBase, HasItemSize, code="b1"):
    """Boolean values, one byte each (``bool``, ``"|b1"``)."""

    def cast_scalar(self, data: object) -> np.bool_:
        """Return `data` as a Boolean; numbers must be 0 or 1."""
        data = unboxed(data)
        if not isinstance(data, (bool, int, float, np.bool_, np.integer, np.floating)):
            raise self._reject_scalar(data, "a Boolean")
        if data != 0 and data != 1:
            raise self._reject_range(data, "True, False, 1 or 0")
        return np.bool_(data)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.bool_:
        if isinstance(data, (bool, np.bool_)):
            return np.bool_(data)
        # Writers of format 2 from outside NumPy left numbers.
        if zarr_format == 2 and (is_integer(data) or isinstance(data, float)) and data in (0, 1):
            return np.bool_(data)
        raise self._reject_scalar(data, "true or false")

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> bool:
        return bool(self.cast_scalar(data))


TYPES = (Bool,)
