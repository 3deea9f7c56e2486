"""Casts of values to data types of ml_dtypes, for which NumPy has no casting rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrcore.dtypes.base import is_ml, ml_finfo

_COMPLEX_FIELDS = ("real", "imag")


def is_extension(dtype: np.dtype[Any]) -> bool:
    """Return whether values for arrays of `dtype` (of ml_dtypes, or pairs) go through :func:`cast_values`."""
    return is_ml(dtype) or _is_pair(dtype)


def _is_pair(dtype: np.dtype[Any]) -> bool:
    if dtype.names != _COMPLEX_FIELDS or dtype["real"] != dtype["imag"]:
        return False
    return is_ml(dtype["real"]) or dtype["real"] == np.float16


def widened(array: np.ndarray) -> np.ndarray:
    """Return `array` in a type of NumPy that has all its values, if its type is one of ml_dtypes."""
    if not is_ml(array.dtype):
        return array
    limits = _integer_limits(array.dtype)
    if limits is not None:
        return array.astype(np.int8 if limits[0] < 0 else np.uint8)
    return array.astype(np.complex64 if str(array.dtype.kind) == "W" else np.float32)


def cast_values(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Return `value` as an array of `dtype`, for which :func:`is_extension` is true.

    Floating-point types round as ml_dtypes does.  Integers must keep their value, and types of finite numbers
    get no NaN and no infinity.

    Raises
    ------
    TypeError
        If values of this kind cannot be stored as `dtype`.
    OverflowError
        If an integer is out of range.
    ValueError
        If a value would change into another, such as 1.5 into an integer.
    """
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if _is_pair(dtype):
        return _pairs(value, array, dtype)
    array = widened(_plain(value, array))
    if array.dtype.kind not in "biuf":
        raise TypeError(f"cannot store {array.dtype} values as {dtype} under the casting rule 'same_kind'")
    limits = _integer_limits(dtype)
    if limits is None:
        return _to_float(array, dtype)
    return _to_integer(array, dtype, limits)


def _plain(value: Any, array: np.ndarray) -> np.ndarray:
    """Convert Python objects to numbers where they are numbers: nested lists may mix several types."""
    if array.dtype.kind != "O":
        return array
    numbers = [item.item() if isinstance(item, np.generic) else item for item in array.flat]
    return np.array(numbers).reshape(array.shape)


def _pairs(value: Any, array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Complex numbers as structures of their parts; records are taken as they are."""
    if array.dtype.names is not None or (isinstance(value, (list, tuple)) and _has_records(value)):
        return np.asarray(value, dtype=dtype)
    array = widened(_plain(value, array))
    if array.dtype.kind not in "biufc":
        raise TypeError(f"cannot store {array.dtype} values as complex numbers of {dtype['real']}")
    out = np.empty(array.shape, dtype=dtype)
    part = dtype["real"]
    cast = cast_values if is_ml(part) else _to_float
    out["real"] = cast(array.real, part)  # pyright: ignore[reportAttributeAccessIssue]
    out["imag"] = cast(array.imag, part)  # pyright: ignore[reportAttributeAccessIssue]
    return out


def _has_records(value: Any) -> bool:
    """Return whether nested lists have tuples or records at the bottom."""
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, (tuple, np.void))


def _to_float(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        cast = array.astype(dtype)
        is_finite_only = is_ml(dtype) and ml_finfo(dtype).bits < 8
        if array.dtype.kind == "f" and is_finite_only and not np.isfinite(array).all():
            raise ValueError(f"{dtype} has neither NaN nor infinity")
    return cast


def _to_integer(array: np.ndarray, dtype: np.dtype[Any], limits: tuple[int, int]) -> np.ndarray:
    if array.size and array.dtype.kind == "f" and not (np.floor(array) == array).all():
        worst = array[np.floor(array) != array].flat[0] if array.ndim else array[()]
        raise ValueError(f"value {worst!r} cannot be stored as {dtype} without changing it")
    low, high = limits
    if array.size and (array.min() < low or array.max() > high):
        worst = array.min() if array.min() < low else array.max()
        raise OverflowError(f"value {worst} is out of range for {dtype} ({low}..{high})")
    return array.astype(np.int8 if low < 0 else np.uint8).astype(dtype)


def _integer_limits(dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """Smallest and largest value, or None for types that are no integers."""
    name = dtype.name.lstrip("u")
    if not name.startswith("int"):
        return None
    bits = int(name[3:])
    return (0, (1 << bits) - 1) if dtype.name.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
