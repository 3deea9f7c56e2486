"""Fill values as writers spell them, and the clauses of the specification that a spelling breaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.dtypes.scalars import bytes_from_json, bytes_to_json
from zarrcore.errors import DataTypeValidationError

if TYPE_CHECKING:
    from zarrcore.dtypes import ZDType

_BASE64 = "the fill value of bytes and structures is base64"
_WHOLE = "integers have neither fraction nor exponent"
_NUMBER = 'a number that is not "NaN", "Infinity" or "-Infinity" is a JSON number'
_NAMES = ("NaN", "Infinity", "-Infinity", "NaT")
_REAL = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|nan|inf"
_COMPLEX = rf"\(?([+-]?(?:{_REAL}))?(?:([+-]?(?:{_REAL}))j)?\)?"


def has_floats(zdtype: ZDType) -> bool:
    """Return whether items are, or may contain, floating-point numbers."""
    return zdtype.to_native_dtype().kind in "fcV"  # V: the small ones of ml_dtypes, and structures


def spelled(data: Any, zdtype: ZDType, zarr_format: int) -> tuple[Any, str | None] | None:
    """Return how a fill value is to be spelled, and the clause that its own spelling breaks, or None.

    None in place of both if `data` has no meaning for the data type.
    """
    scalar = _scalar(zdtype, data, zarr_format)
    if scalar is not _UNREADABLE:
        broken = _broken_in_format_2(data, zdtype) if zarr_format == 2 else None
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
