"""Making arrays: from the arguments that users give to metadata, and from metadata to a stored array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore.arrays.access import put
from zarrcore.arrays.chunking import resolve_layout
from zarrcore.arrays.chunks import can_list, parse_shape, stored_chunks
from zarrcore.arrays.config import ArrayConfig, parse_array_config
from zarrcore.arrays.copying import copy_values
from zarrcore.arrays.opened import OpenArray, note_loss, opened
from zarrcore.arrays.options import ArrayOptions, complete
from zarrcore.arrays.trial import refuse_unusable_codecs
from zarrcore.codecs.chain import parse_codec
from zarrcore.config import config as settings
from zarrcore.dtypes import dtype_from_v2, parse_dtype
from zarrcore.engine.build import note_shape
from zarrcore.nodes.create import create_node, new_node
from zarrcore.registry import registrations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zarrcore._typing import Overwrite
    from zarrcore.arrays.copying import Progress
    from zarrcore.arrays.description import ArrayDescription
    from zarrcore.dtypes import ZDType
    from zarrcore.grids import ChunkGrid
    from zarrcore.keys import ChunkKeyEncoding
    from zarrcore.metadata import ArrayMetadata
    from zarrcore.storage import StorePath


def default_format(zarr_format: int | None) -> int:
    """Return the Zarr format to create nodes in."""
    chosen = settings.get("default_zarr_format") if zarr_format is None else zarr_format
    if chosen not in (2, 3):
        raise ValueError(f"zarr_format: expected 2 or 3, got {chosen!r}")
    return int(chosen)


def is_auto(value: Any) -> bool:
    """True for the string that asks for a default."""
    return isinstance(value, str) and value == "auto"


# --- metadata ---


def make_metadata(
    *,
    zarr_format: int,
    shape: tuple[int, ...],
    zdtype: ZDType,
    chunks: Sequence[Any] | ChunkGrid,
    codecs: Sequence[Any] = (),
    filters: Sequence[Any] = (),
    compressor: Any = None,
    fill_value: Any = ...,
    order: str = "C",
    separator: str = ".",
    chunk_key_encoding: Any = None,
    storage_transformers: Iterable[Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    dimension_names: Iterable[str | None] | None = None,
) -> ArrayMetadata:
    """Array metadata of either format."""
    if fill_value is ... or (fill_value is None and zarr_format == 3):
        fill_value = zdtype.default_scalar()
    if zarr_format == 2:
        from zarrcore.metadata import ArrayV2Metadata

        return ArrayV2Metadata(
            shape=shape,
            chunks=tuple(chunks),  # type: ignore[arg-type]  # format 2 arrays have no other grids
            dtype=zdtype,
            fill_value=fill_value,
            order=order,
            filters=tuple(filters) or None,
            compressor=compressor,
            dimension_separator=separator,
            attributes=attributes,  # type: ignore[arg-type]  # the class takes None too
        )
    from zarrcore.metadata import ArrayV3Metadata

    return ArrayV3Metadata(
        shape=shape,
        data_type=zdtype,
        chunk_grid=_grid(chunks),
        chunk_key_encoding=_key_encoding(chunk_key_encoding),
        fill_value=fill_value,
        codecs=tuple(codecs),
        storage_transformers=tuple(storage_transformers or ()),
        attributes=attributes,  # type: ignore[arg-type]  # the same
        dimension_names=None if dimension_names is None else tuple(dimension_names),
    )


def _grid(chunks: Sequence[Any] | ChunkGrid) -> ChunkGrid:
    from zarrcore.grids import ChunkGrid, RectilinearGrid, RegularGrid

    if isinstance(chunks, ChunkGrid):
        return chunks
    regular = all(isinstance(chunk, int) for chunk in chunks)
    return RegularGrid(tuple(chunks)) if regular else RectilinearGrid(tuple(chunks))


def chunk_layout(
    shape: tuple[int, ...], zdtype: ZDType, chunks: Any, shards: Any, chunk_grid: Any
) -> tuple[Any, tuple[int, ...] | None]:
    """Return the lengths of chunks, or a grid that users bring, and the shape of inner chunks or None.

    A copy that keeps such a grid hands it on as `chunks`.
    """
    from zarrcore.grids import ChunkGrid, parse_chunk_grid

    if chunk_grid is None and not isinstance(chunks, ChunkGrid):
        target = settings.get("array.target_shard_size_bytes", None)
        return resolve_layout(shape, zdtype.item_size or 1, chunks, shards, target_shard_bytes=target)
    if chunk_grid is not None and chunks is not None and not is_auto(chunks):
        raise ValueError(f"give either chunks or chunk_grid, not both: got {chunks!r} and {chunk_grid!r}")
    if shards is not None:
        raise ValueError(
            "shards: with a chunk_grid, whose chunks are the shards, give ShardingCodec(...) as the "
            f"serializer, got {shards!r}"
        )
    return parse_chunk_grid(chunks if chunk_grid is None else chunk_grid), None


def _key_encoding(value: Any) -> ChunkKeyEncoding:
    """Return a chunk key encoding from an instance, an extension object or zarr-python's short forms."""
    from zarrcore.keys import DefaultChunkKeyEncoding, parse_chunk_key_encoding

    if value is None:
        return DefaultChunkKeyEncoding()
    if isinstance(value, tuple):
        value = {"name": value[0], "configuration": {"separator": value[1]}}
    elif isinstance(value, Mapping) and "separator" in value:
        value = {"name": value["name"], "configuration": {"separator": value["separator"]}}
    return parse_chunk_key_encoding(value)


def _separator(value: Any) -> str:
    """Return the dimension separator of a format 2 array from a chunk key encoding."""
    if value is None:
        return "."
    encoding = _key_encoding(value)
    if encoding.name != "v2":
        raise ValueError(f"chunk_key_encoding: format 2 arrays know only 'v2', got {encoding.name!r}")
    return encoding.separator  # type: ignore[attr-defined,no-any-return]


# --- codecs ---


def _codec_list(value: Any) -> list[Any]:
    """None, one codec or several, as a list."""
    if value is None:
        return []
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def codecs_v3(zdtype: ZDType, filters: Any, serializer: Any, compressors: Any) -> list[Any]:
    """Return all codecs of a format 3 array from the three groups that users give."""
    arrays = [] if is_auto(filters) else _codec_list(filters)
    if is_auto(compressors):
        compressed: list[Any] = [_default_compressor(registrations())]
    else:
        compressed = _codec_list(compressors)
    return [*arrays, _serializer(zdtype) if is_auto(serializer) else serializer, *compressed]


@lru_cache(maxsize=1)
def _default_compressor(registrations: int) -> Any:
    """Return the codec of arrays that name none; the answer is good as long as nothing more is registered."""
    return parse_codec({"name": "zstd", "configuration": {"level": 0, "checksum": False}})


def _serializer(zdtype: ZDType) -> Any:
    codec_id = getattr(zdtype, "object_codec_id", None)
    if codec_id is not None:
        return {"name": codec_id}
    from zarrcore.codecs import BytesCodec

    return BytesCodec()


def v2_config(codec: Any) -> Any:
    """Return the JSON object of a format 2 codec, whatever stands for it."""
    if codec is None or isinstance(codec, Mapping):
        return codec
    if hasattr(codec, "get_config"):
        return codec.get_config()
    raise TypeError(f"format 2 arrays take codecs with an id (numcodecs or a dictionary), got {codec!r}")


def filters_v2(zdtype: ZDType, filters: Any) -> list[Any]:
    """Filters of a format 2 array; variable-length data needs its object codec."""
    given = [] if is_auto(filters) else [v2_config(item) for item in _codec_list(filters)]
    codec_id = getattr(zdtype, "object_codec_id", None)
    if not given and codec_id is not None:
        return [{"id": codec_id}]
    return given


def compressor_v2(compressors: Any) -> Any:
    """Return the single compressor of a format 2 array."""
    if is_auto(compressors):
        return {"id": "zstd", "level": 0, "checksum": False}
    items = _codec_list(compressors)
    if len(items) > 1:
        raise TypeError(f"format 2 arrays have a single compressor, got {len(items)}")
    return v2_config(items[0]) if items else None


def data_type(dtype: Any, zarr_format: int, filters: Any, object_codec: Any = None) -> ZDType:
    """Return the data type; that of ``object`` in format 2 depends on the object codec among the filters."""
    if zarr_format == 2 and _is_object(dtype):
        configs = [v2_config(item) for item in ([] if is_auto(filters) else _codec_list(filters))]
        if object_codec is not None:
            configs.append(v2_config(object_codec))
        for config in configs:
            if config is not None and "id" in config:
                return dtype_from_v2("|O", config["id"])
    return parse_dtype(dtype, zarr_format=zarr_format)  # type: ignore[arg-type]


def _is_object(dtype: Any) -> bool:
    if dtype is object:
        return True
    return isinstance(dtype, (str, np.dtype)) and dtype in ("O", "|O", "object", np.dtype(object))


# --- creating ---


def store_array(
    place: StorePath,
    metadata: ArrayMetadata,
    *,
    overwrite: Overwrite = False,
    config: Any = None,
    group: StorePath | None = None,
) -> OpenArray:
    """Store a new array without chunks; `group` is as for :func:`zarrcore.nodes.create.create_node`."""
    parsed = parse_array_config(config)
    refuse_unusable_codecs(metadata)
    create_node(place, metadata, overwrite=overwrite, group=group)
    note_shape(metadata, place, created=True)
    if overwrite:
        note_loss(place)
    return OpenArray(metadata, place, parsed)


def _described(data: Any, shape: Any, dtype: Any) -> tuple[Any, tuple[int, ...], Any]:
    """Return data, shape and data type; data excludes the other two."""
    if data is None:
        if shape is None or dtype is None:
            raise ValueError("without data, both shape and dtype are needed")
        return None, parse_shape(shape), dtype
    if shape is not None or dtype is not None:
        raise ValueError("data brings its own shape and dtype; give either data or shape and dtype")
    data = opened(data)
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    return data, tuple(data.shape), data.dtype


def create_array_at(
    place: StorePath,
    options: ArrayOptions,
    *,
    zarr_format: int | None,
    compressor: Any = "auto",
    values: Any = None,
    threads: int = 0,
    progress: Progress | None = None,
    group: StorePath | None = None,
) -> OpenArray:
    """Create an array; the options are those of :func:`zarrcore.create_array`.

    `values` is for those who give shape and data type as well, unlike `data`; `group` is a group above the
    place that has been read; `compressor` is another way to give one of the `compressors`.
    """
    zarr_format = default_format(zarr_format)
    options = complete(ArrayOptions, options)
    if not is_auto(compressor):
        if not is_auto(options["compressors"]):
            raise ValueError("give either compressor or compressors, not both")
        options["compressors"] = () if compressor is None else (compressor,)
    data, options["shape"], options["dtype"] = _described(options["data"], options["shape"], options["dtype"])
    config = with_order(parse_array_config(options["config"]), options["order"])
    metadata = _metadata(zarr_format, config.order, options)
    overwrite = options["overwrite"]
    if overwrite:
        refuse_own_source(place, data)
    values = data if options["write_data"] and values is None else values
    if values is None:
        return store_array(place, metadata, overwrite=overwrite, config=config, group=group)
    return store_with_values(
        place, metadata, values, overwrite=overwrite, config=config, threads=threads, progress=progress
    )


def _metadata(zarr_format: int, order: str, options: ArrayOptions) -> ArrayMetadata:
    """Array metadata from options that are complete."""
    zdtype = data_type(options["dtype"], zarr_format, options["filters"])
    shape = parse_shape(options["shape"])
    grid, inner = chunk_layout(shape, zdtype, options["chunks"], options["shards"], options["chunk_grid"])
    common: dict[str, Any] = {
        "shape": shape,
        "zdtype": zdtype,
        "chunks": grid,
        "fill_value": options["fill_value"],
        "attributes": options["attributes"],
    }
    if zarr_format == 2:
        _refuse_in_format_2(grid, inner, options)
        return make_metadata(
            zarr_format=2,
            filters=filters_v2(zdtype, options["filters"]),
            compressor=compressor_v2(options["compressors"]),
            order=order,
            separator=_separator(options["chunk_key_encoding"]),
            **common,
        )
    codecs = codecs_v3(zdtype, options["filters"], options["serializer"], options["compressors"])
    return make_metadata(
        zarr_format=3,
        codecs=codecs if inner is None else [_sharded(inner, codecs, options["shards"])],
        chunk_key_encoding=options["chunk_key_encoding"],
        storage_transformers=options["storage_transformers"],
        dimension_names=options["dimension_names"],
        **common,
    )


def _refuse_in_format_2(grid: Any, inner: tuple[int, ...] | None, options: ArrayOptions) -> None:
    for name, value, absent in (
        ("shards", None if inner is None else options["shards"], None),
        ("chunk_grid", options["chunk_grid"], None),
        ("dimension_names", options["dimension_names"], None),
        ("storage_transformers", options["storage_transformers"], None),
        ("serializer", options["serializer"], "auto"),
    ):
        if value is not absent and value != absent:
            raise ValueError(f"{name}: format 2 arrays have none, got {value!r}")
    if not isinstance(grid, tuple) or not all(isinstance(length, int) for length in grid):
        raise ValueError("chunks: format 2 arrays have chunks of one shape only")


def store_with_values(
    place: StorePath,
    metadata: ArrayMetadata,
    data: Any,
    *,
    overwrite: Overwrite,
    config: ArrayConfig,
    threads: int = 0,
    progress: Progress | None = None,
) -> OpenArray:
    """Store a new array with the values of `data`; it is there as soon as all of them are."""
    with new_node(place, metadata, overwrite=overwrite) as is_new:
        note_shape(metadata, place, created=True)
        if overwrite:
            note_loss(place)
        array = OpenArray(metadata, place, config)
        if not is_new and can_list(array):  # what a killed writer left is not part of the new array
            for _, key in list(stored_chunks(array)):
                place.store.delete(key)
        if isinstance(data, np.ndarray) or getattr(data, "shape", None) != array.shape:
            put(array, indexing.basic_selection(..., array.shape), data, None, threads)
        else:
            copy_values(data, array, threads=threads, progress=progress)
    return array


def with_order(config: ArrayConfig, order: Any) -> ArrayConfig:
    """Run-time settings with another memory layout, if one is given."""
    from dataclasses import replace

    return config if order is None else replace(config, order=order)


def _sharded(inner: tuple[int, ...], codecs: list[Any], shards: Any) -> Any:
    from zarrcore.codecs import ShardingCodec

    options = (
        {"index_location": shards["index_location"]}
        if isinstance(shards, dict) and "index_location" in shards
        else {}
    )
    return ShardingCodec(chunk_shape=inner, codecs=tuple(codecs), **options)


def check_required(array: ArrayDescription, shape: Any, dtype: Any, *, exact: bool) -> None:
    """Refuse an existing array whose shape or data type is not the one that is required."""
    wanted = parse_shape(shape)
    if array.shape != wanted:
        raise TypeError(f"array {array.path!r}: expected shape {wanted}, found {array.shape}")
    target = parse_dtype(dtype, zarr_format=array.metadata.zarr_format).to_native_dtype()  # type: ignore[arg-type]
    fits = array.dtype == target if exact else np.can_cast(array.dtype, target)
    if not fits:
        raise TypeError(f"array {array.path!r}: expected data type {target}, found {array.dtype}")


def check_described(array: ArrayDescription, shape: Any, dtype: Any) -> None:
    """Refuse an existing array whose shape or data type is not the given one, if one is given.

    Raises
    ------
    TypeError
        If it has another; byte orders count as the same.
    """
    if shape is not None and array.shape != parse_shape(shape):
        raise TypeError(
            f"array {array.name!r} exists: expected shape {parse_shape(shape)}, found {array.shape}"
        )
    if dtype is None:
        return
    target = data_type(dtype, array.metadata.zarr_format, None).to_native_dtype()
    if array.dtype.newbyteorder("=") != target.newbyteorder("="):
        raise TypeError(f"array {array.name!r} exists: expected data type {target}, found {array.dtype}")


def refuse_own_source(place: StorePath, data: Any) -> None:
    """Refuse to remove what is at a place while values are still to be read from there.

    Raises
    ------
    ValueError
        If `data` is an array at the place, below it, or above it.
    """
    data = opened(data)
    if isinstance(data, OpenArray) and data.store_path._overlaps(place):
        raise ValueError(
            f"cannot overwrite {place} with values of {data.store_path}, which would be removed first: "
            "write to another path, or read the values before (data=array[...])"
        )
