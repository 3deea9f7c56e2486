# SPDX-License-Identifier: MIT
"""Parts of shards that the C engine cannot take: only inner chunks asked for are read, and all is right."""

from __future__ import annotations

import math
import threading
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import zarrcore
from zarrcore.codecs import Crc32cCodec, ShardingCodec, VLenUTF8Codec, ZstdCodec
from zarrcore.errors import ChunkDecodeError, ChunkIOError
from zarrcore.storage import LocalStore, MemoryStore, SuffixByteRequest

TEXT = np.dtypes.StringDType()


def items_of(shape: tuple[int, ...]) -> np.ndarray:
    return np.array([f"item {i}" * (i % 5) for i in range(math.prod(shape))], dtype=TEXT).reshape(shape)


class Far(MemoryStore):
    """A store that is asked through Python, and tells what it was asked for."""

    _is_near = False

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Any]] = []

    def get(self, key, byte_range=None):
        self.asked.append((key, byte_range))
        return super().get(key, byte_range)


def shards_of(store: Any, *, where: str = "end", nested: bool = False, fill: str = "") -> zarrcore.Array:
    """10 by 14 strings in shards of 4 by 6, of inner chunks of 2 by 3."""
    inner: Any = VLenUTF8Codec()
    codecs = [inner, ZstdCodec(), Crc32cCodec()]
    if nested:
        codecs = [ShardingCodec(chunk_shape=(1, 3), codecs=codecs)]
    return zarrcore.create_array(
        store,
        name="x",
        shape=(10, 14),
        chunks=(4, 6),
        dtype=TEXT,
        fill_value=fill,
        serializer=ShardingCodec(chunk_shape=(2, 3), codecs=codecs, index_location=where),
        compressors=None,
    )


SLICES = st.builds(
    slice,
    st.none() | st.integers(-12, 12),
    st.none() | st.integers(-12, 16),
    st.sampled_from([None, 1, 2, 5, -1, -3]),
)
BASIC = st.tuples(SLICES | st.integers(-10, 9), SLICES | st.integers(-14, 13))
OUTER = st.tuples(
    SLICES | st.lists(st.integers(0, 9), max_size=6), st.lists(st.integers(0, 13), max_size=9) | SLICES
)
POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 13)), min_size=1, max_size=12)


@pytest.mark.parametrize(  # each two of the three come together
    ("make", "where", "nested"),
    [
        *((make, where, where == "end") for make in (MemoryStore, "local") for where in ("start", "end")),
        *((Far, where, where == "start") for where in ("start", "end")),
    ],
)
def test_all_selections_are_numpy_s(make, where, nested, tmp_path_factory):
    @settings(max_examples=25, deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        store = LocalStore(tmp_path_factory.mktemp("store")) if make == "local" else make()
        array = shards_of(store, where=where, nested=nested, fill="none")
        model = np.full(array.shape, "none", dtype=TEXT)
        for step in range(4):
            basic, outer = data.draw(BASIC), data.draw(OUTER)
            points = tuple(np.array(axis) for axis in zip(*data.draw(POINTS), strict=True))
            index = tuple(
                np.arange(n)[s if isinstance(s, slice) else np.array(s, int)]
                for n, s in zip(model.shape, outer, strict=True)
            )
            values = items_of(np.shape(model[basic]))[()]
            array[basic] = values
            model[basic] = values
            array.oindex[outer] = f"outer {step}"
            model[np.ix_(*index)] = f"outer {step}"
            array.vindex[points] = f"point {step}"
            model[points] = f"point {step}"
            np.testing.assert_array_equal(array[basic], model[basic])
            np.testing.assert_array_equal(array.oindex[outer], model[np.ix_(*index)])
            np.testing.assert_array_equal(array.vindex[points], model[points])
        np.testing.assert_array_equal(array[...], model)

    check()


def test_only_the_inner_chunks_asked_for_are_read():
    store = Far()
    array = shards_of(store)
    array[...] = items_of(array.shape)
    store.asked.clear()
    assert array[5, 7] == items_of(array.shape)[5, 7]
    index = SuffixByteRequest(4 * 16 + 4)
    assert [(key, part) for key, part in store.asked[:2]] == [("x/c/1/1", index)] * 2
    (_, (_, length)), *rest = store.asked[2:]
    assert not rest
    assert length < len(store.get("x/c/1/1")) / 3


def test_an_update_leaves_the_other_inner_chunks_as_they_are_stored():
    """Even those that could not be decoded: nothing looks at them."""
    store = MemoryStore()
    array = shards_of(store)
    array[...] = items_of(array.shape)
    key = "x/c/0/0"
    shard = bytearray(store.get(key))
    shard[20] ^= 1  # in the first inner chunk
    store.set(key, bytes(shard))
    array[2, 4] = "new"
    assert array[2, 4] == "new"
    assert store.get(key)[:40] == bytes(shard[:40])
    with pytest.raises(ChunkDecodeError) as caught:
        array[0, 0]
    assert (caught.value.array, caught.value.chunk, caught.value.inner_chunk) == ("x", (0, 0), (0, 0))
    assert caught.value.key == key


def test_shards_of_fill_values_alone_are_removed():
    store = MemoryStore()
    array = shards_of(store, fill="-")
    array[:4, :6] = items_of((4, 6))
    array[:2] = "-"
    assert len(store.get("x/c/0/0")) > 0
    array[2:4] = "-"
    assert store.get("x/c/0/0") is None
    assert set(array[...].reshape(-1)) == {"-"}
    kept = array.with_config({"write_empty_chunks": True})
    kept[0, 0] = "-"
    assert store.get("x/c/0/0") is not None


@pytest.mark.parametrize("extent", [(10**6, 8), (0, 10**9), (2**63, 2**63), (2**64 - 2, 5)])
def test_an_index_that_lies_is_told(extent):
    store = Far()
    array = shards_of(store)
    array[...] = items_of(array.shape)
    shard = store.get("x/c/0/0")
    index = np.frombuffer(shard[-68:-4], "<u8").copy()
    index[:2] = extent
    encoded = Crc32cCodec().encode(index.tobytes(), None)
    store.set("x/c/0/0", shard[:-68] + encoded)
    for selection in ((0, 0), (slice(0, 4), slice(0, 6))):
        with pytest.raises(ChunkDecodeError, match="beyond the end") as caught:
            array[selection]
        assert caught.value.inner_chunk == (0, 0)
        assert caught.value.byte_range == extent
    assert array[2, 0] == items_of(array.shape)[2, 0]


def test_a_shard_that_is_replaced_meanwhile_is_read_anew():
    """Between its index and its inner chunks: as long as it stays, and not for ever."""

    class Replaced(Far):
        others: list[bytes] = []

        def get(self, key, byte_range=None):
            found = super().get(key, byte_range)
            if self.others and isinstance(byte_range, SuffixByteRequest):
                self.set(key, self.others.pop())
            return found

    store = Replaced()
    array = shards_of(store)
    versions = []
    for text in ("a", "much longer than the other", "c"):
        array[...] = text
        versions.append(store.get("x/c/0/0"))
    store.others = [versions[0], versions[1]]
    assert array[0, 0] == "a"
    store.others = [versions[0], versions[1]] * 100
    with pytest.raises(ChunkIOError, match="replaced") as caught:
        array[0, 0]
    assert (caught.value.array, caught.value.key) == ("x", "x/c/0/0")


def test_readers_see_one_version_while_others_write(tmp_path):
    array = shards_of(LocalStore(tmp_path))
    texts = ["short", "a longer text " * 20]
    array[...] = texts[0]
    stop = threading.Event()

    def write() -> None:
        for i in range(10**6):
            array[...] = texts[i % 2]
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            assert len(set(array[0:3, 0:3].reshape(-1))) == 1
    finally:
        stop.set()
        writer.join()
