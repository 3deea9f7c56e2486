# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.dtypes.base import (
    DTypeJSON as DTypeJSON, DataTypeRangeError as DataTypeRangeError,
    DataTypeTypeError as DataTypeTypeError, DataTypeValidationError as DataTypeValidationError,
    HasEndianness as HasEndianness, HasItemSize as HasItemSize, HasLength as HasLength,
    HasObjectCodec as HasObjectCodec, JSON as JSON, ZDType as ZDType, ZarrFormat as ZarrFormat,
)
from zarrcore.dtypes.json_types import (
    DTypeConfig_V2 as DTypeConfig_V2, DTypeSpec_V2 as DTypeSpec_V2, DTypeSpec_V3 as DTypeSpec_V3,
    DateTime64JSON_V2 as DateTime64JSON_V2, DateTime64JSON_V3 as DateTime64JSON_V3,
    DateTimeUnit as DateTimeUnit, FixedLengthUTF32JSON_V2 as FixedLengthUTF32JSON_V2,
    FixedLengthUTF32JSON_V3 as FixedLengthUTF32JSON_V3,
    NullTerminatedBytesJSON_V3 as NullTerminatedBytesJSON_V3,
    NullterminatedBytesJSON_V2 as NullterminatedBytesJSON_V2, RawBytesJSON_V2 as RawBytesJSON_V2,
    RawBytesJSON_V3 as RawBytesJSON_V3, StructJSON_V3 as StructJSON_V3,
    StructuredJSON_V2 as StructuredJSON_V2, StructuredJSON_V3 as StructuredJSON_V3,
    TimeDelta64JSON_V2 as TimeDelta64JSON_V2, TimeDelta64JSON_V3 as TimeDelta64JSON_V3,
    VariableLengthBytesJSON_V2 as VariableLengthBytesJSON_V2,
    VariableLengthUTF8JSON_V2 as VariableLengthUTF8JSON_V2,
)
from zarrcore.dtypes.layout import (
    BitLayout as BitLayout, bit_layout as bit_layout, scalar_to_bytes as scalar_to_bytes,
    swap_fields as swap_fields,
)
from zarrcore.dtypes.ml import (
    BFloat16 as BFloat16, ComplexBFloat16 as ComplexBFloat16, ComplexFloat16 as ComplexFloat16,
    ComplexFloat4E2M1FN as ComplexFloat4E2M1FN, ComplexFloat6E2M3FN as ComplexFloat6E2M3FN,
    ComplexFloat6E3M2FN as ComplexFloat6E3M2FN, ComplexFloat8E3M4 as ComplexFloat8E3M4,
    ComplexFloat8E4M3 as ComplexFloat8E4M3, ComplexFloat8E4M3B11FNUZ as ComplexFloat8E4M3B11FNUZ,
    ComplexFloat8E4M3FNUZ as ComplexFloat8E4M3FNUZ, ComplexFloat8E5M2 as ComplexFloat8E5M2,
    ComplexFloat8E5M2FNUZ as ComplexFloat8E5M2FNUZ, ComplexFloat8E8M0FNU as ComplexFloat8E8M0FNU,
    Float4E2M1FN as Float4E2M1FN, Float6E2M3FN as Float6E2M3FN, Float6E3M2FN as Float6E3M2FN,
    Float8E3M4 as Float8E3M4, Float8E4M3 as Float8E4M3, Float8E4M3B11FNUZ as Float8E4M3B11FNUZ,
    Float8E4M3FN as Float8E4M3FN, Float8E4M3FNUZ as Float8E4M3FNUZ, Float8E5M2 as Float8E5M2,
    Float8E5M2FNUZ as Float8E5M2FNUZ, Float8E8M0FNU as Float8E8M0FNU, Int2 as Int2, Int4 as Int4,
    UInt2 as UInt2, UInt4 as UInt4,
)
from zarrcore.dtypes.numeric import (
    Bool as Bool, Complex128 as Complex128, Complex64 as Complex64, Float16 as Float16, Float32 as Float32,
    Float64 as Float64, Int16 as Int16, Int32 as Int32, Int64 as Int64, Int8 as Int8, UInt16 as UInt16,
    UInt32 as UInt32, UInt64 as UInt64, UInt8 as UInt8,
)
from zarrcore.dtypes.objects import OBJECT_CODEC_IDS as OBJECT_CODEC_IDS, PythonObject as PythonObject
from zarrcore.dtypes.optional import Optional as Optional
from zarrcore.dtypes.parse import (
    dtype_from_v2 as dtype_from_v2, dtype_from_v3 as dtype_from_v3, dtype_to_v2 as dtype_to_v2,
    dtype_to_v3 as dtype_to_v3, get_data_type_from_json as get_data_type_from_json,
    get_data_type_from_native_dtype as get_data_type_from_native_dtype, native_order as native_order,
    parse_data_type as parse_data_type, parse_dtype as parse_dtype,
)
from zarrcore.dtypes.registry import (
    DataTypeRegistry as DataTypeRegistry, data_type_registry as data_type_registry,
)
from zarrcore.dtypes.spelling import (
    check_dtype_spec_no_object_codec_v2 as check_dtype_spec_no_object_codec_v2,
    check_dtype_spec_v2 as check_dtype_spec_v2, check_dtype_spec_v3 as check_dtype_spec_v3,
)
from zarrcore.dtypes.strings import (
    FixedLengthUTF32 as FixedLengthUTF32, NullTerminatedBytes as NullTerminatedBytes, RawBytes as RawBytes,
    VariableLengthBytes as VariableLengthBytes, VariableLengthUTF8 as VariableLengthUTF8,
)
from zarrcore.dtypes.structured import Struct as Struct, Structured as Structured, SubArray as SubArray
from zarrcore.dtypes.time import DateTime64 as DateTime64, TimeDelta64 as TimeDelta64

__all__: list[str]
