# SPDX-License-Identifier: MIT
"""The codecs in metadata documents that libzarrcore reads: what it writes is read by zarrcore, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import (
    BIG,
    BLOCK,
    CAST,
    LEGAL,
    LITTLE,
    SHARDS,
    TURN,
    LibraryError,
    changed,
    extension,
    refused_with,
    v3,
)

import zarrcore
from zarrcore.errors import MetadataValidationError

INNER = "configuration.codecs"

pytestmark = [
    pytest.mark.timeout(600),  # the first test builds the library
    pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrcoreWarning"),
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
        ([extension("reshape", shape=[-1]), SHARDS], "chunk_shape"),
        ([extension("cast_value", data_type="int16"), changed(SHARDS, f"{INNER}.0", "bytes")], "endian"),
        ([LITTLE, extension("conditional")], "codecs"),
        ([LITTLE, extension("conditional", codecs=["bytes"])], "bytes"),
        ([LITTLE, extension("conditional", codecs=["crc32c"], header_bits=7)], "header_bits"),
        ([LITTLE, extension("conditional", codecs=["crc32c"] * 9, header_bits=8)], "header_bits"),
        ([LITTLE, extension("conditional", codecs=["crc32c"], decision="never_apply")], "decision"),
        ([extension("n5_default", codecs=[LITTLE])], "transpose"),
        ([extension("n5_default", codecs=[TURN, LITTLE])], "big byte order"),
        (
            [extension("n5_default", codecs=[changed(TURN, "configuration.order", [0, 1]), BIG])],
            "revers|order",
        ),
        ([extension("n5_default", codecs=[TURN, BIG, "crc32c", "crc32c"])], "at most one"),
        ([BLOCK, LITTLE], "second codec"),
        ([extension("cast_value", data_type="float16"), BLOCK], "N5"),
    ],
)
def test_extensions_that_are_wrong(library: Any, chain: list[Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "zarr.json").write_text(json.dumps(v3("codecs", chain)))
    with pytest.raises(LibraryError, match=message) as caught:
        library.handle(tmp_path)
    assert caught.value.args[0] == refused_with(caught.value.args[1])
    with pytest.raises((ValueError, TypeError)):
        zarrcore.open_array(tmp_path)[...]


def astype(decoded: str, encoded: str) -> dict[str, Any]:
    return extension("numcodecs.astype", decode_dtype=decoded, encode_dtype=encoded)


@pytest.mark.parametrize(
    ("data_type", "filters"),
    [
        ("r256", [astype("i1", "i8"), astype("i8", "i8")]),
        ("r256", [astype("i1", "i8")]),
        ("float32", [extension("numcodecs.delta", dtype="<f8")]),
        ("float32", [extension("numcodecs.fixedscaleoffset", offset=0, scale=1, dtype="<f8", astype="i1")]),
        ("float32", [extension("numcodecs.quantize", digits=1, dtype="<f8")]),
        ("float32", [extension("bitround", keepbits=3), astype("f4", "i2"), astype("i4", "i1")]),
        ("int32", [extension("numcodecs.bitround", keepbits=3)]),
        ("int8", [extension("numcodecs.packbits")]),
    ],
)
@pytest.mark.parametrize("before", [LITTLE, SHARDS], ids=["bytes", "shards"])
def test_a_filter_that_takes_other_items_than_it_is_given_is_refused(
    library: Any, data_type: str, filters: list[Any], before: Any, tmp_path: Path
) -> None:
    """Found as a stack overflow: two such filters made a fill value longer than the room for it."""
    fill = [0] * 32 if data_type == "r256" else 0
    document = v3("codecs", [*filters, before]) | {"data_type": data_type, "fill_value": fill}
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    with pytest.raises(
        Exception, match=rf"codecs\[{len(filters) - 1 if data_type == 'float32' else 0}\]"
    ) as caught:
        library.handle(tmp_path)
    assert caught.value.args[0] == refused_with(caught.value.args[1])
    with pytest.raises(MetadataValidationError, match=filters[-1]["name"]):
        zarrcore.open_array(tmp_path)


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
