"""Hypothesis strategies for arrays: shapes, chunks, data types, values, selections.

They serve property tests of code that reads and writes Zarr arrays; hypothesis has to be installed::

    from hypothesis import given, strategies as st
    from zarrcore.testing import strategies as zst

    @given(st.data())
    def test_my_reader(data):
        array, values = data.draw(zst.arrays())
        selection = data.draw(zst.basic_indices(array.shape))
        assert (my_reader(array, selection) == values[selection]).all()

Everything is small, and shrinks towards few dimensions, short ones, and chunks of one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import zarrcore

__all__ = [
    "array_shapes",
    "arrays",
    "basic_indices",
    "block_indices",
    "chunk_edges",
    "chunk_shapes",
    "dtypes",
    "inner_chunk_shapes",
    "masks",
    "numpy_arrays",
    "orthogonal_indices",
    "point_indices",
    "slices",
]

_NUMBERS = ("u1", "i2", "f4", "f8", "u8", "c16", "?", "i1", "u4", "f2", "c8")
_FLEXIBLE = ("S3", "U2", "V5", "M8[s]", "m8[10ms]")
_STEPS = st.sampled_from((None, 1, 2, 3, -1, -2, -5, 7, 100))


# ---- shapes --------------------------------------------------------------------------------------


def array_shapes(
    *, min_dims: int = 0, max_dims: int = 4, min_side: int = 0, max_side: int = 14
) -> SearchStrategy[tuple[int, ...]]:
    """Shapes of arrays.

    Parameters
    ----------
    min_dims, max_dims : int
        Fewest and most dimensions.
    min_side, max_side : int
        Shortest and longest dimension.

    Returns
    -------
    strategy of tuple of int

    Examples
    --------
    >>> from hypothesis import find
    >>> len(find(array_shapes(min_side=2), lambda shape: len(shape) == 3))
    3
    """
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def chunk_shapes(shape: Sequence[int], *, excess: int = 3) -> SearchStrategy[tuple[int, ...]]:
    """Shapes of the chunks of a regular grid.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array.
    excess : int
        By how much a chunk may be longer than the array.

    Returns
    -------
    strategy of tuple of int

    Examples
    --------
    >>> from hypothesis import find
    >>> len(find(chunk_shapes((10, 20)), lambda chunks: chunks[1] > 4))
    2
    """
    return st.tuples(*(st.integers(1, max(length, 1) + excess) for length in shape))


def inner_chunk_shapes(chunk_shape: Sequence[int]) -> SearchStrategy[tuple[int, ...]]:
    """Shapes of inner chunks, which divide the shape of their shard.

    Parameters
    ----------
    chunk_shape : sequence of int
        Shape of the shard.

    Returns
    -------
    strategy of tuple of int

    Examples
    --------
    >>> from hypothesis import find
    >>> 8 % find(inner_chunk_shapes((8, 12)), lambda chunks: chunks[0] > 2)[0]
    0
    """
    divisors = [[n for n in range(1, length + 1) if length % n == 0] for length in chunk_shape]
    return st.tuples(*map(st.sampled_from, divisors))


@st.composite
def chunk_edges(draw: DrawFn, length: int, *, longest: int = 6) -> tuple[int, ...]:
    """Lengths of the chunks along one dimension of a rectilinear grid.

    Parameters
    ----------
    length : int
        Length of the dimension; the chunks cover it, and the last one may reach beyond.
    longest : int
        Length of the longest chunk.

    Returns
    -------
    strategy of tuple of int

    Examples
    --------
    >>> from hypothesis import find
    >>> len(find(chunk_edges(5, longest=4), lambda edges: sum(edges) > 5 and len(edges) < 3))
    2
    """
    edges = [draw(st.integers(1, longest))]
    while sum(edges) < length:
        edges.append(draw(st.integers(1, longest)))
    return tuple(edges)


# ---- data types and values -----------------------------------------------------------------------


def dtypes(*, zarr_format: int = 3, flexible: bool = True) -> SearchStrategy[np.dtype]:
    """Data types in memory.

    Parameters
    ----------
    zarr_format : {3, 2}
        Format 2 has big-endian arrays in memory, too.
    flexible : bool
        Also strings of fixed length, raw bytes, times and time spans.

    Returns
    -------
    strategy of numpy.dtype

    Examples
    --------
    >>> from hypothesis import find
    >>> find(dtypes(flexible=False), lambda dtype: dtype.kind == "c").kind
    'c'
    """
    codes = st.sampled_from(_NUMBERS + (_FLEXIBLE if flexible else ()))
    if zarr_format == 3:
        return codes.map(np.dtype)
    return st.builds(lambda code, order: np.dtype(code).newbyteorder(order), codes, st.sampled_from("<>"))


@st.composite
def numpy_arrays(draw: DrawFn, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Values to be written: of few distinct values or of many, or broadcast from a single one.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    dtype : data type
        Its type.

    Returns
    -------
    strategy of numpy.ndarray
        In C order, in Fortran order, or with strides of 0.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(numpy_arrays((2, 3), "f4"), lambda values: values.any()).shape
    (2, 3)
    """
    dtype = np.dtype(dtype)
    high = draw(st.sampled_from((2, 120)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from("CF0"))
    numbers = rng.integers(0, high, () if kind == "0" else tuple(shape))
    array = _cast(numbers, dtype)
    if kind == "0":
        return np.broadcast_to(array, tuple(shape))
    return np.asarray(array, order="F" if kind == "F" else "C")


def _cast(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Small numbers as any data type; raw bytes begin with them."""
    numbers = np.asarray(numbers)
    if dtype.kind != "V":
        return numbers.astype(dtype)
    raw = np.zeros((*numbers.shape, dtype.itemsize), "u1")
    raw[..., 0] = numbers
    return raw.view(dtype)[..., 0]


# ---- selections ----------------------------------------------------------------------------------


@st.composite
def slices(draw: DrawFn, length: int) -> slice:
    """Slices of one dimension, within it and beyond it, with steps of either sign.

    Parameters
    ----------
    length : int
        Length of the dimension.

    Returns
    -------
    strategy of slice

    Examples
    --------
    >>> from hypothesis import find
    >>> find(slices(10), lambda part: part.step == -1).step
    -1
    """
    bound = st.none() | st.integers(-length - 2, length + 2)
    return slice(draw(bound), draw(bound), draw(_STEPS))


@st.composite
def basic_indices(draw: DrawFn, shape: Sequence[int], *, integers: bool = True) -> tuple[Any, ...]:
    """Basic selections: integers, slices with any step, an Ellipsis; not always one for every dimension.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array.
    integers : bool
        Whether integers may appear, which drop their dimension.

    Returns
    -------
    strategy of tuple
        As numpy takes it.

    Examples
    --------
    >>> from hypothesis import find
    >>> len(find(basic_indices((4, 5)), lambda index: len(index) == 2))
    2
    """
    entries: list[Any] = []
    for length in shape:
        whole = st.just(slice(None))
        index = st.integers(-length, length - 1) if integers and length else st.nothing()
        entries.append(draw(whole | slices(length) | index))
    kept = draw(st.integers(0, len(entries)))
    if draw(st.booleans()):
        last = draw(st.integers(kept, len(entries)))
        return (*entries[:kept], Ellipsis, *entries[last:])
    return tuple(entries[:kept])


@st.composite
def orthogonal_indices(draw: DrawFn, shape: Sequence[int]) -> tuple[np.ndarray | slice, ...]:
    """Orthogonal selections: for each dimension a slice, or indices in any order, also twice and negative.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array.

    Returns
    -------
    strategy of tuple
        As ``Array.oindex`` takes it.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(orthogonal_indices((4, 5)), lambda index: isinstance(index[1], np.ndarray))[1].dtype
    dtype('int64')
    """
    return tuple(draw(slices(length) | _indices(length)) for length in shape)


def _indices(length: int) -> SearchStrategy[np.ndarray]:
    items = st.lists(st.integers(-length, length - 1), max_size=9) if length else st.just([])
    return items.map(lambda items: np.array(items, dtype=np.int64))


@st.composite
def point_indices(draw: DrawFn, shape: Sequence[int], *, most: int = 20) -> tuple[np.ndarray, ...]:
    """Coordinates of single elements, none of them negative.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array; it has one dimension at least.
    most : int
        How many elements to choose at most.

    Returns
    -------
    strategy of tuple of numpy.ndarray
        One array of int64 for each dimension, all of one length.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(point_indices((4, 5)), lambda index: len(index[0]) == 2)[0].shape
    (2,)
    """
    count = draw(st.integers(0, most)) if all(shape) else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return tuple(rng.integers(0, max(length, 1), count) for length in shape)


@st.composite
def masks(draw: DrawFn, shape: Sequence[int]) -> np.ndarray:
    """Boolean arrays of the array's shape, from empty to full.

    Parameters
    ----------
    shape : sequence of int
        Shape of the array.

    Returns
    -------
    strategy of numpy.ndarray

    Examples
    --------
    >>> from hypothesis import find
    >>> find(masks((2, 3)), lambda mask: mask.all())
    array([[ True,  True,  True],
           [ True,  True,  True]])
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    mask: np.ndarray = rng.random(tuple(shape)) < draw(st.sampled_from((0.5, 0.0, 0.1, 1.0)))
    return mask


@st.composite
def block_indices(draw: DrawFn, grid_shape: Sequence[int]) -> tuple[int | slice, ...]:
    """Selections of whole chunks, as ``Array.blocks`` takes them.

    Parameters
    ----------
    grid_shape : sequence of int
        Number of chunks along each dimension.

    Returns
    -------
    strategy of tuple

    Examples
    --------
    >>> from hypothesis import find
    >>> len(find(block_indices((3,)), lambda index: index != (slice(None),)))
    1
    """
    entries: list[int | slice] = []
    for count in grid_shape:
        index = st.integers(-count, count - 1)
        part = st.builds(
            lambda start, length: slice(start, start + length),
            st.integers(0, count - 1),
            st.integers(0, count),
        )
        entries.append(draw(st.just(slice(None)) | part | index if count else st.just(slice(None))))
    return tuple(entries)


# ---- arrays --------------------------------------------------------------------------------------


@st.composite
def arrays(
    draw: DrawFn,
    *,
    shapes: SearchStrategy[tuple[int, ...]] | None = None,
    zarr_formats: SearchStrategy[int] | None = None,
) -> tuple[zarrcore.Array, np.ndarray]:
    """Generate arrays in memory that contain values, and the values.

    Parameters
    ----------
    shapes : strategy of tuple of int, optional
        Their shapes; by default any of :func:`array_shapes`.
    zarr_formats : strategy of int, optional
        Their formats; by default 2 and 3.

    Returns
    -------
    strategy of (Array, numpy.ndarray)

    Examples
    --------
    >>> from hypothesis import find
    >>> array, values = find(arrays(), lambda found: found[0].ndim == 1)
    >>> np.array_equal(array[:], values)
    True
    """
    shape = draw(array_shapes() if shapes is None else shapes)
    zarr_format = draw(st.sampled_from((3, 2)) if zarr_formats is None else zarr_formats)
    values = draw(numpy_arrays(shape, draw(dtypes(zarr_format=zarr_format, flexible=False))))
    chunks = draw(chunk_shapes(shape))
    shards = None
    if zarr_format == 3 and shape and draw(st.booleans()):
        shards = tuple(length * draw(st.integers(1, 3)) for length in chunks)
    array = zarrcore.create_array(
        {}, shape=shape, chunks=chunks, shards=shards, dtype=values.dtype, zarr_format=zarr_format
    )
    array[...] = values
    return array, np.array(values)
