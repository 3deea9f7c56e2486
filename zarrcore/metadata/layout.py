"""Chunks and codecs of an array, as its properties present them to users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zarrcore._validate import fail
from zarrcore.grids import RegularGrid
from zarrcore.grids.base import start_alike
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.documents import names_of_xarray

Edges = tuple[int | tuple[int, ...], ...]

MAX_LISTED = 1 << 24
"""Most chunks along all dimensions together whose lengths are listed: a document has room for any number."""


def grid_edges(metadata: ArrayMetadata) -> Edges:
    """For each dimension the length of the stored chunks, or the lengths of all of them where they differ."""
    return metadata.chunk_grid.native()


def inner_chunks(metadata: ArrayMetadata) -> tuple[int, ...] | None:
    """Shape of the inner chunks of a sharded array, or None."""
    return None if metadata.sharding_codec is None else metadata.chunks


def dimension_names(metadata: ArrayMetadata) -> tuple[str | None, ...] | None:
    """Names of the dimensions, or None; in format 2 those that xarray stores in an attribute."""
    if metadata.zarr_format == 3:
        return metadata.dimension_names  # type: ignore[no-any-return]
    return names_of_xarray(metadata.attributes, metadata.ndim)


def chunk_sizes(edges: Edges, shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Lengths of all chunks along each dimension, cut at the end of the array (as dask has them)."""
    pairs = zip(edges, shape, strict=True)
    listed = sum(-(-length // edge) if edge else 0 for edge, length in pairs if isinstance(edge, int))
    if listed > MAX_LISTED:
        fail("chunks", f"at most {MAX_LISTED} along all dimensions together, to list their lengths", listed)
    return tuple(_sizes(edge, length) for edge, length in zip(edges, shape, strict=True))


def _sizes(edge: int | tuple[int, ...], length: int) -> tuple[int, ...]:
    if isinstance(edge, int):
        if edge == 0:
            return ()
        whole, rest = divmod(length, edge)
        return (edge,) * whole + ((rest,) if rest else ())
    sizes, left = [], length
    for size in edge:
        if left <= 0:
            break
        sizes.append(min(size, left))
        left -= size
    return tuple(sizes)


def codecs_of(metadata: ArrayMetadata) -> tuple[tuple[Any, ...], Any | None, tuple[Any, ...]]:
    """Filters, serializer and compressors as users know them (those of the inner chunks, if sharded)."""
    if metadata.zarr_format == 2:
        compressor = metadata.compressor
        return tuple(metadata.filters or ()), None, () if compressor is None else (compressor,)
    # A transposition of whole shards is one of each inner chunk, whose codecs take what it makes.
    before = () if metadata.sharding_codec is None else metadata.chain().array_array
    found: dict[str | None, list[Any]] = {}
    for codec in (*before, *metadata.inner_codecs):
        found.setdefault(getattr(codec, "kind", None), []).append(codec)  # ignored codecs have none
    filters, serializers, compressors = (
        found.get(kind, ()) for kind in ("array->array", "array->bytes", "bytes->bytes")
    )
    return tuple(filters), serializers[0] if serializers else None, tuple(compressors)


def fill_array(metadata: ArrayMetadata) -> np.ndarray:
    """Return the value of elements that were never written, as a zero-dimensional array."""
    dtype = metadata.np_dtype
    fill = np.zeros((), dtype=dtype)
    bits = metadata.fill_bytes
    if bits is not None and dtype.kind not in "OT":
        return np.frombuffer(bits, dtype=dtype).reshape(()) if bits else fill
    fill[()] = metadata.fill_scalar
    return fill


def is_resized(one: ArrayMetadata, other: ArrayMetadata) -> bool:
    """Return whether two documents differ in nothing but the attributes and what changes of the shape change.

    A rectilinear grid gets a chunk more each time, so that its lengths say how often the shape was changed.
    """
    if one.ndim != other.ndim or not _differ_only_in(one, other, "attributes", "shape", "chunk_grid"):
        return False
    if one.chunk_grid == other.chunk_grid:
        return True
    regular = any(isinstance(metadata.chunk_grid, RegularGrid) for metadata in (one, other))
    return not regular and starts_alike(one, other)


def starts_alike(one: ArrayMetadata, other: ArrayMetadata) -> bool:
    """Return whether two arrays have chunks of the same shapes where both have items."""
    common = map(min, one.shape, other.shape)
    return all(map(start_alike, grid_edges(one), grid_edges(other), common))


def is_stored_alike(one: ArrayMetadata, other: ArrayMetadata) -> bool:
    """Return whether two documents differ in nothing but the attributes."""
    return _differ_only_in(one, other, "attributes")


def _differ_only_in(one: ArrayMetadata, other: ArrayMetadata, *members: str) -> bool:
    """Return whether two documents differ in some members at most."""
    left_out = dict.fromkeys(members)
    return {**one.to_dict(), **left_out} == {**other.to_dict(), **left_out}
