# SPDX-License-Identifier: MIT
"""Stores written in Python that fail, or answer nonsense: the error says which chunk it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_chains import make_chain, make_shard

import zarrcore
from zarrcore._core.engine import Chain, ChunkCache, MemorySource, NativeArray, StoreSource, sessions
from zarrcore.errors import ChunkDecodeError, ChunkError, ChunkIOError, StoreError
from zarrcore.storage import MemoryStore

SHAPE, CHUNKS = (4, 6), (2, 3)
WHOLE = [(0, 1, 4), (0, 1, 6)]
VALUES = np.arange(24, dtype="i4").reshape(SHAPE) + 1


def chain_of() -> Chain:
    return make_chain(4)


def sharded() -> Chain:
    return make_chain(4, shard=make_shard((1, 3), chain_of(), make_chain(8, stages=[("crc32c", {})])))


class Store:
    """A store of which single methods can be replaced."""

    def __init__(self, **methods: Any) -> None:
        self.values: dict[str, bytes] = {}
        self.__dict__.update(methods)

    def get(self, key: str, byte_range: Any = None) -> Any:
        value = self.values.get(key)
        if value is None or byte_range is None:
            return value
        return value[-byte_range:] if isinstance(byte_range, int) else value[byte_range[0] : sum(byte_range)]

    def get_many(self, keys: list[str]) -> Any:
        return [self.get(key) for key in keys]

    def set(self, key: str, value: bytes) -> None:
        self.values[key] = value

    def delete(self, key: str) -> None:
        self.values.pop(key, None)


def array_of(source: Any, chain: Chain | None = None, **options: Any) -> NativeArray:
    return NativeArray(
        source,
        "",
        shape=SHAPE,
        chunks=CHUNKS,
        chain=chain or chain_of(),
        dtype="i4",
        path="foo/bar",
        **options,
    )


def python_array(store: Store, chain: Chain | None = None, **options: Any) -> NativeArray:
    return array_of(StoreSource(store, int), chain, **options)


def raising(error: BaseException) -> Any:
    def method(*arguments: Any) -> None:
        raise error

    return method


@pytest.mark.parametrize("chain", [chain_of(), sharded()], ids=["plain", "shard"])
def test_store_that_fails_to_read(chain: Chain) -> None:
    cause = ConnectionResetError("gone")
    store = Store()
    array = python_array(store, chain)
    array.write(WHOLE, VALUES)
    store.get = raising(cause)
    for selection in (..., (0, 0)):
        with pytest.raises(ChunkIOError, match="ConnectionResetError: gone") as caught:
            array.get(selection)
        assert caught.value.__cause__ is cause
        assert (caught.value.array, caught.value.chunk, caught.value.key) == ("foo/bar", (0, 0), "c/0/0")


class Broken(Store):
    """Cannot read the value of one key; notes which keys it is asked for alone."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause
        self.asked: list[str] = []

    def get(self, key: str, byte_range: Any = None) -> Any:
        self.asked.append(key)
        if key == "c/1/0":
            raise self.cause
        return super().get(key, byte_range)

    def get_many(self, keys: list[str]) -> Any:
        if "c/1/0" in keys:
            raise self.cause
        return [self.values.get(key) for key in keys]


@pytest.mark.parametrize("cached", [False, True], ids=["uncached", "cached"])
@pytest.mark.parametrize("key", [None, "c/1/0", "c/9/9"])
def test_batch_that_fails(key: str | None, cached: bool) -> None:
    """The chunk is named at once where the error knows the key; else each is asked for alone."""
    store = Broken(StoreError("no", key=key))
    array = python_array(store, cache=ChunkCache(1 << 20) if cached else None)
    array.write(WHOLE, VALUES)
    assert array.get((0, 0)) == VALUES[0, 0]  # and is not fetched again if there is a cache
    store.asked.clear()
    with pytest.raises(ChunkIOError, match="StoreError: no") as caught:
        array.read(WHOLE, np.empty(SHAPE, "i4"), 1)
    assert caught.value.__cause__ is store.cause
    assert (caught.value.array, caught.value.chunk, caught.value.key) == ("foo/bar", (1, 0), "c/1/0")
    assert bool(store.asked) == (key != "c/1/0")


def test_batch_that_fails_though_no_key_does() -> None:
    store = Store(get_many=raising(TimeoutError("too much at once")))
    array = python_array(store)
    array.write(WHOLE, VALUES)
    assert np.array_equal(array.get(...), VALUES)


@pytest.mark.parametrize("source", [MemorySource, lambda values: StoreSource(Store(values=values), int)])
def test_value_that_has_no_bytes(source: Any) -> None:
    array = array_of(source({"c/0/0": bytes(24), "c/1/0": 5}))
    with pytest.raises(ChunkIOError, match="expected a bytes-like value, got int") as caught:
        array.get(...)
    assert (caught.value.array, caught.value.chunk, caught.value.key) == ("foo/bar", (1, 0), "c/1/0")


def test_store_that_fails_to_write() -> None:
    cause = TimeoutError("slow")
    with pytest.raises(ChunkIOError, match="slow") as caught:
        python_array(Store(set=raising(cause))).write(WHOLE, VALUES, 2)
    assert caught.value.__cause__ is cause
    assert caught.value.chunk is not None
    with pytest.raises(ChunkIOError, match="slow"):
        python_array(Store(delete=raising(cause))).write(WHOLE, np.zeros(SHAPE, "i4"))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_store_that_is_interrupted(error: BaseException) -> None:
    """Not an error of the chunk: it comes out as it is."""
    array = python_array(Store(get_many=raising(error), get=raising(error)))
    with pytest.raises(type(error)) as caught:
        array.get(...)
    assert caught.value is error


@pytest.mark.parametrize(
    "answer",
    [["x"] * 4, [5] * 4, [b""] * 3, [None] * 5, None, [bytes(24), bytes(24), bytes(24), object()]],
    ids=["text", "numbers", "too few", "too many", "nothing", "object"],
)
def test_store_that_answers_nonsense(answer: Any) -> None:
    with pytest.raises(ChunkError):
        python_array(Store(get_many=lambda keys: answer)).get(..., 1)


@pytest.mark.parametrize("wrong", [b"", bytes(5), bytes(5000)])
def test_store_that_returns_another_range(wrong: bytes) -> None:
    store = Store()
    array = python_array(store, sharded())
    array.write(WHOLE, VALUES)
    whole = store.get
    store.get = lambda key, byte_range=None: whole(key) if byte_range is None else wrong
    with pytest.raises(ChunkDecodeError):
        array.get((0, 0))


def test_any_buffer_will_do() -> None:
    """What a store returns may be any contiguous buffer, or one that is not."""
    store = Store()
    array = python_array(store)
    array.write(WHOLE, VALUES)
    for make in (
        bytearray,
        memoryview,
        lambda b: np.frombuffer(b, "i4"),
        lambda b: np.frombuffer(b, "u1").repeat(2)[::2],
    ):
        store.get_many = lambda keys, make=make: [make(store.values[key]) for key in keys]
        assert np.array_equal(array.get(...), VALUES)


@pytest.mark.parametrize("options", [{}, {"shards": 8}])
def test_an_interrupt_while_an_error_of_a_store_is_looked_at(
    options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was ignored, and parts of shards were read as fill values."""
    is_broken = False

    class Broken(MemoryStore):
        def get_partial_values(self, key_ranges: Any) -> Any:
            if is_broken:
                monkeypatch.setattr(sessions, "getsignal", interrupt)
                raise OSError("no")
            return super().get_partial_values(key_ranges)

        def get(self, key: str, byte_range: Any = None) -> Any:
            return self.get_partial_values([(key, byte_range)])[0] if "c/" in key else super().get(key)

    def interrupt(number: int) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    array = zarrcore.create_array(Broken(), shape=8, chunks=2, dtype="i4", **options)
    array[...] = np.arange(1, 9)
    is_broken = True
    with pytest.raises(KeyboardInterrupt):
        array[3:5]
