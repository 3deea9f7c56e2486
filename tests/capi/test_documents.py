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
    (json.dumps(V3) + "x", "something follows"),
    (json.dumps(V3).encode()[:-1] + b"\0}", "a control character at byte"),
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
    (v3("shape", [6, 2**60]), "shape[1]: 1.15292e+18 is beyond 2**53"),
    (json.dumps(V3).replace("[6, 4]", "[6, 1e400]"), "shape[1]: inf is beyond 2**53"),
    (v3("fill_value", math.nan), "no valid JSON"),
    (v3("shape", [1] * 65), "shape: 65 dimensions"),
    (v3("shape", 6), "shape: expected an array"),
    (v3("chunk_grid.configuration.chunk_shape", [4]), "chunk_shape: expected 2 entries, got 1"),
    (v3("chunk_grid.configuration.chunk_shape", [4, 0]), "chunk_shape[1]: expected 1 to"),
    (v3("chunk_grid.configuration.chunk_shape", [2**52, 2**52]), "does not fit into memory"),
    (v3("chunk_grid.name", "rectilinear"), 'chunk_grid.name: "rectilinear" is not supported'),
    (v3("chunk_grid", "regular"), "chunk_grid.configuration: is required and missing"),
    (v3("chunk_key_encoding.name", "suffix"), 'chunk_key_encoding.name: "suffix" is not supported'),
    (v3("chunk_key_encoding.configuration.separator", "-"), 'separator: "-" is not supported'),
    (v3("data_type", "string"), 'the data type "string" is not supported'),
    (v3("data_type", "r7"), 'the data type "r7" is not supported'),
    (v3("data_type", "r99999999999999999999"), "is not supported"),
    (
        v3("data_type", {"name": "numpy.datetime64", "configuration": {"unit": "s"}}),
        '"numpy.datetime64" is not',
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
    (v2("dtype", [["a", "<f4"]]), "dtype: structured data types are not supported"),
    (v2("dtype", "|O"), 'dtype: the data type "|O" is not supported'),
    (v2("dtype", "<M8[s]"), "dtype: the data type"),
    (v2("dtype", "|f4"), "dtype: the data type"),
    (v2("dtype", "<f3"), "dtype: the data type"),
    (v2("filters", [{"id": "delta"}]), 'filters[0]: the filter "delta" is not supported'),
    (v2("compressor", {"id": "bz2", "level": 1}), 'compressor.id: "bz2" is not supported'),
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
                library.region(handle, np.zeros((6, 4)))
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


LEGAL: list[dict[str, Any]] = [
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
]


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


DATA = Path(__file__).resolve().parents[1] / "data" / "stores"


def arrays_on_disk() -> list[Path]:
    """Arrays in directories, written by several implementations."""
    documents = [*DATA.rglob(".zarray")]
    documents += [
        path for path in DATA.rglob("zarr.json") if json.loads(path.read_bytes())["node_type"] == "array"
    ]
    return sorted({document.parent for document in documents})


@pytest.mark.parametrize("path", arrays_on_disk(), ids=lambda path: path.relative_to(DATA).as_posix())
def test_arrays_of_other_writers(library: Any, path: Path) -> None:
    """Read as zarrcore reads them, or refused by name."""
    node = zarrcore.open_array(path, mode="r")
    try:
        handle = library.handle(path, writable=False)
    except Exception as error:
        status, message = error.args
        assert status == METADATA
        assert "not supported" in message or "expected" in message, message
        return
    out = np.zeros(node.shape, library.typestr(handle).decode())
    assert library.region(handle, out) == 0
    library.release(handle)
    if node.dtype.kind == "V":
        assert out.tobytes() == node[...].tobytes()
    else:
        np.testing.assert_array_equal(out, node[...])
