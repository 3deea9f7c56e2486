# SPDX-License-Identifier: MIT
"""An array that shrinks while another thread is writing to it: nothing is left beyond the new end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays import chunks
from zarrcore.storage import MemoryStore, WrapperStore

pytestmark = pytest.mark.threads

LAYOUTS: dict[str, dict[str, Any]] = {
    "native": {"dtype": "i4", "chunks": 4},
    "shards": {"dtype": "i4", "chunks": 2, "shards": 4},
    "python": {"dtype": "string", "chunks": 4},
    "format-2": {"dtype": "i4", "chunks": 4, "zarr_format": 2},
}


class Pausing(WrapperStore):
    """A store that waits inside of `set` of one key until it is told to go on."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.pauses_at = ""
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()

    def set(self, key: str, value: Any) -> None:
        if key == self.pauses_at:
            self.is_inside.set()
            assert self.may_go_on.wait(60)
        super().set(key, value)


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

    def run(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    waits = threading.Event()
    wait_for_writes = chunks.wait_for_writes

    def wait(place: Any) -> None:
        waits.set()
        wait_for_writes(place)

    monkeypatch.setattr(chunks, "wait_for_writes", wait)
    writer = threading.Thread(target=run, args=(lambda: way(array, values),))
    writer.start()
    assert store.is_inside.wait(60)
    shrinker = threading.Thread(target=run, args=(lambda: other.resize(6),))
    shrinker.start()
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
