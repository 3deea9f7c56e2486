"""Reading and writing an array by each kind of selection, under the names of zarr-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore.arrays.description import ArrayDescription
from zarrcore.arrays.views import Indexable

if TYPE_CHECKING:
    from zarrcore._typing import ArrayLike, PrototypeLike, SelectionLike, ValueLike
    from zarrcore.indexing import Fields

__all__ = ["SelectableArray"]


class SelectableArray(ArrayDescription, Indexable):
    """An array whose values can be read and written by selections of all kinds.

    Selections that do not fit the array raise an :class:`IndexError`.  The parameters `out`, `fields` and
    `prototype` mean the same everywhere, see :meth:`get_basic_selection`, and so do the errors of reading and
    writing, see :meth:`zarrcore.Array.read` and :meth:`zarrcore.Array.write`.
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
        return self._get(indexing.basic_selection(selection, self.shape), out, fields)

    def get_orthogonal_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read the outer product of integers, slices and integer or boolean arrays, one per dimension."""
        return self._get(indexing.orthogonal_selection(selection, self.shape), out, fields)

    def get_coordinate_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read single elements, given by one integer array for each dimension."""
        return self._get(indexing.coordinate_selection(selection, self.shape), out, fields)

    def get_mask_selection(
        self,
        mask: ArrayLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read the elements where a boolean array of the array's shape is true."""
        return self._get(indexing.mask_selection(mask, self.shape), out, fields)

    def get_block_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """Read whole chunks, given by their position in the chunk grid."""
        return self._get(self._blocks(selection), out, fields)

    # --- writing ---

    def set_basic_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> None:
        """Write into integers and slices, as :meth:`get_basic_selection` reads them."""
        self._set(indexing.basic_selection(selection, self.shape), value, fields)

    def set_orthogonal_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> None:
        """Write into an outer product, as :meth:`get_orthogonal_selection` reads it."""
        self._set(indexing.orthogonal_selection(selection, self.shape), value, fields)

    def set_coordinate_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> None:
        """Write single elements; of elements that are given several times the last one stays."""
        self._set(indexing.coordinate_selection(selection, self.shape), value, fields)

    def set_mask_selection(
        self,
        mask: ArrayLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> None:
        """Write where a boolean array of the array's shape is true."""
        self._set(indexing.mask_selection(mask, self.shape), value, fields)

    def set_block_selection(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> None:
        """Write whole chunks, given by their position in the chunk grid."""
        self._set(self._blocks(selection), value, fields)
