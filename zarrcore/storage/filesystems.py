"""Filesystems of fsspec: which others they lie over, and their form for any thread of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from zarrcore.storage.credentials import refuse_without

CACHES = {"simplecache", "filecache", "blockcache"}
_WITH_STATE = {"reference", "dir"}  # asynchronous ones that have values in memory, or ask one of these


def protocols(fs: Any) -> tuple[str, ...]:
    """Return the names of a filesystem."""
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def layers(fs: Any, path: str = "") -> Iterator[tuple[Any, str]]:
    """Return a filesystem and those that it lies over, each with what it calls a file."""
    while True:
        yield fs, path
        if isinstance(fs, Withheld):
            return
        if "dir" in protocols(fs):
            path = fs._join(path)
        elif CACHES.isdisjoint(protocols(fs)):
            return
        fs = fs.fs


class Withheld:
    """A filesystem that came out of a pickle without its credentials: it refuses all requests."""

    def __init__(self, kind: Any, url: str) -> None:
        self._kind, self._url = kind, url

    def __reduce__(self) -> Any:
        return type(self), (self._kind, self._url)

    def unstrip_protocol(self, path: str) -> str:
        return self._url

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in ("protocol", "root_marker", "async_impl"):
            refuse_without(self._url)
        return getattr(self._kind, name)


def is_local(fs: Any) -> bool:
    """Return whether a filesystem is that of this machine's files."""
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(fs, LocalFileSystem)


def blocking(fs: Any) -> Any:
    """Return the twin for synchronous calls of one that was made for an event loop, or before a fork."""
    if isinstance(fs, Withheld):
        return fs
    wrapped = getattr(fs, "sync_fs", None)
    if wrapped is not None:
        return wrapped
    return _synchronous(fs)


def _synchronous(fs: Any) -> Any:
    is_of_loop = fs.async_impl and (fs.asynchronous or getattr(fs, "_pid", os.getpid()) != os.getpid())
    if not is_of_loop:
        return fs
    if _WITH_STATE.isdisjoint(protocols(fs)):  # its sessions belong to its loop: the twin opens its own
        return type(fs)(*fs.storage_args, **{**fs.storage_options, "asynchronous": False})
    from fsspec.asyn import get_loop, mirror_sync_methods

    # Made once more it would have the references that the other one began with, and keep what is written.
    twin = object.__new__(type(fs))
    own = {name: value for name, value in vars(fs).items() if not hasattr(type(fs), f"_{name}")}
    vars(twin).update(own, asynchronous=False, _loop=get_loop(), _pid=os.getpid())
    mirror_sync_methods(twin)  # those of the other one, which are attributes of it, call it
    if "dir" in protocols(fs):
        twin.fs = _synchronous(fs.fs)
    else:
        twin.fss = {protocol: _synchronous(target) for protocol, target in fs.fss.items()}
    return twin
