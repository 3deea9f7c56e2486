"""What a hostile file, a careless thread or a store that changes its mind may not do."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore._core.engine import encode_bytes
from zarrcore.abc.codec import ArrayArrayCodec
from zarrcore.errors import BoundsCheckError, ChunkDecodeError, ChunkError, ChunkLockError
from zarrcore.node import state_of
from zarrcore.registry import register_codec
from zarrcore.storage import (
    LocalStore,
    LoggingStore,
    ManagedMemoryStore,
    MemoryStore,
    SuffixByteRequest,
    WrapperStore,
)


def with_checksum(entries: list[tuple[int, int]]) -> bytes:
    """A shard index as it is stored."""
    return encode_bytes("crc32c", {}, b"".join(struct.pack("<QQ", *entry) for entry in entries))


def test_inner_chunk_of_no_bytes_is_not_turned_into_fill_values() -> None:
    """Reading it is an error; a write to another inner chunk must not make it look empty."""
    store: dict[str, bytes] = {}
    array = zarrcore.create_array(
        store, shape=8, chunks=2, shards=8, dtype="i4", compressors=None, fill_value=7
    )
    array[:] = np.arange(8)
    index = with_checksum([(0, 0), (8, 8), (16, 8), (24, 8)])
    store["c/0"] = before = store["c/0"][: -len(index)] + index
    with pytest.raises(ChunkDecodeError):
        array[0:2]
    with pytest.raises(ChunkDecodeError, match="0 bytes"):
        array[4] = 99
    assert store["c/0"] == before


def test_overlapping_inner_shards_take_no_memory(tmp_path: Path) -> None:
    """64 inner shards that claim the same 20 MiB of a file with holes."""
    from zarrcore.codecs import BytesCodec, ShardingCodec

    inner = ShardingCodec(chunk_shape=(1,), codecs=[BytesCodec()])
    array = zarrcore.create_array(
        tmp_path,
        shape=128,
        chunks=128,
        dtype="u1",
        compressors=None,
        serializer=ShardingCodec(chunk_shape=(2,), codecs=[inner]),
    )
    size = 20 << 20
    (tmp_path / "c").mkdir()
    with open(tmp_path / "c/0", "wb") as file:
        file.seek(size)
        file.write(with_checksum([(0, size)] * 64))
    with pytest.raises(ChunkDecodeError) as caught:
        array.read(threads=1)
    assert caught.value.inner_chunk == (0,)


class Vanishing(WrapperStore):
    """A store that has only the end of its values left."""

    gone = False

    def get(self, key: str, byte_range: Any = None) -> Any:
        if self.gone and byte_range is not None and not isinstance(byte_range, SuffixByteRequest):
            return None
        return super().get(key, byte_range)


@pytest.mark.parametrize("stop", [10, 300])
def test_shard_that_vanishes_is_not_absent(stop: int) -> None:
    store = Vanishing(MemoryStore())
    array = zarrcore.create_array(store, shape=4096, chunks=64, shards=4096, dtype="i8", fill_value=-1)
    array[:] = np.arange(4096)
    store.gone = True
    with pytest.raises(ChunkDecodeError, match="the shard is gone"):
        array[:stop]


class Shrinking(WrapperStore):
    """A store whose array shrinks, and has been restored before, each time the index of a shard is read."""

    left = 0

    def get(self, key: str, byte_range: Any = None) -> Any:
        if not self.left or byte_range is None or not key.startswith("c/"):
            return super().get(key, byte_range)
        self.left -= 1
        self._store.set(key, self.shard)
        index = super().get(key, byte_range)
        other = threading.Thread(target=self.shrink)
        other.start()
        other.join(30)
        assert not other.is_alive()
        return index

    def shrink(self) -> None:
        self.array.resize((16,))
        self.array.resize((8,))


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_shard_that_goes_while_an_array_shrinks_is_absent(times: int) -> None:
    """What shrinks waits for no lock of a chunk: under it, too, a shard may go after its index was read."""
    store = Shrinking(MemoryStore())
    array = zarrcore.create_array(
        store, shape=16, chunks=4, shards=8, dtype="i8", fill_value=0, compressors=None
    )
    array[...] = np.arange(1, 17)
    store.array, store.shard = zarrcore.open_array(store), store.get("c/1")
    store.left = times
    assert array[8:10].tolist() == [], "the read is of the array as it is now, which ends there"
    assert store.left == 0


def test_remote_chunk_is_fetched_by_few_requests() -> None:
    """Part of an uncompressed inner chunk is not asked for in small pieces, each a request."""
    store = LoggingStore(MemoryStore())
    array = zarrcore.create_array(
        store, shape=(512, 512), chunks=(512, 512), shards=(512, 512), dtype="i8", compressors=None
    )
    array[:] = 5
    before = store.counter["get"]
    assert (array[:, :8] == 5).all()
    assert store.counter["get"] - before <= 3


def test_stores_over_the_same_data_share_their_locks(tmp_path: Path) -> None:
    memory = MemoryStore()
    assert LoggingStore(memory)._scope("a") == memory._scope("a") != MemoryStore()._scope("a")
    assert MemoryStore(memory._store_dict)._scope("a") == memory._scope("a")
    assert LoggingStore(LocalStore(tmp_path))._scope("a") == LocalStore(f"{tmp_path}/a")._scope("")
    named = ManagedMemoryStore("shared locks")
    assert ManagedMemoryStore("shared locks", path="a")._scope("b") == named._scope("a/b")


def test_two_wrappers_lose_no_update() -> None:
    memory = MemoryStore()
    zarrcore.create_array(memory, shape=300, chunks=300, dtype="i4")
    arrays = [zarrcore.open_array(LoggingStore(memory), mode="r+") for _ in range(2)]

    def fill(part: int) -> None:
        for i in range(part, 300, 2):
            arrays[part][i] = i + 1

    threads = [threading.Thread(target=fill, args=(part,)) for part in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(arrays[0][:], np.arange(1, 301))


class Journal(WrapperStore):
    """A store whose writes write into the array that is being written."""

    array: Any = None

    def set(self, key: str, value: Any) -> None:
        if self.array is not None:
            array, self.array = self.array, None
            array[1] = 1
        super().set(key, value)


def test_writing_from_inside_of_a_write_is_refused_not_waited_for() -> None:
    store = Journal(MemoryStore())
    array = zarrcore.create_array(store, shape=4, chunks=4, dtype="i4")
    store.array = array
    with pytest.raises(zarrcore.errors.ChunkIOError, match="while this thread is writing it") as caught:
        array[0] = 5
    assert isinstance(caught.value.__cause__, ChunkLockError)
    array[2] = 6
    assert array[:].tolist() == [0, 0, 6, 0]


class Callback(WrapperStore):
    """A store that calls a function at the next write of a chunk."""

    function: Any = None

    def set(self, key: str, value: Any) -> None:
        if self.function is not None:
            function, self.function = self.function, None
            function()
        super().set(key, value)


@pytest.mark.parametrize("dtype", ["i4", str])
@pytest.mark.parametrize("way", ["whole", "parts", "writer"])
def test_threads_of_a_write_from_inside_of_a_write_are_not_waited_for(dtype: Any, way: str) -> None:
    """A thread of the inner call waited for the lock of the outer one, which waited for that thread."""
    store = Callback(MemoryStore())
    array = zarrcore.create_array(store, shape=(32, 4096), chunks=(2, 4096), dtype=dtype)
    values: Any = np.arange(32 * 4096).reshape(32, 4096).astype("i4")
    values = values if dtype == "i4" else values.astype(str).astype("T")

    def inside() -> None:
        if way == "writer":
            with array.writer(threads=4) as writer:
                writer[...] = values
        else:
            array.write(... if way == "whole" else np.s_[:, 1:], values[:, way == "parts" :], threads=4)

    def outside() -> None:
        try:
            array.write(..., values, threads=4)
        except zarrcore.errors.ChunkError as error:
            found.append(error)

    for _ in range(3):
        found: list[Exception] = []
        store.function = inside
        thread = threading.Thread(target=outside, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "waits without end"
        assert "while this thread is writing it" in str(found)
        array[...] = values
        assert np.array_equal(array[...], values)


@dataclass(frozen=True)
class Meddling(ArrayArrayCodec):
    """A codec that calls a function at the first chunk of a thread that has not begun the write."""

    name: ClassVar[str] = "tests.meddling"
    function: ClassVar[Any] = None
    both: ClassVar[threading.Barrier]

    def encode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        if Meddling.function is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                Meddling.both.wait(0.2)  # so that a thread of the pool has a chunk, too
            if threading.current_thread().name != "writer":
                Meddling.function()
        return chunk

    def decode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        return chunk


@dataclass(frozen=True)
class Nesting(ArrayArrayCodec):
    """A codec that calls a function on threads of the pool, and fails where it is told to."""

    name: ClassVar[str] = "tests.nesting"
    function: ClassVar[Any] = None
    is_inner: bool = False

    def encode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        return chunk

    def decode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        if self.is_inner and Nesting.function is not None:
            raise ValueError("the inner one")
        if threading.current_thread() is threading.main_thread():
            time.sleep(0.01)  # the others have some, too
        elif Nesting.function is not None:
            Nesting.function()
        return chunk


def test_an_error_of_a_codec_in_a_call_from_inside_of_a_codec_is_named() -> None:
    """It was looked for among those of the outer call: 'NoneType' object is not subscriptable."""
    register_codec(Nesting.name, Nesting)
    options: dict[str, Any] = {"shape": (16, 8), "chunks": (1, 8), "dtype": "i4"}
    outer = zarrcore.create_array({}, filters=[Nesting()], **options)
    inner = zarrcore.create_array({}, filters=[Nesting(is_inner=True)], **options)
    outer[...] = inner[...] = 1
    Nesting.function = lambda: inner[...]
    try:
        with pytest.raises(ChunkDecodeError, match="ValueError: the inner one"):
            outer.read(threads=4)
    finally:
        Nesting.function = None


def test_recursion_without_end_in_a_codec_is_an_error() -> None:
    """It ended the process: threads of the pool had a stack of 1 MiB, and Python counts calls."""
    program = f"""
import sys
sys.path[:0] = {[os.path.dirname(__file__), *sys.path]!r}
import threading, numpy as np, zarrcore
from test_adversaries import Nesting, register_codec
register_codec(Nesting.name, Nesting)
array = zarrcore.create_array({{}}, shape=(16, 8), chunks=(1, 8), dtype="i4", filters=[Nesting()])
array[...] = 1
class Endless:
    def __lt__(self, other):
        return sorted([Endless(), Endless()])
for Nesting.function in (lambda: sorted([Endless(), Endless()]), lambda: array.read(threads=4)):
    try:
        array.read(threads=4)
    except zarrcore.errors.ChunkDecodeError as error:
        assert "RecursionError" in str(error), error
    else:
        raise AssertionError
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr[-1000:]


@dataclass(frozen=True)
class Reading(ArrayArrayCodec):
    """A codec that reads an array, ten levels deep."""

    name: ClassVar[str] = "tests.reading"
    array: ClassVar[Any] = None
    calls: ClassVar[int] = 0

    def encode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        return chunk

    def decode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        if Reading.array is None:
            return chunk
        Reading.calls += 1
        if Reading.calls % 10 == 0:
            raise ValueError("deep enough")
        return Reading.array[...]  # type: ignore[no-any-return]


def test_a_codec_that_fails_is_not_called_once_more(tmp_path: Path) -> None:
    """A small file was read twice then: a codec that reads its own array took exponential time."""
    register_codec(Reading.name, Reading)
    array = zarrcore.create_array(tmp_path, shape=8, chunks=8, dtype="i4", filters=[Reading()])
    array[...] = 1
    Reading.array = array
    try:
        with pytest.raises(ChunkDecodeError, match="deep enough"):
            array[...]
    finally:
        Reading.array = None
    assert Reading.calls == 10


CHANGES: dict[str, Any] = {
    "resize": lambda group: group["a"].resize((1, 8)),
    "remove": lambda group: group.__delitem__("a"),
    "remove all": lambda group: zarrcore.create_group(group.store, overwrite=True),
    "move": lambda group: group.move("a", "b"),
    "replace": lambda group: group.create_array("a", shape=3, dtype="i8", overwrite=True),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", ["codec", "store"])
def test_an_array_is_not_taken_away_from_inside_of_a_write(change: str, place: str) -> None:
    """From a codec on another thread each waited for the other; a store had chunks of the old one left."""
    store = Callback(MemoryStore())
    group = zarrcore.create_group(store)
    register_codec(Meddling.name, Meddling)
    filters = [Meddling()] if place == "codec" else None
    array = group.create_array("a", shape=(16, 8), chunks=(1, 8), dtype="i4", filters=filters)
    array[...] = 1
    found: list[BaseException] = []

    def call() -> None:
        CHANGES[change](zarrcore.open_group(store, mode="r+"))

    def write() -> None:
        try:
            array.write(..., np.full((16, 8), 2, "i4"), threads=2)
        except ChunkError as error:
            found.append(error)

    Meddling.both = threading.Barrier(2)
    owner = Meddling if place == "codec" else store
    owner.function = call
    try:
        thread = threading.Thread(target=write, name="writer", daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "waits without end"
    finally:
        owner.function = None
    assert "while this thread writes to it" in str(found)
    values = zarrcore.open_array(store, path="a")[...]
    assert values.shape == (16, 8)
    assert all(row.tolist() in ([1] * 8, [2] * 8) for row in values)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_exception_of_a_signal_handler_comes_through_as_it_is() -> None:
    def stop(*_: Any) -> None:
        raise TimeoutError("enough")

    store = MemoryStore()
    array = zarrcore.create_array(store, shape=1 << 26, chunks=1 << 26, dtype="i4", fill_value=3)
    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError, match="enough"):
            while True:
                array[:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_index_arrays_that_change_during_a_read_are_harmless() -> None:
    array = zarrcore.create_array({}, shape=1000, chunks=10, dtype="i4")
    index = np.zeros(20000, dtype=np.int64)
    stop = threading.Event()

    def poke() -> None:
        while not stop.is_set():
            index[:] = 1 << 40
            index[:] = 0

    thread = threading.Thread(target=poke)
    thread.start()
    try:
        for _ in range(50):
            with contextlib.suppress(IndexError):  # it was the other value that was checked
                assert (array.vindex[index] == 0).all()
    finally:
        stop.set()
        thread.join()


class ShrinkingOnce(WrapperStore):
    """A store in which the array shrinks, through another handle, as the first chunk is read."""

    array: Any = None

    def get(self, key: str, byte_range: Any = None) -> Any:
        value = super().get(key, byte_range)
        if self.array is not None and "zarr.json" not in key:
            array, self.array = self.array, None
            array.resize(5)
        return value


@pytest.mark.timeout(60)
@pytest.mark.parametrize("dtype", ["i4", str])
def test_an_array_shrinks_between_two_selections_of_one_read(dtype: Any) -> None:
    """What was left of them was looked for without end, in the engine in Python."""
    store = ShrinkingOnce(MemoryStore())
    array = zarrcore.create_array(store, shape=24, chunks=4, dtype=dtype)
    values = np.arange(24).astype("i4" if dtype == "i4" else "T")
    array[...] = values
    store.array = zarrcore.open_array(store, mode="r+")
    selections = [slice(0, 5), slice(3, 9), [1, 20], slice(20, 2, -3)]
    with contextlib.suppress(IndexError):
        for selection, found in zip(selections, array.read_many(selections), strict=True):
            assert {*found.tolist()} <= {*values[selection].tolist(), array.fill_value}
    assert array[...].tolist() == values[:5].tolist()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("dtype", ["i4", str])
def test_neither_engine_takes_a_selection_that_leaves_the_array(dtype: Any) -> None:
    array = zarrcore.create_array({}, shape=(10, 6), chunks=(4, 3), dtype=dtype)
    engine = state_of(array).engine()
    values = np.zeros((1, 6), "i4" if dtype == "i4" else np.dtypes.StringDType())
    points = np.array([9, 10])
    for rows in [(10, 1, 1), (9, 1, 2), (-1, 1, 1), (8, 2, 2), (1, -1, 3)]:
        dims = [rows, (0, 1, 6)]
        block = np.zeros((rows[2], 6), values.dtype)
        for call in (engine.read, engine.write):
            with pytest.raises(BoundsCheckError, match=r"dims\[0\]: .* leaves the 10 elements"):
                call(dims, block)
    for call in (engine.read_points, engine.write_points):
        with pytest.raises(BoundsCheckError, match="indices leave the 10 elements"):
            call([points, points * 0], values[0, :2])
    assert array.nchunks_initialized == 0
