"""What stores are asked for nodes: errors name store, path, and key or prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from typing import Any, TypeVar

from zarrcore._extension import is_of_a_user
from zarrcore._validate import describe
from zarrcore.errors import (
    BaseZarrError,
    InvalidKeyError,
    NodeIOError,
    NodeNotFoundError,
    StoreNotFoundError,
    named,
    shown,
)
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import answers, join_path, key_prefix, lasting

T = TypeVar("T")
R = TypeVar("R")

_MOST = 64  # changes of a slow store at the same time, each of which may be many requests
_MOST_BYTES = 256 << 20  # of decoded values of several arrays
_AS_THEY_ARE = (NodeIOError, StoreNotFoundError, InvalidKeyError, MemoryError)


class reading:  # a generator would take a twentieth of the time of opening a node
    """Raise what a store raises as a NodeIOError.

    Parameters
    ----------
    place : StorePath
        The node.
    key : str, optional
        The key that is read, or the prefix that is listed; None: one of several keys.
    """

    __slots__ = ("_key", "_place")

    def __init__(self, place: StorePath, key: str | None = None) -> None:
        self._place = place
        self._key = key

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, _AS_THEY_ARE):
            raise self._located(error) from error

    def _located(self, error: Exception) -> NodeIOError:
        place, key = self._place, self._key
        if key is None:
            key = getattr(error, "key", None)
        what = f"node {place.path or '/'!r} in {place.store}"
        if isinstance(key, str):
            what += f", {'prefix' if not key or key.endswith('/') else 'key'} {key!r}"
        located = NodeIOError(f"{what}: {shown(named(error))}", key=key, path=place.path)
        located.errno = getattr(error, "errno", None)
        return located


class writing(reading):
    """Raise what a store of a user raises as it is changed as a NodeIOError, like :class:`reading`.

    Errors of zarrcore's own stores name their places, and stay the OSErrors that the system has, but for that
    of a directory which somebody removes at the same time.
    """

    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, (BaseZarrError, MemoryError)):
            store = _innermost(self._place.store)
            if isinstance(error, OSError) and not (is_of_a_user(type(store)) or store._in_process):
                if isinstance(error, FileNotFoundError):
                    what = f"node {self._place.path or '/'!r} in {self._place.store}"
                    reason = "was removed while it was written to"
                    raise NodeNotFoundError(f"{what} {reason}: {shown(error)}") from error
                return
            raise self._located(error) from error


def _innermost(store: Store) -> Store:
    """Return the store that a wrapper of zarrcore's passes its calls on to."""
    while not is_of_a_user(type(store)) and isinstance(inner := getattr(store, "_store", None), Store):
        store = inner
    return store


class moving:
    """Raise what a store raises for a value that is copied as a NodeIOError, which names store and key."""

    __slots__ = ("_key", "_store")

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, (BaseZarrError, MemoryError)):
            what = f"key {self._key!r} in {self._store}"
            located = NodeIOError(f"{what}: {shown(named(error))}", key=self._key)
            located.errno = getattr(error, "errno", None)
            raise located from error


def names_below(place: StorePath) -> list[str]:
    """Return the names directly below a place, in any order."""
    with reading(place, key_prefix(place.path)):
        names = list(place.store.list_dir(place.path))
        return names if {str}.issuperset(map(type, names)) else [*map(key_text, names)]


def document_at(place: StorePath, name: str) -> Any:
    """Return a document of a node, or None."""
    key = join_path(place.path, name)
    with reading(place, key):
        return lasting(place.store.get(key))


def has_value(place: StorePath, key: str) -> bool:
    """Return whether there is a value at a key at a place or below it."""
    with reading(place, key):
        return bool(place.store.exists(key))


def remove_values(place: StorePath, keys: Iterable[str]) -> None:
    """Remove values at a place and below it, one after the other."""
    for key in keys:
        with writing(place, key):
            place.store.delete(key)


def get_many(place: StorePath, keys: Sequence[str]) -> Sequence[Any]:
    """Return the values at many keys of documents at a place and below it."""
    with reading(place):
        return answers(place.store.get_many(keys), len(keys), "get_many")


def stored_size(place: StorePath) -> int:
    """Return the sum of the sizes of all values below a place, in bytes."""
    with reading(place, key_prefix(place.path)):
        size = place.store.getsize_prefix(place.path)
        if not isinstance(size, int):
            raise TypeError(f"getsize_prefix returned {describe(size)}")
    return size


def keys_below(place: StorePath) -> Iterator[str]:
    """Yield the keys below a place, also those whose values cannot be read: no copy leaves them out."""
    return (key for key in listed_below(place) if not key.endswith("/"))


def listed_below(place: StorePath) -> Iterator[str]:
    """Yield the keys below a place, and empty directories with a slash at the end."""
    with reading(place, key_prefix(place.path)):
        yield from place.store._list_stored(place.path)


def key_text(name: object) -> str:
    """Return a name from a listing, which is text."""
    if not isinstance(name, str):
        raise TypeError(f"expected the names of keys from a listing, got {describe(name)}")
    return name


def which_exist(store: Store, keys: Sequence[str]) -> Iterable[bool]:
    """Return for each of many keys whether it has a value."""
    if not store._concurrent_requests():
        return store._which_exist(keys)
    return at_once(store, lambda key: bool(store.exists(key)), keys)


def at_once(store: Store, call: Callable[[T], R], items: Sequence[T]) -> Sequence[R]:
    """Return what calls that ask a store return; a slow one is asked in parallel."""
    if not store._concurrent_requests():
        return [*map(call, items)]
    from zarrcore.storage.remote import in_parallel

    return in_parallel(call, items)


def begun(store: Store, call: Callable[[T], R], items: Sequence[T]) -> Callable[[], Sequence[R]]:
    """Begin to ask a slow store, and return what waits for the answers; one that is near is asked then.

    The calls may be under way while something is stored that does not depend on them.
    """
    if not store._concurrent_requests():
        return lambda: [*map(call, items)]
    from zarrcore.storage import remote

    return remote.begun(call, items)


def several_at_once(store: Store, call: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Return what calls that change a store return; many of them wait for a slow one together.

    They may ask a store for much at once themselves, as those of :func:`at_once` may not.  Where one fails,
    all that have begun have ended.
    """
    threads = min(store._concurrent_requests(), _MOST)
    if threads < 2:
        return [*map(call, items)]
    from zarrcore._threads import in_threads

    context = copy_context()  # has what consolidated metadata are going to follow
    return [*in_threads(lambda item: context.copy().run(call, item), items, threads)]


def batches(items: Iterable[T], nbytes: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items, in their order, as many of arrays of these sizes as :func:`several_at_once` is to take."""
    batch: list[T] = []
    total = 0
    for item in items:
        size = nbytes(item)
        if batch and (len(batch) == _MOST or total + size > _MOST_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch
