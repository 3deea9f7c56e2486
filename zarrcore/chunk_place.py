# SPDX-License-Identifier: MIT
"""Stored chunks one by one: where each lies in its store, and the locks for patching them in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore._locks import KeyLocks
from zarrcore.errors import ChunkError, ChunkIOError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zarrcore._locks import RLock
    from zarrcore.abc.store import Store

__all__ = ["ChunkPlace", "chunk_lock", "reason"]

# For what is read, patched and written back: one such update at a time for each key.
_CHUNKS = KeyLocks()


def chunk_lock(store: Store, key: str) -> RLock:  # type: ignore[valid-type]
    """The lock under which the Python engine replaces the chunk stored under `key`, for a ``with`` statement.

    Two threads that patch the same chunk meet at the same lock, whichever array and store objects they use.

    Raises
    ------
    ChunkIOError
        If this very thread has it: a store, or a signal handler, writes to the chunk that is being written.
    """
    lock = _CHUNKS.lock(store._lock_scope() + key)
    if lock._is_owned():  # type: ignore[attr-defined]
        raise ChunkIOError("a chunk is written to while this thread is writing it", key=key)
    return lock


class ChunkPlace:
    """A stored chunk, for codecs that read and write parts of it; failures of the store are told as such.

    Parameters
    ----------
    store : Store
        Where the chunk is.
    key : str
        Its key.
    """

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key

    def get(self, byte_range: Any = None) -> Any:
        """The chunk's bytes, or a part of them; None if it is not stored."""
        return self._call(self._store.get, byte_range)

    def get_parts(self, byte_ranges: Sequence[Any]) -> Sequence[Any]:
        """Parts of the chunk's bytes, all from one version of them; None for each if it is not stored."""
        requests = [(self._key, byte_range) for byte_range in byte_ranges]
        # No other thread of this process replaces it meanwhile; a patch in this one reads what it patches.
        with _CHUNKS.lock(self._store._lock_scope() + self._key):
            found: Sequence[Any] = self._told(self._store.get_partial_values, requests)
        return found

    def set(self, value: Any) -> None:
        """Store the chunk's bytes."""
        self._call(self._store.set, value)

    def set_if_not_exists(self, default: Any) -> None:
        """Store the chunk's bytes unless it is stored already."""
        self._call(self._store.set_if_not_exists, default)

    def delete(self) -> None:
        """Remove the chunk."""
        self._call(self._store.delete)

    def _call(self, method: Callable[..., Any], *args: Any) -> Any:
        return self._told(method, self._key, *args)

    def _told(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except (ChunkError, MemoryError):
            raise
        except Exception as error:
            raise ChunkIOError(reason(error), key=self._key) from error


def reason(error: Exception) -> str:
    """What an error of a store or codec says, behind its name."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
