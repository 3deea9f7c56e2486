"""Whether a directory has another array than a while ago, where other processes may replace it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal, TypeAlias

from zarrcore.errors import StoreError
from zarrcore.storage import files

Changed: TypeAlias = Literal["nothing", "document", "array"]

_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def pinned(root: str, key: str) -> Iterator[Callable[[], Changed]]:
    """Yield a function that returns what has changed since of the array in a directory, which has a document.

    Where that is another file, it is another array if its text is the same, or if its directory or
    that of its chunks is another one; else attributes or the shape have changed.  The directories are held
    open, so that none that is made later has the same number.
    """
    path = f"{root}/{key}"
    directory = os.path.dirname(path)
    with ExitStack() as stack:
        known, text = _version(path), None
        with suppress(OSError, StoreError):  # it may be known by consolidated metadata alone
            text = files.read_file(path)
        held = [pin for pin in (directory, os.path.join(directory, "c")) if _hold(pin, stack)]
        numbers = [_number(pin) for pin in held]

        def changed() -> Changed:
            if _version(path) == known:
                return "nothing"
            is_other = files.read_file(path) in (text, None) or [_number(pin) for pin in held] != numbers
            return "array" if is_other else "document"

        yield changed


def _hold(directory: str, stack: ExitStack) -> bool:
    """Hold a directory open; False where there is none, and on Windows, which cannot."""
    if os.name == "nt":
        return False
    try:
        fd = os.open(directory, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return False
    stack.callback(files.close, fd)
    return True


def _number(path: str) -> tuple[int, int] | None:
    found = _status(path)
    return found and (found.st_dev, found.st_ino)


def _version(path: str) -> tuple[int, ...] | None:
    found = _status(path)  # not when it was linked to, as backups do
    return found and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
