"""One copy to a place at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from zarrcore.errors import CopyError, ZarrUserWarning

if TYPE_CHECKING:
    from zarrcore.storage import StorePath


@contextmanager
def alone(place: StorePath) -> Iterator[None]:
    """Keep away other copies to the same place by this user on this machine: their chunks would be mixed.

    It is a lock of a file in the directory for temporary ones, so that nothing is left at the place.  A ZIP
    archive has a lock of its own; there is none for remote stores, and on Windows.
    """
    from zarrcore.storage import LocalStore

    if sys.platform == "win32" or not isinstance(place.store, LocalStore):
        yield
        return
    if (path := _path(place.store._scope(place.path))) is None:
        import warnings

        why = "nothing keeps away other copies to this place: no directory for temporary files is found"
        warnings.warn(f"{place}: {why}", ZarrUserWarning, stacklevel=2)
    fd = None if path is None else _locked(path)
    if fd == -1:
        raise CopyError(f"{place}: another copy to this place is under way")
    try:
        yield
    finally:
        if fd is not None and path is not None:
            with suppress(OSError):
                os.unlink(path)
            os.close(fd)


def _path(scope: str) -> str | None:
    """Return the path of the file for a place; None if there is no directory that is this user's alone."""
    from binascii import crc32

    # Where tempfile looks; importing it and hashlib takes as long as a small copy.  Of two places that
    # share a number, one could not be copied to while the other is.
    name = scope.encode("utf-8", "surrogateescape")
    for above in (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp"):
        if above and (directory := _own_directory(above)):
            return os.path.join(directory, f"{crc32(name):08x}{crc32(name[::-1]):08x}-{len(name)}.copying")
    return None


def _own_directory(above: str) -> str | None:
    """Return the directory of this user, which is made; None if it is not this user's alone."""
    from stat import S_ISDIR

    directory = os.path.join(above, f"zarrcore-{os.getuid()}")
    with suppress(OSError):
        os.mkdir(directory, 0o700)
    with suppress(OSError):
        found = os.lstat(directory)
        if S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            return directory
    return None


def _locked(path: str) -> int | None:
    """Return the descriptor of the locked file; -1: another process has it, None: there are no locks."""
    from zarrcore.storage.inherited import locked

    while True:
        # Where that fails, as on a full disk, somebody else may have it open and locked.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        is_free = False
        try:
            found = locked(fd, path)
            if not found:
                return None if found is None else -1
            with suppress(FileNotFoundError):  # the one who had it has removed it just now
                is_free = os.path.samestat(os.fstat(fd), os.lstat(path))
            if is_free:
                return fd
        finally:
            if not is_free:
                os.close(fd)
