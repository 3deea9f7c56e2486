"""Removing what is in a directory, so that an interrupt leaves no node that has lost its chunks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from zarrcore.storage.files import close, sync_directory
from zarrcore.storage.local_errors import forgive_others, named
from zarrcore.storage.validation import DOCUMENTS, removal_step

_WINDOWS = os.name == "nt"
_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def remove_directory(name: str, above: int | None = None, *, sync: bool) -> None:
    """Remove what is in a directory, and the directory; a link in its place, also a new one, is an error.

    Its name is relative to the directory `above`, if that is given (not on Windows).
    """
    fd = None if _WINDOWS else os.open(name, os.O_RDONLY | _FLAGS, dir_fd=above)
    try:
        with os.scandir(name if fd is None else fd) as entries:
            remove_entries(entries, fd, sync=sync)
    except OSError as error:
        raise named(error, name) from None
    finally:
        if fd is not None:
            close(fd)
    os.rmdir(name, dir_fd=above)


def remove_entries(entries: Iterable[os.DirEntry[str]], fd: int | None, *, sync: bool) -> None:
    """Remove what is in a directory that has been scanned; symbolic links are unlinked, not followed.

    In each directory metadata documents go first: readers, also after an interrupt, see that a node is gone
    before one of its chunks is.  Without a descriptor (on Windows) that holds for the directory itself.
    """
    if fd is None:
        for directory in _without_files(entries, None, sync=sync):
            _remove_by_path(directory)
        return
    # A stack of directories, because they may be nested deeply: name, descriptor, what is left to remove.
    stack = [("", fd, _without_files(entries, fd, sync=sync))]
    try:
        while True:
            name, inner, left = stack[-1]
            if left:
                stack += _entered(left.pop(), inner, sync=sync)
                continue
            if sync:
                sync_directory(".", inner)
            if len(stack) == 1:
                return
            stack.pop()
            close(inner)
            try:
                os.rmdir(name, dir_fd=stack[-1][1])
            except OSError as error:
                forgive_others(os.rmdir, name, error)
    except OSError as error:
        raise named(error, os.path.join("", *(name for name, _, _ in stack))) from None
    finally:
        for _, inner, _ in stack[1:]:
            close(inner)


def _entered(name: str, above: int, *, sync: bool) -> list[tuple[str, int, list[str]]]:
    """Open a directory and remove its files; returns what the stack gets: nothing if it is gone."""
    try:
        fd = os.open(name, _FLAGS, dir_fd=above)
    except FileNotFoundError:
        return []
    try:
        with os.scandir(fd) as entries:
            return [(name, fd, _without_files(entries, fd, sync=sync))]
    except OSError as error:
        close(fd)
        raise named(error, name) from None
    except BaseException:
        close(fd)
        raise


def _without_files(entries: Iterable[os.DirEntry[str]], fd: int | None, *, sync: bool) -> list[str]:
    """Remove the files among entries, documents first; returns the paths of the directories."""
    directories: list[str] = []
    files: list[str] = []
    documents: list[str] = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            directories.append(entry.path)
        else:
            (documents if entry.name in DOCUMENTS else files).append(entry.path)
    documents.sort(key=lambda path: removal_step(os.path.basename(path)))
    for paths in (documents, files):
        for path in paths:
            with suppress(FileNotFoundError):
                os.unlink(path, dir_fd=fd)
        if paths is documents and documents and sync and fd is not None:  # nor may a crash change that order
            sync_directory(".", fd)
    return directories


def _remove_by_path(directory: str) -> None:
    import shutil
    import sys

    if sys.version_info >= (3, 12):
        shutil.rmtree(directory, onexc=forgive_others)
    else:
        shutil.rmtree(directory, onerror=lambda *failed: forgive_others(*failed[:2], failed[2][1]))
