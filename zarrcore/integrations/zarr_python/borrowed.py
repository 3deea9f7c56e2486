"""Selections of arrays of zarr-python, by the engine where both packages understand them alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zarrcore import indexing
from zarrcore._core.engine import NativeArray
from zarrcore.arrays import access
from zarrcore.arrays.opened import OpenArray
from zarrcore.indexing import Selection
from zarrcore.integrations.zarr_python.metadata import is_plain, translated_metadata
from zarrcore.metadata import layout
from zarrcore.nodes import users
from zarrcore.storage.path import StorePath
from zarrcore.storage.zarr_python import from_zarr_python

_SELECT: dict[str, Callable[..., Selection]] = {
    "basic": indexing.basic_selection,
    "orthogonal": indexing.orthogonal_selection,
    "coordinate": indexing.coordinate_selection,
    "mask": indexing.mask_selection,
    "block": indexing.block_selection,
}


class BorrowedArray(OpenArray):
    """An array of zarr-python, whose object there knows its shape and its settings."""

    __slots__ = ("longer",)

    longer: BorrowedArray | None
    """The same, but to the end of its last shard, for writes: zarr-python keeps what lies there."""

    def follow(self) -> None:
        """Keep the shape that zarr-python's object has, whatever others did."""
        self.losses = users.losses

    def out_of_date(self, shape: tuple[int, ...], *, or_larger: bool = False) -> str:
        """Return that the engine may be used."""
        return ""


def borrowed(metadata: Any, place: Any, config: Any) -> BorrowedArray | None:
    """Return an array of zarr-python as one of this package; None if the engine does not take it.

    `metadata`, `place` and `config` are what zarr-python's ``AsyncArray`` has, its StorePath among them.
    """
    try:
        if not is_plain(metadata):
            return None
        order = metadata.order if metadata.zarr_format == 2 else config.order
        settings = {
            "order": order,
            "write_empty_chunks": config.write_empty_chunks,
            "read_missing_chunks": getattr(config, "read_missing_chunks", True),
        }
        ours = StorePath(from_zarr_python(place.store), place.path)
        known = translated_metadata(metadata)
        array, longer = BorrowedArray(known, ours, settings), _to_ends_of_shards(known)
        array.longer = None if longer is None else BorrowedArray(longer, ours, settings)
        is_native = isinstance(array.engine(), NativeArray)
        return array if is_native and array.dtype_in_memory == metadata.dtype.to_native_dtype() else None
    except Exception:  # metadata or a store that only zarr-python takes
        return None


def _to_ends_of_shards(metadata: Any) -> Any:
    """Return the metadata of an array of shards that ends within one as if it ended with it; None for others.

    With other codecs around its shards zarr-python replaces each as a whole.
    """
    if metadata.zarr_format == 2 or metadata.shards is None or len(metadata.codecs) > 1:
        return None
    ends = tuple(-(-n // shard) * shard for n, shard in zip(metadata.shape, metadata.shards, strict=True))
    return None if ends == metadata.shape else metadata.update_shape(ends)


def get(array: BorrowedArray, selection: Any) -> Any:
    """Read integers and slices by the short way of the engine; NotImplemented for all others."""
    items = selection if type(selection) is tuple else (selection,)
    for item in items:
        if type(item) is slice and item.step is not None and not (type(item.step) is int and item.step > 0):
            return NotImplemented
    found = (array.get or array.first_get)(selection)
    if found is NotImplemented or found.ndim:
        return found
    # For one integer in each dimension zarr-python returns an array, for other single elements a scalar.
    if not items or ... in items:
        return found[()]
    return (
        np.array(found, array.dtype_in_memory) if all(type(item) is int for item in items) else NotImplemented
    )


def read(array: BorrowedArray, kind: str, selection: Any) -> Any:
    """Return what a selection has; NotImplemented for what zarr-python has to read, or to refuse."""
    wanted = _wanted(array, kind, selection)
    if wanted is None:
        return NotImplemented
    found = access.get(array, wanted, None, None, 0)
    return found if wanted.shape or kind == "basic" else np.array(found, array.dtype_in_memory)


def write(array: BorrowedArray, kind: str, selection: Any, value: Any) -> bool:
    """Write values, converted as zarr-python does it; False for what is left to zarr-python."""
    wanted = _wanted(array, kind, selection)
    values = _converted(value, array.dtype_in_memory)
    if wanted is None or values is None or values.shape not in ((), wanted.shape):
        return False
    access.put_by(array if array.longer is None else array.longer, lambda *_: wanted, None, values)
    return True


def _wanted(array: BorrowedArray, kind: str, selection: Any) -> Selection | None:
    """Return a selection that means the same in both packages; None, or an error, for others."""
    items = selection if type(selection) is tuple else (selection,)
    if not array.metadata.shape and kind == "mask":  # which zarr-python refuses
        return None
    if kind != "mask" and not all(map(_is_common, items)):
        return None
    if kind != "block":
        return _SELECT[kind](selection, array.metadata.shape)
    shape = array.metadata.shape
    edges: Any = layout.grid_edges(array.metadata)  # one length for each dimension
    counts = [-(-length // edge) for length, edge in zip(shape, edges, strict=True)]
    are_within = all(map(_is_within, items, counts))
    return _SELECT[kind](selection, shape, edges) if are_within else None


def _is_within(blocks: Any, n_blocks: int) -> bool:
    """Return whether a slice of blocks begins at one: others mean something else in zarr-python."""
    if not isinstance(blocks, slice):
        return blocks is not ...  # after which items stand for other dimensions
    start, stop = (
        default if bound is None else bound + n_blocks * (bound < 0)
        for bound, default in ((blocks.start, 0), (blocks.stop, n_blocks))
    )
    return 0 <= start < n_blocks and start <= stop


def _is_common(item: Any) -> bool:
    if isinstance(item, slice):
        return item.step is None or item.step > 0
    if isinstance(item, np.ndarray | list):
        return np.asarray(item).dtype.kind in "iub"
    return item is ... or (isinstance(item, int | np.integer) and not isinstance(item, bool))


def _converted(value: Any, dtype: np.dtype[Any]) -> np.ndarray | None:
    """Return values as zarr-python would store them; None for arrays that it treats in its own way."""
    if np.isscalar(value) or not hasattr(value, "shape"):
        return np.asarray(value, dtype)
    if type(value) is not np.ndarray:
        return None
    if value.dtype.name != dtype.name:
        return value.astype(dtype)
    if value.dtype == dtype:
        return value
    return value.astype(dtype) if dtype.kind in "iufcmM" else None
