"""One writer of a ZIP archive at a time: two would write over each other's entries."""

from __future__ import annotations

import os
import sys
from io import FileIO
from typing import IO

from zarrcore.errors import StoreError, printable
from zarrcore.storage.inherited import NO_LOCKS, locked, opened_here

State = tuple[int, ...]


class WriteLock:
    """The lock of an archive, held from the first write until it is released, or while this object lives.

    A lock belongs to an open file, so that it keeps other stores of this process away as well.  There is none
    on Windows, and on file systems that have no locks.
    """

    def __init__(self) -> None:
        self._file: FileIO | None = None  # which is closed, too, where nobody calls release
        self._pid = os.getpid()

    @property
    def is_held(self) -> bool:
        """Whether the archive is locked, as far as there are locks."""
        return self._file is not None

    def take(self, path: str, flags: int = 0) -> None:
        """Lock the file of that name, which is opened with these flags; if somebody else has it, raise."""
        if self._file is None:
            file = opened_here(lambda: FileIO(os.open(path, os.O_RDWR | flags, 0o666)))
            try:
                if sys.platform != "win32" and locked(file.fileno(), path) is False:
                    raise StoreError(
                        f"{printable(path)} is being written to by another store, of this process or of "
                        "another one: the archive can be written to when that one is closed"
                    )
                self._file = file
            finally:
                if self._file is not file:
                    file.close()

    def is_of(self, fd: int) -> bool:
        """Return whether what is open there is the file that is locked."""
        file = self._file
        return file is not None and os.path.samestat(os.fstat(file.fileno()), os.fstat(fd))

    def opened(self) -> IO[bytes]:
        """Return the file that is locked, to be written to."""
        assert self._file is not None
        return open(os.dup(self._file.fileno()), "r+b")

    def release(self) -> None:
        """Unlock the file; nothing happens if it is not locked, and in a child made by fork."""
        file, self._file = self._file, None
        if file is not None:
            try:
                # The lock is that of all who have the descriptor, and ends with a file collected before.
                if self._pid == os.getpid() and not file.closed:
                    _unlock(file.fileno())
            finally:
                file.close()


def state_of(path: str) -> State | None:
    """Return what differs when somebody else has written to an archive; None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


if sys.platform == "win32":

    def _unlock(fd: int) -> None:
        pass

else:
    import fcntl

    def _unlock(fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_UN)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
