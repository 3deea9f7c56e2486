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
from zarrcore.dtypes.layout import BitLayout, bit_layout, scalar_to_bytes, swap_fields
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
    from zarrcore.dtypes.mlcomplex import (
        ComplexBFloat16,
        ComplexFloat4E2M1FN,
        ComplexFloat6E2M3FN,
        ComplexFloat6E3M2FN,
        ComplexFloat8E3M4,
        ComplexFloat8E4M3,
        ComplexFloat8E4M3B11FNUZ,
        ComplexFloat8E4M3FNUZ,
        ComplexFloat8E5M2,
        ComplexFloat8E5M2FNUZ,
        ComplexFloat8E8M0FNU,
        ComplexFloat16,
    )
    from zarrcore.dtypes.mlfloat import (
        BFloat16,
        Float4E2M1FN,
        Float6E2M3FN,
        Float6E3M2FN,
        Float8E3M4,
        Float8E4M3,
        Float8E4M3B11FNUZ,
        Float8E4M3FN,
        Float8E4M3FNUZ,
        Float8E5M2,
        Float8E5M2FNUZ,
        Float8E8M0FNU,
    )
    from zarrcore.dtypes.subbyte import Int2, Int4, UInt2, UInt4

__all__ = [
    "BFloat16",
    "BitLayout",
    "Bool",
    "Complex128",
    "Complex64",
    "ComplexBFloat16",
    "ComplexFloat16",
    "ComplexFloat4E2M1FN",
    "ComplexFloat6E2M3FN",
    "ComplexFloat6E3M2FN",
    "ComplexFloat8E3M4",
    "ComplexFloat8E4M3",
    "ComplexFloat8E4M3B11FNUZ",
    "ComplexFloat8E4M3FNUZ",
    "ComplexFloat8E5M2",
    "ComplexFloat8E5M2FNUZ",
    "ComplexFloat8E8M0FNU",
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
    "DateTimeUnit",
    "FixedLengthUTF32",
    "FixedLengthUTF32JSON_V2",
    "FixedLengthUTF32JSON_V3",
    "Float16",
    "Float32",
    "Float4E2M1FN",
    "Float64",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E3M4",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "Float8E8M0FNU",
    "HasEndianness",
    "HasItemSize",
    "HasLength",
    "HasObjectCodec",
    "Int16",
    "Int2",
    "Int32",
    "Int4",
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
    "UInt2",
    "UInt32",
    "UInt4",
    "UInt64",
    "UInt8",
    "VariableLengthBytes",
    "VariableLengthBytesJSON_V2",
    "VariableLengthUTF8",
    "VariableLengthUTF8JSON_V2",
    "ZDType",
    "ZarrFormat",
    "bit_layout",
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


# The types of the extension registry are rare: class and v3 name, of each module that is loaded when needed.
_LAZY = {
    "zarrcore.dtypes.mlfloat": {
        "BFloat16": "bfloat16",
        "Float4E2M1FN": "float4_e2m1fn",
        "Float6E2M3FN": "float6_e2m3fn",
        "Float6E3M2FN": "float6_e3m2fn",
        "Float8E3M4": "float8_e3m4",
        "Float8E4M3": "float8_e4m3",
        "Float8E4M3B11FNUZ": "float8_e4m3b11fnuz",
        "Float8E4M3FN": "float8_e4m3fn",
        "Float8E4M3FNUZ": "float8_e4m3fnuz",
        "Float8E5M2": "float8_e5m2",
        "Float8E5M2FNUZ": "float8_e5m2fnuz",
        "Float8E8M0FNU": "float8_e8m0fnu",
    },
    "zarrcore.dtypes.subbyte": {
        "Int2": "int2",
        "Int4": "int4",
        "UInt2": "uint2",
        "UInt4": "uint4",
    },
    "zarrcore.dtypes.mlcomplex": {
        "ComplexBFloat16": "complex_bfloat16",
        "ComplexFloat16": "complex_float16",
        "ComplexFloat4E2M1FN": "complex_float4_e2m1fn",
        "ComplexFloat6E2M3FN": "complex_float6_e2m3fn",
        "ComplexFloat6E3M2FN": "complex_float6_e3m2fn",
        "ComplexFloat8E3M4": "complex_float8_e3m4",
        "ComplexFloat8E4M3": "complex_float8_e4m3",
        "ComplexFloat8E4M3B11FNUZ": "complex_float8_e4m3b11fnuz",
        "ComplexFloat8E4M3FNUZ": "complex_float8_e4m3fnuz",
        "ComplexFloat8E5M2": "complex_float8_e5m2",
        "ComplexFloat8E5M2FNUZ": "complex_float8_e5m2fnuz",
        "ComplexFloat8E8M0FNU": "complex_float8_e8m0fnu",
    },
}

for _module, _names in _LAZY.items():
    data_type_registry.register_module(_module, *_names.values())


def _load(name: str) -> Any:
    """Load the extension types, and the JSON forms for type checkers, when they are first asked for."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _LAZY.items() if name in names), "zarrcore.dtypes.json_types")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
