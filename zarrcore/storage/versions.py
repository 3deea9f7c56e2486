"""Versions of values, for those that keep copies: what is asked of a store, and what it answers."""

from __future__ import annotations

from zarrcore._typed import NamedTuple
from zarrcore.errors import ReplacedError
from zarrcore.storage.byte_range import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest


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
