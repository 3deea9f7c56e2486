"""Making arrays like others: what a new array takes over from one that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.arrays.array import Array
from zarrcore.arrays.creation import create_array_at, default_format, refuse_own_source
from zarrcore.arrays.layout import codecs_of, grid_edges, inner_chunks
from zarrcore.errors import BaseZarrError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zarrcore.arrays.copying import Progress
    from zarrcore.metadata import ArrayMetadata
    from zarrcore.storage import StorePath

__all__ = ["from_array_at", "like_arguments"]


def like_arguments(data: Any, zarr_format: int | None) -> dict[str, Any]:
    """Arguments of :func:`zarrcore.create` for an array like `data`.

    Codecs and memory order of an array are taken over if the new one has the same Zarr format.
    """
    arguments: dict[str, Any] = {}
    if not hasattr(data, "shape"):
        data = np.asarray(data)
    arguments["shape"] = tuple(data.shape)
    arguments["dtype"] = data.dtype
    if isinstance(data, Array):
        _like_array(data, zarr_format, arguments)
    elif isinstance(getattr(data, "chunks", None), tuple) and all(isinstance(n, int) for n in data.chunks):
        arguments["chunks"] = data.chunks
    if zarr_format is not None:
        arguments["zarr_format"] = zarr_format
    return arguments


def _like_array(array: Array, zarr_format: int | None, arguments: dict[str, Any]) -> None:
    metadata = array.metadata
    same = zarr_format in (None, metadata.zarr_format)
    arguments["zarr_format"] = metadata.zarr_format
    arguments["dtype"] = metadata.zdtype
    arguments["fill_value"] = array.fill_value
    if same and metadata.zarr_format == 3:
        arguments["chunks"] = grid_edges(metadata)
        arguments["codecs"] = metadata.codecs
        return
    arguments["chunks"] = inner_chunks(metadata) or grid_edges(metadata)
    if same:
        arguments["order"] = array.order
        arguments["compressor"] = array.compressor
        arguments["filters"] = array.filters or None
    else:
        arguments["dtype"] = array.dtype if array.dtype.kind not in "OTV" else metadata.zdtype


def from_array_at(
    place: StorePath,
    *,
    data: Any,
    write_data: bool = True,
    chunks: Any = "keep",
    shards: Any = "keep",
    filters: Any = "keep",
    compressors: Any = "keep",
    serializer: Any = "keep",
    fill_value: Any = ...,
    order: Any = None,
    zarr_format: int | None = None,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Any = None,
    overwrite: bool = False,
    config: Any = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> Array:
    """Create an array from another; the parameters are those of :func:`zarrcore.from_array`."""
    if overwrite:
        refuse_own_source(place, data)
    if not isinstance(data, Array):
        data = data if hasattr(data, "shape") and hasattr(data, "dtype") else np.asarray(data)
        zarr_format = default_format(zarr_format)
        arguments = _unkept(chunks, shards, filters, compressors, serializer)
        if _keeps(chunks):
            arguments["chunks"] = like_arguments(data, None).get("chunks", "auto")
        dtype = data.dtype
    else:
        metadata = _kept_metadata(data, zarr_format)
        zarr_format = max(2, metadata.zarr_format) if zarr_format is None else default_format(zarr_format)
        arguments = _kept(metadata, zarr_format, chunks, shards, filters, compressors, serializer)
        dtype = metadata.zdtype if zarr_format == metadata.zarr_format else _portable(data)
        fill_value = metadata.fill_value if fill_value is ... else fill_value
        attributes = dict(data.attrs) if attributes is None else attributes
        if zarr_format == metadata.zarr_format:
            if zarr_format == 3 and dimension_names is None:
                dimension_names = metadata.dimension_names
            if chunk_key_encoding is None and data.metadata is metadata:
                chunk_key_encoding = metadata.key_encoding
            if zarr_format == 2 and order is None:
                order = data.order
    return create_array_at(
        place,
        shape=tuple(data.shape),
        dtype=dtype,
        fill_value=fill_value,
        order=order,
        zarr_format=zarr_format,
        attributes=attributes,
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        overwrite=overwrite,
        config=config,
        values=data if write_data else None,
        threads=threads,
        progress=progress,
        **arguments,
    )


def _kept_metadata(array: Array, zarr_format: int | None) -> ArrayMetadata:
    """The metadata from which a copy in a format takes what it keeps.

    What an array of an older format says is said in format 3, where that is possible, so that the chunks can
    be copied as they are.  Blocks of N5 become plain chunks.
    """
    metadata = array.metadata
    if metadata.zarr_format == 3:
        from zarrcore.metadata.n5 import without_blocks

        return without_blocks(metadata)  # type: ignore[arg-type]
    if zarr_format == 2 or (zarr_format is None and metadata.zarr_format == 2):
        return metadata
    from zarrcore.metadata.upgrade import upgraded

    try:
        return upgraded(metadata)  # type: ignore[arg-type]
    except (BaseZarrError, TypeError):
        return metadata


def _portable(array: Array) -> Any:
    """The data type of an array for another Zarr format."""
    return array.metadata.zdtype if array.dtype.kind in "OTV" else array.dtype


def _keeps(value: Any) -> bool:
    return isinstance(value, str) and value == "keep"


def _unkept(chunks: Any, shards: Any, filters: Any, compressors: Any, serializer: Any) -> dict[str, Any]:
    """Arguments where there is nothing to keep."""
    return {
        "chunks": "auto" if _keeps(chunks) else chunks,
        "shards": None if _keeps(shards) else shards,
        "filters": "auto" if _keeps(filters) else filters,
        "compressors": "auto" if _keeps(compressors) else compressors,
        "serializer": "auto" if _keeps(serializer) else serializer,
    }


def _kept(
    metadata: ArrayMetadata,
    zarr_format: int,
    chunks: Any,
    shards: Any,
    filters: Any,
    compressors: Any,
    serializer: Any,
) -> dict[str, Any]:
    """Arguments with what is kept of another array."""
    arguments = _unkept(chunks, shards, filters, compressors, serializer)
    inner = inner_chunks(metadata)
    if _keeps(chunks):
        arguments["chunks"] = inner or grid_edges(metadata)
    if _keeps(shards) and inner is not None and zarr_format == 3:
        arguments["shards"] = grid_edges(metadata)
    if zarr_format == metadata.zarr_format:
        kept = dict(zip(("filters", "serializer", "compressors"), codecs_of(metadata), strict=True))
        given = {"filters": filters, "serializer": serializer, "compressors": compressors}
        for name, value in given.items():
            if _keeps(value) and kept[name] is not None:
                arguments[name] = kept[name]
    return arguments
