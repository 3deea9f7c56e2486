"""The ways of indexing an array that are not ``array[...]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore import indexing

if TYPE_CHECKING:
    from zarrcore.arrays.selections import SelectableArray
    from zarrcore.arrays.writer import ArrayWriter
    from zarrcore.indexing import Selection

__all__ = ["BlockIndex", "OIndex", "VIndex"]


class _IndexView:
    """An array seen through one way of indexing."""

    __slots__ = ("array",)

    def __init__(self, array: SelectableArray | ArrayWriter) -> None:
        self.array = array

    def _selection(self, selection: Any) -> Selection:
        raise NotImplementedError

    def __getitem__(self, selection: Any) -> Any:
        fields, selection = indexing.pop_fields(selection)
        return self.array._get(self._selection(selection), fields=fields)

    def __setitem__(self, selection: Any, value: Any) -> None:
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
