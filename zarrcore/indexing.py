"""Selections: from what a user writes in brackets to closed-form arithmetic.

Every selection becomes one small :class:`Selection`: for each dimension of the array a progression
``(start, step, count)`` or an array of indices, and the shape of the result that the user sees.  Nothing here
knows about stores, codecs or chunks; :mod:`zarrcore.engine.projection` maps a selection onto the chunk grid.

An integer keeps its dimension with a count of one, and ``numpy.newaxis`` adds none.  So the block which an
engine fills and the result which a user sees differ by axes of length one only: a reshape that never copies.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from zarrcore._core.engine import MaskPoints, are_indices, basic_dims
from zarrcore._typed import NamedTuple
from zarrcore.errors import BoundsCheckError, VindexInvalidSelectionError, given

Dim = tuple[int, int, int] | np.ndarray
Fields = str | list[str]

_ALL = slice(None)
_EACH_ONE = {slice, int, np.ndarray}  # types of items that stand for one dimension


class Selection(NamedTuple):
    """A normalised selection.

    Attributes
    ----------
    dims
        For each dimension ``(start, step, count)`` (element k is ``start + k * step``) or an int64 array of
        non-negative indices.  For points: one flat int64 array per dimension, all of the same length.
    block
        Shape of the block an engine fills: every dimension is kept.  For points ``(number of points,)``.
    shape
        Shape of the result as the user sees it.
    points
        True if the indices of the dimensions belong together one by one (``vindex``).
    """

    dims: tuple[Dim, ...]
    block: tuple[int, ...]
    shape: tuple[int, ...]
    points: bool = False


# --- fields ---


def pop_fields(selection: Any) -> tuple[Fields | None, Any]:
    """Split field names from the rest of a selection.

    Examples
    --------
    >>> pop_fields(("a", slice(0, 3)))
    ('a', slice(0, 3, None))
    >>> pop_fields("a")
    ('a', ())
    """
    if isinstance(selection, str):
        return selection, ()
    if isinstance(selection, list) and selection and all(isinstance(item, str) for item in selection):
        return list(selection), ()
    if not isinstance(selection, tuple):
        return None, selection
    names = [item for item in selection if isinstance(item, str)]
    if not names:
        return None, selection
    rest = tuple(item for item in selection if not isinstance(item, str))
    return names[0] if len(names) == 1 else names, rest[0] if len(rest) == 1 else rest


def field_dtype(fields: Fields | None, dtype: np.dtype) -> np.dtype:
    """Data type of the result when `fields` are taken out of items of type `dtype`."""
    if fields is None:
        return dtype
    if not isinstance(fields, (str, list, tuple)):
        raise IndexError(f"fields: expected a string or a list of strings, got {given(fields)}")
    if not fields:
        return dtype
    if dtype.names is None:
        raise IndexError(f"fields: the data type {dtype} has no fields, got {given(fields)}")
    wanted = [fields] if isinstance(fields, str) else list(fields)
    unknown = [name for name in wanted if name not in dtype.names]
    if unknown:
        raise IndexError(f"fields: unknown {given(unknown)}; the data type has {list(dtype.names)!r}")
    if isinstance(fields, str):
        return dtype[fields]
    return np.dtype([(name, dtype[name]) for name in wanted])


# --- kinds of items ---


def is_integer(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return False
    if isinstance(item, (int, np.integer)):
        return True
    if not hasattr(item, "__index__"):
        return False
    # An array without dimensions, of other libraries too.
    return not hasattr(item, "shape") or (item.shape == () and np.asarray(item).dtype.kind in "iu")


def _is_index_array(item: Any) -> bool:
    """True for lists and array-likes (not scalars) that select by position or by mask."""
    if isinstance(item, (list, range)):
        return True
    shape = getattr(item, "shape", None)
    return shape is not None and hasattr(item, "dtype") and len(shape) > 0


def _are_arrays(items: Sequence[Any], shape: Sequence[int]) -> bool:
    """True for one array of numpy with integers for each dimension."""
    if {*map(type, items)} != {np.ndarray} or len(items) != len(shape):
        return False
    return all(array.ndim > 0 and array.dtype.kind in "iu" for array in items)


def _as_index_array(item: Any) -> np.ndarray:
    array = np.asarray(item)
    if array.size == 0 and not hasattr(item, "dtype"):
        array = array.astype(np.int64)  # an empty list selects nothing
    if array.dtype.kind not in "iub":
        raise IndexError(f"indices: expected integers or booleans, got an array of {array.dtype}")
    return array


def _integer(item: Any, length: int) -> int:
    index = operator.index(item)
    wrapped = index + length if index < 0 else index
    if not 0 <= wrapped < length:
        raise BoundsCheckError(f"index {index} is out of bounds for a dimension of length {length}")
    return wrapped


def _progression(item: slice, length: int) -> tuple[int, int, int]:
    start, stop, step = item.indices(length)
    count = len(range(start, stop, step))
    if count < 2:  # the step is of no account, and may be larger than any integer of the engine
        return (start, 1, 1) if count else (0, 1, 0)
    return start, step, count


def _indices(array: np.ndarray, length: int) -> np.ndarray:
    """Non-negative int64 indices, checked against the dimension before any cast could wrap."""
    if are_indices(array, length):
        return array
    if array.size == 0:
        return array.astype(np.int64)
    low, high = int(array.min()), int(array.max())
    if low < -length or high >= length:
        worst = high if high >= length else low
        raise BoundsCheckError(f"index {worst} is out of bounds for a dimension of length {length}")
    array = array.astype(np.int64, copy=False)
    return np.where(array < 0, array + length, array) if low < 0 else array


_TAKES = {
    "basic": "an index is an integer, a slice, an ellipsis or None",
    "orthogonal": "an index is an integer, a slice, an ellipsis, or an array of integers or booleans",
    "coordinate": "an index is an array of integers",
    "block": "an index is an integer or a slice, which count chunks",
}


def _refuse(item: Any, kind: str) -> IndexError:
    if isinstance(item, (bool, np.bool_)):
        return IndexError(f"{kind} indexing: a boolean scalar is not an index, got {item!r}")
    if isinstance(item, (float, np.floating)):
        hint = f"; did you mean {int(item)}?" if item == item // 1 else ""
        return IndexError(f"{kind} indexing: {_TAKES[kind]}, got {item!r}{hint}")
    return IndexError(f"{kind} indexing: {_TAKES[kind]}, got {given(item)} ({type(item).__name__})")


# --- expanding ---


def items_of(selection: Any, ndim: int) -> list[Any]:
    """Replace the ellipsis and append full slices; ``None`` (newaxis) items stay where they are."""
    items = list(selection) if isinstance(selection, tuple) else [selection]
    if len(items) == ndim and {*map(type, items)} <= _EACH_ONE:
        return items
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = len([item for item in items if item is not None]) - len(dots)
    if used > ndim:
        raise IndexError(f"too many indices: the array has {ndim} dimensions, {used} were indexed")
    missing = [_ALL] * (ndim - used)
    if not dots:
        return items + missing
    return items[: dots[0]] + missing + items[dots[0] + 1 :]


def basic_selection(selection: Any, shape: Sequence[int]) -> Selection:
    """Integers, slices with any step, an ellipsis and newaxis, with the semantics of numpy."""
    basic = basic_dims(selection, shape)
    return _outer(selection, shape, "basic") if basic is None else Selection(*basic)


def orthogonal_selection(selection: Any, shape: Sequence[int]) -> Selection:
    """Normalise an outer product: an integer, slice, integer array or boolean array for each dimension."""
    return _outer(selection, shape, "orthogonal")


def _outer(selection: Any, shape: Sequence[int], kind: str) -> Selection:
    dims: list[Dim] = []
    block: list[int] = []
    result: list[int] = []
    for item in items_of(selection, len(shape)):
        if item is None:
            result.append(1)
            continue
        length = shape[len(dims)]
        dim: Dim
        if isinstance(item, slice):
            dim = _progression(item, length)
            block.append(dim[2])
            result.append(dim[2])
        elif type(item) is int or is_integer(item):
            dim = _integer(item, length), 1, 1
            block.append(1)
        elif kind == "orthogonal" and _is_index_array(item):
            dim = _positions(item, length)
            block.append(dim.size)
            result.append(dim.size)
        else:
            raise _refuse(item, kind)
        dims.append(dim)
    return Selection(tuple(dims), tuple(block), tuple(result))


def _positions(item: Any, length: int) -> np.ndarray:
    """Return what an integer or boolean array selects along one dimension."""
    array = _as_index_array(item)
    is_mask = array.dtype.kind == "b"
    if array.ndim != 1:
        what = "a boolean" if is_mask else "an integer"
        raise IndexError(f"orthogonal indexing: {what} array must have 1 dimension, got {array.ndim}")
    if not is_mask:
        return _indices(array, length)
    if array.shape[0] != length:
        raise IndexError(f"boolean array has length {array.shape[0]}, the dimension {length}")
    return np.flatnonzero(array).astype(np.int64, copy=False)


# --- points ---


def coordinate_selection(selection: Any, shape: Sequence[int]) -> Selection:
    """Return one integer array for each dimension, broadcast together; integers alone give shape (1,)."""
    items = selection if isinstance(selection, tuple) else (selection,)
    if _are_arrays(items, shape):
        return _points([*map(_indices, items, shape)])
    if len(items) != len(shape) or not items:
        raise IndexError(
            f"coordinate selection: expected one integer array for each of the {len(shape)} dimensions, "
            f"got {len(items)}"
        )
    arrays = []
    for item, length in zip(items, shape, strict=True):
        if not (is_integer(item) or _is_index_array(item)):
            raise _refuse(item, "coordinate")
        array = np.asarray(item) if is_integer(item) else _as_index_array(item)
        if array.dtype.kind == "b":
            raise IndexError("coordinate selection: expected integer arrays, got a boolean array")
        arrays.append(_indices(array, length))
    return _points(arrays)


def _points(arrays: Sequence[np.ndarray]) -> Selection:
    together = arrays
    if any(array.shape != arrays[0].shape for array in arrays):  # those of one shape are soon done
        if (product := _open_mesh(arrays)) is not None:
            return product
        try:
            together = np.broadcast_arrays(*arrays)
        except ValueError:
            shapes = ", ".join(str(array.shape) for array in arrays)
            what = f"coordinate selection: shapes {shapes}"
            raise IndexError(f"{what} cannot be broadcast together") from None
    result = together[0].shape or (1,)
    flat = tuple(array.reshape(-1) for array in together)
    return Selection(flat, (flat[0].size,), result, points=True)


def _open_mesh(arrays: Sequence[np.ndarray]) -> Selection | None:
    """Return the outer product that index arrays such as those of ``numpy.ix_`` select; None for others.

    Each varies along an axis of its own, in the order of the dimensions: no list of all points is needed.
    """
    if sum(array.size != 1 for array in arrays) < 2:
        return None
    ndim, last = max(array.ndim for array in arrays), -1
    result = [1] * ndim
    for array in arrays:
        axes = [axis for axis, length in enumerate(array.shape, ndim - array.ndim) if length != 1]
        if len(axes) > 1 or (axes and axes[0] <= last):
            return None
        if axes:
            last = axes[0]
            result[last] = array.size
    dims = tuple(array.reshape(-1) for array in arrays)
    return Selection(dims, tuple(dim.size for dim in dims), tuple(result))


def mask_selection(mask: Any, shape: Sequence[int]) -> Selection:
    """Return the points where a boolean array of the array's own shape is true."""
    if isinstance(mask, tuple) and len(mask) == 1:
        mask = mask[0]
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != tuple(shape):
        raise IndexError(
            f"mask selection: expected a boolean array of shape {tuple(shape)}, "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.ndim == 0:
        return Selection((), (), (int(array),))  # the only element, as a block, or none
    points: Any = MaskPoints(array)  # a tuple of indices that are made when asked for
    return Selection(points, (points.count,), (points.count,), points=True)


def vindex_selection(selection: Any, shape: Sequence[int]) -> Selection:
    """Normalise a selection of ``array.vindex``: integer arrays for all dimensions, or one boolean mask."""
    items = selection if isinstance(selection, tuple) else (selection,)
    if _are_arrays(items, shape):  # what most selections consist of
        return _points([*map(_indices, items, shape)])
    if len(items) == 1 and _is_index_array(items[0]):
        array = _as_index_array(items[0])
        if array.dtype.kind == "b":
            if array.shape != tuple(shape):
                raise VindexInvalidSelectionError(
                    f"vectorised indexing: the mask has shape {array.shape}, the array {tuple(shape)}"
                )
            return mask_selection(array, shape)
    if len(items) != len(shape) or not all(is_integer(i) or _is_index_array(i) for i in items):
        raise VindexInvalidSelectionError(
            "vectorised indexing takes one integer array for each dimension or a single boolean mask, "
            f"got {given(selection)} for {len(shape)} dimensions"
        )
    arrays = [item if is_integer(item) else _as_index_array(item) for item in items]
    if any(isinstance(array, np.ndarray) and array.dtype.kind == "b" for array in arrays):
        raise VindexInvalidSelectionError(
            "vectorised indexing: a boolean array can only be used alone, with the array's own shape"
        )
    return coordinate_selection(tuple(arrays), shape)


# --- blocks ---


def block_selection(selection: Any, shape: Sequence[int], chunks: Sequence[int | Sequence[int]]) -> Selection:
    """Whole chunks, picked by their position in the chunk grid with integers and slices of step 1.

    `chunks` are for each dimension the chunk length, or the lengths of all chunks where they differ.
    """
    items = items_of(selection, len(shape))
    if any(item is None for item in items):
        raise IndexError("block indexing: newaxis is not supported")
    dims = tuple(
        _block_dim(item, length, edges) for item, length, edges in zip(items, shape, chunks, strict=True)
    )
    block = tuple(dim[2] for dim in dims)
    return Selection(dims, block, block)


def _block_dim(item: Any, length: int, edges: int | Sequence[int]) -> tuple[int, int, int]:
    if isinstance(edges, int):
        count = -(-length // edges) if edges else 0
    else:
        bounds = np.concatenate(([0], np.cumsum(edges)))
        count = int(np.searchsorted(bounds, length, side="left"))
    if isinstance(item, slice):
        if item.step not in (None, 1):
            raise IndexError(f"block indexing: slices must have step 1, got {item.step}")
        first, last, _ = item.indices(count)
        wanted, outside = item.start, item.start is not None and item.start >= count
    elif is_integer(item):
        wanted = operator.index(item)
        first = wanted + count if wanted < 0 else wanted
        last, outside = first + 1, not 0 <= first < count
    else:
        raise _refuse(item, "block")
    if outside:
        what = "blocks (each a shard where there are shards, else a chunk)"
        raise BoundsCheckError(f"block {wanted} is out of bounds for a dimension of {count} {what}")
    if last <= first:
        return (0, 1, 0)
    start, stop = (k * edges if isinstance(edges, int) else int(bounds[k]) for k in (first, last))
    return (start, 1, min(stop, length) - start)


# --- a[...] ---


def plain_selection(selection: Any, shape: Sequence[int]) -> Selection:
    """Normalise ``array[...]``: basic where possible, points for pure fancy indexing, orthogonal otherwise.

    Mixing several index arrays with slices is refused, since numpy and orthogonal indexing disagree there.
    """
    if (basic := basic_dims(selection, shape)) is not None:
        return Selection(*basic)
    items = selection if isinstance(selection, tuple) else (selection,)
    arrays = [item for item in items if _is_index_array(item)]
    if not arrays:
        return _outer(selection, shape, "basic")
    if len(arrays) == len(items) == 1:
        array = _as_index_array(arrays[0])
        if array.dtype.kind == "b" and array.ndim > 1:
            return vindex_selection(array, shape)
    if len(items) == len(shape) and all(is_integer(item) or _is_index_array(item) for item in items):
        flags = [_as_index_array(item).dtype.kind == "b" for item in arrays]
        if not any(flags):
            return vindex_selection(tuple(items), shape)
        if len(arrays) == len(items):
            return orthogonal_selection(tuple(items), shape)
    if len(arrays) == 1:
        return orthogonal_selection(tuple(items), shape)
    raise IndexError(
        "several index arrays together with slices are ambiguous here; use .oindex (outer product) "
        "or .vindex (point by point)"
    )
