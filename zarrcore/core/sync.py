"""Coroutines that are run to their end, under the names of ``zarr.core.sync``."""

from zarrcore.compat.coroutines import collect_aiterator, sync

__all__ = ["collect_aiterator", "sync"]
