# SPDX-License-Identifier: MIT
"""Arrays of format 3."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from exchange.cases import BIG, BYTES, LITTLE, SMALL_FLOATS, Case, codec, numbers, objects, v3

CRC = codec("crc32c")
GZIP = codec("gzip", level=1)
ZSTD = codec("zstd", level=3, checksum=False)


def blosc(cname: str = "lz4", shuffle: str = "shuffle", **more: Any) -> dict[str, Any]:
    options = {"cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0, "typesize": 4, **more}
    return codec("blosc", **options)


def transpose(*order: int) -> dict[str, Any]:
    return codec("transpose", order=list(order))


def sharding(
    chunk_shape: tuple, codecs: tuple = (LITTLE,), where: str = "end", index: tuple = (LITTLE, CRC)
) -> dict[str, Any]:
    return codec(
        "sharding_indexed",
        chunk_shape=list(chunk_shape),
        codecs=list(codecs),
        index_codecs=list(index),
        index_location=where,
    )


# ---- data types ------------------------------------------------------------------------------------------

NUMBERS = [
    *(
        v3(f"{kind}-{word}", kind, (end, ZSTD), fill)
        for kind, fill in (
            ("int16", -5),
            ("uint16", 2**16 - 1),
            ("int32", -(2**31)),
            ("uint32", 7),
            ("int64", -(2**63)),
            ("uint64", 2**64 - 1),
        )
        for word, end in (("little", LITTLE), ("big", BIG))
    ),
    v3("bool", "bool", (BYTES, ZSTD), True),
    v3("bool-false", "bool", (BYTES,), False),
    v3("int8", "int8", (BYTES,), -1),
    v3("uint8", "uint8", (BYTES, CRC), 255),
    v3("complex64", "complex64", (LITTLE, ZSTD), [1.5, -0.5]),
    v3("complex64-nan", "complex64", (BIG,), ["NaN", "-Infinity"]),
    v3("complex128", "complex128", (BIG, ZSTD), [0.0, 2.5]),
]
# Python's own conversion of a float16 keeps them from 3.14 on, so that zarr-python reads them.
READS_BITS = sys.version_info >= (3, 14)
NO_BITS = dict.fromkeys(
    ("zarr-python writes" if READS_BITS else "zarr-python", "zarrs"), "loses the bits of the fill value"
)
FILLS = [
    *(
        v3(f"{kind}-{fill}-{word}", kind, (end, GZIP), fill)
        for kind, fill, word, end in (
            ("float16", "NaN", "little", LITTLE),
            ("float16", "-Infinity", "big", BIG),
            ("float32", "NaN", "big", BIG),
            ("float32", "Infinity", "little", LITTLE),
            ("float64", "-Infinity", "little", LITTLE),
            ("float64", -0.0, "big", BIG),
            ("float64", 5e-324, "little", LITTLE),
            ("float64", 1, "little", LITTLE),
        )
    ),
    v3("float32-bits", "float32", fill="0x7fc00000"),
    v3(
        "float64-payload",
        "float64",
        fill="0x7ff8000000000123",
        refused={
            "zarr-python writes": "writes the fill value as NaN",
            "zarrs": "gets the fill value as NaN from zarr-python",
        },
    ),
    v3(
        "float16-payload",
        "float16",
        fill="0x7e01",
        refused=NO_BITS,
    ),
    v3("float64-fill-of-1e300", "float64", fill=1e300),
]
STRUCT = [["a", "int16"], ["b", "float64"], ["c", "uint8"]]
FIELDS = [{"name": name, "data_type": kind} for name, kind in STRUCT]
STRINGS = {"zarr-python writes": "takes the fill value as a string"}
NO_SIGN = {"zarr-python writes": "writes the fill value as NaN", "zarrs": "gets the fill value as NaN"}
SPELLINGS = [
    v3("float32-hex-of-1", "float32", fill="0x3f800000"),
    v3("float16-minus-nan", "float16", fill="0xfe00", refused=NO_SIGN),
    v3("complex64-hex", "complex64", fill=["0x3f800000", "0xbf800000"]),
    v3("complex128-mixed", "complex128", fill=[1, "Infinity"]),
    v3("float64-integer", "float64", fill=-7),
    v3(
        "bytes-as-numbers",
        "variable_length_bytes",
        (codec("vlen-bytes"),),
        [1, 2],
        make=objects(b"", b"a\0"),
        refused=STRINGS,
    ),
    v3("raw-as-numbers", codec("raw_bytes", length_bytes=3), (BYTES,), [1, 2, 3], refused=STRINGS),
    v3("datetime64-number-of-nat", codec("numpy.datetime64", unit="s", scale_factor=1), fill=-(2**63)),
    v3(
        "struct-as-base64",
        codec("struct", fields=FIELDS),
        fill="AQAAAAAAAAAAAAI=",
        refused={"tensorstore writes": "takes the fill value as an object"},
    ),
]
SPECIAL = [
    v3("string", "string", (codec("vlen-utf8"), ZSTD), ""),
    v3("string-fill", "string", (codec("vlen-utf8"),), "né漢"),
    v3(
        "bytes",
        "variable_length_bytes",
        (codec("vlen-bytes"), ZSTD),
        "",
        make=objects(b"", b"a\0", b"b" * 300),
    ),
    v3("bytes-fill", "variable_length_bytes", (codec("vlen-bytes"),), "AQID", make=objects(b"", b"a\0")),
    v3("utf32", codec("fixed_length_utf32", length_bytes=16), (LITTLE, ZSTD), "né"),
    v3("utf32-big", codec("fixed_length_utf32", length_bytes=16), (BIG,), ""),
    v3("s5", codec("null_terminated_bytes", length_bytes=5), (BYTES, ZSTD), "YWI="),
    v3("raw", codec("raw_bytes", length_bytes=3), (BYTES, ZSTD), "AQID"),
    v3("r24", "r24", (BYTES,), [1, 2, 3], refused={"zarr-python": "has another name for the data type"}),
    *(
        v3(f"{kind}-{unit}-{scale}", codec(f"numpy.{kind}", unit=unit, scale_factor=scale), (end,), fill)
        for kind, unit, scale, end, fill in (
            ("datetime64", "s", 1, LITTLE, "NaT"),
            ("datetime64", "us", 25, BIG, 7),
            ("datetime64", "D", 1, LITTLE, 0),
            ("timedelta64", "ns", 1, LITTLE, -1),
            ("timedelta64", "h", 3, BIG, "NaT"),
            ("timedelta64", "generic", 1, LITTLE, 0),
        )
    ),
    v3("structured", codec("structured", fields=STRUCT), (LITTLE, ZSTD), "AQAAAAAAAAAAAAI="),
    v3(
        "struct",
        codec("struct", fields=FIELDS),
        (LITTLE, ZSTD),
        {"a": 1, "b": 2.5, "c": 3},
    ),
    v3(
        "struct-nested",
        codec(
            "struct",
            fields=[
                {"name": "t", "data_type": codec("numpy.datetime64", unit="s", scale_factor=1)},
                {
                    "name": "in",
                    "data_type": codec("struct", fields=[{"name": "x", "data_type": "float32"}]),
                },
            ],
        ),
        (LITTLE,),
        {"t": 0, "in": {"x": "NaN"}},
        refused={"tensorstore": "has no points in time"},
    ),
]
ZARRS_FILL = {"zarrs": "takes hexadecimal fill values only"}
FILL_OF_SMALL = {
    "float8_e8m0fnu": ZARRS_FILL | {"tensorstore reads": "takes the fill value 1 for another power of 2"}
}


def powers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """What all of them hold: 1 and 2."""
    return 2.0 ** rng.integers(0, 2, shape)


SMALL = [
    v3("bfloat16", "bfloat16", (LITTLE, ZSTD), "NaN"),
    v3("bfloat16-big", "bfloat16", (BIG,), 1.5),
    *(
        v3(name, name, (BYTES, GZIP), 1.0, make=powers, refused=FILL_OF_SMALL.get(name, ZARRS_FILL))
        for name in SMALL_FLOATS[1:]
    ),
    *(v3(f"{name}-hex", name, (BYTES, GZIP), "0x00", make=powers) for name in SMALL_FLOATS[1:]),
    *(v3(name, name, (BYTES, ZSTD), 1, make=numbers(0, 2)) for name in ("int2", "int4", "uint2", "uint4")),
    v3("complex-bfloat16", "complex_bfloat16", (LITTLE,), [1.0, "NaN"]),
    v3("complex-float16", "complex_float16", (BIG,), [1.0, 0.0]),
    *(
        v3(f"complex-{name}", f"complex_{name}", (BYTES,), ["0x00", "0x00"])
        for name in SMALL_FLOATS[1:]
        if name != "float8_e4m3fn"
    ),
]

# ---- codecs ----------------------------------------------------------------------------------------------

READ_ONLY = {f"{peer} writes": "reads it as bytes" for peer in ("zarr-python", "zarrs", "tensorstore")}
CODECS = [
    *(
        v3(f"blosc-{cname}-{shuffle}", codecs=(LITTLE, blosc(cname, shuffle)))
        for cname in ("lz4", "lz4hc", "blosclz", "zstd", "zlib")
        for shuffle in ("noshuffle", "shuffle", "bitshuffle")
    ),
    v3("blosc-level-0", codecs=(LITTLE, blosc(clevel=0))),
    v3("blosc-blocks", codecs=(LITTLE, blosc(blocksize=256))),
    v3("blosc-of-bytes", codecs=(LITTLE, blosc(typesize=1))),
    v3("blosc-u1", "uint8", (BYTES, blosc(typesize=1, shuffle="bitshuffle"))),
    v3("gzip-9", codecs=(LITTLE, codec("gzip", level=9))),
    v3("zstd-checksum", codecs=(LITTLE, codec("zstd", level=1, checksum=True))),
    v3("zstd-negative", codecs=(LITTLE, codec("zstd", level=-5, checksum=False))),
    v3("crc32c-twice", codecs=(LITTLE, CRC, ZSTD, CRC)),
    v3("endian", codecs=(codec("endian", endian="big"),), refused=READ_ONLY),
    v3("transposed", codecs=(transpose(1, 0), BIG, CRC)),
    v3(
        "transposed-twice",
        codecs=(transpose(2, 0, 1), transpose(0, 2, 1), LITTLE, ZSTD),
        shape=(5, 7, 9),
        chunks=(2, 3, 4),
    ),
    v3("transposed-big", "float64", (transpose(1, 0), BIG, blosc(typesize=8)), "NaN"),
    v3("bitround", "float32", (codec("bitround", keepbits=10), LITTLE), make=numbers()),
    v3("bitround-of-integers", "uint16", (codec("bitround", keepbits=16), LITTLE), make=numbers()),
    v3("packbits", "bool", (codec("packbits"),), True),
    v3("packbits-padded", "bool", (codec("packbits", padding_encoding="first_byte"), GZIP), False),
    v3("packbits-of-some-bits", "uint8", (codec("packbits", first_bit=0, last_bit=3),), make=numbers()),
    v3("packbits-int4", "int4", (codec("packbits"),), make=numbers(0, 8)),
    v3("packbits-uint16", "uint16", (codec("packbits", first_bit=2, last_bit=9),), make=numbers(0, 255, 4)),
    v3("reshape", codecs=(codec("reshape", shape=[[0, 1]]), LITTLE, ZSTD)),
    v3("reshape-numbers", codecs=(codec("reshape", shape=[4, -1]), transpose(1, 0), LITTLE)),
    v3("pcodec", codecs=(codec("pcodec", level=8),)),
    v3("zfp-reversible", "float32", (codec("zfp", mode="reversible"),), make=numbers()),
    v3("zfp-int32", "int32", (codec("zfp", mode="reversible"),), make=numbers()),
    v3("zfp-rate", "float64", (codec("zfp", mode="fixed_rate", rate=64),), make=numbers()),
    v3("zfp-precision", "float64", (codec("zfp", mode="fixed_precision", precision=64),), make=numbers()),
    v3(
        "zfp-accuracy",
        "float64",
        (codec("zfp", mode="fixed_accuracy", tolerance=0.0009765625),),
        make=numbers(),
    ),
    v3("scale-offset", "float64", (codec("scale_offset", offset=5, scale=0.5), LITTLE), make=numbers()),
    v3("scale-offset-int", "int32", (codec("scale_offset", offset=-3, scale=2), BIG), make=numbers()),
    v3("cast", "float64", (codec("cast_value", data_type="int16"), BIG, ZSTD), make=numbers(-99, 99)),
    v3(
        "cast-with-map",
        "float64",
        (
            codec(
                "cast_value",
                data_type="uint8",
                rounding="towards-zero",
                out_of_range="clamp",
                scalar_map={"encode": [["NaN", 255]], "decode": [[255, "NaN"]]},
            ),
            BYTES,
        ),
        "NaN",
        make=numbers(0, 200),
    ),
    v3(
        "cast-of-scaled",
        "float32",
        (codec("scale_offset", offset=10, scale=4), codec("cast_value", data_type="int8"), BYTES, GZIP),
        10,
        make=numbers(0, 60, 0.25),
    ),
    v3("conditional", codecs=(LITTLE, codec("conditional", codecs=[GZIP, CRC]))),
]

ITEM_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    "bfloat16": 2,
    "int2": 1,
    "int4": 1,
    "float8_e5m2": 1,
    "float8_e3m4": 1,
    "uint4": 1,
}


def chains(size: int) -> dict[str, tuple]:
    """The usual ways to store items of this size."""
    items = LITTLE if size > 1 else BYTES
    return {
        "gzip": (items, GZIP),
        "zstd": (items, ZSTD),
        "blosc": (items, blosc(typesize=size)),
        "crc32c": (items, CRC),
        "transposed": (transpose(1, 0), BIG if size > 1 else BYTES),
        "sharded": (sharding((3, 2), (items, ZSTD)),),
        "all": (transpose(1, 0), sharding((2, 2), (transpose(1, 0), items, blosc(typesize=size), CRC))),
    }


FILL = {
    "bool": False,
    "complex64": [0.0, 0.0],
    "complex128": [0.0, 0.0],
    **dict.fromkeys(SMALL_FLOATS[1:], "0x00"),
}
EACH_WITH_EACH = [
    v3(
        f"{kind}-{name}",
        kind,
        chain,
        "0x00" if kind.startswith("float8") else FILL.get(kind, 0),
        make=numbers(0, 2),
    )
    for kind, size in ITEM_SIZES.items()
    for name, chain in chains(size).items()
]


def of_numcodecs(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": f"numcodecs.{name}", "configuration": configuration}


NUMCODECS = [
    *(
        v3(f"numcodecs-{name}", codecs=(LITTLE, of_numcodecs(name, **configuration)))
        for name, configuration in (
            ("adler32", {}),
            ("blosc", {"cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0}),
            ("bz2", {"level": 1}),
            ("crc32", {}),
            ("crc32c", {}),
            ("fletcher32", {}),
            ("gzip", {"level": 1}),
            ("jenkins_lookup3", {"initval": 7}),
            ("lz4", {"acceleration": 1}),
            ("lzma", {"format": 1, "check": -1, "preset": 1, "filters": None}),
            ("shuffle", {"elementsize": 4}),
            ("zlib", {"level": 1}),
            ("zstd", {"level": 1}),
        )
    ),
    v3("numcodecs-checksum-first", codecs=(LITTLE, of_numcodecs("crc32", location="end"), ZSTD)),
    v3("numcodecs-delta", codecs=(of_numcodecs("delta", dtype="<i4"), LITTLE)),
    v3("numcodecs-delta-f8", "float64", (of_numcodecs("delta", dtype="<f8"), LITTLE), make=numbers()),
    v3(
        "numcodecs-astype",
        "float64",
        (of_numcodecs("astype", encode_dtype="<f4", decode_dtype="<f8"), LITTLE),
        make=numbers(),
    ),
    v3("numcodecs-bitround", "float32", (of_numcodecs("bitround", keepbits=8), LITTLE), make=numbers()),
    v3(
        "numcodecs-fixedscaleoffset",
        "float64",
        (of_numcodecs("fixedscaleoffset", offset=4, scale=2, dtype="<f8", astype="<i2"), LITTLE),
        make=numbers(),
    ),
    v3(
        "numcodecs-quantize",
        "float64",
        (of_numcodecs("quantize", digits=3, dtype="<f8"), LITTLE),
        make=numbers(),
    ),
    v3("numcodecs-packbits", "bool", (of_numcodecs("packbits"), BYTES), False),
    v3(
        "numcodecs-pcodec",
        "float64",
        (
            of_numcodecs(
                "pcodec",
                level=8,
                mode_spec="auto",
                delta_encoding_order=None,
                paging_spec="equal_pages_up_to",
                equal_pages_up_to=262144,
                delta_spec="auto",
            ),
        ),
    ),
    v3(
        "numcodecs-zfpy",
        "float64",
        (of_numcodecs("zfpy", mode=4, tolerance=0.0, rate=-1, precision=-1),),
        make=numbers(),
    ),
    v3(
        "numcodecs-both",
        "float32",
        (
            of_numcodecs("quantize", digits=2, dtype="<f4"),
            LITTLE,
            of_numcodecs("shuffle", elementsize=4),
            of_numcodecs("zlib", level=3),
        ),
        make=numbers(),
    ),
]

# ---- shards ----------------------------------------------------------------------------------------------

SHARDS = [
    v3("sharded-end", codecs=(sharding((3, 2), (LITTLE, ZSTD)),)),
    v3("sharded-start", codecs=(sharding((2, 8), (BIG, blosc()), where="start"),)),
    v3("sharded-plain", codecs=(sharding((6, 4)),)),
    v3("sharded-index-plain", codecs=(sharding((3, 4), (LITTLE, CRC), index=(LITTLE,)),)),
    v3("sharded-index-big", codecs=(sharding((3, 4), (LITTLE, CRC), index=(BIG, CRC)),)),
    v3("sharded-transposed-inside", codecs=(sharding((3, 4), (transpose(1, 0), BIG, ZSTD)),)),
    v3("sharded-transposed-outside", codecs=(transpose(1, 0), sharding((2, 2), (LITTLE, ZSTD)))),
    v3(
        "sharded-transposed-uneven",
        codecs=(transpose(1, 0), sharding((4, 3), (LITTLE, ZSTD))),
        refused=dict.fromkeys(("zarr-python", "zarrs"), "divides the shape before the transposition"),
    ),
    v3(
        "sharded-compressed",
        codecs=(sharding((3, 4)), ZSTD),
        refused={"tensorstore": "takes no codecs after the shards"},
    ),
    v3("nested", codecs=(sharding((6, 4), (sharding((3, 2), (LITTLE, ZSTD), where="start"),)),)),
    v3("nested-deep", codecs=(sharding((6, 4), (sharding((3, 2), (sharding((1, 1), (LITTLE, CRC)),)),)),)),
    v3("sharded-f8-nan", "float64", (sharding((3, 2), (LITTLE, GZIP)),), "NaN"),
    v3("sharded-bool", "bool", (sharding((3, 2), (BYTES,)),), True),
    v3("sharded-numcodecs", codecs=(sharding((3, 2), (LITTLE, of_numcodecs("zlib", level=1))),)),
    v3("sharded-strings", "string", (sharding((3, 2), (codec("vlen-utf8"), ZSTD)),), ""),
    v3(
        "sharded-struct",
        codec("structured", fields=STRUCT),
        (sharding((3, 2), (LITTLE,)),),
        "AQAAAAAAAAAAAAI=",
    ),
    v3(
        "sharded-1d",
        codecs=(sharding((5,), (LITTLE, ZSTD), index=(LITTLE,), where="start"),),
        shape=(100,),
        chunks=(20,),
    ),
]

# ---- grids, keys, shapes ---------------------------------------------------------------------------------


def rectilinear(*chunk_shapes: Any) -> dict[str, Any]:
    return codec("rectilinear", kind="inline", chunk_shapes=list(chunk_shapes))


LAYOUTS = [
    *(
        v3(f"keys-{name}-{'dot' if separator == '.' else 'slash'}", keys=(name, separator))
        for name in ("default", "v2")
        for separator in "./"
    ),
    v3("0d", "float32", (LITTLE, ZSTD), 1.5, shape=(), chunks=()),
    v3("0d-v2-keys", keys=("v2", "."), shape=(), chunks=()),
    v3("0d-string", "string", (codec("vlen-utf8"),), "x", shape=(), chunks=()),
    v3("empty", codecs=(LITTLE, ZSTD), shape=(0, 5), chunks=(2, 3)),
    v3("empty-1d", shape=(0,), chunks=(4,)),
    v3("1d", shape=(100,), chunks=(7,)),
    v3("5d", codecs=(LITTLE, blosc()), shape=(3, 4, 2, 5, 3), chunks=(2, 3, 2, 4, 1)),
    v3("one-chunk", chunks=(20, 20)),
    v3("attributes", attributes={"a": [1, None, {"b": "é漢"}], "f": 0.1}),
    v3("dimension-names", dimension_names=["x", None]),
    v3("rectilinear", grid=rectilinear([1, 2, 10], [9, 9])),
    v3("rectilinear-runs", codecs=(BIG, GZIP), grid=rectilinear([[6, 2], 1], 8)),
    v3("rectilinear-sharded", codecs=(sharding((2, 3), (LITTLE, ZSTD)),), grid=rectilinear([4, 6, 4], 6)),
]

CASES: list[Case] = [
    *NUMBERS,
    *FILLS,
    *SPELLINGS,
    *SPECIAL,
    *SMALL,
    *CODECS,
    *EACH_WITH_EACH,
    *NUMCODECS,
    *SHARDS,
    *LAYOUTS,
]
