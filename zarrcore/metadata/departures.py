"""Where a stored document departs from the letter of the specification, and how it is read all the same.

The rule: zarrcore writes to the letter, and reads whatever has one meaning, with a
:class:`~zarrcore.errors.ZarrcoreWarning` where the letter is broken.  The functions here bring a document
into the form that the strict parsers take, and list what they changed.  What they do not know stays as it is,
for the parsers to judge.
"""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from zarrcore._typed import NamedTuple
from zarrcore._validate import describe
from zarrcore.dtypes import ZDType
from zarrcore.dtypes.scalars import bytes_from_json, bytes_to_json
from zarrcore.errors import BaseZarrError, DataTypeValidationError, ZarrcoreWarning
from zarrcore.metadata.documents import NonFinite
from zarrcore.registry import compressor_registry


class Departure(NamedTuple):
    """One place where a document departs from the specification.

    Attributes
    ----------
    where : str
        The place in the document, such as ``"compressor.checksum"``.
    reading : str
        What stands there, and how it is read.
    clause : str
        The clause that is broken.
    key : str or None
        The store key of the document, where it is known.

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.zeros(4, store=store, zarr_format=2)
    >>> document = load_document(store[".zarray"], where=".zarray")
    >>> document["fill_value"] = "0"
    >>> [departure.where for departure in validate(dump_document(document, where=""), key=".zarray")]
    ['fill_value']
    """

    where: str
    reading: str
    clause: str
    key: str | None = None

    def below(self, place: str | None, key: str | None) -> Departure:
        """Return the same departure at `place` of another document, which is stored at `key`."""
        where = f"{place}.{self.where}" if place else self.where
        return self._replace(where=where, key=key or self.key)


# --- reporting ---

_collector: ContextVar[list[Departure] | None] = ContextVar("zarrcore_departures", default=None)
_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def report(departures: Iterable[Departure], key: str | None) -> None:
    """Warn of the departures in the document at `key`, or add them to the list of :func:`collected`."""
    found = _collector.get()
    for departure in departures:
        if found is not None:
            found.append(departure.below(None, key))
            continue
        warning = ZarrcoreWarning(
            departure.reading, key=key or departure.key, where=departure.where, clause=departure.clause
        )
        warnings.warn(warning, stacklevel=level_of_caller())


@contextmanager
def collected() -> Iterator[list[Departure]]:
    """Collect departures in a list instead of warning of them."""
    found: list[Departure] = []
    token = _collector.set(found)
    try:
        yield found
    finally:
        _collector.reset(token)


def level_of_caller() -> int:
    """Return the ``stacklevel``, counted from the caller of this function, of code outside zarrcore."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


# --- members that do not describe how chunks are stored ---

_V2, _V3 = "Zarr v2", "Zarr v3"
ATTRIBUTES_V2 = f'{_V2}, "Attributes": attributes are a JSON object'
_OPTIONAL = {
    2: {"attributes": ATTRIBUTES_V2},
    3: {
        "attributes": f'{_V3}, "Metadata": attributes must be an object',
        "dimension_names": f'{_V3}, "Array metadata": dimension_names must be an array',
        "storage_transformers": f'{_V3}, "Array metadata": storage_transformers must be an array',
    },
}
_NO_MEMBER = "null is read as if the member were not there"


def without_nulls(data: Mapping[str, Any], zarr_format: int) -> tuple[Mapping[str, Any], list[Departure]]:
    """Return a node's document without nulls where a member is to be left out, and these departures.

    The shape is made of integers, too: it is a member that each array has by itself.
    """
    clauses = _OPTIONAL[zarr_format]
    names = [name for name in clauses if data.get(name, ...) is None]
    found = [Departure(name, _NO_MEMBER, clauses[name]) for name in names]
    shape = _lengths(data.get("shape"), "shape", zarr_format, found)
    if not found:
        return data, []
    kept = {name: value for name, value in data.items() if name not in names}
    return (kept | {"shape": shape} if "shape" in kept else kept), found


def _lengths(lengths: Any, where: str, zarr_format: int, found: list[Departure]) -> Any:
    """Return lengths with integers in place of numbers such as ``3.0``."""
    made = _whole(lengths) if isinstance(lengths, list) else lengths
    if not isinstance(made, list) or [*map(type, made)] == [*map(type, lengths)]:
        return lengths
    clause = f'{_V3 if zarr_format == 3 else _V2}, "Metadata": lengths are integers'
    found.append(Departure(where, f"{describe(lengths)} is read as {made}", clause))
    return made


def members_of(data: Mapping[str, Any], zarr_format: int) -> tuple[Mapping[str, Any], list[Departure]]:
    """Return the members of an array's document as the strict parser takes them, and the departures."""
    try:
        return _members_of_v3(data) if zarr_format == 3 else _members_of_v2(data)
    except RecursionError:  # nested too deeply, for which the parser has an error
        return data, []


# --- format 2 ---

_REQUIRED_V2 = f'{_V2}, "Metadata": the key must be present'
_SEPARATOR_V2 = f'{_V2}, "Metadata": dimension_separator is "." or "/"'
_CODEC_V2 = f'{_V2}, "Metadata": the configuration is that of the codec'
_DTYPE_V2 = f'{_V2}, "Data type encoding": the byte order must be specified'
_FILL_V2 = f'{_V2}, "Fill value encoding"'


def _members_of_v2(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Departure]]:
    made, found = dict(data), list[Departure]()
    for name in ("compressor", "filters"):
        if name not in made:
            made[name] = None
            found.append(Departure(name, "missing, read as null", _REQUIRED_V2))
    if "chunks" in made:
        made["chunks"] = _lengths(made["chunks"], "chunks", 2, found)
    if made.get("dimension_separator", ...) is None:
        del made["dimension_separator"]
        found.append(Departure("dimension_separator", 'null is read as "."', _SEPARATOR_V2))
    if made["compressor"] == {"type": "raw"}:  # of n5-zarr before 2020
        made["compressor"] = None
        found.append(Departure("compressor", '{"type": "raw"} of N5 is read as null', _CODEC_V2))
    made["compressor"] = _codec_v2(made["compressor"], "compressor", found)
    if isinstance(made["filters"], list):
        made["filters"] = [_codec_v2(c, f"filters[{i}]", found) for i, c in enumerate(made["filters"])]
    if "dtype" in made:
        made["dtype"] = _dtype_v2(made["dtype"], found)
        if "fill_value" in made:
            made["fill_value"] = _fill_v2(made, found)
    return made, found


def _codec_v2(config: Any, where: str, found: list[Departure]) -> Any:
    """Return a codec without those members that cannot be read and that decoding does not need."""
    name = config.get("id") if isinstance(config, dict) else None
    if not isinstance(name, str) or name not in compressor_registry:
        return config
    cls = compressor_registry.get(name)
    needed = getattr(cls, "needed_to_decode", None)
    if needed is None or _is_accepted(cls, config):
        return config
    kept = {"id": name}
    for member, value in config.items():
        if member == "id" or member in needed or _is_accepted(cls, {"id": name, member: value}):
            kept[member] = value
    if not _is_accepted(cls, kept):
        return config
    for member in config.keys() - kept.keys():
        reading = f"{describe(config[member])} is passed over, since decoding {name} does not need it"
        found.append(Departure(f"{where}.{member}", reading, _CODEC_V2))
    return kept


def _is_accepted(cls: Any, config: dict[str, Any]) -> bool:
    try:
        cls.from_config(config)
    except (BaseZarrError, TypeError):
        return False
    return True


def _dtype_v2(dtype: Any, found: list[Departure], where: str = "dtype") -> Any:
    """Return a data type with the byte order that its writer left out: all known ones were little-endian."""
    if isinstance(dtype, list):
        return [
            [field[0], _dtype_v2(field[1], found, f"{where}[{i}]"), *field[2:]]
            if isinstance(field, list) and len(field) in (2, 3)
            else field
            for i, field in enumerate(dtype)
        ]
    if not isinstance(dtype, str):
        return dtype
    ordered = _NUMPY_NAMES.get(dtype) or _ordered(dtype)
    if ordered is None:
        return dtype
    found.append(Departure(where, f'"{dtype}" is read as "{ordered}"', _DTYPE_V2))
    return ordered


_NUMBERS = "?bhilqBHILQefdFD"  # NumPy's codes
_NUMPY_NAMES = {np.dtype(code).name: np.dtype(code).newbyteorder("<").str for code in _NUMBERS}


def _ordered(text: str) -> str | None:
    """Return a type string that leaves the byte order to the machine, with that of little-endian machines."""
    from zarrcore.dtypes.spelling import type_string

    parts = type_string("<" + text.removeprefix("="))
    if parts is None or text[:1] in "<>|":
        return None
    has_order = parts.kind in "mMU" or (parts.kind in "iufc" and parts.size > 1)
    return ("<" if has_order else "|") + text.removeprefix("=")


def _fill_v2(document: dict[str, Any], found: list[Departure]) -> Any:
    from zarrcore.dtypes import dtype_from_v2
    from zarrcore.dtypes.objects import object_codec_id

    data = document["fill_value"]
    if data is None:
        return None
    filters = document["filters"] if isinstance(document["filters"], list) else []
    configs = [*filters, document["compressor"]]
    ids = (str(config.get("id")) for config in configs if isinstance(config, dict))
    try:
        zdtype = dtype_from_v2(document["dtype"], object_codec_id(ids))
    except BaseZarrError:
        return data
    return _fill_value(data, zdtype, 2, found)


# --- format 3 ---

_CODECS_V3 = f'{_V3}, "Array metadata": codecs must have one array -> bytes codec'
_TRANSPOSE_V3 = f'{_V3}, codec "transpose": order must be an array of integers'
_ENDIAN_V3 = f'{_V3}, "Codecs": the codec is called bytes'
_GRID_V3 = f'{_V3}, "Regular grids": chunk lengths must be at least 1'
_SEPARATOR_V3 = f'{_V3}, "Chunk key encoding": separator is "." or "/"'
_OBJECT_V3 = f'{_V3}, "Extension definition": parameters are members of configuration'
_UNDERSTAND_V3 = f'{_V3}, "must_understand": it is not supported here'
_TYPESIZE_V3 = f'{_V3}, codec "blosc": typesize is required unless shuffle is "noshuffle"'
_FILL_V3 = f'{_V3}, "Fill value"'


def _members_of_v3(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Departure]]:
    given, made, found = data, dict(data), list[Departure]()
    shape = data.get("shape")
    for name in ("data_type", "chunk_grid", "chunk_key_encoding"):
        made[name] = _understood(made.get(name), name, found)
    data = made
    if isinstance(shape, list):
        made["codecs"] = _codecs_v3(data.get("codecs"), len(shape), "codecs", found)
        made["chunk_grid"] = _grid_v3(data.get("chunk_grid"), shape, found)
    made["chunk_key_encoding"] = _keys_v3(data.get("chunk_key_encoding"), found)
    if "fill_value" in data:
        made["fill_value"] = _fill_v3(data, found)
    made = {name: value for name, value in made.items() if name in given}
    return (made, found) if found else (given, found)


def _understood(extension: Any, where: str, found: list[Departure]) -> Any:
    """Return an extension that has to be understood without the remark that it has not."""
    if not isinstance(extension, dict) or extension.get("must_understand") is not False:
        return extension
    found.append(Departure(f"{where}.must_understand", "false is passed over", _UNDERSTAND_V3))
    return {name: value for name, value in extension.items() if name != "must_understand"}


def _codecs_v3(codecs: Any, ndim: int, where: str, found: list[Departure]) -> Any:
    if not isinstance(codecs, list):
        return codecs
    if codecs == [] and where == "codecs":
        found.append(Departure(where, "[] is read as the codec bytes, little-endian", _CODECS_V3))
        return [{"name": "bytes", "configuration": {"endian": "little"}}]
    return [_codec_v3(codec, ndim, f"{where}[{i}]", found) for i, codec in enumerate(codecs)]


def _codec_v3(codec: Any, ndim: int, where: str, found: list[Departure]) -> Any:
    configuration = codec.get("configuration") if isinstance(codec, dict) else None
    if codec == "endian" or (isinstance(codec, dict) and codec.get("name") == "endian"):
        found.append(Departure(where, '"endian" is read as "bytes"', _ENDIAN_V3))
        return {**codec, "name": "bytes"} if isinstance(codec, dict) else "bytes"
    if not isinstance(configuration, dict):
        return codec
    changed = {}
    if codec.get("name") == "transpose" and configuration.get("order") in ("C", "F"):
        axes = list(range(ndim))
        changed["order"] = axes if configuration["order"] == "C" else axes[::-1]
        reading = f"{describe(configuration['order'])} is read as {changed['order']}"
        found.append(Departure(f"{where}.configuration.order", reading, _TRANSPOSE_V3))
    shuffles = codec.get("name") == "blosc" and configuration.get("shuffle") in ("shuffle", "bitshuffle")
    if shuffles and "typesize" not in configuration:  # decoding does not need it
        reading = "missing, read as the size of the items"
        found.append(Departure(f"{where}.configuration.typesize", reading, _TYPESIZE_V3))
    if isinstance(configuration.get("codecs"), list):
        place = f"{where}.configuration.codecs"
        changed["codecs"] = _codecs_v3(configuration["codecs"], ndim, place, found)
    return {**codec, "configuration": {**configuration, **changed}} if changed else codec


def _grid_v3(grid: Any, shape: list[Any], found: list[Departure]) -> Any:
    """Return the chunk grid with chunk length 1 in place of 0 along dimensions of length 0."""
    place = "chunk_grid.configuration.chunk_shape"
    try:
        stored = grid["configuration"]["chunk_shape"]
        lengths = _lengths(stored, place, 3, found) if grid["name"] == "regular" else stored
        pairs = list(zip(lengths, shape, strict=True))
    except (TypeError, KeyError, ValueError):
        return grid
    made = [1 if type(n) is type(length) is int and n == length == 0 else n for n, length in pairs]
    if made != lengths:
        found.append(Departure(place, f"{describe(lengths)} is read as {made}", _GRID_V3))
    elif lengths is stored:
        return grid
    return {**grid, "configuration": {**grid["configuration"], "chunk_shape": made}}


def _keys_v3(encoding: Any, found: list[Departure]) -> Any:
    if isinstance(encoding, dict) and encoding.keys() == {"name", "separator"}:
        separator = encoding["separator"]
        reading = f"{describe(separator)} is read as if it were in the configuration"
        found.append(Departure("chunk_key_encoding.separator", reading, _OBJECT_V3))
        encoding = {"name": encoding["name"], "configuration": {"separator": separator}}
    configuration = encoding.get("configuration") if isinstance(encoding, dict) else None
    if not isinstance(configuration, dict) or configuration.get("separator", ...) is not None:
        return encoding
    found.append(Departure("chunk_key_encoding.configuration.separator", _NO_MEMBER, _SEPARATOR_V3))
    kept = {name: value for name, value in configuration.items() if name != "separator"}
    return {**encoding, "configuration": kept}


def _fill_v3(document: Mapping[str, Any], found: list[Departure]) -> Any:
    from zarrcore.dtypes import dtype_from_v3

    data = document["fill_value"]
    try:
        zdtype = dtype_from_v3(document["data_type"])
    except (BaseZarrError, KeyError, TypeError):
        return data
    if data is None:
        if zdtype.item_size is None or zdtype._serializer is not None:
            return None  # of text, null may be the empty one or none; of optional items it is none
        default = zdtype.to_json_scalar(zdtype.default_scalar(), zarr_format=3)
        clause = f"{_FILL_V3}: the fill value must be a value of the data type"
        found.append(Departure("fill_value", f"null is read as {describe(default)}", clause))
        return default
    return data if zdtype._serializer is not None else _fill_value(data, zdtype, 3, found)


# --- fill values ---

_RAW_BITS = "that of raw bits is an array of integers"
_BASE64 = "the fill value of bytes and structures is base64"
_WHOLE = "integers have neither fraction nor exponent"
_NUMBER = 'a number that is not "NaN", "Infinity" or "-Infinity" is a JSON number'
_NAMES = ("NaN", "Infinity", "-Infinity", "NaT")
_REAL = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|nan|inf"
_COMPLEX = rf"\(?([+-]?(?:{_REAL}))?(?:([+-]?(?:{_REAL}))j)?\)?"


def _fill_value(data: Any, zdtype: ZDType[Any, Any], zarr_format: int, found: list[Departure]) -> Any:
    """Return a fill value as it would be written, if it is one but for its spelling."""
    has_floats = zdtype.to_native_dtype().kind in "fcV"  # V: the small ones of ml_dtypes, and structures
    plain = _finite(data) if has_floats else data
    reading = _spelled(plain, zdtype, zarr_format)
    if reading is None:
        return data
    made, broken = reading
    broken = "JSON has no such number" if plain is not data else broken
    if broken is not None:
        clause = f"{_FILL_V2 if zarr_format == 2 else _FILL_V3}: {broken}"
        found.append(Departure("fill_value", f"{describe(data)} is read as {describe(made)}", clause))
    return made


def _finite(data: Any) -> Any:
    """`data` with the names of numbers that are not finite in place of bare tokens; itself without any."""
    if isinstance(data, float) and not math.isfinite(data):
        return data.token if isinstance(data, NonFinite) else NonFinite(data).token
    if isinstance(data, list):
        items = [_finite(item) for item in data]
        return items if any(a is not b for a, b in zip(items, data, strict=True)) else data
    if isinstance(data, dict):
        members = {name: _finite(item) for name, item in data.items()}
        return members if any(members[name] is not data[name] for name in data) else data
    return data


def _spelled(data: Any, zdtype: ZDType, zarr_format: int) -> tuple[Any, str | None] | None:
    """Return how a fill value is to be spelled, and the clause that its own spelling breaks, or None.

    None in place of both if `data` has no meaning for the data type.
    """
    scalar = _scalar(zdtype, data, zarr_format)
    if scalar is not _UNREADABLE:
        if zarr_format == 3:
            spelt = zdtype.to_json_scalar(scalar, zarr_format=3) if isinstance(data, str) else data
            return (spelt, _RAW_BITS) if isinstance(spelt, list) and spelt is not data else (data, None)
        broken = _broken_in_format_2(data, zdtype)
        return (data if broken is None else zdtype.to_json_scalar(scalar, zarr_format=2)), broken
    if zarr_format == 2:
        return _spelled_as_text(data, zdtype)
    whole = _whole(data)
    return None if _scalar(zdtype, whole, 3) is _UNREADABLE else (whole, _WHOLE)


_UNREADABLE = object()


def _scalar(zdtype: ZDType, data: Any, zarr_format: int) -> Any:
    try:
        return zdtype.from_json_scalar(data, zarr_format=zarr_format)  # type: ignore[arg-type]
    except (TypeError, ValueError, ArithmeticError, NotImplementedError):
        return _UNREADABLE


def _whole(data: Any) -> Any:
    """`data` with an integer in place of each number such as ``3.0``."""
    if isinstance(data, float) and data.is_integer():
        return int(data)
    if isinstance(data, dict):
        return {name: _whole(item) for name, item in data.items()}
    return [_whole(item) for item in data] if isinstance(data, list) else data


def _broken_in_format_2(data: Any, zdtype: ZDType) -> str | None:
    dtype = zdtype.to_native_dtype()
    if dtype.kind == "S" or dtype.type is np.void:
        return None if _is_base64(data, zdtype) else _BASE64
    return _NUMBER if dtype.kind in "iufcmMV" and _has_text(data) else None


def _is_base64(data: Any, zdtype: ZDType) -> bool:
    try:
        return isinstance(data, str) and bytes_from_json(zdtype, data) is not None
    except DataTypeValidationError:
        return False


def _has_text(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(_has_text(item) for item in data)
    return isinstance(data, str) and data not in _NAMES


def _spelled_as_text(data: Any, zdtype: ZDType) -> tuple[Any, str | None] | None:
    """Text that writers left for bytes, and complex numbers as Python writes them."""
    if not isinstance(data, str):
        return None
    dtype = zdtype.to_native_dtype()
    if dtype.kind == "S" and data.isascii() and len(data) <= dtype.itemsize:
        return bytes_to_json(data.encode()), _BASE64
    parts = re.fullmatch(_COMPLEX, data, re.ASCII | re.IGNORECASE) if data else None
    if parts is None or dtype.kind != "c" or not any(parts.groups()):
        return None
    scalar = _scalar(zdtype, [parts[1] or "0", parts[2] or "0"], 2)
    if scalar is _UNREADABLE:
        return None
    return zdtype.to_json_scalar(scalar, zarr_format=2), "a complex number is a pair"
