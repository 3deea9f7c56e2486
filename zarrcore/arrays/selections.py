"""The ways of selecting elements, under the names of zarr-python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zarrcore import indexing
from zarrcore._typing import SelectionLike, ValueLike
from zarrcore.indexing import Fields, Selection
from zarrcore.metadata import layout
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
