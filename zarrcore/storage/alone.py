"""Locks of directories among processes, which need not ask for them: those that the system has."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from zarrcore._locks import holding
from zarrcore.storage.files import close


class _Own(threading.local):
    """The directories that this thread has locked, by device and inode."""

    def __init__(self) -> None:
        self.locked: set[tuple[int, int]] = set()


_OWN = _Own()


@holding
def alone(path: str, open_directory: Callable[[], int | None]) -> Iterator[None]:
    """Lock a directory for a block, or until this process ends; who has locked it before is waited for.

    The function opens it (None: nothing is locked), once more if another one has taken its place meanwhile.
    A thread does not wait for itself.  A file system without locks of directories, as some over a network,
    locks nothing.
    """
    while (fd := open_directory()) is not None:
        try:
            found = os.fstat(fd)
            identity = found.st_dev, found.st_ino
            if identity in _OWN.locked:
                yield
                return
            is_locked = _lock(fd)
            if is_locked and not _is_at(path, found):
                continue
            _OWN.locked.add(identity)
            try:
                yield
            finally:
                _OWN.locked.discard(identity)
                if is_locked:
                    _unlock(fd)
            return
        finally:
            close(fd)
    yield


def _lock(fd: int) -> bool:
    """Return whether a file could be locked; not where the file system has no such locks."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _unlock(fd: int) -> None:
    import fcntl

    with suppress(OSError):  # closing it does the same, but for a child of this process that has it, too
        fcntl.flock(fd, fcntl.LOCK_UN)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.stat(path))
    except OSError:  # the one who had it has removed it
        return False
