# SPDX-License-Identifier: MIT
"""Handles of Python arrays: stores of all kinds, what they keep alive, the GIL, exceptions, interrupts."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkDecodeError, ChunkIOError
from zarrcore.storage import MemoryStore

VALUES = np.arange(600.0).reshape(30, 20)


class WrappedStore(MemoryStore):
    """A store without a native source: every call of it runs Python code."""

    failure: BaseException | None = None

    def _native_source(self) -> None:
        return None

    def get(self, key: str, byte_range: Any = None) -> Any:
        if self.failure is not None and key.startswith("c/"):
            raise self.failure
        return super().get(key, byte_range)

    def get_many(self, keys: Any) -> list[Any]:
        return [self.get(key) for key in keys]

    def set(self, key: str, value: Any) -> None:
        if self.failure is not None and key.startswith("c/"):
            raise self.failure
        super().set(key, value)


@pytest.fixture(params=["local", "memory", "python"])
def array(request: pytest.FixtureRequest, tmp_path: Path) -> zarrcore.Array:
    stores = {"local": lambda: tmp_path, "memory": MemoryStore, "python": WrappedStore}
    made = zarrcore.create_array(
        store=stores[request.param](), shape=(30, 20), chunks=(2, 5), shards=(4, 10), dtype="f8"
    )
    made[...] = VALUES
    return made


@pytest.fixture
def handle(capi: Any, array: zarrcore.Array) -> Iterator[int]:
    made = capi.from_python(id(array))
    yield made
    capi.release(made)


def test_every_store_is_read_and_written(capi: Any, array: zarrcore.Array, handle: int) -> None:
    out = np.zeros((30, 20))
    assert capi.region(handle, out, threads=3) == 0
    np.testing.assert_array_equal(out, VALUES)
    assert capi.region(handle, -VALUES[5:9], (5, 0), write=True, threads=3) == 0
    np.testing.assert_array_equal(array[5:9], -VALUES[5:9])
    np.testing.assert_array_equal(array[9:], VALUES[9:])


def test_every_store_gives_the_bytes_of_shards(
    capi: Any, array: zarrcore.Array, handle: int, extent_of: Any
) -> None:
    shard, extent, nbytes = (ctypes.c_int64 * 2)(7, 1), extent_of(), ctypes.c_size_t()
    assert capi.find_inner_chunk(handle, shard, (ctypes.c_int64 * 2)(0, 1), ctypes.byref(extent), None) == 0
    data = ctypes.create_string_buffer(extent.nbytes)
    at = (handle, shard, extent.offset, data, extent.nbytes, ctypes.byref(nbytes))
    assert capi.load_chunk(*at, None) == 0
    assert nbytes.value == len(bytes(array.store.get("c/7/1")))
    out = np.zeros((2, 5))
    assert capi.decode_inner_chunk(handle, data, extent.nbytes, out.ctypes.data, out.nbytes, None) == 0
    np.testing.assert_array_equal(out, VALUES[28:30, 15:20])


def test_a_caller_may_hold_the_gil(capi: Any, array: zarrcore.Array, handle: int) -> None:
    """Threads of the call need it, so it is let go; otherwise this would wait for ever."""
    held = ctypes.PYFUNCTYPE(capi.write.restype, *capi.write.argtypes)(
        ctypes.cast(capi.write, ctypes.c_void_p).value
    )
    values = np.ones((30, 20))
    assert held(handle, None, None, None, values.ctypes.data, None, 4, 0, None) == 0
    np.testing.assert_array_equal(array[...], values)


def test_threads_that_python_does_not_know(capi: Any, handle: int) -> None:
    """The pool of C calls the store; so do many callers at once."""
    faults: list[int] = []

    def work() -> None:
        out = np.zeros((30, 20))
        for _ in range(10):
            status = capi.region(handle, out, threads=2)
            faults.extend([status] * (status != 0 or not np.array_equal(out, VALUES)))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert faults == []


def test_a_handle_keeps_the_store_alive(capi: Any) -> None:
    store = WrappedStore()
    array = zarrcore.create_array(store=store, shape=(4,), dtype="f8", fill_value=2)
    handle = capi.from_python(id(array))
    alive = weakref.ref(store)
    del array, store
    gc.collect()
    assert alive() is not None
    out = np.zeros(4)
    capi.retain(handle)
    capi.release(handle)
    assert capi.region(handle, out) == 0
    assert out.tolist() == [2] * 4
    capi.release(handle)
    gc.collect()
    assert alive() is None


def test_exceptions_of_a_store(capi: Any, error_of: Any) -> None:
    store = WrappedStore()
    array = zarrcore.create_array(store=store, shape=(4,), chunks=(2,), dtype="f8", compressors=None)
    array[...] = 1
    handle, error, out = capi.from_python(id(array)), error_of(), np.full(4, 5.0)
    store.failure = RuntimeError("the disk is on fire")
    for write in (False, True):
        assert capi.region(handle, out[:3], write=write, error=error) == -12
        assert error.message == b"RuntimeError: the disk is on fire"
    store.failure = None
    assert capi.region(handle, out, error=error) == 0
    assert out.tolist() == [1] * 4
    capi.release(handle)


def test_failures_become_exceptions_with_their_cause(capi: Any, error_of: Any) -> None:
    store = WrappedStore()
    array = zarrcore.create_array(store=store, shape=(4,), chunks=(2,), dtype="f8", compressors=None)
    array[...] = 1
    handle, error, out = capi.from_python(id(array)), error_of(), np.zeros(4)
    raise_error = getattr(capi, "raise")
    for write in (False, True):
        store.failure = RuntimeError("the disk is on fire")
        assert capi.region(handle, out[:3], write=write, error=error) == -12
        with pytest.raises(ChunkIOError, match="RuntimeError: the disk is on fire") as caught:
            raise_error(error)
        assert caught.value.__cause__ is store.failure
        with pytest.raises(ChunkIOError) as caught:  # once
            raise_error(error)
        assert caught.value.__cause__ is None
    store.failure = None
    store.set("c/1", b"damaged")
    assert capi.region(handle, out, error=error) != 0
    with pytest.raises(ChunkDecodeError, match=r"chunk \(1,\), key 'c/1'.*") as caught:
        raise_error(error)
    assert caught.value.chunk == (1,)
    assert capi.region(handle, np.zeros(5), error=error) == -2
    with pytest.raises(ValueError, match="leave the array's 4"):
        raise_error(error)
    with pytest.raises(ValueError, match="NULL"):
        raise_error(None)
    capi.release(handle)


@pytest.mark.skipif(sys.platform == "win32", reason="needs setitimer")
def test_an_interrupt_is_raised_as_it_is_and_once(capi: Any, error_of: Any, tmp_path: Path) -> None:
    """An extension that raises by zarrcore_raise shows the exception of the signal handler."""
    array = zarrcore.create_array(store=tmp_path, shape=(2**40,), chunks=(64,), dtype="u1")
    handle, error, memory = capi.from_python(id(array)), error_of(), np.zeros(1, "u1")
    count, strides = (ctypes.c_int64 * 1)(2**40), (ctypes.c_int64 * 1)(0)
    # As in an extension: no Python code runs between the call and zarrcore_raise.
    read = ctypes.cast(capi.read, ctypes.c_void_p).value
    held = ctypes.PYFUNCTYPE(capi.read.restype, *capi.read.argtypes)(read)
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("late")))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    seen: list[BaseException] = []
    try:
        for call in (
            lambda: held(handle, None, None, count, memory.ctypes.data, strides, 1, error),
            lambda: getattr(capi, "raise")(error),
            lambda: time.sleep(0.01),
        ):
            try:
                call()
            except BaseException as failure:
                seen.append(failure)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert error.status == -11
    assert [str(failure) for failure in seen if isinstance(failure, TimeoutError)] == ["late"]
    capi.release(handle)


def test_what_has_no_native_form(capi: Any) -> None:
    strings = zarrcore.create_array(store={}, shape=(4,), dtype=str)
    for wrong in (strings, VALUES, None, "x"):
        with pytest.raises(TypeError, match="C API|expected a zarrcore.Array"):
            capi.from_python(id(wrong))
    with pytest.raises(TypeError, match="NULL"):
        capi.from_python(None)


def test_grids_of_unequal_chunks(capi: Any) -> None:
    array = zarrcore.create_array(store={}, shape=(10,), chunks=[[2, 5, 3]], dtype="i4")
    array[...] = np.arange(10)
    handle = capi.from_python(id(array))
    start, shape, out = (ctypes.c_int64 * 1)(), (ctypes.c_int64 * 1)(), np.zeros(10, "i4")
    assert capi.chunk_shape(handle, shape) == -9
    assert capi.grid_shape(handle, shape) == 0
    assert shape[0] == 3
    assert capi.chunk_box(handle, (ctypes.c_int64 * 1)(1), start, shape) == 0
    assert (start[0], shape[0]) == (2, 5)
    assert capi.region(handle, out) == 0
    assert out.tolist() == list(range(10))
    capi.release(handle)


@pytest.mark.skipif(sys.platform == "win32", reason="needs setitimer")
@pytest.mark.parametrize("exception", [KeyboardInterrupt, TimeoutError])
def test_signals_end_a_call(capi: Any, exception: type[BaseException], tmp_path: Path) -> None:
    """The call returns ZARRCORE_ERR_CANCELLED, and the exception of the handler follows in Python."""
    array = zarrcore.create_array(store=tmp_path, shape=(2**40,), chunks=(64,), dtype="u1")
    handle = capi.from_python(id(array))
    memory = np.zeros(1, "u1")
    statuses: list[int] = []

    def on_alarm(*_: Any) -> None:
        raise exception

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    began = time.process_time()
    try:
        with pytest.raises(exception):
            # All elements go to one byte, so that the call would take hours and need no memory.
            count, strides = (ctypes.c_int64 * 1)(2**40), (ctypes.c_int64 * 1)(0)
            statuses.append(capi.read(handle, None, None, count, memory.ctypes.data, strides, 1, None))
            time.sleep(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - began < 5
    assert statuses in ([-11], [])
    capi.release(handle)


@pytest.mark.skipif(sys.platform == "win32", reason="needs setitimer")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("exception", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("store", [MemoryStore, WrappedStore])
def test_a_signal_ends_a_read_of_very_many_chunks(
    capi: Any, store: Any, exception: type[BaseException]
) -> None:
    """Also where the handler interrupts Python code of the store, which has not failed then."""
    array = zarrcore.create_array(store(), shape=(1 << 34,), chunks=(1,), dtype="u1")
    handle, memory = capi.from_python(id(array)), np.zeros(1, "u1")
    statuses: list[int] = []

    def on_alarm(*_: Any) -> None:
        raise exception

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(exception):
            count, strides = (ctypes.c_int64 * 1)(1 << 34), (ctypes.c_int64 * 1)(0)
            statuses.append(capi.read(handle, None, None, count, memory.ctypes.data, strides, 1, None))
            time.sleep(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert statuses in ([-11], [])
    capi.release(handle)


@pytest.mark.skipif(sys.platform == "win32", reason="needs setitimer")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("many", [False, True])
def test_what_a_signal_handler_raises_while_a_store_runs_is_raised_by_python(many: bool) -> None:
    array = zarrcore.create_array(WrappedStore(), shape=(1 << 22,), chunks=(1,), dtype="u1")

    def on_alarm(*_: Any) -> None:
        raise TimeoutError("alarm")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError, match="^alarm$"):
            zarrcore.read_many([(array, ...), (array, slice(0, 5))]) if many else array[...]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
