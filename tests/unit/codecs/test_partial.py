"""A codec of a user's own that reads and writes parts of chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.abc.codec import (
    ArrayBytesCodec,
    ArrayBytesCodecPartialDecodeMixin,
    ArrayBytesCodecPartialEncodeMixin,
    GetResult,
)
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, ChunkIOError, ChunkNotFoundError
from zarrcore.registry import codec_registry, register_codec
from zarrcore.storage import MemoryStore, RangeByteRequest

CALLS: list[tuple[str, object]] = []


@dataclass(frozen=True)
class RowsCodec(ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodecPartialEncodeMixin):
    """Plain items; of a part, the rows from the first to the last are read."""

    name: ClassVar[str] = "test.rows"

    def encode(self, chunk, spec):
        CALLS.append(("encode", chunk.shape))
        return np.ascontiguousarray(chunk).tobytes()

    def decode(self, data, spec):
        CALLS.append(("decode", len(data)))
        return np.frombuffer(data, spec.np_dtype).reshape(spec.shape)

    def decode_partial(self, byte_getter, selection, spec):
        rows = np.unique(np.arange(spec.shape[0]).reshape(-1, *[1] * (spec.ndim - 1))[selection[0]])
        first, last = int(rows.min()), int(rows.max())
        row = spec.nbytes // spec.shape[0]
        data = byte_getter.get(RangeByteRequest(first * row, (last + 1) * row))
        if data is None:
            return None
        CALLS.append(("decode_partial", len(data)))
        chunk = np.full(spec.shape, spec.fill, spec.np_dtype)
        chunk[first : last + 1] = np.frombuffer(data, spec.np_dtype).reshape(-1, *spec.shape[1:])
        return chunk[selection]

    def encode_partial(self, byte_setter, values, selection, spec):
        CALLS.append(("encode_partial", values.shape))
        data = byte_setter.get()
        chunk = np.full(spec.shape, spec.fill, spec.np_dtype)
        if data is not None:
            chunk[...] = np.frombuffer(data, spec.np_dtype).reshape(spec.shape)
        chunk[selection] = values
        byte_setter.set(chunk.tobytes())


@pytest.fixture(autouse=True)
def registered():
    register_codec("test.rows", RowsCodec)
    CALLS.clear()
    yield
    codec_registry._classes.pop("test.rows")


def make(store=None, **kwargs):
    store = MemoryStore() if store is None else store
    options = {"serializer": RowsCodec(), "compressors": None, "fill_value": -1} | kwargs
    return zarrcore.create_array(store, shape=(25, 12), chunks=(10, 6), dtype="i4", **options)


def filled(**kwargs):
    array = make(**kwargs)
    values = np.arange(300, dtype="i4").reshape(25, 12)
    array[...] = values
    CALLS.clear()
    return array, values


SELECTIONS = [
    np.s_[3:5],
    np.s_[8:12, 1::2],
    np.s_[::-3, 11],
    np.s_[24, ::-1],
    np.s_[[1, 3, 22], 2:9],
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_reads(selection):
    array, values = filled()
    assert np.array_equal(array[selection], values[selection])
    assert {name for name, _ in CALLS} == {"decode_partial"}
    assert np.array_equal(array.vindex[[1, 24, 7], [2, 11, 5]], values[[1, 24, 7], [2, 11, 5]])
    rows, columns = [0, 9, 11, 24], [5, 6, 0]
    assert np.array_equal(array.oindex[rows, columns], values[np.ix_(rows, columns)])
    assert {name for name, _ in CALLS} == {"decode_partial"}


def test_only_what_is_wanted_is_read():
    array, values = filled()
    assert np.array_equal(array[12:14, :3], values[12:14, :3])
    assert CALLS == [("decode_partial", 2 * 6 * 4)]


def test_whole_chunks_are_decoded_as_a_whole():
    array, values = filled()
    assert np.array_equal(array[:20], values[:20])
    assert CALLS == [("decode", 240)] * 4


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
def test_writes(selection):
    array, values = filled()
    values[selection] = 7
    array[selection] = 7
    assert "encode_partial" in {name for name, _ in CALLS}
    assert "decode" not in {name for name, _ in CALLS}
    assert np.array_equal(array[...], values)
    array.vindex[[1, 24], [2, 11]] = [5, 6]
    assert array.vindex[[1, 24], [2, 11]].tolist() == [5, 6]


def test_absent_chunks():
    array = make()
    CALLS.clear()
    assert (array[3:5] == -1).all()
    assert CALLS == []
    array[3, 4] = 1
    assert array[2:5, 4].tolist() == [-1, 1, -1]
    strict = zarrcore.open_array(array.store, config={"read_missing_chunks": False})
    with pytest.raises(ChunkNotFoundError, match="c/2/1"):
        strict[22, 7]


@pytest.mark.parametrize(
    "others",
    [
        {"compressors": {"name": "crc32c"}},
        {"filters": {"name": "transpose", "configuration": {"order": [1, 0]}}},
    ],
    ids=["compressor", "filter"],
)
def test_not_behind_other_codecs(others):
    array, values = filled(**others)
    assert np.array_equal(array[3:5], values[3:5])
    array[3:5] = 0
    assert {name for name, _ in CALLS} == {"decode", "encode"}


def test_failures_name_their_place(monkeypatch):
    array, _ = filled()
    place = r"chunk \(1, 0\), key 'c/1/0'"
    monkeypatch.setattr(RowsCodec, "decode_partial", lambda *_: np.zeros((2, 2), "i4"))
    with pytest.raises(ChunkDecodeError, match=place + r".*shape \(1, 6\)"):
        array[12, :6]
    monkeypatch.setattr(RowsCodec, "decode_partial", lambda *_: 1 / 0)
    with pytest.raises(ChunkDecodeError, match=place + ".*test.rows.*ZeroDivision"):
        array[12, :6]
    monkeypatch.setattr(RowsCodec, "encode_partial", lambda *_: 1 / 0)
    with pytest.raises(ChunkEncodeError, match=place + ".*test.rows.*ZeroDivision"):
        array[12, :6] = 1


def test_failures_of_the_store():
    class Failing(MemoryStore):
        def get(self, key, byte_range=None):
            if byte_range is not None:
                raise TimeoutError("late")
            return super().get(key)

    array, _ = filled(store=Failing())
    with pytest.raises(ChunkIOError, match="chunk \\(1, 0\\), key 'c/1/0'.*late"):
        array[12, 0]


def test_what_a_mixin_has_to_do():
    with pytest.raises(NotImplementedError, match="decode_partial"):
        ArrayBytesCodecPartialDecodeMixin().decode_partial(None, None, None)
    with pytest.raises(NotImplementedError, match="encode_partial"):
        ArrayBytesCodecPartialEncodeMixin().encode_partial(None, None, None, None)
    assert GetResult(status="missing") == {"status": "missing"}
