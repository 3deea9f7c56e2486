"""Filters of format 2 for words and arrays: categorize, vlen-array; and base64; against numcodecs."""

from __future__ import annotations

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs.base import ArraySpec
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.dtype import PythonObject
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

numcodecs = pytest.importorskip("numcodecs")

LABELS = ["ab", "ü", "c"]
KNOWN = ["ü", "ab", "c", "", "", "ab"]
WORDS = ["ü", "ab", "c", "x", "", "ab"]


def spec_of(count: int) -> ArraySpec:
    return ArraySpec((count,), PythonObject(object_codec_id="vlen-array"))


@pytest.mark.parametrize("dtype", ["<U2", ">U2", "|O"])
@pytest.mark.parametrize("astype", ["|u1", "<u2", ">i4"])
def test_categorize_as_numcodecs_does(dtype, astype):
    theirs = numcodecs.Categorize(LABELS, dtype=dtype, astype=astype)
    ours = parse_v2_codec(theirs)
    assert ours.get_config() == theirs.get_config()
    items = np.array(WORDS, dtype)
    encoded = ours.encode(items)
    assert encoded.tobytes() == np.asarray(theirs.encode(items)).tobytes()
    assert ours.decode(encoded.tobytes()).tolist() == theirs.decode(encoded).tolist() == KNOWN


@pytest.mark.parametrize("dtype", ["<U2", "|O"])
def test_an_array_of_categories(dtype):
    options = {"filters": [{"id": "categorize", "labels": LABELS, "dtype": dtype}], "zarr_format": 2}
    own = "<U2" if dtype == "<U2" else "string"
    array = zarrcore.create_array({}, shape=6, chunks=4, dtype=own, **options)
    array[...] = WORDS
    assert zarrcore.open_array(array.store)[...].tolist() == KNOWN
    array.store.set("0", numcodecs.Zstd().encode(np.array([1, 4, 0, 0], "u1")))
    with pytest.raises(ChunkDecodeError, match="categorize.*3 labels, item 1 has the label 4"):
        array[...]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"labels": LABELS, "dtype": "<f4"}, "dtype"),
        ({"labels": LABELS, "dtype": "<U2", "astype": "<f4"}, "astype"),
        ({"labels": ["a", 1], "dtype": "<U2"}, r"labels\[1\]: expected a string, got 1"),
        ({"labels": "ab", "dtype": "<U2"}, "labels"),
        ({"labels": [str(i) for i in range(256)], "dtype": "<U2"}, "labels: expected at most 255"),
        ({"labels": LABELS, "dtype": "<U3"}, "items of <U3"),
        ({"labels": LABELS, "dtype": "<U2", "more": 1}, "more: unknown key"),
        ({"dtype": "<U2"}, "labels"),
    ],
)
def test_categorize_refuses(config, message):
    filters = [{"id": "categorize", **config}]
    with pytest.raises(MetadataValidationError, match=message):
        zarrcore.create_array({}, shape=6, dtype="<U2", zarr_format=2, filters=filters)


@pytest.mark.parametrize("dtype", ["<i4", ">f8", "|u1", "|b1"])
def test_arrays_as_numcodecs_does(dtype):
    theirs = numcodecs.VLenArray(dtype)
    ours = parse_v2_codec(theirs)
    items = np.empty(4, object)
    for i in range(4):
        items[i] = np.arange(3 - i).astype(dtype)
    assert bytes(ours.encode(items)) == bytes(theirs.encode(items))
    for decoded in (ours.decode(theirs.encode(items), spec_of(4)), theirs.decode(ours.encode(items))):
        assert all(map(np.array_equal, decoded, items))
        assert {item.dtype for item in decoded} == {np.dtype(dtype)}


def test_arrays_of_other_memory_and_types():
    codec = parse_v2_codec({"id": "vlen-array", "dtype": "<i4"})
    table = np.arange(24, dtype="<i4").reshape(4, 6)
    given = [
        table[1],
        table[:, 2],
        table[2, ::-2],
        table[0].astype(">i4"),
        table[0].astype("i2"),
        [7, 8],
        None,
        0,
        [],
    ]
    items = np.empty(len(given), object)
    for i, item in enumerate(given):
        items[i] = item
    expected = [
        np.array([] if item is None or np.ndim(item) == 0 else item, "<i4").tolist() for item in given
    ]
    value = codec.encode(items)
    decoded = codec.decode(value, spec_of(len(given)))
    assert [item.tolist() for item in decoded] == expected
    assert bytes(numcodecs.VLenArray("<i4").encode(decoded)) == value
    decoded[0][0] = -1  # memory of its own
    assert codec.decode(value, spec_of(len(given)))[0].tolist() == expected[0]
    assert codec.encode(np.empty(0, object)) == bytes(4)
    assert codec.decode(bytes(4), spec_of(0)).tolist() == []
    for bad in ("text", np.array([1.5]), np.zeros((2, 2), "i4"), np.array(3)):
        items[5] = bad
        with pytest.raises(ChunkEncodeError, match="item 5: expected one dimension of <i4"):
            codec.encode(items)


def test_an_array_of_arrays():
    filters = [{"id": "vlen-array", "dtype": "<i4"}]
    array = zarrcore.create_array({}, shape=5, chunks=2, dtype=object, zarr_format=2, filters=filters)
    values = np.empty(5, object)
    for i in range(5):
        values[i] = np.arange(i, dtype="i4")
    array[...] = values
    found = zarrcore.open_array(array.store)[...]
    assert all(map(np.array_equal, found, values))
    for bad in (np.array([1.5]), np.zeros((2, 2), "i4"), "text"):
        values[1] = bad
        with pytest.raises(ChunkEncodeError, match="vlen-array|filters.*item 1: expected one dimension"):
            array[...] = values


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\1\0\0\0",
        b"\2\0\0\0" + b"\4\0\0\0abcd",
        b"\1\0\0\0" + b"\5\0\0\0abcde",
        b"\1\0\0\0" + b"\xff\xff\xff\xff",
        b"\1\0\0\0" + b"\4\0\0\0abcdX",
    ],
    ids=repr,
)
def test_lying_lengths(data):
    with pytest.raises(ChunkDecodeError, match="vlen-array"):
        parse_v2_codec({"id": "vlen-array", "dtype": "<i4"}).decode(data, spec_of(1))


def test_base64_as_numcodecs_does():
    theirs, ours = numcodecs.Base64(), parse_v2_codec({"id": "base64"})
    for n in range(10):
        data = bytes(range(n))
        assert bytes(ours.encode(data)) == bytes(theirs.encode(data))
        assert len(ours.encode(data)) == ours.encoded_size(n)
        assert ours.decode(theirs.encode(data)) == data
    for bad in (b"A", b"AA\nA", b"____"):
        with pytest.raises(ChunkDecodeError, match="base64"):
            ours.decode(bad)
