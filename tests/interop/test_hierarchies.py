# SPDX-License-Identifier: MIT
"""Groups, attributes, names, consolidated metadata and special data types, to and from zarr-python."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    zarr = pytest.importorskip("zarr", minversion="3.1")

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # the peers' warnings are theirs

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])
DIRECTIONS = pytest.mark.parametrize(
    ("writer", "reader"), [(zarrcore, zarr), (zarr, zarrcore)], ids=["ours-read-there", "theirs-read-here"]
)
ATTRIBUTES = {"text": "é漢🎉", "list": [1, 2.5, None, [True]], "nested": {"a": {"b": []}}, "big": 2**53 + 1}


def build(module: Any, store: Path, zarr_format: int) -> None:
    root = module.open_group(str(store), mode="w", zarr_format=zarr_format, attributes=ATTRIBUTES)
    first = root.create_group("first", attributes={"n": 1})
    first.create_group("empty")
    options: dict[str, Any] = {"compressors": None, "attributes": {"units": "m"}}
    if zarr_format == 3:
        options["dimension_names"] = ["x", None]
    array = first.create_array("array", shape=(4, 6), chunks=(2, 4), dtype="f8", **options)
    array[...] = np.arange(24).reshape(4, 6)
    root.create_array("top", shape=(3,), chunks=(2,), dtype="u1", fill_value=9, compressors=None)


def check(module: Any, store: Path, zarr_format: int, **options: Any) -> None:
    root = module.open_group(str(store), mode="r", **options)
    assert root.metadata.zarr_format == zarr_format
    assert dict(root.attrs) == ATTRIBUTES
    members = dict(root.members(max_depth=None))
    assert set(members) == {"first", "first/empty", "first/array", "top"}
    assert dict(members["first"].attrs) == {"n": 1}
    array = members["first/array"]
    assert dict(array.attrs) == {"units": "m"}
    assert array[...].tolist() == np.arange(24).reshape(4, 6).tolist()
    assert root["first/array"][1, 2] == 8
    assert root["top"][...].tolist() == [9, 9, 9]
    if zarr_format == 3:
        assert array.metadata.dimension_names == ("x", None)


@FORMATS
@DIRECTIONS
def test_tree(writer: Any, reader: Any, zarr_format: int, tmp_path: Path) -> None:
    build(writer, tmp_path, zarr_format)
    check(reader, tmp_path, zarr_format)


@FORMATS
@DIRECTIONS
def test_consolidated(writer: Any, reader: Any, zarr_format: int, tmp_path: Path) -> None:
    """The reader sees the tree in the consolidated metadata alone: the members' own documents are gone."""
    build(writer, tmp_path, zarr_format)
    writer.consolidate_metadata(str(tmp_path))
    for name in ("zarr.json", ".zarray", ".zgroup", ".zattrs"):
        for path in tmp_path.glob(f"*/**/{name}"):
            path.unlink()
    check(reader, tmp_path, zarr_format, use_consolidated=True)
    node = reader.open_consolidated(str(tmp_path))
    assert node.metadata.consolidated_metadata is not None


def test_consolidated_without_the_documents_of_groups(tmp_path: Path) -> None:
    """Format 2: the groups between that have no document of their own are in the consolidated metadata."""
    build(zarrcore, tmp_path, 2)
    for name in (".zgroup", ".zattrs"):
        (tmp_path / "first" / name).unlink()
    zarrcore.consolidate_metadata(str(tmp_path))
    root = zarr.open_consolidated(str(tmp_path))
    assert root["first/array"][1, 2] == 8
    assert set(dict(root.members(max_depth=None))) == {"first", "first/empty", "first/array", "top"}


@FORMATS
@DIRECTIONS
def test_added_to_by_the_other(writer: Any, reader: Any, zarr_format: int, tmp_path: Path) -> None:
    build(writer, tmp_path, zarr_format)
    root = reader.open_group(str(tmp_path), mode="r+")
    root.attrs["more"] = [1]
    root["first"].create_array("added", data=np.arange(5), chunks=(2,))
    root["first/array"].attrs["units"] = "km"
    root["first/array"].resize((6, 6))
    again = writer.open_group(str(tmp_path), mode="r")
    assert dict(again.attrs) == {**ATTRIBUTES, "more": [1]}
    assert again["first/added"][...].tolist() == [0, 1, 2, 3, 4]
    assert again["first/array"].attrs["units"] == "km"
    assert again["first/array"].shape == (6, 6)
    assert again["first/array"][3:6, 5].tolist() == [23, 0, 0]


@FORMATS
@DIRECTIONS
def test_append(writer: Any, reader: Any, zarr_format: int, tmp_path: Path) -> None:
    array = writer.create_array(
        str(tmp_path), data=np.arange(10).reshape(5, 2), chunks=(2, 2), zarr_format=zarr_format
    )
    reader.open_array(str(tmp_path), mode="r+").append(np.full((3, 2), -1))
    array = writer.open_array(str(tmp_path), mode="r")
    assert array[...].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [-1, -1], [-1, -1], [-1, -1]]


@pytest.mark.parametrize("write_empty_chunks", [False, True])
@pytest.mark.parametrize("shards", [None, (4, 4)])
def test_same_chunks_are_stored(write_empty_chunks: bool, shards: Any, tmp_path: Path) -> None:
    """Chunks of nothing but fill values, written as such, or overwritten with them."""
    options: dict[str, Any] = {"shape": (12, 8), "chunks": (2, 2), "dtype": "i4", "fill_value": 3}
    options["config"] = {"write_empty_chunks": write_empty_chunks}
    stored = []
    for writer, reader in ((zarrcore, zarr), (zarr, zarrcore)):
        path = tmp_path / writer.__name__
        array = writer.create_array(str(path), shards=shards, compressors=None, **options)
        array[...] = 3
        array[:5, :5] = np.arange(25).reshape(5, 5)
        array[:2, :2] = 3
        array[4:, 4:] = 3
        stored.append({str(file.relative_to(path)): file.stat().st_size for file in path.rglob("c/*/*")})
        assert reader.open_array(str(path), mode="r")[...].tolist() == array[...].tolist()
    assert stored[0] == stored[1]
    assert (len(stored[0]) == 96 // (16 if shards else 4)) is write_empty_chunks


def test_not_a_number_in_attributes(tmp_path: Path) -> None:
    """zarr-python writes what is no JSON; we read it, and write JSON."""
    values = {"nan": float("nan"), "far": float("inf")}
    zarr.create_array(str(tmp_path / "a"), shape=(1,), dtype="i4", attributes=values)
    assert "NaN" in (tmp_path / "a" / "zarr.json").read_text()
    found = zarrcore.open_array(tmp_path / "a", mode="r").attrs.asdict()
    assert np.isnan(found["nan"]) and found["far"] == float("inf")


def test_same_documents(tmp_path: Path) -> None:
    """A document of ours says what zarr-python's says, where both were asked for the same."""
    for module, name in ((zarrcore, "ours"), (zarr, "theirs")):
        for zarr_format in (2, 3):
            build(module, tmp_path / name / str(zarr_format), zarr_format)
    documents = sorted((tmp_path / "theirs").rglob("*.json")) + sorted((tmp_path / "theirs").rglob(".z*"))
    assert documents
    for theirs in documents:
        ours = tmp_path / "ours" / theirs.relative_to(tmp_path / "theirs")
        assert _said(ours) == _said(theirs), theirs


def _said(path: Path) -> dict:
    """What a document says; what may be left out is."""
    document = json.loads(path.read_text()) if path.exists() else {}
    optional = {"storage_transformers": [], "consolidated_metadata": None, "attributes": {}}
    return {key: value for key, value in document.items() if key not in optional or value != optional[key]}


# ---- data types that only zarr-python shares -----------------------------------------------------

STRUCT = np.dtype([("a", "<i2"), ("b", [("c", "<f4"), ("d", "S3")]), ("e", "<u8")])
SPECIAL = {
    "U": np.array(["a", "né", "", "four"], "<U4"),
    "S": np.array([b"", b"ab", b"abc", b"a"], "S3"),
    "V": np.array([b"\1\2\3", b"\0\0\0", b"abc", b"\xff\0\xff"], "V3"),
    "datetime-s": np.array([0, "2020-02-29T12:00:00", "NaT", "1901-01-01"], "M8[s]"),
    "datetime-25us": np.array([0, 7, -3, 2**60], "i8").view("M8[25us]"),
    "timedelta-ns": np.array([0, -(2**62), "NaT", 1], "m8[ns]"),
    "struct": np.array(
        [(1, (2.5, b"xy"), 3), (-1, (0, b""), 2**64 - 1), (0, (np.inf, b"a"), 0), (5, (1, b"b"), 1)], STRUCT
    ),
}
VARIABLE = {
    "VariableLengthUTF8": ["", "a", "né漢", "x" * 300],
    "VariableLengthBytes": [b"", b"a", b"\0\0", b"\xff" * 300],
}


@FORMATS
@DIRECTIONS
@pytest.mark.parametrize("name", SPECIAL)
def test_special_dtypes(writer: Any, reader: Any, name: str, zarr_format: int, tmp_path: Path) -> None:
    values = SPECIAL[name]
    array = writer.create_array(
        str(tmp_path),
        shape=(7,),
        chunks=(2,),
        dtype=values.dtype,
        zarr_format=zarr_format,
        fill_value=values[1],
    )
    array[:4] = values
    found = reader.open_array(str(tmp_path), mode="r")
    assert found.dtype == values.dtype
    assert found[:4].tobytes() == values.tobytes()
    assert found[5:].tobytes() == values[[1, 1]].tobytes()


@FORMATS
@DIRECTIONS
@pytest.mark.parametrize("name", VARIABLE)
def test_variable_length(writer: Any, reader: Any, name: str, zarr_format: int, tmp_path: Path) -> None:
    values, dtype = VARIABLE[name], getattr(writer.dtype, name)()
    array = writer.create_array(str(tmp_path), shape=(7,), chunks=(3,), dtype=dtype, zarr_format=zarr_format)
    array[:4] = np.array(values, dtype=object)
    assert reader.open_array(str(tmp_path), mode="r")[:].tolist() == [*values, *[type(values[0])()] * 3]


@DIRECTIONS
def test_default_encoding(writer: Any, reader: Any, tmp_path: Path) -> None:
    """Arrays that are created with nothing said about codecs."""
    values = np.random.default_rng(0).normal(size=(50, 60))
    for zarr_format in (2, 3):
        store = str(tmp_path / str(zarr_format))
        writer.create_array(store, data=values, zarr_format=zarr_format)
        assert np.array_equal(reader.open_array(store, mode="r")[...], values)
    store = str(tmp_path / "shards")
    writer.create_array(store, data=values, chunks=(10, 10), shards=(20, 30))
    array = reader.open_array(store, mode="r")
    assert (array.chunks, array.shards) == ((10, 10), (20, 30))
    assert np.array_equal(array[...], values)


@DIRECTIONS
def test_rectilinear_grid(writer: Any, reader: Any, tmp_path: Path) -> None:
    """Chunks of different lengths along a dimension."""
    document = json.loads(
        """{"zarr_format": 3, "node_type": "array", "shape": [7, 6], "data_type": "int32", "fill_value": 0,
            "chunk_grid": {"name": "rectilinear",
                           "configuration": {"kind": "inline", "chunk_shapes": [[1, 2, 4], [3, 3]]}},
            "chunk_key_encoding": {"name": "default"}, "attributes": {},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"""
    )
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    values = np.arange(1, 43, dtype="i4").reshape(7, 6)
    with zarr.config.set({"array.rectilinear_chunks": True}):
        writer.open_array(str(tmp_path), mode="r+")[...] = values
        assert reader.open_array(str(tmp_path), mode="r")[2:, ::2].tolist() == values[2:, ::2].tolist()
    assert np.fromfile(tmp_path / "c" / "1" / "0", "<i4").tolist() == values[1:3, :3].ravel().tolist()
