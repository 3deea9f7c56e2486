"""Whole files: read one version of a file, replace a file atomically.

This module knows paths, not keys.  A file is replaced by writing a temporary one next to it and renaming
that, so that a reader sees the old contents or the new ones, and a writer that is interrupted leaves the old
file as it was.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from zarrcore.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

__all__ = [
    "create_file",
    "is_temporary",
    "open_file",
    "read_file",
    "read_span",
    "rename_directory",
    "replace_file",
]

_WINDOWS = os.name == "nt"
# O_NONBLOCK: opening a FIFO must not wait for a writer; what was opened is looked at afterwards.
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LINK_REFUSED = (errno.ELOOP, errno.EMLINK)  # EMLINK: FreeBSD
_CREATE_FLAGS = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
# File systems without hard links answer one of these.
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV}
_BUSY_ON_WINDOWS = {5, 32}  # ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION
_BUSY_DELAYS = (0.001, 0.004, 0.016, 0.064, 0.256)


def is_temporary(name: str) -> bool:
    """Return whether a file name is one of the temporary files of :func:`replace_file`."""
    return (
        len(name) == 28
        and name.startswith(".zc-")
        and name.endswith(".partial")
        and not name[4:20].strip("0123456789abcdef")
    )


# --- reading ---


@contextmanager
def open_file(path: str) -> Iterator[FileIO | None]:
    """Open a regular file for reading; None if nothing is there.

    Raises
    ------
    NotADirectoryError
        If something above it is no directory.
    StoreError
        If something else than a regular file is there: a directory, a FIFO, a device, a dangling link.
    OSError
        If the file is there and cannot be opened.
    """
    opened = _open(path)
    if opened is None:
        yield None
        return
    with open(opened[0], "rb", buffering=0) as file:
        yield file


def read_file(path: str) -> bytes | None:
    """Return the contents of a regular file (see :func:`open_file`, :func:`read_span`); None without one.

    Metadata documents are so small that the objects in between would cost more than reading them.
    """
    opened = _open(path)
    if opened is None:
        return None
    fd, size = opened
    try:
        data = os.read(fd, size)
    finally:
        os.close(fd)
    if len(data) == size:
        return data
    with open_file(path) as file:  # more than one call reads, or no longer what was there a moment ago
        return None if file is None else read_span(file, 0, os.fstat(file.fileno()).st_size)


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


def _open(path: str) -> tuple[int, int] | None:
    """Descriptor and size of a regular file; None if nothing is there.

    Links are followed at a second try, so that a link to nothing and an absent file differ at no cost.
    """
    try:
        fd = os.open(path, _READ_FLAGS | _NO_FOLLOW)
    except FileNotFoundError:
        if not _NO_FOLLOW:
            _require_no_dangling_link(path)
        return None
    except NotADirectoryError:
        raise
    except OSError as error:
        if not (_NO_FOLLOW and error.errno in _LINK_REFUSED):
            _require_regular(path, os.stat(path))
            raise
        linked = _open_linked(path)
        if linked is None:
            return None
        fd = linked
    try:
        status = os.fstat(fd)
        _require_regular(path, status)
        return fd, status.st_size
    except BaseException:
        os.close(fd)
        raise


def _open_linked(path: str) -> int | None:
    try:
        return os.open(path, _READ_FLAGS)
    except FileNotFoundError:
        _require_no_dangling_link(path)
        return None
    except OSError:
        _require_regular(path, os.stat(path))
        raise


def _require_no_dangling_link(path: str) -> None:
    if os.path.islink(path) and not os.path.exists(path):
        raise StoreError(f"{path}: the symbolic link points to nothing") from None


def _require_regular(path: str, status: os.stat_result) -> None:
    mode = status.st_mode
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "no regular file (a FIFO, socket or device)"
        raise StoreError(f"{path}: expected a file, found {kind}")


# --- writing ---


def replace_file(path: str, data: bytes | memoryview, *, sync: bool = False) -> None:
    """Put `data` in place of a file, atomically; missing directories are made.

    Parameters
    ----------
    path : str
        The file.
    data : bytes or memoryview
        Its new contents.
    sync : bool
        Make the change durable before returning: fsync of the file, of its directory after the rename, and of
        the parents of new directories.
    """
    temporary = _write_beside(path, data, sync=sync)
    try:
        _retry_while_busy(os.replace, temporary, path)
        if sync:
            _sync_directory(os.path.dirname(path))
    except BaseException as error:
        _give_up(error, temporary, path)


def create_file(path: str, data: bytes | memoryview, *, sync: bool = False) -> bool:
    """Like :func:`replace_file`, but only if there is no file yet; False if there is one."""
    temporary = _write_beside(path, data, sync=sync)
    try:
        _publish_new(temporary, path)
        if sync:
            _sync_directory(os.path.dirname(path))
    except FileExistsError:
        return False
    finally:
        _remove(temporary)
    return True


def rename_directory(source: str, target: str, *, sync: bool = False) -> bool:
    """Rename a directory; False if that cannot be done in one step, as between two file systems.

    Missing directories above the target are made; an empty one at the target is removed.
    """
    if os.path.islink(source):
        return False  # what it points to stays where it is
    above = os.path.dirname(target)
    try:
        if os.path.isdir(target):
            os.rmdir(target)
        elif not os.path.isdir(above):
            _make_directories(above, sync=sync)
        _retry_while_busy(os.rename, source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    if sync:
        for directory in {above, os.path.dirname(source)}:
            _sync_directory(directory)
    return True


def _write_beside(path: str, data: bytes | memoryview, *, sync: bool) -> str:
    """Write a temporary file next to `path`, for the caller to rename, and return its name."""
    temporary = f"{os.path.dirname(path)}{os.sep}.zc-{os.urandom(8).hex()}.partial"
    try:
        fd = _create(temporary, sync=sync)
        try:
            _write_all(fd, data)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException as error:
        _give_up(error, temporary, path)
    return temporary


def _give_up(error: BaseException, temporary: str, path: str) -> NoReturn:
    """Remove a temporary file and raise the error, for a caller who knows only the file it stands for."""
    _remove(temporary)
    if isinstance(error, OSError) and error.filename == temporary:
        raise OSError(error.errno, error.strerror, path) from error
    raise error


def _remove(temporary: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(temporary)


def _create(temporary: str, *, sync: bool) -> int:
    """Create a new file, and the directories above it if they are missing; its descriptor."""
    for _ in range(3):  # another process may remove the directory again
        try:
            return os.open(temporary, _CREATE_FLAGS, 0o666)
        except FileNotFoundError:
            _make_directories(os.path.dirname(temporary), sync=sync)
    return os.open(temporary, _CREATE_FLAGS, 0o666)


def _make_directories(directory: str, *, sync: bool) -> None:
    missing = [directory]
    while True:
        try:
            _make_directory(missing[-1], sync=sync)
            break
        except FileNotFoundError:
            above = os.path.dirname(missing[-1])
            if above == missing[-1]:
                raise
            missing.append(above)
    for path in missing[-2::-1]:
        _make_directory(path, sync=sync)


def _make_directory(path: str, *, sync: bool) -> None:
    with suppress(FileExistsError):  # another thread was faster; if it is a file, opening will say so
        os.mkdir(path)
    if sync:
        _sync_directory(os.path.dirname(path))


def _write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync_directory(directory: str) -> None:
    if _WINDOWS:  # directories cannot be opened there, and renames are journaled
        return
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _publish_new(temporary: str, path: str) -> None:
    """Give a temporary file its name; FileExistsError if the name is taken."""
    if _WINDOWS:
        _retry_while_busy(os.rename, temporary, path)
        return
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Without hard links the name is claimed by an empty file first, which a reader may see for a moment.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        os.replace(temporary, path)


def _retry_while_busy(move: object, source: str, target: str) -> None:
    """Rename; on Windows a scanner or a reader may hold the target open for a moment."""
    for delay in _BUSY_DELAYS:
        try:
            move(source, target)  # type: ignore[operator]
        except OSError as error:
            if getattr(error, "winerror", None) not in _BUSY_ON_WINDOWS:
                raise
            import time

            time.sleep(delay)
        else:
            return
    move(source, target)  # type: ignore[operator]
