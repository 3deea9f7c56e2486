"""Locks of directories among processes, which need not ask for them: those that the system has."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from zarrcore._locks import holding
from zarrcore.storage.files import close
from zarrcore.storage.local_errors import status_of

StillThere: TypeAlias = Callable[[], bool]

_ATTEMPTS = 1000  # at a directory that others replace; there may be systems on which it is never the same


class _Own(threading.local):
    """The directories that this thread has locked, by device and inode."""

    def __init__(self) -> None:
        self.locked: set[tuple[int, int]] = set()


_OWN = _Own()
_opened: set[_Opened] = set()  # directories of all threads, locked or about to be


class _Opened:
    """A directory that is open."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        _opened.add(self)

    def close(self) -> None:
        _opened.discard(self)
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close(fd)

    def lock(self) -> bool:
        """Return whether it could be locked; not where the file system has no such locks."""
        import fcntl

        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        except OSError:
            return False
        return True

    def unlock(self) -> None:
        import fcntl

        if self.fd >= 0:  # else this is a child of the process that has locked it
            with suppress(OSError):  # closing it does the same, but for a child that has it, too
                fcntl.flock(self.fd, fcntl.LOCK_UN)


def _let_go() -> None:
    """Leave the locks to the process that has them: a child that outlives it would keep them."""
    for directory in [*_opened]:
        directory.close()
    _OWN.locked.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


@holding
def alone(path: str, open_directory: Callable[[], int | None]) -> Iterator[StillThere | None]:
    """Lock a directory for a block, or until this process ends; who has locked it before is waited for.

    The function opens it (None: nothing is locked), once more if another one has taken its place meanwhile.
    A thread does not wait for itself.  A file system without locks of directories, as some over a network,
    locks nothing.  The block receives a function that returns whether the directory is still at its path, if
    that can be known.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        if (fd := open_directory()) is None:
            break
        directory = _Opened(fd)
        try:
            found = status_of(fd, path)
            identity = found.st_dev, found.st_ino
            if identity in _OWN.locked:
                yield partial(_is_at, path, found)
                return
            is_locked = directory.lock()
            is_there = _is_at(path, found)
            if is_locked and attempts_left and not is_there:
                continue
            _OWN.locked.add(identity)
            try:
                yield partial(_is_at, path, found) if is_there else None
            finally:
                _OWN.locked.discard(identity)
                if is_locked:
                    directory.unlock()
            return
        finally:
            directory.close()
    yield None


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.stat(path))
    except (FileNotFoundError, NotADirectoryError):  # the one who had it has removed it
        return False
    except OSError:  # it may be; to open it again would tell no more
        return True
