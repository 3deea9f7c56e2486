"""The ways of indexing an array that are not ``array[...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore import indexing
from zarrcore.metadata import layout

if TYPE_CHECKING:
    from zarrcore._typing import SelectionLike, ValueLike
    from zarrcore.indexing import Fields, Selection
    from zarrcore.metadata.common import ArrayMetadata

__all__ = ["BlockIndex", "Indexable", "OIndex", "VIndex"]


class Indexable:
    """What can be indexed in each of these ways: an array, or a writer to one."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def _metadata(self) -> ArrayMetadata: ...

    def _get(self, selection: Selection, out: Any = None, fields: Fields | None = None) -> Any:
        """Read a selection into `out` or a new array."""
        raise NotImplementedError

    def _set(self, selection: Selection, value: Any, fields: Fields | None = None) -> None:
        """Write values into a selection."""
        raise NotImplementedError

    def _blocks(self, selection: Any) -> Selection:
        """Return the selection of whole chunks, given by their position in the chunk grid."""
        return indexing.block_selection(selection, self.shape, layout.grid_edges(self._metadata))

    @property
    def oindex(self) -> OIndex:
        """Orthogonal (outer) indexing: ``array.oindex[[0, 2], :]``."""
        return OIndex(self)

    @property
    def vindex(self) -> VIndex:
        """Vectorised (pointwise) indexing: ``array.vindex[[0, 2], [1, 3]]`` or with a mask."""
        return VIndex(self)

    @property
    def blocks(self) -> BlockIndex:
        """Indexing by chunks: ``array.blocks[0, 1:3]``."""
        return BlockIndex(self)


class _IndexView:
    """An array seen through one way of indexing."""

    __slots__ = ("array",)

    def __init__(self, array: Indexable) -> None:
        self.array = array

    def _selection(self, selection: Any) -> Selection:
        raise NotImplementedError

    def __getitem__(self, selection: SelectionLike) -> Any:
        fields, selection = indexing.pop_fields(selection)
        return self.array._get(self._selection(selection), fields=fields)

    def __setitem__(self, selection: SelectionLike, value: ValueLike) -> None:
        fields, selection = indexing.pop_fields(selection)
        self.array._set(self._selection(selection), value, fields)


class OIndex(_IndexView):
    """Orthogonal indexing."""

    __slots__ = ()

    def _selection(self, selection: Any) -> Selection:
        return indexing.orthogonal_selection(selection, self.array.shape)


class VIndex(_IndexView):
    """Vectorised indexing."""

    __slots__ = ()

    def _selection(self, selection: Any) -> Selection:
        return indexing.vindex_selection(selection, self.array.shape)


class BlockIndex(_IndexView):
    """Indexing by position in the chunk grid."""

    __slots__ = ()

    def _selection(self, selection: Any) -> Selection:
        return self.array._blocks(selection)
