"""A store that keeps what is read from another one in files that outlive the process."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from math import inf
from threading import get_ident, local
from typing import Any, ParamSpec, Self, TypeVar, cast

import numpy as np

from zarrcore._locks import fresh_in_child
from zarrcore._typed import NamedTuple
from zarrcore._typing import Buffer
from zarrcore.errors import StoreError, ZarrRuntimeWarning, shown
from zarrcore.storage.announced import announce_documents, changed_by, repeatable
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange, ByteRequest, RangeByteRequest, as_request
from zarrcore.storage.cache_files import CacheFiles, Known, Piece
from zarrcore.storage.kept_documents import node_of_other_chunks, noticed
from zarrcore.storage.logged import LoggingStore
from zarrcore.storage.remote import in_parallel
from zarrcore.storage.tags import Tags
from zarrcore.storage.validation import absolute_path, answers, as_view, validate_key
from zarrcore.storage.versions import Fetched, replaced
from zarrcore.storage.wrapper import ReadOnlyStore, WrapperStore, of_wrapped, passed_on

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 4
_MOST_NOTED = 100_000
_COUNTED = ("hits", "misses", "hit_bytes", "miss_bytes", "validations", "unversioned")


class CacheStore(WrapperStore, announces=False):  # the wrapped store does
    """A store that keeps what is read from a slow one in a directory, for later processes too.

    Values and parts of them are kept, the directory being shared by any number of threads, processes and
    stores.  What is kept is used only while it is valid: by default the source is asked each time whether the
    value is still the same version (by its entity tag; of a file by its size and time of change), by one
    conditional request for each value, whose answer is short.  Writes go through to the source.

    Parameters
    ----------
    store : Store
        The source: where values are read from and written to.
    directory : str or os.PathLike
        Where they are kept; made if it is not there, so that nobody else may read it.
    max_bytes : int
        The most bytes of the files in the directory, beside those that are being written.  The values that
        have not been used for longest go first; a value that is larger is not kept.
    immutable : bool
        Never ask: values of the source do not change, and none are added where one was found to be absent.
        A source that is `immutable` itself is not asked either.
    max_age : float, optional
        Do not ask for so many seconds after a value was fetched or found to be valid.
    name : str, optional
        What distinguishes the source from others whose values are in the same directory, in all processes;
        it is needed where that is not known, as of a store in memory, or of a class written elsewhere.

    Raises
    ------
    ValueError
        If a limit is negative, if nothing distinguishes the source from others and there is no `name`, or if
        it has no versions that could be asked for and neither `immutable` nor `max_age` is given.

    Notes
    -----
    Of a source without versions, such as one of fsspec, parts of values are kept only if it is `immutable`:
    nobody could find out that two parts belong to different versions.

    A directory that cannot be written to, is full, or belongs to another user, is a warning; the values then
    come from the source.  Nothing is read from a directory that all users may write to: that is an error.
    Files that are damaged are found by checksums, removed, and fetched again.

    Examples
    --------
    >>> import zarrcore
    >>> from zarrcore.storage import CacheStore, MemoryStore
    >>> far = MemoryStore({"a": b"value"})
    >>> store = CacheStore(far, "near", max_bytes=1 << 30, immutable=True, name="example")
    >>> store.get("a"), store.get("a"), store.cache_stats()["hits"]
    (b'value', b'value', 1)
    """

    def __init__(
        self,
        store: Store,
        directory: str | os.PathLike[str],
        *,
        max_bytes: int,
        immutable: bool = False,
        max_age: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(store)
        if not isinstance(store, Store):
            raise TypeError(
                f"CacheStore: expected a store, such as ObjectStore.from_url(url), got {type(store).__name__}"
            )
        immutable = immutable or store._immutable
        _check_limit("max_bytes", max_bytes, "a number of bytes")
        if max_age is not None:
            _check_limit("max_age", max_age, "None or a number of seconds", inf)
        if not (immutable or max_age is not None or store._versioned):
            raise ValueError(
                f"{store!r} has no versions that could be asked for: give immutable=True or max_age=seconds"
            )
        known_as = _lasting_name(store) if name is None else f"name:{name}"
        if known_as is None:
            raise ValueError(
                f"nothing distinguishes {store!r} from others in later processes: give it a name="
            )
        self.directory = absolute_path(directory)
        self.max_bytes, self.max_age = int(max_bytes), max_age
        self.immutable, self.name = bool(immutable), name
        self._prefix = sha256(known_as.encode("utf-8", "surrogatepass")).hexdigest()[:32] + "\0"
        self._files = CacheFiles(self.directory, self.max_bytes)
        self._state = _State()
        announce_documents()

    def _with_store(self, store: Store) -> Self:
        clone = type(self).__new__(type(self))
        vars(clone).update(vars(self), _store=store)  # what is known of the files is shared
        return clone

    def __copy__(self) -> Self:
        return self._with_store(self._store)

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("max_bytes", "immutable", "max_age", "name")
        options = {name: getattr(self, name) for name in names}
        return partial(type(self), directory=self.directory, **options), (self._store,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r}, {self.directory!r})"

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self._values([(key, as_request(byte_range))])[0]

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        return self._values([(key, as_request(byte_range)) for key, byte_range in key_ranges])

    _compares = of_wrapped("_compares")
    _bounds_chunks = of_wrapped("_bounds_chunks")

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        if not self._bounds_chunks:
            return self.get_many(keys)
        return self._values([(key, None) for key in keys], most)

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
        # A value whose version was looked at for one part need not be looked at again for the others.
        if not versions:
            self._state.tags.begin()
        requests = [(key, as_request(byte_range)) for key, byte_range in key_ranges]
        return self._values(requests, versions=versions)

    def _get_part(self, key: str, byte_range: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        return self._get_parts([(key, byte_range)], versions)[0]

    _small_shard = of_wrapped("_small_shard")
    _versioned = of_wrapped("_versioned")

    def _fetch(
        self,
        key: str,
        part: ByteRange | None = None,
        *,
        most: int | None = None,
        known: str | None = None,
        same: str | None = None,
    ) -> Fetched:
        request = as_request(part)
        plan = self._answered([(key, request)], most)[key]
        value, version = plan.values[request], plan.version
        if known is not None and version == known:
            return Fetched(version=known, is_unchanged=True)
        if same is not None and version != same:
            return Fetched(is_replaced=True)
        return Fetched(None if value is None else bytes(value), version, plan.size)

    def _values(
        self,
        requests: Sequence[tuple[str, ByteRequest | None]],
        most: int | None = None,
        versions: dict[str, str] | None = None,
    ) -> list[Buffer | None]:
        plans = self._answered(requests, most, versions)
        return [plans[key].values[part] for key, part in requests]

    def _answered(
        self,
        requests: Sequence[tuple[str, ByteRequest | None]],
        most: int | None = None,
        versions: dict[str, str] | None = None,
    ) -> dict[str, _Plan]:
        """Return what is kept and valid of some requests, and fetch the rest.

        `versions` are those whose parts this read has seen, by their keys.
        """
        plans: dict[str, _Plan] = {}
        for key, part in requests:
            plan = plans.get(key) or plans.setdefault(key, _Plan(validate_key(key), self._events(key)))
            plan.values[part] = None
        for plan in plans.values():
            plan.same = (versions or {}).get(plan.key)
            self._look(plan)
        for number in range(_TRIES):
            asked = [(plan, question) for plan in plans.values() for question in plan.questions()]
            if not asked:
                break
            answers = self._ask(asked, most)
            for plan, found in _grouped(asked, answers):
                self._take(plan, found, is_last=number == _TRIES - 1)
        if versions is not None:
            versions.update((plan.key, plan.version) for plan in plans.values() if plan.version)
        for plan in plans.values() if self._state.tags.wanted else ():
            self._state.tags.note(plan.key, plan.version, self._store._scope(""))
        self._count([(plans[key], part) for key, part in requests])
        return plans

    def _look(self, plan: _Plan) -> None:
        """Find what is kept of a value."""
        name = self._prefix + plan.key
        known = self._files.look(name, [*plan.values])
        if known is None:
            return
        is_trusted = self._is_fresh(known)
        if plan.events and _changed.get((self.directory, name)) != (plan.events, known.nonce):
            is_trusted = False  # this process has changed the value since, or may have
        can_look = self._store._versioned and not self.immutable
        if is_trusted and can_look and noticed(self._store, plan.key) is not None:
            is_trusted = False  # where that costs next to nothing a document is looked at, whatever its age
            plan.old = dict(zip(plan.values, known.values, strict=True)).get(None)
        if not is_trusted and (known.absent or not known.version):
            if plan.events >= 0:
                self._files.drop(name)
            return
        if plan.same is not None and plan.same != known.version:
            return
        plan.known, plan.version, plan.size = known, known.version or None, known.size
        plan.is_valid = is_trusted or plan.same is not None
        plan.values.update(zip(plan.values, known.values, strict=True))

    def _is_fresh(self, known: Known) -> bool:
        """Return whether what is kept is good without a question."""
        age = time.time() - (max(known.fetched, known.checked) if known.version else known.fetched)
        return self.immutable or (self.max_age is not None and 0 <= age <= self.max_age)

    @property
    def _recheck(self) -> Callable[[Sequence[str]], Sequence[bool]] | None:
        """What has changed of some values whose chunks are in a cache of chunks."""
        return self._changed if self._versioned and not self.immutable else None

    def _expect_recheck(self) -> None:
        self._state.tags.wanted = True

    def _changed(self, keys: Sequence[str]) -> Sequence[bool]:
        def is_other(one: tuple[str, str]) -> bool:
            key, version = one
            known = self._files.look(self._prefix + key, [])
            is_kept = known is not None and known.version == version
            if is_kept and known is not None and self._is_fresh(known):
                return False
            try:
                if not self._store._fetch(key, RangeByteRequest(0, 1), known=version).is_unchanged:
                    return True
            except StoreError:
                return True  # reading it shows the reason
            if is_kept:
                self._files.touch(self._prefix + key)
            return False

        def ask(asked: list[tuple[str, str]]) -> Sequence[bool]:
            return in_parallel(is_other, asked) if self._concurrent_requests() else [*map(is_other, asked)]

        return self._state.tags.changed(keys, self._store._scope(""), ask)

    def _ask(self, asked: list[tuple[_Plan, _Question]], most: int | None) -> Sequence[Fetched]:
        store, questions = self._store, [question for _, question in asked]
        if store._versioned:

            def fetch(one: _Question) -> Fetched:
                return store._fetch(one.key, one.part, most=most, known=one.known, same=one.same)

            return in_parallel(fetch, questions) if store._concurrent_requests() else [*map(fetch, questions)]
        if most is not None:
            values = store._get_chunks([one.key for one in questions], most)
        else:
            values = store.get_partial_values([(one.key, one.part) for one in questions])
        values = answers(values, len(questions), "get_partial_values" if most is None else "get_many")
        return [
            Fetched(None if value is None else bytes(as_view(value, one.key)))
            for one, value in zip(questions, values, strict=True)
        ]

    def _take(self, plan: _Plan, found: list[tuple[_Question, Fetched]], *, is_last: bool) -> None:
        """Take the answers for one value, if they are of one version, and keep them."""
        if all(answer.is_unchanged for _, answer in found):
            self._files.touch(self._prefix + plan.key)
            self._state.add(validations=1)
            plan.is_valid = True
            return
        versions = {answer.version for _, answer in found}
        absent = {answer.value is None for _, answer in found}
        is_one = len(versions) == len(absent) == 1 and not any(answer.is_replaced for _, answer in found)
        version = next(iter(versions))
        if plan.known is not None and not plan.is_asking and version != plan.version:
            is_one = False
        if is_one and (not plan.is_asking or len(plan.values) == 1):
            node = node_of_other_chunks(plan.key, plan.old, found[0][1].value)
            self._drop([] if node is None else [node])
            for question, answer in found:
                plan.values[question.part] = answer.value
                plan.fetched.add(question.part)
                plan.size = answer.size if answer.size is not None else plan.size
            if plan.is_asking:
                self._files.drop(self._prefix + plan.key)
            plan.version, plan.is_valid, plan.is_done = version, True, True
            self._keep(plan, found)
            return
        self._files.drop(self._prefix + plan.key)
        if plan.same is not None or is_last:
            raise replaced(self, plan.key)
        plan.forget()

    def _keep(self, plan: _Plan, found: list[tuple[_Question, Fetched]]) -> None:
        """Keep what was fetched, unless this process has changed the value meanwhile."""
        version = plan.version
        can_check = self._store._versioned and version is not None
        if not (self.immutable or can_check or self.max_age is not None) or plan.events < 0:
            self._state.add(unversioned=1)
            return
        pieces = []
        for question, answer in found:
            if answer.value is None:
                if not (self.immutable or self.max_age is not None):
                    return
                continue
            if not (self.immutable or can_check or question.part is None):
                return
            ends = answer.is_end_of(question.part)
            if answer.value or (ends and question.part is None):
                pieces.append(Piece(answer.start_of(question.part), answer.value, ends))
        is_absent = found[0][1].value is None
        if not pieces and not is_absent:
            return
        name, whole = self._prefix + plan.key, any(question.part is None for question, _ in found)
        try:
            nonce = self._files.put(name, version or "", pieces, whole=whole)
        except OSError as error:
            self._complain(error)
            return
        if nonce is not None and plan.events:
            _note((self.directory, name), (plan.events, nonce))
        if self._events(plan.key) != plan.events:
            self._files.drop(name)

    def _complain(self, error: OSError) -> None:
        """Warn, once, that nothing can be kept."""
        if not self._state.has_complained:
            self._state.has_complained = True
            reason = shown(error.strerror or error)
            warnings.warn(
                f"{self.directory}: values cannot be kept here and are fetched each time: {reason}",
                ZarrRuntimeWarning,
                stacklevel=2,
            )

    def _events(self, key: str) -> int:
        """Return how many changes of a key this process has begun or ended; -1 while one is under way."""
        from zarrcore._core.engine import key_events

        return key_events(self._store._scope(""), key)

    def _count(self, requests: Sequence[tuple[_Plan, ByteRequest | None]]) -> None:
        missed = [memoryview(p.values[part] or b"").nbytes for p, part in requests if part in p.fetched]
        found = [memoryview(p.values[part] or b"").nbytes for p, part in requests if part not in p.fetched]
        self._state.add(hits=len(found), misses=len(missed), hit_bytes=sum(found), miss_bytes=sum(missed))

    # --- writing ---

    _size = passed_on(Store._size)  # that of the source
    set_partial_values = passed_on(Store.set_partial_values)
    set_if_not_exists = passed_on(Store.set_if_not_exists)

    _notes = of_wrapped("_notes")

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        given, named = repeatable(method.__name__, args, kwargs)
        changed = changed_by(method.__name__, given, named)
        self._drop(changed)  # first as well: this process may end before the call does
        try:
            return super()._call(cast("Callable[..., T]", method), *given, **named)
        finally:
            self._drop(changed)

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            if name and not name.endswith("/"):
                self._files.drop(self._prefix + name)
                self._state.tags.drop(name)
            else:
                self._files.drop_all(self._prefix + name)

    # --- the cache ---

    def cache_info(self) -> dict[str, Any]:
        """Return what is kept, of all stores that use the directory, and the limits.

        Returns
        -------
        dict
            `directory`, `current_size` (in bytes), `max_size`, `immutable` and `max_age_seconds`.
        """
        return {
            "directory": self.directory,
            "current_size": self._files.nbytes(),
            "max_size": self.max_bytes,
            "immutable": self.immutable,
            "max_age_seconds": self.max_age,
        }

    def cache_stats(self) -> dict[str, int]:
        """Return what this process has counted.

        Returns
        -------
        dict
            `hits` and `misses` (requests), `hit_bytes` and `miss_bytes`, `validations` (conditional requests
            whose answer was that nothing has changed), `unversioned` (values that were not kept because the
            source has named no version), `evictions` (values removed to make room), `damaged` (files with a
            wrong checksum).
        """
        by_threads = [*self._state.counts.values()]
        counted = {name: sum(own[name] for own in by_threads) for name in _COUNTED}
        return {**counted, "evictions": self._files.evictions, "damaged": self._files.damaged}

    def clear_cache(self) -> None:
        """Remove all that is kept of this store."""
        self._files.drop_all(self._prefix)


class _Question(NamedTuple):
    """A request to the source: for a part, unless its version is the `known` one, or if it is the `same`."""

    key: str
    part: ByteRequest | None
    known: str | None
    same: str | None


class _Plan:
    """How the requests for parts of one value are answered."""

    def __init__(self, key: str, events: int) -> None:
        self.key = key
        self.events = events
        self.values: dict[ByteRequest | None, Buffer | None] = {}
        self.same: str | None = None  # the version that an earlier round of this read has seen
        self.old: Buffer | None = None  # a document that is kept, whose age alone would do
        self.forget()

    def forget(self) -> None:
        """Begin again, without what is kept."""
        self.known: Known | None = None
        self.version: str | None = None
        self.size: int | None = None
        self.is_valid = self.is_done = self.is_asking = False
        self.values = dict.fromkeys(self.values)
        self.fetched: set[ByteRequest | None] = set()

    def questions(self) -> Iterator[_Question]:
        """Yield what has to be asked."""
        if self.is_done or (self.is_valid and self.known is not None and self.known.absent):
            return
        missing = [part for part, value in self.values.items() if value is None]
        self.is_asking = not missing and not self.is_valid
        if self.is_asking:
            yield _Question(self.key, next(iter(self.values)), self.version, None)
        for part in missing:
            yield _Question(self.key, part, None, self.version or self.same)


class _State:
    """What a process knows and counts, shared by a store and its read-only view."""

    def __init__(self) -> None:
        self.counts: dict[int, dict[str, int]] = {}  # by each thread
        self.has_complained = False
        self.read = local()
        self.tags = Tags()

    def add(self, **more: int) -> None:
        own = self.counts.setdefault(get_ident(), dict.fromkeys(_COUNTED, 0))
        for name, n in more.items():
            own[name] += n


_changed: dict[tuple[str, str], tuple[int, bytes]] = {}
fresh_in_child(globals(), "_changed", are_caches=True)
"""For directories and names of values that this process has changed: what has been kept of them since."""


def _note(name: tuple[str, str], kept: tuple[int, bytes]) -> None:
    if len(_changed) >= _MOST_NOTED:
        _changed.clear()
    _changed[name] = kept


def _grouped(
    asked: list[tuple[_Plan, _Question]], answers: Sequence[Fetched]
) -> Iterator[tuple[_Plan, list[tuple[_Question, Fetched]]]]:
    """Yield each plan with its questions and the answers."""
    found: dict[str, tuple[_Plan, list[tuple[_Question, Fetched]]]] = {}
    for (plan, question), answer in zip(asked, answers, strict=True):
        found.setdefault(plan.key, (plan, []))[1].append((question, answer))
    yield from found.values()


def _check_limit(name: str, value: Any, what: str, most: float = sys.float_info.max) -> None:
    if not isinstance(value, int | float | np.number):
        raise TypeError(f"{name}: expected {what}, got {value!r}")
    if not 0 <= value <= most:
        raise ValueError(f"{name}: expected {what}, at least 0, got {value}")


def _lasting_name(store: Store) -> str | None:
    """Return what distinguishes a store from others in all processes; None if that is not known."""
    while isinstance(store, WrapperStore):
        if type(store) not in (WrapperStore, ReadOnlyStore, LoggingStore):
            return None  # it may show other values
        store = store._store
    return store._lasting_name()
