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


def test_an_append_that_fails_and_cannot_take_its_room_back_says_so() -> None:
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
    assert array[:20].tolist() == [*range(1, 21)]
    assert any("the array keeps its new shape" in note for note in getattr(caught.value, "__notes__", []))
