"""A change of the shape that fails loses nothing that is inside of the array."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkIOError, StoreError
from zarrcore.storage import MemoryStore, WrapperStore, ZipStore


class Failing(WrapperStore):
    """Fails to delete, or to store chunks, for a while."""

    fails = ""

    def delete(self, key: str) -> None:
        if self.fails == "delete":
            raise OSError("cannot delete")
        super().delete(key)

    def set(self, key: str, value: Any) -> None:
        if self.fails == "set" and "c/" in key:
            raise OSError("disk full")
        super().set(key, value)


def new(store: Any, **options: Any) -> zarrcore.Array:
    array = zarrcore.create_array(store, shape=20, dtype="i4", **{"chunks": 4, **options})
    array[...] = np.arange(1, 21)
    return array


def test_a_store_that_cannot_remove_refuses_to_shrink_beforehand(tmp_path: Path) -> None:
    array = new(ZipStore(tmp_path / "a.zip", mode="w"))
    with pytest.raises(StoreError, match=r"cannot shrink to \(7,\).*cannot remove the 3 chunks outside"):
        array.resize(7)
    assert array.shape == (20,) and np.array_equal(array[...], np.arange(1, 21))
    array.resize(18)  # nothing needs to be removed for that
    array.resize(20)
    assert array[...].tolist() == [*range(1, 19), 0, 0]


@pytest.mark.parametrize("options", [{}, {"chunks": 2, "shards": 4}])
def test_a_failing_delete_while_an_array_shrinks(options: dict[str, Any]) -> None:
    store = Failing(MemoryStore())
    array = new(store, **options)
    store.fails = "delete"
    with pytest.raises(StoreError, match="has the shape .* now, but 3 .* resize to this shape once"):
        array.resize(7)
    assert array.shape == zarrcore.open_array(store).shape == (7,)
    assert array[...].tolist() == [*range(1, 8)]
    store.fails = ""
    array.resize(7)
    array.resize(20)
    assert array[...].tolist() == [*range(1, 8)] + [0] * 13


def test_a_failing_write_to_the_chunk_at_the_border() -> None:
    store = Failing(MemoryStore())
    array = new(store)
    store.fails = "set"
    with pytest.raises(StoreError, match="disk full"):
        array.resize(7)
    assert array[...].tolist() == [*range(1, 8)]
    store.fails = ""
    array.resize(7)
    array.resize(9)
    assert array[...].tolist() == [*range(1, 8), 0, 0]


def test_the_same_shape_again_removes_what_lies_outside() -> None:
    array = zarrcore.create_array({}, shape=(7, 7), chunks=[[4, 4, 9], [3, 5, 9]], dtype="i4")
    array[...] = 1
    whole = zarrcore.open_array(array.store)
    whole.resize((17, 17))
    whole[...] = 2
    from zarrcore.arrays.chunks import resize

    resize(whole._opened, (7, 7), cut=False)
    whole.resize((7, 7))
    whole.resize((17, 17))
    assert (whole[:7, :7] == 2).all() and not whole[7:].any() and not whole[:, 7:].any()


def test_an_append_that_fails_takes_its_room_back() -> None:
    store = Failing(MemoryStore())
    array = zarrcore.create_array(store, shape=(0, 3), chunks=(4, 3), dtype="i4")
    store.fails = "set"
    with pytest.raises(ChunkIOError, match="disk full"):
        array.append(np.ones((5, 3), "i4"))
    assert array.shape == zarrcore.open_array(store).shape == (0, 3)
    store.fails = ""
    assert array.append(np.ones((5, 3), "i4")) == (5, 3)
    assert (array[...] == 1).all()


def test_an_append_that_fails_and_cannot_remove_what_it_stored_notes_it() -> None:
    store = Failing(MemoryStore())
    array = new(store)

    def fail(key: str, value: Any) -> None:
        if key == "c/6":
            store.fails = "delete"
            raise OSError("disk full")
        WrapperStore.set(store, key, value)

    store.set = fail  # type: ignore[method-assign]
    with pytest.raises(ChunkIOError, match="disk full") as caught:
        array.append(np.ones(8, "i4"))
    assert array[:].tolist() == zarrcore.open_array(store)[:].tolist() == [*range(1, 21)]
    assert "could not be removed: array '/' has the shape (20,) now" in caught.value.__notes__[0]
    store.fails = ""
    array.resize(28)
    assert array[20:].tolist() == [0] * 8


class Dying(WrapperStore):
    """Dies at the n-th change, as a process that is killed: nothing is stored or removed from then on."""

    left = 1 << 30

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt

    def set(self, key: str, value: Any) -> None:
        self._count()
        super().set(key, value)

    def delete(self, key: str) -> None:
        self._count()
        super().delete(key)


LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (4, 3)},
    "shards": {"chunks": (2, 3), "shards": (4, 3)},
    "format 2": {"chunks": (4, 3), "zarr_format": 2},
    "rectilinear": {"chunks": [[4, 9], [3, 5]]},
    "a grid that grows": {"chunks": [[4, 6], [3, 3]]},
    "strings": {"chunks": (4, 3), "dtype": "string"},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_append_that_is_killed_leaves_the_array_as_it_was(layout: dict[str, Any], axis: int) -> None:
    """Nor does what it left show up when the array grows again, whoever makes it grow."""
    values = np.arange(1, 61).reshape(10, 6)
    more = np.full((9, 6) if axis == 0 else (10, 7), 99)
    text = layout.get("dtype") == "string"
    values, more = (values.astype(str), more.astype(str)) if text else (values, more)
    died = 0
    for left in range(40):
        store = Dying(MemoryStore())
        array = zarrcore.create_array(store, shape=(10, 6), **{"dtype": "i4", **layout})
        array[...] = values
        reader = zarrcore.open_array(store)
        store.left = left
        try:
            array.append(more, axis)
        except KeyboardInterrupt:
            died += 1
        store.left = 1 << 30
        found = zarrcore.open_array(store)
        if array.shape == found.shape != (10, 6):
            break
        assert found.shape == array.shape == (10, 6)
        for handle in (found, array, reader):
            np.testing.assert_array_equal(handle[...], values)
        if left % 2:
            found.resize((25, 14))
            assert set(found[10:].ravel().tolist()) | set(found[:, 6:].ravel().tolist()) == {found.fill_value}
            np.testing.assert_array_equal(found[:10, :6], values)
        else:
            found.append(more[:2] if axis == 0 else more[:, :2], axis)
            found.resize((25, 14))
            assert (np.asarray(found[...]) == more[0, 0]).sum() == 2 * (6 if axis == 0 else 10)
    assert died > 2 and (zarrcore.open_array(store)[...] == more[0, 0]).sum() == more.size


def test_readers_with_the_old_shape_see_no_change_while_an_append_goes_on() -> None:
    seen = []

    class Looking(WrapperStore):
        def set(self, key: str, value: Any) -> None:
            seen.append((key, array.shape, zarrcore.open_array(self._store).shape))
            assert reader[...].tolist() == array[...].tolist() == [*range(10)]
            super().set(key, value)

    inner = MemoryStore()
    reader = new(inner, chunks=4)
    reader.resize(10)
    reader[...] = np.arange(10)
    array = zarrcore.open_array(Looking(inner))
    array.append(np.arange(10, 20))
    assert {(ours, stored) for _, ours, stored in seen} == {((10,), (10,))}
    assert sorted(key for key, *_ in seen[:-1]) == ["c/2", "c/3", "c/4"] and seen[-1][0] == "zarr.json"
    assert array[...].tolist() == [*range(20)]


def test_growth_removes_leftovers_in_archives_too(tmp_path: Path) -> None:
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        array = new(store)
        for key in ("c/5", "c/6"):
            store.set(key, store.get("c/0") or b"")
        array.resize(26)
        assert array[20:].tolist() == [0] * 6


def test_growth_looks_at_no_more_chunks_than_are_stored() -> None:
    array = zarrcore.create_array(Failing(MemoryStore()), shape=(4, 4), chunks=(2, 2), dtype="i4")
    array.resize((1 << 40, 1 << 40))
    array[1 << 30, 5] = 3
    array.resize((1 << 41, 1 << 41))
    assert array[1 << 30, 5] == 3
