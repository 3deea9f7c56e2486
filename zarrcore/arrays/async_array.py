"""The face of an opened array for asynchronous programs: each call runs in a worker thread.

The engine releases the GIL and has its own threads, so it neither needs an event loop nor blocks one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore import indexing
from zarrcore.arrays.description import ArrayDescription
from zarrcore.arrays.opened import OpenArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    import numpy as np

    from zarrcore._typing import ArrayLike, PrototypeLike, SelectionLike, ShapeLike, ValueLike
    from zarrcore.arrays.config import ArrayConfig, ArrayConfigLike
    from zarrcore.indexing import Fields, Selection
    from zarrcore.metadata import ArrayMetadata
    from zarrcore.storage import StoreLike, StorePath

__all__ = ["AsyncArray", "in_thread"]


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a function in a worker thread of the event loop's executor."""
    import asyncio

    return await asyncio.to_thread(function, *args, **kwargs)


class AsyncArray(ArrayDescription):
    """An array whose methods are coroutines; see :class:`zarrcore.Array`.

    Parameters
    ----------
    metadata : ArrayV2Metadata, ArrayV3Metadata or dict
        The array's metadata document.
    store_path : StorePath
        The store and the array's path in it.
    config : ArrayConfig or mapping, optional
        Run-time settings.
    """

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
        """The face of an opened array."""
        array = cls.__new__(cls)
        array._opened = opened
        return array

    @property
    def _metadata(self) -> ArrayMetadata:
        return self._opened.metadata

    @property
    def _config(self) -> ArrayConfig:
        return self._opened.config

    @property
    def _store_path(self) -> StorePath:
        return self._opened.store_path

    @classmethod
    async def open(
        cls, store: StoreLike, zarr_format: int | None = 3, *, config: ArrayConfigLike | None = None
    ) -> AsyncArray:
        """Open the array at the root of a store-like."""
        from zarrcore.arrays.opening import open_array_at
        from zarrcore.storage import make_store_path

        return cls._of(await in_thread(open_array_at, make_store_path(store), zarr_format, config=config))

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> AsyncArray:
        """Return an array from its metadata as a dictionary; nothing is written."""
        return cls(data, store_path)

    def __repr__(self) -> str:
        return f"<AsyncArray {self._store_path} shape={self.shape} dtype={self.dtype}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._opened.is_same(other._opened)

    __hash__ = None  # type: ignore[assignment]

    # --- attributes and settings ---

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the user attributes; :meth:`update_attributes` changes them."""
        from copy import deepcopy

        return deepcopy(dict(self._metadata.attributes))

    async def update_attributes(self, new_attributes: Mapping[str, Any]) -> Self:
        """Set attributes, keeping those that are not named."""
        from zarrcore.arrays.documents import change_attributes

        await in_thread(change_attributes, self._opened, lambda attributes: {**attributes, **new_attributes})
        return self

    @property
    def info(self) -> Any:
        """What the metadata says, as an object that prints as a table."""
        from zarrcore.arrays.info import array_info

        return array_info(self._opened)

    async def info_complete(self) -> Any:
        """The same as `info`, with what only a look into the store tells."""
        from zarrcore.arrays.info import array_info

        return await in_thread(array_info, self._opened, complete=True)

    def with_config(self, config: ArrayConfigLike) -> AsyncArray:
        """Return the same array with other run-time settings."""
        return self._of(self._opened.with_config(config))

    async def nchunks_initialized(self) -> int:
        """Number of chunks that are stored."""
        from zarrcore.arrays.chunks import count_stored

        return await in_thread(count_stored, self._opened)  # type: ignore[no-any-return]

    async def nbytes_stored(self) -> int:
        """Number of bytes in the store, metadata included."""
        return await in_thread(self.store.getsize_prefix, self.path)  # type: ignore[no-any-return]

    # --- reading and writing ---

    async def _get(
        self,
        select: Callable[..., Selection],
        selection: Any,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
    ) -> Any:
        from zarrcore.arrays.access import get_by

        return await in_thread(get_by, self._opened, select, selection, out, fields)

    async def getitem(self, selection: SelectionLike, *, prototype: PrototypeLike | None = None) -> Any:
        """Read integers and slices; see :meth:`zarrcore.Array.get_basic_selection`."""
        return await self._get(indexing.basic_selection, selection)

    async def setitem(
        self, selection: SelectionLike, value: ValueLike, prototype: PrototypeLike | None = None
    ) -> None:
        """Write into integers and slices; see :meth:`zarrcore.Array.set_basic_selection`."""
        from zarrcore.arrays.access import put_by

        await in_thread(put_by, self._opened, indexing.basic_selection, selection, value)

    async def get_orthogonal_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """See :meth:`zarrcore.Array.get_orthogonal_selection`."""
        return await self._get(indexing.orthogonal_selection, selection, out, fields)

    async def get_coordinate_selection(
        self,
        selection: SelectionLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """See :meth:`zarrcore.Array.get_coordinate_selection`."""
        return await self._get(indexing.coordinate_selection, selection, out, fields)

    async def get_mask_selection(
        self,
        mask: ArrayLike,
        *,
        out: np.ndarray | None = None,
        fields: Fields | None = None,
        prototype: PrototypeLike | None = None,
    ) -> Any:
        """See :meth:`zarrcore.Array.get_mask_selection`."""
        return await self._get(indexing.mask_selection, mask, out, fields)

    @property
    def oindex(self) -> AsyncIndex:
        """Orthogonal indexing: ``await array.oindex.getitem(...)``."""
        return AsyncIndex(self, indexing.orthogonal_selection)

    @property
    def vindex(self) -> AsyncIndex:
        """Vectorised indexing: ``await array.vindex.getitem(...)``."""
        return AsyncIndex(self, indexing.vindex_selection)

    # --- changing ---

    async def resize(self, new_shape: ShapeLike, delete_outside_chunks: bool = True) -> None:
        """Change the lengths of the dimensions; see :meth:`zarrcore.Array.resize`.

        Parameters
        ----------
        delete_outside_chunks : bool
            False leaves what lies outside the new shape in the store.
        """
        from zarrcore.arrays.chunks import resize

        await in_thread(resize, self._opened, new_shape, cut=delete_outside_chunks)

    async def append(self, data: ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Append `data` along `axis`; returns the new shape."""
        from zarrcore.arrays.chunks import append

        return await in_thread(append, self._opened, data, axis)  # type: ignore[no-any-return]


class AsyncIndex:
    """One way of indexing an array, as a coroutine."""

    __slots__ = ("_array", "_select")

    def __init__(self, array: AsyncArray, select: Callable[..., Selection]) -> None:
        self._array = array
        self._select = select

    async def getitem(self, selection: SelectionLike) -> Any:
        """Read a selection."""
        fields, selection = indexing.pop_fields(selection)
        return await self._array._get(self._select, selection, fields=fields)
