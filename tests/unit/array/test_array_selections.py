"""Reading and writing every kind of selection, in every layout, with both engines, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zarrcore
from zarrcore.errors import BoundsCheckError, VindexInvalidSelectionError

BASIC = [
    ...,
    3,
    -1,
    (2, 3),
    (np.int64(2), np.uint8(3)),
    slice(None),
    slice(None, None, -1),
    (slice(20, 2, -3), slice(1, 16, 5)),
    (slice(5, 5), 3),
    (..., 0),
    (None, slice(2, 4), None, 5),
    (slice(2, 30), slice(-3, None)),
]


@pytest.mark.parametrize("key", BASIC, ids=repr)
def test_basic_read(pair, key):
    array, values = pair
    got = array[key]
    np.testing.assert_array_equal(got, values[key])
    assert np.shape(got) == values[key].shape
    np.testing.assert_array_equal(array.get_basic_selection(key), values[key])


@pytest.mark.parametrize("key", BASIC, ids=repr)
def test_basic_write(pair, key):
    array, values = pair
    new = np.arange(values[key].size, dtype="i4").reshape(values[key].shape) + 1000
    array[key] = new
    values[key] = new
    np.testing.assert_array_equal(array[...], values)


OUTER = [
    ([3, 1, 1, -1], slice(None)),
    (slice(None, None, -2), [0, 16, 3]),
    ([5, 4, 3], [0, 9, 9, 1]),
    (np.arange(23) % 2 == 0, [2, 1]),
    (4, [1, 2]),
    ([4], 2),
    ([], [1, 2]),
    (np.zeros(23, dtype=bool), slice(None)),
]


def outer(values, key):
    """The same selection in numpy: an outer product, with integers kept and squeezed afterwards."""
    index = [np.arange(n)[k] for n, k in zip(values.shape, key, strict=True)]
    squeeze = tuple(axis for axis, k in enumerate(key) if isinstance(k, int))
    return np.ix_(*[np.atleast_1d(i).astype(int) for i in index]), squeeze


@pytest.mark.parametrize("key", OUTER, ids=repr)
def test_orthogonal(pair, key):
    array, values = pair
    index, squeeze = outer(values, key)
    expected = values[index].squeeze(squeeze)
    np.testing.assert_array_equal(array.oindex[key], expected)
    np.testing.assert_array_equal(array.get_orthogonal_selection(key), expected)
    new = np.arange(expected.size, dtype="i4").reshape(expected.shape) + 1000
    array.oindex[key] = new
    values[index] = new.reshape(values[index].shape)
    np.testing.assert_array_equal(array[...], values)


POINTS = [
    ([3, 1, 3], [0, 16, 0]),
    ([[0], [22]], [0, 1, 2]),
    ([-1, -23], [-17, 3]),
    ([], []),
    (np.array([2, 2], dtype=np.uint16), 5),
    # outer products: each varies along an axis of its own
    np.ix_([3, 1, 3], [16, 0, 0]),
    np.ix_([-1, 22], range(17)),
    ([[[[4]], [[2]]]], [[7, 8]]),
    ([[1], [2]], []),
    ([[0, 22]], [[[1]], [[16]]]),  # the second dimension varies along the first axis
    ([[[1, 2], [3, 4]]], [[[5]], [[6]]]),
]


@pytest.mark.parametrize("key", POINTS, ids=repr)
def test_coordinates(pair, key):
    array, values = pair
    index = tuple(np.asarray(k, dtype=int) for k in key)
    np.testing.assert_array_equal(array.vindex[key], values[index])
    np.testing.assert_array_equal(array.get_coordinate_selection(key), values[index])
    new = np.arange(values[index].size, dtype="i4").reshape(values[index].shape) + 1000
    array.vindex[key] = new
    values[index] = new
    np.testing.assert_array_equal(array[...], values)


def test_outer_product_of_points_into_memory_of_any_order(pair):
    array, values = pair
    index = np.ix_([5, 0, 5], [3, 2])
    for order in "CF":
        out = np.zeros((3, 2), values.dtype, order)
        assert array.get_coordinate_selection(index, out=out) is out
        np.testing.assert_array_equal(out, values[index])
    wide = np.zeros((3, 4), values.dtype)
    array.get_coordinate_selection(index, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], values[index])
    assert not wide[:, 1::2].any()


def test_mask(pair):
    array, values = pair
    mask = values % 5 == 0
    np.testing.assert_array_equal(array[mask], values[mask])
    np.testing.assert_array_equal(array.vindex[mask], values[mask])
    array.set_mask_selection(mask, -7)
    values[mask] = -7
    np.testing.assert_array_equal(array[...], values)


def test_rows_by_a_boolean_list(pair):
    array, values = pair
    rows = values[:, 0] > 500
    np.testing.assert_array_equal(array[rows], values[rows])
    np.testing.assert_array_equal(array[[1, 5]], values[[1, 5]])


def test_blocks(pair):
    array, values = pair
    edges = array.write_chunk_sizes
    first, second = edges[0][0], sum(edges[0][:2])
    if len(edges[0]) > 1:
        np.testing.assert_array_equal(array.blocks[1], values[first:second])
        array.blocks[1] = 5
        values[first:second] = 5
    np.testing.assert_array_equal(array.blocks[0, 0:1], values[:first, : edges[1][0]])
    np.testing.assert_array_equal(array[...], values)
    with pytest.raises(BoundsCheckError):
        array.blocks[len(edges[0])]


def test_out_of_bounds(pair):
    array, _ = pair
    for key in (23, (0, 17), (0, 0, 0), -24, ([23], [0]), (slice(None), [17])):
        with pytest.raises(IndexError):
            array[key]
        with pytest.raises(IndexError):
            array[key] = 0


@pytest.mark.parametrize("key", [1.0, True, (np.bool_(True), 0), "x", object(), (..., ...)])
def test_what_is_no_index(engine, key):
    array = engine(zarrcore.create_array({}, shape=(23, 17), dtype="i4"))
    with pytest.raises(IndexError):
        array[key]


def test_vindex_takes_no_slices(pair):
    array, _ = pair
    with pytest.raises(VindexInvalidSelectionError):
        array.vindex[0, :]


@pytest.mark.parametrize("index", [23, -24, 2**70, -(2**70)])
def test_an_index_out_of_bounds_is_named_however_large_it_is(pair, index):
    array, _ = pair
    with pytest.raises(
        BoundsCheckError, match=f"index {index} is out of bounds for a dimension of length 23"
    ):
        array[index]
    with pytest.raises(
        BoundsCheckError, match=f"index {index} is out of bounds for a dimension of length 23"
    ):
        array[index, 0] = 1


@pytest.mark.parametrize("method", ["read", "get_basic_selection"])
def test_out(pair, method):
    array, values = pair
    key = (slice(3, 20, 2), slice(None, None, -1))
    big = np.zeros((9 * 2, 17 * 3), dtype="i4")
    out = big[::2, ::3]
    assert getattr(array, method)(key, out=out) is out
    np.testing.assert_array_equal(out, values[key])
    assert not big[1::2].any()
    with pytest.raises(ValueError, match="shape"):
        array.read(key, out=np.zeros((9, 16), dtype="i4"))
    with pytest.raises(ValueError, match="data type"):
        array.read(key, out=np.zeros((9, 17), dtype="i8"))
    with pytest.raises(TypeError):
        array.read(key, out=[1])
    frozen = np.zeros((9, 17), dtype="i4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array.read(key, out=frozen)


def test_points_into_a_strided_out(pair):
    array, values = pair
    out = np.zeros((2, 6), dtype="i4")[:, ::2]
    array.get_coordinate_selection(([[0], [22]], [0, 1, 2]), out=out)
    np.testing.assert_array_equal(out, values[[[0], [22]], [0, 1, 2]])


def test_numpy_manners(pair):
    array, values = pair
    assert len(array) == 23
    np.testing.assert_array_equal(np.asarray(array), values)
    np.testing.assert_array_equal(np.asarray(array, dtype="f8"), values)
    np.testing.assert_array_equal(np.stack(list(array)), values)
    with pytest.raises(ValueError, match="copy"):
        np.array(array, copy=False)


def test_an_array_as_a_mask(pair):
    array, values = pair
    mask = zarrcore.array(values > 100, store={})
    np.testing.assert_array_equal(array[mask], values[values > 100])


def test_scalars(pair):
    array, values = pair
    got = array[2, 3]
    assert type(got) is np.int32
    assert got == values[2, 3]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=hnp.basic_indices((23, 17), allow_newaxis=True, allow_ellipsis=True), data=st.data())
def test_any_basic_index(pair, key, data):
    array, values = pair
    np.testing.assert_array_equal(array[key], values[key])
    number = data.draw(st.integers(-(2**31), 2**31 - 1))
    before = values.copy()
    values[key] = number
    array[key] = number
    np.testing.assert_array_equal(array[...], values)
    array[...] = before
    values[...] = before


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(index=hnp.integer_array_indices((23, 17), result_shape=hnp.array_shapes(max_dims=2, max_side=6)))
def test_any_points(pair, index):
    array, values = pair
    np.testing.assert_array_equal(array.vindex[index], values[index])
