"""A codec pipeline for zarr-python that reads and writes chunks by the engine of this package."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from math import prod
from typing import Any, Self

import numpy as np
from zarr import storage
from zarr.abc.codec import Codec
from zarr.abc.store import Store
from zarr.core.array_spec import ArrayConfig, ArraySpec
from zarr.core.buffer import cpu
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.config import config
from zarr.registry import register_pipeline

from zarrcore._awaited import BATCHES, Waiter
from zarrcore._core.engine import NativeArray, StoreSource
from zarrcore.arrays.access import MOST_CHANGES
from zarrcore.engine.build import build_engine
from zarrcore.errors import ChunkError, ChunkIOError
from zarrcore.integrations.zarr_python.metadata import (
    chunk_shape,
    is_known_release,
    is_plain,
    release,
    translated_metadata,
)
from zarrcore.integrations.zarr_python.parts import Ends, Part, Wanted, ends_of, wanted
from zarrcore.integrations.zarr_python.undivided import leave_undivided, undivided
from zarrcore.storage.path import StorePath
from zarrcore.storage.zarr_python import ZarrPythonStore, adapted_files, from_zarr_python

_NEAR = tuple(
    getattr(storage, name)
    for name in ("LocalStore", "MemoryStore", "ManagedMemoryStore")
    if hasattr(storage, name)  # the last one is of 3.2
)
_FAR = 1 << 31  # chunks along each dimension of what the engine takes for the array
_SHORT = 1 << 16  # bytes that are read or written without leaving the thread of the event loop
_FEW = 4
_PRESENT = {"status": "present"}


class CodecPipeline(BatchedCodecPipeline):
    """Read and write the chunks of arrays of zarr-python by the engine of zarrcore.

    Selected by the setting ``codec_pipeline.path`` of zarr-python, or by ``ZARR_CODEC_PIPELINE__PATH`` in
    the environment: ``"zarrcore.integrations.zarr_python.CodecPipeline"``.  What the engine does not take
    goes the way of zarr-python's own pipeline: strings and objects, codecs and data types of other packages,
    memory of a GPU, rectilinear chunks; and whatever fails is tried again there, so that errors are those of
    zarr-python.
    """

    _metadata: Any = None
    _store: Any = None
    _engines: dict[Any, NativeArray | None]
    _ending: dict[Any, tuple[Ends, NativeArray | None]]  # for arrays that end within chunks; the last of each
    _chunks: tuple[int, ...] = ()
    _levels: int  # parts of a key after the path of the array
    _is_bound: bool  # whether the store works on the loop that it was first used on

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> Self:
        """Return the pipeline of an array.

        Parameters
        ----------
        array_metadata : zarr.core.metadata.ArrayMetadata
            Its metadata.
        store : zarr.abc.store.Store
            Where it is.
        """
        order: Any = {}
        if array_metadata.zarr_format == 2:
            from zarr.codecs._v2 import V2Codec

            codecs: Any = [V2Codec(filters=array_metadata.filters, compressor=array_metadata.compressor)]
            order = {"order": array_metadata.order}
        else:
            codecs = array_metadata.codecs
        spec = ArraySpec(
            shape=chunk_shape(array_metadata) or (1,) * len(array_metadata.shape),
            dtype=array_metadata.dtype,
            fill_value=array_metadata.fill_value,
            config=ArrayConfig.from_dict(order),
            prototype=cpu.buffer_prototype,
        )
        made = cls.from_codecs(codecs)
        if release() > (3, 1):  # before that, metadata have their codecs ready for their chunks
            made = made.evolve_from_array_spec(spec)
        if is_known_release() and issubclass(type(store), Store) and is_plain(array_metadata):
            vars(made).update(_metadata=array_metadata, _store=store, _engines={}, _ending={})
            is_bound = type(store) not in _NEAR and not hasattr(store, "zarrcore_store")
            vars(made).update(_chunks=spec.shape, _levels=_levels(array_metadata), _is_bound=is_bound)
            leave_undivided()
        return made

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec], **options: Any) -> Self:
        """Return the pipeline of codecs, by which zarr-python works itself; 3.0 asks for no other."""
        is_known_release()
        return super().from_codecs(codecs, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_engines": {}, "_ending": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._metadata is not None:
            leave_undivided()

    async def read(
        self, batch_info: Iterable[Part], out: Any, drop_axes: tuple[int, ...] = ()
    ) -> tuple[Any, ...]:
        """Read parts of chunks into `out`; parameters as of :class:`zarr.abc.codec.CodecPipeline`."""
        parts = [*batch_info]
        memory: Any = out.as_ndarray_like() if type(out) is cpu.NDBuffer else None
        found = self._call(parts, memory, drop_axes)
        if found is not None and (found[1].order is not None or found[1].outer == memory.shape):
            try:
                if self._is_short(found[0], parts):
                    self._read(*found, memory)
                else:
                    await BATCHES.run_until_cancelled(self._read, *found, memory)
                return (_PRESENT,) * len(parts)
            except Exception:
                pass  # zarr-python finds it too, and reports it in its own words, or can do what we cannot
        return await super().read(_divided(parts), out, drop_axes)

    def _read(
        self, engine: NativeArray, wanted: Wanted, key: Any, memory: np.ndarray, token: Waiter | None = None
    ) -> None:
        """Read, and once more if somebody has put another array in the place meanwhile."""
        for attempt in range(1, MOST_CHANGES + 2):
            try:
                wanted.read(engine, memory, token)
            except ChunkError:
                if not engine.is_stale:
                    raise
            if not engine.is_stale:
                return
            fresh = self._build(None, *key, compares=attempt < MOST_CHANGES)
            if fresh is None:
                break
            self._engines[key] = engine = fresh
        raise ChunkIOError("other arrays keep coming to the place of this one", array=key[0] or "/")

    async def write(self, batch_info: Iterable[Part], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        """Write parts of chunks; parameters as of :class:`zarr.abc.codec.CodecPipeline`."""
        parts = [*batch_info]
        memory: Any = value.as_ndarray_like() if type(value) is cpu.NDBuffer else None
        is_refused = self._store is None or self._store.read_only
        found = None if is_refused else self._call(parts, memory, drop_axes, writes=True)
        if found is not None and memory.shape in ((), found[1].outer):
            engine, selection, _ = found
            is_kept = parts[0][1].config.write_empty_chunks
            try:
                # A coroutine that the holder of a chunk's lock waits for may need the thread of the loop.
                if not adapted_files() and self._is_short(engine, parts):
                    selection.write(engine, memory, is_kept)
                else:  # nothing is stored any more when a task has been cancelled
                    await BATCHES.run_to_end(selection.write, engine, memory, is_kept)
                return
            except Exception:
                pass
        await self._write_by_zarr_python(_divided(parts), value, drop_axes)

    async def _write_by_zarr_python(self, parts: list[Part], value: Any, drop_axes: tuple[int, ...]) -> None:
        """Write parts as zarr-python does.  If one fails all have ended before its error is raised."""
        gate = asyncio.Semaphore(config.get("async.concurrency") or len(parts) or 1)

        async def write(batch: list[Part]) -> None:
            async with gate:
                await self.write_batch(batch, value, drop_axes)

        size = max(1, self.batch_size)
        batches = [parts[start : start + size] for start in range(0, len(parts), size)]
        for ended in await asyncio.gather(*map(write, batches), return_exceptions=True):
            if ended is not None:
                raise ended

    def takes_regions(self, config: Any) -> bool:
        """Return whether a region of many chunks may reach the pipeline as one part."""
        if type(self) is not CodecPipeline:  # which may have a `read` of its own, made for chunks
            return False
        return self._metadata is not None and getattr(config, "read_missing_chunks", True)

    def _call(
        self, parts: list[Part], memory: Any, dropped: tuple[int, ...], *, writes: bool = False
    ) -> tuple[NativeArray, Wanted, Any] | None:
        """Return an engine, what it is to read or write, and its key; None for what zarr-python has to do."""
        if self._metadata is None or not parts or not isinstance(memory, np.ndarray):
            return None
        where, spec = parts[0][:2]
        if spec.prototype is not cpu.buffer_prototype and spec.prototype.nd_buffer is not cpu.NDBuffer:
            return None
        path = getattr(where, "path", "")
        prefix = path.rsplit("/", self._levels)[0] if path.count("/") >= self._levels else ""
        loop = asyncio.get_running_loop() if self._is_bound else None
        key = prefix, getattr(spec.config, "read_missing_chunks", True), loop
        try:
            engine = self._engines[key]
        except KeyError:
            others = [*self._engines.items()]  # another thread may add one meanwhile
            self._engines = {k: v for k, v in others if k[2] is None or not k[2].is_closed()}
            self._ending = {k: v for k, v in [*self._ending.items()] if k in self._engines}
            engine = self._engines[key] = self._build(None, *key)
        if engine is None or memory.dtype != engine.dtype or spec.shape != self._chunks:
            return None
        region = undivided(parts)
        if region is None:
            selection = wanted(engine, parts, self._store, dropped)
        else:
            selection = region.wanted() if where.store is self._store else None
        if selection is None:
            return None
        if writes and not self.supports_partial_encode:  # as shards do: they keep what lies beyond the end
            ends = ends_of(engine, parts, self._store) if region is None else region.ends(self._chunks)
            engine = self._with_ends(engine, key, ends)
        return engine, selection, key

    def _with_ends(self, engine: NativeArray, key: Any, ends: Ends | None) -> NativeArray:
        """Return the engine of an array that ends within chunks, if all that is in such ones is written.

        Those chunks are replaced as a whole, as zarr-python does it: what they have beyond the end would be
        kept otherwise, and show when the array grows.
        """
        if ends is None:
            return engine
        known = self._ending.get(key)
        if known is None or known[0] != ends:
            known = self._ending[key] = ends, self._build(ends, *key)
        return known[1] or engine

    def _build(
        self, ends: Ends | None, prefix: str, read_missing: bool, loop: Any, *, compares: bool = True
    ) -> NativeArray | None:
        """Return the engine for the chunks of the array, however far it grows: others know its shape.

        A dimension whose end is in `ends` ends there.  With `compares`, reads look whether the metadata are
        still the same, where that costs no wait.
        """
        try:
            theirs = self._store
            store = from_zarr_python(theirs) if loop is None else ZarrPythonStore(theirs).on_loop(loop)
            far = tuple(length * _FAR for length in self._chunks)
            shape = far if ends is None else tuple(end or n for end, n in zip(ends, far, strict=True))
            if max(shape, default=0) >= 1 << 62:
                return None
            metadata = translated_metadata(self._metadata).update_shape(shape)
            place = StorePath(store, prefix)
            engine = build_engine(metadata, place, missing_is_error=not read_missing, documented=compares)
        except Exception:  # metadata or a store that only zarr-python takes
            return None
        return engine if isinstance(engine, NativeArray) else None

    def _is_short(self, engine: NativeArray, parts: list[Part]) -> bool:
        """Return whether the engine may work on all parts in the thread of the event loop."""
        if len(parts) > _FEW or undivided(parts) or isinstance(engine.source, StoreSource):
            return False
        return len(parts) * prod(self._chunks) * engine.dtype.itemsize <= _SHORT


def _divided(parts: list[Part]) -> list[Part]:
    """Return the parts of single chunks."""
    region = undivided(parts)
    return parts if region is None else region.parts(parts[0][1])


def _levels(metadata: Any) -> int:
    """Return how many parts the key of a chunk has."""
    if metadata.zarr_format == 2:
        return max(1, len(metadata.shape)) if metadata.dimension_separator == "/" else 1
    encoding = metadata.chunk_key_encoding
    levels = len(metadata.shape) if encoding.separator == "/" else 0
    return levels + 1 if encoding.name == "default" else max(1, levels)


CodecPipeline.__module__ = "zarrcore.integrations.zarr_python"  # as it is named in settings of zarr-python
register_pipeline(CodecPipeline)
