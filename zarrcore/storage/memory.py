"""Dictionaries as stores: of this process, shared by name, or in the memory of a GPU."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from itertools import count
from sys import modules
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from zarrcore._extension import own_form
from zarrcore._locks import one_at_a_time
from zarrcore._typing import Buffer
from zarrcore.errors import StoreError
from zarrcore.storage.announced import ENGINE, announces_itself
from zarrcore.storage.base import Store
from zarrcore.storage.validation import (
    as_view,
    join_path,
    key_prefix,
    normalize_path,
    validate_key,
    validate_prefix,
)

if TYPE_CHECKING:
    from zarrcore.storage.byte_range import ByteRange


class _Held:
    """A value that is kept alive, equal to itself alone: another one may be made in its place in memory."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


class MemoryStore(Store):
    """Values kept in a dictionary, which may be one of the caller's.

    Values are copied when they are set.  Those found in the caller's mapping may be any bytes-like objects.

    Parameters
    ----------
    store_dict : MutableMapping, optional
        Where to keep the values; a new dictionary by default.
    read_only : bool
        Refuse every write.

    Examples
    --------
    >>> values = {}
    >>> store = MemoryStore(values)
    >>> store.set("a/b", b"value")
    >>> values
    {'a/b': b'value'}
    """

    _store_dict: MutableMapping[str, Any]
    _start = ""  # of the keys in the dictionary, which those of the store follow
    _is_near = _knows_documents = True
    _in_process = True

    def __init__(
        self, store_dict: MutableMapping[str, Any] | None = None, *, read_only: bool = False
    ) -> None:
        if store_dict is not None and not hasattr(store_dict, "keys"):
            raise TypeError(f"{type(self).__name__}: expected a dictionary, got {type(store_dict).__name__}")
        super().__init__(read_only=read_only)
        self._store_dict = {} if store_dict is None else store_dict

    def __str__(self) -> str:
        return f"memory://{id(self._store_dict)}"

    def _identity(self) -> object:
        return self.read_only, self._store_dict  # equal if the same, or of the same contents

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._copy_with_read_only(read_only)

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        value = self._store_dict.get(self._start + validate_key(key))
        if value is None:
            return None
        view = self._view(key, value)
        if byte_range is None:
            return bytes(view)  # the same object if it is bytes already
        from zarrcore.storage.byte_range import resolve_range

        start, stop = resolve_range(byte_range, len(view))
        return bytes(view[start:stop])

    def exists(self, key: str) -> bool:
        return self._start + validate_key(key) in self._store_dict

    def _which_exist(self, keys: Sequence[str]) -> Iterable[bool]:
        values, start = self._store_dict, self._start
        return [start + validate_key(key) in values for key in keys]

    def _size(self, key: str) -> int | None:
        value = self._store_dict.get(self._start + validate_key(key))
        return None if value is None else len(self._view(key, value))

    @announces_itself
    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = self._kept(value if type(value) is bytes else bytes(as_view(value, key)))
        self._change(self._start + validate_key(key), self._store_dict.__setitem__, data)

    @announces_itself
    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        # Through a memoryview: a new object, which `_create` recognises.
        return self._create(key, self._kept(bytes(memoryview(as_view(value, key)))))

    def _kept(self, data: bytes) -> Any:
        """Return the form in which the dictionary keeps a value."""
        return data

    def _create(self, key: str, data: Any) -> bool:
        key = self._start + validate_key(key)
        values = self._store_dict
        # Two stores over one mapping share nothing else, and only dictionaries do this in one step.
        with nullcontext() if type(values) in _DICTIONARIES else one_at_a_time((id(values), key)):
            return key not in values and self._change(key, values.setdefault, data) is data

    @announces_itself
    def delete(self, key: str) -> None:
        self._check_writable()
        self._change(self._start + validate_key(key), self._store_dict.pop, None)

    def _change(self, key: str, change: Callable[[str, Any], Any], value: object) -> Any:
        """Change a key of the dictionary, and announce that if the engine is there."""
        try:
            change_item = modules[ENGINE].change_item
        except (KeyError, AttributeError):
            return change(key, value)
        return change_item(self._store_dict, key, change, value)

    def list(self) -> Iterator[str]:
        return own_form(self, "list_prefix", "")  # type: ignore[no-any-return]

    @property
    def _lists_once(self) -> bool:  # type: ignore[override]
        return type(self._store_dict) in (dict, _ManagedDict)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix, skip = self._start + validate_prefix(prefix), len(self._start)
        # A copy, so that the caller may set and delete while iterating, and other threads too.
        return (key[skip:] for key in [*self._store_dict] if key.startswith(prefix))

    def list_dir(self, prefix: str) -> Iterator[str]:
        prefix = self._start + validate_prefix(prefix)
        start, names = len(prefix), dict[str, None]()
        known: str | tuple[str, ...] = ()  # a name that was found: most keys follow one below it
        for key in [*self._store_dict]:
            if not key.startswith(known) and key.startswith(prefix):
                name, slash, _ = key[start:].partition("/")
                names[name] = None
                known = f"{prefix}{name}/" if slash else known
        return iter(names)

    def _view(self, key: str, value: Any) -> bytes | memoryview:
        try:
            return as_view(value, key)
        except TypeError as error:
            raise StoreError(f"{self}: {error}") from error

    def _first_names(self, prefix: str) -> Iterator[str]:
        return self._names_of_keys(prefix)

    def _walked_keys(self) -> tuple[str, Collection[str]]:
        return self._start, self._store_dict

    def _noticed(self, key: str) -> Any:
        if type(self._store_dict) not in (dict, _ManagedDict):
            return None  # a mapping of a user's makes values when it is asked, perhaps
        value = self._store_dict.get(self._start + key)
        return None if value is None else _Held(value)

    def _has_lost(self, prefix: str) -> bool:
        if self._document_in(prefix):
            return False
        prefix = self._start + prefix
        return not any(key.startswith(prefix) for key in [*self._store_dict])

    def _document_in(self, prefix: str) -> str:
        names = ("zarr.json", ".zarray")
        return next((name for name in names if f"{self._start}{prefix}{name}" in self._store_dict), "")

    def _scope(self, path: str) -> str:
        start = f"memory:{id(self._store_dict)}/{self._start}"
        return f"{start}{path}/" if path else start

    def _native_source(self) -> Any | None:
        if type(self._store_dict) is not dict:
            return None
        from zarrcore._core.engine import MemorySource

        plain = type(self)._kept is MemoryStore._kept
        return MemorySource(self._store_dict, kept=None if plain else self._kept)


of_mapping: Callable[[MutableMapping[str, Any]], Store] = MemoryStore
"""Makes the store of a dictionary of the caller; where zarrcore is in zarr-python's place, one of buffers."""


class _ManagedDict(dict[str, bytes]):
    """A dictionary that weak references can point to."""

    __slots__ = ("__weakref__",)


# In the callbacks of a WeakValueDictionary, which are functions of Python, Ctrl-C would be lost.
_managed: dict[object, tuple[str, weakref.ref[_ManagedDict]]] = {}
_numbers = count()
_DICTIONARIES = dict, _ManagedDict


def _alive(name: str) -> _ManagedDict | None:
    for entry, (known, there) in [*_managed.items()]:
        values = there()
        if values is None:
            _managed.pop(entry, None)
        elif known == name:
            return values
    return None


class ManagedMemoryStore(MemoryStore):
    """A dictionary that has a name in this process.

    Stores of the same name share their values.  These live as long as one of the stores does.  (A function
    that is given the URL ``memory://name`` uses the memory of fsspec, as other packages do.)

    Parameters
    ----------
    name : str, optional
        The name; a number not in use by default.
    path : str
        Prefix put before every key.
    read_only : bool
        Refuse every write.

    Examples
    --------
    >>> store = ManagedMemoryStore("example")
    >>> store.set("a/b", b"value")
    >>> ManagedMemoryStore.from_url("memory://example/a").get("b")
    b'value'
    """

    def __init__(self, name: str | None = None, *, path: str = "", read_only: bool = False) -> None:
        if name is not None and "/" in name:
            raise ValueError(f"the name of a memory store must not contain '/', got {name!r}; use path=")
        while name is None:
            number = str(next(_numbers))
            name = number if _alive(number) is None else None
        values = _alive(name)
        if values is None:
            own = _ManagedDict()
            _managed[object()] = name, weakref.ref(own)
            values = _alive(name)  # of several threads, all find what the first one has made
        self._name = name
        self.path = normalize_path(path)
        self._start = key_prefix(self.path)
        super().__init__(values, read_only=read_only)

    @classmethod
    def from_url(cls, url: str, *, read_only: bool = False) -> Self:
        """Return the store of `url`, ``memory://name/path``; with `read_only` it refuses writes.

        Raises
        ------
        StoreError
            If no store of that name is alive in this process.
        """
        scheme, _, rest = url.partition("://")
        name, _, path = rest.partition("/")
        if scheme != "memory":
            raise StoreError(f"expected a URL memory://name, got {url!r}")
        if _alive(name) is None:
            raise StoreError(f"{url!r}: no memory store of the name {name!r} is alive in this process")
        return cls(name, path=path, read_only=read_only)

    @property
    def name(self) -> str:
        """The name in the URL."""
        return self._name

    def __str__(self) -> str:
        return join_path(f"memory://{self._name}", self.path)

    def _identity(self) -> object:
        return id(self._store_dict), self.path, self.read_only

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_managed, (type(self), str(self), self.read_only, os.getpid())


def _unpickle_managed(
    cls: type[ManagedMemoryStore], url: str, read_only: bool, pid: int
) -> ManagedMemoryStore:
    if pid != os.getpid():
        raise StoreError(f"{url!r} lives in process {pid} and cannot be opened in another one")
    return cls.from_url(url, read_only=read_only)


class GpuMemoryStore(MemoryStore):
    """Values kept on a GPU, in a dictionary of one-dimensional ``cupy`` arrays of bytes.

    Values come back as bytes of the host, since that is where chunks are decoded: the store may be larger
    than the memory of the host, but saves no copy.

    Parameters
    ----------
    store_dict : MutableMapping, optional
        Where to keep the values; a new dictionary by default.
    read_only : bool
        Refuse every write.

    Raises
    ------
    StoreError
        If the package cupy is not installed.

    Examples
    --------
    >>> try:
    ...     store = GpuMemoryStore()
    ... except zarrcore.errors.StoreError:  # without the package cupy
    ...     store = MemoryStore()
    >>> array = zarrcore.create_array(store, shape=4, dtype="f4")
    """

    def __init__(
        self, store_dict: MutableMapping[str, Any] | None = None, *, read_only: bool = False
    ) -> None:
        _cupy()
        super().__init__(store_dict, read_only=read_only)

    @classmethod
    def from_dict(cls, store_dict: Mapping[str, Any]) -> Self:
        """Return a store of a copy of `store_dict`, whose values are bytes of the host or arrays of cupy."""
        return cls({key: _on_gpu(key, value) for key, value in store_dict.items()})

    def __str__(self) -> str:
        return f"gpumemory://{id(self._store_dict)}"

    def _identity(self) -> object:
        return self.read_only, id(self._store_dict)

    _native_source = Store._native_source

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        self._store_dict[validate_key(key)] = _on_gpu(key, value)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        return self._create(key, _on_gpu(key, value))

    def _view(self, key: str, value: Any) -> bytes | memoryview:
        cupy = _cupy()
        return super()._view(key, cupy.asnumpy(value) if isinstance(value, cupy.ndarray) else value)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise StoreError("GpuMemoryStore keeps values on a GPU, which needs the package cupy") from error
    return cupy


def _on_gpu(key: str, value: Any) -> Any:
    """Return a new array of bytes on the GPU with what is in a value."""
    cupy = _cupy()
    if isinstance(value, cupy.ndarray):
        return cupy.ascontiguousarray(value).reshape(-1).view("u1").copy()
    return cupy.asarray(np.frombuffer(as_view(value, key), "u1"))
