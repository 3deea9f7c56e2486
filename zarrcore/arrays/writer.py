"""Writing back: many small writes are gathered in memory, and every chunk is written once."""

from __future__ import annotations

import math
import os
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore._core import engine as native
from zarrcore._locks import Rank, lock, owning
from zarrcore.arrays.access import check_objects, field_values, fill, writes_empty_chunks
from zarrcore.arrays.chunks import room_for, shape_lock
from zarrcore.arrays.forgotten import finish_later, watch
from zarrcore.arrays.growing import Growth
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.pending import BlockGrid, Memory, PendingChunk, interior, outside, parts_in
from zarrcore.arrays.selections import Indexable
from zarrcore.arrays.values import as_values, broadcast_values, check_out
from zarrcore.engine.build import chunk_store
from zarrcore.errors import BaseZarrError, ChunkError, FlushError, ZarrUserWarning, named, said
from zarrcore.indexing import Selection
from zarrcore.metadata import layout
from zarrcore.node import state_of
from zarrcore.nodes.users import note_growth, writing
from zarrcore.nodes.versions import Versions, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from zarrcore.arrays.pending import Coords, Cuts, Parts
    from zarrcore.arrays.selections import Select
    from zarrcore.engine.projection import FieldNames
    from zarrcore.indexing import Fields, Selection
    from zarrcore.metadata.common import ArrayMetadata

_DEFAULT_BYTES = 256 << 20


class ArrayWriter(Indexable):
    """Gathers writes to an array in memory and writes each chunk (or shard) once.

    Made by :meth:`zarrcore.Array.writer`, usually in a ``with`` statement.

    A chunk is written as soon as all of it has been given, when the memory limit is reached (first those that
    were not written to for longest), by :meth:`flush` and by :meth:`close`.  A chunk that was given
    completely is never read from the store; of a shard that was given in part, inner chunks that nothing was
    given for are moved as they are, without decoding.  Chunks that one assignment covers as a whole are
    written at once, without a copy.

    Reading through the writer shows what was given; other readers of the array see it when it has been
    written.

    Notes
    -----
    Leaving the ``with`` block writes what is pending also when an exception ends it, as closing a file does.
    If chunks cannot be written, all others are, and then the error is raised: that of the chunk, or a
    :class:`zarrcore.errors.FlushError` that names all of them; appended rows from the first of them on are
    not part of the array.  :meth:`flush` keeps what could not be written for another try; :meth:`close`
    discards it.  A writer that nobody closed writes what is pending when it is collected or the program ends,
    and warns; values for a chunk that others have written since are lost.

    A writer belongs to the process that made it: a child of a fork cannot use it, and closing it there does
    nothing.

    Any number of threads may write different regions at once.  Writes to the array that do not go through the
    writer are not seen by it: where both touch the same elements, the one that reaches the store last stays.
    """

    def __init__(self, array: Any, *, max_bytes: int | None = None, threads: int = 0) -> None:
        self._face = array
        array = state_of(array)
        array.check_writable()
        most = None if max_bytes is None else native.byte_limit(max_bytes)
        self._array: OpenArray = array
        self._threads = native.thread_number(threads)
        self._lock = lock(Rank.TABLE)
        self._pending: OrderedDict[tuple[int, ...], PendingChunk] = OrderedDict()
        self._memory = Memory()
        self._closed = False
        array.follow()
        self._growth = Growth(array)
        self._given = array.shape
        self._bind()
        self._max_bytes = self._default_bytes() if most is None else most
        self._scope = chunk_store(array.metadata, array.store_path)._scope(array.path)
        self._process = os.getpid()
        watch(self)

    def _bind(self) -> None:
        """Take over the shape of the array, as far as this writer has made it grow."""
        array = self._growth.target
        edges = layout.grid_edges(array.metadata)
        self._dtype = array.dtype
        self._grid = BlockGrid(array.shape, edges, array.engine().block_shape)

    def _default_bytes(self) -> int:
        """256 MiB, but at least one chunk (or shard) for each thread."""
        edges = layout.grid_edges(self._metadata)
        lengths = (edge if isinstance(edge, int) else max(edge, default=1) for edge in edges)
        chunk = math.prod(lengths) * self._dtype.itemsize
        return max(_DEFAULT_BYTES, chunk * (self._threads or native.num_threads()))

    def __reduce__(self) -> Any:
        raise TypeError("a writer is not pickled or copied: what is pending would be stored twice")

    # --- properties ---

    @property
    def array(self) -> Any:
        """The array."""
        return self._face

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._grid.shape

    @property
    def _metadata(self) -> ArrayMetadata:
        return self._array.metadata

    @property
    def max_bytes(self) -> int:
        """Most memory for gathered values; exceeded by no more than one chunk for each writing thread."""
        return self._max_bytes

    @property
    def pending_bytes(self) -> int:
        """Memory that gathered values take now."""
        return self._memory.nbytes

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._closed

    @property
    def _is_unfinished(self) -> bool:
        return bool(self._pending) or self._growth.is_under_way

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._pending)} chunks pending"
        return f"<ArrayWriter {self._array.store_path} {state}>"

    # --- selections ---

    def __setitem__(self, selection: Any, value: Any) -> None:
        """Give values for a selection, as of ``array[selection] = value``."""
        self.write(selection, value)

    def write(self, selection: Any, value: Any) -> None:
        """Give values for a selection.

        Parameters
        ----------
        selection
            As in ``array[selection] = value``.
        value : array_like
            Broadcast to the selection; copied, unless it is written at once.
        """
        fields, selection = indexing.pop_fields(selection)
        self._set(indexing.plain_selection, selection, value, fields)

    def __getitem__(self, selection: Any) -> Any:
        """Read a selection, with all that was given so far."""
        return self.read(selection)

    def read(self, selection: Any = ..., *, out: np.ndarray | None = None) -> Any:
        """Read a selection, with all that was given so far; parameters as of :meth:`zarrcore.Array.read`."""
        fields, selection = indexing.pop_fields(selection)
        return self._get(indexing.plain_selection, selection, out, fields)

    def append(self, data: Any, axis: int = 0) -> tuple[int, ...]:
        """Append along one dimension; the values are gathered.

        The array has them, and its new shape, once their chunks are stored, as :meth:`flush` and
        :meth:`close` do: chunks first, then the shape, so that a program that is killed leaves whole rows.
        Another handle of this process that appends to the array, or resizes it, has this writer flush first.

        No other thread may use the writer meanwhile.  Parameters and errors are as of
        :meth:`zarrcore.Array.append`.

        Returns
        -------
        tuple of int
            The new shape.
        """
        self._array.check_writable()
        with shape_lock(self._array, self):
            self._check()
            growth = self._growth
            growth.reread()
            self._check()
            values, region = room_for(growth.target, data, axis)
            axis %= self._array.ndim
            if growth.is_under_way and growth.axis != axis:
                self._flush_all()
                self._store_shape()
            before, shape = (growth.target, growth.target.shape), tuple(part.stop for part in region)
            if shape == before[1]:
                return shape
            growth.begin(shape, axis)
            note_growth(self, is_under_way=True)
            try:
                self._regrid(PendingChunk.regrid)
                self[region] = values
                self._given = self.shape
                self._store_shape()
            except BaseException as error:
                self._take_back(before, error)
                raise
        return self.shape

    def _regrid(self, change: Callable[[PendingChunk, BlockGrid], None]) -> None:
        """Take over the shape of the array, also for what is pending."""
        self._bind()
        for pending in list(self._pending.values()):
            with owning(pending.lock):
                change(pending, self._grid)

    def _store_shape(self) -> None:
        """Store the shape of the array as far as all rows are stored; called under the lock of the shape."""
        growth = self._growth
        if growth.is_under_way:
            repeated(self._store_rows)
            note_growth(self, is_under_way=growth.is_under_way)

    def _store_rows(self, versions: Versions) -> None:
        growth = self._growth
        growth.reread(versions)
        self._check()
        along = self._grid.chunks[growth.axis]
        stop, stored = self._given[growth.axis], growth.shape[growth.axis]
        for pending in list(self._pending.values()):
            first = along.offset(k := pending.coords[growth.axis])
            if first + along.chunk_length(k) > stored:
                stop = min(stop, first)
        growth.store(stop, versions)

    def _take_back(self, before: tuple[OpenArray, tuple[int, ...]], error: BaseException) -> None:
        """Forget what has been given, and remove what has been stored, for an append that failed."""
        try:
            self._growth.take_back(*before)
        except Exception as second:
            error.add_note(f"what was appended could not be removed: {said(second)}")
        self._given = before[1]
        self._regrid(PendingChunk.cut)
        for pending in list(self._pending.values()):
            if not pending.blocks:
                self._drop(pending)
        note_growth(self, is_under_way=self._growth.is_under_way)

    def _check(self) -> None:
        self._check_process()
        if self._closed:
            raise ValueError(f"array {self._array.path or '/'!r}: the writer is closed")
        if self._array.shape != self._growth.shape:
            raise ValueError(
                f"array {self._array.path or '/'!r}: its shape changed from {self._growth.shape} to "
                f"{self._array.shape} while a writer was open; use the writer's append"
            )

    def _check_process(self) -> None:
        """Refuse a child of a fork: what is pending is its parent's, and nobody may release the locks."""
        if self._process != os.getpid():
            raise ValueError(
                f"array {self._array.path or '/'!r}: the writer was made in another process, which writes "
                "what is pending; make one in this process"
            )

    def _target(self) -> OpenArray:
        """Return the array as it is written, unless it has got another shape by others."""
        self._array.engine()  # follows them
        self._check()
        return self._growth.target

    # --- writing ---

    def _set(self, select: Select, wanted: Any, value: Any, fields: Fields | None = None) -> None:
        self._check()
        selection = select(wanted, self.shape)
        field: FieldNames | None = None
        if fields:
            field = fields if isinstance(fields, str) else tuple(fields)
            values = field_values(value, fields, self._dtype, selection.shape)
            if values.dtype.itemsize == 0:
                return
        else:
            values = as_values(value, self._dtype, ndim=len(selection.shape))
            values = broadcast_values(values, selection.shape)
        if values.size == 0:
            return
        check_objects(self._growth.target, selection, values)
        if selection.points:
            parts: Any = self._grid.points(selection.dims)  # type: ignore[arg-type]
            self._gather(parts.items(), np.ascontiguousarray(values).reshape(-1), field)
        else:
            self._gather_region(selection, values.reshape(selection.block), field)

    def _gather_region(self, selection: Selection, values: np.ndarray, field: FieldNames | None) -> None:
        dims = list(selection.dims)
        for d, dim in enumerate(dims):
            if isinstance(dim, tuple) and dim[1] < 0:  # turned round, so that chunks are seen to be covered
                start, step, count = dim
                dims[d] = (start + (count - 1) * step, -step, count)
                values = np.flip(values, d)
        inner = interior(dims, self._grid.chunks) if field is None else None
        cuts = self._grid.cuts(dims)
        if inner is not None:
            self._write_whole(dims, inner, cuts, values)
        self._gather(((chunk, parts_in(cuts, chunk)) for chunk in outside(cuts, inner)), values, field)

    def _write_whole(
        self, dims: Sequence[Any], inner: list[tuple[int, int]], cuts: Cuts, values: np.ndarray
    ) -> None:
        """Write chunks that are covered as a whole."""
        whole: list[Any] = []
        taken: list[Any] = []
        for (start, _, _), (first, last), axis in zip(dims, inner, self._grid.chunks, strict=True):
            low, high = axis.offset(first), axis.offset(last - 1) + axis.valid_length(last - 1)
            whole.append((low, 1, high - low))
            taken.append(slice(low - start, high - start))
        pending = self._renew(inner, cuts, values)
        self._write("write", tuple(whole), values[(*taken, ...)], self._threads)
        for chunk, puts in pending:
            with owning(chunk.lock):
                if chunk.puts == puts:  # else there is something newer
                    self._drop(chunk)

    def _renew(
        self, inner: list[tuple[int, int]], cuts: Cuts, values: np.ndarray
    ) -> list[tuple[PendingChunk, int]]:
        """Set values in the chunks that are pending, so that their older values are not written later."""
        with owning(self._lock):
            known = [
                chunk
                for coords, chunk in self._pending.items()
                if all(first <= k < last for k, (first, last) in zip(coords, inner, strict=True))
            ]
        renewed = []
        for chunk in known:
            with self._mine(chunk):
                if not chunk.done:
                    chunk.put(parts_in(cuts, chunk.coords), values)
                    renewed.append((chunk, chunk.puts))
        return renewed

    def _gather(
        self, chunks: Iterable[tuple[Coords, Parts]], values: np.ndarray, field: FieldNames | None
    ) -> None:
        """Put values into pending chunks, and write those that are complete then."""
        stored = None if field is None else self._read_block
        ready = []
        for coords, parts in chunks:
            if self._memory.nbytes >= self._max_bytes:
                self._make_room()
            given = False
            while not given:
                chunk = self._entered(coords)
                with self._mine(chunk):
                    if not chunk.done:  # else it was written while this thread waited
                        chunk.put(parts, values, field, stored)
                        given = True
                        if chunk.complete:
                            ready.append(chunk)
        self._flush(ready)

    def _read_block(self, start: Coords, out: np.ndarray) -> None:
        """Read what is stored of a block."""
        dims = tuple((first, 1, n) for first, n in zip(start, out.shape, strict=True))
        fill(self._target(), Selection(dims, out.shape, out.shape), out, self._threads)

    def _entered(self, coords: Coords) -> PendingChunk:
        """Return the pending chunk at `coords`, a new one if there is none."""
        with owning(self._lock):
            if self._closed:
                self._check()
            chunk = self._pending.get(coords)
            if chunk is None or chunk.done:
                chunk = self._pending[coords] = PendingChunk(self._grid, coords, self._dtype, self._memory)
                chunk.changes = self._changes_of(coords)
            self._pending.move_to_end(coords)
        return chunk

    def _changes_of(self, coords: Coords) -> int:
        """Return how often this process has changed the key of a chunk; -1 while it does so."""
        return native.key_events(self._scope, self._metadata.encode_chunk_key(coords))

    def _mine(self, chunk: PendingChunk) -> Any:
        """Return the lock of a chunk, to change it.

        Raises
        ------
        ChunkError
            If this thread is changing or writing the chunk: a signal handler or a store uses the writer.
        """
        if chunk.lock._is_owned():
            raise ChunkError(
                "it is written to while this thread is writing it", array=self._array.path, chunk=chunk.coords
            )
        return owning(chunk.lock)

    def _drop(self, chunk: PendingChunk) -> None:
        """Forget a chunk, whose lock is held."""
        chunk.done = True
        with owning(self._lock):
            is_known = self._pending.get(chunk.coords) is chunk
            if is_known:
                del self._pending[chunk.coords]
        if is_known:
            self._memory.grow(-chunk.nbytes)

    # --- flushing ---

    def _make_room(self) -> None:
        """Write those chunks that were not written to for longest, until a quarter of the memory is free."""
        with owning(self._lock):
            left, oldest = self._memory.nbytes, []
            for pending in self._pending.values():
                if left <= self._max_bytes // 4 * 3:
                    break
                oldest.append(pending)
                left -= pending.nbytes
        self._flush(oldest)

    def flush(self) -> None:
        """Write all that is pending, complete or not.

        Raises
        ------
        ChunkError
            If a chunk could not be written; all others were.  Its values stay pending.
        FlushError
            If several could not.
        """
        self._check_process()
        if not self._growth.is_under_way:
            self._flush_all()
            return
        with shape_lock(self._array, self):
            try:
                self._flush_all()
            finally:
                self._store_shape()

    def _flush_all(self) -> None:
        with owning(self._lock):
            pending = list(self._pending.values())
        self._flush(pending)

    def _flush(self, chunks: list[PendingChunk]) -> None:
        failures: list[tuple[Coords, Exception]] = []
        threads = self._threads or native.num_threads()
        inside = self._threads if len(chunks) < threads else 1

        def write(number: int) -> None:
            pending = chunks[number]
            with self._mine(pending):
                if pending.done:
                    self._drop(pending)
                    return
                try:
                    if pending.blocks:  # else it was entered this moment, nothing has been given yet
                        given = pending.coords, pending.gathered(), pending.complete
                        self._write("write_gathered", *given, inside)
                except Exception as error:
                    failures.append((pending.coords, error))
                    return
                self._drop(pending)

        if len(chunks) == 1:
            write(0)
        elif chunks:
            native.call_parallel(write, len(chunks), self._threads)
        if failures:
            failures.sort(key=lambda failure: failure[0])
            raise _failure(self._array.path, failures)

    def _write(self, verb: str, *args: Any) -> None:
        """Have the engine write, unless the array has another shape by now."""
        with writing(self._array):
            getattr(self._target().engine_to_write(), verb)(*args, writes_empty_chunks(self._array))

    def close(self) -> None:
        """Write all that is pending and refuse further use; more calls do nothing.

        Raises
        ------
        ChunkError, FlushError
            As :meth:`flush`; the values of the chunks that failed are given up.
        """
        if self._closed or self._process != os.getpid():  # what is pending is for the parent to write
            return
        try:
            self.flush()
        finally:
            with owning(self._lock):
                self._closed = True
                self._pending.clear()
                self._memory.nbytes = 0
            self._growth.end()
            note_growth(self, is_under_way=False)

    def __enter__(self) -> Self:
        self._check()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _finish(self) -> None:
        """Write what is pending and refuse further use: nobody has called :meth:`close`.

        Values for a chunk that others have written since are given up: nobody knows which are newer.
        """
        with owning(self._lock):
            pending = list(self._pending.values())
        lost = [c for c in pending if c.changes not in (-1, self._changes_of(c.coords))]
        for chunk in lost:
            with self._mine(chunk):
                self._drop(chunk)
        self.close()
        for chunk in lost:
            message = f"{self!r}: values for chunk {chunk.coords} are lost, others have written it since"
            warnings.warn(message, ZarrUserWarning, stacklevel=2)

    __del__ = native.close_collected

    def _close_collected(self) -> None:
        if hasattr(self, "_process") and self._is_unfinished:
            finish_later(self)

    # --- reading ---

    def _get(self, select: Select, wanted: Any, out: Any = None, fields: Fields | None = None) -> Any:
        self._check()
        selection = select(wanted, self.shape)
        if not fields:
            given = None if out is None else check_out(out, selection.shape, self._dtype)
            result = self._read(selection, given)
        else:
            records, dtype = self._read(selection), indexing.field_dtype(fields, self._dtype)
            several = not isinstance(fields, str)
            result = records[list(fields)].astype(dtype) if several else records[fields].copy()
            if out is not None:
                check_out(out, result.shape, result.dtype)[...] = result
        if out is not None:
            return out
        return result[()] if result.shape == () else result

    def _read(self, selection: Selection, result: np.ndarray | None = None) -> np.ndarray:
        array = self._target()
        if result is None:
            order = "C" if selection.points else array.order
            result = np.empty(selection.shape, dtype=self._dtype, order=order)
        if result.size == 0:
            return result
        with owning(self._lock):
            chunks = list(self._pending.values())
        if selection.points:
            points = self._grid.points(selection.dims) if chunks else {}  # type: ignore[arg-type]
            touched: list[tuple[PendingChunk, Parts]] = [
                (chunk, points[chunk.coords]) for chunk in chunks if chunk.coords in points
            ]
        else:
            cuts = self._grid.cuts(selection.dims)
            touched = [
                (chunk, parts_in(cuts, chunk.coords))
                for chunk in chunks
                if all(k in along for k, along in zip(chunk.coords, cuts, strict=True))
            ]
        # What was given before is in the store, or in one of these chunks even if it is written meanwhile.
        fill(array, selection, result, self._threads)
        block = result.reshape(selection.block)
        for chunk, parts in touched:
            with owning(chunk.lock):
                chunk.overlay(parts, block)
        if not np.may_share_memory(block, result):
            result[...] = block.reshape(result.shape)
        return result


def _failure(path: str, failures: list[tuple[Coords, Exception]]) -> Exception:
    """Return one exception for all chunks that could not be written."""
    if len(failures) == 1:
        return failures[0][1]
    errors = tuple(
        error if isinstance(error, BaseZarrError) else ChunkError(named(error), array=path, chunk=coords)
        for coords, error in failures
    )
    reason = f"{len(errors)} chunks could not be written: {'; '.join(map(said, errors))}"
    flushed = FlushError(reason, failures=errors, array=path)
    flushed.__cause__ = failures[0][1]
    return flushed
