"""The ways of selecting elements, under the names of zarr-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore.arrays.description import ArrayDescription
from zarrcore.metadata import layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore._typing import ArrayLike, PrototypeLike, SelectionLike, ValueLike
    from zarrcore.indexing import Fields, Selection
    from zarrcore.metadata.common import ArrayMetadata

    Select = Callable[[Any, tuple[int, ...]], Selection]
    """Understands a selection of an array of some shape: a function of :mod:`zarrcore.indexing`."""


class Selectable:
    """What selections can be read from and written to; subclasses do it."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _metadata(self) -> ArrayMetadata: ...

        def _get(self, select: Select, selection: Any, out: Any = None, fields: Fields | None = None) -> Any:
            """Read a selection into `out` or a new array."""

        def _set(self, select: Select, selection: Any, value: Any, fields: Fields | None = None) -> Any:
            """Write values into a selection."""

    def _select_blocks(self, selection: Any, shape: tuple[int, ...]) -> Selection:
        """Return the selection of whole chunks, given by their position in the chunk grid."""
        return indexing.block_selection(selection, shape, layout.grid_edges(self._metadata))


class Indexable(Selectable):
    """What can be indexed in each of the ways that are not ``array[...]``: an array, or a writer to one."""

    __slots__ = ()

    @property
    def oindex(self) -> IndexView:
        """Orthogonal (outer) indexing: ``array.oindex[[0, 2], :]``."""
        return IndexView(self, indexing.orthogonal_selection)

    @property
    def vindex(self) -> IndexView:
        """Vectorised (pointwise) indexing: ``array.vindex[[0, 2], [1, 3]]`` or with a mask."""
        return IndexView(self, indexing.vindex_selection)

    @property
    def blocks(self) -> IndexView:
        """Indexing by chunks: ``array.blocks[0, 1:3]``."""
        return IndexView(self, self._select_blocks)


class IndexView:
    """An array seen through one way of indexing."""

    __slots__ = ("_select", "array")

    def __init__(self, array: Selectable, select: Select) -> None:
        self.array = array
        self._select = select

    def __getitem__(self, selection: SelectionLike) -> Any:
        fields, selection = indexing.pop_fields(selection)
        return self.array._get(self._select, selection, fields=fields)

    def __setitem__(self, selection: SelectionLike, value: ValueLike) -> None:
        fields, selection = indexing.pop_fields(selection)
        self.array._set(self._select, selection, value, fields)


class SelectableArray(ArrayDescription, Selectable):
    """An array whose values can be read and written by selections of all kinds.

    Selections that do not fit the array raise an :class:`IndexError`.  The parameters `out`, `fields` and
    `prototype` mean the same everywhere, see :meth:`get_basic_selection`, and so do the errors of reading and
    writing, see :meth:`zarrcore.Array.read` and :meth:`zarrcore.Array.write`.  All are coroutines in an
    :class:`zarrcore.AsyncArray`.
    """

    __slots__ = ()

    # --- reading ---

    def get_basic_selection(
        self,
        selection: SelectionLike = ...,
        *,
        out: np.ndarray | None = None,
        prototype: PrototypeLike | None = None,
        fields: Fields | None = None,
    ) -> Any:
        """Read integers and slices.

        Parameters
        ----------
        selection : int, slice, Ellipsis, None or a tuple of them
            Semantics of numpy, negative steps and newaxis included.
        out : ndarray, optional
            Array of the result's shape and data type to read into.
        prototype
            Accepted for compatibility; results are numpy arrays.
        fields : str or list of str, optional
            Fields to take out of structured data.
        """
        return self._get(indexing.basic_selection, selection, out, fields)

    def get_orthogonal_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read the outer product of integers, slices and integer or boolean arrays, one per dimension."""
        return self._get(indexing.orthogonal_selection, selection, out, fields)

    def get_coordinate_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read single elements, given by one integer array for each dimension."""
        return self._get(indexing.coordinate_selection, selection, out, fields)

    def get_mask_selection(
        self,
        mask: ArrayLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read the elements where a boolean array of the array's shape is true."""
        return self._get(indexing.mask_selection, mask, out, fields)

    def get_block_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read whole chunks, given by their position in the chunk grid."""
        return self._get(self._select_blocks, selection, out, fields)

    # --- writing ---

    def set_basic_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Write into integers and slices, as :meth:`get_basic_selection` reads them."""
        return self._set(indexing.basic_selection, selection, value, fields)

    def set_orthogonal_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Write into an outer product, as :meth:`get_orthogonal_selection` reads it."""
        return self._set(indexing.orthogonal_selection, selection, value, fields)

    def set_coordinate_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Write single elements; of elements that are given several times the last one stays."""
        return self._set(indexing.coordinate_selection, selection, value, fields)

    def set_mask_selection(
        self,
        mask: ArrayLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Write where a boolean array of the array's shape is true."""
        return self._set(indexing.mask_selection, mask, value, fields)

    def set_block_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Write whole chunks, given by their position in the chunk grid."""
        return self._set(self._select_blocks, selection, value, fields)
