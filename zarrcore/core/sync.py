"""Coroutines that are run to their end, under the names of ``zarr.core.sync``."""

from __future__ import annotations

from zarrcore.compat.sync import SyncMixin, _collect_aiterator, collect_aiterator, sync

__all__ = ["SyncMixin", "_collect_aiterator", "collect_aiterator", "sync"]
