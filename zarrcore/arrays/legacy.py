"""Creating arrays with the older arguments, those of :func:`zarrcore.create`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.arrays.array import Array
from zarrcore.arrays.chunking import resolve_layout
from zarrcore.arrays.chunks import parse_shape
from zarrcore.arrays.config import ArrayConfig, parse_array_config
from zarrcore.arrays.creation import (
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zarrcore.metadata import ArrayMetadata
    from zarrcore.storage import StorePath

__all__ = ["array_at", "create_at", "legacy_arguments"]


def create_at(
    place: StorePath,
    shape: Any,
    *,
    chunks: Any = None,
    chunk_shape: Any = None,
    dtype: Any = None,
    compressor: Any = "auto",
    filters: Any = None,
    object_codec: Any = None,
    dimension_separator: str | None = None,
    chunk_key_encoding: Any = None,
    codecs: Any = None,
    fill_value: Any = ...,
    order: str | None = None,
    zarr_format: int | None = None,
    attributes: Mapping[str, Any] | None = None,
    dimension_names: Any = None,
    config: Any = None,
    write_empty_chunks: bool | None = None,
    overwrite: bool = False,
    data: Any = None,
) -> Array:
    """Create an array; the parameters are those of :func:`zarrcore.create`."""
    metadata, settings = legacy_arguments(
        default_format(zarr_format),
        shape=shape,
        chunks=chunks,
        chunk_shape=chunk_shape,
        dtype="float64" if dtype is None else dtype,
        compressor=compressor,
        filters=filters,
        object_codec=object_codec,
        dimension_separator=dimension_separator,
        chunk_key_encoding=chunk_key_encoding,
        codecs=codecs,
        fill_value=fill_value,
        order=order,
        attributes=attributes,
        dimension_names=dimension_names,
        config=config,
        write_empty_chunks=write_empty_chunks,
    )
    if data is None:
        return store_array(place, metadata, overwrite=overwrite, config=settings)
    return store_with_values(place, metadata, data, overwrite=overwrite, config=settings)


def array_at(place: StorePath, data: Any, **kwargs: Any) -> Array:
    """Create an array with the values of `data`; the parameters are those of :func:`zarrcore.array`."""
    if isinstance(data, Array):
        return from_array_at(place, data=data, **kwargs)
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    if kwargs.get("dtype") is None:
        kwargs["dtype"] = data.dtype
    if kwargs.get("chunks") is None and "chunk_shape" not in kwargs:
        kwargs["chunks"] = like_arguments(data, None).get("chunks")
    return create_at(place, tuple(data.shape), data=data, **kwargs)


def legacy_arguments(
    zarr_format: int,
    *,
    shape: Any,
    chunks: Any,
    chunk_shape: Any,
    dtype: Any,
    compressor: Any,
    filters: Any,
    object_codec: Any,
    dimension_separator: str | None,
    chunk_key_encoding: Any,
    codecs: Any,
    fill_value: Any,
    order: str | None,
    attributes: Mapping[str, Any] | None,
    dimension_names: Any,
    config: Any,
    write_empty_chunks: bool | None,
) -> tuple[ArrayMetadata, ArrayConfig]:
    """Metadata and run-time settings from the arguments of :func:`zarrcore.create`."""
    from dataclasses import replace

    if chunks is not None and chunk_shape is not None:
        raise ValueError("give either chunks or chunk_shape, not both")
    foreign = (
        {"dimension_separator": dimension_separator, "filters": filters, "object_codec": object_codec}
        if zarr_format == 3
        else {"codecs": codecs, "chunk_key_encoding": chunk_key_encoding, "dimension_names": dimension_names}
    )
    if zarr_format == 3 and not is_auto(compressor):
        foreign["compressor"] = "None" if compressor is None else compressor
    for name, value in foreign.items():
        if value is not None:
            raise ValueError(f"{name} cannot be used for format {zarr_format} arrays, got {value!r}")
    settings = with_order(parse_array_config(config), order)
    if write_empty_chunks is not None:
        settings = replace(settings, write_empty_chunks=write_empty_chunks)
    shape = parse_shape(shape)
    zdtype = data_type(dtype, zarr_format, filters, object_codec)
    given = chunk_shape if chunks is None else chunks
    grid, _ = resolve_layout(shape, zdtype.item_size or 1, given, None)
    common = {
        "shape": shape,
        "zdtype": zdtype,
        "chunks": grid,
        "fill_value": fill_value,
        "attributes": attributes,
    }
    if zarr_format == 2:
        filter_list = filters_v2(zdtype, filters)
        if object_codec is not None:
            wanted = v2_config(object_codec)
            filter_list = [wanted, *(config for config in filter_list if config["id"] != wanted["id"])]
        return make_metadata(
            zarr_format=2,
            filters=filter_list,
            compressor=compressor_v2(compressor),
            order=settings.order,
            separator=dimension_separator or ".",
            **common,
        ), settings
    return make_metadata(
        zarr_format=3,
        codecs=codecs_v3(zdtype, "auto", "auto", "auto") if codecs is None else list(codecs),
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        **common,
    ), settings
