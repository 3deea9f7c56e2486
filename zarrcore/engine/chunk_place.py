# SPDX-License-Identifier: MIT
"""A stored chunk, for codecs that read and write parts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.errors import ChunkError, ChunkIOError, ChunkLockError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zarrcore.storage.base import Store


class ChunkPlace:
    """A stored chunk, for codecs that read and write parts of it; failures of the store are reported as such.

    Parameters
    ----------
    store : Store
        Where the chunk is.
    key : str
        Its key.
    lock : callable
        Returns the lock of a key, for a ``with`` statement.
    """

    def __init__(self, store: Store, key: str, lock: Callable[[str], Any]) -> None:
        self._store = store
        self._key = key
        self._lock = lock

    def get(self, byte_range: Any = None) -> Any:
        """Return the chunk's bytes, or a part of them; None if it is not stored."""
        return self._call(self._store.get, byte_range)

    def get_parts(self, byte_ranges: Sequence[Any]) -> Sequence[Any]:
        """Parts of the chunk's bytes, all from one version of them; None for each if it is not stored."""
        requests = [(self._key, byte_range) for byte_range in byte_ranges]
        try:
            with self._lock(self._key):  # no other thread of this process replaces it meanwhile
                found: Sequence[Any] = self._told(self._store.get_partial_values, requests)
        except ChunkLockError:  # this thread is patching the chunk, and reads what it patches
            found = self._told(self._store.get_partial_values, requests)
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
    """Return the message of an error of a store or codec, after its name."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
