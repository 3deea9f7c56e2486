# SPDX-License-Identifier: MIT
"""Metadata documents for libzarrcore: those that it reads, and parts to make others of."""

from __future__ import annotations

import copy
import math
import re
from typing import Any


class LibraryError(Exception):
    """(status, message) of a failed zarrcore_open."""


LONG = b"x" * 70_000
TYPE_NAMES = [
    *(b"", b"\xff", b"f", b"f8f8", b"<", b"|V0", b"|V99999999999999999999", LONG),
    *(b"%s%n", b">U9999999999"),
]
"""Texts that no type of memory has."""

METADATA = -14
UNSUPPORTED = -9


def refused_with(message: str) -> int:
    """The status of a document that is refused: whether it is valid is seen by the message."""
    valid = (
        r': the [a-z ]+ (".*"|at byte \d+) is not supported$|: more than \d+ codecs of bytes|blosc lacks'
    )
    return UNSUPPORTED if re.search(valid, message) else METADATA


V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [6, 4],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [6, 4],
    "chunks": [4, 2],
    "dtype": "<f4",
    "compressor": None,
    "fill_value": 0,
    "filters": None,
    "order": "C",
}
SHARDS = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [2, 1],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    },
}
LITTLE = V3["codecs"][0]


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the member at a dotted path replaced, or removed where value is ``...``."""
    document = copy.deepcopy(document)
    *outer, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    at: Any = document
    for part in outer:
        at = at[part]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return document


def v3(path: str, value: Any) -> dict[str, Any]:
    return changed(V3, path, value)


def v2(path: str, value: Any) -> dict[str, Any]:
    return changed(V2, path, value)


def sharded(path: str, value: Any) -> dict[str, Any]:
    return v3("codecs", [changed(SHARDS, f"configuration.{path}", value)])


def codecs(*after: Any, before: tuple[Any, ...] = ()) -> dict[str, Any]:
    return v3("codecs", [*before, LITTLE, *after])


def rectilinear(*dimensions: Any) -> dict[str, Any]:
    configuration = {"kind": "inline", "chunk_shapes": list(dimensions)}
    return v3("chunk_grid", {"name": "rectilinear", "configuration": configuration})


def datetime(unit: str, scale: Any) -> dict[str, Any]:
    made = {"name": "numpy.datetime64", "configuration": {"unit": unit, "scale_factor": scale}}
    return changed(made, "configuration.scale_factor", scale)


def struct(**fields: Any) -> dict[str, Any]:
    members = [{"name": name, "data_type": data_type} for name, data_type in fields.items()]
    return {"name": "struct", "configuration": {"fields": members}}


FILTERS: list[dict[str, Any]] = [
    {"id": "shuffle", "elementsize": 4},
    {"id": "crc32c", "location": "start"},
    {"id": "delta", "dtype": "<f4", "astype": "<f8"},
    {"id": "fixedscaleoffset", "offset": -10, "scale": 2.0, "dtype": "<f4", "astype": "|u1"},
    {"id": "quantize", "digits": 2, "dtype": "<f4", "astype": None},
    {"id": "bitround", "keepbits": 10},
    {"id": "astype", "encode_dtype": ">i8", "decode_dtype": "<f4"},
]


# The same for numbers that are not float32; values of 0 to 99 come through.
OTHER_NUMBERS: list[tuple[str, dict[str, Any]]] = [
    ("|b1", {"id": "delta", "dtype": "|b1", "astype": "bool"}),
    (">f2", {"id": "delta", "dtype": ">f2", "astype": "float16"}),
    ("<c8", {"id": "delta", "dtype": "<c8", "astype": ">c16"}),
    ("<c16", {"id": "astype", "encode_dtype": "complex64", "decode_dtype": "<c16"}),
    ("<f2", {"id": "astype", "encode_dtype": "|u1", "decode_dtype": "<f2"}),
    ("<f2", {"id": "quantize", "digits": 1, "dtype": "<f2", "astype": ">f4"}),
    ("<i4", {"id": "fixedscaleoffset", "offset": 3, "scale": 2, "dtype": "<i4", "astype": "<i2"}),
    (">u2", {"id": "fixedscaleoffset", "offset": 0, "scale": 2.0, "dtype": ">u2", "astype": "<f2"}),
    ("<i8", {"id": "fixedscaleoffset", "offset": 0.5, "scale": 2, "dtype": "<i8", "astype": "<c8"}),
    ("<c8", {"id": "fixedscaleoffset", "offset": -3, "scale": 2, "dtype": "<c8", "astype": "|u1"}),
]


def big_endian(configuration: dict[str, Any]) -> dict[str, Any]:
    return {name: ">f4" if value == "<f4" else value for name, value in configuration.items()}


def without_id(configuration: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in configuration.items() if name != "id"}


BIG = {"name": "bytes", "configuration": {"endian": "big"}}


def extension(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


CAST = extension("cast_value", data_type="int16", rounding="towards-zero", out_of_range="clamp")
MAPS = {"encode": [["NaN", -1], [3, 300]], "decode": [[-1, "NaN"], [300, 3]]}

EXTENSIONS: list[list[Any]] = [
    [extension("bitround", keepbits=10), LITTLE],
    [extension("bitround", keepbits=64), BIG, "crc32c"],
    [extension("scale_offset", offset=-3, scale=2), BIG],
    [
        extension("scale_offset"),
        extension("cast_value", data_type="uint8"),
        "bytes",
        extension("zstd", level=1),
    ],
    [CAST, BIG],
    [extension("cast_value", data_type="float64", scalar_map={}), extension("packbits")],
    [extension("cast_value", data_type="int16", scalar_map=MAPS), extension("bitround", keepbits=9), LITTLE],
    [extension("cast_value", data_type="bfloat16"), BIG],
    [extension("transpose", order=[1, 0]), extension("reshape", shape=[[0], -1]), CAST, BIG],
    [extension("reshape", shape=[[0, 1]]), extension("reshape", shape=[2, -1]), BIG],
    [
        extension("cast_value", data_type="uint8"),
        extension("packbits", last_bit=6, padding_encoding="last_byte"),
    ],
    [extension("packbits", padding_encoding="first_byte", first_bit=None), "crc32c"],
    [extension("numcodecs.fixedscaleoffset", offset=0, scale=2, dtype="<f4", astype="<i2"), BIG],
]

TURN = extension("transpose", order=[1, 0])
ZSTD = extension("zstd", level=1)
DELTA = extension("numcodecs.delta", dtype="<f4")
WIDER = extension("numcodecs.delta", dtype="<f4", astype="<f8")
CONDITIONAL = extension("conditional", codecs=["crc32c", ZSTD, {"name": "numcodecs.shuffle"}])
BLOCK = extension("n5_default", codecs=[TURN, BIG])


def shards(*inner: Any, chunk_shape: tuple[int, ...] = (2, 1)) -> dict[str, Any]:
    return changed(
        changed(SHARDS, "configuration.codecs", list(inner)), "configuration.chunk_shape", list(chunk_shape)
    )


# Codecs that hold others, and filters in front of what is not of single items: fill value, codecs.
NESTED: list[tuple[Any, list[Any]]] = [
    (0, [LITTLE, CONDITIONAL]),
    (0, [LITTLE, extension("conditional", codecs=[CONDITIONAL], header_bits=16), "crc32c"]),
    (5, [BLOCK]),
    (5, [extension("n5_default", codecs=[TURN, BIG, ZSTD]), "crc32c"]),
    (5, [TURN, BLOCK]),
    (5, [extension("cast_value", data_type="int16"), BLOCK]),
    (5, [shards(BLOCK, CONDITIONAL)]),
    (0, [extension("cast_value", data_type="int16"), shards(LITTLE, "crc32c")]),
    (5, [extension("scale_offset", offset=5), TURN, shards(BIG, chunk_shape=(1, 2))]),
    (0.1, [extension("bitround", keepbits=10), shards(BIG)]),
    (5, [extension("numcodecs.astype", encode_dtype="<i2", decode_dtype="<f4"), shards(LITTLE)]),
    (5, [extension("scale_offset", offset=5), shards(shards(CAST, BIG, chunk_shape=(1, 1)))]),
    (5, [DELTA, shards(BIG, ZSTD)]),
    (5, [TURN, DELTA, shards(LITTLE, chunk_shape=(1, 2)), "crc32c"]),
    (5, [WIDER, TURN, LITTLE]),
    (5, [shards(DELTA, TURN, BIG, chunk_shape=(2, 2))]),
    (5, [extension("reshape", shape=[[0, 1]]), shards(LITTLE, chunk_shape=(4,))]),
    (5, [extension("reshape", shape=[2, -1]), TURN, CAST, shards(LITTLE, chunk_shape=(2, 1))]),
    (
        5,
        [
            extension("cast_value", data_type="int32"),
            extension("reshape", shape=[-1]),
            extension("reshape", shape=[4, -1]),
            extension("numcodecs.delta", dtype="<i4"),
            shards(BIG, chunk_shape=(2, 2)),
        ],
    ),
]

LEGAL: list[dict[str, Any]] = [
    *(v3("codecs", chain) | {"fill_value": fill} for fill, chain in NESTED),
    *(v3("data_type", dtype) | {"codecs": [BLOCK]} for dtype in ("int8", "uint64", "float64")),
    rectilinear([4, 2], [2, 1, 1]) | {"codecs": [BLOCK]},
    rectilinear([4, 2], [2, 1, 1]) | {"codecs": [DELTA, TURN, shards(LITTLE, chunk_shape=(1, 2))]},
    v3("data_type", "bool")
    | {"codecs": [{"name": "numcodecs.packbits"}, shards("bytes", chunk_shape=(1,))], "fill_value": False},
    *(v3("codecs", chain) for chain in EXTENSIONS),
    v3("data_type", "bool") | {"codecs": [extension("packbits")], "fill_value": False},
    v3("data_type", {"name": "float32"}),
    v3("attributes", {"missing_value": math.nan, "range": [-math.inf, {"to": math.inf}]}),
    v3("dimension_names", ["x", None]),
    v3("dimension_names", None),
    v3("storage_transformers", []),
    v3("extra", {"name": "x", "must_understand": False}),
    v3("chunk_key_encoding", "default"),
    v3("chunk_key_encoding", {"name": "v2"}),
    v3("data_type", "int8") | {"codecs": ["bytes"]},
    codecs("crc32c", {"name": "zstd", "configuration": {"level": -5, "checksum": True}}),
    codecs({"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "shuffle": "noshuffle"}}),
    codecs(before=tuple({"name": "transpose", "configuration": {"order": [1, 0]}} for _ in range(3))),
    sharded("index_location", "start"),
    v3(
        "codecs",
        [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            changed(SHARDS, "configuration.chunk_shape", [1, 2]),
        ],
    ),
    v3(
        "codecs", [changed(SHARDS, "configuration.chunk_shape", [4, 2]) | {"must_understand": True}, "crc32c"]
    ),
    sharded("index_codecs", [{"name": "bytes", "configuration": {"endian": "big"}}]),
    v2("dimension_separator", "/"),
    v2("order", "F"),
    v2("dtype", ">f4") | {"_NCZARR_ARRAY": {"storage": "chunked"}},
    v2("compressor", {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, "blocksize": 0}),
    v2("compressor", {"id": "zlib", "level": -1}),
    v2("compressor", {"id": "gzip", "level": 9}),
    v2("compressor", {"id": "zstd", "level": 22}),
    v2("compressor", {"id": "lz4", "acceleration": 1}),
    # grids of chunks of different lengths
    rectilinear([4, 2], 3),
    rectilinear([[1, 2], 4, 3], [[2, 2]]),
    rectilinear([4, 2], [2, 4]) | {"codecs": [SHARDS]},
    # filters, and codecs of numcodecs in format 3
    *(v2("filters", [chosen]) for chosen in FILTERS),
    *(v2("filters", [big_endian(chosen)]) | {"dtype": ">f4", "order": "F"} for chosen in FILTERS),
    v2("filters", [{"id": "delta", "dtype": ">i4"}, {"id": "shuffle", "elementsize": 0}]) | {"dtype": ">i4"},
    v2(
        "filters",
        [{"id": "astype", "encode_dtype": "i2", "decode_dtype": "float32"}, {"id": "delta", "dtype": "<i2"}],
    ),
    v2("filters", [{"id": "packbits"}]) | {"dtype": "|b1", "compressor": {"id": "zlib"}},
    *(v2("filters", [{"id": "zstd"}, {"id": name}]) for name in ("crc32", "crc32c", "adler32", "fletcher32")),
    v2("filters", [{"id": "jenkins_lookup3", "initval": 7, "prefix": None}]),
    v3("codecs", [extension("numcodecs.delta"), BIG, extension("numcodecs.jenkins_lookup3")]),
    *(
        v3("codecs", [{"name": f"numcodecs.{chosen['id']}", "configuration": without_id(chosen)}, LITTLE])
        for chosen in FILTERS
        if chosen["id"] not in ("shuffle", "crc32c")
    ),
    *(v2("filters", [chosen]) | {"dtype": dtype} for dtype, chosen in OTHER_NUMBERS),
    v3("data_type", "bool")
    | {"codecs": [extension("numcodecs.delta"), "bytes", extension("crc32c")], "fill_value": False},
    v3("data_type", "float16") | {"codecs": [extension("numcodecs.quantize", digits=1), BIG]},
    v3("data_type", "complex64") | {"codecs": [extension("numcodecs.delta"), LITTLE], "fill_value": [0, 0]},
    v3("data_type", "int32")
    | {"codecs": [extension("numcodecs.fixedscaleoffset", offset=3, scale=1, astype="<i8"), BIG]},
    codecs({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}, {"name": "numcodecs.zlib"}),
    codecs({"name": "numcodecs.lz4"}, {"name": "numcodecs.adler32"}, {"name": "numcodecs.zstd"}),
    v2("filters", [{"id": "zlib"}]) | {"compressor": {"id": "blosc"}},
    # data types
    *(v2("dtype", dtype) for dtype in ("|S3", "<U2", ">U2", "<M8[25s]", ">m8[us]", "<M8", "<c8", "<f2")),
    v3("data_type", datetime("us", 10)) | {"fill_value": "NaT"},
]
