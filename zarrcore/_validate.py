"""Checks of single values of metadata documents and of the arguments that end up in them.

Every check raises :class:`~zarrcore.errors.MetadataValidationError` with what was expected and what was
found.  The place is added from the inside out by :class:`at`, so that a check knows only its own value:

>>> with at("codecs[0].configuration"):
...     integer("x", "level", 0, 9)
Traceback (most recent call last):
    ...
zarrcore.errors.MetadataValidationError: codecs[0].configuration.level: expected an integer 0..9, got "x"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import prod
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from zarrcore.errors import (
    DataTypeValidationError,
    MetadataValidationError,
    PickleCodecDisabledError,
    UnknownCodecError,
    named,
    printable,
    said,
    shown,
)

MAX_NBYTES = 2**63 - 1
"""Most bytes that one chunk may stand for: the offsets of the chunk engine are signed 64-bit numbers."""

MAX_NDIM = 64
"""Most dimensions of an array, NumPy's limit."""

MAX_DEPTH = 16
"""Most levels of codecs within codecs, and of data types within data types; `ZC_DEPTH_MAX` in C."""

MAX_CODECS = 1_000
"""Most codecs, or filters, in a row: the time to encode a chunk grows with their square."""
MAX_LEVELS = 2_000
"""Most groups within groups, about as many as the path of a file has room for; more are an error."""

MAX_DOCUMENT_NBYTES = 1 << 28
"""Most bytes of a metadata document, in all stores; consolidated ones have some hundred for each node.

`ZC_DOCUMENT_MAX` in C.
"""


_SHOWN = 120
"""Most characters of a value in an error; no more are looked at, as values may be of any size."""


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return a question for the names most like `name`, to be put at the end of an error, or nothing.

    Upper and lower case count as the same.
    """
    from difflib import get_close_matches

    names = {known_name.lower(): known_name for known_name in known if known_name != name}
    close = [names[lower] for lower in get_close_matches(str(name).lower(), names, n=3)]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def describe(value: object) -> str:
    """`value` as short JSON, or as its representation where it is none."""
    if isinstance(value, (str, bytes, bytearray)):
        value = value[:_SHOWN]
    try:
        text = json.dumps(value)
    except Exception:  # whatever objects of users raise
        try:
            text = printable(repr(value)[: 2 * _SHOWN])
        except Exception:  # an integer of too many digits, a value nested too deeply, or of a user
            text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def view_of(value: Any) -> memoryview:
    """Return the memory of a bytes-like object; that of an array of Python objects has their addresses."""
    view = memoryview(value)
    if "O" in view.format:
        raise TypeError("references to Python objects are no bytes")
    return view


def fail(where: str | None, expected: str, value: object) -> NoReturn:
    """Raise the error of a value at `where` that is not what was expected."""
    raise MetadataValidationError(f"expected {expected}, got {describe(value)}", where=where)


def reason_of(error: Exception) -> str:
    """Return what an exception of a user's class says, with its name where that alone is no sentence."""
    is_sentence = isinstance(error, (ValueError, TypeError, ArithmeticError)) and said(error)
    return shown(is_sentence or named(error))


_AS_THEY_ARE = (MemoryError, ImportError, Warning)


class at:  # reads as a word: `with at("codecs[0]"):`
    """Context manager that names the place of what is checked inside it.

    `where` is the place inside the document, put before the place that an error already has, `key` the store
    key of the document, `codec` what the values belong to, and `given` the configuration that code of a user
    is handed.

    An exception of a user's class becomes a :class:`MetadataValidationError`, unless it is of memory or
    a module that is missing.  An :class:`UnknownCodecError` or
    :class:`PickleCodecDisabledError` keeps its class.  A :class:`KeyError` means that a member is missing,
    unless it is about what is `given`.
    """

    __slots__ = ("codec", "given", "key", "where")

    def __init__(
        self,
        where: str | None = None,
        *,
        key: str | None = None,
        codec: str | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.where = where
        self.key = key
        self.codec = codec
        self.given = given or {}

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, MetadataValidationError):
            where = _join(self.where, error.where)
            reason = self._named(error.reason)
            raise type(error)(reason, where=where, key=self.key or error.key) from error.__cause__
        if isinstance(error, (UnknownCodecError, PickleCodecDisabledError)):
            place = ": ".join(part for part in (self.key, self.where, str(error)) if part)
            raise type(error)(printable(place)) from None
        if type(error) is KeyError and not self._is_given(error):
            reason, where = self._named("is required and missing"), _join(self.where, str(*error.args))
            raise MetadataValidationError(reason, where=where, key=self.key) from error
        if isinstance(error, RecursionError):
            raise MetadataValidationError("nested too deeply", where=self.where, key=self.key) from None
        if isinstance(error, Exception) and not isinstance(error, _AS_THEY_ARE):
            raise MetadataValidationError(
                self._named(reason_of(error)), where=self.where, key=self.key
            ) from error

    def _is_given(self, error: KeyError) -> bool:
        """Return whether the error is about a member, or the value of one, that is there."""
        return [*error.args] in [[part] for pair in self.given.items() for part in pair]

    def _named(self, reason: str) -> str:
        """Return what is wrong, with the codec, unless it is that of a codec within."""
        if self.codec is None or repr(self.codec) in reason or " (codec '" in reason:
            return reason
        return f"{reason} (codec {self.codec!r})"


class of_array:  # as `at`
    """Context manager that names the array of what extensions of users raise while it is used.

    Metadata, chunk grids, key encodings and data types know no paths.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, (MetadataValidationError, DataTypeValidationError)):
            return
        if getattr(error, "key", None) is not None or str(error).startswith("array '"):
            return
        name = f"array {self._path or '/'!r}"
        if isinstance(error, MetadataValidationError):
            where = ", ".join(part for part in (name, error.where) if part)
            raise type(error)(error.reason, where=where) from error.__cause__
        raise type(error)(f"{name}: {error}") from error.__cause__


def _join(outer: str | None, inner: str | None) -> str | None:
    if not outer or not inner:
        return outer or inner
    return outer + inner if inner.startswith("[") else f"{outer}.{inner}"


def boolean(value: object, where: str) -> bool:
    """`value`, checked to be true or false."""
    if not isinstance(value, (bool, np.bool_)):
        fail(where, "true or false", value)
    return bool(value)


def integer(value: object, where: str | None, low: int | None = None, high: int | None = None) -> int:
    """`value` as an ``int``, checked to be an integer (not ``true``, not ``1.0``) from `low` to `high`."""
    if type(value) is int and (low is None or value >= low) and (high is None or value <= high):
        return value
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or (low is not None and value < low) or (high is not None and value > high):  # type: ignore[operator]
        fail(where, f"{low}" if low is not None and low == high else f"an integer{_range(low, high)}", value)
    return int(value)  # type: ignore[call-overload,no-any-return]


def _range(low: int | None, high: int | None) -> str:
    if low is not None and high is not None:
        return f" {low}..{high}"
    if low is not None:
        return f" of at least {low}"
    return f" of at most {high}" if high is not None else ""


def choice(value: object, where: str, options: Iterable[str]) -> str:
    """`value` as a plain ``str``, checked to be one of `options`."""
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        fail(where, "one of " + ", ".join(map(json.dumps, options)), value)
    return str.__str__(value)


def mapping(value: object, where: str | None) -> Mapping[str, Any]:
    """`value`, checked to be a JSON object."""
    if not isinstance(value, dict):
        fail(where, "an object", value)
    return value


def sequence(value: object, where: str | None) -> tuple[Any, ...]:
    """`value` as a tuple, checked to be a JSON array."""
    if not isinstance(value, (list, tuple)):
        fail(where, "an array", value)
    return tuple(value)


def integers(value: object, where: str | None, low: int | None = None) -> tuple[int, ...]:
    """`value` as a tuple of ``int``, checked to be an array of integers of at least `low`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    items = sequence(value, where)
    if {int}.issuperset(map(type, items)) and (low is None or min(items, default=low) >= low):
        return items
    return tuple(integer(item, f"{where or ''}[{i}]", low) for i, item in enumerate(items))


def shape(value: object, where: str | None, *, low: int = 0) -> tuple[int, ...]:
    """`value` as a shape: at most 64 lengths of at least `low`, each below 2**63."""
    lengths = integers(value, where, low)
    if len(lengths) > MAX_NDIM:
        fail(where, f"at most {MAX_NDIM} dimensions", len(lengths))
    if max(lengths, default=0) > MAX_NBYTES:
        fail(where, "lengths below 2**63", list(lengths))
    return lengths


def checked_nbytes(lengths: Iterable[int], item_size: int, where: str) -> int:
    """Bytes of a chunk of `lengths` items, checked to be less than 2**63."""
    lengths = tuple(lengths)
    nbytes = item_size * prod(lengths)
    if nbytes > MAX_NBYTES:
        fail(where, f"a chunk of less than 2**63 bytes ({item_size} bytes an item)", list(lengths))
    return nbytes


def known_keys(data: Mapping[str, Any], known: Iterable[str]) -> None:
    """Check that `data` has no other keys than `known`."""
    known = tuple(known)
    for key in data:
        if key not in known:
            allowed = ", ".join(known) or "none"
            raise MetadataValidationError(f"unknown key; known here: {allowed}", where=str(key))


def named_configuration(data: object) -> tuple[str, dict[str, Any], bool]:
    """Name, configuration and ``must_understand`` of an extension (Zarr v3, "Extension definition").

    A short-hand name is the same as an object with that name alone.
    """
    if isinstance(data, str):
        return _extension_name(data, None), {}, True
    if not isinstance(data, dict):
        fail(None, "a name or an object with a name", data)
    known_keys(data, ("name", "configuration", "must_understand"))
    name = _extension_name(data.get("name"), "name")
    configuration = dict(mapping(data.get("configuration", {}), "configuration"))
    return name, configuration, boolean(data.get("must_understand", True), "must_understand")


def _extension_name(name: object, where: str | None) -> str:
    if not isinstance(name, str) or not name:
        fail(where, "a name", name)
    return str(name)
