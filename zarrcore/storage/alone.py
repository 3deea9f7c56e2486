"""Locks of directories among processes, which need not ask for them: those that the system has."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from zarrcore._locks import holding
from zarrcore.storage.inherited import OpenDirectory, locked, opened_here
from zarrcore.storage.local_errors import status_of

StillThere: TypeAlias = Callable[[], bool]

_ATTEMPTS = 1000  # at a directory that others replace; there may be systems on which it is never the same


class _Own(threading.local):
    """The directories that this thread has locked, by device and inode."""

    def __init__(self) -> None:
        self.locked: set[tuple[int, int]] = set()


_OWN = _Own()


class _Directory(OpenDirectory):
    """A directory that may be locked, by :func:`locked`."""

    def unlock(self) -> None:
        import fcntl

        if self.fd >= 0:  # else this is a child of the process that has locked it
            with suppress(OSError):  # closing it does the same, but for a child that has it, too
                fcntl.flock(self.fd, fcntl.LOCK_UN)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _OWN.locked.clear())


@holding
def alone(path: str, open_directory: Callable[[], int | None]) -> Iterator[StillThere | None]:
    """Lock a directory for a block, or until this process ends; who has locked it before is waited for.

    The function opens it (None: nothing is locked), once more if another one has taken its place meanwhile.
    A thread does not wait for itself.  A file system without locks of directories, as some over a network,
    locks nothing.  The block receives a function that returns whether the directory is still at its path, if
    that can be known.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        with opened_here(lambda: _Directory(-1 if (fd := open_directory()) is None else fd)) as directory:
            if directory.fd < 0:
                break
            found = status_of(directory.fd, path)
            identity = found.st_dev, found.st_ino
            if identity in _OWN.locked:
                yield partial(_is_at, path, found)
                return
            is_locked = locked(directory.fd, path, waits=True)
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
    yield None


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.stat(path))
    except (FileNotFoundError, NotADirectoryError):  # the one who had it has removed it
        return False
    except OSError:  # it may be; to open it again would tell no more
        return True
