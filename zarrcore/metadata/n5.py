"""The attributes of N5 datasets, seen through the model of format 3 (N5 file-system specification, 4.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zarrcore._validate import at, boolean, choice, describe, fail, integer, integers, mapping
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.departures import Departure, report
from zarrcore.metadata.v3 import ArrayV3Metadata

ATTRIBUTES_JSON = "attributes.json"

_TYPES = (*(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)), "float32", "float64")
_COMPRESSION = 'N5, "compression": an object with a type'
_REQUIRED = ("dimensions", "blockSize", "dataType")
_OWN = frozenset({*_REQUIRED, "compression", "compressionType", "n5"})


def is_n5_array(attributes: Mapping[str, Any]) -> bool:
    """Return whether attributes are those of a dataset."""
    return all(name in attributes for name in _REQUIRED)


def is_n5_root(attributes: Mapping[str, Any]) -> bool:
    """Return whether attributes name the version of N5, as those of a container's root do."""
    return isinstance(attributes.get("n5"), str)


def n5_document(attributes: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return the ``zarr.json`` document of an N5 dataset or group, from its ``attributes.json`` at `where`.

    Dimensions are in the order of Zarr, the fastest last: that of N5 reversed.
    """
    user = {name: value for name, value in attributes.items() if name not in _OWN}
    if not is_n5_array(attributes):
        return {"zarr_format": 3, "node_type": "group", "attributes": user}
    with at(key=where):
        dimensions = integers(attributes["dimensions"], "dimensions", 0)
        blocks = integers(attributes["blockSize"], "blockSize", 1)
        if len(blocks) != len(dimensions) or not dimensions:
            fail(
                "blockSize", f"{len(dimensions)} lengths, at least one, as the dimensions have", list(blocks)
            )
        order = _codec("transpose", order=list(range(len(dimensions)))[::-1])
        codecs = [order, _codec("bytes", endian="big"), *_compression(attributes, where)]
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(dimensions[::-1]),
            "data_type": choice(attributes["dataType"], "dataType", _TYPES),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(blocks[::-1])}},
            "chunk_key_encoding": {"name": "zarrcore.n5"},
            "fill_value": 0,
            "codecs": [order, _codec("n5_default", codecs=codecs)],
            "attributes": user,
        }


def without_blocks(metadata: ArrayV3Metadata) -> ArrayV3Metadata:
    """Return the metadata of an array with the same values in plain chunks, which any reader understands.

    Other arrays than those of N5 keep theirs.
    """
    block: Any = metadata.codecs[-1]
    if (metadata.chunk_key_encoding.name, block.name) != ("zarrcore.n5", "n5_default"):
        return metadata
    from zarrcore.codecs import BytesCodec
    from zarrcore.keys import DefaultChunkKeyEncoding

    compressors = [codec for codec in block.codecs if codec.kind == "bytes->bytes"]
    if any(codec.name.startswith("zarrcore.") for codec in compressors):  # of this library alone
        compressors = [{"name": "zstd", "configuration": {"level": 0, "checksum": False}}]
    return replace(
        metadata,
        codecs=(BytesCodec(), *compressors),  # the class takes objects as well
        chunk_key_encoding=DefaultChunkKeyEncoding(),
    )


def _compression(attributes: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the codec of a dataset's compression, or none."""
    if "compression" not in attributes:
        options: Mapping[str, Any] = {"type": attributes.get("compressionType", "raw")}  # before version 2
        where = "compressionType" if "compressionType" in attributes else "compression"
    else:
        where = "compression"
        options = attributes["compression"]
        if isinstance(options, str):
            report([Departure(where, f"{describe(options)} is read as its type", _COMPRESSION)], key)
            options = {"type": options}
        options = mapping(options, where)
    with at(where):
        kind = options.get("type")
        if kind not in _COMPRESSIONS and isinstance(kind, str) and options.get("id") == kind:
            # Without a name in N5: zarr-python 2 writes the numcodecs configuration.
            configuration = {name: value for name, value in options.items() if name not in ("type", "id")}
            return [_codec(f"numcodecs.{kind}", **configuration)]
        kind = choice(kind, "type", ("raw", *_COMPRESSIONS))
        return [] if kind == "raw" else [_COMPRESSIONS[kind](options)]


def _codec(name: str, /, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def _level(options: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """Return a level; -1 stands for the compressor's own choice."""
    level = integer(options.get(name, default), name)
    return default if level == -1 and low > -1 else integer(level, name, low, high)


def _gzip(options: Mapping[str, Any]) -> dict[str, Any]:
    level = _level(options, "level", 6, 0, 9)
    as_zlib = boolean(options.get("useZlib", False), "useZlib")
    return _codec("numcodecs.zlib" if as_zlib else "gzip", level=level)


def _lz4(options: Mapping[str, Any]) -> dict[str, Any]:
    if options.get("id") == "lz4":  # zarr-python 2 writes blocks of numcodecs, marked by the id
        return _codec("numcodecs.lz4", acceleration=integer(options.get("acceleration", 1), "acceleration"))
    size = integer(options.get("blockSize", 65536), "blockSize", 64, 1 << 25)
    return _codec("zarrcore.lz4block", block_size=size)


def _zstd(options: Mapping[str, Any]) -> dict[str, Any]:
    level = integer(options.get("level", 3), "level", -131072, 22)
    return _codec("zstd", level=level, checksum=boolean(options.get("checksum", False), "checksum"))


def _blosc(options: Mapping[str, Any]) -> dict[str, Any]:
    known = _given(options, "cname clevel shuffle blocksize")
    if not known:
        raise MetadataValidationError("expected the options of blosc, got none")
    return _codec("numcodecs.blosc", **known)


def _given(options: Mapping[str, Any], names: str) -> dict[str, Any]:
    return {name: options[name] for name in names.split() if name in options}


_COMPRESSIONS = {
    "gzip": _gzip,
    "bzip2": lambda options: _codec("numcodecs.bz2", level=_level(options, "blockSize", 9, 1, 9)),
    "xz": lambda options: _codec("numcodecs.lzma", format=1, preset=_level(options, "preset", 6, 0, 9)),
    # What zarr-python 2 writes for all of lzma that is not plain xz.
    "lzma": lambda options: _codec("numcodecs.lzma", **_given(options, "format check preset filters")),
    "lz4": _lz4,
    "blosc": _blosc,
    "zstd": _zstd,
}
