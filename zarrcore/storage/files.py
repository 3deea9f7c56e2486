"""Whole files: read one version of a file, replace a file atomically.  This module knows paths, not keys."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from typing import Any

from zarrcore._patterns import pattern
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import InvalidKeyError, StoreError
from zarrcore.storage.validation import is_document, too_large

_WINDOWS = os.name == "nt"
# O_NONBLOCK: opening a FIFO must not wait for a writer; what was opened is looked at afterwards.
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_TEMPORARY = pattern(r"\.zc-[0-9a-f]{16}\.partial")
LOCK_FILE = ".zc-locks"  # as csrc/io/lock.h has it; where the system lacks some locks there are several
_LOCK_FILES = pattern(r"\.zc-locks(-d?[0-9a-f])?")
TO_NOTHING = "a symbolic link in this path points to nothing"
_SMALL = 1 << 20  # bytes that are read in one go


def is_temporary(name: str) -> bool:
    """Return whether a file name is one of the temporary files of :func:`write_file`."""
    return len(name) == 28 and _TEMPORARY.fullmatch(name) is not None


def is_lock_file(name: str) -> bool:
    """Return whether a file name is that of a file by whose locks processes keep each other away."""
    return name.startswith(LOCK_FILE) and _LOCK_FILES.fullmatch(name) is not None


def is_own(name: str) -> bool:
    """Return whether a file of that name is one that stores keep for themselves, and no value."""
    return name.startswith(".zc-") and (is_temporary(name) or is_lock_file(name))


def refuse_own(key: str) -> None:
    """Refuse a key one of whose names is that of such a file."""
    if ".zc-" in key and any(map(is_own, key.split("/"))):
        raise InvalidKeyError(f"invalid store key {key!r}: the name is for temporary files and locks")


def document_in(directory: str) -> str:
    """Return the name of an array's metadata in a directory, or nothing; csrc/engine/store.c has the same."""
    names = ("zarr.json", ".zarray", "attributes.json")
    return next((name for name in names if os.path.exists(os.path.join(directory, name))), "")


def is_directory(entry: os.DirEntry[str]) -> bool | None:
    """Return whether an entry is a directory or leads to one; None: nobody knows before it is opened."""
    try:
        return entry.is_dir()
    except OSError as error:
        return False if error.errno == errno.ELOOP else None  # links back to themselves lead to nothing


def leads_to_directory(name: str, above: int | None) -> bool:
    """Return whether a link, in a directory that is open, leads to a directory; one to nothing does not."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=above).st_mode)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False


def is_there(path: str) -> bool:
    """Return whether there is anything at a path; an error if that cannot be found out."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a regular file or leads to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def is_listed(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a directory is a key, or may have keys below it."""
    if is_own(entry.name):
        return False
    return is_directory(entry) is not False or is_file(entry)


def is_unreadable(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is neither a file nor a directory, as a link to nothing."""
    return is_directory(entry) is False and not is_file(entry)


def version_of(path: str) -> tuple[int, ...] | None:
    """Return numbers that differ once a file does; ``()``: there is none; None: the system does not say."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_dev, found.st_ctime_ns


def size_of(entry: os.DirEntry[str]) -> int | None:
    """Return the size of a file; None of what is none, or has vanished."""
    try:
        status = entry.stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


# --- reading ---


@contextmanager
def open_file(path: str, root: str = "", follow: bool | str = True) -> Iterator[FileIO | None]:
    """Open a regular file for reading, links as of :func:`open_below`; None if nothing is there.

    Raises
    ------
    NotADirectoryError
        If something above it is no directory.
    StoreError
        If something else than a regular file is there: a directory, a FIFO, a device, a dangling link.
    OSError
        If the file is there and cannot be opened.
    """
    opened = open_regular(path, root, follow)
    if opened is None:
        yield None
        return
    file = FileIO(opened[0], "rb")
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


def read_file(path: str, root: str = "", follow: bool | str = True, most: int | None = None) -> bytes | None:
    """Return the contents of a regular file (see :func:`open_file`, :func:`read_span`); None without one."""
    if not _WINDOWS:
        data = _engine.read_file(root, path, follow, _SMALL if most is None else min(_SMALL, most))
        if data is not ...:
            return data  # type: ignore[no-any-return]
    # Larger, or changing just now, or an error to be found out.
    with open_file(path, root, follow) as file:
        if file is None:
            return None
        size = os.fstat(file.fileno()).st_size
        if most is None and size > MAX_DOCUMENT_NBYTES and is_document(path):
            most = MAX_DOCUMENT_NBYTES
        if most is not None and size > most:
            raise StoreError(f"{path}: {too_large(size, most)}")
        return read_span(file, 0, size)


def read_marked(
    path: str, root: str, follow: bool | str
) -> tuple[bytes | None, tuple[int, ...] | None] | None:
    """Return the contents of a short file and the version (see :func:`version_of`) of what was read.

    ``(None, ())``: there is none; None: :func:`read_file` finds out.
    """
    found = ... if _WINDOWS else _engine.read_file(root, path, follow, _SMALL, True)
    if found is ...:
        return None
    return found or (None, ())


def read_span(file: FileIO, start: int, stop: int) -> bytes:
    """Return the bytes of an open file from `start` to `stop`, which lie within its size."""
    file.seek(start)
    wanted = stop - start
    data = file.read(wanted)
    if len(data) == wanted:
        return data
    # One call reads at most 2 GiB on Linux.
    parts = [data]
    while data and (wanted := wanted - len(data)):
        data = file.read(wanted)
        parts.append(data)
    if wanted:
        raise StoreError(f"{file.name}: the file shrank while it was being read; {wanted} bytes are missing")
    return b"".join(parts)


def open_below(path: str, flags: int, root: str, follow: bool | str, *, writes: bool = False) -> int:
    """Open a path below a root; see ``engine.open_below``.  On Windows all links are followed."""
    if _WINDOWS:
        return os.open(path, flags)
    return int(_engine.open_below(root, path, flags, follow, writes))


def size_below(path: str, root: str, follow: bool | str) -> int | None:
    """Return the size of a regular file, found as by :func:`open_below`; None if none is there."""
    if not _WINDOWS:
        return _engine.size_below(root, path, follow)  # type: ignore[no-any-return]
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def which_below(above: str, names: list[str], root: str, follow: bool | str) -> bytes:
    """Return which names in a directory are files (1) or links (2), on POSIX; see ``engine.which_below``."""
    return _engine.which_below(root, above, names, follow)  # type: ignore[no-any-return]


def make_below(path: str, root: str, follow: bool | str) -> None:
    """Make a directory below a root, whose parent is there, on POSIX; links as of :func:`open_below`."""
    _engine.make_below(root, *os.path.split(path), follow)


class _Engine:
    """Functions of the engine, imported when they are first used: at every call that would take its time."""

    def __getattr__(self, name: str) -> Any:
        from zarrcore._core import engine

        vars(self)[name] = getattr(engine, name)
        return vars(self)[name]


_engine = _Engine()


def open_regular(path: str, root: str, follow: bool | str) -> tuple[int, int] | None:
    """Return a descriptor, which the caller closes, and the size of a file; see :func:`open_file`."""
    try:
        fd = open_below(path, _READ_FLAGS, root, follow)
    except FileNotFoundError:
        if _WINDOWS and os.path.islink(path) and not os.path.exists(path):
            raise _dangling(path) from None
        return None
    except NotADirectoryError:
        raise
    except OSError as error:
        if error.errno == errno.ENOLINK:
            raise _dangling(path) from None
        if error.errno != errno.EXDEV:
            _require_regular(path, os.stat(path))
        raise
    try:
        status = os.fstat(fd)
        _require_regular(path, status)
        return fd, status.st_size
    except BaseException:
        close(fd)
        raise


def close(fd: int) -> None:
    """Close what nothing was written to: what a system says of that is nobody's concern."""
    with suppress(OSError):
        os.close(fd)


def leads_to_nothing(path: str) -> bool:
    """Return whether a path that is not there is that of a link to nothing, or leads through one."""
    while path != (above := os.path.dirname(path)):
        if os.path.lexists(path):
            return os.path.islink(path) and not os.path.exists(path)
        path = above
    return False


def _dangling(path: str) -> StoreError:
    return StoreError(f"{path}: {TO_NOTHING}")


def directory_outside(path: str, real_root: str) -> str | None:
    """Return the directory of a path, if symbolic links on the way place it outside of a root; else None."""
    above = os.path.realpath(os.path.dirname(path))
    is_inside = above == real_root or above.startswith(os.path.join(real_root, ""))
    return None if is_inside else above


def is_special(path: str) -> bool:
    """Return whether a path is that of a FIFO, socket or device, also through links."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _require_regular(path: str, status: os.stat_result) -> None:
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "no regular file (a FIFO, socket or device)"
        raise StoreError(f"{path}: expected a file, found {kind}")


# --- names of directories ---


def real_directory(path: str) -> str:
    """Return the real path of a directory, the same for all names that lead to it."""
    engine = sys.modules.get("zarrcore._core.engine")  # the system's function costs a tenth of Python's
    real_path = getattr(engine, "real_path", None)  # missing while another thread loads the engine
    real = real_path(path) if real_path is not None else None
    return os.path.join(os.path.normcase(real or os.path.realpath(path)), "")


# --- writing ---


def write_file(
    path: str,
    data: bytes | memoryview,
    *,
    sync: bool = False,
    is_new: bool = False,
    root: str | None = None,
    follow: bool | str = True,
) -> bool:
    """Write a file atomically; see ``engine.write_file``, which knows how on this system."""
    return bool(_engine.write_file(path, data, sync, is_new, root, follow))


def write_parts(
    path: str, nbytes: int, parts: Iterable[Buffer], *, sync: bool, root: str, follow: bool | str
) -> None:
    """Write a file atomically from parts of its bytes; see ``engine.write_parts``."""
    _engine.write_parts(path, nbytes, parts, sync, root, follow)


def remove_file(path: str, root: str, follow: bool | str, *, sync: bool = False) -> None:
    """Remove a file, if it is there; see ``engine.remove_file``."""
    _engine.remove_file(path, root, follow, sync)


def sync_directory(path: str, fd: int | None = None) -> None:
    """Have the names in a directory, as they are now, survive a crash; `path` is relative to `fd`."""
    _sync(path, os.O_RDONLY, fd)


def sync_file(path: str) -> None:
    """Have the bytes of a file, as they are now, survive a crash."""
    _sync(path, os.O_RDWR | getattr(os, "O_BINARY", 0) if _WINDOWS else os.O_RDONLY, None)


def _sync(path: str, flags: int, fd: int | None) -> None:
    found = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), dir_fd=fd)
    try:
        sync_open(found, path)
    finally:
        close(found)


def sync_open(fd: int, path: str) -> None:
    """Have what is open under a name survive a crash, as it is now."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot and need not
            raise OSError(error.errno, error.strerror, path) from None
