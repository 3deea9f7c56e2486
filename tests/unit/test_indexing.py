"""Selections against numpy: every selection is applied through the chunk projection to a plain array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrcore
from zarrcore import indexing
from zarrcore._core import engine
from zarrcore.engine.projection import axes_of, grid_shape, project, project_points
from zarrcore.errors import BoundsCheckError, VindexInvalidSelectionError


def chunk_box(part, axes):
    return tuple(
        slice(axis.offset(c), axis.offset(c) + axis.valid_length(c))
        for axis, c in zip(axes, part.coords, strict=True)
    )


def pick(array, selectors):
    if any(isinstance(s, np.ndarray) for s in selectors):
        lengths = array.shape
        selectors = np.ix_(
            *(
                s if isinstance(s, np.ndarray) else np.arange(n)[s]
                for s, n in zip(selectors, lengths, strict=True)
            )
        )
    return array[tuple(selectors)], tuple(selectors)


def apply(selection, array, chunks):
    """Read `selection` chunk by chunk, as an engine does."""
    axes = axes_of(array.shape, chunks)
    out = np.full(selection.block, -1, dtype=array.dtype)
    parts = project_points if selection.points else project
    for part in parts(selection.dims, axes):
        box = array[chunk_box(part, axes)]
        if selection.points:
            out[part.outside[0]] = box[part.inside]
            continue
        values, _ = pick(box, part.inside)
        _, outside = pick(out, part.outside)
        out[outside] = values
    return out.reshape(selection.shape)


A1 = np.arange(23)
A2 = np.arange(23 * 17).reshape(23, 17)
A3 = np.arange(5 * 6 * 7).reshape(5, 6, 7)


@pytest.mark.parametrize(
    "key",
    [
        ...,
        (),
        3,
        -1,
        np.int16(4),
        np.array(2),
        slice(None),
        slice(None, None, -1),
        slice(20, 2, -3),
        slice(5, 5),
        slice(-4, None),
        slice(1, 400, 7),
        None,
        (None, 3),
        (..., None),
        (slice(2, 9, 2), None, slice(None, None, -5)),
        (0, ..., 0),
        (slice(None), 16),
        (..., slice(3, 4)),
        (-23, -17),
    ],
)
def test_basic_equals_numpy(key):
    got = apply(indexing.basic_selection(key, A2.shape), A2, (5, 4))
    np.testing.assert_array_equal(got, A2[key])
    assert got.shape == A2[key].shape


@pytest.mark.parametrize("bad", [23, -24, (0, 17), (0, 0, 0), (..., ...)])
def test_basic_out_of_bounds(bad):
    with pytest.raises(IndexError):
        indexing.basic_selection(bad, A2.shape)


def test_bounds_error_is_an_index_error_with_a_reason():
    with pytest.raises(BoundsCheckError, match="23.*length 23"):
        indexing.basic_selection(23, A2.shape)


@pytest.mark.parametrize("bad", [1.0, np.float64(2), True, np.bool_(False), "x", [1, 2], object()])
def test_basic_refuses_what_is_no_index(bad):
    with pytest.raises(IndexError):
        indexing.basic_selection(bad, A2.shape)


def test_basic_of_no_dimensions():
    assert indexing.basic_selection((), ()) == ((), (), (), False)
    assert indexing.basic_selection(..., ()).shape == ()
    assert indexing.basic_selection((None, ..., None), ()).shape == (1, 1)
    with pytest.raises(IndexError):
        indexing.basic_selection(0, ())


@pytest.mark.parametrize("step", [2**63, 10**20, -(2**63) - 1, -(10**20)])
def test_a_step_larger_than_any_integer_of_c(step: int) -> None:
    """It was an OverflowError."""
    values = np.arange(20).reshape(4, 5)
    array = zarrcore.create_array({}, data=values, chunks=(2, 2))
    for key in (slice(None, None, step), (slice(3, 0, step), 2), (..., slice(1, 4, step))):
        np.testing.assert_array_equal(array[key], values[key])
        array[key] = values[key] = -values[key]
    np.testing.assert_array_equal(array[...], values)


def test_a_huge_grid_is_not_enumerated():
    shape = (10**15, 10**15)
    selection = indexing.basic_selection((slice(10**14, 10**14 + 3), slice(0, 10**15, 4 * 10**14)), shape)
    parts = list(project(selection.dims, axes_of(shape, (2, 7))))
    assert selection.shape == (3, 3)
    assert len(parts) == 2 * 3
    assert grid_shape(shape, (2, 7)) == (5 * 10**14, -(-(10**15) // 7))


@pytest.mark.parametrize(
    "key",
    [
        ([3, 1, 1, -1],),
        (slice(None, None, -2), [0, 16, 3]),
        ([5, 4, 3], [0, 9, 9, 1]),
        (np.array([True] + [False] * 21 + [True]), [2, 1]),
        (np.arange(23) % 2 == 0, slice(3, 12, 4)),
        ([], slice(None)),
        (np.array([], dtype=int), np.zeros(17, dtype=bool)),
        (np.array([1, 2], dtype=np.uint8), np.array([4], dtype=np.uint64)),
    ],
)
def test_orthogonal_equals_ix(key):
    index = [
        np.arange(n)[k] for k, n in zip(list(key) + [slice(None)] * (2 - len(key)), A2.shape, strict=True)
    ]
    index = [np.asarray(i, dtype=int).reshape(-1) for i in index]
    got = apply(indexing.orthogonal_selection(key, A2.shape), A2, (5, 4))
    np.testing.assert_array_equal(got, A2[np.ix_(*index)])


def test_orthogonal_drops_integers():
    got = apply(indexing.orthogonal_selection((2, [1, 0], slice(1, 3)), A3.shape), A3, (2, 2, 3))
    np.testing.assert_array_equal(got, A3[2][[1, 0]][:, 1:3])


@pytest.mark.parametrize(
    "bad",
    [
        ([23],),
        ([-24],),
        (np.array([2**63 + 1], dtype=np.uint64),),
        ([[0, 1]],),
        ([1.5],),
        (np.ones(5, dtype=bool),),
        (slice(None), slice(None), [0]),
    ],
)
def test_orthogonal_refuses(bad):
    with pytest.raises(IndexError):
        indexing.orthogonal_selection(bad, A2.shape)


@pytest.mark.parametrize(
    "key",
    [
        ([1, 2, -3], [0, 16, 16]),
        ([[0], [22]], [0, 1, 2]),
        (np.zeros((2, 0), dtype=int), np.zeros((2, 0), dtype=int)),
        ([3, 3, 3], 4),
        (np.array([5, 1]), np.array([[0, 1], [2, 3]])),
    ],
)
def test_coordinates_equal_numpy(key):
    expected = A2[tuple(np.asarray(k) for k in key)]
    got = apply(indexing.vindex_selection(key, A2.shape), A2, (5, 4))
    np.testing.assert_array_equal(got, expected)
    assert got.shape == expected.shape


def test_integers_alone_give_one_point():
    assert indexing.coordinate_selection((1, 2), A2.shape).shape == (1,)


def test_mask():
    mask = A2 % 5 == 3
    got = apply(indexing.vindex_selection(mask, A2.shape), A2, (5, 4))
    np.testing.assert_array_equal(got, A2[mask])
    with pytest.raises(VindexInvalidSelectionError):
        indexing.vindex_selection(mask[:3], A2.shape)
    with pytest.raises(IndexError):
        indexing.mask_selection(mask.astype(int), A2.shape)


@pytest.mark.parametrize(
    "bad", [(slice(None), [0]), ([0],), (..., [0]), ([True, False], [0, 1]), (None, [1], [2])]
)
def test_vindex_refuses(bad):
    with pytest.raises(IndexError):
        indexing.vindex_selection(bad, A2.shape)


def test_coordinates_that_do_not_broadcast():
    with pytest.raises(IndexError, match="broadcast"):
        indexing.coordinate_selection(([1, 2], [1, 2, 3]), A2.shape)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (0, A2[0:5]),
        ((1, -1), A2[5:10, 16:17]),
        (slice(3, None), A2[15:]),
        ((slice(1, 3), slice(0, 2)), A2[5:15, 0:8]),
        (slice(2, 2), A2[:0]),
    ],
)
def test_blocks(key, expected):
    got = apply(indexing.block_selection(key, A2.shape, (5, 4)), A2, (5, 4))
    np.testing.assert_array_equal(got, expected)


def test_blocks_of_uneven_chunks():
    edges = ((3, 10, 10), 4)
    np.testing.assert_array_equal(
        apply(indexing.block_selection((1, slice(0, 1)), A2.shape, edges), A2, edges), A2[3:13, 0:4]
    )


@pytest.mark.parametrize("bad", [5, -6, (0, 5), slice(None, None, 2), [0, 1], 1.0, None])
def test_blocks_refuse(bad):
    with pytest.raises(IndexError):
        indexing.block_selection(bad, A2.shape, (5, 4))


def test_plain_selection_picks_the_kind():
    shape = A2.shape
    assert not indexing.plain_selection((0, slice(None)), shape).points
    assert indexing.plain_selection(([0, 1], [1, 2]), shape).points
    assert indexing.plain_selection(([0, 1], 2), shape).points
    assert indexing.plain_selection(A2 > 4, shape).points
    assert indexing.plain_selection([1, 2], (9,)).points
    assert indexing.plain_selection([1, 2], shape).shape == (2, 17)
    assert indexing.plain_selection((slice(None), [1, 2]), shape).shape == (23, 2)
    assert indexing.plain_selection((..., [1, 2]), shape).shape == (23, 2)
    with pytest.raises(IndexError, match="oindex"):
        indexing.plain_selection(([0], slice(None), [1]), A3.shape)


def test_fields():
    dtype = np.dtype([("a", "i4"), ("b", "f8")])
    assert indexing.pop_fields("a") == ("a", ())
    assert indexing.pop_fields(("a", slice(3))) == ("a", slice(3))
    assert indexing.pop_fields(("a", "b", 1, 2)) == (["a", "b"], (1, 2))
    assert indexing.pop_fields((1, 2)) == (None, (1, 2))
    assert indexing.field_dtype("b", dtype) == np.dtype("f8")
    assert indexing.field_dtype(["b"], dtype) == np.dtype([("b", "f8")])
    with pytest.raises(IndexError, match="unknown"):
        indexing.field_dtype("c", dtype)
    with pytest.raises(IndexError, match="no fields"):
        indexing.field_dtype("c", np.dtype("i4"))


slices = st.slices(23) | st.integers(-23, 22)
edges_1d = st.integers(1, 30) | st.lists(st.integers(1, 9), min_size=1).map(
    lambda sizes: tuple(sizes) + ((max(0, 23 - sum(sizes)),) if sum(sizes) < 23 else ())
)


@settings(max_examples=200, deadline=None)
@given(slices, edges_1d)
def test_any_slice_over_any_chunks(key, edges):
    got = apply(indexing.basic_selection(key, A1.shape), A1, (edges,))
    np.testing.assert_array_equal(got, A1[key])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-23, 22)), edges_1d)
def test_any_indices_over_any_chunks(key, edges):
    index = np.array(key, dtype=int)
    for make in (indexing.orthogonal_selection, indexing.coordinate_selection):
        np.testing.assert_array_equal(apply(make(index, A1.shape), A1, (edges,)), A1[index])


@pytest.mark.parametrize("select", [indexing.vindex_selection, indexing.coordinate_selection])
def test_each_array_of_numpy_was_asked_four_times_what_it_is(select, monkeypatch):
    x, y = np.array([[0, 3], [2, 1]]), np.array([[1, 0], [4, 4]])
    items = (x, y), (x.T, y), (x.astype(">i4"), y), (x[:1], y), (x - 5, y), (x.astype("u1"), y[::-1])
    expected = [select((a.tolist(), b.tolist()), (5, 5)) for a, b in items]

    def asked(item):
        raise AssertionError(f"asked of {item!r}")

    monkeypatch.setattr(indexing, "is_integer", asked)
    monkeypatch.setattr(indexing, "_is_index_array", asked)
    for arrays, wanted in zip(items, expected, strict=True):
        found = select(arrays, (5, 5))
        assert found[1:] == wanted[1:]
        assert all(np.array_equal(*pair) for pair in zip(found.dims, wanted.dims, strict=True))
    for wrong in (x + 3, x - 6):
        with pytest.raises(BoundsCheckError):
            select((wrong, y), (5, 5))


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (np.arange(5), True),
        (np.arange(0), True),
        (np.array([4, 0]), True),
        (np.array([0, 5]), False),
        (np.array([3, -1]), False),
        (np.array(4), True),
        (np.arange(5, dtype=">i8"), False),
        (np.arange(5, dtype="i4"), False),
        (np.arange(5)[::2], False),
        ([0], False),
    ],
)
def test_indices_that_need_no_second_look(items, expected):
    assert engine.are_indices(items, 5) is expected
