# SPDX-License-Identifier: MIT
"""zarrcore_set_cache: what is kept of an array, and that it is never older than what this process wrote."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore import codecs
from zarrcore._core.engine import age_by_mtime
from zarrcore.storage import LocalStore, LoggingStore, MemoryStore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

SHAPE, CHUNKS = (24, 30), (8, 10)
STALE, BAD_ARGUMENT = -17, -2


@dataclass(frozen=True)
class Counted(codecs.BytesBytesCodec):
    """Changes nothing, and counts the chunks that are decoded."""

    name: ClassVar[str] = "test_capi.counted"
    decoded: ClassVar[int] = 0

    def encode(self, data: Any, spec: Any = None) -> bytes:
        return bytes(data)

    def decode(self, data: Any, spec: Any = None, max_size: int | None = None) -> bytes:
        Counted.decoded += 1
        return bytes(data)


@pytest.fixture
def counted() -> Any:
    zarrcore.registry.register_codec(Counted.name, Counted)
    Counted.decoded = 0
    yield Counted


def numbers() -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype="f4").reshape(SHAPE)


def make(store: Any, **options: Any) -> zarrcore.Array:
    array = zarrcore.create_array(store, **{"shape": SHAPE, "chunks": CHUNKS, "dtype": "f4", **options})
    array[...] = numbers()
    return array


def read(api: Any, handle: int, start: tuple[int, int], shape: tuple[int, int], **options: Any) -> np.ndarray:
    out = np.full(shape, -1, "f4")
    assert api.region(handle, out, start, threads=1, **options) == 0
    return out


def row_by_row(api: Any, handle: int) -> np.ndarray:
    return np.concatenate([read(api, handle, (i, 0), (1, SHAPE[1])) for i in range(SHAPE[0])])


LAYOUTS: dict[str, dict[str, Any]] = {
    "gzip": {"compressors": codecs.GzipCodec(level=1)},
    "raw": {"compressors": None},
    "blosc": {"compressors": codecs.BloscCodec(cname="lz4")},
    "transposed": {"filters": codecs.TransposeCodec(order=(1, 0))},
    "big": {"serializer": codecs.BytesCodec(endian="big")},
    "sharded": {"shards": (16, 30)},
    "v2-F": {"zarr_format": 2, "order": "F"},
    "varied": {"chunks": ((3, 10, 11), (10, 15, 5))},
    "varied rows": {"chunks": ((3, 10, 11), 10)},
    "varied columns": {"chunks": (8, (10, 15, 5))},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nbytes", [None, 0, 1, 400, 1000, 1 << 20, 2**63 - 1])
def test_rows_columns_and_items_are_what_they_are_without_a_cache(
    api: Any, tmp_path: Path, layout: str, nbytes: int | None
) -> None:
    array = make(tmp_path, **LAYOUTS[layout])
    array[8:16, 10:20] = 0  # a chunk that is not stored
    handle, values = api.handle(tmp_path), array[...]
    if nbytes is not None:
        assert api.set_cache(handle, nbytes) == 0
    for _ in range(2):
        np.testing.assert_array_equal(row_by_row(api, handle), values)
        columns = [read(api, handle, (0, j), (SHAPE[0], 1)) for j in range(SHAPE[1])]
        np.testing.assert_array_equal(np.concatenate(columns, axis=1), values)
        for i, j in [(0, 0), (7, 9), (8, 10), (23, 29), (7, 9)]:
            assert read(api, handle, (i, j), (1, 1)) == values[i, j]
    out = np.zeros((4, 5), "f4")
    for start, step in [((3, 2), (2, 3)), ((20, 28), (-1, -2)), ((20, 28), (-1, -2))]:
        assert api.region(handle, out[::-1, ::-1], start, step) == 0
        expected = values[start[0] :: step[0], start[1] :: step[1]][:4, :5]
        np.testing.assert_array_equal(out[::-1, ::-1], expected)
    api.release(handle)


@pytest.mark.parametrize(
    ("nbytes", "decoded"), [(None, 9 + 9), (1 << 20, 9), (0, 9 * 8)], ids=["default", "all", "none"]
)
def test_each_chunk_is_decoded_once(capi: Any, counted: Any, nbytes: int | None, decoded: int) -> None:
    """Without a word from the caller, when it is touched for the second time."""
    array = make(MemoryStore(), compressors=counted())
    handle = capi.from_python(id(array))
    if nbytes is not None:
        assert capi.set_cache(handle, nbytes) == 0
    counted.decoded = 0
    np.testing.assert_array_equal(row_by_row(capi, handle), numbers())
    assert counted.decoded == decoded
    capi.release(handle)


def test_items_here_and_there_and_whole_chunks_are_not_kept(capi: Any, counted: Any) -> None:
    array = make(MemoryStore(), compressors=counted())
    handle = capi.from_python(id(array))
    counted.decoded = 0
    for _ in range(3):
        read(capi, handle, (8, 10), (8, 10))
        read(capi, handle, (0, 0), SHAPE)
    assert counted.decoded == 30
    assert capi.set_cache(handle, 8 * 10 * 4) == 0  # too little for a chunk and its entry
    for _ in range(3):
        read(capi, handle, (8, 10), (1, 1))
    assert counted.decoded == 33
    capi.release(handle)


def test_the_cache_of_the_array_is_used_where_it_has_one(capi: Any, counted: Any) -> None:
    array = make(MemoryStore(), compressors=counted()).with_cache(1 << 20)
    handle = capi.from_python(id(array))
    counted.decoded = 0
    for _ in range(3):
        np.testing.assert_array_equal(row_by_row(capi, handle), numbers())
        np.testing.assert_array_equal(array[...], numbers())
    assert counted.decoded == 9
    capi.release(handle)


# --- coherence --------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


@pytest.mark.parametrize("layout", ["gzip", "raw", "sharded", "transposed"])
def test_what_other_handles_write_is_seen_at_once(capi: Any, store: Any, layout: str) -> None:
    array = make(store, **LAYOUTS[layout])
    other = zarrcore.open_array(store)
    reader, writer = capi.from_python(id(array)), capi.from_python(id(other))
    assert capi.set_cache(reader, 1 << 20) == 0
    expected = numbers()
    for k in range(40):
        at = (k % SHAPE[0], k * 7 % SHAPE[1])
        assert read(capi, reader, at, (1, 1)) == expected[at]
        expected[at] = -k
        if k % 3 == 0:
            array[at] = -k
        else:
            by = writer if k % 3 == 1 else reader
            assert capi.region(by, np.full((1, 1), -k, "f4"), at, write=True) == 0
        assert read(capi, reader, at, (1, 1)) == -k
    np.testing.assert_array_equal(row_by_row(capi, reader), expected)
    capi.release(reader)
    capi.release(writer)


@pytest.mark.parametrize("change", ["erase", "shrink", "remove", "replace"])
def test_what_is_removed_is_not_read_from_the_cache(capi: Any, store: Any, change: str) -> None:
    group = zarrcore.create_group(store)
    array = group.create_array("a", shape=SHAPE, chunks=CHUNKS, dtype="f4", fill_value=5)
    array[...] = numbers()
    handle, out = capi.from_python(id(array)), np.zeros((1, 2), "f4")
    assert capi.set_cache(handle, 1 << 20) == 0
    for _ in range(3):
        assert capi.region(handle, out, (3, 3)) == 0
    if change == "erase":
        store.delete("a/c/0/0")
        assert capi.region(handle, out, (3, 3)) == 0
        assert out.tolist() == [[5, 5]]
    else:
        if change == "shrink":
            zarrcore.open_array(store, path="a").resize((2, 2))
        elif change == "remove":
            del group["a"]
        else:
            group.create_array("a", shape=SHAPE, chunks=CHUNKS, dtype="i8", overwrite=True)
        assert capi.region(handle, out, (3, 3)) == STALE
    capi.release(handle)


def test_what_another_process_writes_is_seen_at_once_unless_a_size_was_set(api: Any, tmp_path: Path) -> None:
    array = make(tmp_path / "a", **LAYOUTS["gzip"])
    handle, place = api.handle(tmp_path / "a"), tmp_path / "a" / "c" / "0" / "0"
    age_by_mtime(True)  # the other time of change cannot be set back
    contents = []
    for k in range(2):
        array[0, 0] = 1000 + k
        contents.append((tmp_path / f"copy {k}", 1000 + k))
        contents[-1][0].write_bytes(place.read_bytes())
    for k in range(6):
        copy, expected = contents[k % 2]
        old = 1_000_000_000 + 10 * k  # so old that it may be kept
        copy.write_bytes(copy.read_bytes())
        os.utime(copy, (old, old))
        (tmp_path / "new").unlink(missing_ok=True)
        os.link(copy, tmp_path / "new")
        os.replace(tmp_path / "new", place)
        assert [read(api, handle, (0, 0), (1, 1)).item() for _ in range(4)] == [expected] * 4
    api.release(handle)


def test_a_store_in_python_is_asked_at_each_read_unless_a_size_was_set(capi: Any, counted: Any) -> None:
    array = make(LoggingStore(MemoryStore()), compressors=counted())
    handle = capi.from_python(id(array))
    counted.decoded = 0
    for size, decoded in [(None, 4), (1 << 20, 5)]:
        if size is not None:
            assert capi.set_cache(handle, size) == 0
        for _ in range(4):
            read(capi, handle, (0, 0), (1, 1))
        assert counted.decoded == decoded
    capi.release(handle)


def test_what_another_process_writes_is_seen_soon(api: Any, tmp_path: Path) -> None:
    array = make(tmp_path / "a", **LAYOUTS["gzip"])
    handle = api.handle(tmp_path / "a")
    assert api.set_cache(handle, 1 << 20) == 0
    stored = (tmp_path / "a" / "c" / "0" / "0").read_bytes()
    for k in range(3):
        array[0, 0] = 1000 + k
        changed = (tmp_path / "a" / "c" / "0" / "0").read_bytes()
        for content, expected in [(stored, 0), (changed, 1000 + k)]:
            temporary = tmp_path / "new"
            temporary.write_bytes(content)  # behind the back of this process's zarrcore
            os.replace(temporary, tmp_path / "a" / "c" / "0" / "0")
            end = time.monotonic() + 60
            while read(api, handle, (0, 0), (1, 1)) != expected:
                assert time.monotonic() < end
    api.release(handle)


def test_threads_that_read_write_and_set_the_cache(capi: Any, tmp_path: Path) -> None:
    array = make(tmp_path, **LAYOUTS["gzip"])
    handle = capi.from_python(id(array))
    faults: list[object] = []
    stop = threading.Event()

    def check(column: int) -> None:
        """Values of a column only ever grow."""
        last = 0.0
        try:
            for k in range(400):
                if column < 2:
                    value = float(read(capi, handle, (5, column), (1, 1))[0, 0])
                    assert value >= last, (value, last)
                    last = value
                elif column == 2:
                    assert capi.region(handle, np.full((1, 2), 1000 + k, "f4"), (5, 0), write=True) == 0
                elif not stop.is_set():
                    assert capi.set_cache(handle, (0, 100, 1 << 20)[k % 3]) == 0
        except BaseException as error:
            faults.append(error)
        finally:
            stop.set()

    threads = [threading.Thread(target=check, args=(column,)) for column in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not faults
    capi.release(handle)


# --- several threads --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Met(codecs.BytesBytesCodec):
    """Keeps the thread that decodes the first chunk waiting."""

    name: ClassVar[str] = "test_capi.met"
    order: ClassVar[list[int]] = []
    wait: ClassVar[Any] = None

    def encode(self, data: Any, spec: Any = None) -> bytes:
        return bytes(data)

    def decode(self, data: Any, spec: Any = None, max_size: int | None = None) -> bytes:
        chunk = int(np.frombuffer(data, "f4")[0])
        Met.order.append(chunk)
        if chunk == 0 and Met.order.count(0) == 1:
            assert Met.wait()
        return bytes(data)


def read_a_row_twice(capi: Any, path: Path, wait: Any) -> list[int]:
    """Two threads read a row of three chunks: the chunks in the order in which they were decoded."""
    zarrcore.registry.register_codec(Met.name, Met)
    Met.wait = staticmethod(lambda: True)
    array = make(LocalStore(path), compressors=Met())
    handle, rows = capi.from_python(id(array)), []
    assert capi.set_cache(handle, 1 << 20) == 0
    Met.order, Met.wait = [], staticmethod(wait)
    first = threading.Thread(target=lambda: rows.append(read(capi, handle, (0, 0), (1, 30))))
    first.start()
    while not Met.order:
        time.sleep(0.001)
    rows.append(read(capi, handle, (0, 0), (1, 30)))
    Met.order.append(-1)
    first.join()
    for row in rows:
        np.testing.assert_array_equal(row, numbers()[:1])
    capi.release(handle)
    return Met.order


def test_a_chunk_that_another_thread_decodes_comes_last(capi: Any, tmp_path: Path) -> None:
    def wait() -> bool:
        end = time.monotonic() + 60
        while len(Met.order) < 3 and time.monotonic() < end:
            time.sleep(0.001)
        return len(Met.order) >= 3

    assert read_a_row_twice(capi, tmp_path, wait)[:3] == [0, 10, 20]


def test_a_thread_that_does_not_end_keeps_no_other_waiting(capi: Any, tmp_path: Path) -> None:
    def wait() -> bool:
        end = time.monotonic() + 60
        while -1 not in Met.order and time.monotonic() < end:
            time.sleep(0.001)
        return -1 in Met.order

    assert read_a_row_twice(capi, tmp_path, wait)[:5] == [0, 10, 20, 0, -1]


# --- arguments --------------------------------------------------------------------------------------


def test_arguments(api: Any, tmp_path: Path) -> None:
    make(tmp_path)
    handle = api.handle(tmp_path)
    assert api.set_cache(None, 5) == BAD_ARGUMENT
    for nbytes in (-1, -(2**63)):
        assert api.set_cache(handle, nbytes) == BAD_ARGUMENT
    for nbytes in (2**63 - 1, 0, 1, 2**40):
        assert api.set_cache(handle, nbytes) == 0
        np.testing.assert_array_equal(read(api, handle, (1, 1), (2, 2)), numbers()[1:3, 1:3])
    api.release(handle)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_fork_reads_on(capi: Any, tmp_path: Path) -> None:
    array = make(tmp_path, **LAYOUTS["gzip"])
    handle = capi.from_python(id(array))
    assert capi.set_cache(handle, 1 << 20) == 0
    read(capi, handle, (1, 1), (1, 2))
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(read(capi, handle, (1, 1), (1, 2)).tolist() != numbers()[1:2, 1:3].tolist()))
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    capi.release(handle)
