"""Values on their way into an array: checked, cast and broadcast before the first byte is written."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from zarrcore.arrays.memory import memory_of
from zarrcore.errors import given


def as_values(value: Any, dtype: np.dtype, *, ndim: int = 0, any_text: bool = False) -> np.ndarray:
    """Convert `value` to an array of type `dtype`.

    Casting follows numpy's ``same_kind`` rule, and what that rule refuses is still allowed when no value
    changes (``1.0`` into integers, ``0`` and ``1`` into booleans).  Integers that do not fit are refused.

    Nested sequences of objects have at most `ndim` dimensions; what is nested deeper are the objects.  With
    `any_text`, where `dtype` has strings of any length, strings of fixed length and ``str`` objects are left
    as they are if all have UTF-8.

    Values of a kind that cannot be stored as `dtype`, and strings that are missing, raise a TypeError,
    integers out of range an OverflowError, values that would change (1.5 or NaN into integers) a ValueError.
    """
    if dtype.names == ("valid", "value"):
        from zarrcore.dtypes.optional import items_of_plain

        items = items_of_plain(value, dtype, as_values)
        if items is not None:
            return items
    if isinstance(value, np.ndarray):
        if type(value) is not np.ndarray:
            _refuse_masked(value)
        if value.dtype == dtype:
            return value
    if dtype.kind == "O":
        return _objects(value, dtype, ndim)
    if any_text and dtype.kind == "T" and isinstance(value, np.ndarray | list | tuple):
        from zarrcore._core import vlen

        given = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else object)
        if vlen.all_text(given):
            return given
    if _is_custom(dtype) or dtype.names == ("real", "imag"):
        from zarrcore.dtypes.mlcast import cast_values, is_extension

        if is_extension(dtype):
            return cast_values(value, dtype)
    if dtype.names is not None:
        return _records(value, dtype)
    if dtype.kind in "mM" and not hasattr(value, "dtype"):
        return _parsed_times(value, dtype)
    if dtype.kind in "VSUT":
        return _parsed(value, dtype)
    array = _widened(np.asarray(value))
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "O":
        return _unboxed(array, dtype)
    if array.dtype.kind == dtype.kind and dtype.kind in "mM":
        return _as_times(array, dtype)
    if array.dtype.kind == "f" and dtype.kind in "iu" and not hasattr(value, "dtype"):
        # Python integers around 2**63, which numpy converts to floats by default.
        boxed = np.asarray(value, dtype=object)
        if any(isinstance(item, int) for item in boxed.ravel()):
            return _unboxed(boxed, dtype)
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        _check_integers(array, dtype)
        return array.astype(dtype)
    if np.can_cast(array.dtype, dtype, casting="same_kind") or _is_custom(array.dtype) or _is_custom(dtype):
        return array.astype(dtype)
    return _unchanged(array, dtype)


def _is_custom(dtype: np.dtype) -> bool:
    """Return whether a data type is from outside numpy (ml_dtypes): numpy has no casting rule for it."""
    return dtype.isbuiltin == 2


def _widened(array: np.ndarray) -> np.ndarray:
    """Values of ml_dtypes as the numbers of numpy that they are."""
    if not _is_custom(array.dtype):
        return array
    from zarrcore.dtypes.mlcast import widened

    return widened(array)


def _objects(value: Any, dtype: np.dtype, ndim: int) -> np.ndarray:
    """Python objects; of nested lists the outer `ndim` levels are dimensions.

    For a single element an array is one object itself; text and bytes of one item are that item.
    """
    is_one = isinstance(value, np.ndarray) and value.ndim > 0 and ndim == 0
    if hasattr(value, "__array__") and not (is_one and (value.dtype.kind not in "SUT" or value.size != 1)):
        return np.asarray(value).astype(dtype)
    shape = _nested_shape(value, ndim)
    items = np.empty((*shape, 1), dtype)  # an index without dimensions would have NumPy look into the value
    for index in np.ndindex(shape):
        item = value
        for position in index:
            item = item[position]
        items[(*index, 0)] = item
    return items.reshape(shape)


def _nested_shape(value: Any, ndim: int) -> tuple[int, ...]:
    """Return the lengths of the outer `ndim` levels of nested lists."""
    if ndim == 0 or not isinstance(value, list | tuple):
        return ()
    return (len(value), *(_nested_shape(value[0], ndim - 1) if value else ()))


def _parsed(value: Any, dtype: np.dtype) -> np.ndarray:
    """Values that only numpy's own constructor understands: tuples as records, strings."""
    if dtype.kind in "SUT":
        _require_text(value, dtype)
    if dtype.kind == "U" and not dtype.isnative:
        return np.asarray(value, dtype=dtype.newbyteorder("=")).astype(dtype)
    if dtype.kind == "T" and isinstance(value, np.ndarray) and not value.dtype.isnative:
        # NumPy before 2.5 takes any byte order of U for the machine's.
        value = value.astype(value.dtype.newbyteorder("="))
    return np.asarray(value, dtype=dtype)


def _parsed_times(value: Any, dtype: np.dtype) -> np.ndarray:
    """Times that are text, of :mod:`datetime` or counts of steps."""
    found = np.asarray(value, dtype=dtype)
    items = np.asarray(value, dtype=object).ravel()
    times = [item for item in items if not isinstance(item, int) and not _is_no_time(item)]
    if times:
        _as_times(np.asarray(times, dtype=f"{dtype.kind}8"), dtype)  # refuses what is out of range
    return found


def _is_no_time(item: Any) -> bool:
    return item is None or item == "NaT" or item != item


def _as_times(times: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Times in other steps, rounded down; NumPy wraps round without a word what 64 bits cannot count."""
    if not np.can_cast(times.dtype, dtype, casting="same_kind"):
        return _unchanged(times, dtype)
    try:
        found = times.astype(dtype)
    except OverflowError as error:  # newer releases find some of it
        raise OverflowError(f"some of the times are out of range for {dtype}") from error
    step = np.datetime_data(times.dtype)
    finer = step != np.datetime_data(dtype) and np.can_cast(times.dtype, dtype, casting="safe")
    if finer and step[0] != "generic":
        wrong = (found.astype(times.dtype) != times) & ~np.isnat(times)
        if wrong.any():
            raise OverflowError(f"{times[wrong].flat[0]} is out of range for {dtype}")
    return found


def _refuse_masked(value: np.ndarray) -> None:
    """Refuse masked items: nobody knows what the array should hold where they are."""
    mask = getattr(value, "mask", None)
    if isinstance(mask, np.ndarray | np.bool_) and hasattr(value, "filled") and mask.any():
        raise ValueError("some of the values are masked: use .filled(value) to choose what is stored")


def _unboxed(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Python objects as numbers, under the rules for the numbers that they are."""
    if dtype.kind in "mM":
        return _parsed_times(array, dtype)
    if set(map(type, array.ravel())) <= {float}:
        return as_values(np.asarray(array.tolist()), dtype)
    exact: Any = {"b": _as_boolean, "f": _as_float, "c": _as_complex}.get(dtype.kind, _as_integer)
    numbers = np.empty(array.shape, object)
    numbers.reshape(-1)[:] = [exact(item, dtype) for item in array.ravel()]
    if dtype.kind in "fc":  # not straight to a narrow type: NumPy has no such cast for all of them
        wide = np.dtype("f8" if dtype.kind == "f" else "c16")
        return numbers.astype(max(wide, dtype, key=lambda kind: kind.itemsize)).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        for number in numbers.ravel():
            if not limits.min <= number <= limits.max:
                _out_of_range(number, dtype)
    return numbers.astype(dtype)


def _as_integer(item: Any, dtype: np.dtype, allowed: Any = None) -> int:
    """Return a number of any type as an integer, if it is one of those that are `allowed`."""
    _refuse_no_number(item, dtype)
    try:
        number = int(item)
    except (OverflowError, ValueError):  # infinite, or no number
        number = None
    if number is None or number != item or (allowed and number not in allowed):
        raise ValueError(f"value {item!r} cannot be stored as {dtype} without changing it")
    return number


def _as_boolean(item: Any, dtype: np.dtype) -> bool:
    return bool(_as_integer(item, dtype, (0, 1)))


def _as_float(item: Any, dtype: np.dtype) -> Any:
    """Return a number of any type as a floating-point number, rounded if necessary."""
    _refuse_no_number(item, dtype)
    if isinstance(item, np.floating):
        return item
    number = float(item)
    if number in (np.inf, -np.inf) and number != item:
        raise OverflowError(f"value {item!r} is out of range for {dtype}")
    return number


def _as_complex(item: Any, dtype: np.dtype) -> Any:
    return item if isinstance(item, complex | np.complexfloating) else complex(_as_float(item, dtype))


def _refuse_no_number(item: Any, dtype: np.dtype) -> None:
    if isinstance(item, np.ndarray):
        _refuse_masked(item)
    no_number = str | bytes | np.datetime64 | np.timedelta64 | complex | np.complexfloating
    if isinstance(item, no_number) or not hasattr(item, "__float__"):
        kind = type(item).__name__
        raise TypeError(f"cannot store {given(item)} of type {kind} as {dtype}: expected a real number")


def _out_of_range(value: int, dtype: np.dtype) -> NoReturn:
    limits = np.iinfo(dtype)
    raise OverflowError(f"value {value} is out of range for {dtype} ({limits.min}..{limits.max})")


def _records(value: Any, dtype: np.dtype) -> np.ndarray:
    """Values of a structured data type, field by field, so that each follows the rules of its type."""
    given: Any = value
    if not isinstance(value, np.ndarray | np.generic):
        given = np.asarray(value, dtype=_boxed(dtype))
    elif value.dtype.names is None and value.dtype.kind in "OV":
        given = np.asarray(value.tolist(), dtype=_boxed(dtype))
    names = given.dtype.names
    if names is not None and set(names) != set(dtype.names or ()):
        raise TypeError(f"cannot store records with fields {names} as records with fields {dtype.names}")
    records = np.empty(given.shape, dtype=dtype)
    for name in dtype.names or ():
        records[name] = as_values(given if names is None else given[name], dtype[name].base)
    return records


def _boxed(dtype: np.dtype) -> np.dtype:
    """The same data type with Python objects for numbers, strings and times, which takes any as they are."""
    if dtype.subdtype is not None:
        return np.dtype((_boxed(dtype.base), dtype.shape))
    if dtype.names is not None:
        return np.dtype([(name, _boxed(dtype[name])) for name in dtype.names])
    return np.dtype(object) if dtype.kind in "biufcSUmM" else dtype


def _require_text(value: Any, dtype: np.dtype) -> None:
    """Refuse numbers and missing values where strings belong, which numpy would write out as text."""
    # NumPy makes an array of strings of any list that contains a string.
    array = np.asarray(value, dtype=object if isinstance(value, list | tuple) else None)
    if array.dtype.kind == "O":
        _refuse_other_objects(array, dtype)
        return
    if array.dtype.kind == "T" and not isinstance(getattr(array.dtype, "na_object", ""), str):
        _refuse_missing(array, dtype)
    allowed = "SU" if dtype.kind == "S" else "SUT" if dtype.kind == "U" else "UT"
    if array.size and array.dtype.kind not in allowed:
        raise TypeError(f"cannot store {array.dtype} values as {dtype}")


def _refuse_other_objects(array: np.ndarray, dtype: np.dtype) -> None:
    text = str if dtype.kind == "T" else (str, bytes)
    if all(issubclass(kind, text) for kind in set(map(type, array.ravel()))):
        return
    number, item = next((i, item) for i, item in enumerate(array.ravel()) if not isinstance(item, text))
    raise TypeError(f"item {number} is {given(item)}, which cannot be stored as {dtype}: expected a string")


def _refuse_missing(array: np.ndarray, dtype: np.dtype) -> None:
    from zarrcore._core import vlen

    missing = vlen.first_missing(array)
    if missing >= 0:
        raise ValueError(
            f"item {missing} of the strings is missing ({array.dtype}), which {dtype} has no value for"
        )


def _check_integers(array: np.ndarray, dtype: np.dtype) -> None:
    if array.size == 0 or np.can_cast(array.dtype, dtype, casting="safe"):
        return
    limits = np.iinfo(dtype)
    low, high = int(array.min()), int(array.max())
    if low < limits.min or high > limits.max:
        _out_of_range(low if low < limits.min else high, dtype)


def _unchanged(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast against the ``same_kind`` rule, allowed where every value survives."""
    if array.dtype.kind not in "biuf" or dtype.kind not in "biu":
        raise TypeError(f"cannot store {array.dtype} values as {dtype} under the casting rule 'same_kind'")
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(dtype)
        same = cast.astype(array.dtype) == array
        if dtype.kind in "iu" and array.dtype.kind == "f":
            # the limits as floats: 2**63 survives a saturating cast and back, as infinite halves do
            limits = np.iinfo(dtype)
            same &= np.isfinite(array) & (array >= float(limits.min))
            same &= array < float(limits.max) + (1.0 if limits.max < 2**53 else 0.0)
    if not np.all(same):
        worst = array[~same].flat[0] if array.ndim else array[()]
        raise ValueError(f"value {worst!r} cannot be stored as {dtype} without changing it")
    return cast


def broadcast_values(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast `array` to the shape of a selection as numpy's assignment does, without a copy.

    Leading axes of length one may be too many.
    """
    given = array.shape
    if given == shape:
        return array
    extra = len(given) - len(shape)
    if extra > 0 and math.prod(given[:extra]) == 1:
        array = array.reshape(given[extra:])
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"values of shape {given} do not fit a selection of shape {shape}") from None


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Refuse memory for ``out=`` that is not writable or not exactly of the result's shape and data type."""
    array = memory_of(out, shape, dtype)
    if array.shape != shape:
        raise ValueError(f"out: expected shape {shape}, got {array.shape}")
    if array.dtype != dtype:
        raise ValueError(f"out: expected data type {dtype}, got {array.dtype}")
    if not array.flags.writeable:
        raise ValueError("out: the array is read-only")
    if not array.flags.forc and _overlaps_itself(array):
        raise ValueError(
            f"out: items share memory (shape {array.shape}, strides {array.strides}), so they cannot have "
            "different values"
        )
    return array


_MOST_COUNTED = 1 << 20  # items whose places are counted one by one


def _overlaps_itself(array: np.ndarray) -> bool:
    """Return whether two items of an array share memory; True also if finding out would take too long."""
    reach = array.itemsize
    axes = [(abs(stride), n) for stride, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for stride, n in sorted(axes):
        if stride < reach:
            break
        reach += stride * (n - 1)
    else:
        return False
    if array.size == 0:
        return False
    if array.size > _MOST_COUNTED:
        return True
    starts = np.zeros(1, np.int64)
    for stride, n in axes:
        starts = np.add.outer(starts, stride * np.arange(n)).reshape(-1)
    return bool((np.diff(np.sort(starts)) < array.itemsize).any())
