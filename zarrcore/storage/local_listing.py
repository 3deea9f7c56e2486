"""What is below a directory: keys, what only a copy sees, and where links lead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from zarrcore.errors import StoreError
from zarrcore.storage import files

_MOST_AGAIN = 1000  # directories that a copy walks once more, because links lead to them from several places

# Name, whether it is a directory (None: nobody knows), and a link, size of a file.
_Entry = tuple[str, bool | None, bool, int | None]


class Directories(Protocol):
    """What is asked of a store of directories."""

    def _directory(self, prefix: str) -> str: ...
    def _scan(self, prefix: str) -> AbstractContextManager[tuple[Iterable[os.DirEntry[str]], int | None]]: ...


def keys_below(
    store: Directories, prefix: str, *, temporary: bool = False, unreadable: bool = False
) -> Iterator[str]:
    """Keys below a prefix, directory by directory, each directory in sorted order."""
    is_named = files.is_temporary if temporary else files.is_own
    found = files_below(store, prefix, unreadable=unreadable)
    names = (key for key, _ in found)
    return (key for key in names if is_named(key[key.rfind("/", 0, -1) + 1 :].rstrip("/")) is temporary)


def files_below(
    store: Directories, prefix: str, *, with_sizes: bool = False, unreadable: bool = False
) -> Iterator[tuple[str, int | None]]:
    """All files below a prefix, and what is no file if asked; with sizes that and empty directories."""
    choice = with_sizes, with_sizes or unreadable
    # Of all paths that lead to a directory through links, the first is walked; for a copy (`unreadable`)
    # all are, up to a limit.  No link back to a directory that it lies in is.
    # A stack of entries still to be looked at, because directories may be nested deeply.
    stack = [(prefix, False, *_entries(store, prefix, *choice))]
    linked = set()
    again = 0
    while stack:
        above, is_linked, _, entries = stack[-1]
        if not entries:
            stack.pop()
            continue
        name, is_directory, is_link, size = entries.pop()
        if is_directory is False:
            yield above + name, size
            continue
        below = f"{above}{name}/"
        identity, inner = _entries(store, below, *choice)
        if is_directory is None and not inner:  # a file, or what reading it shows
            yield above + name, size
            continue
        if any(choice) and not inner:
            yield below, None
        if is_linked or is_link:
            is_loop, is_known = any(identity == outer[2] for outer in stack), identity in linked
            again += is_known and unreadable
            if again > _MOST_AGAIN:
                why = f"links lead to more than {_MOST_AGAIN} directories from several places"
                raise StoreError(f"{prefix or '/'}: not copied: {why}", key=below)
            if is_loop or (is_known and not unreadable):
                if any(choice) and inner:
                    yield below, None
                continue
            linked.add(identity)
        stack.append((below, is_linked or is_link, identity, inner))


def _entries(store: Directories, prefix: str, with_sizes: bool, unreadable: bool) -> tuple[Any, list[_Entry]]:
    """Return what identifies a directory and its entries, the first one last."""
    with store._scan(prefix) as (entries, fd):
        found = [
            (entry.name, is_directory, entry.is_symlink(), files.size_of(entry) if with_sizes else None)
            for entry in entries
            if not files.is_lock_file(entry.name)
            and (
                (is_directory := files.is_directory(entry)) is not False or unreadable or files.is_file(entry)
            )
        ]
        if not found:
            return None, found
        status = os.stat(store._directory(prefix) if fd is None else fd)
    return (status.st_dev, status.st_ino), sorted(found, reverse=True)
