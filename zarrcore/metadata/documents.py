"""JSON documents: bytes -> values and back, strictly (RFC 8259; Zarr v3, "Metadata")."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any, Self

import numpy as np

from zarrcore._core.json_text import copied, indented
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES, describe, mapping, view_of
from zarrcore.config import config
from zarrcore.errors import MetadataValidationError, printable

ZARR_JSON = "zarr.json"
ZARRAY_JSON, ZATTRS_JSON = ".zarray", ".zattrs"
ZGROUP_JSON, ZMETADATA_V2_JSON = ".zgroup", ".zmetadata"
NAMES = {3: (ZARR_JSON,), 2: (ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON), 1: ("meta", "attrs")}
"""Names of the documents of a node, by Zarr format; that of an array first."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JSONDecodeError(MetadataValidationError, json.JSONDecodeError):
    """A metadata document is not JSON: the error of :mod:`json` too, which zarr-python raises."""

    def __init__(self, message: str = "", *, where: str | None = None, key: str | None = None) -> None:
        MetadataValidationError.__init__(self, message, where=where, key=key)
        self.msg, self.doc, self.pos, self.lineno, self.colno = message, "", 0, 1, 1

    __reduce__ = MetadataValidationError.__reduce__  # not what a JSONDecodeError is made of


def load_document(data: Buffer, *, where: str) -> dict[str, Any]:
    """Parse a metadata document.

    Parameters
    ----------
    data : bytes-like
        The stored value.
    where : str
        Its store key, for messages.

    Returns
    -------
    dict
        The document.  The tokens ``NaN``, ``Infinity`` and ``-Infinity``, which are no JSON but which other
        writers put into attributes and format 2 fill values, come back as floats: whoever reads a member
        judges it.

    Raises
    ------
    MetadataValidationError
        If the value is larger than 256 MiB, not UTF-8, not JSON, no object, has a name twice in one object,
        or is nested too deeply.

    Examples
    --------
    >>> load_document(b'{"zarr_format": 2}', where=".zgroup")
    {'zarr_format': 2}
    >>> load_document(b"{", where=".zgroup")
    Traceback (most recent call last):
        ...
    zarrcore.metadata.documents.JSONDecodeError: .zgroup: not valid JSON: ...
    """
    return parse_document(decode_document(data, where=where), where=where)


def stored_bytes(data: Buffer, *, where: str) -> bytes:
    """Return what a store, which a user may have written, has under the key of a document, as bytes."""
    if type(data) is bytes:
        return data
    try:
        return view_of(data).tobytes()
    except Exception as error:  # whatever the export of a user's class raises
        raise MetadataValidationError(f"expected bytes, got {type(data).__name__}", key=where) from error


def decode_document(data: Buffer, *, where: str) -> str:
    """Return the text of a document."""
    data = stored_bytes(data, where=where)
    nbytes = len(data)
    if nbytes > MAX_DOCUMENT_NBYTES:
        message = f"a metadata document has at most {MAX_DOCUMENT_NBYTES} bytes, this one {nbytes}"
        raise MetadataValidationError(message, key=where)
    raw = data.removeprefix(_BYTE_ORDER_MARK)  # RFC 8259, 8.1: a parser may ignore it
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MetadataValidationError(f"not UTF-8: {error}", key=where) from error


def parse_document(text: str, *, where: str) -> dict[str, Any]:
    """:func:`load_document` for what has been decoded."""
    try:
        document = _decoded(text)
    except RecursionError as error:
        raise MetadataValidationError("nested too deeply", key=where) from error
    except MetadataValidationError as error:
        raise MetadataValidationError(error.reason, key=where) from None
    except ValueError as error:
        reason = "the document is empty" if not text.strip() else str(error)
        found = JSONDecodeError(f"not valid JSON: {reason}", key=where)
        if isinstance(error, json.JSONDecodeError):
            found.doc, found.pos, found.lineno, found.colno = error.doc, error.pos, error.lineno, error.colno
        raise found from error
    if not isinstance(document, dict):
        raise MetadataValidationError(f"expected a JSON object, got {describe(document)}", key=where)
    return document


def dump_document(document: Mapping[str, Any], *, where: str) -> bytes:
    """Return a metadata document as bytes, indented by the configuration ``json_indent``.

    Parameters
    ----------
    document : dict
        The document.
    where : str
        Its store key, for messages.

    Raises
    ------
    MetadataValidationError
        If a value is NaN or infinite, for which JSON has no number, or values are nested too deeply.

    Examples
    --------
    >>> dump_document({"zarr_format": 2}, where=".zgroup").split()
    [b'{', b'"zarr_format":', b'2', b'}']
    """
    try:
        return _text(document, config.get("json_indent", 2)).encode()
    except RecursionError as error:
        raise MetadataValidationError("nested too deeply", key=where) from error
    except ValueError:
        refuse_nan(document, where)
        try:  # what is left are numbers that stood in a document already
            return json.dumps(document, indent=config.get("json_indent", 2)).encode()
        except ValueError as error:  # or an integer of more digits than Python writes
            raise MetadataValidationError(str(error), key=where) from None


def with_shape(document: bytes, old: tuple[int, ...], new: tuple[int, ...]) -> bytes | None:
    """Return a document of :func:`dump_document` with the shape `new` in place of `old`.

    Each append writes the document, and only the shape in it changes.  None if the text of the shape is
    ambiguous, or was indented differently from the present configuration.
    """
    before = _shape_member(old)
    return document.replace(before, _shape_member(new)) if document.count(before) == 1 else None


def _shape_member(shape: tuple[int, ...]) -> bytes:
    return _text({"shape": list(shape)}, config.get("json_indent", 2))[1:-1].rstrip("\n").encode()


def _text(document: Mapping[str, Any], indent: int | str | None) -> str:
    """Return the same as ``json.dumps``, which takes five times as long to indent."""
    if indent is not None:
        try:
            return indented(document, " " * indent if isinstance(indent, int) else indent, _other_text)
        except TypeError:
            pass  # a name that is no string, which json.dumps turns into one or refuses
    return json.dumps(document, indent=indent, allow_nan=False)


def _other_text(value: Any) -> str:
    """Return the JSON of a value that is of no plain type, or not finite."""
    if type(value) is NonFinite:
        return value.text
    if type(value) is float:
        return json.dumps(value, allow_nan=False)  # refuses it
    raise TypeError(f"{type(value).__name__} is left to json.dumps")


def parse_attributes(attributes: object) -> dict[str, Any]:
    """Return `attributes` as plain JSON values; None is no attributes.

    With the setting ``attributes.nan="allow"``, NaN and infinities become :class:`NonFinite` and are stored.

    Examples
    --------
    >>> parse_attributes({"title": "waves", "depths": (1, 2)})
    {'title': 'waves', 'depths': [1, 2]}
    """
    as_dict = getattr(attributes, "asdict", None)
    found = as_dict() if callable(as_dict) else attributes
    try:
        return {} if found is None else json_value(mapping(found, "attributes"), "attributes")
    except RecursionError:
        raise MetadataValidationError("attributes: nested too deeply, or in themselves") from None


def json_value(value: Any, where: str) -> Any:
    """Return `value` as JSON would return it: tuples as lists, NumPy scalars as Python's."""
    try:
        return copied(value, _json_value)
    except TypeError:
        return _json_value(value, where)  # fails again, and says where


def _json_value(value: Any, where: str = "") -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return _plain(value)
    if isinstance(value, (list, tuple)):
        return [_json_value(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {_key(name, where): _json_value(item, f"{where}.{name}") for name, item in value.items()}
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        return _plain(value.item())
    kind = type(value).__name__
    hint = "; value.tolist() is one" if isinstance(value, np.ndarray) else ""
    hint = "; str(value) is one" if isinstance(value, (np.datetime64, np.timedelta64, date)) else hint
    raise TypeError(f"{printable(where)}: {kind} is not a JSON value: {describe(value)}{hint}")


def names_of_xarray(attributes: Mapping[str, Any], ndim: int) -> tuple[str, ...] | None:
    """Return the names of dimensions that xarray stores in attributes of format 2; None if there are none."""
    names = attributes.get("_ARRAY_DIMENSIONS")
    fits = isinstance(names, list) and len(names) == ndim and all(isinstance(name, str) for name in names)
    return tuple(names) if fits else None  # type: ignore[arg-type]


def refuse_nan(value: Any, where: str) -> None:
    """Check that `value` contains neither NaN nor infinities.

    JSON has no numbers for them, and what other programs make of the tokens differs.  Those that a document
    held already stay (:class:`NonFinite`): nobody is kept from changing anything else of it.
    """
    if isinstance(value, float) and not math.isfinite(value) and type(value) is not NonFinite:
        raise MetadataValidationError(
            f"{printable(where)}: JSON has no number {value}; write it as a string or leave it out; the "
            "configuration attributes.nan='allow' stores it in attributes, as zarr-python does"
        )
    if isinstance(value, dict):
        for name, item in value.items():
            refuse_nan(item, f"{where}: {name}" if ": " not in where else f"{where}.{name}")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            refuse_nan(item, f"{where}[{i}]")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise MetadataValidationError(
            f"the name {describe(twice)} occurs twice in one object, and programs differ in which of the two "
            "they read: remove one"
        )
    return found


class NonFinite(float):
    """NaN or an infinity of a document, where it is a bare token, or a number such as 1e400; it stays that.

    NaN equals NaN here: the same documents have the same metadata.
    """

    __slots__ = ("text",)
    text: str
    """What stands for it in documents."""

    def __new__(cls, value: float | str) -> Self:
        made = super().__new__(cls, value)
        made.text = value if isinstance(value, str) else made.token
        return made

    def __reduce__(self) -> Any:
        return type(self), (self.text,)

    @property
    def token(self) -> str:
        """How other programs write it."""
        return "NaN" if math.isnan(self) else "Infinity" if self > 0 else "-Infinity"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NonFinite):
            return self.token == other.token
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


def _real(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else NonFinite(text)  # larger than any float


def _integer(text: str) -> int | NonFinite:
    try:
        return int(text)
    except ValueError:  # more digits than Python reads
        return NonFinite(text)


_decoder = partial(json.JSONDecoder, object_pairs_hook=_unique, parse_float=_real, parse_constant=NonFinite)
_DECODER = _decoder()


def _decoded(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, MetadataValidationError):
        raise
    except ValueError:  # an integer has too many digits; a function for all of them would cost time
        return _decoder(parse_int=_integer).decode(text)


def _key(name: Any, where: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{printable(where)}: expected names that are strings, got {name!r}")
    return str(name)


def _plain(value: Any) -> Any:
    """Return the value without a subclass, such as that of ``numpy.float64`` or of an enumeration."""
    kind = type(value)
    if value is None or kind in (bool, int, str, NonFinite):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    number = float.__float__(value)
    if not math.isfinite(number) and config.get("attributes.nan", "refuse") == "allow":
        return NonFinite(number)
    return number
