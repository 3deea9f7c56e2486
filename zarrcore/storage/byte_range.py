"""Requests for a part of a value.

A request never fails because of the size of the value: what lies beyond its end is left out, so that the
answer may be shorter than asked for, or empty.
"""

from __future__ import annotations

from operator import index

from zarrcore._records import dataclass


@dataclass(frozen=True)
class RangeByteRequest:
    """The bytes from `start` (inclusive) to `end` (exclusive).

    Examples
    --------
    >>> bytes(MemoryStore({"key": b"0123456789"}).get("key", RangeByteRequest(2, 5)))
    b'234'
    """

    __slots__ = ("end", "start")

    start: int
    end: int

    def __post_init__(self) -> None:
        _make_int(self, "start")
        _make_int(self, "end")
        if self.end < self.start:
            raise ValueError(f"byte range: end {self.end} lies before start {self.start}")


@dataclass(frozen=True)
class OffsetByteRequest:
    """All bytes from `offset` on.

    Examples
    --------
    >>> bytes(MemoryStore({"key": b"0123456789"}).get("key", OffsetByteRequest(7)))
    b'789'
    """

    __slots__ = ("offset",)

    offset: int

    def __post_init__(self) -> None:
        _make_int(self, "offset")


@dataclass(frozen=True)
class SuffixByteRequest:
    """The last `suffix` bytes, or all there are if the value is shorter.

    Examples
    --------
    >>> bytes(MemoryStore({"key": b"0123456789"}).get("key", SuffixByteRequest(4)))
    b'6789'
    """

    __slots__ = ("suffix",)

    suffix: int

    def __post_init__(self) -> None:
        _make_int(self, "suffix")


ByteRequest = RangeByteRequest | OffsetByteRequest | SuffixByteRequest

# The specification's own form is a pair (start, length), where the length None means "to the end".
ByteRange = ByteRequest | tuple[int, int | None]


def resolve_range(byte_range: ByteRange | None, size: int) -> tuple[int, int]:
    """Return the part of a value of `size` bytes that a request stands for.

    Parameters
    ----------
    byte_range : RangeByteRequest, OffsetByteRequest, SuffixByteRequest, (start, length) or None
        The request; None asks for the whole value.
    size : int
        Size of the value in bytes.

    Returns
    -------
    tuple of int
        Start and stop, where ``0 <= start <= stop <= size``.

    Examples
    --------
    >>> resolve_range(RangeByteRequest(2, 100), 10)
    (2, 10)
    >>> resolve_range((12, None), 10)
    (10, 10)
    """
    match byte_range:
        case None:
            return 0, size
        case RangeByteRequest(start, end):
            return min(start, size), min(end, size)
        case OffsetByteRequest(offset):
            return min(offset, size), size
        case SuffixByteRequest(suffix):
            return max(0, size - suffix), size
        case (start, length):
            start = _count("start", start)
            if length is None:
                return min(start, size), size
            length = _count("length", length)
            return min(start, size), min(start + length, size)
    raise TypeError(f"expected a byte range, got {byte_range!r}")


def as_request(byte_range: ByteRange | None) -> ByteRequest | None:
    """Return a byte range in the form of a request object, for stores that hand ranges on to others.

    Examples
    --------
    >>> as_request((2, 3)), as_request((2, None))
    (RangeByteRequest(start=2, end=5), OffsetByteRequest(offset=2))
    """
    resolve_range(byte_range, 0)  # refuses what is none
    if isinstance(byte_range, tuple):
        start, length = index(byte_range[0]), byte_range[1]
        return OffsetByteRequest(start) if length is None else RangeByteRequest(start, start + index(length))
    return byte_range


def described(byte_range: ByteRange) -> str:
    """Return the words for a byte range in a message.

    Examples
    --------
    >>> described(SuffixByteRequest(4))
    'the last 4 bytes'
    """
    match as_request(byte_range):
        case RangeByteRequest(start, end):
            return f"bytes {start} to {end}"
        case OffsetByteRequest(offset):
            return f"bytes from {offset} on"
        case SuffixByteRequest(suffix):
            return f"the last {suffix} bytes"
    return "all bytes"


def _make_int(request: object, name: str) -> None:
    """Have an integer of Python in place of one of NumPy, which may be too small for a sum or a sign."""
    value = getattr(request, name)
    number = _count(name, value)
    if type(value) is not int:
        object.__setattr__(request, name, number)


def _count(name: str, value: object) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"byte range: expected an integer {name}, got {value!r}") from None
    if number < 0:
        raise ValueError(f"byte range: {name} must not be negative, got {number}")
    return number
