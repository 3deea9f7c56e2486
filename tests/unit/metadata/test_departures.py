# SPDX-License-Identifier: MIT
"""Documents that depart from the letter of the specification: read with a warning, or refused."""

from __future__ import annotations

import json
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from departing_documents import CASES, REFUSED, Case, v2, v3

import zarrcore
from zarrcore.errors import MetadataValidationError, ZarrcoreWarning
from zarrcore.metadata import validate

VALUES = np.arange(6).reshape(2, 3)


def name_of(document: dict[str, Any]) -> str:
    return ".zarray" if document["zarr_format"] == 2 else "zarr.json"


def store_of(document: dict[str, Any], prefix: str = "") -> dict[str, bytes]:
    return {prefix + name_of(document): json.dumps(document).encode()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.document['zarr_format']} {case.name}")
def test_what_has_one_meaning_is_read_with_a_warning(case: Case) -> None:
    with pytest.warns(ZarrcoreWarning) as caught:
        array = zarrcore.open_array(store_of(case.document, "a/"), path="a", mode="r")
    (warning,) = caught
    assert isinstance(warning.message, ZarrcoreWarning)
    key = "a/" + name_of(case.document)
    assert (warning.message.key, warning.message.where) == (key, case.where)
    assert f"Zarr v{case.document['zarr_format']}" in str(warning.message.clause)
    assert str(warning.message).startswith(f"{key}: {case.where}: ")
    assert warning.filename == __file__
    assert array.dtype == np.dtype(case.dtype)
    np.testing.assert_equal(array.fill_value, np.array(case.fill_value).astype(case.dtype)[()])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.document['zarr_format']} {case.name}")
def test_validate_names_the_departure_and_what_is_written_is_to_the_letter(case: Case) -> None:
    (stored,) = store_of(case.document).values()
    (departure,) = validate(stored, key="a/" + name_of(case.document))
    assert (departure.key, departure.where) == ("a/" + name_of(case.document), case.where)
    assert departure.reading and departure.clause
    store: dict[str, Any] = store_of(case.document)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZarrcoreWarning)
        zarrcore.open_array(store, mode="r+").resize((4, 3))
    assert validate(bytes(store[name_of(case.document)]), key=name_of(case.document)) == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_one_meaning_is_refused(name: str) -> None:
    document, where = REFUSED[name]
    with pytest.raises(MetadataValidationError, match=where):
        zarrcore.open_array(store_of(document), mode="r")


@pytest.mark.parametrize("text", [b"null", b"", b" \n"])
def test_attributes_that_are_left_empty(text: bytes) -> None:
    for document in (store_of(v2()), {".zgroup": b'{"zarr_format": 2}'}):
        with pytest.warns(ZarrcoreWarning, match=r"^\.zattrs: .*no attributes"):
            node = zarrcore.open({**document, ".zattrs": text}, mode="r")
        assert dict(node.attrs) == {}
    assert [departure.key for departure in validate(text, key="a/.zattrs")] == ["a/.zattrs"]


def test_attributes_of_format_1_that_are_left_empty() -> None:
    meta = v2(zarr_format=1, compressor=..., filters=...) | {"compression": None, "compression_opts": None}
    with pytest.warns(ZarrcoreWarning, match=r"^attrs: null is read as no attributes"):
        array = zarrcore.open_array({"meta": json.dumps(meta).encode(), "attrs": b"null"}, mode="r")
    assert dict(array.attrs) == {}


def test_null_attributes_of_a_group() -> None:
    document = b'{"zarr_format": 3, "node_type": "group", "attributes": null}'
    with pytest.warns(ZarrcoreWarning, match=r"zarr\.json: attributes: null"):
        assert dict(zarrcore.open_group({"zarr.json": document}, mode="r").attrs) == {}


def test_compressors_are_read_whatever_their_options_say(tmp_path: Any) -> None:
    for compressor, change in [
        ({"id": "zstd", "level": 1}, {"checksum": "YES"}),
        ({"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 2, "blocksize": 0}, {"shuffle": "BIT"}),
        ({"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}, {"delta": 1}),
        ({"id": "bz2", "level": 1}, {"level": "1", "more": 2}),
    ]:
        store: dict[str, Any] = {}
        zarrcore.create_array(store, data=VALUES, zarr_format=2, compressors=compressor)
        document = json.loads(bytes(store[".zarray"]))
        document["compressor"] |= change
        store[".zarray"] = json.dumps(document).encode()
        with pytest.warns(ZarrcoreWarning):
            assert zarrcore.open_array(store, mode="r")[...].tolist() == VALUES.tolist()


def test_chunks_of_departing_codecs() -> None:
    big_endian = VALUES.astype(">i4").tobytes()
    for case in CASES:
        if case.name == "endian":
            store = {**store_of(case.document), "c/0/0": big_endian}
        elif case.name in ("zarrita.js no codecs", "zarrita.py F"):
            order = "F" if "F" in case.name else "C"
            store = {**store_of(case.document), "c/0/0": VALUES.astype("<i4").tobytes(order)}
        else:
            continue
        with pytest.warns(ZarrcoreWarning):
            assert zarrcore.open_array(store, mode="r")[...].tolist() == VALUES.tolist()


def test_bytes_of_fixed_length_with_the_filter_of_byte_strings() -> None:
    """As zarr-python 2 writes it."""
    document = v2(dtype="|V3", filters=[{"id": "vlen-bytes"}], fill_value="AAAA", shape=[3], chunks=[3])
    items = b"\3\0\0\0" + b"".join(len(item).to_bytes(4, "little") + item for item in (b"abc", b"de\0", b"f"))
    store = {**store_of(document), "0": items}
    array = zarrcore.open_array(store, mode="r+")
    assert [bytes(item) for item in array[...]] == [b"abc", b"de\0", b"f\0\0"]
    array[2] = np.void(b"xyz")
    assert bytes(zarrcore.open_array(store, mode="r")[2]) == b"xyz"
    store["0"] = items.replace(b"\1\0\0\0f", b"\4\0\0\0ffff")
    with pytest.raises(zarrcore.errors.ChunkDecodeError, match="more than the 3 bytes"):
        zarrcore.open_array(store, mode="r")[...]


class TestWarnings:
    def test_each_time(self) -> None:
        store = store_of(v3(fill_value=None))
        for _ in range(3):
            with pytest.warns(ZarrcoreWarning) as caught:
                zarrcore.open_array(store, mode="r")
            assert len(caught) == 1

    def test_the_filters_of_python_decide(self) -> None:
        store = store_of(v3(fill_value=None, attributes=None))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(100):
                zarrcore.open_array(store, mode="r")
        assert len(caught) == 2

    def test_as_errors_they_refuse_each_time(self) -> None:
        store = store_of(v3(fill_value=None))
        for _ in range(2):
            with pytest.raises(ZarrcoreWarning, match="fill_value"):
                zarrcore.open_array(store, mode="r")

    def test_pickled(self) -> None:
        warning = ZarrcoreWarning(
            "null is read as 0", key="a/zarr.json", where="fill_value", clause="Zarr v3"
        )
        again = pickle.loads(pickle.dumps(warning))
        assert str(again) == str(warning) == "a/zarr.json: fill_value: null is read as 0 (Zarr v3)"
        assert (again.key, again.where, again.clause) == ("a/zarr.json", "fill_value", "Zarr v3")


class TestConsolidated:
    def group(self, indent: int | None, *, kind: str = "v3") -> dict[str, bytes]:
        """A group of two nodes alike, of which early versions of zarr-python 3 wrote NaN without quotes."""
        nodes = {name: v3(data_type="float32", fill_value=float("nan")) for name in ("a", "b")}
        inline = {"kind": "inline", "must_understand": False, "metadata": nodes}
        group = {"attributes": {}, "zarr_format": 3, "consolidated_metadata": inline, "node_type": "group"}
        if kind == "v2":
            nodes = {f"{name}/.zarray": v2(dtype="<f4", fill_value=float("nan")) for name in ("a", "b")}
            metadata = {".zgroup": {"zarr_format": 2}, **nodes, "a/.zattrs": None}
            zmetadata = {"metadata": metadata, "zarr_consolidated_format": 1}
            return {".zgroup": b'{"zarr_format": 2}', ".zmetadata": json.dumps(zmetadata).encode()}
        return {"zarr.json": json.dumps(group, indent=indent).encode()}

    @pytest.mark.parametrize("indent", [None, 2])
    def test_nodes_of_format_3(self, indent: int | None) -> None:
        store = self.group(indent)
        group = zarrcore.open_group(store, mode="r")
        for name in ("a", "b"):
            with pytest.warns(ZarrcoreWarning, match=rf"^zarr\.json: .*\.{name}\.fill_value"):
                assert np.isnan(group[name].fill_value)
        places = [departure.where for departure in validate(store["zarr.json"])]
        assert places == [f"consolidated_metadata.metadata.{name}.fill_value" for name in ("a", "b")]

    def test_nodes_of_format_2(self) -> None:
        store = self.group(None, kind="v2")
        group = zarrcore.open_consolidated(store, zarr_format=2)
        with pytest.warns(ZarrcoreWarning) as caught:
            assert np.isnan(group["a"].fill_value)
        places = [str(warning.message.where) for warning in caught]
        assert [place.rpartition(".")[2] for place in places] == ["attributes", "fill_value"]
        assert len(validate(store[".zmetadata"], key=".zmetadata")) == 3


def test_validate_refuses_what_it_does_not_know() -> None:
    assert validate(b'{"zarr_format": 2}', key="a/.zgroup") == []
    with pytest.raises(ValueError, match=r"key: .*c/0"):
        validate(b"", key="a/c/0")
    with pytest.raises(MetadataValidationError, match="zarr.json: zarr_format"):
        validate(b"{}")


@pytest.mark.parametrize("levels", [100, 300, 700, 5000])
def test_what_is_nested_too_deeply_is_refused(levels: int) -> None:
    dtype: Any = "|i1"
    codecs: Any = [{"name": "bytes"}]
    fill: Any = 1.5
    for _ in range(levels):
        dtype = [["a", dtype]]
        codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], "codecs": codecs}}]
        fill = [fill]
    for document in (v2(dtype=dtype), v2(fill_value=fill), v3(codecs=codecs), v3(fill_value=fill)):
        try:
            store = store_of(document)
        except RecursionError:
            continue  # the json module does not write it
        with pytest.raises(zarrcore.errors.BaseZarrError):
            zarrcore.open_array(store, mode="r")


def test_validate_takes_documents_as_they_are_stored() -> None:
    for wrong in ({"zarr_format": 3}, "{}", None):
        with pytest.raises(TypeError, match="expected the document as it is stored, in bytes"):
            validate(wrong)  # type: ignore[arg-type]
