"""What data types share, and the warning that filters of warnings name: ``zarr.core.dtype.common``."""

from __future__ import annotations

from zarrcore.dtypes import (
    DTypeConfig_V2,
    DTypeJSON,
    DTypeSpec_V2,
    DTypeSpec_V3,
    HasEndianness,
    HasItemSize,
    HasLength,
    HasObjectCodec,
    check_dtype_spec_no_object_codec_v2,
    check_dtype_spec_v2,
    check_dtype_spec_v3,
)
from zarrcore.errors import DataTypeValidationError, UnstableSpecificationWarning

__all__ = [
    "DTypeConfig_V2",
    "DTypeJSON",
    "DTypeSpec_V2",
    "DTypeSpec_V3",
    "DataTypeValidationError",
    "HasEndianness",
    "HasItemSize",
    "HasLength",
    "HasObjectCodec",
    "UnstableSpecificationWarning",
    "check_dtype_spec_no_object_codec_v2",
    "check_dtype_spec_v2",
    "check_dtype_spec_v3",
]
