"""Making arrays: from the arguments that users give to metadata, and from metadata to a stored array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import indexing
from zarrcore._typed import NamedTuple
from zarrcore._typing import Overwrite
from zarrcore._validate import at
from zarrcore.arrays.access import check_objects, store_values
from zarrcore.arrays.chunking import normalize_chunks, resolve_layout
from zarrcore.arrays.chunks import can_list, parse_shape, stored_chunks
from zarrcore.arrays.config import ArrayConfig, parse_array_config
from zarrcore.arrays.copying import copy_values
from zarrcore.arrays.description import ArrayDescription
from zarrcore.arrays.opened import OpenArray, document_noticed
from zarrcore.arrays.options import ArrayOptions, complete
from zarrcore.arrays.sources import places_within
from zarrcore.arrays.trial import refuse_misread_codecs, refuse_unusable_codecs, warn_of_unknown_codecs
from zarrcore.arrays.values import as_values, broadcast_values
from zarrcore.codecs.chain import parse_codec
from zarrcore.config import config as settings
from zarrcore.dtypes import ZDType, dtype_from_v2, parse_dtype
from zarrcore.engine.build import note_shape
from zarrcore.errors import MetadataValidationError, UnknownCodecError, given
from zarrcore.metadata import known
from zarrcore.node import state_of
from zarrcore.nodes.create import create_node, new_node
from zarrcore.nodes.reading import writing as storing
from zarrcore.progress import Progress, reporting
from zarrcore.registry import codec_registry, registrations
from zarrcore.storage.path import StorePath

if TYPE_CHECKING:
    from zarrcore.grids import ChunkGrid
    from zarrcore.keys import ChunkKeyEncoding
    from zarrcore.metadata import ArrayMetadata


def default_format(zarr_format: int | None) -> int:
    """Return the Zarr format to create nodes in."""
    chosen = settings.get("default_zarr_format") if zarr_format is None else zarr_format
    if chosen not in (2, 3):
        raise ValueError(f"zarr_format: expected 2 or 3, got {given(chosen)}")
    return int(chosen)


def is_auto(value: Any) -> bool:
    """True for the string that asks for a default."""
    return isinstance(value, str) and value == "auto"


# --- metadata ---


def _metadata(zarr_format: int, order: str, options: ArrayOptions, codecs: Any) -> ArrayMetadata:
    """Return array metadata from options that are complete; `codecs` in place of three of them."""
    from zarrcore import metadata as kinds  # each is loaded where there is one

    kind: Any = kinds.ArrayV2Metadata if zarr_format == 2 else kinds.ArrayV3Metadata
    own: dict[str, Any] = {"shape": options["shape"], "attributes": options["attributes"], "extra_fields": {}}
    if zarr_format == 3:
        names = options["dimension_names"]
        own["dimension_names"] = None if names is None else tuple(names)
        own["storage_transformers"] = tuple(codec_list(options["storage_transformers"]))
    key = _key_of(zarr_format, order, options) if codecs is None else None
    storage, _ = known.find(key)
    if storage is not None:
        return kind.of_kept(storage, own)  # type: ignore[no-any-return]
    make = _storage_v2 if zarr_format == 2 else _storage_v3
    metadata: ArrayMetadata = kind(**make(order, options, codecs), **own)
    if metadata._can_be_kept:
        known.keep(key, metadata, kind._storage_members, [])
    return metadata


def _key_of(zarr_format: int, order: str, options: ArrayOptions) -> Any:
    """Return a key of what arguments say about how chunks are stored; None if objects are among them."""
    dtype: Any = options["dtype"]
    if isinstance(dtype, (type, np.dtype)):
        dtype = _NUMBERS.get(dtype)
    members = [dtype, *_storage_of(options)]
    try:
        if dtype is None or not _is_plain(members):
            return None
    except RecursionError:  # they are refused for that where they are parsed
        return None
    target = settings.get("array.target_shard_size_bytes", None)
    return known.key_of({"options": [zarr_format, order, target, members]}, ("options",))


_OTHERS = {"data", "write_data", "overwrite", "dtype", "order", "attributes", "config"}
_STORAGE = sorted(ArrayOptions.__annotations__.keys() - _OTHERS)
_storage_of = itemgetter(*_STORAGE)
_PLAIN = {str, int, float, bool, type(None), type(...)}
_NUMBERS: dict[Any, tuple[str, str]] = {kind: ("numpy", kind.str) for kind in map(np.dtype, "?bBhHiIqQefdFD")}
_NUMBERS |= {kind.type: key for kind, key in _NUMBERS.items()}


def _is_plain(value: Any) -> bool:
    """Return whether a value consists of Python's own values, and so has a key."""
    kind = type(value)
    if kind not in (tuple, list, dict):
        return kind in _PLAIN
    for item in [*value, *value.values()] if kind is dict else value:
        if type(item) not in _PLAIN and not _is_plain(item):  # a call for each would take twice as long
            return False
    return True


def _storage_v2(order: str, options: ArrayOptions, codecs: Any) -> dict[str, Any]:
    """Return the members of metadata of format 2 that say how chunks are stored."""
    zdtype = _data_type(options["dtype"], 2, options["filters"])
    grid, inner = _layout(zdtype, options)
    _refuse_in_format_2(grid, inner, options)
    return {
        "chunks": tuple(grid),
        "dtype": zdtype,
        "fill_value": zdtype.default_scalar() if options["fill_value"] is ... else options["fill_value"],
        "order": order,
        "filters": tuple(_filters_v2(zdtype, options["filters"])) or None,
        "compressor": _compressor_v2(options["compressors"]),
        "dimension_separator": _separator(options["chunk_key_encoding"]),
    }


def _storage_v3(order: str, options: ArrayOptions, codecs: Any) -> dict[str, Any]:
    """Return the members of metadata of format 3 that say how chunks are stored."""
    zdtype = _data_type(options["dtype"], 3, options["filters"])
    grid, inner = _layout(zdtype, options)
    fill_value = options["fill_value"]
    if codecs is None:
        codecs = _codecs_v3(zdtype, options["filters"], options["serializer"], options["compressors"])
    return {
        "data_type": zdtype,
        "chunk_grid": _grid(grid),
        "chunk_key_encoding": _key_encoding(options["chunk_key_encoding"]),
        "fill_value": zdtype.default_scalar() if fill_value is ... or fill_value is None else fill_value,
        "codecs": tuple(codecs) if inner is None else (_sharded(inner, codecs, options["shards"]),),
    }


def _refuse_in_format_2(grid: Any, inner: tuple[int, ...] | None, options: ArrayOptions) -> None:
    for name, value, absent in (
        ("shards", None if inner is None else options["shards"], None),
        ("chunk_grid", options["chunk_grid"], None),
        ("dimension_names", options["dimension_names"], None),
        ("storage_transformers", options["storage_transformers"], None),
        ("serializer", options["serializer"], "auto"),
    ):
        if value is not absent and value != absent:
            raise ValueError(f"{name}: format 2 arrays have none, got {given(value)}")
    if not isinstance(grid, tuple) or not all(isinstance(length, int) for length in grid):
        raise ValueError("chunks: format 2 arrays have chunks of one shape only")


def _layout(zdtype: ZDType, options: ArrayOptions) -> tuple[Any, tuple[int, ...] | None]:
    """Return the lengths of chunks, or a grid that users bring, and the shape of inner chunks or None.

    A copy that keeps such a grid hands it on as `chunks`.
    """
    from zarrcore.grids import ChunkGrid, parse_chunk_grid

    shape: Any = options["shape"]
    chunks: Any = options["chunks"]
    shards, chunk_grid = options["shards"], options["chunk_grid"]
    if chunk_grid is not None:
        if chunks is not None and not is_auto(chunks):
            raise ValueError(
                f"give either chunks or chunk_grid, not both: got {given(chunks)} and {given(chunk_grid)}"
            )
        if shards is not None:
            raise ValueError(
                "shards: with a chunk_grid, whose chunks are the shards, give ShardingCodec(...) as the "
                f"serializer, got {given(shards)}"
            )
        with at("chunk_grid"):
            return parse_chunk_grid(chunk_grid), None
    if isinstance(chunks, ChunkGrid):
        return chunks, None
    if isinstance(shards, ChunkGrid):
        return shards, normalize_chunks(chunks, shape)
    target = settings.get("array.target_shard_size_bytes", None)
    return resolve_layout(shape, zdtype.item_size or 1, chunks, shards, target_shard_bytes=target)


def _grid(chunks: Sequence[Any] | ChunkGrid) -> ChunkGrid:
    from zarrcore.grids import ChunkGrid, RectilinearGrid, RegularGrid

    if isinstance(chunks, ChunkGrid):
        return chunks
    regular = all(isinstance(chunk, int) for chunk in chunks)
    return RegularGrid(tuple(chunks)) if regular else RectilinearGrid(tuple(chunks))


def _key_encoding(value: Any) -> ChunkKeyEncoding:
    """Return a chunk key encoding from an instance, an extension object or zarr-python's short forms."""
    from zarrcore.keys import DefaultChunkKeyEncoding, parse_chunk_key_encoding

    if value is None:
        return DefaultChunkKeyEncoding()
    if isinstance(value, tuple) and len(value) == 2:
        value = {"name": value[0], "configuration": {"separator": value[1]}}
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


def codec_list(value: Any) -> list[Any]:
    """Return the codecs (or storage transformers) that are given: one or several, or none."""
    if value is None or is_auto(value):
        return []
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


_OPTIONS = {"array->array": "filters", "array->bytes": "serializer", "bytes->bytes": "compressors"}


def _codecs_v3(zdtype: ZDType, filters: Any, serializer: Any, compressors: Any) -> list[Any]:
    """Return all codecs of a format 3 array from the three groups that users give."""
    first = _of_kind("array->array", codec_list(filters))
    middle = [_serializer(zdtype)] if is_auto(serializer) else _of_kind("array->bytes", [serializer])
    if is_auto(compressors):
        return [*first, *middle, _default_compressor(registrations())]
    return [*first, *middle, *_of_kind("bytes->bytes", codec_list(compressors))]


def _of_kind(kind: str, given: list[Any]) -> list[Any]:
    """Return the codecs that users give for one group; refuse those of another group."""
    codecs = []
    for i, item in enumerate(given):
        name = item.get("name") if isinstance(item, Mapping) else item
        with at(_OPTIONS[kind] if kind == "array->bytes" else f"{_OPTIONS[kind]}[{i}]"):
            if isinstance(name, str) and name:
                if name in codec_registry:
                    _refuse_other_kind(kind, codec_registry.get(name), name)
                elif item is name or item.get("must_understand", True):
                    raise codec_registry.unknown(name, _names_of_kind(kind))
            codecs.append(parse_codec(item))
            _refuse_other_kind(kind, codecs[-1], getattr(codecs[-1], "name", name))
    return codecs


def _refuse_other_kind(kind: str, codec: Any, name: object) -> None:
    found = getattr(codec, "kind", kind)
    if found != kind and found in _OPTIONS:
        raise MetadataValidationError(
            f"expected {kind} codecs, got {name!r} ({found}), which belongs in {_OPTIONS[found]}="
        )


def _names_of_kind(kind: str) -> list[str]:
    """Return the names of all codecs of a kind that can be imported."""
    names = []
    for name in codec_registry:
        with suppress(UnknownCodecError):
            if codec_registry.get(name).kind == kind:
                names.append(name)
    return names


@lru_cache(maxsize=1)
def _default_compressor(registrations: int) -> Any:
    """Return the codec of arrays that name none; the answer is good as long as nothing more is registered."""
    return parse_codec({"name": "zstd", "configuration": {"level": 0, "checksum": False}})


@lru_cache(maxsize=1)
def _default_compressor_v2(registrations: int) -> Any:
    from zarrcore.codecs.v2 import parse_v2_codec

    return parse_v2_codec({"id": "zstd", "level": 0, "checksum": False})


def _serializer(zdtype: ZDType) -> Any:
    codec_id = getattr(zdtype, "object_codec_id", None)
    if codec_id is not None:
        return {"name": codec_id}
    if zdtype._serializer is not None:
        return codec_registry.get(zdtype._serializer)()
    from zarrcore.codecs import BytesCodec

    return BytesCodec()


def v2_config(codec: Any) -> Any:
    """Return the JSON object of a format 2 codec, whatever stands for it."""
    if isinstance(codec, str):
        return {"id": codec}
    if codec is None or isinstance(codec, Mapping):
        return codec
    if hasattr(codec, "get_config"):
        from zarrcore.codecs.by_id import config_of

        return config_of(codec)
    raise TypeError(f"format 2 arrays take codecs with an id (numcodecs or a dictionary), got {given(codec)}")


def _filters_v2(zdtype: ZDType, filters: Any) -> list[Any]:
    """Filters of a format 2 array; variable-length data needs its object codec."""
    given = [v2_config(item) for item in codec_list(filters)]
    codec_id = getattr(zdtype, "object_codec_id", None)
    return [{"id": codec_id}] if not given and codec_id is not None else given


def _compressor_v2(compressors: Any) -> Any:
    """Return the single compressor of a format 2 array."""
    if is_auto(compressors):
        return _default_compressor_v2(registrations())
    items = codec_list(compressors)
    if len(items) > 1:
        raise TypeError(f"format 2 arrays have a single compressor, got {len(items)}")
    return v2_config(items[0]) if items else None


def _data_type(dtype: Any, zarr_format: int, filters: Any) -> ZDType:
    """Return the data type; that of ``object`` in format 2 depends on the object codec among the filters."""
    if zarr_format == 2 and _is_object(dtype):
        for config in map(v2_config, codec_list(filters)):
            if config is not None and "id" in config:
                return dtype_from_v2("|O", config["id"])
    return parse_dtype(dtype, zarr_format=zarr_format)  # type: ignore[arg-type]


def _is_object(dtype: Any) -> bool:
    if dtype is object:
        return True
    return isinstance(dtype, (str, np.dtype)) and dtype in ("O", "|O", "object", np.dtype(object))


# --- creating ---


def _described(data: Any, shape: Any, dtype: Any) -> tuple[Any, tuple[int, ...], Any]:
    """Return data, shape and data type; data excludes the other two."""
    if data is None:
        if shape is None or dtype is None:
            raise ValueError("without data, both shape and dtype are needed")
        return None, parse_shape(shape), dtype
    if shape is not None or dtype is not None:
        raise ValueError("data brings its own shape and dtype; give either data or shape and dtype")
    data = as_source(data)
    return data, parse_shape(data.shape), data.dtype


def as_source(data: Any) -> Any:
    """Return the state of an array, or an array of another library; all else becomes one of NumPy."""
    if not hasattr(data, "shape") and (hasattr(data, "members") or hasattr(data, "items")):
        raise TypeError(
            f"data: expected an array, got {type(data).__name__}, which holds several: "
            "copy a group with copy_all, and store the items of others one by one"
        )
    data = state_of(data)
    is_array = hasattr(data, "shape") and isinstance(getattr(data, "dtype", None), np.dtype)
    return data if is_array else np.asarray(data)


class NewArray(NamedTuple):
    """An array that is going to be created: all that is known before anything is stored."""

    metadata: ArrayMetadata
    config: ArrayConfig
    values: Any
    write_data: bool
    overwrite: Overwrite


def new_array(
    options: ArrayOptions,
    *,
    zarr_format: int | None,
    compressor: Any = "auto",
    codecs: Any = None,
    values: Any = None,
) -> NewArray:
    """Return an array to be created; the options are those of :func:`zarrcore.create_array`.

    `values` is for those who give shape and data type as well, unlike `data`; `compressor` is another way to
    give one of the `compressors`, `codecs` one to give all codecs of format 3.
    """
    zarr_format = default_format(zarr_format)
    options = complete(ArrayOptions, options)
    if not is_auto(compressor):
        if not is_auto(options["compressors"]):
            raise ValueError("give either compressor or compressors, not both")
        options["compressors"] = () if compressor is None else (compressor,)
    data, options["shape"], options["dtype"] = _described(options["data"], options["shape"], options["dtype"])
    config = parse_array_config(options["config"])
    if options["order"] is not None:
        config = replace(config, order=options["order"])
    metadata = _metadata(zarr_format, config.order, options, codecs)
    values = data if values is None else values
    return NewArray(metadata, config, values, options["write_data"], options["overwrite"])


def create_array_at(
    place: StorePath, options: ArrayOptions, *, group: StorePath | None = None, **how: Any
) -> OpenArray:
    """Create an array; the parameters are those of :func:`new_array` and :func:`create_new`."""
    return create_new(place, new_array(options, **how), group=group)


def create_new(
    place: StorePath,
    new: NewArray,
    *,
    threads: int = 0,
    progress: Progress | None = None,
    group: StorePath | None = None,
) -> OpenArray:
    """Create an array with its values; `group` is a group above the place that has been read."""
    array = _created(place, new, threads=threads, progress=progress, group=group)
    array.seen = document_noticed(array.metadata, place)
    return array


def _created(
    place: StorePath, new: NewArray, *, threads: int, progress: Progress | None, group: StorePath | None
) -> OpenArray:
    metadata, config, values, write_data, overwrite = new
    if overwrite:
        refuse_own_source(place, values)
    refuse_misread_codecs(metadata)
    warn_of_unknown_codecs(metadata)
    if values is None or not write_data:
        refuse_unusable_codecs(metadata)
        create_node(place, metadata, overwrite=overwrite, group=group)
        return _stored(place, metadata, config)
    # An array of ours has had this shape; if it has another one by now, that is noticed at the end.
    by_regions = isinstance(state_of(values), OpenArray) or (
        not isinstance(values, np.ndarray) and getattr(values, "shape", None) == metadata.shape
    )
    if not by_regions:  # first: nothing is removed for values that do not fit
        selection = indexing.basic_selection(..., metadata.shape)
        values = as_values(values, metadata.np_dtype, ndim=metadata.ndim, any_text=True)
        values = broadcast_values(values, metadata.shape)
        if values.dtype.kind == "O":
            check_objects(OpenArray(metadata, place, config).with_shape_of(metadata), selection, values)
    with new_node(place, metadata, overwrite=overwrite, group=group) as is_new:
        array = _stored(place, metadata, config)
        if not is_new and can_list(array):  # what a killed writer left is not part of the new array
            for _, key in list(stored_chunks(array)):
                with storing(place, key):
                    place.store.delete(key)
        made = array.with_shape_of(metadata)  # it has no document to look at where others lose theirs
        if by_regions:
            with reporting(progress, "writing") as step:
                copy_values(values, made, threads=threads, progress=step)
        else:
            store_values(made, selection, values, threads)
    return array


def _stored(place: StorePath, metadata: ArrayMetadata, config: ArrayConfig) -> OpenArray:
    """Return the new array at a place."""
    note_shape(metadata, place, created=True)
    return OpenArray(metadata, place, config, documented=True)


def _sharded(inner: tuple[int, ...], codecs: Iterable[Any], shards: Any) -> Any:
    from zarrcore.codecs import ShardingCodec

    given = shards if isinstance(shards, dict) else {}
    options = {name: given[name] for name in ("index_location",) if name in given}
    return ShardingCodec(chunk_shape=inner, codecs=tuple(codecs), **options)


def check_existing(array: ArrayDescription, shape: Any, dtype: Any, *, exact: bool | None = None) -> None:
    """Refuse an existing array whose shape or data type is not the given one, if one is given.

    `exact`: it must have the very data type (True), one that can be cast to it safely (False), or that data
    type in any byte order (None).
    """
    if shape is not None and array.shape != parse_shape(shape):
        raise TypeError(
            f"array {array.name!r} exists: expected shape {parse_shape(shape)}, found {array.shape}"
        )
    if dtype is None:
        return
    target = _data_type(dtype, array.metadata.zarr_format, None).to_native_dtype()
    if exact is False:
        fits = np.can_cast(array.dtype, target)
    else:
        fits = array.dtype == target or (
            exact is None and array.dtype.newbyteorder("=") == target.newbyteorder("=")
        )
    if not fits:
        raise TypeError(f"array {array.name!r} exists: expected data type {target}, found {array.dtype}")


def refuse_own_source(place: StorePath, data: Any) -> None:
    """Refuse to remove what is at a place if `data` reads from an array there, below it, or above it."""
    for source in places_within(state_of(data)):
        if source._overlaps(place):
            raise ValueError(
                f"cannot overwrite {place} with values of {source}, which would be removed first: write to "
                "another path, or read the values before (array[...], or compute() of dask and xarray)"
            )
