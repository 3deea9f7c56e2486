"""The ``sharding_indexed`` codec: a chunk that is itself cut into inner chunks, found through an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np

from zarrcore._records import dataclass
from zarrcore._validate import at, choice, describe, fail, shape
from zarrcore.codecs.base import (
    EMPTY,
    ArrayBytesCodec,
    ArraySpec,
    Buffer,
    BytesBytesCodec,
    Codec,
    Patch,
    roomy,
)
from zarrcore.codecs.bytes import BytesCodec
from zarrcore.codecs.chain import CodecChain, parse_codecs
from zarrcore.codecs.checksums import Crc32cCodec
from zarrcore.codecs.filled import is_all_fill
from zarrcore.config import config
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

_NO_CHUNK = np.uint64(EMPTY)

SubchunkWriteOrder = Literal["morton", "unordered", "lexicographic", "colexicographic"]
"""Orders in which inner chunks may be written."""


class ShardingCodecIndexLocation(StrEnum):
    """Where a shard has its index; the plain strings do as well.

    Examples
    --------
    >>> codec = ShardingCodec(chunk_shape=(10,), index_location=ShardingCodecIndexLocation.start)
    >>> codec.to_json()["configuration"]["index_location"]
    'start'
    """

    start = "start"
    end = "end"


@dataclass(frozen=True, kw_only=True)
class ShardingCodec(ArrayBytesCodec):
    """Many inner chunks in one stored value (Zarr v3, codec ``sharding_indexed``).

    Parameters
    ----------
    chunk_shape : sequence of int
        Shape of the inner chunks; it divides the shape of the shard.
    codecs : iterable of (Codec or dict or str)
        The codecs of the inner chunks.
    index_codecs : iterable of (Codec or dict or str)
        The codecs of the index, all of fixed encoded size.
    index_location : {"end", "start"}
        Where the index is.
    subchunk_write_order : {"morton", "unordered", "lexicographic", "colexicographic"}
        Wanted order of the inner chunks when a shard is written; not recorded in metadata.

    Examples
    --------
    >>> ShardingCodec(chunk_shape=(32, 32), codecs=["bytes", "crc32c"]).index_codecs
    (BytesCodec(endian='little'), Crc32cCodec())
    """

    name: ClassVar[str] = "sharding_indexed"
    cuts_chunks: ClassVar[bool] = True
    _methods: ClassVar[Sequence[str]] = (
        *("encode", "decode", "inner_chunks", "join", "read_index", "decode_index", "index_nbytes"),
        *("chunks_per_shard", "inner_spec", "index_spec", "inner_chain", "index_chain"),
    )
    chunk_shape: tuple[int, ...]
    codecs: tuple[Codec, ...] = (BytesCodec(endian="little"),)
    index_codecs: tuple[Codec, ...] = (BytesCodec(endian="little"), Crc32cCodec())
    index_location: str = "end"
    subchunk_write_order: str = field(default="morton", metadata={"runtime": True}, compare=False)

    if TYPE_CHECKING:  # what is given may be of other types than what it becomes

        def __init__(
            self,
            *,
            chunk_shape: int | Sequence[int],
            codecs: Iterable[Codec | Mapping[str, Any] | str] = ...,
            index_codecs: Iterable[Codec | Mapping[str, Any] | str] = ...,
            index_location: str = ...,
            subchunk_write_order: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        inner_shape = (self.chunk_shape,) if isinstance(self.chunk_shape, int) else self.chunk_shape
        set_field(self, "chunk_shape", shape(inner_shape, "chunk_shape", low=1))
        set_field(self, "codecs", _parse_codecs(self.codecs, "codecs"))
        set_field(self, "index_codecs", _parse_codecs(self.index_codecs, "index_codecs"))
        set_field(self, "index_location", choice(self.index_location, "index_location", ("start", "end")))
        choice(self.subchunk_write_order, "subchunk_write_order", get_args(SubchunkWriteOrder))
        for i, codec in enumerate(self.index_codecs):
            if not codec.is_fixed_size:
                raise MetadataValidationError(
                    f"expected a codec of fixed encoded size, got {codec.name!r}", where=f"index_codecs[{i}]"
                )

    @classmethod
    def from_json(cls, configuration: Any) -> Self:
        for name in ("chunk_shape", "codecs", "index_codecs"):
            if name not in configuration:
                raise MetadataValidationError("is required and missing", where=name)
        return super().from_json(configuration)

    def resolve(self, spec: ArraySpec) -> Self:
        if len(self.chunk_shape) != spec.ndim:
            fail("configuration.chunk_shape", f"{spec.ndim} lengths", list(self.chunk_shape))
        for axis, (outer, inner) in enumerate(zip(spec.shape, self.chunk_shape, strict=True)):
            if outer % inner:
                fail(f"configuration.chunk_shape[{axis}]", f"a divisor of the shard's length {outer}", inner)
        with at("configuration.codecs"):
            inner_chain = CodecChain.from_codecs(self.codecs, self.inner_spec(spec))
        with at("configuration.index_codecs"):
            index_chain = CodecChain.from_codecs(self.index_codecs, self.index_spec(spec))
        resolved = replace(self, codecs=inner_chain.codecs, index_codecs=index_chain.codecs)
        vars(resolved)["_chains"] = {
            "inner": (self.inner_spec(spec), inner_chain),
            "index": (self.index_spec(spec), index_chain),
        }
        return resolved

    # --- what a shard consists of -------------------------------------------------------------------------

    def chunks_per_shard(self, spec: ArraySpec) -> tuple[int, ...]:
        """Return the number of inner chunks along each dimension of a shard of `spec`."""
        return tuple(outer // inner for outer, inner in zip(spec.shape, self.chunk_shape, strict=True))

    def inner_spec(self, spec: ArraySpec) -> ArraySpec:
        """Return the inner chunks of a shard of `spec`."""
        return replace(spec, shape=self.chunk_shape)

    def index_spec(self, spec: ArraySpec) -> ArraySpec:
        """Return the index of a shard of `spec`: offset and length of each inner chunk."""
        from zarrcore.dtypes import UInt64

        return ArraySpec((*self.chunks_per_shard(spec), 2), UInt64(), _NO_CHUNK)

    def inner_chain(self, spec: ArraySpec) -> CodecChain:
        """Return the codec chain of the inner chunks of a shard of `spec`."""
        return self._chain("inner", self.codecs, self.inner_spec(spec))

    def index_chain(self, spec: ArraySpec) -> CodecChain:
        """Return the codec chain of the index of a shard of `spec`."""
        return self._chain("index", self.index_codecs, self.index_spec(spec))

    def _chain(self, name: str, codecs: tuple[Codec, ...], spec: ArraySpec) -> CodecChain:
        """Return the chain of `codecs`, kept under `name` until it is asked for with another `spec`.

        Without it, each level of nested shards would make the chains of all levels within it several times.
        """
        chains: dict[str, tuple[ArraySpec, CodecChain]] = vars(self).setdefault("_chains", {})
        if name not in chains or not chains[name][0].is_same(spec):
            chains[name] = spec, CodecChain.from_codecs(codecs, spec)
        return chains[name][1]

    def __getstate__(self) -> dict[str, Any]:
        """Return the configuration alone, without the chains that are kept."""
        return {name: value for name, value in vars(self).items() if name != "_chains"}

    def index_nbytes(self, spec: ArraySpec) -> int:
        """Return the size in bytes of the encoded index of a shard of `spec`."""
        size = self.index_chain(spec).encoded_size(self.index_spec(spec))
        assert size is not None  # every index codec is of fixed size
        return size

    def encoded_limit(self, spec: ArraySpec) -> int | None:
        inner = self.inner_spec(spec)
        nested = self.inner_chain(spec).array_bytes
        limit = nested.encoded_limit(inner) if isinstance(nested, ShardingCodec) else inner.nbytes
        if limit is None:
            return None
        return self.index_nbytes(spec) + prod(self.chunks_per_shard(spec)) * roomy(limit)

    def decode_index(self, data: Buffer, spec: ArraySpec, *, shard_nbytes: int | None = None) -> np.ndarray:
        """Return the index of a shard of `spec` in `data`, decoded: uint64, shape ``(*chunks_per_shard, 2)``.

        It has offset and length of each inner chunk; :data:`EMPTY` twice for one that is not there.  With
        `shard_nbytes`, the size of the shard, every inner chunk is checked to lie within it.
        """
        index = self.index_chain(spec).decode(data, self.index_spec(spec))
        if shard_nbytes is not None:
            _check_extents(index, shard_nbytes)
        return index

    # --- whole shards in Python ---------------------------------------------------------------------------

    @property
    def takes_text(self) -> bool:  # type: ignore[override]
        return all(
            isinstance(codec, BytesBytesCodec) or getattr(codec, "takes_text", False) for codec in self.codecs
        )

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        chain, inner_spec = self.inner_chain(spec), self.inner_spec(spec)
        out = spec.filled()
        shard = memoryview(data).cast("B")
        for coords, (offset, length) in self._extents(shard, spec):
            try:
                decoded = chain.decode_bytes(shard[offset : offset + length], inner_spec)
                chain.decode_array_into(decoded, inner_spec, out[self._region(coords)])
            except ChunkDecodeError as error:
                raise error.located(inner_chunk=coords, byte_range=(offset, length)) from error.__cause__
        return out

    def read_index(self, shard: memoryview, spec: ArraySpec) -> np.ndarray:
        """Return the index of a whole shard, as :meth:`decode_index` returns it."""
        index_nbytes = self.index_nbytes(spec)
        if len(shard) < index_nbytes:
            raise ChunkDecodeError(
                f"{len(shard)} bytes cannot hold the index of {index_nbytes}", codec=self.name
            )
        at_start = self.index_location == "start"
        encoded_index = shard[:index_nbytes] if at_start else shard[len(shard) - index_nbytes :]
        return self.decode_index(encoded_index, spec, shard_nbytes=len(shard))

    def encode(
        self, chunk: np.ndarray, spec: ArraySpec, *, write_empty: bool = False, patch: Patch | None = None
    ) -> bytes:
        """Encode `chunk`, of `spec`, as a shard without inner chunks that hold nothing but the fill value.

        Parameters
        ----------
        write_empty : bool
            Whether inner chunks of the fill value alone are written as well.
        patch : Patch, optional
            What of the shard was given; all other inner chunks stay as they are in the old shard, or absent.
        """
        chain, inner_spec = self.inner_chain(spec), self.inner_spec(spec)
        fill = replace(spec, shape=()).filled()
        chunks: dict[tuple[int, ...], Buffer] = {}
        before = {} if patch is None or patch.old is None else self.inner_chunks(patch.old, spec)
        for coords in product(*map(range, self.chunks_per_shard(spec))):
            inner = chunk[self._region(coords)]
            given = None if patch is None else patch.given[self._region(coords)]
            if given is not None and not given.any():
                if coords in before:
                    chunks[coords] = before[coords]
            elif write_empty or not is_all_fill(inner, fill):
                inner_patch = None if given is None else Patch(given, before.get(coords))
                chunks[coords] = chain.encode(inner, inner_spec, write_empty=write_empty, patch=inner_patch)
        return self.join(chunks, spec)

    def inner_chunks(self, shard: Buffer, spec: ArraySpec) -> dict[tuple[int, ...], memoryview]:
        """Return the encoded inner chunks of `shard`, of `spec`, by their coordinates in it.

        Who puts them into another shard needs memory for each, also where many have the same bytes here.
        """
        view = memoryview(shard).cast("B")
        chunks = {
            coords: view[start : start + length] for coords, (start, length) in self._extents(view, spec)
        }
        most = self.encoded_limit(spec) or config.get("array.max_variable_chunk_bytes")
        together = sum(map(len, chunks.values()))
        if most is not None and together > max(most, len(view)):
            raise ChunkDecodeError(
                f"the inner chunks overlap: of {len(view)} bytes they would need {together}, "
                f"more than the {most} that are allowed",
                codec=self.name,
            )
        return chunks

    def _extents(self, shard: memoryview, spec: ArraySpec) -> Iterator[tuple[Any, tuple[int, int]]]:
        """Coordinates of each inner chunk that is there, in C order, with its offset and length."""
        index = self.read_index(shard, spec)
        for coords in map(tuple, np.argwhere((index != EMPTY).any(axis=-1)).tolist()):
            yield coords, (int(index[coords][0]), int(index[coords][1]))

    def _region(self, coords: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the place of an inner chunk in the shard."""
        slices = (slice(i * n, (i + 1) * n) for i, n in zip(coords, self.chunk_shape, strict=True))
        return (*slices, ...)  # the ellipsis makes a view also where there are no dimensions

    def join(self, chunks: Mapping[tuple[int, ...], Buffer], spec: ArraySpec) -> bytes:
        """Return the shard of the encoded inner chunks `chunks`, by their coordinates in it, for `spec`.

        Those of an old shard that have no bytes are damaged, and stay so: left out, they would read as the
        fill value.
        """
        has_bytes = self.inner_spec(spec).nbytes != 0
        index = np.full((*self.chunks_per_shard(spec), 2), EMPTY, np.uint64)
        position = self.index_nbytes(spec) if self.index_location == "start" else 0
        parts: list[Buffer] = []
        for coords in sorted(chunks):
            nbytes = memoryview(chunks[coords]).nbytes
            if nbytes or has_bytes:
                index[coords] = position, nbytes
                position += nbytes
                parts.append(chunks[coords])
        encoded_index = self.index_chain(spec).encode(index, self.index_spec(spec))
        return b"".join(
            [encoded_index, *parts] if self.index_location == "start" else [*parts, encoded_index]
        )

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        inner = self.inner_chain(spec).links(self.inner_spec(spec))
        index = self.index_chain(spec).links(self.index_spec(spec))
        if inner is None or index is None or any(kind == "callback" for kind, *_ in index):
            return None  # the engine knows no size of what Python makes of an index
        return (("shards", self.chunk_shape, inner, index, str(self.index_location)),)


def _check_extents(index: np.ndarray, shard_nbytes: int) -> None:
    """Refuse inner chunks that do not lie within the shard; subtraction, so that nothing wraps around."""
    offset, length = index[..., 0], index[..., 1]
    empty = (offset == EMPTY) & (length == EMPTY)
    limit = np.uint64(shard_nbytes)
    beyond = ~empty & ((offset > limit) | (length > limit - np.minimum(offset, limit)))
    if beyond.any():
        coords = tuple(int(i) for i in np.argwhere(beyond)[0])
        raise ChunkDecodeError(
            f"the index places it beyond the end of the shard at {shard_nbytes}",
            inner_chunk=coords,
            byte_range=(int(offset[coords]), int(length[coords])),
            codec=ShardingCodec.name,
        )


def _parse_codecs(codecs: Iterable[Any], where: str) -> tuple[Codec, ...]:
    if isinstance(codecs, (str, dict)) or not isinstance(codecs, Iterable):
        raise MetadataValidationError(f"expected an array of codecs, got {describe(codecs)}", where=where)
    with at(where):
        return parse_codecs(tuple(codecs))
