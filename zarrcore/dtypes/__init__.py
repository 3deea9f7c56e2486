"""Data types: NumPy dtypes, their names in Zarr v2 and v3 metadata, and the fill values they allow."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "base": (
        "DTypeJSON DataTypeRangeError DataTypeTypeError DataTypeValidationError HasEndianness HasItemSize "
        "HasLength HasObjectCodec JSON ZDType ZarrFormat"
    ),
    "json_types": (
        "DTypeConfig_V2 DTypeSpec_V2 DTypeSpec_V3 DateTime64JSON_V2 DateTime64JSON_V3 DateTimeUnit "
        "FixedLengthUTF32JSON_V2 FixedLengthUTF32JSON_V3 NullTerminatedBytesJSON_V3 "
        "NullterminatedBytesJSON_V2 RawBytesJSON_V2 RawBytesJSON_V3 StructJSON_V3 StructuredJSON_V2 "
        "StructuredJSON_V3 TimeDelta64JSON_V2 TimeDelta64JSON_V3 VariableLengthBytesJSON_V2 "
        "VariableLengthUTF8JSON_V2"
    ),
    "layout": "BitLayout bit_layout scalar_to_bytes swap_fields",
    "ml": (
        "BFloat16 ComplexBFloat16 ComplexFloat16 ComplexFloat4E2M1FN ComplexFloat6E2M3FN "
        "ComplexFloat6E3M2FN ComplexFloat8E3M4 ComplexFloat8E4M3 ComplexFloat8E4M3B11FNUZ "
        "ComplexFloat8E4M3FNUZ ComplexFloat8E5M2 ComplexFloat8E5M2FNUZ ComplexFloat8E8M0FNU Float4E2M1FN "
        "Float6E2M3FN Float6E3M2FN Float8E3M4 Float8E4M3 Float8E4M3B11FNUZ Float8E4M3FN Float8E4M3FNUZ "
        "Float8E5M2 Float8E5M2FNUZ Float8E8M0FNU Int2 Int4 UInt2 UInt4"
    ),
    "numeric": (
        "Bool Complex128 Complex64 Float16 Float32 Float64 Int16 Int32 Int64 Int8 UInt16 UInt32 UInt64 UInt8"
    ),
    "objects": "OBJECT_CODEC_IDS PythonObject",
    "optional": "Optional",
    "parse": (
        "dtype_from_v2 dtype_from_v3 dtype_to_v2 dtype_to_v3 get_data_type_from_json "
        "get_data_type_from_native_dtype native_order parse_data_type parse_dtype"
    ),
    "registry": "DataTypeRegistry data_type_registry",
    "spelling": "check_dtype_spec_no_object_codec_v2 check_dtype_spec_v2 check_dtype_spec_v3",
    "strings": "FixedLengthUTF32 NullTerminatedBytes RawBytes VariableLengthBytes VariableLengthUTF8",
    "structured": "Struct Structured SubArray",
    "time": "DateTime64 TimeDelta64",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
