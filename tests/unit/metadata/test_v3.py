"""Array metadata of format 3."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from zarrcore.codecs import BloscCodec, BytesCodec, ShardingCodec, TransposeCodec
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import MetadataValidationError, NodeTypeValidationError, UnknownCodecError
from zarrcore.grids import RectilinearGrid, RegularGrid
from zarrcore.keys import DefaultChunkKeyEncoding
from zarrcore.metadata import ArrayV3Metadata, parse_v3_node

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}

DOCUMENT: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [10000, 1000],
    "dimension_names": ["rows", None],
    "data_type": "float64",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000, 100]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [BYTES],
    "fill_value": "NaN",
    "attributes": {"foo": 42, "bar": "apples", "baz": [1, 2, 3, 4]},
}


def changed(**changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT) | changes
    return {name: value for name, value in document.items() if value is not ...}


def grid(*chunk_shape: Any) -> dict:
    return {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}}


def test_example_of_the_specification() -> None:
    metadata = ArrayV3Metadata.from_dict(DOCUMENT)
    assert metadata.shape == (10000, 1000)
    assert metadata.ndim == 2
    assert metadata.dimension_names == ("rows", None)
    assert metadata.np_dtype == np.dtype("f8")
    assert metadata.chunk_grid == RegularGrid((1000, 100))
    assert metadata.chunks == (1000, 100)
    assert metadata.shards is None
    assert metadata.chunk_key_encoding == DefaultChunkKeyEncoding("/")
    assert metadata.codecs == (BytesCodec(endian="little"),)
    assert metadata.chain().array_bytes == metadata.codecs[0]
    assert math.isnan(metadata.fill_value)
    assert metadata.attributes == DOCUMENT["attributes"]
    assert metadata.encode_chunk_key((1, 2)) == "c/1/2"
    assert metadata.chunk_spec().shape == (1000, 100)
    assert metadata.to_dict() == DOCUMENT | {"storage_transformers": []}
    assert json.loads(metadata.to_documents()["zarr.json"]) == DOCUMENT


VALID = [
    changed(),
    changed(dimension_names=...),
    changed(attributes=...),
    changed(codecs=["bytes"], data_type="uint8", fill_value=0),
    changed(chunk_key_encoding="v2"),
    changed(data_type={"name": "int32"}, fill_value=-1),
    changed(shape=[], chunk_grid=grid(), dimension_names=[]),
    changed(shape=[0, 5], chunk_grid=grid(1, 5)),
    changed(fill_value="0x7ff8000000000001"),
    changed(storage_transformers=[]),
    changed(storage_transformers=[{"name": "example.hint", "must_understand": False}]),
    changed(example={"must_understand": False, "name": "x", "more": [1]}),
    changed(data_type="string", fill_value="é", codecs=["vlen-utf8", "gzip"]),
    changed(
        codecs=[
            BYTES,
            {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle"}},
        ]
    ),
    changed(
        chunk_grid={
            "name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[[4000, 3]], 7]},
        }
    ),
]


@pytest.mark.parametrize("document", VALID)
def test_round_trip(document: dict) -> None:
    metadata = ArrayV3Metadata.from_dict(document)
    documents = metadata.to_documents()
    assert list(documents) == ["zarr.json"]
    again = parse_v3_node(documents["zarr.json"])
    assert again == metadata
    assert hash(again) == hash(metadata)
    assert again.to_documents() == documents
    assert pickle.loads(pickle.dumps(metadata)) == metadata
    assert metadata != ArrayV3Metadata.from_dict(document | {"attributes": {"other": 1}})


def test_extension_members_are_kept() -> None:
    extra = {"must_understand": False, "more": [1]}
    metadata = ArrayV3Metadata.from_dict(changed(example=extra))
    assert metadata.extra_fields == {"example": extra}
    assert metadata.update_attributes({}).to_dict()["example"] == extra


def test_dimensions_take_the_keys_of_a_dictionary_as_their_names() -> None:
    metadata = replace(ArrayV3Metadata.from_dict(changed()), dimension_names={"rows": 4, "columns": 5})
    assert metadata.dimension_names == ("rows", "columns")
    with pytest.raises(MetadataValidationError, match="dimension_names: expected an array"):
        ArrayV3Metadata.from_dict(changed(dimension_names={"rows": 4, "columns": 5}))


def test_what_is_written_is_complete() -> None:
    short = changed(
        data_type="uint16",
        fill_value=0,
        chunk_key_encoding="default",
        codecs=[BYTES, {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1}}],
        dimension_names=...,
    )
    written = ArrayV3Metadata.from_dict(short).to_dict()
    assert written["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}
    assert written["codecs"][1]["configuration"] == {
        "cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 2, "blocksize": 0,
    }  # fmt: skip
    assert "dimension_names" not in written
    one_byte = changed(data_type="uint8", fill_value=0, codecs=[BYTES])
    assert ArrayV3Metadata.from_dict(one_byte).to_dict()["codecs"] == [{"name": "bytes"}]


INVALID = [
    *[({name: ...}, f"zarr.json: {name}: is required and missing") for name in
      ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")],
    ({"zarr_format": 2}, "zarr_format: expected 3, got 2"),
    ({"zarr_format": "3"}, "zarr_format"),
    ({"zarr_format": 3.0}, "zarr_format"),
    ({"zarr_format": True}, "zarr_format"),
    ({"zarr_format": ...}, "zarr_format"),
    ({"shape": [-1, 5]}, r"shape\[0\]: expected an integer of at least 0, got -1"),
    ({"shape": ["4", 5]}, r"shape\[0\]"),
    ({"shape": [3.0, 5]}, r"shape\[0\]"),
    ({"shape": [True, 5]}, r"shape\[0\]"),
    ({"shape": [2**63, 5]}, "shape: expected lengths below"),
    ({"shape": None}, "shape: expected an array, got null"),
    ({"shape": "ab"}, "shape: expected an array"),
    ({"shape": {"a": 1}}, "shape: expected an array"),
    ({"shape": [5, 5, 5]}, "chunk_grid.configuration.chunk_shape: expected 3 lengths"),
    ({"shape": [1] * 65, "chunk_grid": grid(*[1] * 65)}, "shape: expected at most 64 dimensions"),
    ({"data_type": "int33"}, "data_type: .*int33"),
    ({"data_type": "<f8"}, "data_type"),
    ({"data_type": None}, "data_type"),
    ({"data_type": ["float64"]}, "data_type"),
    ({"chunk_grid": grid(0, 5)}, r"chunk_grid.configuration.chunk_shape\[0\]: .*at least 1, got 0"),
    ({"chunk_grid": "regular"}, "chunk_grid.configuration.chunk_shape: is required"),
    ({"chunk_grid": grid(2**40, 2**22)}, "codecs: expected a chunk of less than"),
    ({"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "|"}}}, "chunk_key_encoding.conf"),
    ({"fill_value": None}, "fill_value: expected a value of the data type"),
    ({"fill_value": "x"}, "fill_value"),
    ({"fill_value": math.nan}, "fill_value: .*JSON has no number"),
    ({"fill_value": True}, "fill_value"),
    ({"codecs": []}, "codecs: expected exactly one array->bytes codec, got none"),
    ({"codecs": None}, "codecs: expected an array"),
    ({"codecs": [BYTES, "bytes"]}, r"codecs\[1\]: the array->bytes codec"),
    ({"codecs": ["vlen-utf8"]}, r"codecs\[0\]: the vlen-utf8 codec needs items of variable length"),
    ({"codecs": ["bytes"]}, r'codecs\[0\].configuration.endian: expected "little" or "big"'),
    ({"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, BYTES]},
     r"codecs\[0\].configuration.order: expected a permutation of 0..1, got \[0, 0\]"),
    ({"attributes": [1]}, "attributes: expected an object"),
    ({"attributes": None}, "attributes: expected an object"),
    ({"dimension_names": ["x"]}, "dimension_names: expected 2 names"),
    ({"dimension_names": "xy"}, "dimension_names: expected an array"),
    ({"dimension_names": [1, 2]}, r"dimension_names\[0\]: expected a string or null, got 1"),
    ({"storage_transformers": ["foo"]},
     r"storage_transformers\[0\]: unknown storage transformer 'foo'; known are none"),
    ({"storage_transformers": {}}, "storage_transformers: expected an array"),
    ({"foo": 42}, "foo: is not known"),
    ({"foo": {"name": "x"}}, "foo: is not known"),
    ({"foo": {"must_understand": True}}, "foo: is not known"),
    ({"foo": {"must_understand": 0}}, "foo: is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "reason"), INVALID)
def test_bad_documents_are_refused(changes: dict, reason: str) -> None:
    with pytest.raises(MetadataValidationError, match=reason) as caught:
        ArrayV3Metadata.from_dict(changed(**changes), where="foo/zarr.json")
    assert caught.value.key == "foo/zarr.json"
    assert str(caught.value).startswith("foo/zarr.json: ")


@pytest.mark.parametrize("node_type", ["group", "arry", None, 3])
def test_node_type(node_type: Any) -> None:
    with pytest.raises(NodeTypeValidationError, match='node_type: expected "array"'):
        ArrayV3Metadata.from_dict(changed(node_type=node_type))


def test_unknown_codec_names_the_place() -> None:
    with pytest.raises(UnknownCodecError, match=r"^foo/zarr.json: codecs: \[1\]: unknown codec 'nope'"):
        ArrayV3Metadata.from_dict(changed(codecs=[BYTES, "nope"]), where="foo/zarr.json")


def test_fill_value_bits_survive() -> None:
    metadata = ArrayV3Metadata.from_dict(changed(data_type="float32", fill_value="0x7fc00001"))
    assert metadata.fill_bytes == np.uint32(0x7FC00001).tobytes()
    assert metadata.to_dict()["fill_value"] == "0x7fc00001"


def test_constructor_takes_what_users_have() -> None:
    metadata = ArrayV3Metadata(
        shape=np.array([4, 6]),  # type: ignore[arg-type]
        data_type=parse_dtype("i4", zarr_format=3),
        chunk_grid=grid(2, 3),  # type: ignore[arg-type]
        chunk_key_encoding="default",  # type: ignore[arg-type]
        fill_value=7,
        codecs=[TransposeCodec(order=(1, 0)), BYTES, BloscCodec()],  # type: ignore[arg-type]
        attributes={"a": (1, np.int64(2))},
    )
    assert metadata.codecs[2] == BloscCodec(typesize=4, shuffle="shuffle")
    assert metadata.attributes == {"a": [1, 2]}
    assert metadata.fill_bytes == np.int32(7).tobytes()
    assert ArrayV3Metadata.from_dict(json.loads(json.dumps(metadata.to_dict()))) == metadata


class TestShards:
    def test_chunks_and_shards(self) -> None:
        metadata = ArrayV3Metadata.from_dict(changed(codecs=[ShardingCodec(chunk_shape=(100, 50)).to_json()]))
        assert (metadata.chunks, metadata.shards) == ((100, 50), (1000, 100))
        assert metadata.inner_codecs == (BytesCodec(endian="little"),)

    def test_of_transposed_chunks(self) -> None:
        order = {"name": "transpose", "configuration": {"order": [1, 2, 0]}}
        document = changed(
            shape=[8, 8, 8],
            dimension_names=...,
            chunk_grid=grid(2, 4, 8),
            codecs=[order, ShardingCodec(chunk_shape=(1, 8, 2)).to_json()],
        )
        metadata = ArrayV3Metadata.from_dict(document)
        assert metadata.chunks == (2, 1, 8)
        assert np.zeros(metadata.chunks).transpose(1, 2, 0).shape == (1, 8, 2)

    def test_every_chunk_of_a_rectilinear_grid_is_checked(self) -> None:
        shards = [ShardingCodec(chunk_shape=(2, 50)).to_json()]

        def rectilinear(*edges: int) -> dict:
            configuration = {"kind": "inline", "chunk_shapes": [list(edges), 100]}
            return changed(chunk_grid={"name": "rectilinear", "configuration": configuration}, codecs=shards)

        metadata = ArrayV3Metadata.from_dict(rectilinear(6000, 2, 4000))
        assert metadata.chunks == (2, 50)
        with pytest.raises(NotImplementedError, match="rectilinear"):
            _ = metadata.shards
        with pytest.raises(MetadataValidationError, match="divisor of the shard's length 3"):
            ArrayV3Metadata.from_dict(rectilinear(6000, 3, 4000))


class TestUpdates:
    def test_shape(self) -> None:
        metadata = ArrayV3Metadata.from_dict(DOCUMENT).update_shape((3, 4))
        assert metadata.shape == (3, 4)
        assert metadata.chunks == (1000, 100)
        with pytest.raises(MetadataValidationError):
            metadata.update_shape((3,))

    def test_shape_of_a_rectilinear_grid(self) -> None:
        metadata = ArrayV3Metadata.from_dict(VALID[-1]).update_shape((12001, 1000))
        assert metadata.chunk_grid == RectilinearGrid(((4000, 4000, 4000, 1), 7))

    def test_attributes(self) -> None:
        metadata = ArrayV3Metadata.from_dict(DOCUMENT)
        assert metadata.update_attributes({"x": 1}).attributes == {"x": 1}
        assert metadata.attributes == DOCUMENT["attributes"]

    def test_nan_in_attributes_is_kept_and_never_added(self) -> None:
        data = json.dumps(changed(attributes={"a": {"b": math.nan}})).encode()
        metadata = parse_v3_node(data)
        assert math.isnan(metadata.attributes["a"]["b"])
        assert b'"b": NaN' in metadata.to_documents()["zarr.json"]
        added = replace(metadata, attributes={"a": {"b": math.nan}})
        with pytest.raises(MetadataValidationError, match="attributes.*a.*b.*JSON has no number nan"):
            added.to_documents()
