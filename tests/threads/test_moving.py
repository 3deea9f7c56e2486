# SPDX-License-Identifier: MIT
"""A node that is moved while another thread writes to it: no write that succeeded stays behind."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pausing_stores import Pausing

import zarrcore
from zarrcore.errors import NodeNotFoundError
from zarrcore.nodes import users
from zarrcore.storage import LocalStore, MemoryStore, Store

pytestmark = pytest.mark.threads


def write(array: zarrcore.Array, value: int) -> None:
    array[5] = value


def write_gathered(array: zarrcore.Array, value: int) -> None:
    with array.writer() as writer:
        writer[5] = value


def put_encoded(array: zarrcore.Array, value: int) -> None:
    array.encoded(1).put(np.array([4, value, 6, 7], "i4").tobytes())


def set_attribute(array: zarrcore.Array, value: int) -> None:
    array.attrs["x"] = value


def set_attribute_of_group(array: zarrcore.Array, value: int) -> None:
    zarrcore.open_group(array.store, path="g", mode="r+").attrs["x"] = value


def grow(array: zarrcore.Array, value: int) -> None:
    array.resize(value)


WAYS = {
    write: "g/a/c/1",
    write_gathered: "g/a/c/1",
    put_encoded: "g/a/c/1",
    set_attribute: "g/a/zarr.json",
    set_attribute_of_group: "g/zarr.json",
    grow: "g/a/zarr.json",
}


NEED_DOCUMENTS = {set_attribute, set_attribute_of_group, grow}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["renames", "copies"])
def test_a_write_under_way_is_waited_for_and_others_fail(kind: str, way: Any, tmp_path: Path) -> None:
    inside: Store = LocalStore(tmp_path) if kind == "renames" else MemoryStore()
    store = Pausing(inside)
    root = zarrcore.create_group(store)
    array = root.create_array("g/a", shape=8, chunks=4, dtype="i4", compressors=None)
    array[...] = np.arange(8)
    store.pauses_at = WAYS[way]
    errors: list[BaseException] = []

    def run(call: Any) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    writer = threading.Thread(target=run, args=(lambda: way(array, 50),))
    writer.start()
    assert store.is_inside.wait(60)
    mover = threading.Thread(target=run, args=(lambda: root.move("g", "h"),))
    mover.start()
    while not users.MOVING and mover.is_alive():
        time.sleep(0.001)
    others = [array, zarrcore.open_array(store, path="g/a")] if way not in NEED_DOCUMENTS else []
    for late in others:  # else they wait for each other
        with pytest.raises(NodeNotFoundError, match="g.* is being moved"):
            way(late, 60)
    store.may_go_on.set()
    writer.join(60)
    mover.join(60)
    assert not writer.is_alive() and not mover.is_alive() and errors == []
    values, moved = [*range(8)], root["h/a"]
    if way not in NEED_DOCUMENTS:
        values[5] = 50
    assert moved[:8].tolist() == values
    assert moved.shape == ((50,) if way is grow else (8,))
    assert dict(moved.attrs) == ({"x": 50} if way is set_attribute else {})
    assert dict(root["h"].attrs) == ({"x": 50} if way is set_attribute_of_group else {})
    assert not [key for key in inside.list() if key.startswith("g/")]
    with pytest.raises(NodeNotFoundError):
        way(array, 70)
    assert users.MOVING == {}


def test_other_arrays_are_written_meanwhile() -> None:
    root = zarrcore.create_group({})
    for name in ("a", "ab"):
        root.create_array(name, shape=4, dtype="i4")
    with users.moving(root["a"].store_path):
        write(root.create_array("c", shape=8, dtype="i4"), 3)
        root["ab"][...] = 5
        with pytest.raises(NodeNotFoundError):
            root["a"][...] = 5
    root["a"][...] = 6
    assert root["a"][0] == 6 and root["ab"][0] == 5
