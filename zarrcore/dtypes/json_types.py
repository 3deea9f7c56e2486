"""JSON forms of the data types, for type checkers; nothing here is needed to read or write data."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypedDict, TypeVar

NameV2 = TypeVar("NameV2")
ObjectCodecID = TypeVar("ObjectCodecID")

DateTimeUnit = Literal[
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"
]  # fmt: skip


class DTypeConfig_V2(TypedDict, Generic[NameV2, ObjectCodecID]):  # noqa: N801 - zarr-python's name
    """A data type of Zarr v2: the ``dtype`` member, and the codec that defines the items of ``"|O"``."""

    name: NameV2
    object_codec_id: ObjectCodecID


DTypeSpec_V2 = DTypeConfig_V2[Any, str | None]
DTypeSpec_V3 = Any

# In format 2, data types with a length or a unit have it in their name: "<U4", "|S4", "|V4", "<M8[10s]".
FixedLengthUTF32JSON_V2 = DTypeConfig_V2[str, None]
NullterminatedBytesJSON_V2 = DTypeConfig_V2[str, None]
RawBytesJSON_V2 = DTypeConfig_V2[str, None]
DateTime64JSON_V2 = DTypeConfig_V2[str, None]
TimeDelta64JSON_V2 = DTypeConfig_V2[str, None]


class LengthBytesConfig(TypedDict):
    """The configuration of data types with a fixed length."""

    length_bytes: int


class FixedLengthUTF32JSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`FixedLengthUTF32` in format 3."""

    name: Literal["fixed_length_utf32"]
    configuration: LengthBytesConfig


class VariableLengthUTF8JSON_V2(DTypeConfig_V2[Literal["|O"], Literal["vlen-utf8"]]):  # noqa: N801
    """JSON of :class:`VariableLengthUTF8` in format 2."""


class NullTerminatedBytesJSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`NullTerminatedBytes` in format 3."""

    name: Literal["null_terminated_bytes"]
    configuration: LengthBytesConfig


class RawBytesJSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`RawBytes` in format 3, unless it is spelled ``r<N>``."""

    name: Literal["raw_bytes"]
    configuration: LengthBytesConfig


class VariableLengthBytesJSON_V2(DTypeConfig_V2[Literal["|O"], Literal["vlen-bytes"]]):  # noqa: N801
    """JSON of :class:`VariableLengthBytes` in format 2."""


class TimeConfig(TypedDict):
    """The configuration of both data types: an item counts steps of ``scale_factor`` units."""

    unit: DateTimeUnit
    scale_factor: int


class DateTime64JSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`DateTime64` in format 3."""

    name: Literal["numpy.datetime64"]
    configuration: TimeConfig


class TimeDelta64JSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`TimeDelta64` in format 3."""

    name: Literal["numpy.timedelta64"]
    configuration: TimeConfig


class StructuredJSON_V2(DTypeConfig_V2[Any, None]):  # noqa: N801
    """JSON of structured data types in format 2; the name is a list ``[["a", "<i4"], ...]``."""


class StructuredJSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`Structured` in format 3: the fields are lists ``[name, data type]``."""

    name: Literal["structured"]
    configuration: dict[str, Any]


class StructJSON_V3(TypedDict):  # noqa: N801
    """JSON of :class:`Struct` in format 3: the fields are objects with ``name`` and ``data_type``."""

    name: Literal["struct"]
    configuration: dict[str, Any]
