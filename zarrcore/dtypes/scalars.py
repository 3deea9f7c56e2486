"""Fill values: what the families of data types share in reading and writing them."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

import numpy as np

from zarrcore.dtypes.base import ZarrFormat, ZDType
from zarrcore.errors import DataTypeValidationError

_INTEGER = r"-?\d{1,20}"


def unboxed(data: Any) -> Any:
    """Return the item of an array without dimensions, and anything else as it is."""
    return data[()] if isinstance(data, np.ndarray) and data.ndim == 0 else data


def is_integer(data: object) -> bool:
    """Return whether `data` is an integer; ``True`` is none."""
    return isinstance(data, (int, np.integer)) and not isinstance(data, (bool, np.timedelta64))


def is_zero(data: object) -> bool:
    """Return whether `data` is the integer 0, which stands for the zero item of types that are no numbers."""
    return is_integer(data) and data == 0


def is_byte_list(data: object) -> TypeGuard[list[int] | tuple[int, ...]]:
    """Return whether `data` is a list of integers 0..255."""
    return isinstance(data, (list, tuple)) and all(is_integer(byte) and 0 <= byte <= 255 for byte in data)


def integer_from_json(zdtype: ZDType[Any, Any], data: object, *, zarr_format: ZarrFormat) -> int:
    """Return an integer fill value (v3 core, "Permitted fill values": no fraction, no exponent).

    Format 2 does not specify it: its writers also left ``0.0`` and ``"0"``.
    """
    if is_integer(data):
        return int(data)  # type: ignore[call-overload,no-any-return]
    if zarr_format == 2:
        if isinstance(data, float) and data.is_integer():
            return int(data)
        if isinstance(data, str) and re.fullmatch(_INTEGER, data, re.ASCII):
            return int(data)
    raise zdtype._reject_scalar(data, "an integer")


def bytes_from_json(zdtype: ZDType[Any, Any], data: object) -> bytes:
    """Bytes from base64, or from a list of integers 0..255 (v3 core, "Raw data types")."""
    if isinstance(data, str):
        import base64
        import binascii

        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise DataTypeValidationError(f"{data[:80]!r} is not base64: no fill value of {zdtype}") from None
    if is_byte_list(data):
        return bytes(data)
    raise zdtype._reject_scalar(data, "base64 text, or a list of integers 0..255")


def bytes_to_json(data: bytes) -> str:
    """Return `data` as base64."""
    import base64

    return base64.b64encode(data).decode("ascii")
