# SPDX-License-Identifier: MIT
"""Documents as released programs write them that depart from the specification and have one meaning.

Each has a name, the document, the place of the departure, and the dtype and fill value it is read with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
NAN = float("nan")  # the json module writes the bare token, as early versions of zarr-python did


class Case(NamedTuple):
    name: str
    document: dict[str, Any]
    where: str
    dtype: str = "<i4"
    fill_value: Any = 0
    in_c: bool = True


def v2(**members: Any) -> dict[str, Any]:
    document = {
        "zarr_format": 2,
        "shape": [2, 3],
        "chunks": [2, 3],
        "dtype": "<i4",
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
    }
    return {name: value for name, value in (document | members).items() if value is not ...}


def v3(**members: Any) -> dict[str, Any]:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [2, 3],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [LITTLE],
    }
    return {name: value for name, value in (document | members).items() if value is not ...}


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def blosc(**members: Any) -> dict[str, Any]:
    return {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0} | members


F = codec("transpose", order="F")
C = codec("transpose", order="C")
GZIP = codec("gzip", level=1)
NO_CHECKSUM = {"id": "zstd", "level": 13, "checksum": "NO"}
DELTA = {"id": "lzma", "format": 1, "check": -1, "preset": 6, "delta": 1}

FORMAT_2 = [
    Case("gdal zstd checksum", v2(compressor=NO_CHECKSUM), "compressor.checksum"),
    Case("gdal blosc shuffle", v2(compressor=blosc(shuffle="BIT")), "compressor.shuffle"),
    Case("gdal lzma delta", v2(compressor=DELTA), "compressor.delta", in_c=False),
    Case("gzip level as text", v2(compressor={"id": "gzip", "level": "5"}), "compressor.level"),
    Case("lz4 of others", v2(compressor={"id": "lz4", "more": 1}), "compressor.more"),
    Case("compressor as filter", v2(filters=[{"id": "zlib", "level": "1"}]), "filters[0].level"),
    Case("n5-zarr raw", v2(compressor={"type": "raw"}), "compressor"),
    Case("no compressor member", v2(compressor=...), "compressor"),
    Case("no filters member", v2(filters=...), "filters"),
    Case("null separator", v2(dimension_separator=None), "dimension_separator"),
    Case("numpy name int64", v2(dtype="int64"), "dtype", "<i8"),
    Case("numpy name float32", v2(dtype="float32"), "dtype", "<f4"),
    Case("numpy name bool", v2(dtype="bool", fill_value=False), "dtype", "|b1", False),
    Case("machine order", v2(dtype="=i4"), "dtype"),
    Case("no order", v2(dtype="u2"), "dtype", "<u2"),
    Case("no order, one byte", v2(dtype="u1"), "dtype", "|u1"),
    Case("text for bytes", v2(dtype="|S4", fill_value="N/A"), "fill_value", "|S4", b"N/A"),
    Case("number for bytes", v2(dtype="|S3", fill_value=0), "fill_value", "|S3", b""),
    Case("list for bytes", v2(dtype="|S3", fill_value=[1]), "fill_value", "|S3", b"\1"),
    Case("text for a time", v2(dtype="<M8[s]", fill_value="7"), "fill_value", "<M8[s]", 7),
    Case("text for a number", v2(dtype="<f4", fill_value="1.5"), "fill_value", "<f4", 1.5),
    Case("bare NaN", v2(dtype="<f4", fill_value=NAN), "fill_value", "<f4", math.nan),
    Case(
        "bare infinity", v2(dtype="<c8", fill_value=[-math.inf, 0]), "fill_value", "<c8", complex(-math.inf)
    ),
    Case("lengths with a fraction part", v2(shape=[2.0, 3]), "shape"),
    Case("chunk lengths with a fraction part", v2(chunks=[2, 3.0]), "chunks"),
    Case("python's 0j", v2(dtype="<c8", fill_value="0j"), "fill_value", "<c8", 0),
    Case("python's complex", v2(dtype="<c8", fill_value="(-1.5-2e3j)"), "fill_value", "<c8", -1.5 - 2e3j),
]

FORMAT_3 = [
    Case("gdal and zarrita.js null fill", v3(fill_value=None), "fill_value"),
    Case("null fill of times",
         v3(data_type=codec("numpy.datetime64", unit="s", scale_factor=1), fill_value=None),
         "fill_value", "<M8[s]", "NaT"),
    Case("zarrita.js no codecs", v3(codecs=[]), "codecs"),
    Case("no codecs of small numbers", v3(codecs=[], data_type="uint8"), "codecs", "|u1"),
    Case("zarrita.py F", v3(codecs=[F, LITTLE]), "codecs[0].configuration.order"),
    Case("zarrita.py C", v3(codecs=[C, LITTLE, GZIP]), "codecs[0].configuration.order"),
    Case("zarrita.py F in shards",
         v3(codecs=[codec("sharding_indexed", chunk_shape=[1, 3], codecs=[F, LITTLE],
                          index_codecs=[LITTLE, {"name": "crc32c"}])]),
         "codecs[0].configuration.codecs[0].configuration.order"),
    Case("endian", v3(codecs=[codec("endian", endian="big")]), "codecs[0]"),
    Case("null attributes", v3(attributes=None), "attributes"),
    Case("null names", v3(dimension_names=None), "dimension_names"),
    Case("null transformers", v3(storage_transformers=None), "storage_transformers"),
    Case("null separator", v3(chunk_key_encoding=codec("v2", separator=None)),
         "chunk_key_encoding.configuration.separator"),
    Case("3.0 for an integer", v3(fill_value=3.0), "fill_value", "<i4", 3),
    Case("bare NaN", v3(data_type="float64", fill_value=NAN), "fill_value", "<f8", math.nan),
    Case("lengths with a fraction part", v3(shape=[2.0, 3]), "shape"),
    Case("chunk lengths with a fraction part", v3(chunk_grid=codec("regular", chunk_shape=[2.0, 3])),
         "chunk_grid.configuration.chunk_shape"),
    Case("a data type not to be understood", v3(data_type={"name": "int32", "must_understand": False}),
         "data_type.must_understand"),
    Case("a grid not to be understood",
         v3(chunk_grid={**codec("regular", chunk_shape=[2, 3]), "must_understand": False}),
         "chunk_grid.must_understand"),
    Case("keys not to be understood", v3(chunk_key_encoding={"name": "v2", "must_understand": False}),
         "chunk_key_encoding.must_understand"),
    Case("a separator beside the name", v3(chunk_key_encoding={"name": "default", "separator": "."}),
         "chunk_key_encoding.separator"),
    Case("blosc without typesize",
         v3(codecs=[LITTLE, codec("blosc", cname="lz4", clevel=5, shuffle="shuffle", blocksize=0)]),
         "codecs[1].configuration.typesize"),
    Case("base64 for raw bits", v3(data_type="r16", codecs=["bytes"], fill_value="AQI="),
         "fill_value", "V2", b"\1\2"),
    Case("empty dimension", v3(shape=[0, 3], chunk_grid=codec("regular", chunk_shape=[0, 3])),
         "chunk_grid.configuration.chunk_shape"),
]  # fmt: skip

CASES = [*(pair for pair in FORMAT_2), *(pair for pair in FORMAT_3)]

REFUSED = {
    "a fraction for an integer": (v2(fill_value=1.5), "fill_value"),
    "NaN for text": (v2(dtype="<U3", fill_value=NAN), "fill_value"),
    "no order where there must be one": (v2(dtype="|i4"), "dtype"),
    "text that is too long": (v2(dtype="|S2", fill_value="N/A"), "fill_value"),
    "not ASCII": (v2(dtype="|S4", fill_value="é"), "fill_value"),
    "a filter's member": (v2(filters=[{"id": "delta", "dtype": "<i4", "more": 1}]), r"filters\[0\]"),
    "an unknown N5 compression": (v2(compressor={"type": "gzip"}), "compressor"),
    "fewer bytes than r24 has": (v3(data_type="r24", fill_value=[1, 2]), "fill_value"),
    "null for text": (v3(data_type="string", codecs=["vlen-utf8"], fill_value=None), "fill_value"),
    "text for an integer": (v3(fill_value="-3"), "fill_value"),
    "a number for a Boolean": (v3(data_type="bool", fill_value=1), "fill_value"),
    "a number for a pair": (v3(data_type="complex64", fill_value=2), "fill_value"),
    "bits in format 2": (v2(dtype="<f4", fill_value="0x3fc00000"), "fill_value"),
    "a compressor alone": (v3(codecs=[GZIP]), "codecs"),
    "a transposition alone": (v3(codecs=[codec("transpose", order=[1, 0])]), "codecs"),
    "a fraction for an integer of format 3": (v3(fill_value=3.5), "fill_value"),
    "codecs out of order": (v3(codecs=[GZIP, codec("transpose", order=[1, 0])]), "codecs"),
    "no bytes in shards": (
        v3(codecs=[codec("sharding_indexed", chunk_shape=[1, 3], codecs=[], index_codecs=[LITTLE])]),
        "codecs",
    ),
    "an order that is none": (v3(codecs=[codec("transpose", order="A"), LITTLE]), "codecs"),
    "an option of a codec of format 3": (v3(codecs=[LITTLE, codec("gzip", level="1")]), "codecs"),
}
