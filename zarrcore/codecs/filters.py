"""What is between a chunk of format 2 and its compressor: filters, or the plain items.

A filter of format 2 takes and makes buffers that may know their items: the chunk as a flat array in storage
order, or bytes.  All filters of an array up to the last that is not plainly bytes -> bytes make up one
array -> bytes codec, :class:`FilterChain`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, Buffer, BytesBytesCodec, Codec
from zarrcore.codecs.bytes import BytesCodec, from_bytes
from zarrcore.codecs.chain import run_codec
from zarrcore.codecs.spelling import NumcodecsCodec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError


class Filter(NumcodecsCodec):
    """Base class of the filters of format 2 that are neither bytes -> bytes nor array -> array.

    ``encode(data, spec)`` takes a flat array or bytes and returns one or the other, ``decode(data, spec)``
    undoes that; `spec` is the chunk that all filters together decode to.
    """

    must_be_first: ClassVar[bool] = False
    """Whether it takes the items of an array, and not what another filter makes of them."""


@dataclass(frozen=True, kw_only=True)
class RawItems(BytesCodec):
    """Items exactly as they are in memory, which in format 2 keeps the stored byte order."""

    endian: str | None = None

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None:
            raise MetadataValidationError(
                f"the data type {spec.dtype!r} needs an object codec among the filters"
            )
        return self


@dataclass(frozen=True)
class FilterChain(ArrayBytesCodec):
    """Filters of format 2, applied one after the other to the flat chunk.

    Parameters
    ----------
    filters : tuple of Codec
        In the order in which they encode.
    """

    name: ClassVar[str] = "filters"
    filters: tuple[Codec, ...]

    def resolve(self, spec: ArraySpec) -> Self:
        for i, codec in enumerate(self.filters):
            if i == 0 and isinstance(codec, NumcodecsCodec):
                codec.check_items(spec)
            elif isinstance(codec, Filter) and codec.must_be_first:
                raise MetadataValidationError(f"the {codec.name} filter must be the first of the filters")
        size = spec.item_size
        fit = (
            c.sized(size or 1, size) if isinstance(c, NumcodecsCodec) else c.resolve(spec)
            for c in self.filters
        )
        return replace(self, filters=tuple(fit))

    def encoded_limit(self, spec: ArraySpec) -> int | None:
        # What the filters make of the items is not known; none makes more than 16 bytes of one byte.
        return None if spec.nbytes is None else 16 * spec.nbytes + (1 << 16)

    @property
    def takes_text(self) -> bool:  # type: ignore[override]
        return getattr(self.filters[0], "takes_text", False)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        # Strings of an equal data type would be copied all the same.
        same = chunk.dtype == spec.np_dtype or (chunk.dtype.kind in "OU" and self.takes_text)
        data: Any = np.ascontiguousarray(chunk, None if same else spec.np_dtype).reshape(-1)
        codec: Any
        for codec in self.filters:
            if isinstance(codec, BytesBytesCodec):
                data = as_bytes(data)
            # What comes out of other filters is not of the chunk's shape and data type.
            known = () if isinstance(codec, ArrayArrayCodec) else (spec,)
            data = run_codec(codec, ChunkEncodeError, codec.encode, data, *known)
        if isinstance(data, np.ndarray) and data.dtype.hasobject:
            raise TypeError("no filter turns the objects into bytes")
        return bytes(as_bytes(data))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        found: Any = data
        codec: Any
        for codec in reversed(self.filters):
            known: tuple[Any, ...] = () if isinstance(codec, ArrayArrayCodec) else (spec,)
            if isinstance(codec, BytesBytesCodec):
                found, known = as_bytes(found), (spec, self.encoded_limit(spec))
            found = run_codec(codec, ChunkDecodeError, codec.decode, found, *known)
        return run_codec(self.filters[0], ChunkDecodeError, _chunk, found, spec)  # type: ignore[no-any-return]

    def decode_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> bool:
        only = self.filters[0] if len(self.filters) == 1 else None
        return isinstance(only, ArrayBytesCodec) and only.decode_into(data, spec, out)

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        links: list[Any] = [("bytes", 0)]
        dtype = spec.np_dtype
        for codec in self.filters:
            lowered: Any = None
            if isinstance(codec, BytesBytesCodec):
                lowered = codec.stage(), np.dtype("u1")
            elif isinstance(codec, ArrayArrayCodec):
                lowered = codec.lowered(dtype)  # type: ignore[attr-defined]
            if lowered is None or lowered[0] is None:
                return None
            links.append(("stage", *lowered[0]))
            dtype = lowered[1]
        return tuple(links)


def item_size_after(filters: tuple[Codec, ...], item_size: int | None) -> int:
    """Bytes of the items that `filters` make of items of `item_size` bytes, 1 where that is not known."""
    for codec in filters:
        if isinstance(codec, BytesBytesCodec):
            item_size = 1
            continue
        if codec.name == "bitround":
            continue
        config = codec.get_config()  # type: ignore[attr-defined]
        made = config.get("astype") or config.get("encode_dtype") or config.get("dtype")
        item_size = np.dtype(made).itemsize if isinstance(made, str) else 1
    return item_size or 1


def _chunk(found: Any, spec: ArraySpec) -> np.ndarray:
    """Return what the filters decoded to as a chunk of `spec`."""
    dtype = spec.np_dtype
    if isinstance(found, np.ndarray) and (found.dtype.hasobject or found.dtype.kind == "T"):
        if found.size != spec.size:
            raise ChunkDecodeError(f"expected {spec.size} items, got {found.size}")
        chunk = found.reshape(spec.shape)
        if dtype.kind in "SV" and found.size and max(map(len, found.ravel())) > dtype.itemsize:
            raise ChunkDecodeError(f"an item has more than the {dtype.itemsize} bytes of the data type")
        # astype would copy strings even with copy=False.
        return chunk if chunk.dtype == dtype else chunk.astype(dtype)
    if dtype.hasobject or dtype.kind == "T":
        raise ChunkDecodeError("no filter turns the bytes into objects")
    return from_bytes(as_bytes(found), dtype, spec)


def as_bytes(data: Any) -> memoryview:
    """Return a flat array or bytes-like object as bytes."""
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            raise TypeError("objects where bytes are needed")
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def require_kind(spec: ArraySpec, kinds: str, codec: str, what: str) -> None:
    """Refuse items whose data type NumPy counts to none of `kinds`."""
    if spec.np_dtype.kind not in kinds:
        raise MetadataValidationError(f"the {codec} filter takes {what}, the data type is {spec.dtype!r}")
