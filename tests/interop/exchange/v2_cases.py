# SPDX-License-Identifier: MIT
"""Arrays of format 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from exchange.cases import SMALL_FLOATS, Case, numbers, objects, v2

ZLIB = {"id": "zlib", "level": 1}


def blosc(**options: Any) -> dict[str, Any]:
    return {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0, **options}


SMALL_INTEGERS = ("int2", "int4", "uint2", "uint4")

# Of foreign byte order, or in Fortran order, it can write whole chunks.
NOT_ZARRS = {"zarrs reads": "needs memory in the order of the machine and of C"}

# ---- data types ------------------------------------------------------------------------------------------

NUMBERS = [
    v2("bool", "|b1", True),
    v2("i1", "|i1", -3),
    v2("u1", "|u1", 0),
    *(
        v2(f"{kind}-{word}", f"{sign}{kind}", fill, compressor=ZLIB, refused=refused)
        for kind, fill in (
            ("i2", -1),
            ("i4", 9),
            ("i8", -(2**63)),
            ("u2", 2**16 - 1),
            ("u4", 7),
            ("u8", 2**64 - 1),
            ("f2", "Infinity"),
            ("f4", "NaN"),
            ("f8", 2.5),
            ("c8", [1.0, -2.5]),
            ("c16", ["NaN", "-Infinity"]),
        )
        for sign, word, refused in (("<", "little", {}), (">", "big", NOT_ZARRS))
    ),
]
FILLS = [
    v2("fill-minus-zero", "<f8", -0.0, refused={"zarr-python 2 writes": "makes it 0.0"}),
    v2("fill-null", "<f8", None),
    v2("fill-null-int", "<i4", None, compressor=ZLIB),
    v2("fill-nan", "<f8", "NaN"),
    v2("fill-minus-infinity", "<f4", "-Infinity"),
    v2("fill-of-1e300", "<f8", 1e300),
    v2("fill-integer-of-float", "<f8", 7),
]
STRUCT = [["a", "<i2"], ["b", ">f8"], ["c", "|u1"]]
NESTED = [["t", "<M8[s]"], ["in", [["x", "<f4"], ["s", "|S3"]]]]
SUBARRAYS = [["a", "|u1"], ["m", "<f4", [2, 3]]]
SPECIAL = [
    v2("S7", "|S7", "YWI="),
    v2("S7-empty", "|S7", "", compressor=ZLIB),
    v2("U6", "<U6", "né"),
    v2("U6-big", ">U6", "", compressor=ZLIB),
    v2("V3", "|V3", "AQID", compressor=ZLIB),
    *(
        v2(f"{kind}-{unit}-{word}", f"{sign}{kind}[{unit}]", fill)
        for kind, fill in (("M8", 12), ("m8", -1))
        for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "25us", "7m")
        for sign, word in (("<", "little"), (">", "big"))
    ),
    *(v2(name, name, 0, compressor=ZLIB) for name in SMALL_FLOATS),
    *(v2(name, name, 1, make=numbers(0, 2)) for name in SMALL_INTEGERS),
    v2("M8-nat", "<M8[ms]", -(2**63)),
    v2("M8-null", "<M8[us]", None),
    v2("struct", STRUCT, "AQAAAAAAAAAAAAI=", compressor=ZLIB),
    v2("struct-null", STRUCT, None),
    v2(
        "struct-nested",
        NESTED,
        None,
        compressor=blosc(),
        refused={
            "zarr-python writes": "compresses no points in time",
            "tensorstore": "has no points in time",
        },
    ),
    v2(
        "struct-subarrays",
        SUBARRAYS,
        None,
        compressor=ZLIB,
        refused={"zarr-python": "has no fields with a shape"},
    ),
    v2("struct-big-F", [["a", ">i4"], ["b", ">c8"]], None, order="F"),
]


def ragged(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Arrays of different lengths."""
    values = np.empty(shape, object)
    for index in np.ndindex(shape):
        values[index] = np.arange(1 + rng.integers(3), dtype="<i4")
    return values


JSON_OBJECTS = objects("", "né漢", 5, 2.5, None, True, [1, ["a"]], {"k": {"n": None}})
OBJECTS = [
    v2("vlen-utf8", "|O", "", filters=[{"id": "vlen-utf8"}], compressor=ZLIB),
    v2("vlen-utf8-fill", "|O", "né", filters=[{"id": "vlen-utf8"}]),
    v2("vlen-utf8-F", "|O", "", filters=[{"id": "vlen-utf8"}], order="F", compressor=blosc()),
    v2(
        "vlen-bytes",
        "|O",
        None,
        filters=[{"id": "vlen-bytes"}],
        compressor=ZLIB,
        make=objects(b"", b"a\0", b"b" * 300),
    ),
    v2(
        "vlen-bytes-fill",
        "|O",
        "",
        filters=[{"id": "vlen-bytes"}],
        make=objects(b"", b"a\0"),
        refused={"zarr-python 2 reads": "takes the fill value for a string"},
    ),
    v2(
        "vlen-array", "|O", None, filters=[{"id": "vlen-array", "dtype": "<i4"}], compressor=ZLIB, make=ragged
    ),
    v2("json2", "|O", None, filters=[{"id": "json2"}], compressor=ZLIB, make=JSON_OBJECTS),
    v2("msgpack2", "|O", None, filters=[{"id": "msgpack2"}], compressor=ZLIB, make=JSON_OBJECTS),
    v2("msgpack2-bytes", "|O", None, filters=[{"id": "msgpack2"}], make=objects(b"a", "a", -1, 2**40)),
    v2(
        "categorize-objects",
        "|O",
        "",
        filters=[{"id": "categorize", "labels": ["ä", "b", "c"], "dtype": "|O", "astype": "|u1"}],
        make=objects("ä", "b", "c", ""),
        refused={"zarr-python": "does not know what the objects are"},
    ),
]

# ---- compressors and filters -----------------------------------------------------------------------------

COMPRESSORS = [
    v2("plain"),
    v2("zlib", compressor={"id": "zlib", "level": 9}),
    v2("gzip", compressor={"id": "gzip", "level": 1}),
    v2("bz2", compressor={"id": "bz2", "level": 1}),
    v2("zstd", compressor={"id": "zstd", "level": 3}),
    v2(
        "zstd-checksum",
        compressor={"id": "zstd", "level": 1, "checksum": True},
        refused=dict.fromkeys(("zarrs", "tensorstore"), "does not know the member checksum"),
    ),
    v2("lz4", compressor={"id": "lz4", "acceleration": 1}),
    v2("lzma", compressor={"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}),
    v2(
        "lzma-raw",
        compressor={"id": "lzma", "format": 3, "check": -1, "preset": None, "filters": [{"id": 33}]},
    ),
    *(
        v2(f"blosc-{cname}-{shuffle}", "<f8", compressor=blosc(cname=cname, shuffle=shuffle))
        for cname in ("lz4", "lz4hc", "blosclz", "zstd", "zlib")
        for shuffle in (0, 1, 2, -1)
    ),
    v2("blosc-blocks", "<u2", compressor=blosc(blocksize=128)),
    v2("blosc-of-bytes", "|u1", compressor=blosc(shuffle=-1)),
    v2("blosc-of-strings", "<U3", "", compressor=blosc()),
    v2(
        "pcodec",
        "<f8",
        compressor={"id": "pcodec", "level": 8, "mode_spec": "auto", "delta_spec": "auto"},
        refused={"zarr-python 2 reads": "goes with a pcodec that does not know files of the newest"},
    ),
    v2(
        "zfpy",
        "<f8",
        compressor={"id": "zfpy", "mode": 4, "tolerance": 0.0, "rate": -1, "precision": -1},
        make=numbers(),
    ),
]
LABELS = ["ä", "b", "c"]
FILTERS = [
    v2("delta", filters=[{"id": "delta", "dtype": "<i4"}], make=numbers(-99, 99)),
    v2("delta-big", ">i4", filters=[{"id": "delta", "dtype": ">i4"}], compressor=ZLIB),
    v2(
        "delta-narrow", "<i8", filters=[{"id": "delta", "dtype": "<i8", "astype": "<i2"}], make=numbers(0, 99)
    ),
    v2("delta-f8", "<f8", filters=[{"id": "delta", "dtype": "<f8"}], make=numbers()),
    v2("delta-F", order="F", filters=[{"id": "delta", "dtype": "<i4"}], make=numbers()),
    v2(
        "fixedscaleoffset",
        "<f8",
        filters=[{"id": "fixedscaleoffset", "offset": 4, "scale": 2, "dtype": "<f8", "astype": "|u1"}],
        make=numbers(8, 99, 0.5),
        fill=4,
    ),
    v2("quantize", "<f4", filters=[{"id": "quantize", "digits": 2, "dtype": "<f4"}], make=numbers(-9, 9)),
    v2("bitround", "<f4", filters=[{"id": "bitround", "keepbits": 6}], make=numbers()),
    v2("packbits", "|b1", filters=[{"id": "packbits"}], fill=False),
    v2("shuffle", filters=[{"id": "shuffle", "elementsize": 4}], compressor=ZLIB),
    v2("shuffle-f8", "<f8", filters=[{"id": "shuffle", "elementsize": 8}]),
    v2(
        "astype",
        "<f8",
        filters=[{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}],
        make=numbers(),
    ),
    v2(
        "categorize",
        "<U3",
        "",
        filters=[{"id": "categorize", "labels": LABELS, "dtype": "<U3", "astype": "|u1"}],
        make=lambda rng, shape: np.array([*LABELS, ""], "<U3")[rng.integers(0, 4, shape)],
    ),
    v2("base64", filters=[{"id": "base64"}]),
    v2("adler32", filters=[{"id": "adler32"}], compressor=ZLIB),
    v2("adler32-end", filters=[{"id": "adler32", "location": "end"}]),
    v2("crc32", filters=[{"id": "crc32"}], compressor=ZLIB),
    v2("crc32c", filters=[{"id": "crc32c"}]),
    v2("crc32c-start", filters=[{"id": "crc32c", "location": "start"}], compressor=ZLIB),
    v2("fletcher32", filters=[{"id": "fletcher32"}]),
    v2("jenkins", filters=[{"id": "jenkins_lookup3", "initval": 0, "prefix": None}]),
    v2(
        "several",
        filters=[{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}, {"id": "crc32"}],
        compressor=blosc(cname="zstd"),
        make=numbers(),
    ),
    v2(
        "zlib-as-filter",
        filters=[ZLIB],
        compressor={"id": "bz2", "level": 1},
        refused={"tensorstore": "has no filters"},
    ),
]

# ---- order, keys, shapes ---------------------------------------------------------------------------------

LAYOUTS = [
    v2("order-F", order="F", compressor=ZLIB, refused=NOT_ZARRS),
    v2("order-F-big", ">u2", order="F", shape=(5, 6, 7), chunks=(2, 4, 3), refused=NOT_ZARRS),
    v2("slash-keys", separator="/"),
    v2(
        "slash-keys-F",
        "<f8",
        "NaN",
        separator="/",
        order="F",
        shape=(5, 6, 7),
        chunks=(2, 4, 3),
        refused=NOT_ZARRS,
    ),
    v2("0d", "<f4", 2.5, shape=(), chunks=()),
    v2("0d-struct", STRUCT, None, shape=(), chunks=(), compressor=ZLIB),
    v2("1d", shape=(100,), chunks=(7,)),
    v2("5d", compressor=blosc(), shape=(3, 4, 2, 5, 3), chunks=(2, 3, 2, 4, 1)),
    v2("empty", shape=(0, 5), chunks=(2, 3), compressor=ZLIB),
    v2("one-chunk", chunks=(20, 20), compressor=ZLIB),
]

CASES: list[Case] = [
    *NUMBERS,
    *FILLS,
    *SPECIAL,
    *OBJECTS,
    *COMPRESSORS,
    *FILTERS,
    *LAYOUTS,
]
