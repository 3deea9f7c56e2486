"""Small writes go straight to the engine where values need no cast and no broadcast: as numpy writes."""

import itertools

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ReadOnlyError

SELECTIONS = [
    ...,
    (),
    slice(None),
    slice(2, 9, 3),
    slice(None, None, -1),
    slice(9, 1, -2),
    slice(5, 5),
    3,
    -1,
    np.int64(4),
    (3, 2),
    (-2, slice(1, 4)),
    (slice(None, None, -3), ...),
    (..., slice(4, None, -2)),
    (..., np.uint8(1)),
    (slice(1, 8), slice(None, None, 2)),
]


def _pair(dtype):
    start = (np.arange(60) % 100).reshape(12, 5).astype(dtype)
    # Format 2 keeps the byte order of the data type in memory too.
    array = zarrcore.create_array({}, data=start, chunks=(5, 3), zarr_format=2 if dtype[0] == ">" else 3)
    return array, start.copy()


def _goes_short(array, selection, value):
    return array._opened.engine().put(selection, value)


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("dtype", ["u1", "i4", ">i2", "f8", "f4", "c8", "S3", "M8[s]", "bool"])
def test_arrays_of_the_same_type_are_written_as_numpy_writes_them(selection, dtype):
    array, expected = _pair(dtype)
    block = (np.arange(60) % 7).reshape(12, 5).astype(dtype)[selection]
    strided = np.repeat(np.array(block, dtype)[..., None], 2, -1)[..., ::-1][..., 0]
    for value in (np.array(block, dtype), np.array(block, dtype, order="F"), np.asarray(strided)):
        expected[selection] = value
        array[selection] = value
        np.testing.assert_array_equal(array[...], expected)
        assert _goes_short(array, selection, value)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_at_the_limits_are_written_and_others_are_refused(dtype):
    array, expected = _pair(dtype)
    limits = np.iinfo(dtype)
    for number in (0, 1, -1, int(limits.min), int(limits.max)):
        if limits.min <= number <= limits.max:
            expected[2:9:2, 1:] = number
            array[2:9:2, 1:] = number
            np.testing.assert_array_equal(array[...], expected)
    for number in (int(limits.min) - 1, int(limits.max) + 1, 1 << 70, -(1 << 70)):
        with pytest.raises(OverflowError):
            array[3] = number
    np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "c16"])
@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, np.nan, np.inf, 5e-324, 7])
def test_floats_are_written_as_numpy_writes_them(dtype, number):
    array, expected = _pair(dtype)
    array[1::2, 3] = expected[1::2, 3] = number
    assert array[...].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.int64(5),
        5.0,
        [1, 2, 3, 4, 5],
        np.arange(5),
        np.arange(5, dtype=">i4"),
        np.arange(5, dtype="i4").reshape(1, 5),
        np.ma.masked_array(np.arange(5, dtype="i4")),
        np.array(4, "i4"),
    ],
    ids=repr,
)
def test_what_needs_a_cast_or_a_broadcast_goes_the_long_way(value):
    array, expected = _pair("i4")
    assert not _goes_short(array, 3, value)
    np.testing.assert_array_equal(array[...], expected)
    array[3] = expected[3] = value
    np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize(
    "selection", [12, -13, (0, 5), (0, 0, 0), True, [1, 2], (None, 1), "a", (..., ...), 1.5], ids=repr
)
def test_no_other_selection_is_written(selection):
    array, expected = _pair("i4")
    assert not _goes_short(array, selection, 5)
    np.testing.assert_array_equal(array[...], expected)


def test_single_elements_and_arrays_without_dimensions_are_written():
    array = zarrcore.create_array({}, shape=(), dtype="f8")
    for selection, value in itertools.product([(), ...], [2.5, np.array(3.5)]):
        array[selection] = value
        assert array[()] == value
        assert _goes_short(array, selection, value)


def test_a_short_write_removes_chunks_that_become_empty_unless_they_are_wanted():
    for wanted in (False, True):
        store = {}
        array = zarrcore.create_array(
            store, shape=8, chunks=4, dtype="i4", fill_value=7, config={"write_empty_chunks": wanted}
        )
        array[:4] = 1
        assert "c/0" in store
        array[:4] = 7
        assert ("c/0" in store) is wanted


def test_a_short_write_is_refused_by_what_can_only_be_read():
    store = {}
    zarrcore.create_array(store, shape=8, chunks=4, dtype="i4")
    array = zarrcore.open_array(store, mode="r")
    with pytest.raises(ReadOnlyError):
        array[...] = np.ones(8, "i4")
    assert list(store) == ["zarr.json"]


def test_a_short_write_sees_that_another_handle_has_made_the_array_shrink():
    store = {}
    array = zarrcore.create_array(store, shape=8, chunks=4, dtype="i4")
    array[7] = 1
    zarrcore.open_array(store).resize(4)
    with pytest.raises(IndexError):
        array[7] = 2
    assert "c/1" not in store
