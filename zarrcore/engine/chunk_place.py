# SPDX-License-Identifier: MIT
"""A stored chunk: its key, its lock, its bytes, and errors that name it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zarrcore._core import engine
from zarrcore.config import config
from zarrcore.errors import (
    ChunkEncodeError,
    ChunkError,
    ChunkIOError,
    ChunkLockError,
    ChunkMemoryError,
    RegionOverlapWarning,
    ReplacedError,
    StoreError,
    named,
)
from zarrcore.storage.validation import Limit, answers, as_view, too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from zarrcore.codecs.base import ArraySpec
    from zarrcore.codecs.chain import CodecChain
    from zarrcore.storage.base import Store

_MOST_ATTEMPTS = 100  # at a chunk that other processes replace meanwhile


class ChunkPlace:
    """A stored chunk, also for codecs that read and write parts of it; its store raises ChunkIOError alone.

    `path` is that of the array, and ``lock(key, writes=True)`` returns the lock under which a chunk is read,
    patched and replaced; without `writes` it keeps away this process alone.  Of the whole chunk no more than
    `most` bytes are read (None: whatever there is).
    """

    def __init__(
        self,
        store: Store,
        path: str,
        coords: tuple[int, ...],
        key: str,
        lock: Callable[..., Any],
        most: int | None = None,
    ) -> None:
        self._store = store
        self._path = path or "/"
        self._lock = lock
        self._most = most
        self.coords = coords
        self.key = key

    def lock(self) -> Any:
        """Return the lock of the chunk."""
        return self._lock(self.key, writes=True)

    def get(self, byte_range: Any = None) -> Any:
        """Return the chunk's bytes, or a part of them; None if it is not stored."""
        return self._call(self._get, byte_range)

    def get_part(self, byte_range: Any, versions: dict[str, str]) -> Any:
        """Return a part of the chunk's bytes, and note its version; None if it is not stored."""
        return self._call(self._get_parts, [byte_range], versions)[0]

    def get_parts(self, byte_ranges: Sequence[Any], versions: dict[str, str]) -> Sequence[Any] | None:
        """Return parts of the chunk's bytes, all from one version of them; None for each if it is not stored.

        Returns None if that is not the version whose parts have been seen before.
        """
        try:
            with self._lock(self.key, writes=False):  # no other thread of this process replaces it meanwhile
                return self._parts_of_one_version(byte_ranges, versions)
        except ChunkLockError:  # this thread is patching the chunk, and reads what it patches
            return self._parts_of_one_version(byte_ranges, versions)

    def _parts_of_one_version(
        self, byte_ranges: Sequence[Any], versions: dict[str, str]
    ) -> Sequence[Any] | None:
        try:
            return self._call(self._get_parts, byte_ranges, versions)  # type: ignore[no-any-return]
        except ChunkIOError as error:
            if isinstance(error.__cause__, ReplacedError):
                return None
            raise

    def as_bytes(self, value: Any) -> bytes | memoryview | None:
        """Return what the store has answered, if that is bytes or None."""
        with self.errors_as(ChunkIOError):
            return None if value is None else as_view(value, self.key)

    def set(self, value: Any) -> None:
        """Store the chunk's bytes, unless they are more than would be read."""
        self._check_size(value)
        self._call(self._store.set, self.key, value)
        engine.count(writes=1, nbytes_written=memoryview(value).nbytes)

    def set_if_not_exists(self, default: Any) -> None:
        """Store the chunk's bytes unless it is stored already."""
        self._call(self._store.set_if_not_exists, self.key, default)

    def delete(self) -> None:
        """Remove the chunk."""
        self._call(self._store.delete, self.key)
        engine.count(writes=1)

    def replace(self, value: Any) -> None:
        """Store the chunk's bytes, or remove the chunk if they are None."""
        if value is None:
            self.delete()
        else:
            self.set(value)

    def patch(self, change: Callable[[Any, bool], Any], write_empty: bool) -> None:
        """Replace the chunk, whose lock is held, by ``change(bytes, write_empty)``; None is no chunk.

        Where that returns the bytes that it was given, nothing is stored.

        Where the store compares versions, this is done again if another process has replaced the chunk
        meanwhile.  No store removes a value on condition, so a chunk that has become empty is stored there.
        """
        if not self._store._compares:
            stored = self.get()
            if (new := change(stored, write_empty)) is not stored:
                self.replace(new)
            return
        for attempt in range(_MOST_ATTEMPTS):
            old, version = self._call(self._store._get_version, self.key, self._most)
            stored = None if old is None else as_view(old, self.key)
            new = change(stored, write_empty)
            if new is stored:
                return
            if new is None:
                new = change(stored, True)
            self._check_size(new)
            if self._call(self._store._replace_version, self.key, new, version, attempt):
                return
        raise ChunkIOError(
            f"others have replaced the chunk {_MOST_ATTEMPTS} times while it was changed", key=self.key
        )

    def _check_size(self, value: Any) -> None:
        if self._most is not None and (nbytes := memoryview(value).nbytes) > self._most:
            raise ChunkEncodeError(too_large(nbytes, self._most))

    def _get_parts(self, byte_ranges: Sequence[Any], versions: dict[str, str]) -> Sequence[Any]:
        found = self._store._get_parts([(self.key, byte_range) for byte_range in byte_ranges], versions)
        found = answers(found, len(byte_ranges), "get_partial_values")
        parts = [None if part is None else as_view(part, self.key) for part in found]
        count_read(parts)
        return parts

    def _get(self, byte_range: Any) -> Any:
        if byte_range is None and self._most is not None and self._store._bounds_chunks:
            value = self._store._get_chunks([self.key], self._most)[0]
        else:
            value = self._store.get(self.key, byte_range)
        found = None if value is None else as_view(value, self.key)
        count_read([found])
        return found

    def _call(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except (ChunkError, MemoryError):
            raise
        except Exception as error:
            raise ChunkIOError(named(error), key=self.key) from error

    @contextmanager
    def errors_as(self, kind: type[ChunkError], codec: str | None = None) -> Iterator[None]:
        """Have errors name array, chunk and key; those that are no ChunkError are raised as `kind`."""
        try:
            yield
        except ChunkError as error:
            raise error.located(array=self._path, chunk=self.coords, key=self.key) from error.__cause__
        except RegionOverlapWarning:
            raise
        except Exception as error:
            where: Any = {"array": self._path, "chunk": self.coords, "key": self.key, "codec": codec}
            if isinstance(error, MemoryError):
                raise ChunkMemoryError(f"out of memory: {named(error)}", **where) from error
            raise (ChunkIOError if isinstance(error, StoreError) else kind)(named(error), **where) from error


def count_read(found: Sequence[Any]) -> None:
    """Count what a store was asked for, and what it has returned."""
    nbytes = sum(memoryview(data).nbytes for data in found if data is not None)
    engine.count(requests=len(found), nbytes_read=nbytes)


def most_stored(chain: CodecChain, spec: ArraySpec) -> int | None:
    """Return the most bytes that are read of a stored chunk; None: whatever there is."""
    limit = config.get("array.max_variable_chunk_bytes")
    return None if limit is None else Limit(chain.most_stored(spec, limit))
