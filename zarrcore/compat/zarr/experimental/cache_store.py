"""The names of ``zarr.experimental.cache_store``."""

from zarrcore.compat.faces import CacheStore

__all__ = ["CacheStore"]
