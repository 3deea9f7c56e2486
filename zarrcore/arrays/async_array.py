"""The face of an opened array for asynchronous programs.

What opening, and a read of up to 16 MiB, want of an object store is awaited, without a thread.  All other
calls run in worker threads: the engine releases the GIL and has its own threads, so it neither needs an event
loop nor blocks one.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from zarrcore import indexing
from zarrcore.arrays.access import get_by, put_by
from zarrcore.arrays.face import ArrayFace
from zarrcore.arrays.inspectable import AsyncInspectable
from zarrcore.arrays.opened import OpenArray, array_read, open_array_at
from zarrcore.node import AsynchronousNode, in_thread, to_end
from zarrcore.nodes import users
from zarrcore.nodes.open import open_array_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zarrcore._typing import ArrayLike, Out, PrototypeLike, SelectionLike, ShapeLike, ValueLike
    from zarrcore.arrays.config import ArrayConfigLike
    from zarrcore.arrays.selections import Select
    from zarrcore.arrays.tolerant import OnError
    from zarrcore.engine.base import Engine
    from zarrcore.indexing import Fields
    from zarrcore.info import NodeInfo
    from zarrcore.metadata.common import ArrayMetadata
    from zarrcore.storage import StoreLike

_MOST_ATTEMPTS = 3  # before a thread tries, too
_MOST_AWAITED = 16 << 20  # bytes; more are read with a thread, which decodes what has arrived meanwhile


class AsyncArray(ArrayFace, AsyncInspectable, AsynchronousNode):
    """An array whose methods are coroutines; see :class:`zarrcore.Array`.

    Parameters
    ----------
    metadata : ArrayV2Metadata, ArrayV3Metadata or dict
        The array's metadata document.
    store_path : StorePath
        The store and the array's path in it.
    config : ArrayConfig or mapping, optional
        Run-time settings.

    Notes
    -----
    Properties never wait for the store.  `shape` is the shape that the array had at the last call: where
    another handle of this process has made the array shrink, the next read or write takes that over first.

    Examples
    --------
    >>> import asyncio
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.save(store, np.arange(3))
    >>> async def read():
    ...     array = await zarrcore.AsyncArray.open(store)
    ...     return await array.getitem(slice(1, None))
    >>> asyncio.run(read())
    array([1, 2])
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reduced(_unpickled if type(self) is AsyncArray else None)

    @classmethod
    async def open(
        cls,
        store: StoreLike,
        zarr_format: int | None = 3,
        *,
        config: ArrayConfigLike | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> AsyncArray:
        """Open the array at the root of `store`; see :func:`zarrcore.open_array`."""
        from zarrcore.storage import make_store_path
        from zarrcore.storage.arriving import Elsewhere, awaited

        place, losses = make_store_path(store, storage_options=storage_options), users.losses
        with suppress(Elsewhere):
            found, metadata = await awaited(place, open_array_node, zarr_format)
            if not metadata.separator_is_open:  # else the store is asked for more
                return cls._of(array_read(metadata, found, config, losses=losses))
        return cls._of(await in_thread(open_array_at, place, zarr_format, config=config))

    async def _save_metadata(self, metadata: ArrayMetadata, ensure_parents: bool = False) -> None:
        """Store the document of a new array: the name that pydantic-zarr uses."""
        from zarrcore.nodes.create import create_node

        await to_end(create_node, self._store_path, metadata, overwrite=True)

    async def info_complete(self) -> NodeInfo:
        """Return the same as `info`, with what only a look into the store shows."""
        from zarrcore.arrays.info import array_info

        return await in_thread(array_info, self._opened, complete=True)

    async def nchunks_initialized(self) -> int:
        """Return the number of chunks that are stored."""
        from zarrcore.arrays.chunks import count_stored

        return await in_thread(count_stored, self._opened)

    # --- reading and writing ---

    async def _get(
        self, select: Select, selection: Any, out: Any = None, fields: Fields | None = None
    ) -> Any:
        array = self._opened
        if array.losses != users.losses:
            await in_thread(array.follow)
        awaited = array.awaited()
        if awaited is not None:
            from zarrcore.storage.arriving import Elsewhere

            nbytes = math.prod(select(selection, awaited.shape).shape) * array.dtype.itemsize
            if nbytes <= _MOST_AWAITED:
                call = partial(get_by, awaited, select, selection, out, fields)
                with suppress(Elsewhere):
                    return await _get_awaited(awaited, call)
        return await in_thread(get_by, array, select, selection, out, fields)

    async def _get_selection(self, indexer: Any, *, prototype: Any = None, out: Any = None) -> Any:
        """Read what an indexer yields into a buffer or a new array: the name that annbatch uses."""
        from zarrcore.arrays.indexed import read_by

        memory = None if out is None else out.as_numpy_array()
        return await to_end(read_by, self._opened, indexer, memory)

    async def _set(self, select: Select, selection: Any, value: Any, fields: Fields | None = None) -> None:
        await to_end(put_by, self._opened, select, selection, value, fields)

    async def read(
        self,
        selection: SelectionLike = ...,
        *,
        out: Out = None,
        threads: int = 0,
        on_error: OnError = "raise",
    ) -> Any:
        """Read a selection; see :meth:`zarrcore.Array.read`."""
        from zarrcore.arrays import tolerant

        fields, selection = indexing.pop_fields(selection)
        run = in_thread if out is None else to_end  # nothing is put into the caller's memory afterwards
        return await run(tolerant.read, self._opened, selection, out, fields, threads, on_error)

    async def write(self, selection: SelectionLike, value: ValueLike, *, threads: int = 0) -> None:
        """Write values into a selection; see :meth:`zarrcore.Array.write`."""
        fields, selection = indexing.pop_fields(selection)
        await to_end(put_by, self._opened, indexing.plain_selection, selection, value, fields, threads)

    def check_regions(self, regions: Iterable[SelectionLike]) -> None:
        """Check that processes may write these regions; see :meth:`zarrcore.Array.check_regions`."""
        from zarrcore.arrays.partition import check_regions

        check_regions(self._opened, regions)

    async def getitem(self, selection: SelectionLike, *, prototype: PrototypeLike | None = None) -> Any:
        """Read integers and slices; see :meth:`zarrcore.Array.get_basic_selection`."""
        return await self._get(indexing.basic_selection, selection)

    async def setitem(
        self, selection: SelectionLike, value: ValueLike, prototype: PrototypeLike | None = None
    ) -> None:
        """Write into integers and slices; see :meth:`zarrcore.Array.set_basic_selection`."""
        await self._set(indexing.basic_selection, selection, value)

    @property
    def oindex(self) -> AsyncOIndex:
        """Orthogonal indexing: ``await array.oindex.getitem(...)``."""
        return AsyncOIndex(self, indexing.orthogonal_selection)

    @property
    def vindex(self) -> AsyncVIndex:
        """Vectorised indexing: ``await array.vindex.getitem(...)``."""
        return AsyncVIndex(self, indexing.vindex_selection)

    # --- changing ---

    async def resize(self, new_shape: ShapeLike, delete_outside_chunks: bool = True) -> None:
        """Change the lengths of the dimensions; see :meth:`zarrcore.Array.resize`.

        Parameters
        ----------
        delete_outside_chunks : bool
            False leaves what lies outside the new shape in the store, and has an array that grows show what
            lies outside the old one: what an earlier call has left there, or an append that was killed.
        """
        from zarrcore.arrays.chunks import resize

        await to_end(resize, self._opened, new_shape, cut=delete_outside_chunks)

    async def append(self, data: ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Append `data` along `axis`; returns the new shape."""
        from zarrcore.arrays.chunks import append

        return await to_end(append, self._opened, data, axis)


class AsyncIndex:
    """One way of indexing an array, as a coroutine."""

    __slots__ = ("_array", "_select")

    def __init__(self, array: AsyncArray, select: Select) -> None:
        self._array = array
        self._select = select

    async def getitem(self, selection: SelectionLike) -> Any:
        """Read a selection."""
        fields, selection = indexing.pop_fields(selection)
        return await self._array._get(self._select, selection, fields=fields)


class AsyncOIndex(AsyncIndex):
    """Orthogonal indexing."""

    __slots__ = ()


class AsyncVIndex(AsyncIndex):
    """Vectorised indexing."""

    __slots__ = ()


async def _get_awaited(array: OpenArray, call: Callable[[], Any]) -> Any:
    """Make a call that reads an array in a store of what arrives, all of which is of one array."""
    from zarrcore.storage.arriving import Elsewhere

    store: Any = array.store
    inline = not array.metadata.chain().has_codec_of_user
    for _ in range(_MOST_ATTEMPTS):
        engine: Engine = array._engine or await store.run(array.engine, inline=inline)
        result = await store.run(call, inline=inline)
        if array._engine is engine and not engine.is_left:
            return result
    raise Elsewhere


def _unpickled(*parts: Any) -> AsyncArray:
    """Return what `__reduce__` has taken apart; pickles know this name."""
    from zarrcore.arrays.pickled import unpickled_array

    return AsyncArray._of(unpickled_array(*parts))
