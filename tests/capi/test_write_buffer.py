# SPDX-License-Identifier: MIT
"""zarrcore_set_write_buffer: each chunk is encoded once, reads see what was given, failures are reported."""

from __future__ import annotations

import ctypes
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore import codecs
from zarrcore.storage import LocalStore, LoggingStore, MemoryStore

pytestmark = [pytest.mark.timeout(600), pytest.mark.threads]  # the first test builds the library

SHAPE, CHUNKS = (23, 30), (8, 10)
STALE, BAD_ARGUMENT, CALLBACK, MISSING = -17, -2, -12, -8
READ_WRITE, MISSING_IS_ERROR = 1, 4


@dataclass(frozen=True)
class Encoded(codecs.BytesBytesCodec):
    """Changes nothing, and counts the chunks that are encoded."""

    name: ClassVar[str] = "test_capi.encoded"
    encoded: ClassVar[int] = 0

    def encode(self, data: Any, spec: Any = None) -> bytes:
        Encoded.encoded += 1
        return bytes(data)

    def decode(self, data: Any, spec: Any = None, max_size: int | None = None) -> bytes:
        return bytes(data)


@pytest.fixture
def counted() -> Any:
    zarrcore.registry.register_codec(Encoded.name, Encoded)
    Encoded.encoded = 0
    yield Encoded


def numbers() -> np.ndarray:
    return np.arange(1, 1 + np.prod(SHAPE), dtype="f4").reshape(SHAPE)


def make(store: Any, **options: Any) -> zarrcore.Array:
    return zarrcore.create_array(store, shape=SHAPE, **{"chunks": CHUNKS, "dtype": "f4"} | options)


def write_rows(api: Any, handle: int, values: np.ndarray) -> None:
    for i in range(len(values)):
        assert api.region(handle, values[i : i + 1], (i, 0), write=True) == 0


def read(api: Any, handle: int, shape: tuple[int, ...] = SHAPE, dtype: str = "f4") -> np.ndarray:
    out = np.zeros(shape, dtype)
    assert api.region(handle, out) == 0
    return out


LAYOUTS: dict[str, dict[str, Any]] = {
    "gzip": {"compressors": codecs.GzipCodec(level=1)},
    "raw": {"compressors": None},
    "blosc": {"compressors": codecs.BloscCodec(cname="lz4")},
    "transposed": {"filters": codecs.TransposeCodec(order=(1, 0))},
    "big": {"serializer": codecs.BytesCodec(endian="big")},
    "sharded": {"shards": (16, 30)},
    "transposed shards": {"shards": (16, 30), "filters": codecs.TransposeCodec(order=(1, 0))},
    "rectilinear": {"chunks": [[8, 5, 10], [10, 10, 10]]},
    "v2-F": {"zarr_format": 2, "order": "F"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nbytes", [1, 2200, 10_000, 2**63 - 1])
def test_any_sequence_of_reads_and_writes_is_what_numpy_has(
    api: Any, tmp_path: Path, layout: str, nbytes: int
) -> None:
    make(tmp_path, **LAYOUTS[layout])
    handle, rng = api.handle(tmp_path), np.random.default_rng(len(layout))
    expected = np.zeros(SHAPE, "f4")
    assert api.set_write_buffer(handle, nbytes, None) == 0
    for k in range(120):
        start = [int(rng.integers(n)) for n in SHAPE]
        step = [int(rng.choice([1, 1, 1, 2, 9, -1, -3])) for _ in SHAPE]
        most = [
            (n - 1 - s) // t + 1 if t > 0 else s // -t + 1 for n, s, t in zip(SHAPE, start, step, strict=True)
        ]
        count = tuple(int(rng.integers(1, m + 1)) for m in most)
        if k % 10 == 0:
            start, step, count = [0, 0], [1, 1], (int(rng.integers(1, 24)), 30)
        rows, columns = (s + t * np.arange(n) for s, t, n in zip(start, step, count, strict=True))
        if rng.random() < 0.6:
            values = (rng.integers(0, 3, count) * (k + 1)).astype("f4")
            given = np.asfortranarray(values) if k % 2 else values
            assert api.region(handle, given, start, step, write=True) == 0
            expected[np.ix_(rows, columns)] = values
        else:
            out = np.full(count, -1, "f4")
            assert api.region(handle, out, start, step) == 0
            np.testing.assert_array_equal(out, expected[np.ix_(rows, columns)])
        if k % 40 == 39:
            assert api.flush(handle, None) == 0
            np.testing.assert_array_equal(zarrcore.open_array(tmp_path)[...], expected)
    np.testing.assert_array_equal(read(api, handle), expected)
    assert api.close(handle, None) == 0
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path)[...], expected)


@pytest.mark.parametrize(("options", "n"), [({}, 9), ({"shards": (16, 30)}, 2)], ids=["chunks", "shards"])
def test_each_chunk_is_encoded_once(capi: Any, counted: Any, options: Any, n: int) -> None:
    array = make(MemoryStore(), compressors=counted(), **options)
    handle = capi.from_python(id(array))
    assert capi.set_write_buffer(handle, 1 << 20, None) == 0
    Encoded.encoded = 0
    write_rows(capi, handle, numbers())
    assert Encoded.encoded == 9, "all chunks were given as a whole: nothing waits for the flush"
    assert len(list(array.store.list_prefix("c/"))) == n
    np.testing.assert_array_equal(array[...], numbers())
    assert capi.close(handle, None) == 0
    assert Encoded.encoded == 9


def test_parts_stay_in_memory_until_they_are_flushed(api: Any, tmp_path: Path) -> None:
    array = make(tmp_path)
    handle = api.handle(tmp_path)
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    assert api.region(handle, numbers()[:5], (0, 0), write=True) == 0
    assert not (tmp_path / "c").exists()
    assert not array[...].any()
    assert read(api, handle)[:5].tolist() == numbers()[:5].tolist()
    assert api.flush(handle, None) == 0
    np.testing.assert_array_equal(array[:5], numbers()[:5])
    assert not array[5:].any()
    array[0, 0] = -7  # what is stored is no longer the buffer's
    assert read(api, handle)[0, 0] == -7
    assert api.region(handle, numbers()[:5], (0, 0), write=True) == 0
    assert api.set_write_buffer(handle, 0, None) == 0, "which flushes"
    assert array[0, 0] == 1
    assert api.region(handle, numbers()[5:6], (5, 0), write=True) == 0
    assert array[5, 0] == numbers()[5, 0]
    api.release(handle)


def test_elements_that_others_write_meanwhile_stay(api: Any, tmp_path: Path) -> None:
    """A flush of a part of a chunk patches what is stored then."""
    array = make(tmp_path, **LAYOUTS["gzip"])
    handle = api.handle(tmp_path)
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    assert api.region(handle, numbers()[1:2], (1, 0), write=True) == 0
    array[...] = -1
    assert api.flush(handle, None) == 0
    expected = np.full(SHAPE, -1, "f4")
    expected[1] = numbers()[1]
    np.testing.assert_array_equal(array[...], expected)
    api.release(handle)


def test_chunks_that_a_step_leads_across_take_no_time(api: Any, tmp_path: Path) -> None:
    length = 1 << 62
    array = zarrcore.create_array(tmp_path, shape=(length, 6), chunks=(1 << 10, 2), dtype="i4")
    handle, values = api.handle(tmp_path), np.arange(1, 9, dtype="i4").reshape(4, 2)
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    start, step = (5, 0), ((length - 6) // 3, 5)
    assert api.region(handle, values, start, step, write=True) == 0
    out = np.zeros_like(values)
    assert api.region(handle, out, start, step) == 0
    assert api.close(handle, None) == 0
    for k, row in enumerate(values):
        assert out[k].tolist() == array[5 + k * step[0], ::5].tolist() == row.tolist()


@pytest.mark.parametrize("flags", [0, 1])
def test_chunks_of_the_fill_value_are_stored_as_the_flags_say(api: Any, tmp_path: Path, flags: int) -> None:
    make(tmp_path)
    handle, row = api.handle(tmp_path), np.zeros((1, 30), "f4")
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    for i in range(8):
        start, count = (np.array(pair, "i8") for pair in ((i, 0), row.shape))
        ints = [pair.ctypes.data_as(api.write.argtypes[1]) for pair in (start, count)]
        assert api.write(handle, ints[0], None, ints[1], row.ctypes.data, None, 0, flags, None) == 0
    assert api.close(handle, None) == 0
    assert (tmp_path / "c").exists() == bool(flags)


def test_what_was_given_is_not_missing(api: Any, error_of: Any, tmp_path: Path) -> None:
    make(tmp_path, fill_value=-1)
    handle, error = ctypes.c_void_p(), error_of()
    assert api.open(os.fsencode(tmp_path), READ_WRITE | MISSING_IS_ERROR, ctypes.byref(handle), None) == 0
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    assert api.region(handle, np.full((2, 10), 5, "f4"), (0, 0), write=True) == 0
    out = np.zeros((3, 10), "f4")
    assert api.region(handle, out, (0, 0), error=error) == 0
    assert out[:, 0].tolist() == [5, 5, -1]
    assert api.region(handle, out, (0, 5), error=error) == MISSING
    assert error.place == (0, 1), "nothing was given of that chunk"
    assert api.close(handle, None) == 0


@pytest.mark.parametrize("end", ["release", "close"])
def test_the_last_owner_stores_what_is_pending(api: Any, tmp_path: Path, end: str) -> None:
    array = make(tmp_path)
    handle = api.handle(tmp_path)
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    api.retain(handle)
    assert api.region(handle, numbers()[:5], (0, 0), write=True) == 0
    api.release(handle)
    assert not array[...].any()
    assert (api.close(handle, None) if end == "close" else api.release(handle)) in (0, None)
    np.testing.assert_array_equal(array[:5], numbers()[:5])


# --- failures ---------------------------------------------------------------------------------------


class Full(MemoryStore):
    """Refuses to store some keys."""

    refused: tuple[str, ...] = ()

    def _native_source(self) -> None:
        return None

    def set(self, key: str, value: Any) -> None:
        if key.endswith(self.refused):
            raise OSError(28, f"no space left for {key}")
        super().set(key, value)


def test_what_cannot_be_stored_is_reported_and_stays(capi: Any, error_of: Any) -> None:
    store, error = Full(), error_of()
    array = make(store)
    handle = capi.from_python(id(array))
    assert capi.set_write_buffer(handle, 1 << 20, None) == 0
    assert capi.region(handle, numbers()[:5], (0, 0), write=True) == 0
    store.refused = ("c/0/1",)
    for _ in range(2):
        assert capi.flush(handle, error) == CALLBACK
        assert (error.place, error.key) == ((0, 1), b"c/0/1")
        assert b"no space left for c/0/1" in error.message
        assert array[0].tolist() == [*range(1, 11), *[0] * 10, *range(21, 31)], "all others are stored"
        assert read(capi, handle)[0].tolist() == [*range(1, 31)]
    assert capi.set_write_buffer(handle, 0, error) == CALLBACK
    store.refused = ()
    assert capi.flush(handle, error) == 0
    np.testing.assert_array_equal(array[:5], numbers()[:5])
    capi.release(handle)


def test_a_write_that_has_to_make_room_reports_why_it_cannot(capi: Any, error_of: Any) -> None:
    store, error = Full(), error_of()
    array = make(store)
    handle = capi.from_python(id(array))
    assert capi.set_write_buffer(handle, 2300, None) == 0  # one chunk
    store.refused = ("c/0/0",)
    one = np.ones((1, 1), "f4")
    outcomes = [capi.region(handle, one, (0, 10 * k), write=True, error=error) for k in range(3)]
    assert CALLBACK in outcomes
    assert error.place == (0, 0)
    store.refused = ()
    assert capi.close(handle, error) == 0
    assert array[0, 0] == 1


def test_close_reports_what_is_lost_and_release_prints_it(
    capi: Any, error_of: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    for end in ("close", "release"):
        store, error = Full(), error_of()
        array = make(store)
        handle = capi.from_python(id(array))
        assert capi.set_write_buffer(handle, 1 << 20, None) == 0
        assert capi.region(handle, numbers()[:5], (0, 0), write=True) == 0
        store.refused = ("c/0/1",)
        if end == "close":
            assert capi.close(handle, error) == CALLBACK
            assert error.place == (0, 1)
            assert capfd.readouterr().err == ""
        else:
            capi.release(handle)
            assert "c/0/1" in capfd.readouterr().err
        assert array[0, 25] == 26


def test_an_array_that_became_smaller_takes_nothing_more(capi: Any, tmp_path: Path, error_of: Any) -> None:
    array, error = make(tmp_path), error_of()
    handle = capi.from_python(id(array))
    assert capi.set_write_buffer(handle, 1 << 20, None) == 0
    assert capi.region(handle, numbers()[:5], (0, 0), write=True) == 0
    zarrcore.open_array(tmp_path).resize((2, 2))
    assert capi.flush(handle, error) == STALE
    assert capi.close(handle, error) == STALE
    assert not zarrcore.open_array(tmp_path)[...].any()


def test_an_array_that_became_larger_keeps_what_lies_beyond(capi: Any, tmp_path: Path) -> None:
    array = make(tmp_path)
    handle = capi.from_python(id(array))
    assert capi.set_write_buffer(handle, 1 << 20, None) == 0
    write_rows(capi, handle, numbers()[:22])
    larger = zarrcore.open_array(tmp_path)
    larger.resize((24, 30))
    larger[23] = 7
    assert capi.region(handle, numbers()[22:], (22, 0), write=True) == 0
    assert capi.close(handle, None) == 0
    np.testing.assert_array_equal(larger[:23], numbers())
    assert (larger[23] == 7).all()


# --- threads, processes -----------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["memory", "local", "python"])
@pytest.mark.parametrize("nbytes", [2300, 1 << 20])
def test_threads_write_their_columns(capi: Any, tmp_path: Path, store: str, nbytes: int) -> None:
    stores = {
        "memory": MemoryStore,
        "local": lambda: LocalStore(tmp_path),
        "python": lambda: LoggingStore(MemoryStore()),
    }
    array = make(stores[store](), **LAYOUTS["gzip"])
    handle, faults = capi.from_python(id(array)), []
    assert capi.set_write_buffer(handle, nbytes, None) == 0

    def work(first: int) -> None:
        try:
            for k in range(first, SHAPE[1], 4):
                for i in range(SHAPE[0]):
                    item = numbers()[i : i + 1, k : k + 1]
                    assert capi.region(handle, item, (i, k), write=True, threads=1) == 0
                    out = np.zeros((i + 1, 1), "f4")
                    assert capi.region(handle, out, (0, k), threads=1) == 0
                    assert out.tolist() == numbers()[: i + 1, k : k + 1].tolist()
                if k % 3 == 0:
                    assert capi.flush(handle, None) == 0
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not faults
    assert capi.close(handle, None) == 0
    np.testing.assert_array_equal(array[...], numbers())


class Slow(Full):
    """Waits before it stores one key."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()

    def set(self, key: str, value: Any) -> None:
        if key == "c/2/0":
            self.begun.set()
            assert self.go_on.wait(60)
        super().set(key, value)


@pytest.mark.parametrize("nbytes", [0, 1])
def test_what_is_given_while_the_limit_is_lowered_overtakes_nothing_later(capi: Any, nbytes: int) -> None:
    store = Slow()
    array = make(store)
    handle, statuses = capi.from_python(id(array)), []
    assert capi.set_write_buffer(handle, 1 << 20, None) == 0
    assert capi.region(handle, numbers()[20:21], (20, 0), write=True) == 0
    thread = threading.Thread(target=lambda: statuses.append(capi.set_write_buffer(handle, nbytes, None)))
    thread.start()
    assert store.begun.wait(60)
    assert capi.region(handle, np.full((1, 30), 5, "f4"), (0, 0), write=True) == 0  # with the limit before
    store.go_on.set()
    thread.join(60)
    assert statuses == [0]
    assert capi.region(handle, np.full((1, 30), 6, "f4"), (0, 0), write=True) == 0
    assert (read(capi, handle)[0] == 6).all()
    assert capi.close(handle, None) == 0
    assert (array[0] == 6).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_fork_has_nothing_pending(capi: Any, tmp_path: Path) -> None:
    array = make(tmp_path)
    handle = capi.from_python(id(array))
    assert capi.set_write_buffer(handle, 1 << 20, None) == 0
    assert capi.region(handle, numbers()[:2], (0, 0), write=True) == 0
    child = os.fork()
    if child == 0:
        try:
            same = capi.region(handle, numbers()[4:5], (4, 0), write=True) == 0
            same = same and capi.close(handle, None) == 0
            os._exit(int(not same))
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not array[:2].any()
    assert array[4].tolist() == numbers()[4].tolist()
    assert capi.close(handle, None) == 0
    assert array[1].tolist() == numbers()[1].tolist()


# --- arguments --------------------------------------------------------------------------------------


def test_arguments(api: Any, tmp_path: Path, error_of: Any) -> None:
    make(tmp_path)
    handle, error = api.handle(tmp_path), error_of()
    for call in (api.flush, api.close):
        assert call(None, error) == BAD_ARGUMENT
        assert b"NULL" in error.message
    assert api.set_write_buffer(None, 5, error) == BAD_ARGUMENT
    for nbytes in (-1, -(2**63)):
        assert api.set_write_buffer(handle, nbytes, error) == BAD_ARGUMENT
    for nbytes in (2**63 - 1, 0, 1, 2**40):
        assert api.set_write_buffer(handle, nbytes, error) == 0
    assert api.close(handle, error) == 0
    handle = api.handle(tmp_path, writable=False)
    assert api.set_write_buffer(handle, 1 << 20, error) == 0
    assert api.region(handle, np.ones((1, 1), "f4"), (0, 0), write=True) == BAD_ARGUMENT
    assert api.close(handle, None) == 0


def test_an_array_without_dimensions(api: Any, tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=(), dtype="i8")
    handle = api.handle(tmp_path)
    assert api.set_write_buffer(handle, 1 << 20, None) == 0
    assert api.region(handle, np.array(7), (), write=True) == 0
    assert read(api, handle, (), "i8") == 7
    assert api.close(handle, None) == 0
    assert array[()] == 7
