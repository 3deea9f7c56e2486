"""Data types: NumPy dtypes, their names in Zarr v2 and v3 metadata, and the fill values they allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.dtypes.base import (
    JSON,
    DataTypeRangeError,
    DataTypeTypeError,
    DTypeJSON,
    HasEndianness,
    HasItemSize,
    HasLength,
    HasObjectCodec,
    ZarrFormat,
    ZDType,
)
from zarrcore.dtypes.binary import (
    NullTerminatedBytes,
    RawBytes,
    VariableLengthBytes,
)
from zarrcore.dtypes.boolean import Bool
from zarrcore.dtypes.floating import Complex64, Complex128, Float16, Float32, Float64
from zarrcore.dtypes.integer import Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64
from zarrcore.dtypes.layout import scalar_to_bytes, swap_fields
from zarrcore.dtypes.objects import OBJECT_CODEC_IDS, PythonObject
from zarrcore.dtypes.parse import (
    dtype_from_v2,
    dtype_from_v3,
    dtype_to_v2,
    dtype_to_v3,
    get_data_type_from_json,
    get_data_type_from_native_dtype,
    native_order,
    parse_data_type,
    parse_dtype,
)
from zarrcore.dtypes.registry import DataTypeRegistry, data_type_registry
from zarrcore.dtypes.spelling import (
    check_dtype_spec_no_object_codec_v2,
    check_dtype_spec_v2,
    check_dtype_spec_v3,
)
from zarrcore.dtypes.strings import (
    FixedLengthUTF32,
    VariableLengthUTF8,
)
from zarrcore.dtypes.structured import (
    Struct,
    Structured,
    SubArray,
)
from zarrcore.dtypes.time import (
    DateTime64,
    TimeDelta64,
)
from zarrcore.errors import DataTypeValidationError

if TYPE_CHECKING:
    from zarrcore.dtypes.json_types import (
        DateTime64JSON_V2,
        DateTime64JSON_V3,
        DateTimeUnit,
        DTypeConfig_V2,
        DTypeSpec_V2,
        DTypeSpec_V3,
        FixedLengthUTF32JSON_V2,
        FixedLengthUTF32JSON_V3,
        NullterminatedBytesJSON_V2,
        NullTerminatedBytesJSON_V3,
        RawBytesJSON_V2,
        RawBytesJSON_V3,
        StructJSON_V3,
        StructuredJSON_V2,
        StructuredJSON_V3,
        TimeDelta64JSON_V2,
        TimeDelta64JSON_V3,
        VariableLengthBytesJSON_V2,
        VariableLengthUTF8JSON_V2,
    )

__all__ = [
    "DateTimeUnit",
    "Bool",
    "Complex128",
    "Complex64",
    "DTypeConfig_V2",
    "DTypeJSON",
    "DTypeSpec_V2",
    "DTypeSpec_V3",
    "DataTypeRangeError",
    "DataTypeRegistry",
    "DataTypeTypeError",
    "DataTypeValidationError",
    "DateTime64",
    "DateTime64JSON_V2",
    "DateTime64JSON_V3",
    "FixedLengthUTF32",
    "FixedLengthUTF32JSON_V2",
    "FixedLengthUTF32JSON_V3",
    "Float16",
    "Float32",
    "Float64",
    "HasEndianness",
    "HasItemSize",
    "HasLength",
    "HasObjectCodec",
    "Int16",
    "Int32",
    "Int64",
    "Int8",
    "JSON",
    "NullTerminatedBytes",
    "NullTerminatedBytesJSON_V3",
    "NullterminatedBytesJSON_V2",
    "OBJECT_CODEC_IDS",
    "PythonObject",
    "RawBytes",
    "RawBytesJSON_V2",
    "RawBytesJSON_V3",
    "Struct",
    "StructJSON_V3",
    "Structured",
    "StructuredJSON_V2",
    "StructuredJSON_V3",
    "SubArray",
    "TimeDelta64",
    "TimeDelta64JSON_V2",
    "TimeDelta64JSON_V3",
    "UInt16",
    "UInt32",
    "UInt64",
    "UInt8",
    "VariableLengthBytes",
    "VariableLengthBytesJSON_V2",
    "VariableLengthUTF8",
    "VariableLengthUTF8JSON_V2",
    "ZDType",
    "ZarrFormat",
    "check_dtype_spec_no_object_codec_v2",
    "check_dtype_spec_v2",
    "check_dtype_spec_v3",
    "data_type_registry",
    "dtype_from_v2",
    "dtype_from_v3",
    "dtype_to_v2",
    "dtype_to_v3",
    "get_data_type_from_json",
    "get_data_type_from_native_dtype",
    "native_order",
    "parse_data_type",
    "parse_dtype",
    "scalar_to_bytes",
    "swap_fields",
]

for _cls in (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    FixedLengthUTF32,
    VariableLengthUTF8,
    NullTerminatedBytes,
    RawBytes,
    VariableLengthBytes,
    DateTime64,
    TimeDelta64,
    Structured,
    Struct,
    PythonObject,
):
    data_type_registry.register(_cls._zarr_v3_name, _cls)


def __getattr__(name: str) -> Any:
    """Load the JSON forms when they are first asked for: only type checkers need them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from zarrcore.dtypes import json_types

    return getattr(json_types, name)
