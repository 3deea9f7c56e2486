# SPDX-License-Identifier: MIT
"""The metadata documents that libzarrcore does not read, and what it says of them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import (
    LEGAL,
    LITTLE,
    SHARDS,
    UNSUPPORTED,
    V2,
    V3,
    LibraryError,
    changed,
    codecs,
    datetime,
    rectilinear,
    refused_with,
    sharded,
    struct,
    v2,
    v3,
)

import zarrcore
from zarrcore._validate import MAX_DEPTH, MAX_DOCUMENT_NBYTES
from zarrcore.errors import BaseZarrError, MetadataValidationError

IO = -7
OPTIONAL = {"name": "zarrs.optional", "configuration": {"name": "int32", "configuration": {}}}
NAMES = {2: ".zarray", 3: "zarr.json"}

pytestmark = pytest.mark.timeout(600)  # the first test builds the library


@pytest.fixture
def refuse(library: Any, tmp_path: Path) -> Callable[[Any], str]:
    """Open a document (as an object, or as text); it must be refused as metadata."""

    def refuse_document(document: Any, name: str = "") -> str:
        text = document if isinstance(document, (str, bytes)) else json.dumps(document)
        v2_document = isinstance(document, dict) and document.get("zarr_format") == 2
        name = name or (".zarray" if v2_document else "zarr.json")
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(LibraryError) as caught:
            library.release(library.handle(tmp_path))
        status, message = caught.value.args
        assert status == refused_with(message), message
        assert message.startswith(name)
        return message

    return refuse_document


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
    (v3("node_type", "group"), 'node_type: the node type "group" is not supported'),
    # a name twice: programs differ in which of the two they read, even if both are the same
    (json.dumps(V3)[:-1] + ', "shape": [6, 4]}', "shape: occurs twice"),
    (json.dumps(V3)[:-1] + ', "shape": [2, 4]}', "shape: occurs twice"),
    (json.dumps(V3).replace('"chunk_shape":', '"chunk_shape": [1], "chunk_shape":'), "chunk_shape: occurs"),
    # members
    (v3("shape", ...), "shape: is required and missing"),
    (v3("shape", [6, -4]), "shape[1]: expected 0 to"),
    (v3("shape", [6, 1.5]), "shape[1]: expected an integer"),
    (v3("shape", [6, True]), "shape[1]: expected an integer"),
    (v3("shape", [6, -4.0]), "shape[1]: expected an integer"),
    (v3("shape", [6, 1e300]), "shape[1]: expected an integer"),
    (v3("shape", [6, 2**63]), "shape[1]: expected 0 to"),
    (v3("shape", [6, 2**64]), "shape[1]: expected an integer"),
    (json.dumps(V3).replace("[6, 4]", "[6, 1e400]"), "number is infinity"),
    (
        json.dumps(V3).replace('"float32"', r'"float32\u0000"'),
        "data_type: expected a string without zero bytes",
    ),
    (json.dumps(V3).encode().replace(b"float32", b"\xff"), "invalid UTF-8"),
    (v3("shape", [math.inf, 4]), "no valid JSON in shape"),
    (json.dumps(V3)[:-1] + ', "attributes": {"a": [NaN}}', "no valid JSON at byte"),
    (v3("shape", [1] * 65), "shape: 65 dimensions"),
    (v3("shape", 6), "shape: expected an array"),
    (v3("chunk_grid.configuration.chunk_shape", [4]), "chunk_shape: expected 2 entries, got 1"),
    (v3("chunk_grid.configuration.chunk_shape", [4, 0]), "chunk_shape: a chunk length of 0"),
    (v3("chunk_grid.configuration.chunk_shape", [2**52, 2**52]), "does not fit into memory"),
    (v3("chunk_grid.name", "hexagonal"), 'chunk_grid: the chunk grid "hexagonal" is not supported'),
    (rectilinear([4, 1], [[1, 3], 2]), "chunk_shapes[0]: chunks of 5 elements do not cover the array's 6"),
    (rectilinear([4, 2], []), "chunk_shapes[1]: expected at least one chunk"),
    (rectilinear([4, 2]), "chunk_shapes: expected 2 entries, got 1"),
    (rectilinear([4, 2], [0]), "chunk_shapes[1][0]: expected 1 to"),
    (rectilinear([4, 2], [[1, 2, 3]]), "chunk_shapes[1][0]: expected 2 entries, got 3"),
    (rectilinear([4, 2], [[1, 10**8]]), "chunk_shapes[1]: more than 1000000 chunks"),
    (
        rectilinear([[1, 600_000]], [[1, 600_000]]),
        "chunk_shapes[1]: more than 1000000 chunks in all dimensions",
    ),
    (rectilinear([4, 2], [2**62, 2**62]), "chunk_shapes[1]: chunks of more than 2**63"),
    (
        rectilinear([4, 2], 4) | {"codecs": [changed(SHARDS, "configuration.chunk_shape", [4, 4])]},
        "chunk_shape: 4 does not divide the shard's 2",
    ),
    (v3("chunk_grid", "regular"), "chunk_grid.configuration: is required and missing"),
    (v3("chunk_grid.name", "zarrs.regular_bounded"), '"zarrs.regular_bounded" is not supported'),
    (v3("chunk_grid.name", "rectangular"), 'the chunk grid "rectangular" is not supported'),
    (v3("chunk_key_encoding.name", "suffix"), 'the chunk key encoding "suffix" is not supported'),
    (v3("chunk_key_encoding.configuration.separator", "-"), 'separator: "-" is not supported'),
    (v3("data_type", "string"), 'the data type "string" is not supported'),
    (v3("data_type", OPTIONAL), 'the data type "zarrs.optional" is not supported'),
    (v3("data_type", "r7"), 'the data type "r7" is not supported'),
    (v3("data_type", "r99999999999999999999"), "is not supported"),
    (v3("data_type", "numpy.datetime64"), "data_type.configuration: is required and missing"),
    (v3("data_type", datetime("s", ...)), "data_type.configuration.scale_factor: is required and missing"),
    (v3("data_type", datetime("furlong", 1)), '"furlong" is no unit of time'),
    (v3("data_type", datetime("s", 2**31)), "scale_factor: expected 1 to 2147483647"),
    (v3("data_type", "float7_e3m3fn"), 'the data type "float7_e3m3fn" is not supported'),
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
    (v3("storage_transformers", [{"name": "t"}]), 'the member "storage_transformers" is not supported'),
    (v3("more", {"must_understand": True}), 'more: the member "more" is not supported'),
    (v3("more", 1), 'more: the member "more" is not supported'),
    # fill values
    (v3("fill_value", {}), "fill_value: expected a number or a string"),
    (v3("fill_value", "0x7fc0000"), 'fill_value: "0x7fc0000" is no number of 4 bytes'),
    (v3("fill_value", "nan"), "is no number"),
    (v3("fill_value", 1e39), "fill_value: is too large"),
    (v3("fill_value", ...), "fill_value"),
    (v3("data_type", "bool"), "fill_value: expected true or false"),
    (v3("data_type", "uint8") | {"fill_value": 256}, "fill_value: is too large"),
    (v3("data_type", "uint8") | {"fill_value": -1}, "fill_value: is too small"),
    (v3("data_type", "int64") | {"fill_value": 2**63}, "fill_value: is too large"),
    (v3("data_type", "int8") | {"fill_value": 1.5}, "fill_value: expected an integer"),
    (v3("data_type", "complex64"), "fill_value: expected an array"),
    (v2("dtype", "<c8") | {"fill_value": "1+j2"}, "is no complex number"),
    (v2("dtype", "<c8") | {"fill_value": "1e39j"}, "is too large"),
    (v3("data_type", "complex64") | {"fill_value": [0]}, "fill_value: expected a real and an imaginary part"),
    (v3("data_type", "r16") | {"fill_value": [0, 256]}, "fill_value[1]: expected 0 to 255"),
    # codecs
    (sharded("codecs", []), "codecs: expected a codec that makes bytes"),
    (v3("codecs", ["bytes"]), "codecs[0]: configuration.endian is required"),
    (v3("codecs", [LITTLE, LITTLE]), "codecs[1]: a second codec"),
    (v3("codecs", ["crc32c", LITTLE]), 'codecs[0]: "crc32c" needs a codec before it'),
    (v3("codecs", [3]), "codecs[0]: expected an object"),
    (codecs("zarrs.squeeze"), 'codecs[1]: the codec "zarrs.squeeze" is not supported'),
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
    (v2("filters", [{"id": "delta", "dtype": "|S4"}]), "filters[0].dtype: only Booleans, integers"),
    (v2("filters", [{"id": "delta", "dtype": "<f4", "more": 1}]), "filters[0].more: is not supported"),
    (v2("filters", [{"id": "astype", "decode_dtype": "<f4"}]), "filters[0].encode_dtype: is required"),
    (v2("filters", [{"id": "quantize", "digits": 400, "dtype": "<f4"}]), "digits: 400 are too many"),
    (v2("filters", [{"id": "bitround", "keepbits": 24}]), "filters[0]: keepbits: expected 0 to 23, got 24"),
    (v2("filters", [{"id": "crc32", "location": "middle"}]), 'location: "middle" is not supported'),
    (v2("filters", [{"id": "shuffle"}] * 17), "filters[16]: more than 16 codecs of bytes"),
    (codecs({"name": "numcodecs.delta", "configuration": {"dtype": "<f4"}}), "cannot follow a codec"),
    (codecs(before=({"name": "numcodecs.zlib"},)), "needs a codec before it that makes bytes"),
    (v2("compressor", {"id": "bz2", "level": 1}), 'compressor.id: the codec "bz2" is not supported'),
    (v2("compressor", {"level": 1}), "compressor.id: is required and missing"),
    (v2("compressor", {"type": "gzip"}), "compressor.id: is required and missing"),
    (v2("filters", [{"id": "crc32", "more": 1}]), "filters[0].more: is not supported"),
    (v2("order", "A"), 'order: "A" is not supported'),
    (v2("dimension_separator", "_"), "dimension_separator"),
]


@pytest.mark.parametrize(("document", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_refused(refuse: Any, document: Any, reason: str) -> None:
    assert reason in refuse(document)


def test_a_name_twice_is_refused_in_format_2(refuse: Any) -> None:
    assert "order: occurs twice" in refuse(json.dumps(V2)[:-1] + ', "order": "F"}', ".zarray")


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
            except LibraryError as error:
                assert error.args[0] == refused_with(error.args[1])
            else:
                library.region(handle, np.zeros((6, 4), f"V{library.itemsize(handle)}"))
                library.release(handle)
            (tmp_path / name).unlink()


def shards(levels: int) -> dict[str, Any]:
    """Codecs nested that many levels deep, all of them shards but the innermost."""
    codec: Any = LITTLE
    for _ in range(levels - 1):
        inner = SHARDS["configuration"] | {"chunk_shape": [2, 2], "codecs": [codec]}
        codec = SHARDS | {"configuration": inner}
    return v3("codecs", [codec])


def conditions(levels: int) -> dict[str, Any]:
    codec: Any = {"name": "crc32c"}
    for _ in range(levels - 1):
        codec = {"name": "conditional", "configuration": {"codecs": [codec]}}
    return v3("codecs", [LITTLE, codec])


def structures(levels: int) -> dict[str, Any]:
    dtype: Any = "int8"
    for _ in range(levels):
        dtype = {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": dtype}]}}
    return v3("data_type", dtype) | {"fill_value": "AA=="}


def structures_v2(levels: int) -> dict[str, Any]:
    dtype: Any = "|i1"
    for _ in range(levels):
        dtype = [["a", dtype]]
    return changed(V2, "dtype", dtype) | {"fill_value": None}


@pytest.mark.parametrize("nested", [shards, conditions, structures, structures_v2])
def test_nesting_has_one_limit_in_c_and_in_python(
    nested: Any, refuse: Any, library: Any, tmp_path: Path
) -> None:
    for levels in (MAX_DEPTH + 1, 4 * MAX_DEPTH, 100):
        document = nested(levels)
        assert f"nested more than {MAX_DEPTH} levels deep" in refuse(document)
        (tmp_path / NAMES[document["zarr_format"]]).write_text(json.dumps(document))
        with pytest.raises(BaseZarrError, match=f"nested more than {MAX_DEPTH} levels deep"):
            zarrcore.open_array(tmp_path)
    document = nested(MAX_DEPTH)
    (tmp_path / NAMES[document["zarr_format"]]).write_text(json.dumps(document))
    array = zarrcore.open_array(tmp_path, mode="r+")
    values = np.arange(24).astype("i1" if array.dtype.names else array.dtype).reshape(6, 4)
    array[...] = values.view(array.dtype)
    handle, out = library.handle(tmp_path), np.zeros_like(values)
    assert library.region(handle, out) == 0
    np.testing.assert_array_equal(out, values)
    library.release(handle)


def test_codecs_nested_40000_deep_are_refused(refuse: Any, tmp_path: Path) -> None:
    """The stack of the thread that opens the document is not for them to use up."""
    opening, closing = '{"name": "conditional", "configuration": {"codecs": [', "]}}"
    codecs = json.dumps(V3["codecs"])[:-1] + ", " + 40000 * opening + '"crc32c"' + 40000 * closing + "]"
    text = json.dumps(v3("codecs", "here")).replace('"here"', codecs)
    assert "nested more than" in refuse(text)
    (tmp_path / "zarr.json").write_text(text)
    with pytest.raises(MetadataValidationError, match="nested too deeply"):
        zarrcore.open_array(tmp_path)


def test_too_large_a_document(library: Any, tmp_path: Path) -> None:
    path = tmp_path / "zarr.json"
    path.write_text(json.dumps(V3))
    os.truncate(path, MAX_DOCUMENT_NBYTES + 1)
    with pytest.raises(LibraryError, match="too many"):
        library.handle(tmp_path)


def status_of(library: Any, path: Path) -> tuple[int, str]:
    with pytest.raises(Exception, match=".") as caught:
        library.handle(path)
    return caught.value.args[0], str(caught.value)


def test_a_loop_of_links_is_not_taken_for_nothing(library: Any, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    status, message = status_of(library, tmp_path / "a")
    assert (status, "cannot open directory" in message) == (IO, True)


def test_a_directory_out_of_reach_is_not_taken_for_nothing(library: Any, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may look into every directory")
    inside = tmp_path / "closed" / "array"
    inside.mkdir(parents=True)
    inside.parent.chmod(0)
    try:
        assert status_of(library, inside)[0] == IO
    finally:
        inside.parent.chmod(0o700)


def test_a_file_on_the_way_is_not_taken_for_nothing(library: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert status_of(library, tmp_path / "file" / "array")[0] == IO


def test_nothing_there(library: Any, tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "neither zarr.json nor .zarray"), (tmp_path / "no", "no such directory")):
        with pytest.raises(LibraryError, match=reason) as caught:
            library.handle(path)
        assert caught.value.args[0] == -8


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"zarr_format": 3, "node_type": "group", "attributes": {}}, 'the node type "group"'),
        (v3("data_type", "string"), 'the data type "string"'),
        (v3("data_type", {"name": "mine", "configuration": {}}), 'the data type "mine"'),
        (codecs({"name": "bz3"}), 'the codec "bz3"'),
        (v3("chunk_grid.name", "mine"), 'the chunk grid "mine"'),
        (v3("chunk_key_encoding.name", "mine"), 'the chunk key encoding "mine"'),
        (v3("mine", {"must_understand": True}), 'the member "mine"'),
        (v3("storage_transformers", [{"name": "mine"}]), 'the member "storage_transformers"'),
        (v2("dtype", "|O"), 'the data type "|O"'),
        (v2("compressor", {"id": "lzma"}), 'the codec "lzma"'),
        (v2("filters", [{"id": "mine"}]), 'the codec "mine"'),
    ],
)
def test_valid_documents_that_are_not_supported(refuse: Any, document: Any, what: str) -> None:
    """A caller can go on with the next array; of a damaged document it should not."""
    assert refuse(document).endswith(f"{what} is not supported")
    assert refused_with(refuse(document)) == UNSUPPORTED


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_compressor_that_a_build_of_blosc_lacks_is_valid(
    refuse: Any, zarr_format: int, tmp_path: Path
) -> None:
    """It was said to be damaged; Python opens the array, and says so when a chunk is read."""
    options = {
        "cname": "snappy",
        "clevel": 5,
        "shuffle": 1 if zarr_format == 2 else "shuffle",
        "blocksize": 0,
    }
    blosc = {"name": "blosc", "configuration": {**options, "typesize": 4}}
    document = v2("compressor", {"id": "blosc", **options}) if zarr_format == 2 else codecs(blosc)
    message = refuse(document)
    assert message.endswith("this build of blosc lacks the compressor snappy")
    assert refused_with(message) == UNSUPPORTED
    assert zarrcore.open_array(tmp_path, mode="r").shape == (6, 4)


# JSON of an attribute: both languages read the document, both refuse it, or C says why it supports none such.
READ, REFUSED_BY_BOTH, NOT_IN_C = "+", "-", "u"
_SAME = ["NaN", "Infinity", "-Infinity", "[NaN,-Infinity]", "1e400", "-1E+400", "-0", "true"]
_SAME += ["9" * 4300, "9" * 4301, "-" + "1" * 5000, "1" * 5000 + ".5e-5000"]
_SAME += ['"\\ud83d\\ude00"', '"NaN -NaN nan \\" -NaN"']
_NONE = ["-NaN", "nan", "NAN", "inf", "-inf", "Inf", "infinity", "-INFINITY", "+1", "+Infinity", "01", "1."]
_NONE += [".5", "1e", "- 1", "nul", "True", "[1,]", "0x10", "'a'", '"\\x41"', '"\t"']
_SURROGATES = ['"\\ud800"', '"\\ud800\\u0041"', '"\\ud800x"', '"\\udc00"', '{"\\udfff": 1}']
JSON_TEXTS = [
    *((READ, text) for text in _SAME),
    *((REFUSED_BY_BOTH, text) for text in _NONE),
    *((NOT_IN_C, text) for text in _SURROGATES),
]


@pytest.mark.parametrize(("verdict", "text"), JSON_TEXTS, ids=lambda value: value[:20])
@pytest.mark.parametrize("document", [V2, V3], ids=["2", "3"])
def test_c_and_python_read_the_same_json(
    library: Any, document: Any, verdict: str, text: str, tmp_path: Path
) -> None:
    """C took "-NaN" and "inf"; Python refused integers of more than 4,300 digits."""
    name = NAMES[document["zarr_format"]]
    (tmp_path / name).write_text(
        json.dumps({**document, "attributes": {"a": 0}}).replace("0}}", f"{text}}}}}")
    )
    if verdict == REFUSED_BY_BOTH:
        with pytest.raises(MetadataValidationError, match="not valid JSON"):
            zarrcore.open_array(tmp_path, mode="r")
    else:
        zarrcore.open_array(tmp_path, mode="r")
    if verdict == READ:
        library.release(library.handle(tmp_path))
        return
    with pytest.raises(LibraryError) as caught:
        library.handle(tmp_path)
    status, message = caught.value.args
    assert ("not supported" in message) is (verdict == NOT_IN_C)
    assert ("no valid JSON at byte" in message) is (verdict == REFUSED_BY_BOTH)
    assert status == refused_with(message)


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "8" * 4400])
def test_an_integer_of_many_digits_stays_as_it_is(text: str, tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=(2,), dtype="i4", attributes={"a": 0, "b": 1})
    path = tmp_path / "zarr.json"
    path.write_text(path.read_text().replace('"a": 0', f'"a": {text}'))
    array = zarrcore.open_array(tmp_path)
    array.attrs["b"] = 2
    array.resize((3,))
    assert f'"a": {text}' in path.read_text()
    path.write_text(path.read_text().replace("3", text))
    with pytest.raises(MetadataValidationError):
        zarrcore.open_array(tmp_path)


def test_groups_of_format_2_are_not_supported(library: Any, tmp_path: Path) -> None:
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    with pytest.raises(LibraryError) as caught:
        library.handle(tmp_path)
    assert caught.value.args[0] == UNSUPPORTED
    assert "group" in caught.value.args[1]


def test_a_file_in_the_place_of_the_directory(library: Any, tmp_path: Path) -> None:
    (tmp_path / "zarr.json").write_text(json.dumps(V3))
    for path, reason in [("zarr.json", "is a file; open the directory"), ("zarr.json/x", "Not a directory")]:
        with pytest.raises(LibraryError, match=reason) as caught:
            library.handle(tmp_path / path)
        assert caught.value.args[0] == IO
