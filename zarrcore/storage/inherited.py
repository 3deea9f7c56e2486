"""Locks of files and directories, which a child of fork closes: else it keeps those of a dead parent."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from stat import S_ISDIR
from typing import Protocol, Self, TypeVar

from zarrcore import _locks
from zarrcore._locks import RLock, forkable, taking
from zarrcore._weak import WeakSet
from zarrcore.storage.files import close
from zarrcore.storage.local_errors import named

# What file systems say that have no locks; where others fail, as a server that is away, there may be one.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
# NFS locks what is open for writing, as no directory is; others forbid it.
_NONE_OF_DIRECTORIES = NO_LOCKS | {errno.EBADF, errno.EISDIR, errno.EACCES, errno.EPERM}


class _Closes(Protocol):
    def close(self) -> None: ...


_File = TypeVar("_File", bound=_Closes)
# Held from before a file is opened until it is noted, and by whoever forks; after a while both do without.
_OPENING = forkable(RLock())
_opened: WeakSet[_Closes] = WeakSet()  # by all threads, locked or about to be


def opened_here(open_file: Callable[[], _File]) -> _File:
    """Return the file that a function opens, of this process alone: a child of fork begins with it closed."""
    with taking(_OPENING):
        file = open_file()
        _opened.add(file)
        return file


def locked(fd: int, path: str, *, waits: bool = False) -> bool | None:
    """Lock what is open; False: somebody else has it locked, None: the file system has no such locks."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (_NONE_OF_DIRECTORIES if S_ISDIR(os.fstat(fd).st_mode) else NO_LOCKS):
            return None
        raise named(error, path) from None
    return True


class OpenDirectory:
    """The descriptor of a directory; -1 once it is closed."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def close(self) -> None:
        """Close the directory, if it is not closed."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _start_child() -> None:
    for file in _opened:
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _OPENING.acquire(timeout=_locks.PATIENCE),
        after_in_parent=lambda: _OPENING.release() if _OPENING._is_owned() else None,  # type: ignore[attr-defined]
        after_in_child=_start_child,
    )
