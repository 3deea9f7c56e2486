# SPDX-License-Identifier: MIT
"""Arrays that are stored alike share what was parsed, and nothing that can be changed."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays import trial
from zarrcore.codecs import GzipCodec
from zarrcore.errors import MetadataValidationError, NodeTypeValidationError, ZarrcoreWarning
from zarrcore.metadata import known, parse_v2_array, parse_v3_node, v3
from zarrcore.registry import codec_registry, register_codec

DOCUMENT = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [7],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 1,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """All built-in classes are registered, and nothing is known from other tests."""
    parse()
    monkeypatch.setattr(known, "_kept", {})
    monkeypatch.setattr(known, "_texts", {})


def parse(**members):
    return parse_v3_node(json.dumps({**DOCUMENT, **members}).encode(), where="zarr.json")


def v2_documents(**options):
    store = {}
    zarrcore.create_array(store, shape=7, chunks=1, dtype="i4", zarr_format=2, **options)
    return store[".zarray"], store.get(".zattrs")


def chunks(*lengths):
    return {"name": "regular", "configuration": {"chunk_shape": list(lengths)}}


def test_arrays_stored_alike_share_what_cannot_change():
    first = parse(attributes={"a": 1})
    second = parse(shape=[9], attributes={"b": 2}, dimension_names=["x"])
    assert second.chain() is first.chain()
    assert second.codecs is first.codecs
    assert second.chunk_grid is first.chunk_grid
    assert (first.shape, first.attributes, first.dimension_names) == ((7,), {"a": 1}, None)
    assert (second.shape, second.attributes, second.dimension_names) == ((9,), {"b": 2}, ("x",))


def test_the_second_array_is_as_if_it_were_the_first():
    members = {
        "shape": [9],
        "attributes": {"b": [2]},
        "dimension_names": [None],
        "storage_transformers": [],
        "z": {"must_understand": False},
        "a": {"must_understand": False},
    }
    alone = parse(**members)
    known._kept.clear()
    known._texts.clear()
    parse()
    after = parse(**members)
    assert after == alone
    assert repr(after) == repr(alone)
    assert after.to_documents() == alone.to_documents()
    assert hash(after) == hash(alone)


def test_attributes_belong_to_one_array():
    first, second = parse(attributes={"a": [1]}), parse(attributes={"a": [1]})
    first.attributes["a"].append(2)
    first.extra_fields["x"] = {"must_understand": False}
    third = parse()
    assert second.attributes == {"a": [1]}
    assert (third.attributes, third.extra_fields) == ({}, {})


@pytest.mark.parametrize(
    "members",
    [
        {"chunk_grid": chunks(True)},
        {"fill_value": True},
        {"fill_value": [1]},
        {"codecs": [{"name": "bytes", "configuration": {"endian": "little", "more": 1}}]},
        {"codecs": {}},
    ],
)
def test_what_only_looks_alike_is_checked(members):
    parse()
    with pytest.raises(MetadataValidationError):
        parse(**members)


def test_a_number_that_only_looks_alike_is_read_with_its_warning():
    for _ in range(2):
        parse(chunk_grid=chunks(1))
        with pytest.warns(ZarrcoreWarning, match="chunk_shape"):
            parse(chunk_grid=chunks(1.0))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"shape": [7, 7]}, "zarr.json: chunk_grid.configuration.chunk_shape: expected 2 lengths"),
        ({"shape": [-1]}, r"zarr.json: shape\[0\]: expected an integer of at least 0, got -1"),
        ({"shape": 7}, "zarr.json: shape: expected an array, got 7"),
        ({"attributes": []}, "zarr.json: attributes: expected an object"),
        ({"dimension_names": ["x", "y"]}, "zarr.json: dimension_names: expected 1 names"),
        ({"storage_transformers": ["no-such"]}, "storage_transformers"),
        ({"storage_transformers": {}}, "storage_transformers: expected an array"),
        ({"more": 1}, "zarr.json: more: is not known"),
    ],
)
def test_the_rest_of_a_document_is_checked_each_time(members, message):
    with pytest.raises(MetadataValidationError) as alone:
        parse(**members)
    parse()
    with pytest.raises(MetadataValidationError, match=message) as after:
        parse(**members)
    assert str(after.value) == str(alone.value)


def test_a_member_that_is_missing_is_missed_each_time():
    parse()
    document = {name: value for name, value in DOCUMENT.items() if name != "shape"}
    with pytest.raises(MetadataValidationError, match=r"zarr\.json: shape: is required and missing"):
        parse_v3_node(json.dumps(document).encode(), where="zarr.json")
    with pytest.raises(NodeTypeValidationError):
        parse(node_type="table")


def test_chunks_of_no_length_are_for_empty_dimensions_alone():
    with pytest.warns(ZarrcoreWarning, match="chunk_shape"):
        assert parse(shape=[0], chunk_grid=chunks(0)).chunk_shape == (1,)
    with pytest.raises(MetadataValidationError, match="chunk_shape"):
        parse(shape=[5], chunk_grid=chunks(0))


def test_structured_fill_values_are_not_shared():
    members = {
        "data_type": {
            "name": "struct",
            "configuration": {"fields": [{"name": "a", "data_type": "int32"}]},
        },
        "fill_value": {"a": 1},
    }
    first, second = parse(**members), parse(**members)
    assert second.fill_value is not first.fill_value
    assert second == first


def test_codecs_that_need_not_be_understood_are_not_shared():
    codecs = [*DOCUMENT["codecs"], {"name": "no-such", "must_understand": False, "configuration": {"a": []}}]
    first, second = parse(codecs=codecs), parse(codecs=codecs)
    assert second.codecs[1] is not first.codecs[1]


def test_a_class_registered_later_counts(monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Other(GzipCodec):
        name: ClassVar[str] = "gzip"

    codecs = [*DOCUMENT["codecs"], {"name": "gzip", "configuration": {"level": 1}}]
    before = codec_registry.get("gzip")
    assert type(parse(codecs=codecs).codecs[1]) is GzipCodec
    register_codec("gzip", Other)
    try:
        assert type(parse(codecs=codecs).codecs[1]) is Other
    finally:
        register_codec("gzip", before)
    assert type(parse(codecs=codecs).codecs[1]) is GzipCodec


def test_only_so_much_is_kept():
    for length in range(1, 2 * known._MOST_KEPT):
        parse(chunk_grid=chunks(length))
    assert 0 < len(known._kept) <= known._MOST_KEPT
    kept = len(known._kept)
    parse(
        fill_value=2, codecs=[*DOCUMENT["codecs"], *[{"name": "gzip", "configuration": {"level": 1}}] * 100]
    )
    assert len(known._kept) == kept


def test_a_shared_chain_is_compiled_once_and_pickled_without_it():
    first, second = parse(), parse(shape=[9])
    lowered = first.chain().lower(first.chunk_spec())
    assert second.chain().lower(second.chunk_spec()) is lowered
    assert first.chain().lower(parse(chunk_grid=chunks(2)).chunk_spec()) is not lowered
    for twin in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert twin == first
        assert twin.chain().lower(twin.chunk_spec()) is not None


def test_arrays_of_one_chain_read_their_own_chunks():
    group = zarrcore.create_group({})
    for i in range(3):
        group.create_array(f"a{i}", shape=(5 + i,), chunks=(2,), dtype="i4", fill_value=9)[1:4] = i
    for i, (_, array) in enumerate(group.members()):
        expected = np.full(5 + i, 9)
        expected[1:4] = i
        np.testing.assert_array_equal(array[:], expected)


ZARRAY = {
    "zarr_format": 2,
    "shape": [7],
    "chunks": [1],
    "dtype": "<i4",
    "compressor": {"id": "zstd", "level": 1},
    "fill_value": 1,
    "order": "C",
    "filters": None,
}


def parse_v2(zattrs=None, **members):
    return parse_v2_array(json.dumps({**ZARRAY, **members}).encode(), zattrs)


def test_arrays_of_format_2_share_as_well():
    first = parse_v2()
    second = parse_v2(b'{"b": 2}', shape=[9], more=[1])
    assert second.chain() is first.chain()
    assert (first.shape, first.attributes, first.extra_fields) == ((7,), {}, {})
    assert (second.shape, second.attributes, second.extra_fields) == ((9,), {"b": 2}, {"more": [1]})
    known._kept.clear()
    known._texts.clear()
    assert parse_v2(b'{"b": 2}', shape=[9], more=[1]) == second


@pytest.mark.parametrize(
    "members",
    [
        {"chunks": [True]},
        {"chunks": [1.5]},
        {"shape": [7, 7]},
        {"shape": None},
        {"fill_value": True},
        {"dimension_separator": "-"},
        {"compressor": {"id": "shuffle", "elementsize": "1"}},
        {"order": "A"},
    ],
)
def test_documents_of_format_2_are_checked_each_time(members):
    with pytest.raises(MetadataValidationError) as alone:
        parse_v2(**members)
    parse_v2()
    with pytest.raises(MetadataValidationError) as after:
        parse_v2(**members)
    assert str(after.value) == str(alone.value)


def test_filters_of_format_2_are_not_shared():
    filters = [{"id": "delta", "dtype": "<i4", "astype": "<i4"}]
    assert parse_v2(filters=filters).filters[0] is not parse_v2(filters=filters).filters[0]


def test_documents_of_format_2_that_were_read_before_are_not_parsed_again(monkeypatch):
    zarray, zattrs = v2_documents(attributes={"a": [1]})
    first, second = (parse_v2_array(zarray, zattrs) for _ in range(2))  # the second one is kept as a text
    monkeypatch.setattr("zarrcore.metadata.parse.load_document", None)
    third = parse_v2_array(zarray, zattrs)
    assert third == second == first
    assert third.to_documents() == first.to_documents()
    third.attributes["a"].append(2)
    assert parse_v2_array(zarray, zattrs).attributes == {"a": [1]}


def test_other_attributes_of_format_2_are_another_array():
    zarray, zattrs = v2_documents(attributes={"a": 1})
    for _ in range(3):
        assert parse_v2_array(zarray, zattrs).attributes == {"a": 1}
        assert parse_v2_array(zarray).attributes == {}
        assert parse_v2_array(zarray, b'{"b": 2}').attributes == {"b": 2}
        assert parse_v2_array(zarray.replace(b"7", b"8"), zattrs).shape == (8,)


@pytest.mark.parametrize("empty", [b"", b"null", b" "])
def test_attributes_of_format_2_that_depart_are_reported_each_time(empty):
    zarray, _ = v2_documents()
    for _ in range(4):
        assert parse_v2_array(zarray).attributes == {}
        with pytest.warns(ZarrcoreWarning, match="no attributes"):
            assert parse_v2_array(zarray, empty).attributes == {}


def test_a_separator_that_a_document_leaves_open_stays_open():
    zarray = json.loads(v2_documents()[0])
    del zarray["dimension_separator"]
    for _ in range(4):
        assert parse_v2_array(json.dumps(zarray).encode()).separator_is_open
        assert not parse_v2_array(v2_documents()[0]).separator_is_open


def test_documents_of_arrays_that_are_stored_alike_were_made_one_by_one(monkeypatch):
    made = []
    dump = v3.dump
    monkeypatch.setattr(v3, "dump", lambda name, document: made.append(document) or dump(name, document))
    store = {}
    for name in "abc":
        zarrcore.create_array(store, name=name, shape=7, chunks=1, dtype="i4")
    assert len(made) == 1
    assert store["a/zarr.json"] == store["b/zarr.json"] == store["c/zarr.json"]
    others = {"shape": 8}, {"dimension_names": ["x"]}, {"attributes": {"a": 1}}
    for n, options in enumerate(others, 2):
        array = zarrcore.create_array({}, **{"shape": 7, "chunks": 1, "dtype": "i4", **options})
        assert len(made) == n
        assert zarrcore.open_array(array.store).metadata == array.metadata
    with zarrcore.config.set({"json_indent": None}):
        zarrcore.create_array(store, name="d", shape=7, chunks=1, dtype="i4")
    assert b"\n" not in store["d/zarr.json"]
    assert json.loads(store["d/zarr.json"]) == json.loads(store["a/zarr.json"])


def test_codecs_of_arrays_that_are_stored_alike_were_looked_at_for_each(monkeypatch):
    looked = []
    check = trial._check_inputs
    monkeypatch.setattr(trial, "_check_inputs", lambda *args: looked.append(args) or check(*args))
    for shape in (71, 72, 73):
        zarrcore.create_array({}, shape=shape, chunks=70, dtype="i4")
    assert len(looked) == 1


def test_what_is_registered_under_the_name_of_a_codec_counts_for_arrays_that_are_made_later(monkeypatch):
    @dataclass(frozen=True)
    class Other(GzipCodec):
        def encode(self, *args):
            return super().encode(*args)[::-1]

        def decode(self, data, *args):
            return super().decode(bytes(data)[::-1], *args)

    def create():
        return zarrcore.create_array({}, shape=7, chunks=1, dtype="i4", compressors=GzipCodec(level=1))

    create()
    monkeypatch.setattr(codec_registry, "_classes", dict(codec_registry._classes))
    register_codec("gzip", Other)
    with pytest.raises(MetadataValidationError, match="gzip"):
        create()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_what_an_engine_takes_of_metadata_was_made_again_for_each_array(zarr_format):
    def metadata(shape):
        store, options = {}, {"fill_value": 1, "zarr_format": zarr_format}
        zarrcore.create_array(store, shape=shape, chunks=70, dtype="i4", **options)
        return zarrcore.open_array(store).metadata

    first, second = metadata(71), metadata(72)
    for name in ("np_dtype", "fill_bytes", "chunk_grid", "chunk_key_encoding"):
        assert vars(second)[name] is getattr(first, name)


def test_a_change_of_attributes_names_the_separator():
    store = {}
    zarrcore.create_array(store, shape=7, chunks=1, dtype="i4", zarr_format=2)
    document = json.loads(store[".zarray"])
    del document["dimension_separator"]
    store[".zarray"] = json.dumps(document).encode()
    metadata = zarrcore.open_array(store).metadata
    assert metadata.separator_is_open
    assert not metadata.update_attributes({"a": 1}).separator_is_open


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_arrays_that_are_stored_alike_are_equal_where_their_documents_are(zarr_format: int) -> None:
    """What they share is not compared again: the rest is as it is written, where 1 is not True."""
    described = {"chunks": 2, "dtype": "f4", "fill_value": np.nan, "zarr_format": zarr_format}
    attributes: list[dict[str, Any]] = [{}, {"n": 1}, {"n": 1.0}, {"n": True}, {"n": [None]}]
    store = zarrcore.storage.MemoryStore()
    zarrcore.create_group(store, zarr_format=zarr_format)
    for number, (shape, own) in enumerate(itertools.product([4, 6], attributes)):
        zarrcore.create_array(store, name=f"a{number}", shape=shape, attributes=own, **described)
    zarrcore.create_array(store, name="b", shape=4, **{**described, "fill_value": 0})
    names = sorted(zarrcore.open_group(store).array_keys())
    read = [[zarrcore.open_array(store, path=name).metadata for name in names] for _ in "ab"]
    for one, other in itertools.product(*read):
        assert (one == other) is (json.dumps(one.to_dict()) == json.dumps(other.to_dict()))
    assert read[0] == read[1]
    assert read[0][0].fill_value is read[1][0].fill_value
