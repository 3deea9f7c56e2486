"""Appending again and again: the documents are those of a full serialisation, whoever else changes them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import zarrcore
from zarrcore.config import config
from zarrcore.storage import LocalStore, MemoryStore

NAMES = {2: (".zarray", ".zattrs"), 3: ("zarr.json",)}
# Members that look like the shape, in text and in objects, at every depth.
MISLEADING = {
    "none": {},
    "the same": {"shape": [4, 3]},
    "deeper": {"x": {"shape": [4, 3], "y": [{"shape": [4, 3]}]}},
    "text": {"t": '"shape": [4, 3]', "u": '\n  "shape": [\n    4,\n    3\n  ]'},
}


@pytest.fixture(params=["memory", "local"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


def _documents(array):
    names = NAMES[array.metadata.zarr_format]
    return {name: bytes(array.store.get(f"a/{name}")) for name in names}


def _create(store, zarr_format=3, **options):
    options = {"shape": (4, 3), "chunks": (512, 2), "dtype": "i4", **options}
    return zarrcore.create_array(store, name="a", zarr_format=zarr_format, **options)


@pytest.mark.parametrize("indent", [2, None, 0, "\t", ""])
@pytest.mark.parametrize("attributes", MISLEADING.values(), ids=MISLEADING)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_documents_of_a_growing_array(store, zarr_format, attributes, indent):
    with config.set({"json_indent": indent}):
        array = _create(store, zarr_format, attributes=attributes, fill_value=7)
        rows = 4
        for count in (1, 2, 30, 999):
            array.append(np.full((count, 3), count, "i4"))
            rows += count
            found = zarrcore.open_array(store, path="a")
            assert found.shape == array.shape == (rows, 3)
            assert found.attrs.asdict() == attributes
            assert _documents(array) == found.metadata.to_documents() == array.metadata.to_documents()
            assert array.metadata == found.metadata
        array.resize((2, 5))
        assert _documents(array) == zarrcore.open_array(store, path="a").metadata.to_documents()
        array.append(np.ones((2, 1), "i4"), axis=1)
        assert _documents(array) == zarrcore.open_array(store, path="a").metadata.to_documents()


def test_another_indentation_from_now_on(store):
    array = _create(store, attributes={"shape": [], "x": {"shape": [4, 3]}})
    array.append(np.ones((1, 3), "i4"))
    for indent in (4, None, 2):
        with config.set({"json_indent": indent}):
            array.append(np.ones((1, 3), "i4"))
            assert _documents(array) == zarrcore.open_array(store, path="a").metadata.to_documents()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_changes_by_others_between_two_appends(store, zarr_format):
    array, other = _create(store, zarr_format), zarrcore.open_array(store, path="a")
    array.append(np.ones((1, 3), "i4"))
    other.attrs["x"] = 1
    array.append(np.ones((1, 3), "i4"))
    other.append(np.ones((2, 3), "i4"))
    array.append(np.ones((1, 3), "i4"))
    found = zarrcore.open_array(store, path="a")
    assert found.attrs.asdict() == array.attrs.asdict() == {"x": 1}
    assert found.shape == array.shape == (9, 3)
    np.testing.assert_array_equal(found[4:], 1)
    other.resize((1, 3))
    array.append(np.full((1, 3), 2, "i4"))
    np.testing.assert_array_equal(zarrcore.open_array(store, path="a")[...], [[0] * 3, [2] * 3])


def test_a_document_of_another_hand_is_read(store):
    """Written by another program between two appends, in its own layout and order of members."""
    array = _create(store)
    array.append(np.ones((1, 3), "i4"))
    members = json.loads(_documents(array)["zarr.json"]) | {"attributes": {"shape": [5, 3]}}
    store.set("a/zarr.json", json.dumps(dict(sorted(members.items())), indent=2).encode())
    array.append(np.ones((1, 3), "i4"))
    found = zarrcore.open_array(store, path="a")
    assert (found.shape, found.attrs.asdict()) == ((6, 3), {"shape": [5, 3]})


def test_a_grid_that_grows_with_the_array(store):
    array = _create(store, chunks=[[1, 3], [2, 1]])
    for _ in range(3):
        array.append(np.ones((2, 3), "i4"))
        found = zarrcore.open_array(store, path="a")
        assert _documents(array) == found.metadata.to_documents()
        np.testing.assert_array_equal(found[4:], 1)


def test_a_grid_of_shards_grows_by_whole_inner_chunks(store):
    array = _create(store, shape=(10, 3), chunks=(4, 2), shards=[[4, 8], 4])
    array[...] = np.arange(30).reshape(10, 3)
    array.append(np.arange(30, 45).reshape(5, 3))
    array.append(np.arange(45, 48).reshape(1, 3))
    found = zarrcore.open_array(store, path="a")
    assert found.metadata.chunk_grid.chunk_shapes == ((4, 8, 4), 4)
    np.testing.assert_array_equal(found[...], np.arange(48).reshape(16, 3))


def test_a_grid_that_reaches_beyond_the_array_is_kept(store):
    array = _create(store, shape=(10, 3), chunks=[[4, 6], [3]])
    array[...] = 5
    array.resize((7, 3))
    for made in (zarrcore.from_array({}, data=array), zarrcore.full_like(array, fill_value=5)):
        assert made.metadata.chunk_grid == array.metadata.chunk_grid
        np.testing.assert_array_equal(made[...], np.full((7, 3), 5))


def test_a_handle_with_attributes_changed_in_memory_only(store):
    array = _create(store, attributes={"x": [1]})
    array.append(np.ones((1, 3), "i4"))
    array.metadata.attributes["x"].append(2)
    array.append(np.ones((1, 3), "i4"))
    assert zarrcore.open_array(store, path="a").attrs.asdict() == {"x": [1]}
    array.attrs["y"] = 3
    assert zarrcore.open_array(store, path="a").attrs.asdict() == {"x": [1], "y": 3}
