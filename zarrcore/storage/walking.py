"""Listings of filesystems of fsspec that have directories, and of the pages of web servers.

What fsspec does for all of them, ``find``, leaves out those that cannot be listed: here they are errors.

Most web servers list nothing: they answer 404, or with a page about something else.  Both read as a directory
without files, so a page is believed only if the document of the node that it is of, or in, is linked to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol
from urllib.parse import unquote

from zarrcore.errors import StoreError
from zarrcore.storage.files import is_own
from zarrcore.storage.validation import DOCUMENTS, validate_prefix

_NO_NAME = frozenset("?#")  # links that sort a page, or lead to a place in it


class Filesystem(Protocol):
    """What is asked of a store of fsspec."""

    @property
    def _is_web(self) -> bool: ...
    def _below(self, prefix: str) -> str: ...
    def _ask(self, key: str, method: str, path: str, **options: Any) -> Any: ...
    def get(self, key: str) -> bytes | None: ...


def walks(fs: Any) -> bool:
    """Return whether a filesystem has no way of its own to find files, but lists each directory by itself."""
    from fsspec.asyn import AsyncFileSystem
    from fsspec.spec import AbstractFileSystem

    if fs.async_impl:
        return getattr(type(fs), "_find", None) is AsyncFileSystem._find
    return getattr(type(fs), "find", None) is AbstractFileSystem.find


def walked(store: Filesystem, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield path and properties of each file below a prefix, or raise if a directory cannot be listed."""
    top = store._below(prefix).rstrip("/")
    waiting, seen = [top], {top}
    while waiting:
        path = waiting.pop()
        entries = store._ask(prefix, "ls", path, detail=True)
        if entries is None and store._is_web and path != top:
            raise StoreError(f"{store}: key {prefix!r}: {path}/ is linked to, and not there", key=prefix)
        for info in entries or ():  # none: it went meanwhile
            name = info["name"].rstrip("/")
            if info["type"] != "directory":
                if name != path:
                    yield info["name"], info
            elif name not in seen and name.startswith(top):
                seen.add(name)
                waiting.append(name)


def keys_of_pages(store: Filesystem, prefix: str) -> Iterator[str]:
    """Yield the keys below a prefix of a web server."""
    prefix = validate_prefix(prefix)
    names = _names(store, prefix, [path for path, _ in walked(store, prefix)])
    _require_listing(store, prefix, names)
    return (prefix + name for name in names if not is_own(name.rpartition("/")[2]))


def names_on_page(store: Filesystem, prefix: str) -> Iterator[str]:
    """Yield what lies directly below a prefix of a web server."""
    prefix = validate_prefix(prefix)
    names = _linked(store, prefix)
    _require_listing(store, prefix, names)
    return iter(dict.fromkeys(bare for name in names if (bare := name.rstrip("/")) and not is_own(bare)))


def _linked(store: Filesystem, prefix: str) -> list[str]:
    paths = store._ask(prefix, "ls", store._below(prefix).rstrip("/"), detail=False)
    return _names(store, prefix, paths or ())


def _names(store: Filesystem, prefix: str, paths: Any) -> list[str]:
    """Return what links mean, in words of keys below a prefix."""
    start = store._below(prefix)
    names = [path[len(start) :] for path in paths if path.startswith(start)]
    return [unquote(name) for name in names if name and _NO_NAME.isdisjoint(name)]


def _require_listing(store: Filesystem, prefix: str, names: list[str]) -> None:
    """Refuse names that are those of a page about something else, or none where something is."""
    if not DOCUMENTS.isdisjoint(names):
        return
    node, document = _node_of(store, prefix)
    if document and (node == prefix or document not in _linked(store, node)):
        raise StoreError(
            f"{store}: key {prefix!r}: this web server does not list what it has: there is {node}{document}, "
            "but no link to it",
            key=prefix,
        )


def _node_of(store: Filesystem, prefix: str) -> tuple[str, str]:
    """Return the prefix of the lowest node that a prefix is of or in, and its document; or empty strings."""
    while True:
        for name in sorted(DOCUMENTS, reverse=True):  # zarr.json first
            if store.get(prefix + name) is not None:  # `exists` of a cache looks at listings
                return prefix, name
        if not prefix:
            return "", ""
        prefix = prefix[: prefix.rstrip("/").rfind("/") + 1]
