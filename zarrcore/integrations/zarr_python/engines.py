"""Engines for the parameter ``engine=`` that zarr-python is drafting in its pull request 4064.

In the draft of August 2026 an engine is made for a store, a path and metadata, and gets requests.  A request
has a `kind` (basic, orthogonal, coordinate, mask, block), the `selection` as the user wrote it, the `shape`
and the `chunk_grid` of the array, and an `indexer`: zarr-python's own view of it, made when asked for.  No
release has them yet.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from zarr import errors
from zarr.core.array_spec import ArrayConfig
from zarr.storage import StorePath

from zarrcore._awaited import BATCHES
from zarrcore.integrations.zarr_python import borrowed


class Request(Protocol):
    """What an engine is asked for."""

    @property
    def kind(self) -> str:
        """How the selection is meant."""

    @property
    def selection(self) -> Any:
        """What the user wrote."""

    @property
    def indexer(self) -> Any:
        """The selection as zarr-python understands it; asking for a wrong one raises its error."""


class ArrayEngine:
    """Reads and writes selections of one array of zarr-python.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.
    path : str
        Path of the array in the store.
    metadata : zarr.core.metadata.ArrayMetadata
        Its metadata.
    config : zarr.core.array_spec.ArrayConfig, optional
        Its settings.

    Raises
    ------
    ValueError
        If the engine does not take the array: strings and objects, codecs and data types of other packages,
        irregular chunk grids.
    """

    def __init__(self, store: Any, path: str, metadata: Any, config: Any = None) -> None:
        self._made_of = store, path, config or ArrayConfig.from_dict({})
        array = borrowed.borrowed(metadata, StorePath(store, path), self._made_of[2])
        if array is None:
            error: Any = getattr(errors, "UnsupportedEngineError", ValueError)
            raise error(f"zarrcore does not take the array {path or '/'!r} in {store}: {metadata}")
        self._array = array

    def with_metadata(self, metadata: Any) -> Self:
        """Return the engine of the same array after a change of its metadata."""
        store, path, config = self._made_of
        return type(self)(store, path, metadata, config)

    def read_selection(
        self, request: Request, *, prototype: Any = None, out: Any = None, fields: Any = None
    ) -> Any:
        """Return what is selected, as arrays of zarr-python do, or read it into `out`, an NDBuffer."""
        found = borrowed.read(self._array, request.kind, request.selection) if not fields else NotImplemented
        if found is NotImplemented:
            raise _refused(request, fields)
        if out is None:
            return found
        out[...] = np.asarray(found)
        return out.as_ndarray_like()

    def write_selection(
        self, request: Request, value: Any, *, prototype: Any = None, fields: Any = None
    ) -> None:
        """Write values, converted as zarr-python converts them."""
        if fields or not borrowed.write(self._array, request.kind, request.selection, value):
            raise _refused(request, fields)


class AsyncArrayEngine(ArrayEngine):
    """The same with coroutines, which work in other threads."""

    async def read_selection(self, *args: Any, **options: Any) -> Any:
        """Return what is selected; see :meth:`ArrayEngine.read_selection`."""
        return await BATCHES.run(super().read_selection, *args, **options)

    async def write_selection(self, *args: Any, **options: Any) -> None:
        """Write values; see :meth:`ArrayEngine.write_selection`."""
        await BATCHES.run_to_end(super().write_selection, *args, **options)


class HierarchyEngine:
    """Makes the engines of the arrays in one store.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store.
    """

    _kind: type[ArrayEngine] = ArrayEngine

    def __init__(self, store: Any) -> None:
        self._store = store

    def array_engine(self, path: str, metadata: Any, config: Any = None) -> ArrayEngine:
        """Return the engine of an array; parameters and errors as of :class:`ArrayEngine`."""
        return self._kind(self._store, path, metadata, config)


class AsyncHierarchyEngine(HierarchyEngine):
    """The same for engines with coroutines."""

    _kind = AsyncArrayEngine


def _refused(request: Request, fields: Any) -> Exception:
    """Return the error for what the engine does not take, or raise that of zarr-python, if it refuses too."""
    _ = request.indexer
    what = f"the fields {fields}" if fields else f"the {request.kind} selection {request.selection!r}"
    return NotImplementedError(f"zarrcore does not take {what}, or not these values; use the default engine")
