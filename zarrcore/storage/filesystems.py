"""Filesystems of fsspec: which others they lie over, caches among them, and their form for any thread.

``simplecache`` and ``filecache`` fetch a file under the name that it is kept by.  Whoever looks there
meanwhile, or after that was broken off, would take what there is of it for the whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from zarrcore._locks import RLock, forkable
from zarrcore.storage.credentials import refuse_without

CACHES = {"simplecache", "filecache", "blockcache"}
_WITH_STATE = {"reference", "dir"}  # asynchronous ones that have values in memory, or ask one of these
_OF_BLOCKS = "blockcache"  # it knows which parts of a file it has

_fetching = [forkable(RLock()) for _ in range(64)]  # by the hash of a directory in which files are kept


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


def cache_of(fs: Any) -> Any | None:
    """Return the cache that a filesystem is, or that its directory lies in; None if there is none."""
    fs, _ = _below_directories(fs)
    return None if CACHES.isdisjoint(protocols(fs)) else fs


def is_trusted(cache: Any) -> bool:
    """Return whether what a cache does not find is not there: one takes whatever goes wrong for that."""
    return "filecache" not in protocols(cache)


def read_through(
    fs: Any, cache: Any, paths: Sequence[str], read: Callable[[], Sequence[Any]]
) -> Sequence[Any]:
    """Read files through a cache, one thread at a time; what could not be fetched is not kept.

    `read` returns bytes or an exception for each path.
    """
    with _fetching[hash(cache.storage[-1]) % len(_fetching)]:
        is_of_blocks = _OF_BLOCKS in protocols(cache)
        names = [] if is_of_blocks else [_below_directories(fs, path)[1] for path in paths]
        missing = [None if cache._check_file(name) else name for name in names]
        try:
            answers = read()
        except BaseException:
            _drop(cache, missing)
            raise
        failed = (isinstance(answer, BaseException) for answer in answers)
        _drop(cache, [name for name, has_failed in zip(missing, failed, strict=False) if has_failed])
        return answers


def _below_directories(fs: Any, path: str = "") -> tuple[Any, str]:
    """Return the filesystem that a directory lies in, and how that calls a file."""
    found = (layer for layer in layers(fs, path) if "dir" not in protocols(layer[0]))
    return next(found, (fs, path))  # one without its credentials, which refuses all


def _drop(cache: Any, names: Iterable[str | None]) -> None:
    for name in names:
        if name is not None:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(cache.storage[-1], cache._mapper(name)))


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
