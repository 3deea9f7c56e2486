"""What a read of a selection would ask of the store, found by a dry run of the engine that would read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore._records import dataclass
from zarrcore._typing import Buffer, SelectionLike
from zarrcore._validate import of_array
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray
from zarrcore.engine.build import build_engine
from zarrcore.engine.projection import Axis, ChunkPart, axes_of, dim_of, dims_of, project, project_points
from zarrcore.errors import ChunkError, ChunkIOError, ChunkMemoryError
from zarrcore.indexing import Dim, Selection
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.reading import reading
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange, resolve_range
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path
from zarrcore.storage.wrapper import WrapperStore

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArrayBytesCodec
    from zarrcore.inspection.indexes import ShardLayout

_MOST = 1 << 20  # chunks of a selection, each of which has a dry run of its own


@dataclass(frozen=True)
class Request:
    """One request to the store.

    Attributes
    ----------
    key : str
        Store key.
    byte_range : tuple of int or None
        Offset and length of a part of the value; None for all of it.
    nbytes : int
        Number of bytes that come back; 0 if there is no value.
    """

    key: str
    byte_range: tuple[int, int] | None
    nbytes: int


@dataclass(frozen=True)
class ChunkCost:
    """What a read does with one chunk, or shard.

    Attributes
    ----------
    chunk : tuple of int
        Index in the chunk grid.
    key : str
        Store key.
    is_stored : bool
        Whether there is a value; else the chunk reads as the fill value.
    requests : tuple of Request
        What is asked of the store.
    kept, decoded : int
        Number of selected elements, and of elements that are decoded to get at these.
    problem : str
        Why the read would fail here, as far as that shows without the data; then the requests are those up to
        the failure.  Empty if nothing is known to be wrong.
    """

    chunk: tuple[int, ...]
    key: str
    is_stored: bool
    requests: tuple[Request, ...]
    kept: int
    decoded: int
    problem: str = ""


@dataclass(frozen=True)
class Explanation:
    """What reading a selection would cost; printing shows it as a table.

    Attributes
    ----------
    selection : tuple of int
        Shape of the result.
    engine : {"C", "Python"}
        Which engine runs the plan of the call.
    reasons : tuple of str
        What would run in Python, and why; empty if everything runs in C.
    chunks : tuple of ChunkCost
        The chunks that the selection touches.
    itemsize : int
        Bytes of an element in memory; of strings and objects those of a reference.
    kept_itemsize : int
        Bytes of an element of the result: fewer if it is only some fields of records.
    """

    selection: tuple[int, ...]
    engine: str
    reasons: tuple[str, ...]
    chunks: tuple[ChunkCost, ...]
    itemsize: int
    kept_itemsize: int

    @property
    def requests(self) -> list[Request]:
        """All requests to the store."""
        return [*chain.from_iterable(cost.requests for cost in self.chunks)]

    @property
    def keys(self) -> list[str]:
        """The keys that are asked for."""
        return [cost.key for cost in self.chunks]

    @property
    def fetched(self) -> int:
        """Bytes that come from the store."""
        return sum(request.nbytes for request in self.requests)

    @property
    def decoded(self) -> int:
        """Bytes of decoded chunks, or inner chunks."""
        return sum(cost.decoded for cost in self.chunks) * self.itemsize

    @property
    def kept(self) -> int:
        """Bytes of the result."""
        return sum(cost.kept for cost in self.chunks) * self.kept_itemsize

    @property
    def amplification(self) -> float:
        """Decoded bytes for each byte of the result."""
        return self.decoded / self.kept if self.kept else 0.0

    def _rows(self) -> dict[str, str]:
        stored = sum(cost.is_stored for cost in self.chunks)
        problems = [cost.problem for cost in self.chunks if cost.problem]
        fails = {"Fails": f"{len(problems)} chunks, first {problems[0]}"} if problems else {}
        return {
            "Result": f"{self.selection}, {self.kept:,} bytes",
            "Chunks": f"{len(self.chunks):,}, {stored:,} of them stored",
            "Requests": f"{len(self.requests):,}, {self.fetched:,} bytes",
            "Decoded": f"{self.decoded:,} bytes, {self.amplification:,.2f} for each byte of the result",
            "Engine": self.engine,
            **fails,
        }

    def __str__(self) -> str:
        lines = [f"{label:<9}: {value}" for label, value in self._rows().items()]
        return "\n".join([*lines, *(f"{'In Python':<9}: {reason}" for reason in self.reasons)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from zarrcore.display.reports import report_html

        reasons = {"In Python": "; ".join(self.reasons)} if self.reasons else {}
        return report_html("Explanation", "what a read would cost", {**self._rows(), **reasons})


class _Enough(BaseException):  # no error: all requests for a chunk are known
    """Ends a dry run."""


class _Recorder(WrapperStore, announces=False):
    """Notes what the engine asks for; values that are asked for as a whole are said to be absent."""

    def __init__(self, store: Store, *, indexes_only: bool) -> None:
        super().__init__(store)
        self._indexes_only = indexes_only
        self.begin()

    def begin(self) -> None:
        """Forget what was noted of the last chunk."""
        self.requests: list[Request] = []
        self.sizes: dict[str, int | None] = {}
        self.rounds = 0
        self.index: Any = None  # what came back first

    def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
        return self.get_partial_values([(key, byte_range)])[0]

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        wanted = list(key_ranges)
        requests = [self._request(key, byte_range) for key, byte_range in wanted]
        found: Sequence[Buffer | None] = [None] * len(wanted)
        is_enough = self._indexes_only and self.rounds > 0
        if not is_enough and all(byte_range is not None for _, byte_range in wanted):
            found = self._store.get_partial_values(wanted)  # where it fails, the engine may ask again
            self.index = found[0] if self.rounds == 0 else self.index
        self.requests += requests
        self.rounds += 1
        if is_enough:
            raise _Enough
        return found

    def _request(self, key: str, byte_range: ByteRange | None) -> Request:
        if key not in self.sizes:
            self.sizes[key] = self._store._size(key)
        size = self.sizes[key] or 0
        if byte_range is None:
            return Request(key, None, size)
        start, stop = resolve_range(byte_range, size)
        return Request(key, (start, stop - start), stop - start)

    def _has_lost(self, prefix: str) -> bool:
        return False

    def _document_in(self, prefix: str) -> str:
        return ""


def explain(array: OpenArray, selection: SelectionLike) -> Explanation:
    """Find out what a read would cost; see :meth:`zarrcore.Array.explain`."""
    array.follow()
    fields, rest = indexing.pop_fields(selection)
    chosen = indexing.plain_selection(rest, array.shape)
    dtype = array.metadata.np_dtype
    kept_itemsize = indexing.field_dtype(fields, dtype).itemsize
    with of_array(array.path):
        engine, reasons = _where_it_runs(array.engine().is_native, array.metadata)
        dry_run = _DryRun(array)
        chunks = tuple(map(dry_run.run, _parts(chosen, grid_axes(array))))
    return Explanation(chosen.shape, engine, reasons, chunks, dtype.itemsize, kept_itemsize)


def _parts(chosen: Selection, axes: Sequence[Axis]) -> Iterator[ChunkPart]:
    if 0 in chosen.shape:
        return iter(())
    if chosen.points:
        return project_points(chosen.dims, axes)  # type: ignore[arg-type]  # no progressions then
    touched = prod(map(_most_touched, chosen.dims, axes))
    if touched > _MOST:  # which a document claims with a few bytes
        raise ValueError(
            f"explain: the selection touches up to {touched:,} chunks, and at most {_MOST:,} are looked at: "
            "choose a part of it"
        )
    return project(chosen.dims, axes)


def _most_touched(dim: Dim, axis: Axis) -> int:
    """Return how many chunks a dimension of a selection may touch."""
    if isinstance(dim, np.ndarray):
        return dim.size
    start, step, count = dim
    first, last = sorted((axis.chunk_of(start), axis.chunk_of(start + (count - 1) * step)))
    return min(count, last - first + 1)


class _DryRun:
    """Runs the engine of an array for one chunk after the other, with a store that only takes notes."""

    def __init__(self, array: OpenArray) -> None:
        self._array = array
        self._metadata = array.metadata
        self._axes = grid_axes(array)
        self._recorder = _Recorder(array.store, indexes_only=_is_known_by_indexes(array.metadata))
        self._engine = build_engine(array.metadata, StorePath(self._recorder, array.path))

    def run(self, part: ChunkPart) -> ChunkCost:
        """Return what a read does with one chunk."""
        recorder, dims = self._recorder, dims_of(part, self._axes)
        recorder.begin()
        lengths = tuple(len(dim) if isinstance(dim, np.ndarray) else dim[2] for dim in dims)
        shape = lengths[:1] if part.points else lengths
        key = join_path(self._array.path, self._array.metadata.encode_chunk_key(part.coords))
        try:
            out = np.empty(shape, self._metadata.np_dtype)
        except MemoryError as error:
            name, why = self._array.path or "/", f"out of memory: {error}"
            raise ChunkMemoryError(why, array=name, chunk=part.coords, key=key) from error
        decoded, problem = 0, ""
        try:
            with suppress(_Enough):
                (self._engine.read_points if part.points else self._engine.read)(dims, out, 1)
            if any(size is not None for size in recorder.sizes.values()):
                decoded = self._decoded(part)
        except ChunkIOError:  # a store that fails may hold anything
            raise
        except ChunkError as error:
            problem = str(error.located(array=self._array.path or "/", chunk=part.coords, key=key))
        is_stored = any(size is not None for size in recorder.sizes.values())
        return ChunkCost(part.coords, key, is_stored, tuple(recorder.requests), out.size, decoded, problem)

    def _decoded(self, part: ChunkPart) -> int:
        """Return how many elements are decoded of a stored chunk."""
        lengths = [axis.chunk_length(k) for k, axis in zip(part.coords, self._axes, strict=True)]
        shard = _layout_of(self._metadata, part.coords)
        if shard is None:
            return prod(lengths)
        from zarrcore.codecs.base import EMPTY

        axes = axes_of(lengths, shard.of_array(shard.codec.chunk_shape))
        first = self._recorder.requests[0]
        if first.byte_range is None:
            at = (0 if shard.at_start else max(0, first.nbytes - shard.index_nbytes), shard.index_nbytes)
            with reading(self._array.store_path, first.key):
                self._recorder.index = self._array.store.get(first.key, at)
        entries = shard.codec.decode_index(self._recorder.index, shard.spec)
        if part.points:
            touched = project_points(part.inside, axes)  # type: ignore[arg-type]  # no slices then
        else:
            touched = project([dim_of(selector) for selector in part.inside], axes)
        there = sum(bool((entries[shard.of_shard(one.coords)] != EMPTY).any()) for one in touched)
        return there * prod(shard.codec.chunk_shape)


def _layout_of(metadata: ArrayMetadata, coords: tuple[int, ...] | None = None) -> ShardLayout | None:
    if metadata.sharding_codec is None:  # most arrays: what knows shards is not loaded
        return None
    from zarrcore.inspection.indexes import layout_of

    return layout_of(metadata, coords)


def _is_known_by_indexes(metadata: ArrayMetadata) -> bool:
    """Return whether the indexes of shards determine all further requests."""
    if _layout_of(metadata) is None:
        return False
    from zarrcore.codecs.blosc import BloscCodec

    codecs = metadata.inner_codecs
    compressors = [codec for codec in codecs if codec.kind == "bytes->bytes"]
    return bool(compressors) and not any(
        isinstance(codec, BloscCodec) or getattr(codec, "cuts_chunks", False) for codec in codecs
    )


def _where_it_runs(is_native: bool, metadata: ArrayMetadata) -> tuple[str, tuple[str, ...]]:
    """Return which engine runs the plan of a call, and what runs in Python and why."""
    python = [f"codec {name!r}: it has no form in C" for name in _python_codecs(metadata)]
    if is_native:
        return "C", tuple(python)
    reasons = []
    if metadata.chunk_key_encoding.native() is None:
        reasons.append(f"chunk key encoding {metadata.chunk_key_encoding.name!r}: it has no form in C")
    if metadata.data_type.item_size is None or metadata.np_dtype.hasobject:
        reasons.append(f"data type {metadata.np_dtype}: its items have no fixed size")
    if not reasons and not python:
        reasons.append("codecs: their combination has no form in C")
    return "Python", ("the plan of the call: the engine in C cannot take this array", *reasons, *python)


def _python_codecs(metadata: ArrayMetadata) -> Iterator[str]:
    """Yield the names of codecs that only Python can run, those of inner chunks included."""
    spec = metadata.chunk_spec()
    for codec in metadata.chain().array_array:
        if codec.name != "transpose" and codec.stage(spec) is None:
            yield codec.name
        spec = codec.output_spec(spec)
    last = metadata.chain().array_bytes
    if not _cuts_chunks(last) and last.native(spec) is None:
        yield last.name
    codecs = [*metadata.chain().bytes_bytes, *(metadata.inner_codecs if metadata.sharding_codec else ())]
    for codec in codecs:
        if codec.kind == "bytes->bytes" and codec.stage() is None:
            yield codec.name


def _cuts_chunks(codec: ArrayBytesCodec) -> bool:
    """Return whether a codec is the one of shards."""
    if not codec.cuts_chunks:
        return False
    from zarrcore.codecs.sharding import ShardingCodec

    return isinstance(codec, ShardingCodec)
