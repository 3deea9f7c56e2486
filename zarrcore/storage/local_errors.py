"""Errors of the operating system, as those of a directory that is a store."""

from __future__ import annotations

import errno
import os
from typing import Any

from zarrcore.errors import InvalidKeyError, StoreError
from zarrcore.storage.files import TO_NOTHING, leads_to_nothing

# What file systems say of names that they cannot have.
_BAD_NAMES = {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}


def require_directories_above(path: str, key: str) -> None:
    """Refuse a path that is not there because a file is in the place of a directory."""
    above = os.path.dirname(path)
    while not os.path.lexists(above) and above != (above := os.path.dirname(above)):
        pass
    if os.path.isfile(above):
        raise explained(NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), above), key, path)


def named(error: OSError, path: str) -> OSError:
    """The same error with a whole path: calls by descriptor know none, or the end of one."""
    name = error.filename if isinstance(error.filename, (str, os.PathLike)) else ""
    if error.errno is None or (name and os.path.isabs(name)):
        return error
    return OSError(error.errno, error.strerror, os.path.join(path, name) if name else path)


def status_of(fd: int, path: str) -> os.stat_result:
    """What is open; an error names the path."""
    try:
        return os.fstat(fd)
    except OSError as error:
        raise named(error, path) from None


def explained(error: OSError, key: str, path: str) -> Exception:
    """An error of the operating system; one about names and what stands in their place as one of stores."""
    error = named(error, path)
    if error.errno in _BAD_NAMES:
        return InvalidKeyError(f"invalid store key {key!r:.200}: {error.strerror}")
    if error.errno == errno.EXDEV:
        return StoreError(
            f"key {key!r}: a symbolic link in {error.filename} leads out of the store, or is not to be "
            "followed (LocalStore(follow_symlinks=True) reads it; nothing is written through it)",
            key=key,
        )
    if error.errno == errno.ENOLINK or (isinstance(error, FileNotFoundError) and leads_to_nothing(path)):
        return StoreError(f"key {key!r}: {TO_NOTHING} ({error.filename})", key=key)
    if isinstance(error, NotADirectoryError):
        reason = f"a file is in the place of a directory above it ({error.filename})"
        return StoreError(f"key {key!r}: {reason}", key=key)
    if isinstance(error, IsADirectoryError):
        return StoreError(f"key {key!r}: a directory is in its place ({error.filename})", key=key)
    return error


def forgive_others(function: Any, path: str, error: BaseException) -> None:
    """Others may remove the same files meanwhile, or put new ones there, which then stay."""
    if not isinstance(error, FileNotFoundError) and getattr(error, "errno", None) != errno.ENOTEMPTY:
        raise error
