"""What users hold of an opened array, synchronous or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.arrays.documents import change_attributes
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.selections import SelectableArray

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from zarrcore.arrays.config import ArrayConfig, ArrayConfigLike
    from zarrcore.info import NodeInfo
    from zarrcore.metadata.common import ArrayMetadata
    from zarrcore.storage import StorePath


class ArrayFace(SelectableArray):
    """A face of an opened array: it holds the array, and calls functions that take it."""

    __slots__ = ("_opened",)

    def __init__(
        self,
        metadata: ArrayMetadata | dict[str, Any],
        store_path: StorePath,
        config: ArrayConfigLike | None = None,
    ) -> None:
        self._opened = OpenArray.of_document(metadata, store_path, config)

    @classmethod
    def _of(cls, opened: OpenArray) -> Self:
        """Return the face of an opened array."""
        array = cls.__new__(cls)
        array._opened = opened
        return array

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
        return self._opened.metadata

    @property
    def _config(self) -> ArrayConfig:
        return self._opened.config

    @property
    def _store_path(self) -> StorePath:
        return self._opened.store_path

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._store_path} shape={self.shape} dtype={self.dtype}>"

    def __eq__(self, other: object) -> bool:
        return self._opened.is_same(other._opened) if isinstance(other, type(self)) else NotImplemented

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
        change_attributes(self._opened, change)
