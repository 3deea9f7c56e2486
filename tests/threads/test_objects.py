# SPDX-License-Identifier: MIT
"""Objects that threads share: items of arrays, views that stores lend, holders of copies.

Without a GIL nothing keeps an object alive for whoever only looks at it.  NumPy itself takes no lock when
items of an array of objects are replaced, so here none is freed at the moment when another thread finds it.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore._core import engine, vlen
from zarrcore.codecs import GzipCodec
from zarrcore.storage import MemoryStore, Store, WrapperStore
from zarrcore.testing.threads import in_threads

pytestmark = [pytest.mark.threads, pytest.mark.usefixtures("hasty_switching")]

THREADS = 6
GZIP = GzipCodec(level=1)


def plain(item: Any) -> bytes:
    raise TypeError(f"{item!r} is neither text nor bytes")


@pytest.mark.parametrize("utf8", [True, False])
def test_items_are_read_into_one_place_by_all(utf8: bool) -> None:
    """Each item that is replaced is let go of once."""
    texts = [f"item {i} of the array" for i in range(3000)]
    items = np.array(texts if utf8 else [text.encode() for text in texts], object)
    encoded = vlen.encode(items, "test", plain, utf8=utf8)
    place = np.empty(1, object)
    out = np.lib.stride_tricks.as_strided(place, items.shape, (0,))

    def read() -> None:
        for _ in range(100):
            vlen.decode_into(encoded, out, "test", utf8=utf8)

    in_threads(*[read] * THREADS)
    assert place[0] == items[-1]


def test_arrays_of_strings_are_read_into_one_array_by_all(store: Store) -> None:
    values = np.array([[f"row {i}, column {k}" for k in range(20)] for i in range(20)], object)
    array = zarrcore.create_array(store, shape=(20, 20), chunks=(5, 20), dtype="str")
    array[...] = values
    out = np.empty((20, 20), array.dtype)

    def read(number: int) -> None:
        for turn in range(25):
            rows = slice((number + turn) % 3, 20)
            array.read(rows, out=out[rows])

    in_threads(*(lambda number=number: read(number) for number in range(THREADS)))
    assert array.read(out=out).tolist() == values.tolist()


@pytest.mark.parametrize("utf8", [True, False])
def test_an_item_is_replaced_while_it_is_encoded(utf8: bool) -> None:
    """It is so long that copying it takes longer than it is kept by anybody else."""
    length = 1 << 20

    def item(mark: int) -> str | bytes:
        return chr(0xC0 + mark % 26) * length if utf8 else bytes([97 + mark % 26]) * (2 * length)

    items = np.array([item(0)], object)
    done = threading.Event()

    def encode() -> None:
        try:
            for _ in range(100):
                encoded = vlen.encode(items, "test", plain, utf8=utf8)
                assert encoded[8:] == encoded[8:10] * length
                assert vlen.all_text(items) == utf8
        finally:
            done.set()

    def replace() -> None:
        replaced: deque[Any] = deque(maxlen=1)  # outlives the moment of being found, no more
        mark = 0
        while not done.is_set():
            mark += 1
            new = item(mark)
            replaced.append(items[0])
            items[0] = new

    in_threads(encode, replace)


def test_what_an_encoder_replaces_is_still_encoded() -> None:
    """A conversion written in Python may change the array that it is called for."""
    items = np.array([bytearray(b"first"), bytearray(b"second")], object)

    def convert(item: bytearray) -> bytes:
        items[:] = b"new"
        return bytes(item)

    assert vlen.decode(
        vlen.encode(items, "test", convert, utf8=False), 2, np.dtype(object), "test", utf8=False
    ).tolist() == [b"first", b"new"]


def test_indices_of_a_mask_are_made_by_all() -> None:
    mask = np.arange(4000).reshape(40, 100) % 7 == 0
    expected = np.nonzero(mask)
    for _ in range(15):
        points = engine.MaskPoints(mask)

        def look(points: Any = points) -> None:
            for d in (0, 1):
                np.testing.assert_array_equal(points[d], expected[d])

        in_threads(*[look] * THREADS)


class Lending(WrapperStore[MemoryStore]):
    """Gives views of values that nobody else has, and keeps them to release them."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.lent: list[memoryview] = []
        self.released = False

    def get_many(self, keys: Any) -> list[Any]:
        values = list(super().get_many(keys))
        if None in values:  # looking for the metadata
            return values
        self.lent = [memoryview(bytes(bytearray(value))) for value in values]
        return self.lent.copy()

    @property
    def cancelled(self) -> bool:
        """What a call asks again and again while it decodes."""
        for view in self.lent:
            view.release()
        self.released = bool(self.lent)
        return False


def test_a_store_takes_its_views_back() -> None:
    """What the engine was lent stays readable, though its owner has released it."""
    store = Lending(MemoryStore())
    values = np.random.default_rng(1).integers(0, 1 << 12, (32, 1 << 18), dtype="i4")
    array = zarrcore.create_array(
        store, shape=values.shape, chunks=(1, 1 << 18), dtype="i4", compressors=GZIP
    )
    array[...] = values
    array = array.with_cache(2 * values.nbytes)
    every = [(0, 1, length) for length in values.shape]
    for _ in range(100):  # it is asked every 50 ms
        array.cache.clear()
        engine.prefetch(array._compiled(), every, values.shape, False, threads=1, token=store)
        assert array.cache.nchunks == len(values)
        if store.released:
            break
    with pytest.raises(ValueError, match="released"):
        len(store.lent[0])
    np.testing.assert_array_equal(array[...], values)


def test_holders_of_copies_come_and_go_while_nodes_change() -> None:
    """Copies of consolidated metadata are told of changes; that one is dropped meanwhile does no harm."""
    store = MemoryStore()
    zarrcore.create_group(store).create_array("node", shape=4, dtype="i4")
    zarrcore.consolidate_metadata(store)
    done = threading.Event()

    def change() -> None:
        try:
            node = zarrcore.open_array(store, path="node")
            for turn in range(150):
                node.attrs["turn"] = turn
        finally:
            done.set()

    def hold() -> None:
        while not done.is_set():
            held = [zarrcore.open_consolidated(store) for _ in range(8)]
            del held

    in_threads(change, hold, hold)
    assert zarrcore.open_array(store, path="node").attrs["turn"] == 149
