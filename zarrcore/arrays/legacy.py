"""Creating arrays with the older arguments, those of :func:`zarrcore.create`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.arrays.chunks import parse_shape
from zarrcore.arrays.config import ArrayConfig, parse_array_config
from zarrcore.arrays.creation import (
    chunk_layout,
    codecs_v3,
    compressor_v2,
    data_type,
    default_format,
    filters_v2,
    is_auto,
    make_metadata,
    store_array,
    store_with_values,
    v2_config,
    with_order,
)
from zarrcore.arrays.derived import from_array_at, like_arguments
from zarrcore.arrays.opened import OpenArray, opened
from zarrcore.arrays.options import LegacyOptions, complete

if TYPE_CHECKING:
    from typing import Unpack

    from zarrcore._typing import Overwrite
    from zarrcore.dtypes import ZDType
    from zarrcore.metadata import ArrayMetadata
    from zarrcore.storage import StorePath

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
    metadata, settings = _described(default_format(zarr_format), shape, complete(LegacyOptions, given))
    if data is None:
        return store_array(place, metadata, overwrite=overwrite, config=settings)
    return store_with_values(place, metadata, data, overwrite=overwrite, config=settings)


def array_at(place: StorePath, data: Any, **kwargs: Any) -> OpenArray:
    """Create an array with the values of `data`; the parameters are those of :func:`zarrcore.array`."""
    data = opened(data)
    if isinstance(data, OpenArray):
        return from_array_at(place, data=data, **kwargs)
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    if kwargs.get("dtype") is None:
        kwargs["dtype"] = data.dtype
    if all(kwargs.get(name) is None for name in ("chunks", "chunk_shape", "chunk_grid")):
        kwargs["chunks"] = like_arguments(data, None).get("chunks")
    return create_at(place, tuple(data.shape), data=data, **kwargs)


def _described(zarr_format: int, shape: Any, options: LegacyOptions) -> tuple[ArrayMetadata, ArrayConfig]:
    """Metadata and run-time settings from options that are complete."""
    from dataclasses import replace

    if options["chunks"] is not None and options["chunk_shape"] is not None:
        raise ValueError("give either chunks or chunk_shape, not both")
    _refuse_foreign(zarr_format, options)
    settings = with_order(parse_array_config(options["config"]), options["order"])
    if options["write_empty_chunks"] is not None:
        settings = replace(settings, write_empty_chunks=options["write_empty_chunks"])
    shape = parse_shape(shape)
    dtype = "float64" if options["dtype"] is None else options["dtype"]
    zdtype = data_type(dtype, zarr_format, options["filters"], options["object_codec"])
    given = options["chunk_shape"] if options["chunks"] is None else options["chunks"]
    grid, _ = chunk_layout(shape, zdtype, given, None, options["chunk_grid"])
    common = {
        "shape": shape,
        "zdtype": zdtype,
        "chunks": grid,
        "fill_value": options["fill_value"],
        "attributes": options["attributes"],
    }
    if zarr_format == 2:
        return make_metadata(
            zarr_format=2,
            filters=_filters(zdtype, options["filters"], options["object_codec"]),
            compressor=compressor_v2(options["compressor"]),
            order=settings.order,
            separator=options["dimension_separator"] or ".",
            **common,
        ), settings
    codecs = options["codecs"]
    return make_metadata(
        zarr_format=3,
        codecs=codecs_v3(zdtype, "auto", "auto", "auto") if codecs is None else list(codecs),
        chunk_key_encoding=options["chunk_key_encoding"],
        storage_transformers=options["storage_transformers"],
        dimension_names=options["dimension_names"],
        **common,
    ), settings


def _refuse_foreign(zarr_format: int, options: LegacyOptions) -> None:
    """Refuse options that the other format alone has."""
    names = _FORMAT_2_ONLY if zarr_format == 3 else _FORMAT_3_ONLY
    foreign: dict[str, Any] = {name: options[name] for name in names}  # type: ignore[literal-required]
    if zarr_format == 3 and not is_auto(options["compressor"]):
        foreign["compressor"] = "None" if options["compressor"] is None else options["compressor"]
    for name, value in foreign.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used for format {zarr_format} arrays, got {value!r}")


def _filters(zdtype: ZDType, filters: Any, object_codec: Any) -> list[Any]:
    """Return the filters of a format 2 array; the object codec is the first."""
    given = filters_v2(zdtype, filters)
    if object_codec is None:
        return given
    wanted = v2_config(object_codec)
    return [wanted, *(config for config in given if config["id"] != wanted["id"])]
