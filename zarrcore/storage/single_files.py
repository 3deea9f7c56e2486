"""Filesystems of fsspec with one open file, or one connection, for whatever is asked of them.

Two calls at once, of two threads or of a process and its child, would move it under each other's hands, and
read what the other one wants.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from zarrcore._locks import RLock, forkable
from zarrcore.errors import StoreError, masked
from zarrcore.storage.filesystems import layers, protocols

_FOR_A_THREAD = {"tar", "libarchive", "ftp"}
_FOR_A_PROCESS = _FOR_A_THREAD | set(
    "zip sftp ssh smb webhdfs webHDFS jupyter jlab dbfs sync-http sync-https".split()
)

_BLOCK = 512  # bytes, of a tar archive
_MADE_IN = "_zarrcore_made_in"  # the process

_asking = [forkable(RLock()) for _ in range(64)]  # by the number of a filesystem


def take(fs: Any) -> None:
    """Note which process a filesystem belongs to, of those that a child must not use.

    Raises
    ------
    StoreError
        If it is an archive that lacks its end, and perhaps values before that.
    """
    if (found := _inner(getattr(fs, "sync_fs", fs))) is None or _MADE_IN in vars(found):
        return
    if "tar" in protocols(found):
        _refuse_cut(found)
    vars(found)[_MADE_IN] = os.getpid()


def _refuse_cut(fs: Any) -> None:
    """Refuse an archive without a blank block after its last file (POSIX.1, ustar interchange format)."""
    with lock_of(fs) or nullcontext():
        fs.fo.seek(fs.tar.offset)
        block = fs.fo.read(_BLOCK)
    if block != bytes(_BLOCK):
        path = fs.storage_options.get("fo") or next(iter(fs.storage_args), "")
        reason = f"is cut off, or damaged, at byte {fs.tar.offset}: nobody knows what else was in it"
        raise StoreError(f"the tar archive {masked(str(path))} {reason}")


def lock_of(fs: Any) -> Any | None:
    """Return the lock for calls of a filesystem; None if any number of threads may call it."""
    found = _inner(fs)
    if found is None or _FOR_A_THREAD.isdisjoint(protocols(found)):
        return None
    return _asking[id(found) // 64 % len(_asking)]


def of_this_process(fs: Any) -> Any:
    """Return a filesystem with a file, or connection, of this process: the same one, or one that is as it.

    Raises
    ------
    StoreError
        If it was made of an open file, which the parent reads as well.
    """
    found = _inner(fs)
    if found is None or vars(found).get(_MADE_IN, os.getpid()) == os.getpid():
        return fs
    if found is not fs:
        twin = object.__new__(type(fs))
        vars(twin).update(vars(fs), fs=of_this_process(fs.fs))
        return twin
    given = (*fs.storage_args, *fs.storage_options.values())
    is_open = any(hasattr(one, "read") for one in given)
    if "zip" in protocols(fs) and (is_open or fs.mode != "r"):
        return fs  # checksums show what has gone wrong; and one that is written would be begun again
    if is_open:
        raise StoreError(
            f"{type(fs).__name__}: reads a file that the parent of this process has opened, and may read at "
            "the same time; make it of a path, or in this process"
        )
    twin = type(fs)(*fs.storage_args, **fs.storage_options)
    take(twin)
    return twin


def _inner(fs: Any) -> Any | None:
    """Return the filesystem with one file or connection, of those that a filesystem lies over."""
    return next((one for one, _ in layers(fs) if not _FOR_A_PROCESS.isdisjoint(protocols(one))), None)
