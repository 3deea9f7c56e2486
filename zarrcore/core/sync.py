"""Coroutines that are run to their end, under the names of ``zarr.core.sync``."""

from __future__ import annotations

from zarrcore.compat.sync import SyncMixin, collect_aiterator, sync

__all__ = ["SyncMixin", "collect_aiterator", "sync"]
