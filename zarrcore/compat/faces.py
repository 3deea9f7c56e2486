"""zarrcore's stores with the methods of zarr-python's, which are coroutines: for ``zarr.storage``.

A function of zarrcore that takes one of these takes the store of zarrcore in it: nothing is awaited then.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any, ClassVar, Self

import zarrcore.storage
from zarrcore.compat.buffers import Buffer, BufferPrototype, buffer_prototype
from zarrcore.compat.coroutines import Store
from zarrcore.storage import path as places
from zarrcore.storage.awaited import Awaited
from zarrcore.storage.base import Store as PlainStore
from zarrcore.storage.memory import MemoryStore as PlainMemoryStore
from zarrcore.storage.path import AccessMode, make_store
from zarrcore.storage.path import StorePath as PlainPath
from zarrcore.storage.validation import is_zarr_python_store, join_path, normalize_path

__all__ = [
    "CacheStore",
    "Face",
    "FsspecStore",
    "GpuMemoryStore",
    "LocalStore",
    "LoggingStore",
    "ManagedMemoryStore",
    "MemoryStore",
    "ObjectStore",
    "StorePath",
    "WrapperStore",
    "ZipStore",
    "face_of",
    "face_of_place",
]


class Buffers(PlainMemoryStore):
    """A dictionary whose values are buffers."""

    def _kept(self, data: bytes) -> Any:
        return Buffer.from_bytes(data)


class Face(Awaited, Store):
    """Any store of zarrcore, seen as a store of coroutines."""

    _prototype = buffer_prototype
    _kind: ClassVar[str] = ""  # the class of zarrcore

    _plain: PlainStore

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self._plain = self._made(*args, **options)

    @classmethod
    def _made(cls, *args: Any, **options: Any) -> PlainStore:
        """Return a new store of zarrcore, with the arguments of this class."""
        return getattr(zarrcore.storage, cls._kind)(*args, **options)  # type: ignore[no-any-return]

    @classmethod
    def _of(cls, plain: PlainStore) -> Self:
        """Return the face of a store."""
        face = cls.__new__(cls)
        Store.__init__(face)
        face._plain = plain
        return face

    @property
    def zarrcore_store(self) -> PlainStore | None:
        """The store of zarrcore in it; None where somebody has replaced methods, which must be called."""
        own = _METHODS.get(type(self))
        if own is None or not own.keys().isdisjoint(vars(self)):
            return None
        is_untouched = all(getattr(type(self), name) is method for name, method in own.items())
        return self._plain if is_untouched else None

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to be written."""
        return self._plain.read_only

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return the same store, read-only or writable."""
        twin = copy.copy(self)
        twin._plain = self._plain.with_read_only(read_only)
        return twin

    def __getattr__(self, name: str) -> Any:
        if name == "_plain" or name.startswith("__"):  # while it is copied or unpickled
            raise AttributeError(name)
        return getattr(self._plain, name)

    def __hash__(self) -> int:
        return hash((type(self), self._plain))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class _Sync:
    """What a store that waits for nobody offers without an event loop."""

    _plain: PlainStore

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return the value at a key, or a part of it; None if there is none."""
        value = self._plain.get(key, byte_range)
        make = (prototype or buffer_prototype).buffer.from_bytes
        return None if value is None else make(value)

    def set_sync(self, key: str, value: Buffer) -> None:
        """Store a value at a key."""
        self._plain.set(key, value.to_bytes())

    def delete_sync(self, key: str) -> None:
        """Remove a key and its value."""
        self._plain.delete(key)


class MemoryStore(_Sync, Face):
    """Buffers in a dictionary.

    Parameters
    ----------
    store_dict : MutableMapping, optional
        Where to keep the values; a new dictionary by default.
    read_only : bool
        Refuse every write.

    Examples
    --------
    >>> import asyncio
    >>> async def work():
    ...     store = MemoryStore()
    ...     await store.set("key", zarrcore.buffer.Buffer.from_bytes(b"value"))
    ...     return (await store.get("key")).to_bytes(), [key async for key in store.list()]
    >>> asyncio.run(work())
    (b'value', ['key'])
    """

    _kind = "MemoryStore"
    _waits_for_nobody = True

    @classmethod
    def _made(cls, *args: Any, **options: Any) -> PlainStore:
        return Buffers(*args, **options)


class ManagedMemoryStore(_Sync, Face):
    """A dictionary that has a name; see :class:`zarrcore.storage.ManagedMemoryStore`."""

    _kind = "ManagedMemoryStore"
    _waits_for_nobody = True

    @classmethod
    def from_url(cls, url: str, *, read_only: bool = False) -> Self:
        """Return the store of a URL, ``memory://name/path``."""
        return cls._of(zarrcore.storage.ManagedMemoryStore.from_url(url, read_only=read_only))


class GpuMemoryStore(Face):
    """Values on a GPU; see :class:`zarrcore.storage.GpuMemoryStore`."""

    _kind = "GpuMemoryStore"

    @classmethod
    def from_dict(cls, store_dict: dict[str, Any]) -> Self:
        """Return a store of a copy of a dictionary."""
        return cls._of(zarrcore.storage.GpuMemoryStore.from_dict(store_dict))


class LocalStore(_Sync, Face):
    """A directory; see :class:`zarrcore.storage.LocalStore`."""

    _kind = "LocalStore"


class ZipStore(Face):
    """A ZIP archive; see :class:`zarrcore.storage.ZipStore`."""

    _kind = "ZipStore"


class ObjectStore(Face):
    """A store of obstore; see :class:`zarrcore.storage.ObjectStore`."""

    _kind = "ObjectStore"


class FsspecStore(Face):
    """A filesystem of fsspec; see :class:`zarrcore.storage.FsspecStore`."""

    _kind = "FsspecStore"

    @classmethod
    def from_url(cls, *args: Any, **options: Any) -> Self:
        """Return the store of a URL."""
        return cls._of(zarrcore.storage.FsspecStore.from_url(*args, **options))

    @classmethod
    def from_mapper(cls, *args: Any, **options: Any) -> Self:
        """Return the store of a mapping of fsspec."""
        return cls._of(zarrcore.storage.FsspecStore.from_mapper(*args, **options))

    @classmethod
    def from_upath(cls, *args: Any, **options: Any) -> Self:
        """Return the store of a path of universal_pathlib."""
        return cls._of(zarrcore.storage.FsspecStore.from_upath(*args, **options))


class LoggingStore(Face):
    """A store that logs and counts every call to another one; see :class:`zarrcore.storage.LoggingStore`."""

    _kind = "LoggingStore"

    def __init__(self, store: Any, *args: Any, **options: Any) -> None:
        super().__init__(make_store(store), *args, **options)
        self._store = store


class CacheStore(Face):
    """Values of a store kept in another one; see :class:`zarrcore.experimental.cache_store.CacheStore`."""

    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(store, **options)
        self._store = store

    @classmethod
    def _made(cls, store: Any, *, cache_store: Any, **options: Any) -> PlainStore:
        from zarrcore.storage.caching import CacheStore as PlainCacheStore

        return PlainCacheStore(make_store(store), cache_store=make_store(cache_store), **options)

    async def clear_cache(self) -> None:
        """Remove all that is kept."""
        await self._change(self._plain.clear_cache)  # type: ignore[attr-defined]


def _passed_on(name: str) -> Any:
    """Return a method that calls the same one of the wrapped store."""

    def call(self: WrapperStore, *args: Any, **options: Any) -> Any:
        return getattr(self._store, name)(*args, **options)

    call.__name__ = call.__qualname__ = name
    return call


class WrapperStore(Store):
    """A store that passes every call on to another one, for packages that derive from it.

    Parameters
    ----------
    store : Store
        The store to wrap.

    Examples
    --------
    >>> import asyncio
    >>> class Upper(WrapperStore):
    ...     async def get(self, key, prototype=None, byte_range=None):
    ...         value = await super().get(key, prototype, byte_range)
    ...         return None if value is None else type(value).from_bytes(value.to_bytes().upper())
    >>> store = MemoryStore({"key": b"value"})
    >>> asyncio.run(Upper(store).get("key")).to_bytes()
    b'VALUE'
    """

    __class_getitem__: Any = classmethod(lambda cls, _: cls)  # classes for one kind: WrapperStore[LocalStore]

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    async def open(cls, store_cls: type[Store], *args: Any, **kwargs: Any) -> Self:  # type: ignore[override]
        """Open a store of a class and wrap it."""
        return cls(await store_cls.open(*args, **kwargs))

    def _with_store(self, store: Store) -> Self:
        return type(self)(store)

    def with_read_only(self, read_only: bool = False) -> Self:
        """Return the same wrapper around the store, read-only or writable."""
        return self._with_store(self._store.with_read_only(read_only))

    _is_open = property(lambda self: self._store._is_open)  # type: ignore[assignment]
    read_only = property(lambda self: self._store.read_only)  # type: ignore[assignment]
    supports_writes = property(lambda self: self._store.supports_writes)  # type: ignore[assignment]
    supports_deletes = property(lambda self: self._store.supports_deletes)  # type: ignore[assignment]
    supports_listing = property(lambda self: self._store.supports_listing)  # type: ignore[assignment]
    supports_consolidated_metadata = property(  # type: ignore[assignment]
        lambda self: self._store.supports_consolidated_metadata
    )

    def __eq__(self, value: object) -> bool:
        return isinstance(value, type(self)) and self._store == value._store

    def __str__(self) -> str:
        return f"wrapping-{self._store}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r})"

    _open = _passed_on("_open")
    _ensure_open = _passed_on("_ensure_open")
    close = _passed_on("close")
    get = _passed_on("get")
    get_partial_values = _passed_on("get_partial_values")
    _get_many = _passed_on("_get_many")
    get_ranges = _passed_on("get_ranges")
    exists = _passed_on("exists")
    getsize = _passed_on("getsize")
    getsize_prefix = _passed_on("getsize_prefix")
    is_empty = _passed_on("is_empty")
    list = _passed_on("list")
    list_prefix = _passed_on("list_prefix")
    list_dir = _passed_on("list_dir")
    set = _passed_on("set")
    set_if_not_exists = _passed_on("set_if_not_exists")
    _set_many = _passed_on("_set_many")
    delete = _passed_on("delete")
    delete_dir = _passed_on("delete_dir")
    clear = _passed_on("clear")


class StorePath:
    """A place in a store of coroutines.

    Parameters
    ----------
    store : Store
        The store.
    path : str
        The path; it is brought into canonical form.
    """

    __slots__ = ("path", "store")

    store: Any
    path: str

    def __init__(self, store: Any, path: str = "") -> None:
        self.store = store
        self.path = normalize_path(path)

    @classmethod
    async def open(cls, store: Any, path: str, mode: AccessMode | None = None) -> Self:
        """Return a place in a store that has been opened, read-only for the mode ``"r"``."""
        if mode is not None:
            places.make_store_path(store, path=path, mode=mode)  # refuses what does not fit
        if mode == "r" and not store.read_only:
            store = store.with_read_only(True)
        await store._ensure_open()
        return cls(store, path)

    @property
    def read_only(self) -> bool:
        """Whether the store is read-only."""
        return self.store.read_only  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The last component of the path; empty at the root."""
        return self.path.rpartition("/")[2]

    async def get(self, prototype: BufferPrototype | None = None, byte_range: Any = None) -> Any:
        """Return the value at this key, or a part of it; None if there is none."""
        return await self.store.get(self.path, prototype=prototype or buffer_prototype, byte_range=byte_range)

    async def set(self, value: Buffer) -> None:
        """Store a value at this key."""
        await self.store.set(self.path, value)

    async def set_if_not_exists(self, default: Buffer) -> None:
        """Store a value at this key unless it has one."""
        await self.store.set_if_not_exists(self.path, default)

    async def delete(self) -> None:
        """Remove this key."""
        await self.store.delete(self.path)

    async def delete_dir(self) -> None:
        """Remove all keys below this path."""
        await self.store.delete_dir(self.path)

    async def exists(self) -> bool:
        """Return whether there is a value at this key."""
        return bool(self.path) and await self.store.exists(self.path)  # type: ignore[no-any-return]

    async def is_empty(self) -> bool:
        """Return whether there is no key below this path."""
        return await self.store.is_empty(self.path)  # type: ignore[no-any-return]

    def get_sync(self, *, prototype: BufferPrototype | None = None, byte_range: Any = None) -> Any:
        """Return the value at this key without an event loop."""
        return self.store.get_sync(self.path, prototype=prototype, byte_range=byte_range)

    def set_sync(self, value: Buffer) -> None:
        """Store a value at this key without an event loop."""
        self.store.set_sync(self.path, value)

    def delete_sync(self) -> None:
        """Remove this key without an event loop."""
        self.store.delete_sync(self.path)

    def __truediv__(self, other: str) -> StorePath:
        return type(self)(self.store, join_path(self.path, normalize_path(other)))

    def __str__(self) -> str:
        return join_path(str(self.store), self.path)

    def __repr__(self) -> str:
        return f"StorePath({type(self.store).__name__}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and self.path == other.path and self.store == other.store

    __hash__ = None  # type: ignore[assignment]


def face_of(store: PlainStore) -> Any:
    """Return the face of a store; of one of coroutines that zarrcore has wrapped, the store itself."""
    theirs: Any = getattr(store, "store", None)
    if is_zarr_python_store(theirs):
        with suppress(NotImplementedError):  # one that has no read-only twin
            return theirs.with_read_only(True) if store.read_only and not theirs.read_only else theirs
        return theirs
    for kind in type(store).__mro__:
        if kind.__name__ in _FACES and kind.__module__.startswith("zarrcore."):
            return _FACES[kind.__name__]._of(store)
    return Face._of(store)


def face_of_place(place: PlainPath) -> StorePath:
    """Return a place with the face of its store."""
    return StorePath(face_of(place.store), place.path)


_FACES: dict[str, type[Face]] = {
    kind._kind: kind
    for kind in (
        *(FsspecStore, GpuMemoryStore, LocalStore, LoggingStore, ManagedMemoryStore),
        *(MemoryStore, ObjectStore, ZipStore),
    )
}
_VERBS = [name for name in dir(Store) if name[0] != "_" and callable(getattr(Store, name))]
_METHODS = {
    kind: {name: getattr(kind, name) for name in _VERBS if name not in ("open", "close")}
    for kind in (Face, CacheStore, *_FACES.values())
}
