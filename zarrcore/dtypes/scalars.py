"""Fill values: JSON to bits and bits to JSON.

Floating-point values never pass through a Python ``float`` when they may be NaN: its payload would be lost on
the way (a conversion between sizes makes every NaN quiet).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.errors import DataTypeValidationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore.dtypes.base import ZarrFormat, ZDType

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Texts are rare: the patterns are compiled for the first one.
_HEX = r"0x([0-9a-fA-F]+)"
_INTEGER = r"-?\d{1,20}"
_NUMBER = r"[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|inf|infinity)"


def unboxed(data: Any) -> Any:
    """Return the item of an array without dimensions, and anything else as it is."""
    return data[()] if isinstance(data, np.ndarray) and data.ndim == 0 else data


def is_integer(data: object) -> bool:
    """Return whether `data` is an integer; ``True`` is none."""
    return isinstance(data, (int, np.integer)) and not isinstance(data, (bool, np.timedelta64))


def is_zero(data: object) -> bool:
    """Return whether `data` is the integer 0, which stands for the zero item of types that are no numbers."""
    return is_integer(data) and data == 0


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


def float_from_bits(bits: int, size: int) -> Any:
    """Return the floating-point scalar with these bits."""
    return np.array([bits], dtype=f"u{size}").view(f"f{size}")[0]


def float_to_bits(scalar: Any) -> int:
    """Return the bits of a floating-point scalar."""
    return int(np.array(scalar).view(f"u{scalar.dtype.itemsize}"))


def round_to_float(zdtype: ZDType[Any, Any], data: Any, size: int) -> Any:
    """Return the floating-point number of `size` bytes nearest to `data`; finite numbers must stay finite."""
    try:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scalar = np.dtype(f"f{size}").type(data)
            overflow = bool(np.isinf(scalar)) and not _is_infinite(data)
    except OverflowError:  # an integer beyond even float64
        overflow = True
    if overflow:
        raise zdtype._reject_range(data, f"a number within the range of float{8 * size}")
    return scalar


def _is_infinite(data: Any) -> bool:
    return isinstance(data, (float, np.floating)) and bool(np.isinf(data))


def float_from_json(
    zdtype: ZDType[Any, Any],
    data: object,
    size: int,
    *,
    zarr_format: ZarrFormat,
    rounded: Callable[[ZDType[Any, Any], Any, int], Any] = round_to_float,
    from_bits: Callable[[int, int], Any] = float_from_bits,
) -> Any:
    """Return a floating-point fill value of `size` bytes (v3 core, "Permitted fill values").

    Format 2 adds what its writers left: the bare ``NaN`` of Python's JSON, and numbers as strings.  Types
    that NumPy lacks bring their own ways to make a scalar of a number and of bits.
    """
    if isinstance(data, str):
        found = _parse_float_text(zdtype, data, size, zarr_format)
        return from_bits(found, size) if isinstance(found, int) else rounded(zdtype, found, size)
    if not is_integer(data) and not isinstance(data, float):
        raise zdtype._reject_scalar(data, "a number or one of its string forms")
    if zarr_format == 3 and isinstance(data, float) and not math.isfinite(data):
        raise zdtype._reject_scalar(data, "a finite number, or 'NaN', 'Infinity', '-Infinity' as a string")
    return rounded(zdtype, data, size)


def float_from_user(text: str, from_json: Callable[..., Any]) -> Any:
    """Return a scalar from text that a user gave: both formats' spellings are taken."""
    try:
        return from_json(text, zarr_format=3)
    except TypeError:
        return from_json(text, zarr_format=2)


def _parse_float_text(zdtype: ZDType[Any, Any], text: str, size: int, zarr_format: ZarrFormat) -> int | float:
    """Return the bits (an int) or the value (a float) that `text` stands for."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    digits = re.fullmatch(_HEX, text, re.ASCII)
    if zarr_format == 3 and digits is not None and len(digits[1]) == 2 * size:
        return int(digits[1], 16)
    if zarr_format == 2 and re.fullmatch(_NUMBER, text, re.ASCII | re.IGNORECASE):
        return float(text)
    bits = "a number" if zarr_format == 2 else f"'0x' and {2 * size} hexadecimal digits"
    raise zdtype._reject_scalar(text, f"'NaN', 'Infinity', '-Infinity' or {bits}")


def float_to_json(scalar: Any, *, zarr_format: ZarrFormat) -> float | str:
    """Return the JSON form of a floating-point scalar.

    Format 3 writes a NaN other than the one called ``"NaN"`` as its bits.  Format 2 knows one NaN only.
    """
    if np.isinf(scalar):
        return "Infinity" if scalar > 0 else "-Infinity"
    if not np.isnan(scalar):
        return float(scalar)
    size = scalar.dtype.itemsize
    bits = float_to_bits(scalar)
    if zarr_format == 2 or bits == float_to_bits(scalar.dtype.type(math.nan)):
        return "NaN"
    return f"0x{bits:0{2 * size}x}"


def bytes_from_json(zdtype: ZDType[Any, Any], data: object) -> bytes:
    """Bytes from base64, or from a list of integers 0..255 (v3 core, "Raw data types")."""
    if isinstance(data, str):
        import base64
        import binascii

        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise DataTypeValidationError(f"{data[:80]!r} is not base64: no fill value of {zdtype}") from None
    if isinstance(data, (list, tuple)) and all(is_integer(byte) and 0 <= byte <= 255 for byte in data):
        return bytes(data)
    raise zdtype._reject_scalar(data, "base64 text, or a list of integers 0..255")


def bytes_to_json(data: bytes) -> str:
    """Return `data` as base64."""
    import base64

    return base64.b64encode(data).decode("ascii")
