"""Spellings of data types in metadata documents, brought into one form.

Zarr v3 lets an extension be written as a name or as an object (core specification, "Extension definition");
Zarr v2 uses the type strings of NumPy (version 2 specification, "Data type encoding").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from zarrcore._typed import NamedTuple
from zarrcore._validate import MAX_DEPTH
from zarrcore.dtypes.base import EndiannessStr, HasEndianness, ZDType
from zarrcore.errors import DataTypeValidationError

if TYPE_CHECKING:
    from zarrcore.dtypes.json_types import DTypeConfig_V2, DTypeSpec_V2, DTypeSpec_V3

TOO_DEEP = f"data types are nested more than {MAX_DEPTH} levels deep"

_MOST_ITEMS = 1 << 19  # lists, names, types and lengths of a structure

_TYPE_STRING = r"([<>|])([A-Za-z])(\d{0,10})(?:\[(\d{0,10})([A-Za-zμµ]+)\])?"


class TypeString(NamedTuple):
    """The parts of a Zarr v2 type string such as ``"<M8[25s]"``."""

    order: str
    kind: str
    size: int
    scale: int
    unit: str | None

    @property
    def endianness(self) -> EndiannessStr:
        """The byte order of items that have one."""
        return "big" if self.order == ">" else "little"


def type_string(name: object) -> TypeString | None:
    """Return the parts of `name`, or None if it is no type string."""
    match = re.fullmatch(_TYPE_STRING, name, re.ASCII) if isinstance(name, str) else None
    if match is None:
        return None
    order, kind, size, scale, unit = match.groups()
    return TypeString(order, kind, int(size or 0), int(scale or 1), unit)


def type_string_v2(cls: type[ZDType[Any, Any]], data: object) -> TypeString:
    """Return the type string of a v2 data type, if it is one of the code of `cls` and has no object codec."""
    kind, size = cls._code[0], cls._code[1:]
    is_wide = issubclass(cls, HasEndianness)
    expected = f"a type string such as '{'<' if is_wide else '|'}{kind}{size or 4}'"
    if not check_dtype_spec_no_object_codec_v2(data):
        raise cls._reject_json(data, f"an object with 'name' ({expected}) and 'object_codec_id' (null)")
    parts = type_string(data["name"])
    if (
        parts is None
        or parts.kind != kind
        or (size and parts.size != int(size))
        or (parts.unit is not None and kind not in "mM")
        or (parts.order == "|" and is_wide)
    ):
        raise cls._reject_json(data["name"], expected)
    return parts


def config_v3(cls: type[ZDType[Any, Any]], data: object, *members: str) -> tuple[Any, ...]:
    """Return the `members` of the configuration in the canonical v3 form `data`; others are refused."""
    expected = f"{{'name': {cls._zarr_v3_name!r}, 'configuration': {{{', '.join(map(repr, members))}}}}}"
    if not isinstance(data, Mapping) or data.get("name") != cls._zarr_v3_name:
        raise cls._reject_json(data, expected)
    configuration = data.get("configuration")
    if not isinstance(configuration, Mapping) or set(configuration) != set(members):
        raise cls._reject_json(data, expected)
    return tuple(configuration[member] for member in members)


def check_nesting(data: object) -> None:
    """Refuse lists and objects that are nested too deeply for functions that call themselves for each level.

    A structure of format 3 takes four levels.  Nor may there be more of them than can be meant: of each, the
    levels below it are looked at several times.
    """
    level = [data]
    left = _MOST_ITEMS
    for _ in range(5 * MAX_DEPTH):
        inner: list[object] = []
        for item in level:
            if isinstance(item, Mapping):
                inner.extend(item.values())
            elif isinstance(item, (list, tuple)):
                inner.extend(item)
        if not inner:
            return
        left -= len(inner)
        if left < 0:
            raise DataTypeValidationError(f"the names and types of fields are more than {_MOST_ITEMS}")
        level = inner
    raise DataTypeValidationError(TOO_DEEP)


def check_dtype_spec_v2(data: object) -> TypeGuard[DTypeSpec_V2]:
    """Return whether `data` has the form ``{"name": ..., "object_codec_id": ...}`` of a Zarr v2 data type.

    Examples
    --------
    >>> check_dtype_spec_v2({"name": "|O", "object_codec_id": "vlen-utf8"})
    True
    >>> check_dtype_spec_v2("int32")
    False
    """
    if not isinstance(data, Mapping) or set(data) != {"name", "object_codec_id"}:
        return False
    codec_id = data["object_codec_id"]
    return check_dtype_name_v2(data["name"]) and (codec_id is None or isinstance(codec_id, str))


def check_dtype_spec_no_object_codec_v2(data: object) -> TypeGuard[DTypeConfig_V2[Any, None]]:
    """Return whether `data` has the form of a Zarr v2 data type without an object codec.

    Examples
    --------
    >>> check_dtype_spec_no_object_codec_v2({"name": "<i4", "object_codec_id": None})
    True
    >>> check_dtype_spec_no_object_codec_v2({"name": "|O", "object_codec_id": "vlen-utf8"})
    False
    """
    return check_dtype_spec_v2(data) and data["object_codec_id"] is None


def check_dtype_spec_v3(data: object) -> TypeGuard[DTypeSpec_V3]:
    """Return whether `data` has the form of a Zarr v3 data type: a name, or a name and a configuration.

    Examples
    --------
    >>> check_dtype_spec_v3("int32")
    True
    >>> check_dtype_spec_v3({"name": "<i4", "object_codec_id": None})
    False
    """
    if isinstance(data, str):
        return True
    if not isinstance(data, Mapping) or not {"name"} <= set(data) <= {"name", "configuration"}:
        return False
    configuration = data.get("configuration", {})
    return isinstance(configuration, Mapping) and all(isinstance(key, str) for key in configuration)


def check_dtype_name_v2(data: object) -> bool:
    """Whether `data` has the form of the ``dtype`` member of Zarr v2: a string, or a list of fields."""
    check_nesting(data)
    return isinstance(data, str) or _check_fields_v2(data)


def _check_fields_v2(data: object) -> bool:
    if isinstance(data, (str, Mapping)) or not isinstance(data, Sequence):
        return False
    return all(_check_field_v2(field) for field in data)


def _check_field_v2(field: object) -> bool:
    """Return whether `field` is a name, a data type and, for a sub-array, a shape."""
    if isinstance(field, str) or not isinstance(field, Sequence) or len(field) not in (2, 3):
        return False
    if not isinstance(field[0], str) or not (isinstance(field[1], str) or _check_fields_v2(field[1])):
        return False
    return len(field) == 2 or isinstance(field[2], (list, tuple))
