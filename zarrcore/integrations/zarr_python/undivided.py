"""Regions of arrays of zarr-python that reach the codec pipeline as one part, not chunk by chunk.

zarr-python makes ten objects for each chunk of a selection before it calls the pipeline, which takes longer
than all the rest where chunks are small.  Here its own functions get an indexer that names the region alone;
the chunks are named when zarr-python's way of working on them is wanted after all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any

from zarr.core import array
from zarr.core.indexing import (
    BasicIndexer,
    BlockIndexer,
    ChunkProjection,
    IntDimIndexer,
    OrthogonalIndexer,
    SliceDimIndexer,
)

from zarrcore.integrations.zarr_python.parts import Ends, Part, Wanted

_DIVIDED = (BasicIndexer, BlockIndexer, OrthogonalIndexer)
_FEWEST = 8  # chunks; fewer are soon taken apart
_ARGUMENTS = ["store_path", "metadata", "codec_pipeline", "config", "chunk_grid", "indexer"]


class Undivided:
    """A region, in the place of zarr-python's indexer and of what is selected in its only part.

    Parameters
    ----------
    divided : zarr.core.indexing.Indexer
        The indexer of zarr-python, of integers and slices.
    store_path, metadata
        Place and metadata of the array, as zarr-python has them.
    """

    drop_axes = ()

    def __init__(self, divided: Any, store_path: Any, metadata: Any) -> None:
        self._divided, self._store_path, self._metadata = divided, store_path, metadata
        self.shape = divided.shape

    def __iter__(self) -> Iterator[ChunkProjection]:
        region: Any = self
        yield ChunkProjection((0,) * len(self._divided.dim_indexers), region, (), False)

    def wanted(self) -> Wanted:
        """Return the region as the engine takes it."""
        dims, shape = [], []
        for along in self._divided.dim_indexers:
            is_one = isinstance(along, IntDimIndexer)
            dims.append((along.dim_sel, 1, 1) if is_one else (along.start, along.step, along.nitems))
            shape.append(None if is_one else along.nitems)
        return Wanted(dims, tuple(shape))

    def ends(self, chunks: tuple[int, ...]) -> Ends | None:
        """Return where the array ends within chunks; None if it ends with them."""
        shape = self._metadata.shape
        ends = tuple(n if n % length else None for n, length in zip(shape, chunks, strict=True))
        return None if ends == (None,) * len(ends) else ends

    def parts(self, spec: Any) -> list[Part]:
        """Return the part of each chunk as zarr-python itself makes it, which has one `spec` for all."""
        return [
            (self._store_path / self._metadata.encode_chunk_key(chunk), spec, inside, to, is_whole)
            for chunk, inside, to, is_whole in self._divided
        ]


def undivided(parts: list[Part]) -> Undivided | None:
    """Return the region that stands for all parts, if one does."""
    first = parts[0][2] if len(parts) == 1 else None
    return first if type(first) is Undivided else None


@cache
def leave_undivided() -> None:
    """Have regions of many chunks reach pipelines undivided that have a method ``takes_regions``.

    For releases of zarr-python that are made as 3.4 is; for others nothing is done.
    """
    for name in ("_get_selection", "_set_selection"):
        theirs = getattr(array, name, None)
        if inspect.iscoroutinefunction(theirs) and [*inspect.signature(theirs).parameters][:6] == _ARGUMENTS:
            setattr(array, name, _with_undivided(theirs))


def _with_undivided(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    async def selecting(
        store_path: Any,
        metadata: Any,
        codec_pipeline: Any,
        config: Any,
        chunk_grid: Any,
        indexer: Any,
        *args: Any,
        **options: Any,
    ) -> Any:
        takes_regions = getattr(codec_pipeline, "takes_regions", None)
        if (
            takes_regions is not None
            and takes_regions(config)
            and type(indexer) in _DIVIDED
            and chunk_grid.is_regular
            and _n_chunks(indexer, chunk_grid.chunk_shape) >= _FEWEST
        ):
            indexer = Undivided(indexer, store_path, metadata)
        return await theirs(
            store_path, metadata, codec_pipeline, config, chunk_grid, indexer, *args, **options
        )

    return selecting


def _n_chunks(indexer: Any, chunk_shape: tuple[int, ...]) -> int:
    """Return how many chunks a region touches, those between its steps included; 0 for other selections."""
    n_chunks = 1
    for along, length in zip(indexer.dim_indexers, chunk_shape, strict=True):
        if isinstance(along, SliceDimIndexer) and along.nitems:
            n_chunks *= -(-along.stop // length) - along.start // length
        elif not isinstance(along, IntDimIndexer):
            return 0
    return n_chunks
