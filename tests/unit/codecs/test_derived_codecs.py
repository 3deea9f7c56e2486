# SPDX-License-Identifier: MIT
"""Codecs and key encodings made from zarrcore's: what users replace is called, not the form in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import (
    ArraySpec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    VLenBytesCodec,
    ZstdCodec,
)
from zarrcore.codecs.number_filters import Delta
from zarrcore.codecs.transpose import ReshapeCodec
from zarrcore.dtypes import VariableLengthBytes
from zarrcore.keys import DefaultChunkKeyEncoding
from zarrcore.registry import register_chunk_key_encoding, register_codec

VALUES = np.arange(24, dtype="i4").reshape(4, 6)


def turned(data: Any) -> bytes:
    return bytes(byte ^ 0x55 for byte in memoryview(data).cast("B"))


class Turned:
    """What comes out has some bits inverted."""

    def encode(self, data: Any, *args: Any, **options: Any) -> bytes:
        return turned(super().encode(data, *args, **options))  # type: ignore[misc]

    def decode(self, data: Any, *args: Any) -> Any:
        return super().decode(turned(data), *args)  # type: ignore[misc]


@dataclass(frozen=True)
class TurnedZstd(Turned, ZstdCodec):
    name: ClassVar[str] = "test.turned_zstd"
    word: str = "sesame"


@dataclass(frozen=True, kw_only=True)
class TurnedBytes(Turned, BytesCodec):
    name: ClassVar[str] = "test.turned_bytes"


@dataclass(frozen=True, kw_only=True)
class TurnedSum(Turned, Crc32cCodec):
    name: ClassVar[str] = "test.turned_sum"


@dataclass(frozen=True, kw_only=True)
class TurnedShards(Turned, ShardingCodec):
    name: ClassVar[str] = "test.turned_shards"


@dataclass(frozen=True, kw_only=True)
class TurnedVLen(Turned, VLenBytesCodec):
    name: ClassVar[str] = "test.turned_vlen"


class _Negative:
    """Items are multiplied by -1, too."""

    def encode(self, chunk: Any, *args: Any) -> np.ndarray:
        return -super().encode(chunk, *args)  # type: ignore[misc,no-any-return]

    def decode(self, chunk: Any, *args: Any) -> np.ndarray:
        return super().decode(-chunk, *args)  # type: ignore[misc,no-any-return]


@dataclass(frozen=True)
class NegativeTranspose(_Negative, TransposeCodec):
    name: ClassVar[str] = "test.negative_transpose"


@dataclass(frozen=True, kw_only=True)
class NegativeReshape(_Negative, ReshapeCodec):
    name: ClassVar[str] = "test.negative_reshape"


class NegativeDelta(_Negative, Delta, id="test.negative_delta"):
    pass


@dataclass(frozen=True)
class Renamed(GzipCodec):
    """The same under another name."""

    name: ClassVar[str] = "test.renamed"


for codec in vars().copy().values():
    if isinstance(codec, type) and str(getattr(codec, "name", "")).startswith(("test.", "numcodecs.test.")):
        register_codec(codec.name, codec)

INNER = ShardingCodec(chunk_shape=(2, 3), codecs=(TurnedBytes(endian="little"),))
CASES: dict[str, dict[str, Any]] = {
    "compressor": {"compressors": TurnedZstd()},
    "bytes": {"serializer": TurnedBytes(endian="little"), "compressors": None},
    "checksum": {"compressors": [TurnedSum()]},
    "shards": {"serializer": TurnedShards(chunk_shape=(2, 3)), "compressors": None, "fill_value": 1},
    "inner chunks": {"serializer": INNER, "compressors": None},
    "transposition": {"filters": [NegativeTranspose(order=(1, 0))], "compressors": None},
    "reshaping": {"filters": [NegativeReshape(shape=([0, 1],))], "compressors": None},
    "differences": {"filters": [NegativeDelta(dtype="<i4")], "compressors": None},
}


def stored(name: str) -> bytes:
    array = zarrcore.create_array(store := {}, shape=(4, 6), chunks=(4, 6), dtype="i4", **CASES[name])
    array[...] = VALUES
    assert np.array_equal(array[...], VALUES)
    opened = zarrcore.open_array(store)
    assert np.array_equal(opened[1:3, ::2], VALUES[1:3, ::2])
    opened[1, 1:3] = 99
    opened.vindex[[0, 3], [0, 5]] = 98
    expected = VALUES.copy()
    expected[1, 1:3], expected[0, 0], expected[3, 5] = 99, 98, 98
    assert np.array_equal(zarrcore.open_array(store)[...], expected)
    assert zarrcore.verify(store).ok
    array[...] = VALUES
    return bytes(store["c/0/0"])


@pytest.mark.parametrize("name", CASES)
def test_what_a_user_replaces_is_called(name: str) -> None:
    """The engine ran the codec of zarrcore in its place: what should be changed was stored as it is."""
    array = zarrcore.create_array({}, shape=(4, 6), chunks=(4, 6), dtype="i4", **CASES[name])
    value, plain = stored(name), VALUES.tobytes()
    if name == "compressor":
        assert turned(value)[:4] == b"\x28\xb5\x2f\xfd"  # of zstd
    elif name == "bytes":
        assert value == turned(plain)
    elif name == "checksum":
        assert turned(value)[:-4] == plain
    elif name == "shards":
        assert turned(value)[:12] == VALUES[:2, :3].tobytes()[:12]
    elif name == "inner chunks":
        assert value[:12] == turned(VALUES[:2, :3].tobytes())[:12]
    elif name == "transposition":
        assert value == (-VALUES.T).tobytes()
    elif name == "reshaping":
        assert value == (-VALUES).tobytes()
    else:
        assert value == (-np.diff(VALUES.reshape(-1), prepend=0).astype("i4")).tobytes()
    assert "form in C" in str(array.explain(...)) or "serializer" in CASES[name]


def test_a_codec_of_items_that_a_user_replaces_is_called() -> None:
    codec, spec = TurnedVLen(), ArraySpec((2,), VariableLengthBytes(), b"")
    items = np.array([b"a", b"bc"], object)
    encoded = codec.encode(items, spec)
    assert turned(encoded) == VLenBytesCodec().encode(items, spec)
    assert not codec.decode_into(encoded, spec, np.empty(2, object))
    assert codec.decode(encoded, spec).tolist() == [b"a", b"bc"]


def test_a_codec_with_another_name_runs_in_the_engine() -> None:
    array = zarrcore.create_array(store := {}, shape=8, dtype="i4", compressors=Renamed(level=3))
    array[...] = np.arange(8)
    assert b"test.renamed" in store["zarr.json"] and bytes(store["c/0"][:2]) == b"\x1f\x8b"
    assert zarrcore.open_array(store)[...].tolist() == list(range(8))
    assert array.explain(...).engine == "C"


@dataclass(frozen=True)
class Prefixed(DefaultChunkKeyEncoding):
    name: ClassVar[str] = "test.prefixed"

    def encode(self, coords: tuple[int, ...]) -> str:
        return f"below/{super().encode(coords)}"

    def decode(self, key: str) -> tuple[int, ...]:
        return super().decode(key.removeprefix("below/"))


def test_keys_that_a_user_replaces_are_used() -> None:
    """Chunks were stored where no other reader would look for them."""
    register_chunk_key_encoding("test.prefixed", Prefixed)
    array = zarrcore.create_array(
        store := {}, shape=4, chunks=2, dtype="i4", chunk_key_encoding=Prefixed(), fill_value=9
    )
    array[...] = [1, 2, 3, 4]
    assert sorted(store) == ["below/c/0", "below/c/1", "zarr.json"]
    assert zarrcore.open_array(store)[...].tolist() == [1, 2, 3, 4]
    array.resize(2)
    assert sorted(store) == ["below/c/0", "zarr.json"] and zarrcore.verify(store).ok
