"""Ways of indexing asynchronous arrays, under the names of ``zarr.core.indexing``."""

from __future__ import annotations

from zarrcore.arrays.async_array import AsyncOIndex, AsyncVIndex

__all__ = ["AsyncOIndex", "AsyncVIndex"]
