"""Versions of values, for those that keep copies: what is asked of a store, and what it answers."""

from __future__ import annotations

from time import monotonic as clock
from typing import Any, TypeVar

from zarrcore._typed import NamedTuple
from zarrcore.errors import ReplacedError
from zarrcore.storage.byte_range import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest

_MOST_RECENT = 256
_MOST_BYTES = 1 << 16  # of a document that is kept
_SECONDS = 2.0  # servers that ignore conditions lose what others have changed within this time

Key = TypeVar("Key")
Item = TypeVar("Item")


def oldest(table: dict[Key, Item], most: int) -> list[tuple[Key, Item]]:
    """Take an eighth of a table out of it, what was entered first, if it has more items than it may have.

    It needs no lock, for which others would wait while a signal handler waits for them.
    """
    keys = [*table][: 1 + most // 8] if len(table) > most else ()
    return [(key, item) for key in keys if (item := table.pop(key, None)) is not None]


class Fetched(NamedTuple):
    """The answer of a store to a request for a value, or a part of it, with its version.

    `value` is None if there is none; `version` is text that no other value of the key has, or None if the
    store has no such text; `size` is that of the whole value, where it is known.
    """

    value: bytes | None = None
    version: str | None = None
    size: int | None = None
    is_unchanged: bool = False  # it is the version that the caller knows: there is no value in the answer
    is_replaced: bool = False  # it is not the version that the caller wants: there is no value in the answer

    def start_of(self, part: ByteRequest | None) -> int | None:
        """Return where the part that was asked for begins; None if that is counted from an unknown end."""
        n = len(self.value or b"")
        match part:
            case RangeByteRequest(start, _) | OffsetByteRequest(start):
                return start
            case SuffixByteRequest(suffix) if n == suffix:
                return None if self.size is None else self.size - n
        return 0

    def is_end_of(self, part: ByteRequest | None) -> bool:
        """Return whether the part is known to go up to the end of the value."""
        n, start = len(self.value or b""), self.start_of(part)
        if isinstance(part, RangeByteRequest):
            return part.start + n == self.size or 0 < n < part.end - part.start
        return start is not None or isinstance(part, SuffixByteRequest)


def replaced(store: object, key: str) -> ReplacedError:
    """Return the error for a value whose parts are of several versions."""
    return ReplacedError(f"{store}: key {key!r}: the value was replaced while it was read", key=key)


def strong(tag: str | None) -> str | None:
    """Return an entity tag (ETag) if it is one of exactly one sequence of bytes."""
    return None if not tag or tag.startswith("W/") else tag


class Recent:
    """Documents that this process has read or stored within the last seconds, by their addresses.

    Whoever changes one of them need not read it again if it is stored on condition that it still has the
    version that is kept here: another one is then found out.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, bytes | None, Any]] = {}
        self._latest = object()  # of the changes

    def begin(self) -> object:
        """Return what :meth:`note` wants to know of the time before a request."""
        return self._latest

    def note(
        self, address: str, value: bytes | None, version: Any, since: object, *, is_stored: bool = False
    ) -> None:
        """Keep a document that was read or stored, unless any was changed meanwhile: it may be this one."""
        is_certain = since is self._latest
        if is_stored:
            since = self._latest = object()
        self._kept.pop(address, None)
        if is_certain and version is not None and len(value or b"") <= _MOST_BYTES:
            self._kept[address] = clock() + _SECONDS, value, version
            oldest(self._kept, _MOST_RECENT)
        if since is not self._latest:  # once it is there: a change of another thread may have missed it
            self._kept.pop(address, None)

    def find(self, address: str) -> tuple[bytes | None, Any] | None:
        """Return a document, None if there was none, and its version; None if it is not kept."""
        latest, value, version = self._kept.get(address, (0.0, None, None))
        return (value, version) if clock() < latest else None

    def drop(self, address: str) -> None:
        """Forget a document that is about to be changed, or has been."""
        self._latest = object()
        self._kept.pop(address, None)


RECENT = Recent()
