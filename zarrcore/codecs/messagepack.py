"""MessagePack: Python objects <-> bytes (https://github.com/msgpack/msgpack, without extension types).

Enough for the ``msgpack2`` filter of format 2, and careful with bytes that somebody else wrote: no count is
trusted beyond the bytes that are there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = dict(zip(range(0xCA, 0xD4), "fdBHIQbhiq", strict=True))

# What has a count: first byte of the short form, the counts below which it is used, and the longer forms.
_COUNTED = {
    "str": (0xA0, 32, {0xD9: "B", 0xDA: "H", 0xDB: "I"}),
    "bin": (0, 0, {0xC4: "B", 0xC5: "H", 0xC6: "I"}),
    "array": (0x90, 16, {0xDC: "H", 0xDD: "I"}),
    "map": (0x80, 16, {0xDE: "H", 0xDF: "I"}),
}
_LONG_FORMS = {code: (kind, form) for kind, (*_, longer) in _COUNTED.items() for code, form in longer.items()}
_COUNTED["old str"] = (0xA0, 32, {0xDA: "H", 0xDB: "I"})  # for bytes too, before 2013


def pack(value: Any, *, single_float: bool = False, bin_type: bool = True) -> bytes:
    """Encode None, Booleans, numbers, strings, bytes, and lists and dictionaries of them.

    Parameters
    ----------
    value : object
        The value.
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
    kinds = ("str", "bin") if bin_type else ("old str", "old str")
    _put(value, parts.append, 0xCA if single_float else 0xCB, kinds)
    return b"".join(parts)


def unpack(data: bytes, *, raw: bool = False) -> Any:
    """Decode exactly one value; strings are returned as bytes if `raw` is true.

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


def _put(value: Any, emit: Callable[[bytes], None], float_code: int, kinds: tuple[str, str]) -> None:
    """Encode `value` in its shortest form; `kinds` are those of strings and of bytes."""
    if value is None:
        emit(b"\xc0")
    elif isinstance(value, bool):
        emit(b"\xc3" if value else b"\xc2")
    elif isinstance(value, int):
        emit(_packed_int(value))
    elif isinstance(value, float):
        emit(_packed_number(float_code, value))
    elif isinstance(value, str):
        octets = value.encode()
        emit(_head(len(octets), kinds[0]) + octets)
    elif isinstance(value, (bytes, bytearray)):
        emit(_head(len(value), kinds[1]) + bytes(value))
    elif isinstance(value, (list, tuple)):
        emit(_head(len(value), "array"))
        for item in value:
            _put(item, emit, float_code, kinds)
    elif isinstance(value, dict):
        emit(_head(len(value), "map"))
        for item in (part for pair in value.items() for part in pair):
            _put(item, emit, float_code, kinds)
    else:
        raise TypeError(f"MessagePack has no {type(value).__name__}: {value!r}")


def _packed_number(code: int, value: float) -> bytes:
    return struct.pack(f">B{_NUMBERS[code]}", code, value)


def _packed_int(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    for code in range(0xCC, 0xD0) if value >= 0 else range(0xD0, 0xD4):
        try:
            return _packed_number(code, value)
        except struct.error:
            continue
    raise ValueError(f"MessagePack has no integer {value}")


def _head(count: int, kind: str) -> bytes:
    """Return the head of a string, bytes, an array or a map of `count` parts."""
    first, below, longer = _COUNTED[kind]
    if count < below:
        return bytes([first | count])
    for code, form in longer.items():
        if count < 1 << 8 * struct.calcsize(form):
            return struct.pack(f">B{form}", code, count)
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
        if code < 0xC0:
            kind, mask = ("map", 15) if code < 0x90 else ("array", 15) if code < 0xA0 else ("str", 31)
            return self._counted(kind, code & mask)
        if code >= 0xE0:
            return code - 256
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _NUMBERS:
            return self._number(_NUMBERS[code])
        if code in _LONG_FORMS:
            kind, form = _LONG_FORMS[code]
            return self._counted(kind, self._number(form))
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
        return struct.unpack(f">{form}", self._take(struct.calcsize(form)))[0]

    def _take(self, count: int) -> bytes:
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise ValueError(f"{count} bytes at {start}, the data ends at {len(self.data)}")
        return self.data[start : self.position]
