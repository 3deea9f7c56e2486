"""Stores of zarr-python: the same data through a store of this package, or through an adapter."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from zarrcore._extension import own_form
from zarrcore._locks import one_at_a_time
from zarrcore._typing import Buffer
from zarrcore.errors import BaseZarrError, StoreError, said, shown
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import (
    ByteRange,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    as_request,
)
from zarrcore.storage.files import leads_to_nothing
from zarrcore.storage.local import LocalStore
from zarrcore.storage.loops import EndsLoopError, Unawaited, Work, harmless, own_loop, run_to_end
from zarrcore.storage.memory import MemoryStore
from zarrcore.storage.remote import RemoteStore, concurrency
from zarrcore.storage.validation import (
    as_view,
    is_document,
    is_zarr_python_store,
    key_prefix,
    lasting,
    validate_key,
    validate_prefix,
)

if TYPE_CHECKING:
    from zarrcore.storage.alone import StillThere

T = TypeVar("T")

_MUCH = 1 << 26
_adapted = False


def adapted_files() -> bool:
    """Return whether a store with a twin here has been wrapped in another one, whose locks are the same."""
    return _adapted


def from_zarr_python(store: Any) -> Store:
    """Return the store over the same data as one of zarr-python."""
    ours: Store | None = getattr(store, "zarrcore_store", None)  # of one that is ours inside
    return ours or translated(store) or ZarrPythonStore(store)


def translated(store: Any) -> Store | None:
    """Return a store over the same data that needs nothing of zarr-python, if there is one.

    Only for objects of the very classes: a subclass may do anything.
    """
    kind = type(store)
    make = _TRANSLATIONS.get(kind.__name__) if kind.__module__.startswith("zarr.storage.") else None
    return None if make is None else make(store)


def _zip(store: Any) -> Store | None:
    from zarrcore.storage.zip import ZipStore

    # An archive that is being written has one table of contents, that of the store which writes it.
    return None if store._zmode != "r" or store.path is None else ZipStore(store.path, mode="r")


def _fsspec(store: Any) -> Store:
    from zarrcore.storage.fsspec import FsspecStore

    return FsspecStore(store.fs, store.read_only, store.path, tuple(store.allowed_exceptions))


def _obstore(store: Any) -> Store:
    from zarrcore.storage.obstore import ObjectStore

    return ObjectStore(store.store, read_only=store.read_only)


_TRANSLATIONS: dict[str, Callable[[Any], Store | None]] = {
    "FsspecStore": _fsspec,
    # zarr-python follows every symbolic link.
    "LocalStore": lambda store: LocalStore(store.root, read_only=store.read_only, follow_symlinks=True),
    "ManagedMemoryStore": lambda store: BufferStore(store._store_dict, store.path, read_only=store.read_only),
    "MemoryStore": lambda store: BufferStore(store._store_dict, read_only=store.read_only),
    "ObjectStore": _obstore,
    "ZipStore": _zip,
}


class BufferStore(MemoryStore):
    """The dictionary of a MemoryStore of zarr-python, whose values are its buffers."""

    def __init__(self, values: Any, path: str = "", *, read_only: bool = False) -> None:
        super().__init__(values, read_only=read_only)
        self._start = key_prefix(path)

    def _kept(self, data: bytes) -> Any:
        return _prototype().buffer.from_bytes(data)


class ZarrPythonStore(RemoteStore):
    """Any store of zarr-python, whose coroutines run on the event loop that zarr-python itself uses.

    Many values are fetched by one gathering of coroutines, parts of values by the store's
    ``get_partial_values``.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.
    read_only : bool
        Refuse every write.

    Examples
    --------
    >>> from zarr.storage import MemoryStore as TheirStore
    >>> store = ZarrPythonStore(TheirStore())
    >>> array = zarrcore.create_array(store, shape=4, dtype="f4", fill_value=1)
    >>> array[:].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _handled = BaseZarrError

    def __init__(self, store: Any, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        if not is_zarr_python_store(store):
            raise TypeError(f"ZarrPythonStore: expected a store of zarr-python, got {store!r}")
        self.store = store
        self._loop: asyncio.AbstractEventLoop | None = None
        inner, kinds = store, [type(store)]
        while is_zarr_python_store(getattr(inner, "_store", None)):  # the store below all wrappers
            inner = inner._store
            kinds.append(type(inner))
        self._kinds = tuple(kinds)
        # A store of ours that is seen as one of coroutines has one inside, whose methods are not called here.
        plain = getattr(inner, "_plain", None)
        self._below = plain if isinstance(plain, Store) else translated(inner)
        if self._below is not None:
            global _adapted
            _adapted = True
        directory = getattr(sys.modules.get("zarr.storage"), "LocalStore", ())
        self._root = os.path.abspath(inner.root) if isinstance(inner, directory) else None
        kind = _kind_of(type(inner))
        self._kind = f"{kind.__module__}.{kind.__qualname__}"
        self._nodes_first = _is_of_icechunk(inner)

    def on_loop(self, loop: asyncio.AbstractEventLoop) -> ZarrPythonStore:
        """Return the same store with its coroutines on `loop`, which the caller keeps running."""
        twin = self._copy_with_read_only(self._read_only)
        twin._loop = loop
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loop": None}

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return own_form(self, "get_partial_values", [(key, byte_range)])[0]  # type: ignore[no-any-return]

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        requests = [(validate_key(key), as_request(part)) for key, part in key_ranges]
        for key, _ in requests:
            self._refuse_special(key)
        asked = [(key, self._bounded(key, part)) for key, part in requests]
        found = self._found(asked)
        for (key, _), value in zip(asked, found, strict=True):
            if value is None:
                self._refuse_hidden(key)
        return found

    def _found(self, asked: Sequence[tuple[str, ByteRange | None]]) -> Sequence[Buffer | None]:
        """Return what the store has; None for what it has not, or does not find."""
        alone = len(asked) == 1 or _passes_by(self._kinds, "get_partial_values", "get")
        if alone or all(part is None for _, part in asked):
            return self._gathered(asked, self._get)
        with suppress(Exception):  # each alone shows which one failed; some stores fail where one is absent
            parts = [(key, self._requested(part)) for key, part in asked]
            answers = self._run(lambda: self.store.get_partial_values(self._prototype, parts))
            return [_bytes_of(answer, key) for answer, (key, _) in zip(answers, asked, strict=True)]
        return self._gathered(asked, self._get)

    async def _get(self, key: str, part: ByteRange | None) -> Buffer | None:
        return _bytes_of(await self.store.get(key, self._prototype, self._requested(part)), key)

    def exists(self, key: str) -> bool:
        return bool(self._gathered([(validate_key(key), None)], self._exists)[0])

    async def _exists(self, key: str, _: None = None) -> bool:
        if _passes_by(self._kinds, "exists", "get"):
            return await self._get(key, None) is not None
        return bool(await self.store.exists(key))

    def _size(self, key: str) -> int | None:
        if _passes_by(self._kinds, "getsize", "get"):
            return Store._size(self, key)

        async def size(key: str, _: None) -> int | None:
            try:
                return int(await self.store.getsize(key))
            except FileNotFoundError:
                return None

        found: int | None = self._gathered([(validate_key(key), None)], size)[0]
        return found

    def _bounded(self, key: str, part: ByteRange | None) -> ByteRange | None:
        """Return a byte range that ends within the value, where the store would make room for all of it."""
        if isinstance(part, RangeByteRequest) and part.end - part.start > _MUCH:
            size = self._size(key) or 0
            return RangeByteRequest(min(part.start, size), max(part.start, min(part.end, size)))
        return part

    # --- listing ---

    def list(self) -> Iterator[str]:
        return self._listed("", self.store.list)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        if _passes_by(self._kinds, "list_prefix", "list"):
            return Store.list_prefix(self, prefix)
        prefix = validate_prefix(prefix)
        found = self._listed(prefix, lambda: self.store.list_prefix(prefix))
        return (key for key in found if key.startswith(prefix))

    def list_dir(self, prefix: str) -> Iterator[str]:
        if _passes_by(self._kinds, "list_dir", "list", "list_prefix"):
            return Store.list_dir(self, prefix)
        prefix = validate_prefix(prefix)
        found = self._listed(prefix, lambda: self.store.list_dir(prefix[:-1]))
        return iter(dict.fromkeys(name for name in (name.strip("/") for name in found) if name))

    def _listed(self, prefix: str, call: Callable[[], AsyncIterator[str]]) -> Iterator[str]:
        async def collect() -> Sequence[str]:
            try:
                return [name async for name in call()]
            except Exception as error:
                if _is_no_key(error):
                    return []
                raise self._failed(prefix, error) from error

        return iter(self._run(collect))

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        self._refuse_outside([key])
        with self._failures(key):
            self._run(lambda: self.store.set(key, self._prototype.buffer.from_bytes(data)))

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        self._refuse_outside([key])
        is_plain = _passes_by(self._kinds, "set_if_not_exists", "set")

        async def create() -> bool:
            if await self._exists(key):
                return False
            store = self.store.set if is_plain else self.store.set_if_not_exists
            await store(key, self._prototype.buffer.from_bytes(data))
            found = await self.store.get(key, self._prototype)  # it does not tell who came first
            return found is not None and found.to_bytes() == data

        with one_at_a_time((self._scope(""), key)), self._failures(key):
            return self._run(create)

    def delete(self, key: str) -> None:
        self.erase_values([key])

    def erase_values(self, keys: Iterable[str]) -> None:
        async def delete(key: str, _: None) -> None:
            with suppress(FileNotFoundError, NotADirectoryError):
                await self.store.delete(key)

        self._check_writable()
        names = [validate_key(key) for key in keys]
        self._refuse_outside(names)  # before anything is removed
        self._gathered([(name, None) for name in names], delete)

    def erase_prefix(self, prefix: str) -> None:
        self._check_writable()
        prefix = validate_prefix(prefix)
        keys = [*self.list_prefix(prefix)]
        self._refuse_outside([*keys, prefix[:-1]] if prefix else keys)
        self.erase_values(filter(is_document, keys))
        if _passes_by(self._kinds, "delete_dir" if prefix else "clear", "delete"):
            self.erase_values(key for key in keys if not is_document(key))
        elif keys:
            with self._failures(prefix):
                self._run(lambda: self.store.delete_dir(prefix[:-1]) if prefix else self.store.clear())

    # --- life ---

    @property
    def read_only(self) -> bool:
        return self._read_only or self.store.read_only

    supports_writes = property(lambda self: self.store.supports_writes)  # pyright: ignore[reportAssignmentType]
    supports_deletes = property(lambda self: self.store.supports_deletes)  # pyright: ignore[reportAssignmentType]
    supports_listing = property(lambda self: self.store.supports_listing)  # pyright: ignore[reportAssignmentType]

    def with_read_only(self, read_only: bool = False) -> Self:
        if read_only or not self.store.read_only:
            return self._copy_with_read_only(read_only)
        try:
            return type(self)(self.store.with_read_only(False))
        except (NotImplementedError, AttributeError) as error:
            raise StoreError(f"{self} cannot be made writable: {shown(error)}") from error

    def close(self) -> None:
        self.store.close()

    def __str__(self) -> str:
        return str(self.store).partition("\n")[0]

    def _identity(self) -> object:
        return self.read_only, self.store

    def _local_root(self) -> str | None:
        return self._root

    def _list_stored(self, prefix: str) -> Iterator[str]:
        listed, root = {*self.list_prefix(prefix)}, self._local_root()
        yield from listed
        if root is not None:  # a wrapper may have keys of its own: of files, those that cannot be read
            for name in super()._list_stored(prefix):
                if name not in listed and (name.endswith("/") or leads_to_nothing(f"{root}/{name}")):
                    yield name

    def _scope(self, path: str) -> str:
        # A wrapper's keys have the locks of the store below it, whoever reaches that by another way.
        if self._below is not None:
            return self._below._scope(path)
        return f"{self._kind}/{path}/" if path else f"{self._kind}/"

    def _lock_file(self, path: str) -> tuple[str, str, bool, bool] | None:
        return None if self._below is None else self._below._lock_file(path)

    def _alone(self, path: str, *, makes: bool = True) -> AbstractContextManager[StillThere | None]:
        if self._below is None:
            return super()._alone(path, makes=makes)
        return self._below._alone(path, makes=makes)

    def _address(self, path: str) -> str:
        return super()._address(path) if self._below is None else self._below._address(path)

    @property
    def _in_process(self) -> bool:  # type: ignore[override]
        return self._below is not None and self._below._in_process

    def _link_target(self, path: str) -> str | None:
        return None if self._below is None else self._below._link_target(path)

    def _concurrent_requests(self) -> int:
        return concurrency()

    # --- coroutines ---

    def _gathered(
        self, asked: Sequence[tuple[str, Any]], call: Callable[[str, Any], Coroutine[Any, Any, Any]]
    ) -> Sequence[Any]:
        """Await a call for each key, at most ``async.concurrency`` at a time; answers in their order."""
        gate = asyncio.Semaphore(concurrency())

        async def one(key: str, part: Any) -> Any:
            async with gate:
                try:
                    return await harmless(call(key, part))
                except EndsLoopError:
                    raise
                except Exception as error:
                    if _is_no_key(error):
                        return None
                    raise self._failed(key, error) from error

        async def all_of_them() -> Sequence[Any]:
            tasks = [asyncio.ensure_future(one(*request)) for request in asked]
            try:
                return await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()

        return self._run(all_of_them)

    @property
    def _prototype(self) -> Any:
        """The classes of buffers that the store is asked for."""
        return getattr(self.store, "zarrcore_prototype", None) or _prototype()

    def _requested(self, part: ByteRange | None) -> Any:
        """Return a byte range as the store knows it."""
        return part if hasattr(self.store, "zarrcore_prototype") else _theirs(part)

    def _usual_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop on which programs usually run the coroutines of such stores."""
        if hasattr(self.store, "zarrcore_prototype"):
            return own_loop()
        from zarr.core.sync import _get_loop

        return _get_loop()

    def _run(self, work: Work[T]) -> T:
        """Run a coroutine to its end on the loop of the store, or on ours where that would wait for us."""

        async def opened() -> T:
            await self.store._ensure_open()
            return await work()

        try:
            return run_to_end(opened, self._loop or self._usual_loop(), is_needed=self._loop is not None)
        except Unawaited as error:
            raise StoreError(f"{self}: {error}") from None


_BASES = ("zarr.abc.store", "zarrcore.compat.coroutines")  # where the base classes of such stores are


def _is_base(kind: type) -> bool:
    return kind.__name__ == "Store" and kind.__module__ in _BASES


def _kind_of(kind: type) -> type:
    """Return the first class below the base class: all its stores, and those of classes derived from it."""
    kinds = [cls for cls in kind.__mro__ if any(_is_base(base) for base in cls.__mro__[1:])]
    return (kinds or [kind])[-1]


@cache
def _passes_by(kinds: tuple[type, ...], name: str, *replaced: str) -> bool:
    """Return whether a method, of a store or of one that it wraps, passes by others that a class replaces.

    That is a class which inherits it; the defaults of zarr-python's base class call the others.
    """

    def depth(kind: type, method: str) -> int:
        return next((i for i, cls in enumerate(kind.__mro__) if method in vars(cls)), len(kind.__mro__))

    def passes(kind: type) -> bool:
        owner = kind.__mro__[min(depth(kind, name), len(kind.__mro__) - 1)]
        return not _is_base(owner) and any(depth(kind, method) < depth(kind, name) for method in replaced)

    return any(map(passes, kinds))


def _prototype() -> Any:
    from zarr.core.buffer.cpu import buffer_prototype

    return buffer_prototype


def _is_no_key(error: Exception) -> bool:
    """Return whether an error of icechunk says that it has no keys of this form, those of formats 1 and 2."""
    known = "invalid zarr key format", "v2 key not found", "bad key prefix"
    return _is_of_icechunk(error) and said(error).startswith(known)


def _is_of_icechunk(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "icechunk"


def _theirs(part: ByteRange | None) -> Any:
    """Return a byte range as a request of zarr-python."""
    from zarr.abc import store as theirs

    match part:
        case RangeByteRequest(start, end):
            return theirs.RangeByteRequest(start, end)
        case OffsetByteRequest(offset):
            return theirs.OffsetByteRequest(offset)
        case SuffixByteRequest(suffix):
            return theirs.SuffixByteRequest(suffix)
    return None


def _bytes_of(answer: Any, key: str) -> Buffer | None:
    """Return the bytes in what a store returned for a key."""
    return None if answer is None else lasting(as_view(answer, key))
