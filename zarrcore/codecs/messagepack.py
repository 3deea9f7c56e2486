"""MessagePack: Python objects <-> bytes (https://github.com/msgpack/msgpack, without extension types).

Enough for the ``msgpack2`` filter of format 2, and careful with bytes that somebody else wrote: no count is
trusted beyond the bytes that are there.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_COUNTED = {
    0xC4: ("bin", ">B"), 0xC5: ("bin", ">H"), 0xC6: ("bin", ">I"),
    0xD9: ("str", ">B"), 0xDA: ("str", ">H"), 0xDB: ("str", ">I"),
    0xDC: ("array", ">H"), 0xDD: ("array", ">I"), 0xDE: ("map", ">H"), 0xDF: ("map", ">I"),
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}

# First byte of the short form, the counts below which it is used, and the codes of 8, 16 and 32-bit counts.
_ARRAY = (0x90, 16, (None, 0xDC, 0xDD))
_MAP = (0x80, 16, (None, 0xDE, 0xDF))
_Kind = tuple[int, int, tuple[int | None, int, int]]
_STR: _Kind = (0xA0, 32, (0xD9, 0xDA, 0xDB))
_OLD_STR: _Kind = (0xA0, 32, (None, 0xDA, 0xDB))
_BIN: _Kind = (0, 0, (0xC4, 0xC5, 0xC6))


def pack(value: Any, *, single_float: bool = False, bin_type: bool = True) -> bytes:
    """Encode a value.

    Parameters
    ----------
    value : object
        None, Booleans, numbers, strings, bytes, and lists and dictionaries of them.
    single_float : bool
        Whether floating-point numbers are written with 4 bytes.
    bin_type : bool
        Whether bytes are written apart from strings, as the specification has had it since 2013.

    Raises
    ------
    TypeError, ValueError
        If MessagePack has no such value.
    """
    parts: list[bytes] = []
    number = (">Bf", 0xCA) if single_float else (">Bd", 0xCB)
    _put(value, parts.append, number, (_STR, _BIN) if bin_type else (_OLD_STR, _OLD_STR))
    return b"".join(parts)


def unpack(data: bytes, *, raw: bool = False) -> Any:
    """Decode exactly one value.

    Parameters
    ----------
    data : bytes
        The encoded value.
    raw : bool
        Whether strings are returned as bytes.

    Raises
    ------
    ValueError
        If `data` is anything else, or nested too deeply.
    """
    reader = _Reader(data, raw=raw)
    try:
        value = reader.value()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except TypeError as error:  # a list or a dictionary as a key
        raise ValueError(str(error)) from error
    if reader.position != len(data):
        raise ValueError(f"{len(data) - reader.position} bytes follow the value")
    return value


def _put(
    value: Any, emit: Callable[[bytes], None], number: tuple[str, int], text_and_bytes: tuple[_Kind, _Kind]
) -> None:
    """Encode `value`, in the shortest form there is for it."""
    if value is None:
        emit(b"\xc0")
    elif isinstance(value, bool):
        emit(b"\xc3" if value else b"\xc2")
    elif isinstance(value, int):
        emit(_packed_int(value))
    elif isinstance(value, float):
        emit(struct.pack(*number, value))
    elif isinstance(value, (str, bytes, bytearray)):
        is_text = isinstance(value, str)
        octets = value.encode() if isinstance(value, str) else bytes(value)
        emit(_head(len(octets), *text_and_bytes[0 if is_text else 1]))
        emit(octets)
    elif isinstance(value, (list, tuple, dict)):
        is_map = isinstance(value, dict)
        emit(_head(len(value), *(_MAP if is_map else _ARRAY)))
        for item in (part for pair in value.items() for part in pair) if isinstance(value, dict) else value:
            _put(item, emit, number, text_and_bytes)
    else:
        raise TypeError(f"MessagePack has no {type(value).__name__}: {value!r}")


def _packed_int(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    first, kinds = (0xCC, "BHIQ") if value >= 0 else (0xD0, "bhiq")
    for code, kind in enumerate(kinds, first):
        try:
            return struct.pack(f">B{kind}", code, value)
        except struct.error:
            continue
    raise ValueError(f"MessagePack has no integer {value}")


def _head(count: int, short: int, below: int, codes: tuple[int | None, int, int]) -> bytes:
    """Return the head of a string, bytes, an array or a map of `count` parts."""
    if count < below:
        return bytes([short | count])
    for code, kind, limit in zip(codes, "BHI", (1 << 8, 1 << 16, 1 << 32), strict=True):
        if code is not None and count < limit:
            return struct.pack(f">B{kind}", code, count)
    raise ValueError(f"MessagePack cannot hold {count} parts")


class _Reader:
    def __init__(self, data: bytes, *, raw: bool) -> None:
        self.data = data
        self.position = 0
        self._raw = raw

    def value(self) -> Any:
        """Return the next value."""
        code = self._take(1)[0]
        if code < 0x80:
            return code
        if code < 0x90:
            return self._counted("map", code & 15)
        if code < 0xA0:
            return self._counted("array", code & 15)
        if code < 0xC0:
            return self._counted("str", code & 31)
        if code >= 0xE0:
            return code - 256
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _NUMBERS:
            return self._number(_NUMBERS[code])
        if code in _COUNTED:
            kind, width = _COUNTED[code]
            return self._counted(kind, self._number(width))
        raise ValueError(f"code {code:#04x} at {self.position - 1}")

    def _counted(self, kind: str, count: int) -> Any:
        if kind in ("bin", "str"):
            octets = self._take(count)
            return octets if kind == "bin" or self._raw else octets.decode()
        left = len(self.data) - self.position
        if count > left:
            raise ValueError(f"{count} parts at {self.position}, {left} bytes are left")
        if kind == "array":
            return [self.value() for _ in range(count)]
        return {self.value(): self.value() for _ in range(count)}

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, count: int) -> bytes:
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise ValueError(f"{count} bytes at {start}, the data ends at {len(self.data)}")
        return self.data[start : self.position]
