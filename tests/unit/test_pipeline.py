"""The engine in Python: user-defined codecs and key encodings, and failures of codecs and stores."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BytesBytesCodec
from zarrcore.codecs.filled import is_all_fill
from zarrcore.engine.python import PythonEngine
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, ChunkError, ChunkIOError, StoreError
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.registry import register_chunk_key_encoding, register_codec
from zarrcore.storage import MemoryStore


@dataclass(frozen=True)
class Xor(BytesBytesCodec):
    """Flips bits; refuses chunks that hold a poisoned byte."""

    name: ClassVar[str] = "test.xor"
    key: int = 0x55

    def _flip(self, data):
        return (np.frombuffer(data, dtype="u1") ^ self.key).tobytes()

    def encode(self, data, spec=None):
        if 0xEE in bytes(data):
            raise RuntimeError("poisoned")
        return self._flip(data)

    def decode(self, data, spec=None, max_size=None):
        return self._flip(data)


@dataclass(frozen=True)
class Backwards(ChunkKeyEncoding):
    """Coordinates from last to first: ``k3-1``."""

    name: ClassVar[str] = "test.backwards"

    def encode(self, coords):
        return "k" + "-".join(map(str, coords[::-1]))

    def decode(self, key):
        if not key.startswith("k"):
            raise ValueError(key)
        return tuple(map(int, key[1:].split("-")))[::-1]


register_codec("test.xor", Xor)
register_chunk_key_encoding("test.backwards", Backwards)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def array(store):
    return zarrcore.create_array(
        store,
        name="x",
        shape=(7, 5),
        chunks=(3, 2),
        dtype="i2",
        compressors=[Xor(key=3)],
        chunk_key_encoding={"name": "test.backwards"},
    )


def test_user_defined_parts_take_the_python_engine(array, store):
    values = np.arange(35, dtype="i2").reshape(7, 5)
    array[...] = values
    assert isinstance(array._opened._engine, PythonEngine)
    np.testing.assert_array_equal(array[...], values)
    assert array.nchunks_initialized == 9
    assert store.exists("x/k2-0")
    array[::-2, 1] = -values[::-2, 1]
    values[::-2, 1] *= -1
    np.testing.assert_array_equal(zarrcore.open_array(store, path="x", mode="r")[...], values)
    array.resize((4, 5))
    assert array.nchunks_initialized == 6


def test_the_stored_bytes_are_the_codec_s(store):
    array = zarrcore.create_array(
        store, shape=(2,), dtype="u1", compressors=[{"name": "test.xor"}], fill_value=9
    )
    array[...] = [1, 2]
    assert bytes(store.get("c/0")) == bytes([1 ^ 0x55, 2 ^ 0x55])


def test_a_codec_that_fails_is_named(array):
    with pytest.raises(ChunkEncodeError, match="poisoned") as caught:
        array[...] = -0x1112  # the bytes EE EE
    assert caught.value.codec == "test.xor"
    assert caught.value.array == "x"
    assert caught.value.chunk is not None
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_corrupt_bytes_are_named(array, store):
    array[...] = 1
    store.set("x/k1-2", b"short")
    with pytest.raises(ChunkDecodeError) as caught:
        array[6, 2]
    assert (caught.value.key, caught.value.chunk) == ("x/k1-2", (2, 1))
    assert array[0, 0] == 1


class Failing(MemoryStore):
    """Fails for one key: with an error of its own kind, as clients of remote stores do."""

    class NoConnectionError(Exception):
        pass

    def get(self, key, byte_range=None):
        if key.endswith("k0-1"):
            raise self.NoConnectionError("timed out")
        return super().get(key, byte_range)

    def get_many(self, keys):
        return [self.get(key) for key in keys]


def test_a_failing_store_is_told_from_a_missing_chunk():
    array = zarrcore.create_array(
        Failing(),
        shape=(7, 5),
        chunks=(3, 2),
        dtype="i2",
        compressors=[Xor()],
        chunk_key_encoding={"name": "test.backwards"},
    )
    for use in (lambda: array[...], lambda: array[3, 0], lambda: array.__setitem__((3, 0), 1)):
        with pytest.raises(ChunkIOError, match="timed out") as caught:
            use()
        assert caught.value.key == "k0-1"
        assert isinstance(caught.value.__cause__, Failing.NoConnectionError)
    assert array[0, 0] == 0


@pytest.mark.parametrize("key", [None, "g/a/c/1"])
def test_an_error_of_a_store_says_which_chunk_it_was(key):
    """Also where it is one of this package, and many chunks were asked for at once."""

    class Remote(MemoryStore):
        _is_near = False
        asked = 0

        def get(self, name, byte_range=None):
            self.asked += name == "g/a/c/0"
            if name == "g/a/c/1":
                raise StoreError("no", key=key)
            return super().get(name, byte_range)

        def get_many(self, keys):
            if "g/a/c/1" in keys:
                raise StoreError("no", key=key)
            return super().get_many(keys)

    store = Remote()
    array = zarrcore.create_array(store, name="g/a", shape=6, chunks=2, dtype=str)
    array[...] = "text"
    with pytest.raises(ChunkIOError, match="StoreError: no") as caught:
        array[...]
    assert (caught.value.array, caught.value.chunk, caught.value.key) == ("g/a", (1,), "g/a/c/1")
    assert store.asked == (key is None)


def test_errors_are_value_errors():
    assert issubclass(ChunkError, ValueError)
    assert issubclass(ChunkIOError, OSError)


@pytest.mark.parametrize(
    ("dtype", "fill", "other"),
    [
        ("f8", np.nan, 0.0),
        ("f8", 0.0, -0.0),
        ("i2", 5, 6),
        ("c16", 1 + 2j, 1 - 2j),
        ("S5", b"ab", b"abc"),
        ("U3", "x", "y"),
        ("M8[s]", "NaT", "2020-01-01"),
        ([("a", "i4"), ("b", "f8")], (1, 2.0), (1, 2.5)),
        (object, "a", "b"),
        (object, b"", b"\0"),
        (np.dtypes.StringDType(), "", "x"),
        (np.dtypes.StringDType(), "é" * 5000, "é" * 4999),
    ],
)
def test_all_fill(dtype, fill, other):
    value = np.empty((), dtype=dtype)
    value[()] = fill
    chunk = np.empty((3, 2), dtype=dtype)
    chunk[...] = value
    assert is_all_fill(chunk, value)
    assert is_all_fill(chunk[::2].T, value)
    assert is_all_fill(chunk[:0], value)
    chunk[2, 1] = other
    assert not is_all_fill(chunk, value)


def test_long_strings_are_not_copied_to_compare_them():
    fill = np.array("", np.dtypes.StringDType())
    chunk = np.array(["x" * 1_000_000] * 3, np.dtypes.StringDType())
    tracemalloc.start()
    try:
        assert not is_all_fill(chunk, fill)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000  # one str; as an array of fixed length it would take four times as much


@pytest.mark.parametrize(
    ("chunk", "fill", "expected"),
    [
        (np.full(3, np.nan), np.nan, True),
        (np.array([0.0, -0.0]), 0.0, False),
        (np.zeros(2, [("a", "i2"), ("b", "f4")]), np.zeros((), [("a", "i2"), ("b", "f4")])[()], True),
        (np.array(["", "a"], object), "", False),
        (np.array(["", ""], object), "", True),
        (np.zeros((0,)), 1.0, True),
    ],
)
def test_all_fill_of_some_kinds(chunk, fill, expected):
    assert is_all_fill(chunk, np.full((), fill, chunk.dtype)) is expected


def test_all_fill_of_objects_of_different_types():
    one = np.empty((), dtype=object)
    one[()] = 1
    assert not is_all_fill(np.array([True, 1.0], dtype=object), one)


def test_points_of_an_array_without_dimensions(store):
    array = zarrcore.create_array(store, shape=(), dtype="i4", compressors=[Xor()])
    array[...] = 4
    assert array[()] == 4
    assert array.get_mask_selection(np.array(True)).tolist() == [4]
    assert array.get_mask_selection(np.array(False)).tolist() == []
    array.set_mask_selection(np.array(True), 7)
    assert np.asarray(array) == 7


class Meeting(MemoryStore):
    """Has the first thread that comes for a chunk wait for a second one."""

    def __init__(self, alone):
        super().__init__()
        self.alone = alone  # the key of a chunk for which nobody waits
        self.expect_two()

    def expect_two(self):
        self.seen, self.both = set(), threading.Event()

    def _meet(self, key):
        if "/c/" not in key or key == self.alone:
            return
        self.seen.add(threading.get_ident())
        if len(self.seen) == 2:
            self.both.set()
        assert self.both.wait(timeout=30), "no other thread came"

    def get(self, key, byte_range=None):
        self._meet(key)
        return super().get(key, byte_range)

    def set(self, key, value):
        self._meet(key)
        super().set(key, value)


@pytest.mark.parametrize(("length", "alone"), [(4096, None), (8, "x/c/0")], ids=["many", "long"])
def test_chunks_of_strings_are_coded_on_several_threads(length, alone):
    """Where chunks have many items, and where the first one shows that its few items are long."""
    store = Meeting(alone)
    items = np.array([str(i) * (80_000 // length) for i in range(5 * length)], dtype=np.dtypes.StringDType())
    with zarrcore.config.set({"threading.max_workers": 2}):
        array = zarrcore.create_array(store, name="x", shape=items.size, chunks=length, dtype=items.dtype)
        array[...] = items
        store.expect_two()
        np.testing.assert_array_equal(array[...], items)


def test_the_chunk_that_fails_among_many_is_named():
    store = MemoryStore()
    array = zarrcore.create_array(store, name="x", shape=80_000, chunks=4096, dtype=str)
    array[...] = "text"
    store.set("x/c/7", b"nonsense")
    with pytest.raises(ChunkDecodeError) as caught:
        array[...]
    assert (caught.value.key, caught.value.chunk, caught.value.codec) == ("x/c/7", (7,), "zstd")
    values = np.full(80_000, "text", dtype=object)
    values[70_000] = 5.5
    with pytest.raises((ChunkEncodeError, TypeError), match=r"5\.5"):
        array[...] = values
