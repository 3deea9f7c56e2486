"""Two handles of one node: a change through one keeps what was changed through the other."""

from __future__ import annotations

import json

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError, GroupNotFoundError
from zarrcore.storage import LocalStore, MemoryStore


@pytest.fixture(params=["memory", "local"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


@pytest.fixture(params=[2, 3])
def handles(request, store):
    first = zarrcore.create_array(
        store, name="a", shape=(6, 4), chunks=(2, 4), dtype="i4", fill_value=-1, zarr_format=request.param
    )
    first[...] = 1
    return first, zarrcore.open_array(store, path="a")


CHANGES = {
    "set": lambda array: array.attrs.__setitem__("x", 1),
    "update": lambda array: array.attrs.update(x=1),
    "update_attributes": lambda array: array.update_attributes({"x": 1}),
    "delete": lambda array: array.attrs.__delitem__("old"),
    "put": lambda array: array.attrs.put({"x": 1}),
    "clear": lambda array: array.attrs.clear(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_attributes_keep_a_foreign_shape(handles, change):
    first, second = handles
    first.attrs["old"] = 0
    first.resize((10, 4))
    first[8:] = 8
    CHANGES[change](second)
    again = zarrcore.open_array(first.store, path="a")
    assert again.shape == second.shape == (10, 4)
    assert again[9, 0] == second[9, 0] == 8
    expected = {"delete": {}, "put": {"x": 1}, "clear": {}}.get(change, {"old": 0, "x": 1})
    assert dict(again.attrs) == dict(second.attrs) == expected


def test_attributes_keep_foreign_attributes(handles):
    first, second = handles
    first.attrs["a"] = 1
    second.attrs["b"] = 2
    del first.attrs["b"]
    second.attrs.update(c=3)
    assert dict(second.attrs) == {"a": 1, "c": 3}
    with pytest.raises(KeyError):
        del first.attrs["b"]
    assert dict(first.attrs) == {"a": 1, "c": 3}


def test_append_goes_behind_what_others_appended(handles):
    first, second = handles
    assert first.append(np.full((3, 4), 2)) == (9, 4)
    assert second.append(np.full((1, 4), 3)) == (10, 4)
    assert zarrcore.open_array(first.store, path="a")[:, 0].tolist() == [1] * 6 + [2] * 3 + [3]
    with pytest.raises(ValueError, match=r"does not fit shape .*: expected \(n, 4\)"):
        first.append(np.zeros((1, 5)))


def test_resize_of_another_dimension(handles):
    first, second = handles
    first.resize((8, 4))
    first.attrs["a"] = 1
    second.resize((8, 3))
    assert dict(zarrcore.open_array(first.store, path="a").attrs) == {"a": 1}
    second.resize((8, 4))
    assert second[0].tolist() == [1, 1, 1, -1]
    first.resize(np.array([4, 4]))
    second.append(np.zeros((1, 4)))
    assert second.shape == (5, 4)
    with pytest.raises(ValueError, match="2 dimensions"):
        second.resize(3)


def test_an_array_that_was_replaced(handles):
    first, second = handles
    zarrcore.create_array(
        first.store, name="a", shape=5, chunks=5, dtype="f8", overwrite=True,
        zarr_format=first.metadata.zarr_format,
    )  # fmt: skip
    second.attrs["x"] = 1
    assert (second.shape, second.dtype) == ((5,), np.dtype("f8"))
    assert second[...].tolist() == [0.0] * 5


@pytest.mark.parametrize(
    "change",
    [*CHANGES.values(), lambda array: array.append(np.zeros((1, 4))), lambda array: array.resize((1, 1))],
)
def test_an_array_that_was_removed(handles, change):
    first, second = handles
    first.store.erase_prefix("a")
    with pytest.raises(ArrayNotFoundError, match="array 'a' is no longer in .*nothing in its place"):
        change(second)
    assert list(first.store.list_prefix("a")) == []
    zarrcore.create_group(first.store, path="a", zarr_format=first.metadata.zarr_format)
    with pytest.raises(ArrayNotFoundError, match="a group in its place"):
        change(second)


def test_groups(store):
    root = zarrcore.create_group(store)
    again = zarrcore.open_group(store)
    root.attrs["a"] = 1
    again.attrs["b"] = 2
    assert dict(root.attrs) == {"a": 1}
    root.update_attributes({"c": 3})
    assert dict(zarrcore.open_group(store).attrs) == dict(root.attrs) == {"a": 1, "b": 2, "c": 3}
    store.delete("zarr.json")
    with pytest.raises(GroupNotFoundError, match="is no longer there: there is nothing in its place"):
        root.attrs["d"] = 1
    assert list(store.list()) == []


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_stay(store, zarr_format):
    zarrcore.create_group(store, zarr_format=zarr_format).create_group("child")
    plain = zarrcore.open_group(store, use_consolidated=False, zarr_format=zarr_format)
    zarrcore.consolidate_metadata(store, zarr_format=zarr_format)
    consolidated = zarrcore.open_group(store, use_consolidated=True)
    plain.attrs["a"] = 1
    assert plain.metadata.consolidated_metadata is None
    plain.attrs["a"] = 1
    consolidated.attrs["b"] = 2
    assert list(consolidated) == ["child"]
    again = zarrcore.open_group(store, use_consolidated=True)
    assert dict(again.attrs) == {"a": 1, "b": 2}
    assert list(again) == ["child"]
    if zarr_format == 3:
        assert "child" in json.loads(bytes(store.get("zarr.json")))["consolidated_metadata"]["metadata"]


def overlapping():
    base = np.zeros(40, "i4")
    strided = np.lib.stride_tricks.as_strided
    yield strided(base, (6, 4), (0, 4))
    yield strided(base, (6, 4), (4, 0))
    yield strided(base, (6, 4), (4, 4))
    yield strided(base, (6, 4), (12, 4))
    yield strided(base, (6, 4), (-0, 4))
    yield strided(base, (6, 4), (8, 6))
    yield strided(base.view("i1"), (6, 4), (3, 1)).view()


def distinct():
    base = np.zeros(200, "i4")
    strided = np.lib.stride_tricks.as_strided
    yield strided(base, (6, 4), (16, 4))
    yield strided(base, (6, 4), (4, 24))
    yield strided(base, (6, 4), (12, 76))
    yield base[:48].reshape(12, 4)[::-2]
    yield base[:192].reshape(6, 8, 4)[:, ::2, 1]


def test_out_whose_items_share_memory(handles):
    array = handles[0]
    for out in overlapping():
        if out.dtype == array.dtype:
            with pytest.raises(ValueError, match="share memory"):
                array.read(out=out)
    row = array.read(np.s_[0:1], out=np.lib.stride_tricks.as_strided(np.zeros(4, "i4"), (1, 4), (0, 4)))
    assert row.tolist() == [[1] * 4]
    for out in distinct():
        out[...] = 0
        assert array.read(out=out) is out
        assert (out == 1).all()


def test_large_out_with_interleaved_items(store):
    array = zarrcore.create_array(store, shape=(2, 1 << 20), chunks=(2, 1 << 20), dtype="i4", fill_value=3)
    base = np.zeros((1 << 21) + 1, "i4")
    out = np.lib.stride_tricks.as_strided(base, (2, 1 << 20), (4, 8))
    assert (array.read(out=out) == 3).all()
    assert base[:-1].sum() == 3 << 21
