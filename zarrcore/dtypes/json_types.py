"""JSON forms of the data types, for type checkers; nothing here is needed to read or write data."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypedDict, TypeVar

Name = TypeVar("Name")
ObjectCodecID = TypeVar("ObjectCodecID")
Configuration = TypeVar("Configuration")

DateTimeUnit = Literal[
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"
]  # fmt: skip


class DTypeConfig_V2(TypedDict, Generic[Name, ObjectCodecID]):  # zarr-python's name
    """A data type of Zarr v2: the ``dtype`` member, and the codec that defines the items of ``"|O"``.

    Examples
    --------
    >>> int32: DTypeConfig_V2[str, None] = {"name": "<i4", "object_codec_id": None}
    >>> zarrcore.dtype.get_data_type_from_json(int32, zarr_format=2).item_size
    4
    """

    name: Name
    object_codec_id: ObjectCodecID


DTypeSpec_V2 = DTypeConfig_V2[Any, str | None]
DTypeSpec_V3 = Any

# In format 2, data types with a length or a unit have it in their name: "<U4", "|S4", "|V4", "<M8[10s]".
FixedLengthUTF32JSON_V2 = DTypeConfig_V2[str, None]
NullterminatedBytesJSON_V2 = DTypeConfig_V2[str, None]
RawBytesJSON_V2 = DTypeConfig_V2[str, None]
DateTime64JSON_V2 = DTypeConfig_V2[str, None]
TimeDelta64JSON_V2 = DTypeConfig_V2[str, None]
VariableLengthUTF8JSON_V2 = DTypeConfig_V2[Literal["|O"], Literal["vlen-utf8"]]
VariableLengthBytesJSON_V2 = DTypeConfig_V2[Literal["|O"], Literal["vlen-bytes"]]
StructuredJSON_V2 = DTypeConfig_V2[Any, None]
"""The name is a list ``[["a", "<i4"], ...]``."""


class DTypeConfig_V3(TypedDict, Generic[Name, Configuration]):
    """A data type of Zarr v3 that has a configuration."""

    name: Name
    configuration: Configuration


class LengthBytesConfig(TypedDict):
    """The configuration of data types with a fixed length."""

    length_bytes: int


class TimeConfig(TypedDict):
    """The configuration of points in time and differences: an item counts steps of ``scale_factor`` units."""

    unit: DateTimeUnit
    scale_factor: int


FixedLengthUTF32JSON_V3 = DTypeConfig_V3[Literal["fixed_length_utf32"], LengthBytesConfig]
NullTerminatedBytesJSON_V3 = DTypeConfig_V3[Literal["null_terminated_bytes"], LengthBytesConfig]
RawBytesJSON_V3 = DTypeConfig_V3[Literal["raw_bytes"], LengthBytesConfig]
"""Unless it is spelled ``r<N>``."""
DateTime64JSON_V3 = DTypeConfig_V3[Literal["numpy.datetime64"], TimeConfig]
TimeDelta64JSON_V3 = DTypeConfig_V3[Literal["numpy.timedelta64"], TimeConfig]
StructuredJSON_V3 = DTypeConfig_V3[Literal["structured"], dict[str, Any]]
"""The fields are lists ``[name, data type]``."""
StructJSON_V3 = DTypeConfig_V3[Literal["struct"], dict[str, Any]]
"""The fields are objects with ``name`` and ``data_type``."""
