"""A store over a slower one that keeps values it has read in a third one."""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, ParamSpec, Self, TypeVar, cast

from zarrcore._extension import own_form
from zarrcore._locks import RLock, forkable, taking
from zarrcore._typed import NamedTuple
from zarrcore._typing import Buffer
from zarrcore.errors import InvalidKeyError, ReplacedError, ZarrRuntimeWarning, shown
from zarrcore.storage.announced import announce_documents, changed_by, repeatable
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange, ByteRequest, as_request
from zarrcore.storage.kept_documents import node_of_other_chunks, noticed
from zarrcore.storage.validation import as_view, lasting
from zarrcore.storage.versions import replaced
from zarrcore.storage.wrapper import WrapperStore, of_wrapped, passed_on

P = ParamSpec("P")
T = TypeVar("T")
Request = tuple[str, ByteRequest | None]

_OF_A_COPY = "of a copy"  # the version of a value whose parts have come from a whole one that is kept


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
        If the cache store cannot remove values, or is where the other one is or above it, or a limit is
        negative.

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
        if store._address("").startswith(cache_store._address("")):  # removing copies would remove the values
            raise ValueError(f"cache_store: expected a place of its own, got {cache_store}, around {store}")
        if max_age_seconds != "infinity" and (isinstance(max_age_seconds, str) or max_age_seconds < 0):
            raise ValueError(f'max_age_seconds: expected "infinity" or at least 0, got {max_age_seconds!r}')
        if max_size is not None and max_size < 0:
            raise ValueError(f"max_size: expected None or at least 0, got {max_size}")
        self._cache = cache_store
        self.max_age_seconds = max_age_seconds
        self.max_size = max_size
        self.cache_set_data = cache_set_data
        self._kept = _Kept(cache_store, store, max_size)
        announce_documents()

    def _with_store(self, store: Store) -> Self:
        clone = type(self).__new__(type(self))
        vars(clone).update(vars(self), _store=store)  # what is kept is shared
        return clone

    def __copy__(self) -> Self:
        return self._with_store(self._store)

    def __reduce__(self) -> tuple[Any, ...]:
        options = {name: getattr(self, name) for name in ("max_age_seconds", "max_size", "cache_set_data")}
        return partial(type(self), cache_store=self._cache, **options), (self._store,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r}, cache_store={self._cache!r})"

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return own_form(self, "get_partial_values", [(key, byte_range)])[0]  # type: ignore[no-any-return]

    _compares = of_wrapped("_compares")
    _bounds_chunks = of_wrapped("_bounds_chunks")

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        if not self._bounds_chunks:
            return self.get_many(keys)
        return self._values(
            [(key, None) for key in keys],
            lambda absent: self._store._get_chunks([key for key, _ in absent], most),
        )

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        requests = [(key, as_request(byte_range)) for key, byte_range in key_ranges]
        return self._values(requests, self._store.get_partial_values)

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
        requests = [(key, as_request(byte_range)) for key, byte_range in key_ranges]
        for key in {key for key, _ in requests}:
            self._kept.agree(key, versions)
        try:
            return self._values(requests, lambda absent: self._fetched(absent, versions), versions)
        except ReplacedError as error:
            self._kept.drop_parts(error.key)
            raise

    def _get_part(self, key: str, byte_range: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        return self._get_parts([(key, byte_range)], versions)[0]

    def _fetched(self, requests: list[Request], versions: dict[str, str]) -> Sequence[Buffer | None]:
        for key, _ in requests:
            if versions.get(key) == _OF_A_COPY:  # which is gone now
                raise replaced(self, key)
        return self._store._get_parts(requests, versions)

    def _values(
        self,
        requests: list[Request],
        fetch: Callable[[list[Request]], Sequence[Buffer | None]],
        versions: dict[str, str] | None = None,
    ) -> Sequence[Buffer | None]:
        """Return what is kept of some requests, and fetch the rest."""
        events = {key: self._kept.events(key) for key, _ in requests}
        seen = {key: noticed(self._store, key) for key in events}
        values = [
            self._kept.find(request, events[request[0]], self.max_age_seconds, seen[request[0]])
            for request in requests
        ]
        absent = [number for number, value in enumerate(values) if value is None]
        if versions is not None and self._store._versioned:
            for (key, _), value in zip(requests, values, strict=True):
                if value is not None:
                    versions.setdefault(key, _OF_A_COPY)  # unless it is a part of a known version
        if absent:
            found = fetch([requests[number] for number in absent])
            for number, value in zip(absent, found, strict=True):
                values[number] = value
                if value is not None:
                    key = requests[number][0]
                    self._kept.put(requests[number], value, events[key], (versions or {}).get(key), seen[key])
        with taking(self._kept.lock):
            self._kept.hits += len(requests) - len(absent)
            self._kept.misses += len(absent)
        return values

    # --- writing ---

    _size = passed_on(Store._size)  # not of the copy
    set_if_not_exists = passed_on(Store.set_if_not_exists)
    set_partial_values = passed_on(Store.set_partial_values)

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        given, named = repeatable(method.__name__, args, kwargs)
        changed = changed_by(method.__name__, given, named)
        self._kept.drop(changed)  # first as well: this process may end before the call does
        try:
            return super()._call(cast("Callable[..., T]", method), *given, **named)
        finally:
            self._kept.drop(changed)

    def set(self, key: str, value: Buffer) -> None:
        before = self._kept.events(key)
        super().set(key, value)
        if self.cache_set_data and before >= 0:
            self._kept.put((key, None), value, before + 2 * _announced_sets(self))

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
        self._kept.drop([""])


def _announced_sets(store: Store) -> int:
    """Return how many methods announce the change of a key when a store, or one that it wraps, sets it."""
    own = sum(hasattr(vars(kind).get("set"), "announces") for kind in type(store).__mro__)
    return own + (_announced_sets(store._store) if isinstance(store, WrapperStore) else 0)


class _Entry(NamedTuple):
    """What is known of a value that is kept."""

    size: int
    time: float
    events: int  # of its key when the value was valid
    seen: Any  # what distinguished it in the source, where it is a document of one that is near


class _Kept:
    """The values that are kept, the one used last at the end; several stores may share them.

    A value is valid while the number of changes of its key stays what it was before the value was read.  No
    entry is known of one that an earlier process kept: it is valid if this process has not changed its key.
    """

    def __init__(self, cache: Store, source: Store, max_size: int | None) -> None:
        self.entries: OrderedDict[Request, _Entry] = OrderedDict()
        self.size = self.hits = self.misses = self.evictions = 0
        self._cache = cache
        self._source = source
        self._max_size = max_size
        self._parts: dict[str, dict[ByteRequest | None, bytes]] = {}
        self._versions: dict[str, str | None] = {}  # of the values whose parts are kept
        self._has_complained = False
        self.lock = RLock()
        forkable(self)

    def _at_fork_reinit(self) -> None:
        """Begin again in a child of a fork if a thread that is not there has left half of a change."""
        if not self.lock.acquire(blocking=False):  # nor is it this one, in the middle of its work
            for table in (self.entries, self._parts, self._versions):
                table.clear()
            self.size = 0
        self.lock = RLock()

    def events(self, key: str) -> int:
        """Return how many changes of a key this process has begun or ended; -1 while one is under way."""
        from zarrcore._core.engine import key_events

        return key_events(self._source._scope(""), key)

    def find(self, request: Request, events: int, max_age: float | str, seen: Any) -> Buffer | None:
        """Return the valid kept value for a request: the part itself, or the value around it.

        A document that is `seen` to be another one in the source is none, whatever its age.
        """
        key, part = request
        for kept in dict.fromkeys([request, (key, None)]):
            entry, is_whole = self.entries.get(kept), kept == (key, None)
            if entry is None and not is_whole:
                continue
            if events != (0 if entry is None else entry.events):
                if events >= 0:
                    with taking(self.lock) as is_alone:
                        if is_alone:
                            self._forget(kept)
                continue
            if max_age != "infinity" and (entry is None or time.monotonic() - entry.time > float(max_age)):
                continue
            if seen is not None and (entry is None or entry.seen != seen):
                continue
            value = self._copy_of(key, part) if is_whole else self._parts.get(key, {}).get(part)
            if value is not None:
                self._use(kept, value if is_whole and part is None else None, events)
                return value
        return None

    def _copy_of(self, key: str, part: ByteRequest | None) -> Buffer | None:
        """Return what is kept of a whole value; nothing if that cannot be read, for the source has it."""
        try:
            value = self._cache.get(key, part)
            return None if value is None else lasting(as_view(value, key))
        except InvalidKeyError:
            raise
        except Exception as error:
            self._complain(error)
            return None

    def _complain(self, error: Exception) -> None:
        """Warn, once, that nothing can be kept."""
        if not self._has_complained:
            self._has_complained = True
            warnings.warn(
                f"{self._cache}: values cannot be kept here and are fetched each time: {shown(error)}",
                ZarrRuntimeWarning,
                stacklevel=2,
            )

    def _use(self, request: Request, value: Buffer | None, events: int) -> None:
        """Note that a kept value was used; one that an earlier process kept is known from now on."""
        with taking(self.lock) as is_alone:
            if is_alone and request in self.entries:
                self.entries.move_to_end(request)
            elif is_alone and value is not None:
                self._enter(request, memoryview(value).nbytes, events)

    def agree(self, key: str, versions: dict[str, str]) -> None:
        """Have a read go on with the version whose parts are kept, or forget these."""
        known = self._versions.get(key)
        if known is not None and versions.setdefault(key, known) == known:
            return
        if key in self._parts and (known is not None or self._source._versioned):
            self.drop_parts(key)

    def drop_parts(self, key: str | None) -> None:
        """Remove what is kept of parts of a value."""
        with self.lock:
            self._remove_parts(key)

    def _remove_parts(self, key: str | None) -> None:
        for part in [*self._parts.get(key or "", ())]:
            self._remove((key or "", part))

    def put(
        self, request: Request, value: Buffer, events: int, version: str | None = None, seen: Any = None
    ) -> None:
        """Keep a value that was valid after some changes of its key, unless that has changed since.

        Parts that are kept of one value are of one version, and chunks of the document that is kept.
        """
        key, part = request
        size = memoryview(value).nbytes
        if self._max_size is not None and size > self._max_size:
            return
        with taking(self.lock) as is_alone:
            if not is_alone or events < 0 or events != self.events(key):
                return
            if part is None:
                if seen is not None:
                    self._drop_others(key, value)
                try:
                    self._cache.set(key, value)
                except Exception as error:  # the value itself has been read, or stored
                    self._complain(error)
                    self._forget(request)
                    return
            else:
                if key in self._parts and self._versions.get(key) != version:
                    self._remove_parts(key)
                self._parts.setdefault(key, {})[part] = bytes(value)
                self._versions[key] = version
            self._enter(request, size, events, seen)

    def _drop_others(self, key: str, document: Buffer) -> None:
        """Forget the chunks of the array whose document was kept, if another one is in its place."""
        node = node_of_other_chunks(key, self._copy_of(key, None), document)
        if node is not None:
            try:
                self.drop([node])
            except Exception as error:
                self._complain(error)

    def _enter(self, request: Request, size: int, events: int, seen: Any = None) -> None:
        old = self.entries.pop(request, None)
        self.size += size - (0 if old is None else old.size)
        self.entries[request] = _Entry(size, time.monotonic(), events, seen)
        while self._max_size is not None and self.size > self._max_size:
            self._forget(next(iter(self.entries)))
            self.evictions += 1

    def _forget(self, request: Request) -> None:
        """:meth:`_remove` while something is read, which does not fail because a copy cannot be removed."""
        try:
            self._remove(request)
        except InvalidKeyError:
            raise
        except Exception as error:
            self._complain(error)

    def _remove(self, request: Request) -> None:
        key, part = request
        entry = self.entries.pop(request, None)
        self.size -= 0 if entry is None else entry.size
        if part is None:
            self._cache.delete(key)  # even if an earlier process kept it
        elif entry is not None:
            del self._parts[key][part]
            if not self._parts[key]:
                del self._parts[key], self._versions[key]

    def drop(self, names: Sequence[str]) -> None:
        """Remove what is kept of some keys, and of all below prefixes, also what an earlier process kept."""
        with self.lock:
            for name in names:
                if name and not name.endswith("/"):
                    requests = [(name, part) for part in (None, *self._parts.get(name, ()))]
                else:
                    self._cache.erase_prefix(name)
                    requests = [request for request in self.entries if request[0].startswith(name)]
                for request in requests:
                    self._remove(request)
