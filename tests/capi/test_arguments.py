# SPDX-License-Identifier: MIT
"""NULL for each pointer of each function, records of any size, long texts, stores that are gone."""

from __future__ import annotations

import ctypes
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import TYPE_NAMES, LibraryError
from capi_regions import Region

import zarrcore
from zarrcore.storage import MemoryStore, ZipStore

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ARGUMENT, OVERFLOW = -2, -10
SHAPE = (12, 10)

MAY_BE_NULL = {
    "release": {"array"},
    "retain": {"array"},
    "chunk_box": {"start", "shape"},
    "read": {"start", "step", "count", "strides", "error"},
    "write": {"start", "step", "count", "strides", "error"},
    "chunk_key": {"needed"},
    "chunk_sizes": {"decoded", "encoded_bound", "error"},
    "load_chunk": {"nbytes", "error"},
    "decode_chunk": {"error"},
    "encode_chunk": {"error"},
    "decode_inner_chunk": {"error"},
    "read_as": {"start", "step", "count", "strides", "error"},
    "write_as": {"start", "step", "count", "strides", "error"},
    "set_write_buffer": {"error"},
    "flush": {"error"},
    "read_points": {"error"},
    "read_many": {"failed", "error"},
    "close": {"error"},
    "shard_index": {"error"},
    "find_inner_chunk": {"error"},
}
WITHOUT_POINTERS = {"version", "status_name", "get_num_threads", "set_num_threads", "shutdown", "open"}


QUESTIONS = {"is_sharded", "is_writable"}  # whose answer is no for NULL
UNCHECKED = {"from_python", "raise", "typestr", "path", "release", "retain", "dimension_name"}


def pair(first: int, second: int) -> Any:
    return (ctypes.c_int64 * 2)(first, second)


class Sharded:
    """An array of two shards, a handle of it, and arguments with which every function succeeds."""

    def __init__(self, api: Any, path: Path, error_of: Any, extent_of: Any) -> None:
        array = zarrcore.create_array(
            store=path, shape=SHAPE, chunks=(3, 5), shards=(6, 10), dtype="f8", compressors=None
        )
        array[...] = np.arange(120.0).reshape(SHAPE)
        self.api, self.handle, self.error = api, api.handle(path), error_of()
        self.memory = np.zeros(SHAPE)
        self.shard = np.zeros((6, 10))
        self.encoded = (path / "c" / "0" / "0").read_bytes()
        self.extents = (extent_of * 4)()
        self.text = ctypes.create_string_buffer(256)
        self.room = ctypes.create_string_buffer(4096)
        self.size, self.other_size = ctypes.c_size_t(), ctypes.c_size_t()

    def arguments(self, function: str) -> dict[str, Any]:
        """By name, in order."""
        region = {
            "start": pair(0, 0),
            "step": pair(1, 1),
            "count": pair(*SHAPE),
            "memory": self.memory.ctypes.data,
            "strides": pair(80, 8),
            "threads": 1,
        }
        nbytes = {"nbytes": self.memory.nbytes}
        where, memory = list(region.items())[:3], list(region.items())[3:]
        typed = {"type": b"f8", "ndim": 2} | dict(where) | dict(memory[:1]) | nbytes | dict(memory[1:])
        chunk = {"chunk": pair(0, 0)}
        encoded = {"data": self.encoded, "nbytes": len(self.encoded)}
        elements = {"out": self.shard.ctypes.data, "out_nbytes": self.shard.nbytes}
        inner = {"out": self.shard.ctypes.data, "out_nbytes": 3 * 5 * 8}
        extents = ctypes.cast(self.extents, self.api.shard_index.argtypes[2])
        found: dict[str, dict[str, Any]] = {
            "fill_value": {"out": self.room, "capacity": 8},
            "chunk_box": chunk | {"start": pair(0, 0), "shape": pair(0, 0)},
            "read": region | {"error": self.error},
            "write": region | {"flags": 0, "error": self.error},
            "read_as": typed | {"error": self.error},
            "write_as": typed | {"flags": 0, "error": self.error},
            "set_cache": {"array": self.handle, "nbytes": 1 << 20},
            "set_write_buffer": {"array": self.handle, "nbytes": 0, "error": self.error},
            "flush": {"error": self.error},
            "dimension_name": {"dimension": 0},
            "decompose": {"ranks": 2, "rank": 1, "start": pair(0, 0), "count": pair(0, 0)},
            "chunk_lengths": {"dimension": 0, "out": pair(0, 0), "n": 2},
            "read_points": {"type": b"f8", "ndim": 2, "n": 1, "points": pair(3, 4)}
            | {"memory": self.memory.ctypes.data, "nbytes": 8, "threads": 1, "error": self.error},
            "close": {"error": self.error},
            "chunk_key": chunk | {"out": self.text.raw, "capacity": 255, "needed": ctypes.byref(self.size)},
            "chunk_sizes": chunk
            | {"decoded": ctypes.byref(self.size), "encoded_bound": ctypes.byref(self.other_size)}
            | {"error": self.error},
            "load_chunk": chunk
            | {"offset": 0, "out": self.room, "capacity": 4096}
            | {"nbytes": ctypes.byref(self.size), "error": self.error},
            "decode_chunk": chunk | encoded | elements | {"error": self.error},
            "encode_chunk": chunk
            | {"elements": self.shard.ctypes.data, "elements_nbytes": self.shard.nbytes}
            | {"out": self.room, "capacity": 4096, "nbytes": ctypes.byref(self.size), "error": self.error},
            "decode_inner_chunk": {"data": self.encoded, "nbytes": 3 * 5 * 8} | inner | {"error": self.error},
            "shard_index": chunk | {"out": extents, "n": 4, "error": self.error},
            "find_inner_chunk": chunk | {"inner": pair(0, 0), "out": extents, "error": self.error},
        }
        one_out = {"shape", "chunk_shape", "inner_chunk_shape", "grid_shape"}
        rest = {"out": pair(0, 0)} if function in one_out else found.get(function, {})
        if function == "read_many":
            region = Region(self.handle, b"f8", 2, memory=self.memory.ctypes.data, nbytes=self.memory.nbytes)
            failed = ctypes.byref(self.size)
            return {"regions": region, "n": 1, "threads": 1, "failed": failed, "error": self.error}
        return {"array": self.handle} | rest


@pytest.fixture
def sharded(
    api: Any, tmp_path: Path, error_of: Any, extent_of: Any, request: pytest.FixtureRequest
) -> Sharded:
    made = Sharded(api, tmp_path, error_of, extent_of)
    request.addfinalizer(lambda: api.release(made.handle))
    return made


def test_null_for_each_pointer_of_each_function(sharded: Sharded) -> None:
    api = sharded.api
    tried = 0
    for function, names in api.arguments.items():
        if function in WITHOUT_POINTERS | {"from_python", "raise"}:
            continue
        good = sharded.arguments(function)
        assert list(good) == names, function
        call = getattr(api, function)
        if function == "close":  # for each call of it one owner
            api.retain(sharded.handle)
            api.retain(sharded.handle)
        if function not in ("release", "retain"):
            outcome = call(*good.values())
            assert not isinstance(outcome, int) or outcome >= 0, function
        pointers = [
            name
            for name, kind in zip(names, call.argtypes, strict=True)
            if kind not in (ctypes.c_int, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t)
        ]
        for name in pointers:
            sharded.error.message = b""
            outcome = call(*(good | {name: None}).values())
            tried += 1
            if name in MAY_BE_NULL.get(function, ()):
                assert outcome in (0, None), (function, name)
            elif call.restype is ctypes.c_char_p:
                assert outcome is None, (function, name)
            elif function in QUESTIONS:
                assert outcome == 0, function
            else:
                assert outcome == ARGUMENT, (function, name)
                assert "error" not in names or b"NULL" in sharded.error.message, (function, name)
    assert tried > 70


def test_every_pointer_null_at_once(sharded: Sharded) -> None:
    for function, names in sharded.api.arguments.items():
        if function not in WITHOUT_POINTERS | QUESTIONS | UNCHECKED:
            call = getattr(sharded.api, function)
            nothing = [
                0 if kind in (ctypes.c_int, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t) else None
                for kind in call.argtypes
            ]
            assert call(*nothing) == ARGUMENT, (function, names)


# Sizes that say how much memory the caller has are believed; all other numbers may be anything.
BELIEVED = {"capacity", "nbytes", "out_nbytes", "elements_nbytes", "n"}
NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
ARRAYS = {"start", "step", "count", "strides", "chunk", "inner", "points"}


def hostile_values(function: str, name: str, kind: Any) -> list[Any]:
    if name == "strides":  # of which only those that lead upwards are compared with the size
        return [pair(a, b) for a in NUMBERS if a >= 0 for b in (a, 1)] if function.endswith("_as") else []
    if name in ARRAYS:
        return [pair(a, b) for a in NUMBERS for b in (a, 0, 1)]
    if kind is ctypes.c_char_p and name == "type":
        return [*TYPE_NAMES]
    if kind not in (ctypes.c_int, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t):
        return []
    if name in BELIEVED and not function.startswith("set_"):
        return [0, 1] if name == "n" else [0, 1, 7]
    return [kind(value).value for value in NUMBERS]


def test_hostile_arguments_of_each_function(sharded: Sharded) -> None:
    """Every argument in turn is what nobody would pass: a status, and the array is as it was."""
    api, error = sharded.api, sharded.error
    before, tried = np.arange(120.0).reshape(SHAPE), 0
    api.region(sharded.handle, before, write=True)
    for function, names in api.arguments.items():
        if function in WITHOUT_POINTERS | {"from_python", "raise", "release", "retain"}:
            continue
        call = getattr(api, function)
        for name, kind in zip(names, call.argtypes, strict=True):
            for value in hostile_values(function, name, kind):
                sharded.memory[...] = before
                if function == "close":
                    api.retain(sharded.handle)
                outcome = call(*(sharded.arguments(function) | {name: value}).values())
                tried += 1
                assert not isinstance(outcome, int) or outcome >= 0 or -19 <= outcome <= -1, (function, name)
                assert "error" not in names or outcome == error.status, (function, name, value)
    assert tried > 500
    assert api.set_write_buffer(sharded.handle, 0, None) == 0
    after = np.zeros(SHAPE)
    assert api.region(sharded.handle, after) == 0
    np.testing.assert_array_equal(after.ravel(), before.ravel())


@pytest.mark.parametrize("name", ["read_as", "write_as", "read", "write"])
@pytest.mark.parametrize("stride", [2**62, -(2**62), 2**63 - 1, -(2**63)])
def test_strides_of_steps_backwards_are_checked_before_they_are_followed(
    sharded: Sharded, name: str, stride: int
) -> None:
    """No pointer is moved by them, which the sanitizers of `make asan` would see."""
    arguments = sharded.arguments(name) | {
        "start": pair(1, 1),
        "step": pair(-1, -1),
        "count": pair(2, 2),
        "strides": pair(stride, stride),
    }
    assert getattr(sharded.api, name)(*arguments.values()) == OVERFLOW
    assert b"leave the address space" in sharded.error.message


def test_open_survives_null(api: Any, error_of: Any) -> None:
    handle, error = ctypes.c_void_p(1), error_of()
    assert api.open(None, 0, ctypes.byref(handle), error) == ARGUMENT
    assert handle.value is None
    assert b"NULL" in error.message
    assert api.open(b"/tmp", 0, None, error) == ARGUMENT
    assert api.open(b"", 0, ctypes.byref(handle), None) == ARGUMENT
    assert api.open(b"/tmp", 1 << 20, ctypes.byref(handle), error) == ARGUMENT


def test_unknown_statuses_have_a_name(api: Any) -> None:
    for status in (-100, -16, -20, 1, 2**31 - 1, -(2**31)):
        assert api.status_name(status) == b"unknown status"
    assert api.status_name(-8) == b"missing"
    assert api.version() == zarrcore.__version__.encode()


def test_threads_are_checked(api: Any) -> None:
    before = api.get_num_threads()
    assert api.set_num_threads(-1) == ARGUMENT
    assert api.get_num_threads() == before
    try:
        assert api.set_num_threads(3) == 0
        assert api.get_num_threads() == 3
    finally:
        assert api.set_num_threads(0) == 0


# ---- records and texts ----


def test_a_record_of_an_older_header_gets_no_more_than_it_has(sharded: Sharded, error_of: Any) -> None:
    """Members come at the end: what is behind the caller's record stays untouched."""
    error = error_of()
    size = ctypes.sizeof(error)
    room = ctypes.create_string_buffer(b"\xaa" * (size + 64), size + 64)
    ctypes.memmove(room, ctypes.byref(error), size)
    record = ctypes.cast(room, ctypes.POINTER(error_of))
    assert sharded.api.read(None, None, None, None, None, None, 0, record) == ARGUMENT
    assert record.contents.message == b"array is NULL"
    assert room.raw[size:] == b"\xaa" * 64


class FailingStore(MemoryStore):
    """Every chunk is answered with one exception."""

    failure: BaseException | None = None

    def _native_source(self) -> None:
        return None

    def get(self, key: str, byte_range: Any = None) -> Any:
        if self.failure is not None:
            raise self.failure
        return super().get(key, byte_range)

    def get_many(self, keys: Any) -> list[Any]:
        return [self.get(key) for key in keys]


@pytest.mark.parametrize("shift", range(4))
def test_long_messages_are_cut_between_characters(capi: Any, error_of: Any, shift: int) -> None:
    store = FailingStore()
    array = zarrcore.create_array(store=store, shape=(4,), dtype="f8")
    handle, error, out = capi.from_python(id(array)), error_of(), np.zeros(4)
    store.failure = RuntimeError("x" * shift + "\U0001f600" * 500)
    assert capi.region(handle, out, error=error) == -12
    text = error.message.decode()
    assert text.startswith("RuntimeError: xxx"[: 14 + shift] + "\U0001f600")
    assert 310 < len(error.message) < 320
    capi.release(handle)


@pytest.mark.parametrize("shift", range(3))
def test_long_keys_are_cut_between_characters(capi: Any, error_of: Any, shift: int) -> None:
    path = "x" * shift + "/".join(["\u4e16" * 20] * 10)
    store = MemoryStore()
    array = zarrcore.create_array(store=store, name=path, shape=(4,), dtype="f8")
    store.set(f"{path}/c/0", b"rubbish")
    handle, error, out = capi.from_python(id(array)), error_of(), np.zeros(4)
    assert capi.region(handle, out, error=error) < 0
    assert path.startswith(error.key.decode())
    assert 250 < len(error.key) < 256
    assert capi.path(handle).decode() == path
    capi.release(handle)


def test_messages_about_documents_can_be_decoded(library: Any, tmp_path: Path) -> None:
    """They quote and cut what the document says, which may be any text."""
    for shift in range(4):
        name = "x" * shift + "\u4e16" * 100
        (tmp_path / "zarr.json").write_text(f'{{"zarr_format": 3, "node_type": "{name}"}}', encoding="utf-8")
        with pytest.raises(LibraryError, match="is not supported") as caught:
            library.handle(tmp_path)
        assert "\ufffd" not in caught.value.args[1]


# ---- what a handle outlives ----


def test_the_store_is_closed(capi: Any, error_of: Any, tmp_path: Path) -> None:
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        zarrcore.create_array(store=store, shape=(8,), chunks=(2,), dtype="f8")[...] = 1
    store = ZipStore(tmp_path / "a.zip", mode="r")
    array = zarrcore.open_array(store)
    handle, error, out = capi.from_python(id(array)), error_of(), np.zeros(8)
    assert capi.region(handle, out, error=error) == 0
    assert out.tolist() == [1] * 8
    store.close()
    out[...] = 5
    status = capi.region(handle, out, error=error)
    assert (status, out.tolist()) == (0, [1] * 8) or (status < 0 and error.message)
    capi.release(handle)


def test_the_files_are_gone(api: Any, error_of: Any, tmp_path: Path) -> None:
    array = zarrcore.create_array(store=tmp_path / "a", shape=(8,), chunks=(2,), dtype="f8", fill_value=3)
    array[...] = 1
    handle, error, out = api.handle(tmp_path / "a"), error_of(), np.zeros(8)
    shutil.rmtree(tmp_path / "a")
    assert api.region(handle, out, error=error) == -7, "not the fill value"
    assert b"gone" in error.message
    assert api.load_chunk(handle, (ctypes.c_int64 * 1)(0), 0, None, 0, None, error) == -8
    api.release(handle)


def test_handles_are_made_and_dropped_by_many_threads(capi: Any) -> None:
    array = zarrcore.create_array(store={}, shape=(64,), chunks=(8,), dtype="i4")
    array[...] = np.arange(64)
    wrong: list[int] = []

    def work() -> None:
        out = np.zeros(64, "i4")
        for _ in range(50):
            handle = capi.from_python(id(array))
            status = capi.region(handle, out, threads=1)
            capi.release(handle)
            if status != 0 or out.tolist() != list(range(64)):
                wrong.append(status)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
