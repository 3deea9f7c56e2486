# SPDX-License-Identifier: MIT
"""One value as an item of a given type, bit for bit what belongs into memory, or the reason why not."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from zarrcore.kernels._memory import index_of, is_registered

_ACCEPTED = {"b": "b", "f": "biuf", "c": "biufc", "U": "U", "S": "S", "M": "MUiu", "m": "mUiu", "V": "VS"}
"""Kinds of value that an item of each kind can be made from (integers and records are handled apart)."""


def item_of(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """Return ``value`` as a 0-d array of exactly that type; `name` is the argument that it comes from."""
    if isinstance(value, np.generic | np.ndarray) and value.dtype == dtype:
        item = np.asarray(value)
    elif dtype.kind in "iu":
        item = _integer(value, dtype, name)
    elif dtype.names is not None:
        item = _record(value, dtype, name)
    elif is_registered(dtype):
        item = _registered(value, dtype, name)
    else:
        item = _converted(value, dtype, name)
    if item.ndim != 0:
        raise ValueError(f"{name}: expected a scalar, got an array of shape {item.shape}")
    return item


def _integer(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    integer = index_of(value, name)
    try:
        return np.array(integer, dtype=dtype)
    except OverflowError:
        raise ValueError(f"{name}: {integer} does not fit into {dtype}") from None


def _record(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """Field by field: NumPy would cut strings, and fractions off, without a word."""
    if isinstance(value, np.void | np.ndarray) and value.ndim == 0 and value.dtype.names is not None:
        value = tuple(value[field] for field in value.dtype.names)
    if not isinstance(value, tuple):
        raise TypeError(f"{name}: expected a value for {dtype}, got {value!r}")
    names = dtype.names or ()
    if len(value) != len(names):
        raise ValueError(f"{name}: expected {len(names)} fields, got {value!r} of length {len(value)}")
    item = np.zeros((), dtype)
    for field, part in zip(names, value, strict=True):
        base, shape = dtype[field].subdtype or (dtype[field], ())
        item[field] = _field(part, base, shape, f"{name}[{field!r}]")
    return item


def _field(value: Any, base: np.dtype, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return the items of a field, an array if it has a shape; one value is used for all of them."""
    if not shape:
        return item_of(value, base, name)
    out = np.zeros(shape, base)
    if not isinstance(value, list | np.ndarray) and (base.names is not None or not isinstance(value, tuple)):
        out[...] = item_of(value, base, name)
        return out
    if np.ndim(value) == 0 or len(value) != shape[0]:
        raise ValueError(f"{name}: expected items of shape {shape}, got {value!r}")
    for i, part in enumerate(value):
        out[i] = _field(part, base, shape[1:], f"{name}[{i}]")
    return out


def _registered(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    """Of types that other packages have added, NumPy knows neither limits nor which casts keep a value."""
    from zarrcore.dtypes.base import is_ml, ml_finfo
    from zarrcore.dtypes.mlcast import cast_values, widened

    try:
        item = (
            cast_values(value, dtype) if is_ml(dtype) and str(dtype.kind) != "W" else np.array(value, dtype)
        )
    except (OverflowError, ValueError) as error:
        raise ValueError(f"{name}: {value!r} does not fit into {dtype}: {error}") from None
    except TypeError as error:
        raise TypeError(f"{name}: expected a value for {dtype}, got {value!r}: {error}") from None
    if is_ml(dtype) and widened(item).dtype.kind == "f" and item.ndim == 0:
        given, found = float(value), float(widened(item))
        same = given == found or (np.isnan(given) and np.isnan(found))
        if not same and not (np.isfinite(found) and abs(given) <= float(ml_finfo(dtype).max)):
            raise ValueError(f"{name}: {value!r} does not fit into {dtype}")
    return item


def _converted(value: Any, dtype: np.dtype, name: str) -> np.ndarray:
    if dtype.kind in "Mm":
        value = _time(value, dtype, name)
    elif dtype.kind in "fc" and type(value) is int:  # as NumPy makes it of smaller integers
        try:
            value = float(value)
        except OverflowError:
            raise ValueError(f"{name}: {value!r} does not fit into {dtype}") from None
    found = np.asarray(value)
    if found.dtype.kind not in _ACCEPTED[dtype.kind]:
        raise TypeError(f"{name}: expected a value for {dtype}, got {value!r}")
    if dtype.kind in "USV" and found.dtype.itemsize > dtype.itemsize:
        raise ValueError(f"{name}: {value!r} is too long for {dtype}")
    try:
        with np.errstate(over="raise"):
            item = np.array(value, dtype=dtype)
    except (OverflowError, FloatingPointError) as error:
        raise ValueError(f"{name}: {value!r} does not fit into {dtype}: {error}") from None
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name}: expected a value for {dtype}, got {value!r}: {error}") from None
    if found.dtype.kind in "Mm" and not _same_time(item, found):
        raise ValueError(f"{name}: {value!r} does not fit into {dtype}")
    return item


def _time(value: Any, dtype: np.dtype, name: str) -> Any:
    """Convert dates and durations of Python, and dates as text, to a unit that can represent all of them."""
    if isinstance(value, str) and value.lower() == "nat":
        return value  # which has no unit
    try:
        if dtype.kind == "M" and isinstance(value, str | datetime.date):
            return np.datetime64(value)
        return np.timedelta64(value) if isinstance(value, datetime.timedelta) else value
    except ValueError as error:
        raise ValueError(f"{name}: expected a value for {dtype}, got {value!r}: {error}") from None


def _same_time(item: np.ndarray, given: np.ndarray) -> bool:
    """Conversion between units rounds, and wraps around, without a word."""
    if np.isnat(given).all() or np.datetime_data(given.dtype)[0] == "generic":
        return True
    return bool((item.astype(given.dtype) == given).all())
