"""From what users write, such as a path, a URL or a dictionary, to a store and a place in it."""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Literal

from zarrcore.errors import ReadOnlyError, StoreError
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange
from zarrcore.storage.local import LocalStore
from zarrcore.storage.memory import ManagedMemoryStore, MemoryStore
from zarrcore.storage.validation import join_path, normalize_path

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["AccessMode", "StoreLike", "StorePath", "make_store", "make_store_path"]

AccessMode = Literal["r", "r+", "a", "w", "w-"]
_MODES = ("r", "r+", "a", "w", "w-")
# Two letters at least: "C:" is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)(?:://|::)|(file):(?=/)")


class StorePath:
    """A place in a store: the path of a node, or a key.

    Parameters
    ----------
    store : Store
        The store.
    path : str
        The path; it is brought into canonical form.

    Examples
    --------
    >>> place = StorePath(MemoryStore(), "foo") / "bar"
    >>> place.path, place.name, place.parent.path
    ('foo/bar', 'bar', 'foo')
    """

    __slots__ = ("path", "store")

    store: Store
    path: str

    def __init__(self, store: Store, path: str = "") -> None:
        self.store = store
        self.path = normalize_path(path)

    @property
    def read_only(self) -> bool:
        """Whether the store is read-only."""
        return self.store.read_only

    @property
    def name(self) -> str:
        """The last component of the path; empty at the root."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        """One level up; the root is its own parent."""
        return type(self)(self.store, self.path.rpartition("/")[0])

    def __truediv__(self, other: str) -> StorePath:
        return type(self)(self.store, join_path(self.path, normalize_path(other)))

    def __str__(self) -> str:
        return join_path(str(self.store), self.path)

    def __repr__(self) -> str:
        return f"StorePath({type(self.store).__name__}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and self.path == other.path and self.store == other.store

    __hash__ = None  # type: ignore[assignment]

    def get(self, byte_range: ByteRange | None = None) -> Buffer | None:
        """The value at this key, or a part of it; None if there is none."""
        return self.store.get(self.path, byte_range)

    def set(self, value: Buffer) -> None:
        """Store a value at this key."""
        self.store.set(self.path, value)

    def set_if_not_exists(self, default: Buffer) -> None:
        """Store a value at this key unless it has one."""
        self.store.set_if_not_exists(self.path, default)

    def delete(self) -> None:
        """Remove this key."""
        self.store.delete(self.path)

    def delete_dir(self) -> None:
        """Remove all keys below this path."""
        self.store.erase_prefix(self.path)

    def exists(self) -> bool:
        """Whether there is a value at this key."""
        return bool(self.path) and self.store.exists(self.path)

    def is_empty(self) -> bool:
        """Whether there is no key below this path."""
        return self.store.is_empty(self.path)


StoreLike = Store | StorePath | str | os.PathLike[str] | MutableMapping[str, Any] | None


def make_store(
    store_like: StoreLike,
    *,
    mode: AccessMode | str | None = None,
    read_only: bool | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Store:
    """A store from whatever stands for one.

    Parameters
    ----------
    store_like : Store, StorePath, str, os.PathLike, MutableMapping or None
        A store; a directory; a URL ``file://...`` or ``memory://name``; a dictionary; None for a new
        dictionary.
    mode : {"r", "r+", "a", "w", "w-"}, optional
        How the store is going to be used; ``"r"`` makes it read-only, the others want it to be writable.
        Nothing is created, checked or removed.
    read_only : bool, optional
        Make the store read-only whatever the mode.
    storage_options : dict, optional
        Options of a remote store.

    Returns
    -------
    Store
        `store_like` itself if it is a store that fits.

    Raises
    ------
    ReadOnlyError
        If a read-only store is to be written.
    StoreError
        If a URL has a scheme without a store.
    TypeError
        If `store_like` is nothing of the kind, or options are given to a store that takes none.
    """
    if mode is not None and mode not in _MODES:
        raise ValueError(f"expected a mode of {', '.join(_MODES)}, got {mode!r}")
    store = _as_store(store_like)
    if storage_options:
        raise TypeError(f"storage_options are for remote stores; {type(store).__name__} takes none")
    return _for_mode(store, mode, read_only)


def make_store_path(
    store_like: StoreLike,
    *,
    path: str | None = "",
    mode: AccessMode | str | None = None,
    read_only: bool | None = None,
    storage_options: dict[str, Any] | None = None,
) -> StorePath:
    """A place in a store from whatever stands for one.

    Parameters
    ----------
    store_like, mode, read_only, storage_options
        As for :func:`make_store`.
    path : str, optional
        Path in the store, or below a :class:`StorePath`.

    Returns
    -------
    StorePath
        The place.

    Raises
    ------
    FileExistsError
        If the mode is ``"w-"`` and there are keys below the path.
    """
    store = make_store(store_like, mode=mode, read_only=read_only, storage_options=storage_options)
    base = store_like.path if isinstance(store_like, StorePath) else ""
    place = StorePath(store, join_path(base, normalize_path(path)))
    if mode == "w-" and not place.is_empty():
        raise FileExistsError(f"{place} holds data already, and mode 'w-' does not replace it")
    return place


def _as_store(store_like: StoreLike) -> Store:
    match store_like:
        case str():
            return _from_string(store_like)
        case Store():
            return store_like
        case StorePath():
            return store_like.store
        case None:
            return MemoryStore()
        case os.PathLike():
            return LocalStore(store_like)
        case MutableMapping():
            return MemoryStore(store_like)
    protocol = getattr(store_like, "protocol", None)
    if isinstance(protocol, str):  # a path of universal_pathlib
        raise _no_store_for(protocol, str(store_like))
    raise TypeError(f"expected a store, a path, a URL or a dictionary, got {type(store_like).__name__}")


def _from_string(text: str) -> Store:
    match = _SCHEME.match(text)
    if match is None:
        return LocalStore(text)
    scheme = (match[1] or match[2]).lower()
    if scheme == "file":
        return LocalStore(_path_of_file_url(text))
    if scheme == "memory":
        name, _, path = text.partition("://")[2].partition("/")
        return ManagedMemoryStore(name or None, path=path)
    raise _no_store_for(scheme, text)


def _path_of_file_url(url: str) -> str:
    """RFC 8089: ``file:///my%20data`` is the path ``/my data``."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise StoreError(f"{url!r}: expected file:///path, found the host {parts.netloc!r}")
    return url2pathname(parts.path)


def _no_store_for(scheme: str, text: str) -> StoreError:
    return StoreError(f"{text!r}: no store is known for the URL scheme {scheme!r} (known: file, memory)")


def _for_mode(store: Store, mode: str | None, read_only: bool | None) -> Store:
    if mode == "r" or read_only:
        return store.with_read_only(True) if not store.read_only else store
    if mode is not None and store.read_only:
        raise ReadOnlyError(
            f"{store} is read-only, but mode {mode!r} writes; use mode 'r' or a writable store"
        )
    return store
