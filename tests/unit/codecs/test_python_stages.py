"""Codecs that only Python has are stages of the native engine: what they do, and what can go wrong."""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore._core.engine import NativeArray
from zarrcore.codecs import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec, BytesCodec, ShardingCodec
from zarrcore.codecs.chain import CodecChain
from zarrcore.engine.python import PythonEngine
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, ChunkError
from zarrcore.registry import codec_registry, register_codec
from zarrcore.storage import LocalStore, MemoryStore

CALLS: Counter[str] = Counter()
HOOKS: dict[str, Any] = {}  # what a codec does instead, for one test


@dataclass(frozen=True)
class Deflated(BytesBytesCodec):
    """zlib, and eight bytes that say how much that is."""

    name: ClassVar[str] = "test.deflated"

    def encode(self, data, spec=None):
        CALLS["encode"] += 1
        return HOOKS.get("encode", lambda data: len(data).to_bytes(8, "big") + zlib.compress(data))(data)

    def decode(self, data, spec=None, max_size=None):
        CALLS["decode"] += 1
        return HOOKS.get("decode", lambda data: zlib.decompress(data[8:]))(data)


@dataclass(frozen=True)
class Repeated(BytesBytesCodec):
    """Everything forty times: much longer than any compressor would make it."""

    name: ClassVar[str] = "test.repeated"

    def encode(self, data, spec=None):
        return bytes(data) * 40

    def decode(self, data, spec=None, max_size=None):
        return bytes(data)[: len(data) // 40]


@dataclass(frozen=True)
class Text(ArrayBytesCodec):
    """Numbers as text, in columns."""

    name: ClassVar[str] = "test.text"

    def encode(self, chunk, spec):
        return " ".join(map(str, chunk.T.ravel().tolist())).encode()

    def decode(self, data, spec):
        numbers = np.array(bytes(data).split(), spec.np_dtype)
        return numbers.reshape(spec.shape[::-1]).T


@dataclass(frozen=True)
class Mirrored(ArrayArrayCodec):
    """Rows from last to first, as another number."""

    name: ClassVar[str] = "test.mirrored"

    def encode(self, chunk, spec):
        return ~chunk[::-1]

    def decode(self, chunk, spec):
        return ~chunk[::-1]


CODECS = (Deflated, Repeated, Text, Mirrored)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for cls in CODECS:
        register_codec(cls.name, cls)
    CALLS.clear()
    yield
    HOOKS.clear()
    for cls in CODECS:
        del codec_registry._classes[cls.name]


def inner(*codecs: Any) -> ShardingCodec:
    return ShardingCodec(chunk_shape=(4, 3), codecs=codecs)


ARRAYS: dict[str, dict[str, Any]] = {
    "bytes": {"compressors": [Deflated()]},
    "bytes-mixed": {"compressors": ["crc32c", Deflated(), "zstd", Deflated(), "crc32c"]},
    "repeated": {"compressors": [Repeated(), "zstd", Repeated()]},
    "text": {"serializer": Text(), "compressors": None},
    "text-mixed": {"serializer": Text(), "compressors": ["zstd", Deflated(), "crc32c"]},
    "array": {"filters": [Mirrored()], "compressors": ["gzip"]},
    "all": {"filters": [Mirrored(), "numcodecs.delta"], "serializer": Text(), "compressors": [Deflated()]},
    "shards": {"serializer": inner(BytesCodec(), Deflated()), "compressors": None},
    "shards-text": {"serializer": inner(Mirrored(), Text(), "zstd"), "compressors": None},
    "shards-wrapped": {"serializer": inner(BytesCodec(), Deflated()), "compressors": ["zstd"]},
}


def created(store: Any, how: dict[str, Any], **more: Any) -> zarrcore.Array:
    options = {"shape": (20, 14), "chunks": (8, 6), "dtype": "i4", "fill_value": 7} | how | more
    return zarrcore.create_array(store, **options)


@pytest.mark.parametrize("kind", ["memory", "local"])
@pytest.mark.parametrize("name", ARRAYS)
def test_values_and_stored_bytes_are_those_of_the_engine_in_python(name, kind, tmp_path, monkeypatch) -> None:
    values = np.random.default_rng(1).integers(-5, 99, (20, 14)).astype("i4")
    stores: list[dict[str, Any]] = [{}, {}]
    engines = []
    for i, stored in enumerate(stores):
        if i == 1:
            monkeypatch.setattr(CodecChain, "lower", lambda self, spec: None)
        store = MemoryStore(stored) if kind == "memory" else LocalStore(tmp_path / str(i))
        array = created(store, ARRAYS[name])
        array[...] = values
        array[3:11, 2:9] = -1
        array.oindex[[1, 17], [0, 13]] = 7
        array[16:, :6] = 7  # a chunk of fill values is removed
        assert not store.exists("c/2/0")
        expected = values.copy()
        expected[3:11, 2:9] = -1
        expected[np.ix_([1, 17], [0, 13])] = 7
        expected[16:, :6] = 7
        for selection in (np.s_[...], np.s_[5], np.s_[::-3, 4], np.s_[2:9, 5:13:2]):
            np.testing.assert_array_equal(array[selection], expected[selection])
        np.testing.assert_array_equal(array.vindex[[1, 19, 1], [0, 13, 5]], expected[[1, 19, 1], [0, 13, 5]])
        engines.append(type(array._compiled()))
        stores[i] = {key: store.get(key) for key in sorted(store.list())}
    assert engines == [NativeArray, PythonEngine]
    assert stores[0].keys() == stores[1].keys()
    for key in stores[0]:
        assert bytes(stores[0][key]) == bytes(stores[1][key]), key


def test_a_cache_keeps_what_a_codec_in_python_decoded() -> None:
    array = created({}, ARRAYS["bytes"])
    array[...] = 1
    cached = array.with_cache(zarrcore.ChunkCache(1 << 20))
    CALLS.clear()
    for _ in range(5):
        assert cached[3, 3] == 1
    assert CALLS["decode"] == 1


def test_of_a_shard_only_the_inner_chunks_asked_for_are_decoded() -> None:
    array = created({}, ARRAYS["shards"])
    array[...] = 1
    CALLS.clear()
    assert array[9, 1] == 1
    assert CALLS["decode"] == 1
    array[9, 1] = 2
    assert CALLS == {"decode": 2, "encode": 1}


def fails_with(error: BaseException) -> Any:
    def fail(data: bytes) -> bytes:
        raise error

    return fail


@pytest.mark.parametrize("how", ["bytes", "shards"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_codec_that_raises_is_named_with_its_chunk(how: str, threads: int) -> None:
    array = created({}, ARRAYS[how], name="a/b")
    array[...] = 1
    error = OSError("no such luck")
    HOOKS["decode"] = fails_with(error)
    with zarrcore.config.set({"threading.max_workers": threads}), pytest.raises(ChunkDecodeError) as caught:
        array[9, 8]
    found = caught.value
    assert (found.array, found.chunk, found.key, found.codec) == ("a/b", (1, 1), "a/b/c/1/1", "test.deflated")
    assert found.inner_chunk == (None if how == "bytes" else (0, 0))
    assert "OSError: no such luck" in str(found)
    assert found.__cause__ is error
    HOOKS["encode"] = fails_with(error)
    with pytest.raises(ChunkEncodeError, match="no such luck") as caught:
        array[8:16, 6:12] = 3
    assert (caught.value.chunk, caught.value.codec) == ((1, 1), "test.deflated")
    HOOKS.clear()
    assert (array[...] == 1).all()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_is_no_fault_of_the_data_passes_through(error: BaseException) -> None:
    array = created({}, ARRAYS["bytes"])
    array[...] = 1
    HOOKS["decode"] = HOOKS["encode"] = fails_with(error)
    for call in (lambda: array[...], lambda: array.__setitem__(..., 2), lambda: array.__setitem__((0, 0), 2)):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error
    HOOKS.clear()
    assert (array[...] == 1).all()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (bytes(191), "decoded to 191 bytes, the metadata demand 192"),
        (bytes(193), "decodes to 193 bytes, at most 192 expected"),
        (b"", "decoded to 0 bytes"),
        (None, "bytes-like object is required"),
        ("text", "bytes-like object is required"),
        (np.zeros((192, 2), "u1")[:, 0], "not C-contiguous"),
    ],
)
def test_a_codec_that_returns_something_else_is_named(made: Any, text: str) -> None:
    array = created({}, ARRAYS["bytes"])
    array[...] = 1
    HOOKS["decode"] = lambda data: made
    with pytest.raises(ChunkDecodeError, match=text) as caught:
        array[9, 8]
    assert (caught.value.chunk, caught.value.codec) == ((1, 1), "test.deflated")


def test_what_a_codec_keeps_can_change_later() -> None:
    array = created({}, ARRAYS["bytes"])
    kept: list[Any] = []

    def encode(data: bytes) -> bytearray:
        kept.extend((data, bytearray(data)))
        return kept[-1]

    HOOKS["encode"] = encode
    HOOKS["decode"] = lambda data: kept.append(data) or data
    array[...] = 5
    for made in kept:
        if isinstance(made, bytearray):
            made[:] = bytes(len(made))
    assert (array[...] == 5).all()
    assert all(isinstance(taken, (bytes, bytearray)) for taken in kept)
    assert all(set(taken[::4]) <= {5, 7} for taken in kept if isinstance(taken, bytes))


def test_a_codec_may_use_arrays_itself() -> None:
    other, array = created({}, ARRAYS["bytes-mixed"]), created({}, ARRAYS["bytes"])
    other[...] = 2
    busy = threading.local()

    def decode(data: bytes) -> bytes:
        if not getattr(busy, "on", False):
            busy.on = True
            try:
                assert other[4, 4] == 2
                other[5, 5] = 2
                assert array[0, 0] == 1
            finally:
                busy.on = False
        return zlib.decompress(data[8:])

    array[...] = 1
    HOOKS["decode"] = decode
    for threads in (1, 4):
        with zarrcore.config.set({"threading.max_workers": threads}):
            assert (array[...] == 1).all()
            array[3:13, 3:9] = 1


def test_errors_of_several_arrays_in_one_call_are_those_of_the_right_one() -> None:
    group = zarrcore.create_group({})
    options = {"shape": 8, "chunks": 4, "dtype": "i4", "compressors": [Deflated()]}
    arrays = [group.create_array(name, **options) for name in "xyz"]
    for array in arrays:
        array[...] = 1
    group.store.set("y/c/1", b"damaged bytes")
    with pytest.raises(ChunkError) as caught:
        zarrcore.read_many([(array, ...) for array in arrays])
    assert (caught.value.array, caught.value.key, caught.value.codec) == ("y", "y/c/1", "test.deflated")


def test_chunks_of_several_shapes_have_their_own_specification() -> None:
    array = zarrcore.create_array(
        {}, shape=(9, 4), chunks=[[2, 4, 3], [4]], dtype="i2", serializer=Text(), compressors=None
    )
    values = np.arange(36, dtype="i2").reshape(9, 4)
    array[...] = values
    np.testing.assert_array_equal(array[...], values)
