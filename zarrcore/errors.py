"""Every exception and warning that zarrcore raises.

All errors about data derive from :class:`BaseZarrError`, which is a :class:`ValueError`.  A message names
what was asked, what was found and where; it is composed once, when the error is made, and survives pickling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Self

from zarrcore._patterns import pattern


def printable(text: str) -> str:
    """Return `text` with escapes in place of control characters and line breaks.

    Names and unknown keys come from stores that anybody may have written; terminals obey such characters.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_CREDENTIALS = pattern(
    r"""(https?://)[^\s/?#]+@ | (://)[^\s/?#@:]*:[^\s/?#]*@ |
    ([?&#;][\w.%-]*(?:token|sig|signature|secret|password|key|credential|auth|session|sessionid)=)[^\s&#'"]+""",
    re.IGNORECASE | re.VERBOSE,
)


def masked(text: str) -> str:
    """Return a text with asterisks in place of the passwords, tokens and signatures of the URLs in it."""
    return _CREDENTIALS.sub(lambda m: f"{m[3]}***" if m[3] else f"{m[1] or m[2]}***@", text)


def said(error: BaseException) -> str:
    """Return the text of an exception, also of one that somebody has written and that fails to make one."""
    try:
        return str(error)
    except Exception as second:
        return f"(no text: {type(second).__name__} in its __str__)"


def named(error: BaseException) -> str:
    """Return the name of an exception of others, and its text if it has one."""
    text = said(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def given(value: object) -> str:
    """Return the representation of an argument, or its type where that fails: it may be nested too deeply."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def shown(text: object) -> str:
    """Return what others have said, an error of a store or of a codec, as it may be printed."""
    return masked(printable(said(text) if isinstance(text, BaseException) else str(text)))


class BaseZarrError(ValueError):
    """Base class of all errors about Zarr data."""

    def __new__(cls, *args: object, **_: object) -> Self:
        # Looked up by name, as tblib does to unpickle errors in dask's processes, it would be ValueError's.
        return OSError.__new__(cls) if issubclass(cls, OSError) else super().__new__(cls, *args)

    def __init__(self, *args: object) -> None:
        # From CPython 3.14 on ValueError has none of its own, and that of OSError leaves the text away.
        BaseException.__init__(self, *args)


class BadConfigError(BaseZarrError):
    """A configuration key was set to a value it cannot have."""


# --- nodes -----------------------------------------------------------------------------------------


class NodeNotFoundError(BaseZarrError, FileNotFoundError):
    """Neither an array nor a group was found at a path."""


class ArrayNotFoundError(NodeNotFoundError):
    """No array was found at a path."""


class GroupNotFoundError(NodeNotFoundError):
    """No group was found at a path."""


class ContainsArrayError(BaseZarrError):
    """There is an array where a node was to be created, or where a group was asked for."""


class ContainsGroupError(BaseZarrError):
    """There is a group where a node was to be created, or where an array was asked for."""


class ForeignDataError(BaseZarrError, FileExistsError):
    """What is to be replaced contains entries that belong to no Zarr node, which would be removed too."""


class CopyError(BaseZarrError, RuntimeError):
    """A node or key cannot be copied to where something is already, or to where it would meet itself."""


class StaleMetadataError(BaseZarrError):
    """Consolidated metadata differ from the documents of a node."""


class ContainsArrayAndGroupError(BaseZarrError):
    """One path has the metadata documents of both an array and a group."""


# --- metadata --------------------------------------------------------------------------------------


class DataTypeValidationError(BaseZarrError):
    """A data type, or a scalar given for it, is not valid."""


class MetadataValidationError(BaseZarrError):
    """A metadata document is not valid.

    Parameters
    ----------
    message : str
        What was expected and what was found.
    where : str, optional
        The place inside the document, for example ``"codecs[1].configuration.level"``.
    key : str, optional
        The store key of the document, for example ``"foo/zarr.json"``.

    Examples
    --------
    >>> print(MetadataValidationError("expected 0..9, got 'x'", where="codecs[1]", key="foo/zarr.json"))
    foo/zarr.json: codecs[1]: expected 0..9, got 'x'
    """

    def __init__(self, message: str = "", *, where: str | None = None, key: str | None = None) -> None:
        self.reason = message
        self.where = where
        self.key = key
        super().__init__(_text(key, where, message))


class NodeTypeValidationError(MetadataValidationError):
    """A metadata document describes another type of node than the one asked for."""


class NotAGroupError(NodeTypeValidationError, ContainsArrayError):
    """An array was found where a group was asked for."""


class NotAnArrayError(NodeTypeValidationError, ContainsGroupError):
    """A group was found where an array was asked for."""


class NestingError(MetadataValidationError):
    """Groups are nested in more levels than zarrcore walks through."""


class UnknownCodecError(BaseZarrError):
    """No codec is known by a name."""


class PickleCodecDisabledError(BaseZarrError):
    """Data encoded with the pickle codec was refused, because decoding it can run any code."""


# --- selections ------------------------------------------------------------------------------------


class ArrayIndexError(IndexError):
    """A selection is not valid for an array."""


class BoundsCheckError(IndexError):
    """An index lies outside an array."""


class NegativeStepError(IndexError):
    """A slice has a negative step where none is allowed."""


class VindexInvalidSelectionError(IndexError):
    """A vectorised selection is neither integer arrays nor one Boolean mask."""


# --- chunks ----------------------------------------------------------------------------------------


class ChunkError(BaseZarrError):
    """A chunk could not be read or written.

    Parameters
    ----------
    reason : str
        What went wrong.
    array : str, optional
        Path of the array in its store.
    chunk : tuple of int, optional
        Index of the chunk (of the shard, in a sharded array).
    inner_chunk : tuple of int, optional
        Index of the inner chunk within its shard.
    key : str, optional
        Store key.
    codec : str, optional
        Name of the codec.
    byte_range : tuple of int, optional
        Offset and length within the value at `key`.

    Examples
    --------
    >>> print(ChunkError("corrupt input", array="foo/bar", chunk=(3, 1), key="foo/bar/c/3/1", codec="zstd"))
    array 'foo/bar', chunk (3, 1), key 'foo/bar/c/3/1', codec 'zstd': corrupt input
    """

    def __init__(
        self,
        reason: str = "",
        *,
        array: str | None = None,
        chunk: tuple[int, ...] | None = None,
        inner_chunk: tuple[int, ...] | None = None,
        key: str | None = None,
        codec: str | None = None,
        byte_range: tuple[int, int] | None = None,
    ) -> None:
        self.reason = reason
        self.array = array
        self.chunk = chunk
        self.inner_chunk = inner_chunk
        self.key = key
        self.codec = codec
        self.byte_range = byte_range
        where = ", ".join(_describe(name, value) for name, value in self._known_place().items())
        super().__init__(": ".join(part for part in (where, shown(reason)) if part))

    def _known_place(self) -> dict[str, Any]:
        return {name: value for name in _PLACE if (value := getattr(self, name)) is not None}

    def located(self, **place: Any) -> ChunkError:
        """Return the same error, with the parts of its `place` filled in that it does not know."""
        return type(self)(self.reason, **{**place, **self._known_place()})


class ChunkNotFoundError(BaseZarrError):
    """A chunk that must exist is missing from the store."""


class ChunkDecodeError(ChunkError):
    """The stored bytes of a chunk could not be decoded."""


class ChunkEncodeError(ChunkError):
    """A chunk could not be encoded."""


class ChecksumError(ChunkDecodeError):
    """The stored bytes of a chunk do not have the checksum stored with them."""


class ChunkMemoryError(ChunkError, MemoryError):
    """There is not enough memory to work on a chunk."""


class ChunkIOError(ChunkError, OSError):
    """The store failed to read or write the bytes of a chunk."""


class ChunkLockError(ChunkError):
    """Waiting for the lock of a chunk would never end.

    The chunk is written to while the same thread is writing it, from its store's ``set`` or from a signal
    handler; or two stores write to each other's arrays from their ``set``, each of them to the chunk that
    the other is writing.
    """


class FlushError(ChunkError):
    """Several chunks could not be written when gathered values were flushed; all others were.

    Parameters
    ----------
    reason : str
        What went wrong.
    failures : sequence of Exception
        The error of each chunk; kept as :attr:`failures`.
    **place
        As of :class:`ChunkError`, of the first of them.
    """

    def __init__(self, reason: str = "", *, failures: Sequence[Exception] = (), **place: Any) -> None:
        self.failures = tuple(failures)
        super().__init__(reason, **place)

    def located(self, **place: Any) -> ChunkError:
        """Return the same error with its failures; see :meth:`ChunkError.located`."""
        return super().located(failures=self.failures, **place)


_PLACE = ("array", "chunk", "inner_chunk", "key", "codec", "byte_range")


def _describe(name: str, value: Any) -> str:
    """One part of the place of a :class:`ChunkError`: ``chunk (3, 1)``, ``16 bytes at 32``."""
    if name == "byte_range":
        offset, length = value
        return f"{length} bytes at {offset}"
    return f"{name.replace('_', ' ')} {value!r}"


def _text(key: str | None, where: str | None, message: str) -> str:
    """Return the text of an error or a warning about a place in a document."""
    place = [printable(part) for part in (key, where) if part]
    return ": ".join([*place, message] if message else place)


# --- stores ----------------------------------------------------------------------------------------


class RegionOverlapError(BaseZarrError):
    """Writers that do not know of each other would write to one chunk or shard, and lose values."""


class StoreError(BaseZarrError):
    """A store cannot do what it was asked for.

    Parameters
    ----------
    message : str
        What it cannot do, and why.
    key : str, optional
        The key that it failed on.  If many were requested at once, this is the one that failed.
    """

    def __init__(self, message: str = "", *, key: str | None = None) -> None:
        self.key = key
        super().__init__(message)


class ConflictError(StoreError):
    """Another process has changed a metadata document at the same time, or another store a ZIP archive.

    Nothing of the change was stored in the document, or under the key.
    """


class ReplacedError(StoreError):
    """Another process has replaced a value while parts of it were read, which do not fit the new one.

    The engine reads such a chunk or shard again; what reaches a user is the cause of a ChunkIOError.
    """


class NodeIOError(StoreError, OSError):
    """The store failed to read metadata documents, or to list what is at a place.

    Parameters
    ----------
    message : str
        What failed, and where.
    key : str, optional
        The key of the document, or the prefix that was listed; of several keys the one that failed, if the
        store names it.
    path : str, optional
        Path of the node in its store.
    """

    def __init__(self, message: str = "", *, key: str | None = None, path: str | None = None) -> None:
        self.path = path
        super().__init__(message, key=key)


class StoreNotFoundError(StoreError, ArrayNotFoundError, GroupNotFoundError):
    """No store was found at a place: there is a file where its directory should be.

    It is no array and no group either, as other implementations say of such a place.
    """


class ReadOnlyError(StoreError):
    """A write to a read-only store was refused."""


class InvalidKeyError(StoreError):
    """A string is not a valid store key, prefix or node path."""


# --- warnings --------------------------------------------------------------------------------------


class ZarrFutureWarning(FutureWarning):
    """Behaviour that is going to change, told to end users."""


class UnstableSpecificationWarning(ZarrFutureWarning):
    """A feature that no stable Zarr specification describes."""


class ZarrDeprecationWarning(DeprecationWarning):
    """A feature that is going to be removed."""


class ZarrUserWarning(UserWarning):
    """A likely mistake in user code."""


class ZarrcoreWarning(ZarrUserWarning):
    """A stored document departs from the letter of the specification, but has one meaning and was read.

    Parameters
    ----------
    message : str
        What stands there, and how it was read.
    key : str, optional
        The store key of the document, for example ``"foo/.zarray"``.
    where : str, optional
        The place inside the document, for example ``"compressor.checksum"``.
    clause : str, optional
        The clause of the specification that is broken.
    """

    def __init__(
        self,
        message: str = "",
        *,
        key: str | None = None,
        where: str | None = None,
        clause: str | None = None,
    ) -> None:
        self.reason = message
        self.key = key
        self.where = where
        self.clause = clause
        text = _text(key, where, message)
        super().__init__(f"{text} ({clause})" if clause else text)


class RegionOverlapWarning(ZarrUserWarning):
    """Two processes write to one chunk or shard at the same time: one of them had to wait.

    `LocalStore(locks="warn")` and the setting ``store.locks`` ask for it.
    """


class ZarrRuntimeWarning(RuntimeWarning):
    """Dubious behaviour at run time."""


__all__ = sorted(
    name for name, found in vars().items() if isinstance(found, type) and found.__module__ == __name__
)
