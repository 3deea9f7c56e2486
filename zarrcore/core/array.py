"""Arrays, under the names of ``zarr.core.array``."""

from __future__ import annotations

from zarrcore.arrays.array import Array
from zarrcore.arrays.async_array import AsyncArray

__all__ = ["Array", "AsyncArray"]
