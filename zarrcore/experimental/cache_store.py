"""The cache that keeps values in another store, under the name of ``zarr.experimental.cache_store``."""

from __future__ import annotations

from zarrcore.storage.caching import CacheStore

__all__ = ["CacheStore"]
