# SPDX-License-Identifier: MIT
"""An array that shrinks while another thread is writing to it: nothing is left beyond the new end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pausing_stores import Pausing

import zarrcore
from zarrcore.arrays import chunks
from zarrcore.errors import ArrayNotFoundError
from zarrcore.storage import MemoryStore

pytestmark = pytest.mark.threads

LAYOUTS: dict[str, dict[str, Any]] = {
    "native": {"dtype": "i4", "chunks": 4},
    "shards": {"dtype": "i4", "chunks": 2, "shards": 4},
    "python": {"dtype": "string", "chunks": 4},
    "format-2": {"dtype": "i4", "chunks": 4, "zarr_format": 2},
}


def started(errors: list[BaseException], call: Callable[[], object]) -> threading.Thread:
    """Call in a thread, which notes what is raised."""

    def run() -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def write(array: zarrcore.Array, values: Any) -> None:
    array[:] = values


def write_points(array: zarrcore.Array, values: Any) -> None:
    array.vindex[np.arange(20)] = values


def write_gathered(array: zarrcore.Array, values: Any) -> None:
    with array.writer() as writer:
        writer[1:19] = values[1:19]
        writer[0], writer[19] = values[0], values[19]


@pytest.mark.parametrize("way", [write, write_points, write_gathered])
@pytest.mark.parametrize("key", ["0", "1", "2", "4"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_write_under_way_while_another_handle_shrinks(
    layout: str, key: str, way: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Pausing(MemoryStore())
    array = zarrcore.create_array(store, name="a", shape=20, **LAYOUTS[layout])
    other = zarrcore.open_array(store, path="a")
    values: Any = [str(n) for n in range(1, 21)] if layout == "python" else np.arange(1, 21)
    store.pauses_at = f"a/{key}" if layout == "format-2" else f"a/c/{key}"
    errors: list[BaseException] = []

    waits = threading.Event()
    wait_for_writes = chunks.wait_for_writes

    def wait(place: Any) -> None:
        waits.set()
        wait_for_writes(place)

    monkeypatch.setattr(chunks, "wait_for_writes", wait)
    writer = started(errors, lambda: way(array, values))
    assert store.is_inside.wait(60)
    shrinker = started(errors, lambda: other.resize(6))
    assert waits.wait(60)  # the new shape is stored
    store.may_go_on.set()
    writer.join(60)
    shrinker.join(60)
    assert not writer.is_alive() and not shrinker.is_alive()
    assert all(isinstance(error, IndexError | ValueError) and "shape" in str(error) for error in errors)
    assert other.shape == array.shape == (6,)
    other.resize(20)
    nothing = "" if layout == "python" else 0
    assert other[6:].tolist() == [nothing] * 14
    assert set(other[:6].tolist()) <= {*list(values[:6]), nothing}


def test_a_handle_follows_although_another_array_has_shrunk_since() -> None:
    store = MemoryStore()
    array = zarrcore.create_array(store, name="a", shape=20, **LAYOUTS["native"])
    other = zarrcore.create_array(store, name="b", shape=20, **LAYOUTS["native"])
    old = zarrcore.open_array(store, path="a")
    old[:] = 1
    array.resize(6)
    other.resize(6)
    with pytest.raises(ValueError, match="shape"):
        old[10:20] = np.full(10, 2)
    array.resize(20)
    assert array[6:].tolist() == [0] * 14


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("way", [write, write_points, write_gathered])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_write_under_way_while_the_array_is_replaced(
    layout: str, way: Callable[..., None], *, by_group: bool
) -> None:
    store = Pausing(MemoryStore())
    zarr_format = LAYOUTS[layout].get("zarr_format", 3)
    array = zarrcore.create_array(store, name="g/a", shape=20, **LAYOUTS[layout])
    values: Any = [str(n) for n in range(1, 21)] if layout == "python" else np.arange(1, 21)
    store.pauses_at = "g/a/4" if layout == "format-2" else "g/a/c/4"

    def replace() -> None:
        if by_group:
            zarrcore.create_group(store, path="g", overwrite=True, zarr_format=zarr_format)
        zarrcore.create_array(
            store, name="g/a", shape=20, overwrite=not by_group, **LAYOUTS[layout] | {"dtype": "f4"}
        )

    errors: list[BaseException] = []
    writer = started(errors, lambda: way(array, values))
    assert store.is_inside.wait(60)
    replacer = started(errors, replace)
    replacer.join(0.2)  # it may end, or wait for the write
    store.may_go_on.set()
    writer.join(60)
    replacer.join(60)
    assert not writer.is_alive() and not replacer.is_alive()
    assert all(isinstance(error, ArrayNotFoundError) for error in errors)
    assert zarrcore.open_array(store, path="g/a")[:].tolist() == [0] * 20
    with pytest.raises(ArrayNotFoundError, match="replaced"):
        array[:] = values
