"""Moving directories: each is in its old place or in its new one, and whole in one of them."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

from zarrcore._locks import holding
from zarrcore.storage.files import is_own, is_temporary, is_there, sync_directory, sync_file
from zarrcore.storage.inherited import OpenDirectory, locked, opened_here
from zarrcore.storage.local_errors import status_of
from zarrcore.storage.removing import remove_directory
from zarrcore.storage.validation import DECISIVE

Entry = tuple[str, int | None]
"""A name in a directory that is open, or without one a path."""

_WINDOWS = os.name == "nt"
_BUSY_ON_WINDOWS = {5, 32}  # ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION
_NAME_TRIES = 16
_BUSY_DELAYS = (0.001, 0.004, 0.016, 0.064, 0.256, 0)  # seconds; 0: the last attempt


def rename_directory(source: Entry, target: Entry) -> bool:
    """Rename a directory; False if that cannot be done in one step, as between two file systems.

    Both are names in directories that are open, so that it does not matter what is put in the place of these
    meanwhile.  An empty directory at the target is removed.
    """
    if stat.S_ISLNK(os.stat(source[0], dir_fd=source[1], follow_symlinks=False).st_mode):
        return False  # what it points to stays where it is
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.rmdir(target[0], dir_fd=target[1])
        _rename(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def move_directory(source: str, target: str, *, sync: bool = False) -> None:
    """Move a directory of a store to where nothing is; a copy gets the name once it is whole."""
    above = os.path.dirname(target)
    make_directories(above, sync=sync)
    try:
        _rename((source, None), (target, None))
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target, sync=sync)
    _sync({above, os.path.dirname(source)}, sync=sync)


def _copy(source: str, target: str, *, sync: bool) -> None:
    """Move a directory, or a link to one, to another file system."""
    import shutil

    above = os.path.dirname(target)
    if os.path.islink(source):
        shutil.move(source, target)
        return
    with os.scandir(above) as entries:
        left = [entry.path for entry in entries if is_temporary(entry.name)]
    for path in left:
        with suppress(OSError):  # that of somebody else; this move does not depend on it
            remove_copy(path, sync=sync)
    with ExitStack() as stack:
        copy = _make_copy(above, stack)
        shutil.copytree(source, copy, symlinks=True, dirs_exist_ok=True)
        if sync:
            _sync_tree(copy)
        _rename((copy, None), (target, None))
    _sync({above}, sync=sync)
    remove_directory(source, sync=sync)


def _make_copy(above: str, stack: ExitStack) -> str:
    """Make a directory of the name of a temporary file and lock it; the stack removes it if it still has it.

    Before it is locked, another move may take it for what a killed one has left: then one more is made.
    """
    import secrets
    import shutil

    for _ in range(_NAME_TRIES):
        copy = os.path.join(above, f".zc-{secrets.token_hex(8)}.partial")
        stack.callback(shutil.rmtree, copy, ignore_errors=True)
        os.mkdir(copy, 0o700)  # until it has the rights of what is copied, which may be nobody else's
        with suppress(FileNotFoundError):
            if stack.enter_context(_locked(copy)) is not False:
                return copy
    raise BlockingIOError(errno.EAGAIN, "other moves remove what is copied here", above)


def remove_copy(name: str, above: int | None = None, *, sync: bool = False) -> bool:
    """Remove a directory of the name of a temporary file, which a move made that has not ended.

    Its name is relative to the directory `above`, if that is given.  Returns whether it was removed: not if
    it is no directory, or if the move is under way, whose process has it locked.
    """
    try:
        with _locked(name, above) as is_locked:
            if is_locked:
                remove_directory(name, above, sync=sync)
            return bool(is_locked)
    except (NotADirectoryError, FileNotFoundError):
        return False


def is_under_way(path: str) -> bool:
    """Return whether a directory of the name of a temporary file is that of a move at work."""
    try:
        with _locked(path) as is_locked:
            return is_locked is False
    except OSError:  # it is none, or cannot be opened
        return False


@holding
def _locked(directory: str, above: int | None = None) -> Iterator[bool | None]:
    """Lock a directory for the block, or until this process ends; yields whether it is locked.

    It is not if another process has locked it, or has removed it; None: the system has no such locks.
    """
    if _WINDOWS:
        yield None
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened_here(lambda: OpenDirectory(os.open(directory, flags, dir_fd=above))) as opened:
        is_locked = locked(opened.fd, directory)
        yield is_locked and status_of(opened.fd, directory).st_nlink > 0


def goes_on(source: str, target: str) -> bool:
    """Return whether a move that broke off has only to remove what is at the target, too."""
    n = 0
    for above, directories, names in os.walk(source, onerror=_raise):
        there = os.path.join(target, os.path.relpath(above, source))
        links = [name for name in directories if os.path.islink(os.path.join(above, name))]
        for name in (*names, *links):
            if not is_own(name):
                if not _is_copy(os.path.join(above, name), os.path.join(there, name)):
                    return False
                n += 1
    return n > 0 and _lacks_only_what_was_removed(source, target)


def _lacks_only_what_was_removed(source: str, target: str) -> bool:
    """Return whether no document is above a file that only the target has: it would have gone first."""
    for above, _, names in os.walk(target, onerror=_raise):
        there = os.path.join(source, os.path.relpath(above, target))
        lacked = [n for n in names if not is_own(n) and not is_there(os.path.join(there, n))]
        if lacked and _is_in_node(source, os.path.relpath(above, target)):
            return False
    return True


def _is_in_node(root: str, path: str) -> bool:
    parts = path.split(os.sep)
    above = [os.path.join(root, *parts[:n]) for n in range(len(parts) + 1)]
    return any(is_there(os.path.join(a, name)) for a in above for name in DECISIVE)


def _is_copy(path: str, other: str) -> bool:
    import filecmp

    if os.path.islink(path) or os.path.islink(other):
        return os.path.islink(path) and os.path.islink(other) and os.readlink(path) == os.readlink(other)
    if not (os.path.isfile(path) and os.path.isfile(other)):
        return False
    # The same file under two names, through a link to a directory or a mount, is no copy of itself.
    return not os.path.samefile(path, other) and filecmp.cmp(path, other, shallow=False)


def _raise(error: OSError) -> None:
    raise error


def finish(source: str, *, sync: bool = False) -> None:
    """Remove the source of a move that :func:`goes_on`."""
    remove_directory(source, sync=sync)
    _sync({os.path.dirname(source)}, sync=sync)


def make_directories(path: str, *, sync: bool) -> None:
    """Make what is missing of a path; with `sync` each name is on the disk before what is below it."""
    missing = []
    while not os.path.isdir(path) and path != os.path.dirname(path):
        missing.append(path)
        path = os.path.dirname(path)
    for directory in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(directory)
        _sync({os.path.dirname(directory)}, sync=sync)


def _sync(directories: set[str], *, sync: bool) -> None:
    if sync and not _WINDOWS:  # directories cannot be opened there, and renames are journaled
        for directory in directories:
            sync_directory(directory)


def _sync_tree(root: str) -> None:
    """Have all files and names below a directory on the disk."""
    for above, _, names in os.walk(root, onerror=_raise):
        for path in (os.path.join(above, name) for name in names):
            if not os.path.islink(path):
                sync_file(path)
        _sync({above}, sync=True)


def _rename(source: Entry, target: Entry) -> None:
    """Rename; on Windows a scanner or a reader may hold the target open for a moment."""
    for delay in _BUSY_DELAYS:
        try:
            os.rename(source[0], target[0], src_dir_fd=source[1], dst_dir_fd=target[1])
        except OSError as error:
            if getattr(error, "winerror", None) not in _BUSY_ON_WINDOWS or not delay:
                raise
            time.sleep(delay)
        else:
            return
