"""What users hold of an opened array, synchronous or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from zarrcore import indexing
from zarrcore._typing import ArrayLike, Names, Out, SelectionLike, ValueLike
from zarrcore.arrays.config import ArrayConfig, ArrayConfigLike
from zarrcore.arrays.description import ArrayDescription
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.selections import Selectable
from zarrcore.errors import BaseZarrError
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.storage.path import StorePath, make_store_path

if TYPE_CHECKING:
    from zarrcore.info import NodeInfo


class ArrayFace(ArrayDescription, Selectable):
    """A face of an opened array: it has the array, and calls functions that take it.

    Selections that do not fit the array raise an :class:`IndexError`.  The parameters `out`, `fields` and
    `prototype` mean the same everywhere, see :meth:`get_basic_selection`, and so do the errors of reading and
    writing, see :meth:`zarrcore.Array.read` and :meth:`zarrcore.Array.write`.  All are coroutines in an
    :class:`zarrcore.AsyncArray`.
    """

    __slots__ = ("_opened",)

    def __init__(
        self,
        metadata: ArrayMetadata | dict[str, Any] | ArrayFace = None,  # type: ignore[assignment]
        store_path: StorePath = None,  # type: ignore[assignment]
        config: ArrayConfigLike | None = None,
        *,
        _async_array: ArrayFace | None = None,  # the name in zarr-python
    ) -> None:
        metadata = metadata if _async_array is None else _async_array
        if isinstance(metadata, ArrayFace):
            self._opened: OpenArray = metadata._opened
            return
        if store_path is None:
            raise TypeError(
                f"{type(self).__name__}: expected metadata and a StorePath, got {metadata!r:.100} alone; "
                "open_array opens an array that is stored, create_array makes a new one"
            )
        if not isinstance(store_path, StorePath):
            store_path = make_store_path(store_path)
        if isinstance(metadata, dict):
            from zarrcore.nodes.documents import array_metadata_from_dict

            metadata = array_metadata_from_dict(metadata, store_path.path)
        self._opened = OpenArray(metadata, store_path, config)

    @classmethod
    def _of(cls, opened: OpenArray) -> Self:
        """Return the face of an opened array."""
        array = cls.__new__(cls)
        array._opened = opened
        return array

    def _reduced(self, unpickled: Callable[..., Any] | None) -> tuple[Any, ...]:
        """Return what pickle stores: a function, or the class of a user, and its arguments."""
        if unpickled is None:
            return type(self), (self._metadata, self._store_path, self._config)
        from zarrcore.arrays.pickled import array_parts

        return unpickled, array_parts(self._opened)

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> Self:
        """Return an array from its metadata as a dictionary; nothing is written.

        Parameters
        ----------
        store_path : StorePath
            Where the array is.
        data : dict
            Its metadata document, of format 2 (attributes as a member) or 3.

        Raises
        ------
        MetadataValidationError
            If the document is not valid, or that of a group.
        """
        return cls(data, store_path)

    @property
    def _metadata(self) -> ArrayMetadata:
        return self._opened._metadata

    @property
    def _config(self) -> ArrayConfig:
        return self._opened.config

    @property
    def _store_path(self) -> StorePath:
        return self._opened.store_path

    def __repr__(self) -> str:
        try:
            shape = self.shape
        except (BaseZarrError, OSError):  # it is gone, or its store fails: what is known is shown
            shape = self._metadata.shape
        dtype = self._metadata.dtype_text
        return f"<{type(self).__name__} {self._store_path} {shape=!s} {dtype=!s}{_grid_text(self)}>"

    def _repr_html_(self) -> str:
        from zarrcore.display.arrays import array_html

        return array_html(self, type(self).__name__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self._store_path, self._metadata) == (other._store_path, other._metadata)

    __hash__ = None  # type: ignore[assignment]

    @property
    def info(self) -> NodeInfo:
        """The main properties of the metadata, as an object that prints as a table."""
        from zarrcore.arrays.info import array_info

        return array_info(self._opened)

    def with_config(self, config: ArrayConfigLike) -> Self:
        """Return the same array with other run-time settings.

        Parameters
        ----------
        config : ArrayConfig or mapping
            New settings; settings that a mapping does not contain stay as they are.
        """
        return self._of(self._opened.with_config(config))

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Store the result of `change`, called with the attributes that are stored now."""
        from zarrcore.arrays.documents import change_attributes

        change_attributes(self._opened, change)

    # --- reading ---

    def get_basic_selection(
        self,
        selection: SelectionLike = ...,
        *,
        out: Out = None,
        prototype: object = None,
        fields: Names = None,
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

        Returns
        -------
        ndarray or scalar
            As of :meth:`zarrcore.Array.read`.
        """
        return self._get(indexing.basic_selection, selection, out, fields)

    def get_orthogonal_selection(
        self, selection: SelectionLike, *, out: Out = None, fields: Names = None, prototype: object = None
    ) -> Any:
        """Read the outer product of integers, slices and integer or boolean arrays, one per dimension."""
        return self._get(indexing.orthogonal_selection, selection, out, fields)

    def get_coordinate_selection(
        self, selection: SelectionLike, *, out: Out = None, fields: Names = None, prototype: object = None
    ) -> Any:
        """Read single elements, given by one integer array for each dimension."""
        return self._get(indexing.coordinate_selection, selection, out, fields)

    def get_mask_selection(
        self, mask: ArrayLike, *, out: Out = None, fields: Names = None, prototype: object = None
    ) -> Any:
        """Read the elements where a boolean array of the array's shape is true."""
        return self._get(indexing.mask_selection, mask, out, fields)

    def get_block_selection(
        self, selection: SelectionLike, *, out: Out = None, fields: Names = None, prototype: object = None
    ) -> Any:
        """Read whole chunks, given by their position in the chunk grid."""
        return self._get(self._select_blocks, selection, out, fields)

    # --- writing ---

    def set_basic_selection(
        self, selection: SelectionLike, value: ValueLike, *, fields: Names = None, prototype: object = None
    ) -> Any:
        """Write into integers and slices, as :meth:`get_basic_selection` reads them."""
        return self._set(indexing.basic_selection, selection, value, fields)

    def set_orthogonal_selection(
        self, selection: SelectionLike, value: ValueLike, *, fields: Names = None, prototype: object = None
    ) -> Any:
        """Write into an outer product, as :meth:`get_orthogonal_selection` reads it."""
        return self._set(indexing.orthogonal_selection, selection, value, fields)

    def set_coordinate_selection(
        self, selection: SelectionLike, value: ValueLike, *, fields: Names = None, prototype: object = None
    ) -> Any:
        """Write single elements; of elements that are given several times the last one stays."""
        return self._set(indexing.coordinate_selection, selection, value, fields)

    def set_mask_selection(
        self, mask: ArrayLike, value: ValueLike, *, fields: Names = None, prototype: object = None
    ) -> Any:
        """Write where a boolean array of the array's shape is true."""
        return self._set(indexing.mask_selection, mask, value, fields)

    def set_block_selection(
        self, selection: SelectionLike, value: ValueLike, *, fields: Names = None, prototype: object = None
    ) -> Any:
        """Write whole chunks, given by their position in the chunk grid."""
        return self._set(self._select_blocks, selection, value, fields)


def _grid_text(array: ArrayDescription) -> str:
    """Return the shapes of shards and chunks, as far as all are equal."""
    try:
        return f" chunks={array.chunks}" + ("" if array.shards is None else f" shards={array.shards}")
    except NotImplementedError:  # a rectilinear grid has no single shape
        return " chunks=<variable>"
