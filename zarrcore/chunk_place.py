# SPDX-License-Identifier: MIT
"""Stored chunks one by one: where each lies in its store, and the locks for patching them in Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from zarrcore._locks import Lock, RLock
from zarrcore.errors import ChunkError, ChunkIOError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from zarrcore.abc.store import Store

__all__ = ["ChunkPlace", "chunk_lock", "field_lock", "reason"]

# For what is read, patched and written back: one such update at a time per place.
_CHUNK_LOCKS: tuple[Lock, ...]
_FIELD_LOCK: RLock  # type: ignore[valid-type]


def _renew() -> None:
    """Make all locks anew: a child of a fork must not wait for a thread that it does not have."""
    global _CHUNK_LOCKS, _FIELD_LOCK
    _CHUNK_LOCKS = tuple(Lock() for _ in range(256))
    _FIELD_LOCK = RLock()


_renew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def chunk_lock(key: str) -> Lock:
    """The lock under which the Python engine patches the chunk stored under `key`.

    One lock for each residue of the key's hash: two threads that patch the same chunk always meet at the same
    lock, whichever array objects they hold, and the table never grows.
    """
    return _CHUNK_LOCKS[hash(key) % len(_CHUNK_LOCKS)]


def field_lock() -> Any:
    """The lock under which records and single fields of them are written; one for the process."""
    return _FIELD_LOCK


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
        with chunk_lock(self._key):  # no thread of this process replaces it meanwhile
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
