"""A store over a slower one that keeps values it has read in a third one."""

from __future__ import annotations

import time
from collections import OrderedDict
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from zarrcore._locks import Lock
from zarrcore.storage.announced import announce_documents
from zarrcore.storage.base import Store, WrapperStore
from zarrcore.storage.byte_range import as_request
from zarrcore.storage.validation import validate_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from typing_extensions import Buffer

    from zarrcore.storage.byte_range import ByteRange, ByteRequest

    Request = tuple[str, ByteRequest | None]


class CacheStore(WrapperStore, announces=False):  # the wrapped store does
    """A store that keeps the values that are read from another one in a third, such as a local directory.

    Whole values are kept in `cache_store`, under their own keys; parts of values (of shards) in memory.  What
    this process writes or removes is seen at once, through this store or the wrapped one; what others do to
    the wrapped store is seen when the values that are kept are too old.

    Parameters
    ----------
    store : Store
        The store to read from and to write to.
    cache_store : Store
        Where values are kept.  Values that it contains already count as kept, unless it can become too old.
    max_age_seconds : float or "infinity"
        For how long a value is good.
    max_size : int, optional
        The most bytes that are kept; those that have not been used for longest go first.  A value that is
        larger is not kept.  Default: no limit.
    cache_set_data : bool
        Keep values that are written, too.

    Raises
    ------
    ValueError
        If the cache store cannot remove values, or a limit is negative.

    Examples
    --------
    >>> import zarrcore
    >>> from zarrcore.storage import CacheStore, MemoryStore
    >>> store = CacheStore(MemoryStore(), cache_store=MemoryStore(), max_size=1 << 20)
    >>> array = zarrcore.create_array(store, shape=4, dtype="i4")
    >>> array[:] = 7
    >>> array[:].tolist(), store.cache_stats()["misses"]
    ([7, 7, 7, 7], 1)
    """

    def __init__(
        self,
        store: Store,
        *,
        cache_store: Store,
        max_age_seconds: float | Literal["infinity"] = "infinity",
        max_size: int | None = None,
        cache_set_data: bool = True,
    ) -> None:
        super().__init__(store)
        if not cache_store.supports_deletes:
            raise ValueError(f"cache_store: expected a store that can remove values, got {cache_store!r}")
        if max_age_seconds != "infinity" and (isinstance(max_age_seconds, str) or max_age_seconds < 0):
            raise ValueError(f'max_age_seconds: expected "infinity" or at least 0, got {max_age_seconds!r}')
        if max_size is not None and max_size < 0:
            raise ValueError(f"max_size: expected None or at least 0, got {max_size}")
        self._cache = cache_store
        self.max_age_seconds = max_age_seconds
        self.max_size = max_size
        self.cache_set_data = cache_set_data
        self._kept = _Kept(cache_store, max_size)
        announce_documents()

    def _with_store(self, store: Store) -> Self:
        clone = copy(self)
        clone._store = store
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {
            "cache_store": self._cache,
            "max_age_seconds": self.max_age_seconds,
            "max_size": self.max_size,
            "cache_set_data": self.cache_set_data,
        }
        return partial(type(self), **options), (self._store,)

    def __copy__(self) -> Self:
        clone = type(self).__new__(type(self))
        vars(clone).update(vars(self))  # what is kept is shared
        return clone

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r}, cache_store={self._cache!r})"

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self.get_partial_values([(key, byte_range)])[0]

    def get_many(self, keys: Iterable[str]) -> Sequence[Buffer | None]:
        return self.get_partial_values([(key, None) for key in keys])

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        requests = [(key, as_request(byte_range)) for key, byte_range in key_ranges]
        events = {key: self._events(key) for key, _ in requests}
        values = [self._find(request, events[request[0]]) for request in requests]
        changes = self._kept.changes
        absent = [number for number, value in enumerate(values) if value is None]
        if absent:
            found = self._store.get_partial_values([requests[number] for number in absent])
            for number, value in zip(absent, found, strict=True):
                values[number] = value
                if value is not None:
                    event = events[requests[number][0]]
                    self._kept.put(requests[number], value, event, unless_changed_since=changes)
        self._kept.count(hits=len(requests) - len(absent), misses=len(absent))
        return values

    def _events(self, key: str) -> int:
        """Return how many changes of a key this process has begun or ended; -1 while one is under way."""
        from zarrcore._core.engine import key_events

        return key_events(self._scope(""), key)

    def _find(self, request: Request, events: int) -> Buffer | None:
        """Return the valid kept value for a request: the part itself, or the value around it."""
        key, part = request
        if not self._kept.is_valid(key, events):
            return None
        for kept in dict.fromkeys([request, (key, None)]):
            age = self._kept.age(kept)
            if self.max_age_seconds != "infinity" and (age is None or age > self.max_age_seconds):
                continue
            value = self._kept.get(kept) if kept == request else self._cache.get(key, part)
            if value is not None:
                self._kept.use(kept, value if kept == (key, None) and part is None else None)
                return value
        return None

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        number, before = self._kept.begin(key), self._events(key)
        try:
            super().set(key, value)
        except BaseException:
            self._kept.drop([key])
            raise
        after = self._events(key)
        is_own = after == before + 2 * _announced_sets(self)
        self._kept.end(key, number, after, value if self.cache_set_data and is_own else None)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        try:
            return super().set_if_not_exists(key, value)
        finally:
            self._kept.drop([key])

    def set_partial_values(self, key_start_values: Iterable[tuple[str, int, Buffer]]) -> None:
        parts = list(key_start_values)
        try:
            super().set_partial_values(parts)
        finally:
            self._kept.drop([key for key, _, _ in parts])

    def delete(self, key: str) -> None:
        try:
            super().delete(key)
        finally:
            self._kept.drop([key])

    def erase_values(self, keys: Iterable[str]) -> None:
        names = list(keys)
        try:
            super().erase_values(names)
        finally:
            self._kept.drop(names)

    def erase_prefix(self, prefix: str) -> None:
        try:
            super().erase_prefix(prefix)
        finally:
            self._kept.drop_prefix(prefix)

    def clear(self) -> None:
        try:
            super().clear()
        finally:
            self._kept.drop_prefix("")

    # --- the cache ---

    def cache_info(self) -> dict[str, Any]:
        """Return the numbers of what is kept, and the limits."""
        return {
            "cache_store_type": type(self._cache).__name__,
            "max_age_seconds": self.max_age_seconds,
            "max_size": self.max_size,
            "current_size": self._kept.size,
            "cache_set_data": self.cache_set_data,
            "tracked_keys": len(self._kept.entries),
            "cached_keys": len(self._kept.entries),
        }

    def cache_stats(self) -> dict[str, Any]:
        """Return how many values were found, how many were not, and how many were removed."""
        kept = self._kept
        total = kept.hits + kept.misses
        return {
            "hits": kept.hits,
            "misses": kept.misses,
            "evictions": kept.evictions,
            "total_requests": total,
            "hit_rate": kept.hits / total if total else 0.0,
        }

    def clear_cache(self) -> None:
        """Forget and remove all that is kept."""
        self._kept.drop_prefix("")


def _announced_sets(store: Store) -> int:
    """Return how many methods announce the change of a key when a store, or one that it wraps, sets it."""
    own = sum(hasattr(vars(kind).get("set"), "__wrapped__") for kind in type(store).__mro__)
    return own + (_announced_sets(store._store) if isinstance(store, WrapperStore) else 0)


_MOST_SEEN = 10_000


class _Kept:
    """The values that are kept, the one used last at the end; several stores may share them."""

    def __init__(self, store: Store, max_size: int | None) -> None:
        self.entries: OrderedDict[Request, tuple[int, float]] = OrderedDict()  # size, time
        self.size = self.changes = self.hits = self.misses = self.evictions = 0
        self._store = store
        self._max_size = max_size
        self._parts: dict[str, dict[ByteRequest, bytes]] = {}
        self._seen: dict[str, int] = {}  # changes of a key when what is kept of it was valid
        self._writing: dict[str, int] = {}  # keys that are being written: number of the last such write
        self._lock = Lock()

    def count(self, *, hits: int, misses: int) -> None:
        with self._lock:
            self.hits += hits
            self.misses += misses

    def age(self, request: Request) -> float | None:
        """Return how many seconds ago a value was kept; None if unknown."""
        entry = self.entries.get(request)
        return None if entry is None else time.monotonic() - entry[1]

    def get(self, request: Request) -> Buffer | None:
        key, part = request
        return self._store.get(key) if part is None else self._parts.get(key, {}).get(part)

    def use(self, request: Request, value: Buffer | None) -> None:
        """Note that a kept value was used; one that an earlier process kept is known from now on."""
        with self._lock:
            if request in self.entries:
                self.entries.move_to_end(request)
            elif value is not None:
                self._enter(request, memoryview(value).nbytes)

    def is_valid(self, key: str, events: int) -> bool:
        """Whether what is kept of a value is the present one; if it is not, it is removed."""
        if events == self._seen.get(key, 0):
            return True
        if events >= 0:
            with self._lock:
                self._drop(key)
                self._see(key, events)
        return False

    def _see(self, key: str, events: int) -> None:
        if len(self._seen) > _MOST_SEEN + 2 * len(self.entries):
            self._seen = {kept: self._seen.get(kept, 0) for kept, _ in self.entries}
        self._seen[key] = events

    def put(self, request: Request, value: Buffer, events: int, *, unless_changed_since: int) -> None:
        """Keep a value that was read after some changes of its key, unless this store has written since."""
        with self._lock:
            if unless_changed_since == self.changes and events >= 0:
                if self._seen.get(request[0], 0) != events:
                    self._drop(request[0])
                self._see(request[0], events)
                self._keep(request, value)

    def begin(self, key: str) -> int:
        """Forget a value that is going to be replaced; returns the number of this write."""
        with self._lock:
            self._drop(key)
            self._writing[key] = self.changes
            return self.changes

    def end(self, key: str, number: int, events: int, value: Buffer | None) -> None:
        """Forget what a reader kept while `value` was written, and keep this instead.

        It is not kept if another write or removal has begun since: nobody knows which of the two came last.
        """
        with self._lock:
            was_last = self._writing.get(key) == number
            self._drop(key)
            if events >= 0:
                self._see(key, events)
                if was_last and value is not None:
                    self._keep((key, None), value)

    def _keep(self, request: Request, value: Buffer) -> None:
        """Keep a value, unless it is too large."""
        size = memoryview(value).nbytes
        if self._max_size is not None and size > self._max_size:
            return
        key, part = request
        if part is None:
            self._store.set(key, value)
        else:
            self._parts.setdefault(key, {})[part] = bytes(value)
        self._enter(request, size)

    def _enter(self, request: Request, size: int) -> None:
        self.size += size - self.entries.pop(request, (0, 0.0))[0]
        self.entries[request] = (size, time.monotonic())
        while self._max_size is not None and self.size > self._max_size:
            self._remove(next(iter(self.entries)))
            self.evictions += 1

    def _remove(self, request: Request) -> None:
        key, part = request
        if part is None:
            self._store.delete(key)
        else:
            parts = self._parts[key]
            del parts[part]
            if not parts:
                del self._parts[key]
        self.size -= self.entries.pop(request)[0]

    def drop(self, keys: Iterable[str]) -> None:
        """Remove what is kept of values that have changed."""
        with self._lock:
            for key in set(keys):
                self._drop(key)

    def _drop(self, key: str) -> None:
        self.changes += 1
        self._writing.pop(key, None)
        for part in [*self._parts.get(key, ())]:
            self._remove((key, part))
        if (key, None) in self.entries:
            self._remove((key, None))
        else:
            self._store.delete(key)  # an earlier process may have kept it

    def drop_prefix(self, prefix: str) -> None:
        """Remove all that is kept below a prefix."""
        start = validate_prefix(prefix)
        with self._lock:
            self.changes += 1
            self._writing.clear()
            self._store.erase_prefix(prefix)
            for request in [request for request in self.entries if request[0].startswith(start)]:
                self._remove(request)
