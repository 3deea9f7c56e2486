"""From what users write, such as a path, a URL or a dictionary, to a store and a place in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from zarrcore._patterns import pattern
from zarrcore.errors import ReadOnlyError, StoreError
from zarrcore.storage.base import Store
from zarrcore.storage.local import LocalStore
from zarrcore.storage.place import StorePath, is_archive
from zarrcore.storage.validation import is_zarr_python_store, join_path, normalize_path

if TYPE_CHECKING:
    pass


__all__ = ["AccessMode", "StoreLike", "StorePath", "make_store", "make_store_path"]

AccessMode = Literal["r", "r+", "a", "w", "w-"]
_OF_REFERENCES = {"fo", "remote_protocol", "remote_options", "target_protocol", "target_options", "lazy"}
_MODES = ("r", "r+", "a", "w", "w-")
# Two letters at least: "C:" is a drive.
_SCHEME = pattern(r"([A-Za-z][A-Za-z0-9+.-]+)(?:://|::)|(file):(?=/)")


class _ForeignStore(Protocol):
    """A store of obstore."""

    @property
    def get_range(self) -> Any: ...


#: A store or a place in one, also of zarr-python, a path, a URL, a mapping, a store of obstore, or None.
StoreLike: TypeAlias = (
    Store | StorePath | str | os.PathLike[str] | MutableMapping[str, Any] | _ForeignStore | None
)


def make_store(
    store_like: StoreLike,
    *,
    mode: AccessMode | str | None = None,
    read_only: bool | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Store:
    """Return a store from any of the forms that stand for one.

    Parameters
    ----------
    store_like : Store, StorePath, str, os.PathLike, MutableMapping or None
        A store, also one of zarr-python; a directory; a ZIP archive, ``*.zip`` or ``*.ozx``, which is only
        read without a `mode` and at a URL; a URL; a dictionary; None for a new dictionary.  ``file://...`` is
        a path; ``s3://``, ``gs://``, ``az://``, ``abfs://`` and ``https://`` are opened by the package
        obstore where it is installed, and every other URL, ``memory://name`` among them, by fsspec.  A
        mapping of fsspec, a path of universal_pathlib and a store of obstore do as well.
    mode : {"r", "r+", "a", "w", "w-"}, optional
        How the store is going to be used; ``"r"`` makes it read-only, the others want it to be writable.
        Nothing is created, checked or removed.
    read_only : bool, optional
        Make the store read-only for any mode.
    storage_options : dict, optional
        Options for a URL, such as credentials, in the words of fsspec or of obstore.

    Returns
    -------
    Store
        `store_like` itself if it is a store that fits.

    Raises
    ------
    ReadOnlyError
        If a read-only store is to be written.
    StoreError
        If a URL has a scheme without a store, or one that needs a package which is not installed.
    TypeError
        If `store_like` is nothing of the kind, or options are given to a store that takes none.

    Examples
    --------
    >>> make_store({"key": b"value"}, read_only=True).read_only
    True
    >>> type(make_store("waves.zarr", mode="r")).__name__
    'LocalStore'
    """
    if mode is not None and mode not in _MODES:
        raise ValueError(f"expected a mode of {', '.join(_MODES)}, got {mode!r}")
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise TypeError(f"storage_options: expected a dictionary, got {type(storage_options).__name__}")
    store = _as_store(store_like, mode, storage_options)
    if storage_options and not _is_remote_url(store_like):
        raise TypeError(f"storage_options are for remote stores; {type(store).__name__} takes none")
    if mode == "r" or read_only:
        return store if store.read_only else store.with_read_only(True)
    if mode is not None and store.read_only:
        raise ReadOnlyError(
            f"{store} is read-only, but mode {mode!r} writes; use mode 'r' or a writable store"
        )
    return store


def make_store_path(
    store_like: StoreLike,
    *,
    path: str | None = "",
    mode: AccessMode | str | None = None,
    read_only: bool | None = None,
    storage_options: dict[str, Any] | None = None,
) -> StorePath:
    """Return a place in a store from any of the forms that stand for one.

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

    Examples
    --------
    >>> place = make_store_path({}, path="group/array")
    >>> place.path
    'group/array'
    """
    store = make_store(store_like, mode=mode, read_only=read_only, storage_options=storage_options)
    is_place = isinstance(store_like, StorePath) or _is_place_of_zarr_python(store_like)
    base = store_like.path if is_place else ""  # type: ignore[union-attr]
    place = StorePath(store, join_path(base, normalize_path(path)))
    if mode == "w-" and not place.is_empty():
        raise FileExistsError(f"{place} contains data already, and mode 'w-' does not replace it")
    return place


def _as_store(store_like: StoreLike, mode: str | None, storage_options: dict[str, Any] | None) -> Store:
    match store_like:
        case str():
            return _from_string(store_like, mode, storage_options)
        case Store():
            return store_like
        case StorePath():
            return store_like.store
    if store_like is None:
        store_like = {}
    store = _of_other_packages(store_like)
    if store is not None:
        return store
    match store_like:
        case os.PathLike():
            return _of_path(store_like, mode)
        case MutableMapping():
            from zarrcore.storage import memory

            return memory.of_mapping(store_like)
    kind, place = type(store_like), getattr(store_like, "store_path", None)
    hint = f"; its store_path is one: {place}" if isinstance(place, StorePath) else ""
    raise TypeError(
        f"expected a store, a path, a URL or a dictionary, got {kind.__module__}.{kind.__name__}{hint}"
    )


def _from_string(text: str, mode: str | None, storage_options: dict[str, Any] | None) -> Store:
    if _is_remote_url(text):
        if text == "reference://" and (store := _references(dict(storage_options or {}))) is not None:
            return store
        from zarrcore.storage.urls import store_of_url

        return store_of_url(text, storage_options)
    return _of_path(text if _scheme(text) is None else _path_of_file_url(text), mode)


def _references(options: dict[str, Any]) -> Store | None:
    """Return the store of ``reference://`` with options of fsspec; None where only fsspec knows how."""
    from zarrcore.storage.reference_tables import UnsupportedReferencesError
    from zarrcore.storage.references import ReferenceStore

    if not {"fo"} <= options.keys() <= _OF_REFERENCES:
        return None
    try:
        return ReferenceStore(
            options["fo"],
            storage_options=options.get("remote_options"),
            remote_protocol=options.get("remote_protocol"),
            target_options=options.get("target_options"),
        )
    except UnsupportedReferencesError:
        return None


def _of_path(path: str | os.PathLike[str], mode: str | None) -> Store:
    """Return the store of a path: a ZIP archive that is there or is going to be written, or a directory."""
    is_new = mode in ("a", "w", "w-") and not os.path.exists(path)
    if is_archive(os.fspath(path)) and (is_new or os.path.isfile(path)):
        from zarrcore.storage.zip import ZipStore

        writes = mode not in (None, "r") and (is_new or os.access(path, os.W_OK))
        return ZipStore(path, mode="a" if writes else "r")
    return LocalStore(path, read_only=mode == "r")


def _scheme(text: str) -> str | None:
    """Return the scheme of a URL; None for a path."""
    match = _SCHEME.match(text) if ":" in text else None
    return None if match is None else (match[1] or match[2]).lower()


def _is_remote_url(store_like: StoreLike) -> bool:
    """Return whether obstore or fsspec has to open what a string stands for."""
    return isinstance(store_like, str) and _scheme(store_like) not in (None, "file")


def _of_other_packages(value: Any) -> Store | None:
    """Return the store of an object of zarr-python, fsspec, universal_pathlib or obstore; imports none."""
    if _is_place_of_zarr_python(value):
        value = value.store
    if is_zarr_python_store(value):
        from zarrcore.storage.zarr_python import from_zarr_python

        return from_zarr_python(value)
    protocol = getattr(value, "protocol", None)
    package = type(value).__module__.partition(".")[0]
    is_upath = isinstance(protocol, str) and hasattr(value, "fs")  # a path of universal_pathlib
    if is_upath and protocol in ("", "file", "local"):
        return LocalStore(value.path)
    if is_upath or (package == "fsspec" and isinstance(value, MutableMapping)):
        from zarrcore.storage.fsspec import FsspecStore

        return FsspecStore.from_upath(value) if is_upath else FsspecStore.from_mapper(value)
    if package == "obstore":
        from zarrcore.storage.obstore import ObjectStore

        return ObjectStore(value)
    return None


def _is_place_of_zarr_python(value: Any) -> bool:
    return type(value).__name__ == "StorePath" and is_zarr_python_store(getattr(value, "store", None))


def _path_of_file_url(url: str) -> str:
    """Return the path of a file URL (RFC 8089): ``file:///my%20data`` is ``/my data``."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise StoreError(f"{url!r}: expected file:///path, found the host {parts.netloc!r}")
    return url2pathname(parts.path)
