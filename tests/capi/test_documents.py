# SPDX-License-Identifier: MIT
"""The metadata documents that libzarrcore reads, and what it says of those that it does not."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

METADATA = -14

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


@pytest.fixture
def refuse(library: Any, tmp_path: Path) -> Callable[[Any], str]:
    """Open a document (as an object, or as text); it must be refused as metadata."""

    def refuse_document(document: Any, name: str = "") -> str:
        text = document if isinstance(document, (str, bytes)) else json.dumps(document)
        v2_document = isinstance(document, dict) and document.get("zarr_format") == 2
        name = name or (".zarray" if v2_document else "zarr.json")
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(Exception) as caught:
            library.release(library.handle(tmp_path))
        status, message = caught.value.args
        assert status == METADATA, message
        assert message.startswith(name)
        return message

    return refuse_document


@pytest.fixture
def fill_of(library: Any, tmp_path: Path) -> Callable[[dict[str, Any]], bytes]:
    """The bytes of the fill value of a document."""

    def fill_bytes(document: dict[str, Any]) -> bytes:
        name = ".zarray" if document["zarr_format"] == 2 else "zarr.json"
        (tmp_path / name).write_text(json.dumps(document))
        handle = library.handle(tmp_path)
        item = np.zeros(library.itemsize(handle), "u1")
        assert library.fill_value(handle, item.ctypes.data, item.nbytes) == 0
        library.release(handle)
        return item.tobytes()

    return fill_bytes


# ---- refused ----

REFUSED: list[tuple[Any, str]] = [
    # not JSON, or not an array
    ("", "no valid JSON"),
    ("{", "no valid JSON"),
    ("[" * 100000, "no valid JSON"),
    (json.dumps(V3) + "x", "unexpected content"),
    (json.dumps(V3).encode()[:-1] + b"\0}", "no valid JSON at byte"),
    ("[]", "expected an object"),
    ("null", "expected an object"),
    (v3("zarr_format", 4), "zarr_format: expected 3 to 3, got 4"),
    (v3("zarr_format", "3"), "zarr_format: expected an integer"),
    (v3("node_type", "group"), 'node_type: "group" is not supported'),
    (json.dumps(V3)[:-1] + ', "shape": [6, 4]}', "shape: is there twice"),
    # members
    (v3("shape", ...), "shape: is required and missing"),
    (v3("shape", [6, -4]), "shape[1]: expected 0 to"),
    (v3("shape", [6, 1.5]), "shape[1]: expected an integer"),
    (v3("shape", [6, True]), "shape[1]: expected an integer"),
    (v3("shape", [6, 4.0]), "shape[1]: expected an integer"),
    (v3("shape", [6, 2**63]), "shape[1]: expected 0 to"),
    (v3("shape", [6, 2**64]), "shape[1]: expected an integer"),
    (json.dumps(V3).replace("[6, 4]", "[6, 1e400]"), "number is infinity"),
    (
        json.dumps(V3).replace('"float32"', r'"float32\u0000"'),
        "data_type: expected a string without zero bytes",
    ),
    (json.dumps(V3).encode().replace(b"float32", b"\xff"), "invalid UTF-8"),
    (v3("fill_value", math.nan), "no valid JSON"),
    (v3("shape", [1] * 65), "shape: 65 dimensions"),
    (v3("shape", 6), "shape: expected an array"),
    (v3("chunk_grid.configuration.chunk_shape", [4]), "chunk_shape: expected 2 entries, got 1"),
    (v3("chunk_grid.configuration.chunk_shape", [4, 0]), "chunk_shape[1]: expected 1 to"),
    (v3("chunk_grid.configuration.chunk_shape", [2**52, 2**52]), "does not fit into memory"),
    (v3("chunk_grid.name", "hexagonal"), 'chunk_grid: the chunk grid "hexagonal" is not supported'),
    (rectilinear([4, 1], [[1, 3], 2]), "chunk_shapes[0]: chunks of 5 elements do not cover the array's 6"),
    (rectilinear([4, 2], []), "chunk_shapes[1]: expected at least one chunk"),
    (rectilinear([4, 2]), "chunk_shapes: expected 2 entries, got 1"),
    (rectilinear([4, 2], [0]), "chunk_shapes[1][0]: expected 1 to"),
    (rectilinear([4, 2], [[1, 2, 3]]), "chunk_shapes[1][0]: expected 2 entries, got 3"),
    (rectilinear([4, 2], [[1, 10**8]]), "chunk_shapes[1]: more than 10000000 chunks"),
    (rectilinear([4, 2], [2**62, 2**62]), "chunk_shapes[1]: chunks of more than 2**63"),
    (
        rectilinear([4, 2], 4) | {"codecs": [changed(SHARDS, "configuration.chunk_shape", [4, 4])]},
        "chunk_shape: 4 does not divide the shard's 2",
    ),
    (v3("chunk_grid", "regular"), "chunk_grid.configuration: is required and missing"),
    (v3("chunk_key_encoding.name", "suffix"), 'the chunk key encoding "suffix" is not supported'),
    (v3("chunk_key_encoding.configuration.separator", "-"), 'separator: "-" is not supported'),
    (v3("data_type", "string"), 'the data type "string" is not supported'),
    (v3("data_type", "r7"), 'the data type "r7" is not supported'),
    (v3("data_type", "r99999999999999999999"), "is not supported"),
    (v3("data_type", "numpy.datetime64"), "data_type.configuration: is required and missing"),
    (v3("data_type", datetime("s", ...)), "data_type.configuration.scale_factor: is required and missing"),
    (v3("data_type", datetime("furlong", 1)), '"furlong" is no unit of time'),
    (v3("data_type", datetime("s", 2**31)), "scale_factor: expected 1 to 2147483647"),
    (v3("data_type", "float4_e2m1fn"), 'the data type "float4_e2m1fn" is not supported'),
    (
        v3("data_type", {"name": "raw_bytes", "configuration": {"length_bytes": 2**40}}),
        "length_bytes: expected 1 to",
    ),
    (
        v3("data_type", {"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}),
        "a multiple of 4",
    ),
    (v3("data_type", struct()), "fields: expected 1 to 1024 fields, got 0"),
    (v3("data_type", struct(a="string")), 'the data type "string" is not supported'),
    (v3("data_type", struct(**{"": "int8"})), "the name of a field is empty"),
    (
        v3("data_type", {"name": "struct", "configuration": {"fields": [["a", "int8"]] * 2}}),
        'a second field "a"',
    ),
    (v3("data_type", {"name": "float32", "configuration": {"unit": "s"}}), "unit: is not supported"),
    (v3("data_type", {"configuration": {}}), "data_type.name: is required and missing"),
    (v3("attributes", []), "attributes: expected an object"),
    (v3("dimension_names", ["x"]), "dimension_names: expected 2 entries"),
    (v3("dimension_names", ["x", 1]), "dimension_names[1]: expected a string or null"),
    (v3("storage_transformers", [{"name": "t"}]), "storage_transformers: are not supported"),
    (v3("more", {"must_understand": True}), "more: is not supported"),
    (v3("more", 1), "more: is not supported"),
    # fill values
    (v3("fill_value", None), "fill_value: expected a number or a string"),
    (v3("fill_value", "0x7fc0000"), 'fill_value: "0x7fc0000" is no number of 4 bytes'),
    (v3("fill_value", "nan"), "is no number"),
    (v3("fill_value", 1e39), "fill_value: is too large"),
    (v3("fill_value", ...), "fill_value"),
    (v3("data_type", "bool"), "fill_value: expected true or false"),
    (v3("data_type", "uint8") | {"fill_value": 256}, "fill_value: is too large"),
    (v3("data_type", "uint8") | {"fill_value": -1}, "fill_value: is too small"),
    (v3("data_type", "int64") | {"fill_value": 2**63}, "fill_value: is too large"),
    (v3("data_type", "int8") | {"fill_value": 1.0}, "fill_value: expected an integer"),
    (v3("data_type", "complex64"), "fill_value: expected an array"),
    (v3("data_type", "complex64") | {"fill_value": [0]}, "fill_value: expected a real and an imaginary part"),
    (v3("data_type", "r16") | {"fill_value": [0, 256]}, "fill_value[1]: expected 0 to 255"),
    # codecs
    (v3("codecs", []), "codecs: expected a codec that makes bytes"),
    (v3("codecs", ["bytes"]), "codecs[0]: configuration.endian is required"),
    (v3("codecs", [LITTLE, LITTLE]), "codecs[1]: a second codec"),
    (v3("codecs", ["crc32c", LITTLE]), 'codecs[0]: "crc32c" needs a codec before it'),
    (v3("codecs", [3]), "codecs[0]: expected an object"),
    (codecs("lz77"), 'codecs[1]: the codec "lz77" is not supported'),
    (
        codecs({"name": "gzip", "configuration": {"level": 10}}),
        "codecs[1].configuration.level: expected 0 to 9",
    ),
    (codecs({"name": "gzip", "configuration": {"lvl": 1}}), "codecs[1].configuration.lvl: is not supported"),
    (codecs({"name": "gzip", "configuration": 1}), "codecs[1].configuration: expected an object"),
    (codecs({"name": "blosc", "configuration": {"cname": "lz5"}}), 'cname: "lz5" is not supported'),
    (codecs({"name": "blosc", "configuration": {"shuffle": 1}}), "shuffle: expected a string"),
    (codecs({"name": "zstd", "configuration": {"checksum": 1}}), "checksum: expected true or false"),
    (codecs(*["crc32c"] * 17), "codecs[17]: more than 16"),
    (
        codecs(before=({"name": "transpose", "configuration": {"order": [0, 0]}},)),
        "order: expected a permutation",
    ),
    (codecs(before=({"name": "transpose", "configuration": {"order": [0]}},)), "order: expected 2 entries"),
    (codecs({"name": "transpose", "configuration": {"order": [1, 0]}}), "cannot follow"),
    (sharded("chunk_shape", [3, 1]), "chunk_shape: 3 does not divide the shard's 4"),
    (sharded("chunk_shape", [2, 0]), "chunk_shape[1]: expected 1 to"),
    (sharded("codecs", ...), "configuration.codecs: is required and missing"),
    (
        sharded("index_codecs", [LITTLE, {"name": "gzip", "configuration": {"level": 1}}]),
        "codecs of fixed size",
    ),
    (sharded("index_location", "middle"), 'index_location: "middle" is not supported'),
    (sharded("index_codecs", [SHARDS]), "shards cannot be here"),
    # format 2
    (v2("zarr_format", 3), "node_type: is required and missing"),
    (v2("chunks", ...), "chunks: is required and missing"),
    (v2("dtype", [["a", "|O"]]), 'dtype[0][1]: the data type "|O" is not supported'),
    (v2("dtype", [["a", "<f4", [0]]]), "dtype[0][2][0]: expected 1 to"),
    (v2("dtype", [["a", "<f4", []]]), "dtype[0][2]: expected 1 to 32 lengths"),
    (v2("dtype", [["a", [["b", "<f4", [2**16]], ["c", "|u1"]], [2**9]]]), "an item must have 1 to"),
    (v2("dtype", [["a", [["b", "<f4"], ["c", "|u1"]], [70000]]]), "more than 65536 fields with a byte order"),
    (v2("dtype", "|O"), 'dtype: the data type "|O" is not supported'),
    (v2("dtype", "<M8[parsec]"), "dtype: the data type"),
    (v2("dtype", "|U3"), "dtype: the data type"),
    (v2("dtype", "|S0"), "dtype: an item must have 1 to"),
    (v2("dtype", "|f4"), "dtype: the data type"),
    (v2("dtype", "<f3"), "dtype: the data type"),
    (v2("filters", [{"id": "categorize"}]), 'filters[0].id: the codec "categorize" is not supported'),
    (v2("filters", [{"id": "delta"}]), "filters[0].dtype: is required and missing"),
    (v2("filters", [{"id": "delta", "dtype": "<f2"}]), "filters[0].dtype: only integers and floats"),
    (v2("filters", [{"id": "delta", "dtype": "<f4", "more": 1}]), "filters[0].more: is not supported"),
    (v2("filters", [{"id": "astype", "decode_dtype": "<f4"}]), "filters[0].encode_dtype: is required"),
    (v2("filters", [{"id": "quantize", "digits": 400, "dtype": "<f4"}]), "digits: 400 are too many"),
    (v2("filters", [{"id": "bitround", "keepbits": 24}]), "filters[0]: keepbits: expected 0 to 23, got 24"),
    (v2("filters", [{"id": "crc32", "location": "middle"}]), 'location: "middle" is not supported'),
    (v2("filters", [{"id": "shuffle"}] * 17), "filters[16]: more than 16 codecs"),
    (codecs({"name": "numcodecs.delta", "configuration": {"dtype": "<f4"}}), "cannot follow a codec"),
    (codecs(before=({"name": "numcodecs.zlib"},)), "needs a codec before it that makes bytes"),
    (v2("compressor", {"id": "bz2", "level": 1}), 'compressor.id: the codec "bz2" is not supported'),
    (v2("compressor", {"level": 1}), "compressor.id: is required and missing"),
    (v2("compressor", ...), "compressor: is required and missing"),
    (v2("compressor", {"id": "zlib", "level": 99}), "compressor.level: expected -1 to 9"),
    (v2("order", "A"), 'order: "A" is not supported'),
    (v2("dimension_separator", "_"), "dimension_separator"),
]


@pytest.mark.parametrize(("document", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_refused(refuse: Any, document: Any, reason: str) -> None:
    assert reason in refuse(document)


def test_every_cut_of_a_document_is_refused(refuse: Any) -> None:
    text = json.dumps(v3("codecs", [SHARDS, "crc32c"]))
    for n in range(len(text)):
        refuse(text[:n])


def test_damaged_documents(library: Any, tmp_path: Path) -> None:
    """Every outcome is a status."""
    rng = np.random.default_rng(0)
    stock = [json.dumps(document).encode() for document in LEGAL]
    for _ in range(1500):
        text = bytearray(stock[rng.integers(len(stock))])
        for _ in range(rng.integers(1, 4)):
            at, other = (int(n) for n in rng.integers(0, len(text), 2))
            text[at : at + int(rng.integers(0, 3))] = text[other : other + int(rng.integers(0, 9))]
        for name in ("zarr.json", ".zarray"):
            (tmp_path / name).write_bytes(text)
            try:
                handle = library.handle(tmp_path)
            except Exception as error:
                assert error.args[0] == METADATA
            else:
                library.region(handle, np.zeros((6, 4), f"V{library.itemsize(handle)}"))
                library.release(handle)
            (tmp_path / name).unlink()


def test_shards_are_not_nested_without_end(refuse: Any) -> None:
    codec: Any = LITTLE
    for _ in range(60):
        inner = SHARDS["configuration"] | {"chunk_shape": [2, 2], "codecs": [codec]}
        codec = SHARDS | {"configuration": inner}
    assert "shards cannot be here" in refuse(v3("codecs", [codec]))


def test_too_large_a_document(refuse: Any) -> None:
    assert "too many" in refuse(json.dumps(V3) + " " * 2**24)


def test_nothing_there(library: Any, tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "neither zarr.json nor .zarray"), (tmp_path / "no", "no such directory")):
        with pytest.raises(Exception, match=reason) as caught:
            library.handle(path)
        assert caught.value.args[0] == -8


# ---- accepted ----

NAN_BITS = {"float16": "007e", "float32": "0000c07f", "float64": "000000000000f87f"}


def fills() -> Iterator[tuple[str, Any, bytes]]:
    for name, width in (("float16", 2), ("float32", 4), ("float64", 8)):
        kind = f"<f{width}"
        yield name, "NaN", bytes.fromhex(NAN_BITS[name])
        yield name, "Infinity", np.array(math.inf, kind).tobytes()
        yield name, "-Infinity", np.array(-math.inf, kind).tobytes()
        yield name, "0x" + "7f" * width, b"\x7f" * width
        yield name, "0xFFc0" + "01" * (width - 2), bytes.fromhex("01" * (width - 2) + "c0ff")
        for value in (
            0,
            -0.0,
            1,
            0.1,
            -2.5,
            1 / 3,
            65504,
            6.1e-5,
            5.96e-8,
            2.98e-8,
            2.9802322387695312e-8,
            1e-30,
        ):
            yield name, value, np.array(value, kind).tobytes()
    for bits in (8, 16, 32, 64):
        yield (
            f"int{bits}",
            -(2 ** (bits - 1)),
            (-(2 ** (bits - 1))).to_bytes(bits // 8, "little", signed=True),
        )
        yield f"int{bits}", 2 ** (bits - 1) - 1, (2 ** (bits - 1) - 1).to_bytes(bits // 8, "little")
        yield f"uint{bits}", 2**bits - 1, (2**bits - 1).to_bytes(bits // 8, "little")
    yield "bool", True, b"\1"
    yield "complex64", [1, "NaN"], np.array([1, math.nan], "<f4").tobytes()
    yield "complex128", ["-Infinity", 0.5], np.array([-math.inf, 0.5], "<f8").tobytes()
    yield "r24", [1, 2, 255], b"\1\2\xff"


@pytest.mark.parametrize(("name", "value", "expected"), list(fills()))
def test_fill_values(fill_of: Any, name: str, value: Any, expected: bytes) -> None:
    words = 2 if name.startswith("complex") else 1
    stored = np.frombuffer(expected, f"<u{len(expected) // words}" if name[0] != "r" else "u1")
    native = stored.astype(stored.dtype.newbyteorder("=")).tobytes()
    assert fill_of(v3("data_type", name) | {"fill_value": value}) == native
    # A member of the same name somewhere else is not the fill value.
    decoy = {"attributes": {"fill_value": 1, "a": ["fill_value", '"fill_value": 2']}}
    assert fill_of(decoy | v3("data_type", name) | {"fill_value": value} | decoy) == native


def test_fill_values_of_format_2(fill_of: Any) -> None:
    assert fill_of(v2("fill_value", None)) == bytes(4)
    assert fill_of(v2("dtype", "|b1") | {"fill_value": 1}) == b"\1"
    assert fill_of(v2("dtype", ">i8") | {"fill_value": 2**63 - 1}) == np.array(2**63 - 1, "=i8").tobytes()


FILTERS: list[dict[str, Any]] = [
    {"id": "shuffle", "elementsize": 4},
    {"id": "crc32c", "location": "start"},
    {"id": "delta", "dtype": "<f4", "astype": "<f8"},
    {"id": "fixedscaleoffset", "offset": -10, "scale": 2.0, "dtype": "<f4", "astype": "|u1"},
    {"id": "quantize", "digits": 2, "dtype": "<f4", "astype": None},
    {"id": "bitround", "keepbits": 10},
    {"id": "astype", "encode_dtype": ">i8", "decode_dtype": "<f4"},
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

LEGAL: list[dict[str, Any]] = [
    *(v3("codecs", chain) for chain in EXTENSIONS),
    v3("data_type", "bool") | {"codecs": [extension("packbits")], "fill_value": False},
    v3("data_type", {"name": "float32"}),
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
    *(
        v3("codecs", [{"name": f"numcodecs.{chosen['id']}", "configuration": without_id(chosen)}, LITTLE])
        for chosen in FILTERS
        if chosen["id"] not in ("shuffle", "crc32c")
    ),
    codecs({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}, {"name": "numcodecs.zlib"}),
    codecs({"name": "numcodecs.lz4"}, {"name": "numcodecs.adler32"}, {"name": "numcodecs.zstd"}),
    v2("filters", [{"id": "zlib"}]) | {"compressor": {"id": "blosc"}},
    # data types
    *(v2("dtype", dtype) for dtype in ("|S3", "<U2", ">U2", "<M8[25s]", ">m8[us]", "<M8", "<c8", "<f2")),
    v3("data_type", datetime("us", 10)) | {"fill_value": "NaT"},
]


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ([extension("bitround"), LITTLE], "keepbits"),
        ([extension("bitround", keepbits=65), LITTLE], "keepbits"),
        ([extension("bitround", keepbits=3, more=1), LITTLE], "more"),
        ([LITTLE, extension("bitround", keepbits=3)], "cannot follow"),
        ([extension("scale_offset", scale=0), LITTLE], "scale"),
        ([extension("scale_offset", scale="x"), LITTLE], "scale"),
        ([extension("scale_offset", offset=True), LITTLE], "offset"),
        ([extension("cast_value"), LITTLE], "data_type"),
        ([extension("cast_value", data_type="float65"), LITTLE], "float65"),
        ([extension("cast_value", data_type="complex64"), LITTLE], "real numbers"),
        ([extension("cast_value", data_type="float64", out_of_range="wrap"), LITTLE], "wrap around"),
        ([extension("cast_value", data_type="int8", out_of_range="ignore"), LITTLE], "out_of_range"),
        ([extension("cast_value", data_type="int8", rounding="up"), LITTLE], "rounding"),
        ([extension("cast_value", data_type="int8", scalar_map={"both": []}), LITTLE], "both"),
        ([extension("cast_value", data_type="int8", scalar_map={"encode": [[1]]}), LITTLE], "pair"),
        ([extension("cast_value", data_type="int8", scalar_map={"encode": [[1, 300]]}), LITTLE], "encode"),
        ([extension("cast_value", data_type="int8", scalar_map={"decode": [["NaN", 3]]}), LITTLE], "decode"),
        ([CAST, "bytes"], "endian"),
        ([CAST], "makes bytes"),
        ([extension("packbits", first_bit=3, last_bit=2)], "first_bit"),
        ([extension("packbits", last_bit=32)], "last_bit"),
        ([extension("packbits", padding_encoding="middle")], "padding_encoding"),
        ([extension("packbits"), LITTLE], "second codec"),
        ([extension("reshape", shape=[3, -1]), LITTLE], "lengths"),
        ([extension("reshape", shape=[-1, -1]), LITTLE], "lengths"),
        ([extension("reshape", shape=[0, -1]), LITTLE], "positive"),
        ([extension("reshape", shape=[[1, 0]]), LITTLE], "shape"),
        ([extension("reshape", shape=[2, [0]]), LITTLE], "before it"),
        ([extension("reshape", shape=[2**62, 2**62]), LITTLE], "lengths"),
        ([extension("reshape", shape=[-1]), SHARDS], "before shards"),
    ],
)
def test_extensions_that_are_wrong(library: Any, chain: list[Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "zarr.json").write_text(json.dumps(v3("codecs", chain)))
    with pytest.raises(Exception, match=message) as caught:
        library.handle(tmp_path)
    assert caught.value.args[0] == METADATA
    with pytest.raises((ValueError, TypeError)):
        zarrcore.open_array(tmp_path)[...]


@pytest.mark.parametrize("document", LEGAL, ids=[str(number) for number in range(len(LEGAL))])
def test_what_is_written_is_read(library: Any, document: dict[str, Any], tmp_path: Path) -> None:
    """libzarrcore writes, zarrcore reads; and back."""
    name = ".zarray" if document["zarr_format"] == 2 else "zarr.json"
    (tmp_path / name).write_text(json.dumps(document))
    handle = library.handle(tmp_path)
    values = np.random.default_rng(0).integers(0, 100, (6, 4)).astype(library.typestr(handle).decode())
    assert library.region(handle, values, write=True) == 0
    array = zarrcore.open_array(tmp_path)
    np.testing.assert_array_equal(array[...], values)
    array[2:5] = values[1:4]
    values[2:5] = values[1:4].copy()
    out = np.zeros_like(values)
    assert library.region(handle, out) == 0
    np.testing.assert_array_equal(out, array[...])
    library.release(handle)


# ---- data types and fill values, as the Python package has them ----

RECORD = struct(
    a="int16", b=struct(c="float32", d="uint8"), e={"name": "raw_bytes", "configuration": {"length_bytes": 3}}
)
TEXT = {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}
STRING = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}}
SMALL_FLOATS = ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")

TYPES_3: list[tuple[Any, list[Any]]] = [
    (RECORD, [{}, {"b": {"c": "NaN"}, "e": "AQID"}, [1, [2.5, 3], [4, 5, 6]], "AQAAAIA/AgMEBQ==", 0, "AQ=="]),
    (RECORD, [{"a": 1, "z": 2}, [1, [2.5, 3]], {"a": 2**15}, {"b": {"c": 1e39}}, "!", {"e": [1, 2]}, None]),
    (TEXT, ["", "abc", "\u00e9\u4e16\U0001f600", "abcd", "ab\0", "a\0b", 0, 1, None]),
    (
        STRING,
        ["", "YWJj", "YWI=", "YQA=", "YWJjZGU=", [97, 98], [97] * 5, [256], "abc", "YW=j", "====", 0, "\0"],
    ),
    ("r16", [[1, 2], "AQI=", [1], "AQ==", [1, 2, 3], [-1, 0], 0, "0x0102"]),
    (datetime("us", 10), [0, -5, "NaT", 2**63 - 1, -(2**63), 2**63, 1.0, "1", None]),
    (changed(datetime("generic", 1), "name", "numpy.timedelta64"), [7, "NaT"]),
    (
        "bfloat16",
        [0, 1, -0.0, 3.14159, 3.3895313892515355e38, 3.4e38, 1e-40, "NaN", "-Infinity", "0x7f81", "0x7f"],
    ),
    ("int4", [-8, 7, 8, -9, 1.0]),
    ("uint2", [0, 3, 4, -1]),
    *(
        (
            f"float8_{name}",
            [0, 1, -1, 0.3, -1.75, 15.4, 1e-3, 0.0009, 1e9, "NaN", "Infinity", "0x81", "0x181", -0.0],
        )
        for name in SMALL_FLOATS
    ),
    ("complex_float32", [[1, "-Infinity"], ["0x7fc00001", 0], 0]),
]
TYPES_2: list[tuple[Any, list[Any]]] = [
    ("<f4", [None, 0, "1.5", "1e3", "nan", "-inf", "NaN", "0x7fc00000", "", "1,5", "1.5x", True, [1]]),
    (">f8", [math.nan, math.inf, -math.inf, 0.1, "-Infinity"]),
    ("<f2", ["65519", "65520", 6.1e-5]),
    (">i2", [1.0, "12", "-32768", "32768", "1.5", 1.5, True, math.nan, None]),
    ("<u8", [2**64 - 1, "18446744073709551615", "18446744073709551616", 1e19, "-1", "-0"]),
    ("|b1", [True, 0, 1.0, 2, "true"]),
    ("<c8", [[1, 2], 3, [1, "NaN"], ["1", "nan"], "1", None]),
    ("|S4", ["YWI=", 0, "\0", "", None, "ab"]),
    (">U2", ["ab", 0, "\u4e16", "abc", None]),
    ("<M8[25s]", [0, 1.0, "12", "NaT", None, -(2**63)]),
    (">m8[us]", [-1, "nat", None]),
    ("|V3", ["AQID", "AQ==", "AQIDBA==", [1, 2, 3], 0, None, 1]),
    ("bfloat16", [1, 0.1, None]),
    (
        [["a", ">i2"], ["b", "<f4"], ["c", "|S2"]],
        ["AAEAAIA/YWI=", 0, None, [1, 2, "YQ=="], {"b": 1}, "AA==", 1],
    ),
    (
        [["a", "<i2", [2, 2]], ["b", [["c", ">f4"], ["d", "|u1"]], [2]]],
        [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]], 0, None],
    ),
    ([["a", "<i2", [2, 2]], ["b", "|u1"]], [[[[1, 2], [3]], 4], {"a": 0, "b": 1}, {"a": [[1, 2], [3, 4]]}]),
    ([["a", "|u1"], ["", "|V3"], ["b", ">i4"]], [0, "AQAAAAAAAQI=", [1, 0, 2], {"f1": 0}]),
]


def fills_of_types() -> Iterator[Any]:
    for zarr_format, types in ((3, TYPES_3), (2, TYPES_2)):
        for dtype, values in types:
            for value in values:
                yield pytest.param(
                    zarr_format, dtype, value, id=f"{zarr_format}-{json.dumps([dtype, value])}"
                )


@pytest.mark.parametrize(("zarr_format", "dtype", "value"), list(fills_of_types()))
def test_fill_values_are_those_of_python(
    library: Any, zarr_format: int, dtype: Any, value: Any, tmp_path: Path
) -> None:
    """The same bytes, or refused by both."""
    if zarr_format == 3:
        document, name = v3("data_type", dtype) | {"fill_value": value}, "zarr.json"
    else:
        document, name = v2("dtype", dtype) | {"fill_value": value}, ".zarray"
    (tmp_path / name).write_text(json.dumps(document))
    try:
        expected = zarrcore.open_array(tmp_path, mode="r")[...]
    except (ValueError, TypeError):
        with pytest.raises(Exception, match="fill_value") as caught:
            library.handle(tmp_path)
        assert caught.value.args[0] == METADATA
        return
    handle = library.handle(tmp_path)
    out = np.ones((6, 4), f"V{library.itemsize(handle)}")
    assert library.region(handle, out) == 0
    library.release(handle)
    native = expected.astype(expected.dtype.newbyteorder("="))
    assert out.tobytes() == native.tobytes()


@pytest.mark.parametrize("endian", ["little", "big"])
def test_records_of_format_3(library: Any, endian: str, tmp_path: Path) -> None:
    document = v3("data_type", RECORD) | {"fill_value": {}}
    document["codecs"] = [{"name": "bytes", "configuration": {"endian": endian}}]
    records_round_trip(library, tmp_path, document, "zarr.json")


@pytest.mark.parametrize("order", ["C", "F"])
def test_records_of_format_2(library: Any, order: str, tmp_path: Path) -> None:
    fields = [["a", ">i2"], ["b", "<f8", [2, 3]], ["c", [["d", ">c8"], ["e", "|S1"]], [2]], ["f", "<U2"]]
    document = v2("dtype", fields) | {"order": order, "compressor": {"id": "blosc"}}
    records_round_trip(library, tmp_path, document, ".zarray")


def records_round_trip(library: Any, path: Path, document: dict[str, Any], name: str) -> None:
    """libzarrcore writes, zarrcore reads, and the other way."""
    (path / name).write_text(json.dumps(document))
    array, handle = zarrcore.open_array(path), library.handle(path)
    assert library.typestr(handle).decode() == f"|V{array.dtype.itemsize}"
    raw = np.random.default_rng(0).integers(1, 100, (6, 4, array.dtype.itemsize), "u1")
    values = raw.view(array.dtype.newbyteorder("="))[..., 0]
    for field in ("f",) if "f" in values.dtype.names else ():
        values[field] = "xy"  # not every pattern of bits is text
    assert library.region(handle, values.view(f"V{array.dtype.itemsize}"), write=True) == 0
    found = array[...]
    assert found.astype(values.dtype).tobytes() == values.tobytes()
    array[::2] = found[::-2]
    out = np.zeros((6, 4), values.dtype)
    assert library.region(handle, out.view(f"V{array.dtype.itemsize}")) == 0
    assert out[::2].tobytes() == values[::-2].tobytes()
    library.release(handle)
