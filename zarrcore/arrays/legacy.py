"""Creating arrays with the older arguments, those of :func:`zarrcore.create`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from zarrcore._typing import Overwrite
from zarrcore.arrays.config import parse_array_config
from zarrcore.arrays.creation import (
    as_source,
    codec_list,
    create_array_at,
    default_format,
    is_auto,
    v2_config,
)
from zarrcore.arrays.derived import from_array_at
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.options import ArrayOptions, LegacyOptions, complete
from zarrcore.arrays.sources import attributes_of, kept_options
from zarrcore.storage.path import StorePath

_FORMAT_2_ONLY = ("dimension_separator", "filters", "object_codec")
_FORMAT_3_ONLY = ("codecs", "chunk_grid", "chunk_key_encoding", "storage_transformers", "dimension_names")


def create_at(
    place: StorePath,
    shape: Any,
    *,
    zarr_format: int | None = None,
    overwrite: Overwrite = False,
    data: Any = None,
    **given: Unpack[LegacyOptions],
) -> OpenArray:
    """Create an array; the options are those of :func:`zarrcore.create`."""
    zarr_format = default_format(zarr_format)
    options: Any = complete(LegacyOptions, given)
    if options["chunks"] is not None and options["chunk_shape"] is not None:
        raise ValueError("give either chunks or chunk_shape, not both")
    _refuse_foreign(zarr_format, options)
    if options["write_empty_chunks"] is not None:
        config = parse_array_config(options["config"])
        options["config"] = replace(config, write_empty_chunks=options["write_empty_chunks"])
    if options["chunks"] is None:
        options["chunks"] = options["chunk_shape"]
    if options["dimension_separator"] is not None:
        options["chunk_key_encoding"] = ("v2", options["dimension_separator"])
    if zarr_format == 3:
        options["filters"] = "auto"
    elif options["object_codec"] is not None:
        first = v2_config(options["object_codec"])
        others = map(v2_config, codec_list(options["filters"]))
        options["filters"] = [first, *(config for config in others if config["id"] != first["id"])]
    options["dtype"] = "float64" if options["dtype"] is None else options["dtype"]
    known: Any = {name: value for name, value in options.items() if name in ArrayOptions.__annotations__}
    known.update(shape=shape, overwrite=overwrite)
    return create_array_at(
        place,
        known,
        zarr_format=zarr_format,
        compressor=options["compressor"],
        codecs=options["codecs"],
        values=data,
    )


def array_at(place: StorePath, data: Any, **kwargs: Any) -> OpenArray:
    """Create an array with the values of `data`; the parameters are those of :func:`zarrcore.array`."""
    data = as_source(data)
    if isinstance(data, OpenArray):
        return from_array_at(place, data=data, **kwargs)
    zarr_format = default_format(kwargs.get("zarr_format"))
    values, kept = kept_options(data, zarr_format)
    kept.pop("shards", None)  # which the older arguments do not have
    if any(kwargs.get(name) is not None for name in ("chunks", "chunk_shape", "chunk_grid")):
        kept.pop("chunks", None)
    if kwargs.get("attributes") is None:
        kept["attributes"] = attributes_of(data, zarr_format)
    given: dict[str, Any] = {
        name: value for name, value in kwargs.items() if value is not None or name not in kept
    }
    return create_at(place, tuple(data.shape), data=values, **{**kept, **given})


def _refuse_foreign(zarr_format: int, options: LegacyOptions) -> None:
    """Refuse options that the other format alone has."""
    names = _FORMAT_2_ONLY if zarr_format == 3 else _FORMAT_3_ONLY
    foreign: dict[str, Any] = {name: options[name] for name in names}  # type: ignore[literal-required]
    if zarr_format == 3 and not is_auto(options["compressor"]):
        foreign["compressor"] = "None" if options["compressor"] is None else options["compressor"]
    for name, value in foreign.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used for format {zarr_format} arrays, got {value!r}")
