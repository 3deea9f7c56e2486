# SPDX-License-Identifier: MIT
"""The rows of what zarrcore supports, out of its registries, and those that an array makes use of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import zarrcore.dtypes as zdtype
from zarrcore import storage
from zarrcore.dtypes import data_type_registry, dtype_from_v2
from zarrcore.dtypes.objects import object_codec_id
from zarrcore.registry import codec_registry, compressor_registry, grid_registry, key_encoding_registry

DTYPE3, DTYPE2 = "data type of format 3", "data type of format 2"
CODEC3, CODEC2 = "codec of format 3", "codec of format 2"
GRID, KEYS, STORE = "chunk grid", "chunk key encoding", "store"

Row = tuple[str, str]

# Of numcodecs, beside those that zarrcore has itself.
FOREIGN = ("pcodec", "zfpy")
# Keep nothing that another library could open, or stand before another store.
OWN_STORES = (
    "CacheStore",
    "GpuMemoryStore",
    "LoggingStore",
    "ManagedMemoryStore",
    "MemoryStore",
    "ReadOnlyStore",
    "ReferenceStore",
    "WrapperStore",
)


def all_rows() -> list[Row]:
    """Everything that zarrcore supports."""
    names = data_type_names()
    return [
        *((DTYPE3, name) for name in names if name != "python_object"),
        *((DTYPE2, name) for name in names if name != "structured"),  # in format 2 the same as struct
        *((CODEC3, name) for name in builtin_names(codec_registry)),
        *((CODEC2, name) for name in sorted((*builtin_names(compressor_registry), *FOREIGN))),
        *((GRID, name) for name in builtin_names(grid_registry)),
        *((KEYS, name) for name in builtin_names(key_encoding_registry)),
        *((STORE, name) for name in [*store_names(), "N5Store"]),
    ]


def store_names() -> list[str]:
    """The stores whose data other libraries can open."""
    classes = {name: getattr(storage, name) for name in storage.__all__ if name not in OWN_STORES}
    return [
        name
        for name, cls in classes.items()
        if isinstance(cls, type) and issubclass(cls, storage.Store) and cls is not storage.Store
    ]


def data_type_names() -> list[str]:
    """The names in format 3 of all data types, those that are loaded on demand last."""
    loaded = [
        name for name, cls in data_type_registry.contents.items() if cls.__module__.startswith("zarrcore.")
    ]
    public = (getattr(zdtype, name) for name in zdtype.__all__)
    names = (cls._zarr_v3_name for cls in public if isinstance(cls, type) and hasattr(cls, "_zarr_v3_name"))
    return [name for name in dict.fromkeys([*loaded, *names]) if _is_registered(name)]


def _is_registered(name: str) -> bool:
    try:
        data_type_registry.get(name)
    except KeyError:
        return False
    return True


def builtin_names(registry: Any) -> list[str]:
    """The names that zarrcore itself registers."""
    return [name for name in registry.names() if registry.get(name).__module__.startswith("zarrcore.")]


# What a package is needed for, here and there.
NEEDED = {
    (CODEC2, "pcodec"): "pcodec",
    (CODEC2, "zfpy"): "zfpy",
    (CODEC3, "numcodecs.pcodec"): "pcodec",
    (CODEC3, "numcodecs.zfpy"): "zfpy",
    (CODEC3, "pcodec"): "pcodec",
    (CODEC3, "zfp"): "zfpy",
    (CODEC3, "cast_value"): "cast_value_rs",
}


def rows_of(document: Mapping[str, Any]) -> set[Row]:
    """What an array with this document makes use of."""
    return set(_rows_of_v3(document) if document["zarr_format"] == 3 else _rows_of_v2(document))


def _rows_of_v3(document: Mapping[str, Any]) -> Iterator[Row]:
    yield DTYPE3, _name_of_data_type(document["data_type"])
    yield GRID, document["chunk_grid"]["name"]
    yield from _rows_of_keys(document["chunk_key_encoding"])
    yield from _rows_of_codecs(document["codecs"])


def _name_of_data_type(data: Any) -> str:
    name = data if isinstance(data, str) else data["name"]
    if name[0] == "r" and name[1:].isdecimal():
        return "raw_bytes"
    return {"bytes": "variable_length_bytes"}.get(name, name)


def _rows_of_keys(encoding: Mapping[str, Any]) -> Iterator[Row]:
    yield KEYS, encoding["name"]
    inner = encoding.get("configuration", {}).get("base_encoding")
    if inner is not None:
        yield from _rows_of_keys(inner)


def _rows_of_codecs(codecs: Any) -> Iterator[Row]:
    for codec in codecs:
        yield CODEC3, codec["name"]
        for inner in ("codecs", "index_codecs", "data_codecs", "mask_codecs"):
            yield from _rows_of_codecs(codec.get("configuration", {}).get(inner, ()))


def _rows_of_v2(document: Mapping[str, Any]) -> Iterator[Row]:
    configs = [config for config in (*(document["filters"] or ()), document["compressor"]) if config]
    ids = [config["id"] for config in configs]
    for name in ids:
        yield CODEC2, name
    yield DTYPE2, dtype_from_v2(document["dtype"], object_codec_id(ids) or "vlen-utf8")._zarr_v3_name
