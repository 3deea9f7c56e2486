"""Making arrays like others: what a new array takes over from one that is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from zarrcore.arrays.creation import NewArray, as_source, create_new, default_format, new_array
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.options import KeepOptions, complete
from zarrcore.arrays.sources import attributes_of, kept_options
from zarrcore.errors import BaseZarrError
from zarrcore.metadata.layout import codecs_of, grid_edges, inner_chunks
from zarrcore.progress import Progress
from zarrcore.storage.path import StorePath

if TYPE_CHECKING:
    from zarrcore.metadata import ArrayMetadata


_LAYOUT = ("chunks", "shards", "filters", "compressors", "serializer")


def like_arguments(
    data: Any, zarr_format: int | None, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return arguments of :func:`zarrcore.create` for an array like `data`, where others are not `given`.

    Codecs and memory order of an array are taken over if the new one has the same Zarr format.
    """
    data = as_source(data)
    arguments: dict[str, Any] = {"shape": tuple(data.shape)}
    if isinstance(data, OpenArray):
        _like_array(data, zarr_format, arguments)
    else:
        kept = kept_options(data, 2)[1]
        arguments.update({name: kept[name] for name in ("dtype", "chunks", "fill_value") if name in kept})
    if zarr_format is not None:
        arguments["zarr_format"] = zarr_format
    if given and given.get("chunk_grid") is not None:
        arguments.pop("chunks", None)
    return {**arguments, **(given or {})}


def _like_array(array: OpenArray, zarr_format: int | None, arguments: dict[str, Any]) -> None:
    metadata = array.metadata
    same = zarr_format in (None, metadata.zarr_format)
    arguments["zarr_format"] = metadata.zarr_format
    arguments["dtype"] = metadata.data_type if same else _portable(array)
    arguments["fill_value"] = array.fill_value
    if same and metadata.zarr_format == 3:
        arguments.update(chunks=_kept_grid(metadata), codecs=metadata.codecs)
        arguments["storage_transformers"] = _kept_transformers(metadata)
        return
    arguments["chunks"] = inner_chunks(metadata) or grid_edges(metadata)
    if same:
        arguments.update(order=array.order, compressor=array.compressor, filters=array.filters or None)


def _kept_grid(metadata: ArrayMetadata) -> Any:
    """Return the lengths of chunks, or another grid, which may be more than its lengths."""
    from zarrcore.grids import RectilinearGrid, RegularGrid

    known = type(metadata.chunk_grid) in (RegularGrid, RectilinearGrid)
    return grid_edges(metadata) if known else metadata.chunk_grid


def _kept_transformers(metadata: ArrayMetadata) -> tuple[Any, ...]:
    """Return the storage transformers that apply to what this process writes."""
    transformers: tuple[Any, ...] = metadata.storage_transformers
    if not transformers:
        return ()
    from zarrcore.transformers import IgnoredTransformer

    return tuple(item for item in transformers if not isinstance(item, IgnoredTransformer))


def from_array_at(
    place: StorePath,
    *,
    data: Any,
    zarr_format: int | None = None,
    threads: int = 0,
    progress: Progress | None = None,
    **given: Unpack[KeepOptions],
) -> OpenArray:
    """Create an array from another; the options are those of :func:`zarrcore.from_array`."""
    new = array_from(data, zarr_format, **given)
    return create_new(place, new, threads=threads, progress=progress)


def array_from(data: Any, zarr_format: int | None = None, **given: Unpack[KeepOptions]) -> NewArray:
    """Return what :func:`from_array_at` is going to store."""
    if isinstance(data, str | os.PathLike):  # as values it would be an array of one text
        raise TypeError(
            f"from_array: data: expected an array, got the path {data!r}: open it with open_array"
        )
    data = as_source(data)
    options: Any = complete(KeepOptions, given)
    if isinstance(data, OpenArray):
        zarr_format = _keep(data, zarr_format, options)
    else:
        zarr_format = default_format(zarr_format)
        data = _keep_of_others(data, zarr_format, options)
    for name in _LAYOUT:
        if _keeps(options[name]):  # where there is nothing to keep
            options[name] = None if name == "shards" else "auto"
    options["shape"] = tuple(data.shape)
    return new_array(options, zarr_format=zarr_format, values=data)


def _keep_of_others(data: Any, zarr_format: int, options: dict[str, Any]) -> Any:
    """Put what a new array keeps of one of another library in place of the options; returns its values."""
    values, kept = kept_options(data, zarr_format)
    if options["attributes"] is None:
        options["attributes"] = attributes_of(data, zarr_format)
    if options["chunk_grid"] is not None or not _keeps(options["chunks"]):
        kept = {name: value for name, value in kept.items() if name not in ("chunks", "shards")}
    for name, value in kept.items():
        given = options.get(name)
        if given is None or given is ... or _keeps(given):
            options[name] = value
    return values


def _keep(array: OpenArray, zarr_format: int | None, options: dict[str, Any]) -> int:
    """Put what a new array keeps of another one in place of the options; returns the new one's format."""
    metadata = _kept_metadata(array, zarr_format)
    zarr_format = max(2, metadata.zarr_format) if zarr_format is None else default_format(zarr_format)
    same = zarr_format == metadata.zarr_format
    _keep_layout(metadata, zarr_format, options)
    options["dtype"] = metadata.data_type if same else _portable(array)
    if options["fill_value"] is ...:
        options["fill_value"] = metadata.fill_value
    if options["attributes"] is None:
        options["attributes"] = dict(array.metadata.attributes)
    if same and zarr_format == 3 and options["dimension_names"] is None:
        options["dimension_names"] = metadata.dimension_names
    if same and zarr_format == 3 and options["storage_transformers"] is None:
        options["storage_transformers"] = _kept_transformers(metadata)
    if same and options["chunk_key_encoding"] is None and array.metadata is metadata:
        options["chunk_key_encoding"] = metadata.chunk_key_encoding
    if same and zarr_format == 2 and options["order"] is None:
        options["order"] = array.order
    return zarr_format


def _kept_metadata(array: OpenArray, zarr_format: int | None) -> ArrayMetadata:
    """Return the metadata, in a format, whose members a copy keeps.

    Metadata of an older format are converted to format 3, where that is possible, so that the chunks can
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


def _portable(array: OpenArray) -> Any:
    """Return the data type of an array for another Zarr format."""
    return array.metadata.data_type if array.dtype.kind in "OTV" else array.dtype


def _keeps(value: Any) -> bool:
    return isinstance(value, str) and value == "keep"


def _keep_layout(metadata: ArrayMetadata, zarr_format: int, options: dict[str, Any]) -> None:
    """Put chunks, shards and codecs of another array in place of the options, where these keep them."""
    inner = inner_chunks(metadata)
    if options["chunk_grid"] is None:
        if _keeps(options["chunks"]):
            sharded = inner is not None or not (options["shards"] is None or _keeps(options["shards"]))
            plain = zarr_format == 3 and not sharded
            options["chunks"] = _kept_grid(metadata) if plain else inner or grid_edges(metadata)
        if _keeps(options["shards"]) and inner is not None and zarr_format == 3:
            options["shards"] = _kept_grid(metadata)
    if zarr_format == metadata.zarr_format:
        names = ("filters", "serializer", "compressors")
        for name, kept in zip(names, codecs_of(metadata), strict=True):
            if _keeps(options[name]) and kept is not None:
                options[name] = kept
