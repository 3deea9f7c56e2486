# SPDX-License-Identifier: MIT
"""zarrcore_read_as and zarrcore_write_as between types: what NumPy has, refusals as in Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_regions import read_as, write_as

import zarrcore
from zarrcore.arrays.values import as_values

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ARGUMENT, SIZE, VALUE = -2, -5, -18
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
TYPES = ["b1", *INTEGERS, "f2", "f4", "f8", "c8", "c16"]


def samples(dtype: str) -> np.ndarray:
    """All kinds of numbers of a type, the extreme ones too."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([0, 1, 1, 0], "b1")
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        near = [limits.min, limits.max, limits.max // 2, *range(5), 127, 100]
        return np.array([n for n in near if limits.min <= n <= limits.max], kind)
    some = [0.0, -0.0, 1, -1, 0.5, 2.0**20, 300, 255, 3e4, 1e-3, np.inf, -np.inf, np.nan]
    some += [
        float(np.finfo(kind).max),
        float(np.finfo(kind).smallest_subnormal),
        2.0**63,
        -(2.0**63),
        2.0**64,
    ]
    with np.errstate(over="ignore"):
        return np.array([n + 1j * n if kind.kind == "c" and np.isfinite(n) else n for n in some], kind)


def expected(values: np.ndarray, dtype: str) -> tuple[int, np.ndarray | None]:
    """The status, and the numbers as Python stores them."""
    with np.errstate(all="ignore"):
        try:
            return 0, as_values(values, np.dtype(dtype))
        except TypeError:
            return ARGUMENT, None
        except (OverflowError, ValueError):
            return VALUE, None


@pytest.mark.parametrize("memory", TYPES)
@pytest.mark.parametrize("stored", TYPES)
def test_each_number_becomes_what_it_becomes_in_python(
    api: Any, tmp_path: Path, memory: str, stored: str
) -> None:
    """One by one, since a single one is refused for all."""
    array = zarrcore.create_array(tmp_path, shape=(1,), dtype=stored, fill_value=0)
    handle = api.handle(tmp_path)
    for value in samples(memory).reshape(-1, 1):
        status, wanted = expected(value, stored)
        array[0] = 0
        assert write_as(api, handle, value) == status, value
        if wanted is not None:
            np.testing.assert_array_equal(array[...], wanted, strict=True)
    for value in samples(stored).reshape(-1, 1):
        status, wanted = expected(value, memory)
        array[...] = value
        out = np.zeros(1, memory)
        assert read_as(api, handle, out) == status, value
        if wanted is not None:
            np.testing.assert_array_equal(out, wanted, strict=True)
    api.release(handle)


@pytest.mark.parametrize("options", [{}, {"shards": (24, 20)}, {"chunks": [[7, 20, 3], [10, 20]]}], ids=str)
@pytest.mark.parametrize("buffer", [0, 1 << 20])
def test_regions(api: Any, tmp_path: Path, options: dict[str, Any], buffer: int) -> None:
    model = np.zeros((30, 30), "i4")
    zarrcore.create_array(tmp_path, **{"shape": (30, 30), "chunks": (8, 10), "dtype": "i4"} | options)
    handle, rng = api.handle(tmp_path), np.random.default_rng(1)
    assert api.set_write_buffer(handle, buffer, None) == 0
    for k in range(60):
        start = rng.integers(0, 30, 2)
        step = rng.choice([1, 1, 2, 7, -1, -2], 2)
        count = [
            int(rng.integers(1, (29 - s) // t + 2 if t > 0 else s // -t + 2))
            for s, t in zip(start, step, strict=True)
        ]
        box = np.ix_(*(s + t * np.arange(n) for s, t, n in zip(start, step, count, strict=True)))
        dtype = ("f8", ">i8", "u2", ">f4", "c16")[k % 5]
        if k % 2:
            values = np.asfortranarray(rng.integers(0, 99, count).astype(dtype)) if "c" not in dtype else None
            if values is not None:
                assert write_as(api, handle, values, start, step) == 0
                model[box] = values
        else:
            out = np.zeros(count[::-1], dtype).T
            assert read_as(api, handle, out, start, step) == 0
            np.testing.assert_array_equal(out, model[box].astype(dtype))
    assert api.close(handle, None) == 0
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path)[...], model)


def test_large_regions_are_converted_in_tiles(api: Any, tmp_path: Path) -> None:
    values = np.arange(3000 * 2500, dtype="f8").reshape(3000, 2500)
    array = zarrcore.create_array(
        tmp_path, shape=values.shape, chunks=(700, 900), dtype="f4", compressors=None
    )
    handle = api.handle(tmp_path)
    assert write_as(api, handle, values) == 0
    np.testing.assert_array_equal(array[...], values.astype("f4"))
    out = np.zeros((1499, 1250), "f8")
    assert read_as(api, handle, out, (1, 0), (2, 2)) == 0
    np.testing.assert_array_equal(out, values[1:2998:2, ::2].astype("f4"))
    api.release(handle)


def test_arrays_of_the_other_byte_order(capi: Any) -> None:
    """A handle from Python has the byte order of the array's data type."""
    array = zarrcore.create_array({}, shape=(5,), dtype=">i4", zarr_format=2)
    handle, values = capi.from_python(id(array)), np.array([1, -2, 3, 4, 500])
    assert write_as(capi, handle, values) == 0
    assert array[...].tolist() == values.tolist()
    for dtype in ("<f8", ">f8", "<i4", ">i4", "<i2"):
        out = np.zeros(5, dtype)
        assert read_as(capi, handle, out) == 0
        assert out.tolist() == values.tolist()
    capi.release(handle)


def test_nothing_is_written_if_one_number_does_not_fit(api: Any, tmp_path: Path, error_of: Any) -> None:
    array, error = zarrcore.create_array(tmp_path, shape=(3000,), chunks=(10,), dtype="u1"), error_of()
    handle, values = api.handle(tmp_path), np.ones(3000, "i4")
    values[2990] = 256
    assert write_as(api, handle, values, error=error) == VALUE
    assert error.message == b"value 256 is out of range for u1"
    assert not array[...].any()
    assert write_as(api, handle, np.array([1.5, 2]), error=error) == VALUE
    assert error.message == b"value 1.5 cannot be stored as u1 without changing it"
    api.release(handle)


def test_sizes_and_types_are_checked(api: Any, tmp_path: Path, error_of: Any) -> None:
    zarrcore.create_array(tmp_path, shape=(4,), dtype="f4")
    handle, error, out = api.handle(tmp_path), error_of(), np.zeros(4, "f8")
    assert read_as(api, handle, out, nbytes=31, error=error) == SIZE
    assert b"32" in error.message
    for name in ("f", "f16", "i3", "", "<", "M8[s]", "S4", "V4", "f8 ", "x" * 500):
        assert read_as(api, handle, out, name=name, error=error) == ARGUMENT, name
    assert write_as(api, handle, out.astype("c16"), error=error) == ARGUMENT
    api.release(handle)


@pytest.mark.parametrize("dtype", ["datetime64[s]", "S4", "U3", [("a", "i4")]], ids=str)
def test_what_is_no_number_is_not_converted(capi: Any, dtype: Any) -> None:
    array = zarrcore.create_array({}, shape=(4,), dtype=dtype)
    handle = capi.from_python(id(array))
    assert read_as(capi, handle, np.zeros(4, "i8")) == ARGUMENT
    assert write_as(capi, handle, np.zeros(4, "i8")) == ARGUMENT
    capi.release(handle)


@pytest.mark.parametrize(("value", "kind"), [(300, OverflowError), (1.5, ValueError), (np.nan, ValueError)])
def test_python_gets_the_exception_that_python_has(capi: Any, error_of: Any, value: Any, kind: type) -> None:
    array, error = zarrcore.create_array({}, shape=(1,), dtype="u1"), error_of()
    handle = capi.from_python(id(array))
    assert write_as(capi, handle, np.array([value]), error=error) == VALUE
    with pytest.raises(kind):
        array[...] = np.array([value])
    with pytest.raises(kind):
        getattr(capi, "raise")(error)
    capi.release(handle)
    assert sys.exc_info() == (None, None, None)
