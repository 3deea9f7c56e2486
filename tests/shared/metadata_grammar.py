# SPDX-License-Identifier: MIT
"""A grammar of metadata documents of arrays: valid, nearly valid and odd ones.

A document is made of one choice for each part.  The first choice of a part is plain.  Each has a name, by
which the table of `metadata_rules.py` explains who accepts it and why.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

ABSENT: Any = ...  # in place of a member that is left out
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
CRC = {"name": "crc32c"}


def named(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


class Context(NamedTuple):
    """What the codecs of a document depend on."""

    chunks: tuple[int, ...]
    item: int  # bytes

    @property
    def bytes(self) -> Any:
        return LITTLE if self.item != 1 else {"name": "bytes"}


Members = dict[str, Any] | Callable[[Context], dict[str, Any]]
Part = dict[str, Members]

# --- format 3 ---

HEAD_3: Part = {
    "plain": {"zarr_format": 3, "node_type": "array"},
    "format as text": {"zarr_format": "3", "node_type": "array"},
    "format as float": {"zarr_format": 3.0, "node_type": "array"},
    "format 4": {"zarr_format": 4, "node_type": "array"},
    "format missing": {"node_type": "array"},
    "node type missing": {"zarr_format": 3},
    "node type in capitals": {"zarr_format": 3, "node_type": "Array"},
    "node type null": {"zarr_format": 3, "node_type": None},
}


def _value(data_type: Any, fill_value: Any) -> dict[str, Any]:
    return {"data_type": data_type, "fill_value": fill_value}


VALUE_3: Part = {
    "int32": _value("int32", -7),
    "bool": _value("bool", True),
    "int8": _value("int8", -128),
    "uint8": _value("uint8", 255),
    "uint64": _value("uint64", 2**64 - 1),
    "int64": _value("int64", -(2**63)),
    "float16": _value("float16", 0.5),
    "float32": _value("float32", 0.1),
    "float64": _value("float64", 1e-3),
    "float64 integer": _value("float64", 3),
    "float64 NaN": _value("float64", "NaN"),
    "float64 infinity": _value("float64", "-Infinity"),
    "float32 bits": _value("float32", "0x7fc00001"),
    "float64 bits": _value("float64", "0x7ff8000000000001"),
    "complex64": _value("complex64", [1, -2.5]),
    "complex128 names": _value("complex128", ["-Infinity", "NaN"]),
    "complex64 bits": _value("complex64", ["0x3f800000", "0x7fc00001"]),
    "r16": _value("r16", [1, 255]),
    "string": _value("string", "é"),
    "time": _value(named("numpy.datetime64", unit="s", scale_factor=1), 5),
    "data type as object": _value({"name": "int32"}, -7),
    "data type with empty configuration": _value(named("int32"), -7),
    "data type with configuration": _value(named("int32", endian="little"), -7),
    "data type not to be understood": _value({"name": "int32", "must_understand": False}, -7),
    "data type to be understood": _value({"name": "int32", "must_understand": True}, -7),
    "data type of format 2": _value("<i4", -7),
    "data type of NumPy": _value("int", 0),
    "data type in capitals": _value("Int32", 0),
    "data type with a space": _value("int32 ", 0),
    "data type unknown": _value("int128", 0),
    "data type null": _value(None, 0),
    "data type missing": _value(ABSENT, 0),
    "r12": _value("r12", [1]),
    "r0": _value("r0", []),
    "fill missing": _value("int32", ABSENT),
    "fill null": _value("int32", None),
    "fill null of float": _value("float64", None),
    "fill 3.0 of integer": _value("int32", 3.0),
    "fill 3.5 of integer": _value("int32", 3.5),
    "fill too large": _value("uint8", 256),
    "fill negative of unsigned": _value("uint8", -1),
    "fill beyond 64 bits": _value("uint64", 2**64),
    "fill text of integer": _value("int32", "7"),
    "fill NaN of integer": _value("int32", "NaN"),
    "fill true of integer": _value("int32", True),
    "fill 1 of bool": _value("bool", 1),
    "fill text of bool": _value("bool", "true"),
    "fill true of float": _value("float64", True),
    "fill text of float": _value("float64", "1.5"),
    "fill nan in small letters": _value("float64", "nan"),
    "fill inf": _value("float64", "inf"),
    "fill +Infinity": _value("float64", "+Infinity"),
    "fill -NaN": _value("float64", "-NaN"),
    "fill with too few bits": _value("float64", "0x7fc00001"),
    "fill with bits in capitals": _value("float32", "0x7FC00001"),
    "fill with no bits": _value("float32", "0x"),
    "fill too large for float32": _value("float32", 1e39),
    "fill list of float": _value("float64", [0]),
    "fill number of complex": _value("complex64", 1),
    "fill three of complex": _value("complex64", [1, 2, 3]),
    "fill one of complex": _value("complex64", [1]),
    "fill text of complex": _value("complex64", "1+2j"),
    "fill bits of complex": _value("complex64", "0x3f800000"),
    "fill object": _value("int32", {}),
    "fill too short of r16": _value("r16", [1]),
    "fill too large of r16": _value("r16", [1, 256]),
    "fill text of r16": _value("r16", "AQI="),
    "fill number of string": _value("string", 0),
}


def _grid(shape: Any, chunks: Any) -> dict[str, Any]:
    return {"shape": shape, "chunk_grid": named("regular", chunk_shape=chunks)}


def _grid_as(grid: Any) -> dict[str, Any]:
    return {"shape": [4, 6], "chunk_grid": grid}


GRID_3: Part = {
    "two dimensions": _grid([4, 6], [2, 3]),
    "no dimensions": _grid([], []),
    "one dimension": _grid([5], [2]),
    "three dimensions": _grid([2, 1, 3], [1, 1, 2]),
    "chunk longer than array": _grid([4, 6], [8, 6]),
    "length 0": _grid([0, 6], [2, 3]),
    "chunk 0 of length 0": _grid([0, 6], [0, 3]),
    "chunk 0": _grid([4, 6], [0, 3]),
    "chunk negative": _grid([4, 6], [-2, 3]),
    "chunk as float": _grid([4, 6], [2.0, 3]),
    "chunk as text": _grid([4, 6], ["2", 3]),
    "chunk true": _grid([4, 6], [True, 3]),
    "chunk null": _grid([4, 6], [None, 3]),
    "chunks too few": _grid([4, 6], [2]),
    "chunks too many": _grid([4, 6], [2, 3, 1]),
    "chunks as number": _grid([4, 6], 2),
    "shape negative": _grid([-4, 6], [2, 3]),
    "shape as float": _grid([4.0, 6], [2, 3]),
    "shape as text": _grid(["4", 6], [2, 3]),
    "shape true": _grid([True, 6], [2, 3]),
    "shape as number": _grid(4, [2]),
    "shape null": _grid(None, [2]),
    "shape missing": {"shape": ABSENT, "chunk_grid": named("regular", chunk_shape=[2, 3])},
    "shape beyond 63 bits": _grid([2**63, 6], [2, 3]),
    "grid as name": _grid_as("regular"),
    "grid without configuration": _grid_as({"name": "regular"}),
    "grid with more": _grid_as(named("regular", chunk_shape=[2, 3], more=1)),
    "grid with a member beside": _grid_as({**named("regular", chunk_shape=[2, 3]), "more": 1}),
    "grid not to be understood": _grid_as({**named("regular", chunk_shape=[2, 3]), "must_understand": False}),
    "grid unknown": _grid_as(named("hexagonal", chunk_shape=[2, 3])),
    "grid missing": _grid_as(ABSENT),
    "grid null": _grid_as(None),
}


def _keys(encoding: Any) -> dict[str, Any]:
    return {"chunk_key_encoding": encoding}


KEYS_3: Part = {
    "default": _keys(named("default", separator="/")),
    "default with dots": _keys(named("default", separator=".")),
    "v2": _keys(named("v2", separator="/")),
    "keys as name": _keys("default"),
    "keys v2 as name": _keys("v2"),
    "keys without configuration": _keys({"name": "v2"}),
    "keys with empty configuration": _keys(named("default")),
    "separator null": _keys(named("default", separator=None)),
    "separator other": _keys(named("default", separator="-")),
    "separator empty": _keys(named("default", separator="")),
    "keys with more": _keys(named("default", separator="/", more=1)),
    "keys with separator beside": _keys({"name": "default", "separator": "."}),
    "keys unknown": _keys(named("morton")),
    "keys not to be understood": _keys({**named("default"), "must_understand": False}),
    "keys missing": _keys(ABSENT),
    "keys null": _keys(None),
}


def _codecs(*codecs: Any, swap: Any = None) -> Callable[[Context], dict[str, Any]]:
    """Codecs, with those of the array's own items in place of "BYTES"."""
    return lambda context: {"codecs": [context.bytes if codec == "BYTES" else codec for codec in codecs]}


def _transposed(make: Callable[[int], Any]) -> Callable[[Context], dict[str, Any]]:
    return lambda context: {"codecs": [named("transpose", order=make(len(context.chunks))), context.bytes]}


def _sharded(**changes: Any) -> Callable[[Context], dict[str, Any]]:
    def make(context: Context) -> dict[str, Any]:
        configuration = {
            "chunk_shape": [1] * len(context.chunks),
            "codecs": [context.bytes],
            "index_codecs": [LITTLE, CRC],
            "index_location": "end",
        } | {name: value(context) if callable(value) else value for name, value in changes.items()}
        kept = {name: value for name, value in configuration.items() if value is not ABSENT}
        return {"codecs": [named("sharding_indexed", **kept)]}

    return make


def _blosc(**changes: Any) -> Any:
    plain = {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}
    return named("blosc", **{k: v for k, v in (plain | changes).items() if v is not ABSENT})


CODECS_3: Part = {
    "bytes": _codecs("BYTES"),
    "bytes big": _codecs(named("bytes", endian="big")),
    "bytes as name": _codecs("bytes"),
    "bytes without configuration": _codecs({"name": "bytes"}),
    "bytes with more": _codecs(named("bytes", endian="little", more=1)),
    "endian in capitals": _codecs(named("bytes", endian="Little")),
    "endian null": _codecs(named("bytes", endian=None)),
    "endian codec": _codecs(named("endian", endian="little")),
    "transpose": _transposed(lambda n: list(range(n))[::-1]),
    "transpose F": _transposed(lambda n: "F"),
    "transpose C": _transposed(lambda n: "C"),
    "transpose twice the same": _transposed(lambda n: [0] * n if n != 1 else [1]),
    "transpose negative": _transposed(lambda n: [-1 - i for i in range(n)] or [0]),
    "transpose too few": _transposed(lambda n: list(range(n))[1:] if n else [0]),
    "transpose without order": _codecs({"name": "transpose"}, "BYTES"),
    "gzip": _codecs("BYTES", named("gzip", level=9)),
    "gzip level 10": _codecs("BYTES", named("gzip", level=10)),
    "gzip level -1": _codecs("BYTES", named("gzip", level=-1)),
    "gzip level as float": _codecs("BYTES", named("gzip", level=1.0)),
    "gzip level as text": _codecs("BYTES", named("gzip", level="1")),
    "gzip without level": _codecs("BYTES", named("gzip")),
    "gzip as name": _codecs("BYTES", "gzip"),
    "zstd": _codecs("BYTES", named("zstd", level=3, checksum=True)),
    "zstd without checksum": _codecs("BYTES", named("zstd", level=3)),
    "zstd without level": _codecs("BYTES", named("zstd", checksum=False)),
    "zstd level 23": _codecs("BYTES", named("zstd", level=23, checksum=False)),
    "zstd level -5": _codecs("BYTES", named("zstd", level=-5, checksum=False)),
    "zstd checksum as number": _codecs("BYTES", named("zstd", level=3, checksum=0)),
    "blosc": _codecs("BYTES", _blosc()),
    "blosc noshuffle": _codecs("BYTES", _blosc(shuffle="noshuffle", typesize=ABSENT)),
    "blosc without typesize": _codecs("BYTES", _blosc(typesize=ABSENT)),
    "blosc typesize 0": _codecs("BYTES", _blosc(typesize=0)),
    "blosc typesize 256": _codecs("BYTES", _blosc(typesize=256)),
    "blosc shuffle as number": _codecs("BYTES", _blosc(shuffle=1)),
    "blosc clevel 10": _codecs("BYTES", _blosc(clevel=10)),
    "blosc cname unknown": _codecs("BYTES", _blosc(cname="lzma")),
    "blosc cname snappy": _codecs("BYTES", _blosc(cname="snappy")),
    "blosc blocksize negative": _codecs("BYTES", _blosc(blocksize=-1)),
    "blosc without blocksize": _codecs("BYTES", _blosc(blocksize=ABSENT)),
    "blosc without cname": _codecs("BYTES", _blosc(cname=ABSENT)),
    "blosc with more": _codecs("BYTES", _blosc(more=1)),
    "crc32c": _codecs("BYTES", CRC),
    "crc32c as name": _codecs("BYTES", "crc32c"),
    "crc32c with more": _codecs("BYTES", named("crc32c", more=1)),
    "several": _codecs("BYTES", named("gzip", level=1), named("zstd", level=1, checksum=False), CRC),
    "sharding": _sharded(),
    "index at start": _sharded(index_location="start"),
    "index location missing": _sharded(index_location=ABSENT),
    "index location odd": _sharded(index_location="middle"),
    "index codecs missing": _sharded(index_codecs=ABSENT),
    "index codecs compress": _sharded(index_codecs=[LITTLE, named("gzip", level=1)]),
    "index codecs empty": _sharded(index_codecs=[]),
    "index codecs big": _sharded(index_codecs=[named("bytes", endian="big")]),
    "index codecs without endian": _sharded(index_codecs=[{"name": "bytes"}, CRC]),
    "inner codecs missing": _sharded(codecs=ABSENT),
    "inner codecs empty": _sharded(codecs=[]),
    "inner codecs compress": _sharded(codecs=lambda c: [c.bytes, named("gzip", level=1)]),
    "inner chunks do not divide": _sharded(chunk_shape=lambda c: [n + 1 for n in c.chunks] or [1]),
    "inner chunks 0": _sharded(chunk_shape=lambda c: [0] * len(c.chunks) or [0]),
    "inner chunks too many": _sharded(chunk_shape=lambda c: [1] * (len(c.chunks) + 1)),
    "sharding with more": _sharded(more=1),
    "sharding compressed": lambda c: {"codecs": [*_sharded()(c)["codecs"], named("gzip", level=1)]},
    "codecs empty": _codecs(),
    "codecs missing": {"codecs": ABSENT},
    "codecs null": {"codecs": None},
    "codecs as object": lambda c: {"codecs": c.bytes},
    "bytes missing": _codecs(named("gzip", level=1)),
    "bytes twice": _codecs("BYTES", "BYTES"),
    "order of codecs": _codecs(named("gzip", level=1), "BYTES"),
    "transpose after bytes": lambda c: {
        "codecs": [c.bytes, named("transpose", order=list(range(len(c.chunks))))]
    },
    "codec unknown": _codecs("BYTES", named("lzip")),
    "codec unknown, not to be understood": _codecs("BYTES", {**named("lzip"), "must_understand": False}),
    "codec to be understood": _codecs("BYTES", {**named("gzip", level=1), "must_understand": True}),
    "codec with a member beside": _codecs("BYTES", {**named("gzip", level=1), "more": 1}),
    "codec by id": _codecs("BYTES", {"id": "gzip", "level": 1}),
    "codec null": _codecs("BYTES", None),
    "configuration null": _codecs("BYTES", {"name": "crc32c", "configuration": None}),
    "configuration as list": _codecs("BYTES", {"name": "crc32c", "configuration": []}),
}

ATTRIBUTES_3: Part = {
    "no attributes": {},
    "attributes": {"attributes": {"a": [1, None, {"b": 1.5}], "": "é"}},
    "attributes null": {"attributes": None},
    "attributes as list": {"attributes": []},
    "attributes as text": {"attributes": "a"},
}
NAMES_3: Part = {
    "no names": {},
    "names": lambda c: {"dimension_names": ["x", None, ""][: len(c.chunks)]},
    "names twice": lambda c: {"dimension_names": ["x"] * len(c.chunks)},
    "names null": {"dimension_names": None},
    "names too many": lambda c: {"dimension_names": ["x"] * (len(c.chunks) + 1)},
    "names as numbers": lambda c: {"dimension_names": [1] * (len(c.chunks) or 1)},
    "names as text": lambda c: {"dimension_names": "x" * (len(c.chunks) or 1)},
}
MORE_3: Part = {
    "nothing more": {},
    "transformers": {"storage_transformers": []},
    "transformers null": {"storage_transformers": None},
    "transformers unknown": {"storage_transformers": [named("none")]},
    "transformers as object": {"storage_transformers": {}},
    "member not to be understood": {"more": {"must_understand": False, "a": 1}},
    "member to be understood": {"more": {"must_understand": True}},
    "member unknown": {"more": {}},
    "member unknown, text": {"more": "x"},
    "member unknown, null": {"more": None},
    "must_understand as number": {"more": {"must_understand": 0}},
    "must_understand as text": {"more": {"must_understand": "false"}},
    "must_understand of the document": {"must_understand": False},
}
PARTS_3 = (HEAD_3, VALUE_3, GRID_3, KEYS_3, CODECS_3, ATTRIBUTES_3, NAMES_3, MORE_3)

# --- format 2 ---

HEAD_2: Part = {
    "plain": {"zarr_format": 2},
    "format as text": {"zarr_format": "2"},
    "format as float": {"zarr_format": 2.0},
    "format missing": {},
}


def _dtype(dtype: Any, fill_value: Any) -> dict[str, Any]:
    return {"dtype": dtype, "fill_value": fill_value}


VALUE_2: Part = {
    "<i4": _dtype("<i4", -7),
    "|b1": _dtype("|b1", True),
    "|u1": _dtype("|u1", 255),
    ">u8": _dtype(">u8", 2**64 - 1),
    "<f2": _dtype("<f2", 0.5),
    ">f4": _dtype(">f4", "NaN"),
    "<f8": _dtype("<f8", "-Infinity"),
    "<c8": _dtype("<c8", [1, -2.5]),
    "|S3": _dtype("|S3", "YWI="),
    "<U2": _dtype("<U2", "é"),
    "|V3": _dtype("|V3", "AQID"),
    "<M8[s]": _dtype("<M8[s]", 5),
    "records": _dtype([["a", "<i4"], ["b", "|u1"]], "AQAAAAI="),
    "records with shape": _dtype([["a", "<i4", [2]]], None),
    "fill null": _dtype("<i4", None),
    "fill missing": _dtype("<i4", ABSENT),
    "fill 3.0 of integer": _dtype("<i4", 3.0),
    "fill 3.5 of integer": _dtype("<i4", 3.5),
    "fill too large": _dtype("|u1", 256),
    "fill negative of unsigned": _dtype("|u1", -1),
    "fill text of integer": _dtype("<i4", "7"),
    "fill true of integer": _dtype("<i4", True),
    "fill 1 of bool": _dtype("|b1", 1),
    "fill 0 of bool": _dtype("|b1", 0),
    "fill text of float": _dtype("<f8", "1.5"),
    "fill nan in small letters": _dtype("<f8", "nan"),
    "fill true of float": _dtype("<f8", True),
    "fill 0 of text": _dtype("|S3", 0),
    "fill too long": _dtype("|S3", "YWJjZA=="),
    "fill not base64": _dtype("|S3", "#"),
    "fill empty of text": _dtype("<U2", ""),
    "fill number of complex": _dtype("<c8", 0),
    "fill 0 of records": _dtype([["a", "<i4"]], 0),
    "dtype without order": _dtype("i4", 0),
    "dtype with | of more bytes": _dtype("|i4", 0),
    "dtype with = order": _dtype("=i4", 0),
    "dtype name": _dtype("int32", 0),
    "dtype with order of one byte": _dtype("<u1", 0),
    "dtype unknown": _dtype("<q4", 0),
    "dtype of odd size": _dtype("<i3", 0),
    "dtype without size": _dtype("|S", ""),
    "dtype times without unit": _dtype("<M8", 0),
    "dtype null": _dtype(None, 0),
    "dtype missing": _dtype(ABSENT, 0),
    "records empty": _dtype([], None),
    "records of one name": _dtype([["a", "<i4"], ["a", "|u1"]], None),
    "record without type": _dtype([["a"]], None),
}


def _chunks(shape: Any, chunks: Any) -> dict[str, Any]:
    return {"shape": shape, "chunks": chunks}


GRID_2: Part = {
    "two dimensions": _chunks([4, 6], [2, 3]),
    "no dimensions": _chunks([], []),
    "one dimension": _chunks([5], [2]),
    "chunk longer than array": _chunks([4, 6], [8, 6]),
    "length 0": _chunks([0, 6], [2, 3]),
    "chunk 0 of length 0": _chunks([0, 6], [0, 3]),
    "chunk 0": _chunks([4, 6], [0, 3]),
    "chunk negative": _chunks([4, 6], [-2, 3]),
    "chunk as float": _chunks([4, 6], [2.0, 3]),
    "chunks too few": _chunks([4, 6], [2]),
    "chunks as number": _chunks([4, 6], 2),
    "chunks null": _chunks([4, 6], None),
    "chunks missing": _chunks([4, 6], ABSENT),
    "shape negative": _chunks([-4, 6], [2, 3]),
    "shape as float": _chunks([4.0, 6], [2, 3]),
    "shape as number": _chunks(4, [2]),
    "shape missing": _chunks(ABSENT, [2, 3]),
}
ORDER_2: Part = {
    "C": {"order": "C"},
    "F": {"order": "F"},
    "order in small letters": {"order": "c"},
    "order A": {"order": "A"},
    "order null": {"order": None},
    "order missing": {},
}


def _compressor(compressor: Any) -> dict[str, Any]:
    return {"compressor": compressor, "filters": None}


COMPRESSOR_2: Part = {
    "none": _compressor(None),
    "zlib": _compressor({"id": "zlib", "level": 1}),
    "gzip": _compressor({"id": "gzip", "level": 1}),
    "blosc": _compressor({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}),
    "bz2": _compressor({"id": "bz2", "level": 1}),
    "zstd": _compressor({"id": "zstd", "level": 1}),
    "lzma": _compressor({"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}),
    "blosc without options": _compressor({"id": "blosc"}),
    "blosc clevel 10": _compressor({"id": "blosc", "cname": "lz4", "clevel": 10, "shuffle": 1}),
    "blosc shuffle as text": _compressor({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": "shuffle"}),
    "blosc cname unknown": _compressor({"id": "blosc", "cname": "lzma", "clevel": 5, "shuffle": 1}),
    "zlib without level": _compressor({"id": "zlib"}),
    "zlib level as text": _compressor({"id": "zlib", "level": "1"}),
    "zlib level 10": _compressor({"id": "zlib", "level": 10}),
    "zlib with more": _compressor({"id": "zlib", "level": 1, "more": 1}),
    "compressor without id": _compressor({"level": 1}),
    "compressor as text": _compressor("zlib"),
    "compressor unknown": _compressor({"id": "lzip"}),
    "compressor missing": {"filters": None},
    "compressor as object without members": _compressor({}),
    "filters": {
        "compressor": None,
        "filters": [{"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<i4"}],
    },
    "filters empty": {"compressor": None, "filters": []},
    "filters missing": {"compressor": None},
    "filters as object": {"compressor": None, "filters": {}},
    "filter unknown": {"compressor": None, "filters": [{"id": "none"}]},
    "filter compresses": {"compressor": None, "filters": [{"id": "zlib", "level": 1}]},
}
MORE_2: Part = {
    "nothing more": {},
    "separator .": {"dimension_separator": "."},
    "separator /": {"dimension_separator": "/"},
    "separator null": {"dimension_separator": None},
    "separator other": {"dimension_separator": "-"},
    "separator empty": {"dimension_separator": ""},
    "member unknown": {"more": 1},
    "attributes inside": {"attributes": {"a": 1}},
}
PARTS_2 = (HEAD_2, VALUE_2, GRID_2, ORDER_2, COMPRESSOR_2, MORE_2)

PARTS = {2: PARTS_2, 3: PARTS_3}
ITEMS = {"bool": 1, "int8": 1, "uint8": 1, "r8": 1, "r16": 1, "string": 0}


class Document(NamedTuple):
    """A document, and the choices that are not plain."""

    zarr_format: int
    members: dict[str, Any]
    choices: tuple[str, ...]


def document(zarr_format: int, names: tuple[str, ...]) -> Document:
    """Return the document of one choice for each part."""
    members: dict[str, Any] = {}
    for part, name in zip(PARTS[zarr_format], names, strict=True):
        chosen = part[name]
        if callable(chosen):
            chosen = chosen(_context(members))
        members |= {key: value for key, value in chosen.items() if value is not ABSENT}
    plain = [next(iter(part)) for part in PARTS[zarr_format]]
    return Document(zarr_format, members, tuple(n for n, p in zip(names, plain, strict=True) if n != p))


def _context(members: dict[str, Any]) -> Context:
    try:
        chunks = members["chunk_grid"]["configuration"]["chunk_shape"]
        chunks = tuple(n if type(n) is int else 1 for n in chunks)
    except (TypeError, KeyError):
        chunks = (2, 3)
    data_type = members.get("data_type")
    return Context(chunks, ITEMS.get(data_type, 4) if isinstance(data_type, str) else 4)


def each_choice(zarr_format: int) -> Iterator[Document]:
    """Yield the plain document, and each that has one choice that is not."""
    parts = PARTS[zarr_format]
    plain = tuple(next(iter(part)) for part in parts)
    yield document(zarr_format, plain)
    for number, part in enumerate(parts):
        for name in list(part)[1:]:
            yield document(zarr_format, (*plain[:number], name, *plain[number + 1 :]))


def any_choices(chance: random.Random) -> Document:
    """Return a document of which some parts are not plain."""
    zarr_format = chance.choice((2, 3))
    share = chance.choice((0.1, 0.3, 0.6))
    return document(
        zarr_format,
        tuple(
            chance.choice(list(part)) if chance.random() < share else next(iter(part))
            for part in PARTS[zarr_format]
        ),
    )
