"""Filesystems of fsspec that keep the files of another one: ``simplecache``, ``filecache``, ``blockcache``.

The first two fetch a file under the name that it is kept by.  Whoever looks there meanwhile, or after that
was broken off, would take what there is of it for the whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from zarrcore._locks import RLock, forkable
from zarrcore.storage.filesystems import CACHES, layers, protocols

_OF_BLOCKS = "blockcache"  # it knows which parts of a file it has

_fetching = [forkable(RLock()) for _ in range(64)]  # by the hash of a directory in which files are kept


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
    return next(layer for layer in layers(fs, path) if "dir" not in protocols(layer[0]))


def _drop(cache: Any, names: Iterable[str | None]) -> None:
    for name in names:
        if name is not None:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(cache.storage[-1], cache._mapper(name)))
