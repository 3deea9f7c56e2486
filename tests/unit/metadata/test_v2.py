"""Array metadata of formats 2 and 1."""

from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from zarrcore.codecs import TransposeCodec
from zarrcore.codecs.filters import FilterChain, RawItems
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.errors import (
    MetadataValidationError,
    PickleCodecDisabledError,
    UnknownCodecError,
    ZarrcoreWarning,
)
from zarrcore.grids import RegularGrid
from zarrcore.keys import V2ChunkKeyEncoding
from zarrcore.metadata import ArrayV2Metadata, parse_v2_array
from zarrcore.metadata.v1 import ArrayV1Metadata


def v2(name: str, **config: Any) -> Any:
    return parse_v2_codec({"id": name, **config})


DOCUMENT: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [10000, 1000],
    "chunks": [1000, 100],
    "dtype": "<f8",
    "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "fill_value": "NaN",
    "order": "C",
    "filters": [{"id": "delta", "dtype": "<f8", "astype": "<f4"}],
    "dimension_separator": ".",
}


def changed(**changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT) | changes
    return {name: value for name, value in document.items() if value is not ...}


def plain(**changes: Any) -> dict[str, Any]:
    return changed(**{"compressor": None, "filters": None, "dtype": "<i4", "fill_value": 0} | changes)


def test_example_of_the_specification() -> None:
    metadata = ArrayV2Metadata.from_dict(DOCUMENT | {"attributes": {"a": 1}})
    assert metadata.zarr_format == 2
    assert metadata.shape == (10000, 1000)
    assert metadata.chunks == (1000, 100)
    assert metadata.np_dtype == np.dtype("<f8")
    assert math.isnan(metadata.fill_value)
    assert metadata.chunk_grid == RegularGrid((1000, 100))
    assert metadata.chunk_key_encoding == V2ChunkKeyEncoding(".")
    assert metadata.compressor == v2("blosc")
    assert metadata.filters == (v2("delta", dtype="<f8", astype="<f4"),)
    assert metadata.attributes == {"a": 1}
    assert metadata.shards is None
    assert metadata.sharding_codec is None
    assert not hasattr(metadata, "dimension_names")  # by which xarray tells format 3 from 2
    assert metadata.encode_chunk_key((1, 2)) == "1.2"
    assert metadata.to_dict() == DOCUMENT | {"attributes": {"a": 1}}


class TestChain:
    def test_filters_and_compressor(self) -> None:
        chain = ArrayV2Metadata.from_dict(DOCUMENT).chain()
        assert chain.array_array == ()
        assert chain.array_bytes == FilterChain((v2("delta", dtype="<f8", astype="<f4"),))
        assert chain.bytes_bytes == (v2("blosc").sized(4, 8),)

    def test_plain(self) -> None:
        chain = ArrayV2Metadata.from_dict(plain(compressor={"id": "zlib", "level": 1})).chain()
        assert chain.array_bytes == RawItems()
        assert chain.bytes_bytes == (v2("zlib", level=1),)

    def test_order_f_is_a_transpose(self) -> None:
        chain = ArrayV2Metadata.from_dict(plain(order="F")).chain()
        assert chain.array_array == (TransposeCodec(order=(1, 0)),)
        chunk = np.arange(100_000, dtype="<i4").reshape(1000, 100)
        spec = ArrayV2Metadata.from_dict(plain(order="F")).chunk_spec()
        assert chain.encode(chunk, spec) == chunk.tobytes("F")

    def test_byte_order_is_kept(self) -> None:
        metadata = ArrayV2Metadata.from_dict(plain(dtype=">i4", shape=[2], chunks=[2], fill_value=7))
        assert metadata.np_dtype == np.dtype(">i4")
        assert metadata.fill_bytes == b"\0\0\0\7"
        spec = metadata.chunk_spec()
        chunk = metadata.chain().decode(b"\0\0\0\1\0\0\0\2", spec)
        assert chunk.dtype == np.dtype(">i4")
        assert chunk.tolist() == [1, 2]
        assert metadata.chain().array_bytes.native(spec) == (("bytes", 0),)

    def test_shuffle_of_nczarr(self) -> None:
        filters = [{"id": "shuffle", "elementsize": 0}]
        metadata = ArrayV2Metadata.from_dict(plain(filters=filters))
        assert metadata.chain().bytes_bytes == (v2("shuffle", elementsize=0).sized(1, 4),)
        assert metadata.to_dict()["filters"] == filters

    def test_bytes_filters_stand_before_the_compressor(self) -> None:
        filters = [{"id": "crc32"}, {"id": "bz2", "level": 1}]
        chain = ArrayV2Metadata.from_dict(plain(filters=filters)).chain()
        assert [codec.name for codec in chain.bytes_bytes] == ["crc32", "bz2"]
        assert chain.bytes_bytes[1] == v2("bz2", level=1)

    def test_strings(self) -> None:
        document = plain(dtype="|O", filters=[{"id": "vlen-utf8"}], fill_value="", shape=[2], chunks=[2])
        metadata = ArrayV2Metadata.from_dict(document)
        spec = metadata.chunk_spec()
        chunk = np.array(["a", "é"], metadata.np_dtype)
        assert metadata.chain().decode(metadata.chain().encode(chunk, spec), spec).tolist() == ["a", "é"]
        assert metadata.fill_bytes is None
        assert metadata.to_dict()["dtype"] == "|O"


VALID = [
    changed(),
    plain(),
    plain(dimension_separator="/"),
    plain(dimension_separator=...),
    plain(filters=...),
    plain(filters=[]),
    plain(fill_value=None),
    plain(order="F"),
    plain(shape=[], chunks=[]),
    plain(shape=[0, 3], chunks=[0, 3]),
    plain(dtype="|S3", fill_value="YWJj"),
    plain(dtype=[["a", "<i2"], ["b", ">f4", [2]]], fill_value=None),
    plain(dtype="|O", filters=[{"id": "vlen-bytes"}], fill_value=None),
    plain(dtype="<M8[ns]", fill_value=5),
    plain(_NCZARR_ARRAY={"dimrefs": ["/x", "/y"]}),
]


@pytest.mark.parametrize("document", VALID)
def test_round_trip(document: dict) -> None:
    metadata = ArrayV2Metadata.from_dict(document | {"attributes": {"é": [1]}})
    documents = metadata.to_documents()
    assert list(documents) == [".zarray", ".zattrs"]
    again = parse_v2_array(documents[".zarray"], documents[".zattrs"])
    assert again == metadata
    assert hash(again) == hash(metadata)
    assert again.to_documents() == documents
    assert pickle.loads(pickle.dumps(metadata)) == metadata


def test_further_members_are_kept() -> None:
    metadata = ArrayV2Metadata.from_dict(VALID[-1])
    assert metadata.extra_fields == {"_NCZARR_ARRAY": {"dimrefs": ["/x", "/y"]}}
    assert json.loads(metadata.to_documents()[".zarray"])["_NCZARR_ARRAY"] == {"dimrefs": ["/x", "/y"]}


@pytest.mark.parametrize(
    ("token", "expected"), [(b"NaN", math.nan), (b"Infinity", math.inf), (b"-Infinity", -math.inf)]
)
def test_bare_tokens_as_fill_value(token: bytes, expected: float) -> None:
    data = json.dumps(changed(fill_value="@")).encode().replace(b'"@"', token)
    with pytest.warns(ZarrcoreWarning, match="fill_value"):
        metadata = parse_v2_array(data)
    np.testing.assert_equal(float(metadata.fill_value), expected)
    assert b'"' + token + b'"' in metadata.to_documents()[".zarray"]
    with pytest.raises(MetadataValidationError, match="fill_value"):
        parse_v2_array(json.dumps(plain(fill_value="@")).encode().replace(b'"@"', token))


INVALID = [
    *[({name: ...}, f"{name}: is required and missing") for name in
      ("shape", "chunks", "dtype", "compressor", "fill_value", "order")],
    ({"zarr_format": 3}, "zarr_format"),
    ({"zarr_format": "2"}, "zarr_format"),
    ({"zarr_format": ...}, "zarr_format"),
    ({"shape": [-1, 5]}, r"shape\[0\]"),
    ({"shape": 5}, "shape: expected an array"),
    ({"chunks": [0, 5]}, r"chunks\[0\]: expected an integer of at least 1, got 0"),
    ({"chunks": [5]}, "chunks: expected 2 lengths"),
    ({"chunks": True}, "chunks: expected an array"),
    ({"chunks": None}, "chunks"),
    ({"chunks": [2**40, 2**22]}, "chunks: expected a chunk of less than"),
    ({"dtype": "<i5"}, "dtype"),
    ({"dtype": "|O"}, "dtype"),
    ({"dtype": 5}, "dtype"),
    ({"order": "c"}, 'order: expected one of "C", "F"'),
    ({"order": None}, "order"),
    ({"dimension_separator": "|"}, "dimension_separator"),
    ({"dimension_separator": None}, "dimension_separator"),
    ({"filters": "x"}, "filters: expected an array"),
    ({"filters": [5]}, r"filters\[0\]: expected an object with an id"),
    ({"filters": [{"id": "delta", "dtype": "foo"}]}, r"filters\[0\].dtype"),
    ({"compressor": "zlib"}, "compressor: expected an object with an id"),
    ({"compressor": {"id": "zlib", "level": 77}}, "compressor.level: expected an integer -1..9, got 77"),
    ({"fill_value": "x"}, "fill_value"),
    ({"fill_value": 2**31}, "fill_value"),
    ({"fill_value": 1.5}, "fill_value"),
    ({"attributes": [1]}, "attributes: expected an object"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "reason"), INVALID)
def test_bad_documents_are_refused(changes: dict, reason: str) -> None:
    with pytest.raises(MetadataValidationError, match=reason) as caught:
        ArrayV2Metadata.from_dict(plain(**changes), where="foo/.zarray")
    assert str(caught.value).startswith("foo/.zarray: ")


def test_codecs_that_are_not_there() -> None:
    with pytest.raises(PickleCodecDisabledError, match=r"^\.zarray: filters\[0\]: the pickle codec"):
        ArrayV2Metadata.from_dict(plain(dtype="|O", filters=[{"id": "pickle"}], fill_value=None))
    with pytest.raises(UnknownCodecError, match=r"^\.zarray: compressor: unknown codec 'nope'"):
        ArrayV2Metadata.from_dict(plain(compressor={"id": "nope"}))


def test_bad_attributes_name_their_document() -> None:
    with pytest.raises(MetadataValidationError, match=r"^foo/\.zattrs: not valid JSON"):
        parse_v2_array(json.dumps(DOCUMENT).encode(), b"{", prefix="foo/")


def test_blosc_limit() -> None:
    with pytest.raises(MetadataValidationError, match="blosc codec can encode at most"):
        ArrayV2Metadata.from_dict(changed(filters=None, chunks=[2**15, 2**15], shape=[2**15, 2**15]))


class TestFormat1:
    DOCUMENT: dict[str, Any] = {
        "zarr_format": 1,
        "shape": [30, 20],
        "chunks": [10, 10],
        "dtype": "<i4",
        "compression": "zlib",
        "compression_opts": 1,
        "fill_value": 42,
        "order": "C",
    }

    def test_example(self) -> None:
        metadata = ArrayV1Metadata.from_dict(self.DOCUMENT | {"attributes": {"foo": 42}})
        assert metadata.zarr_format == 1
        assert metadata.compressor == v2("zlib", level=1)
        assert metadata.chain().bytes_bytes == (v2("zlib", level=1),)
        assert metadata.encode_chunk_key((0, 1)) == "0.1"
        assert metadata.attributes == {"foo": 42}

    @pytest.mark.parametrize(
        ("compression", "options"),
        [
            (None, None),
            ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1}),
            ("bz2", 1),
            ("lzma", {}),
            ("lzma", None),
        ],
    )
    def test_compressions(self, compression: Any, options: Any) -> None:
        document = self.DOCUMENT | {"compression": compression, "compression_opts": options}
        metadata = ArrayV1Metadata.from_dict(document)
        assert (metadata.compressor and metadata.compressor.name) == compression

    @pytest.mark.parametrize(
        ("compression", "options", "expected"), [("none", None, None), ("gzip", 3, v2("zlib", level=3))]
    )
    def test_other_names_of_compressions(self, compression: str, options: Any, expected: Any) -> None:
        """The names that zarr-python 1 knew besides: ``none`` is what it wrote where nothing compresses."""
        document = self.DOCUMENT | {"compression": compression, "compression_opts": options}
        assert ArrayV1Metadata.from_dict(document).compressor == expected

    @pytest.mark.parametrize(
        "changes",
        [
            {"compression": "foo"},
            {"compression_opts": "x"},
            {"compression": "none"},
            {"zarr_format": 2},
            {"order": 1},
        ],
    )
    def test_bad_documents_are_refused(self, changes: dict) -> None:
        with pytest.raises(MetadataValidationError, match="^meta: "):
            ArrayV1Metadata.from_dict(self.DOCUMENT | changes)

    def test_is_never_written(self) -> None:
        with pytest.raises(MetadataValidationError, match="can be read only"):
            ArrayV1Metadata.from_dict(self.DOCUMENT).to_documents()
