# SPDX-License-Identifier: MIT
"""Classes of users that are registered under names of others: what is stored is read by them, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore import registry
from zarrcore.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarrcore.codecs import BytesCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarrcore.dtype import Int32, data_type_registry
from zarrcore.errors import MetadataValidationError
from zarrcore.grids import ChunkGrid
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.storage import WrapperStore
from zarrcore.transformers import StorageTransformer

KINDS: Any = {
    "codec": registry.codec_registry,
    "grid": registry.grid_registry,
    "keys": registry.key_encoding_registry,
    "transformer": registry.storage_transformer_registry,
    "data type": data_type_registry,
}


@pytest.fixture(autouse=True)
def _only_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        for table in KINDS.values():
            patched.setattr(table, "_classes", dict(table._classes))
        yield
    registry.note_registration()


def register(kind: str, name: str, cls: Any) -> None:
    registry.Registry.register(KINDS[kind], cls, name)


@dataclass(frozen=True)
class Reversed(ArrayBytesCodec):
    name: ClassVar[str] = "bytes"
    endian: str = "little"

    def encode(self, chunk: Any, spec: Any) -> bytes:
        return bytes(chunk.tobytes()[::-1])

    def decode(self, data: Any, spec: Any) -> np.ndarray:
        return np.frombuffer(bytes(data)[::-1], spec.np_dtype).reshape(spec.shape)


@dataclass(frozen=True)
class Negative(ArrayArrayCodec):
    name: ClassVar[str] = "transpose"
    order: tuple[int, ...] = (0,)

    def encode(self, chunk: np.ndarray, spec: Any) -> np.ndarray:
        return -chunk

    decode = encode


@dataclass(frozen=True)
class Inverted(BytesBytesCodec):
    name: ClassVar[str] = "gzip"
    level: int = 0

    def encode(self, data: Any, spec: Any = None) -> bytes:
        return bytes(255 - byte for byte in bytes(data))

    def decode(self, data: Any, spec: Any = None, max_size: int | None = None) -> bytes:
        return self.encode(data)


class Same(ZstdCodec):
    """Reads what the codec of zarrcore encodes."""


@dataclass(frozen=True)
class Dashes(ChunkKeyEncoding):
    name: ClassVar[str] = "default"
    separator: str = "/"

    def encode(self, coords: tuple[int, ...]) -> str:
        return "k" + "-".join(map(str, coords))

    def decode(self, key: str) -> tuple[int, ...]:
        if not key.startswith("k"):
            raise ValueError(key)
        return tuple(map(int, key[1:].split("-")))


class Other(Dashes):
    def encode(self, coords: tuple[int, ...]) -> str:
        return "other/" + "-".join(map(str, coords))


@dataclass(frozen=True)
class Uneven(ChunkGrid):
    name: ClassVar[str] = "regular"
    chunk_shape: Any = ()
    ndim = 1

    def native(self) -> tuple[int | tuple[int, ...], ...]:
        return ((2, 4, 2),)

    def validate(self, shape: tuple[int, ...]) -> None:
        pass

    def update_shape(self, shape: tuple[int, ...]) -> Uneven:
        return self


class Flipped(WrapperStore):
    def get(self, key: str, byte_range: Any = None) -> Any:
        value = self._store.get(key, byte_range)
        return None if value is None else bytes(255 - byte for byte in bytes(value))

    def set(self, key: str, value: Any) -> None:
        self._store.set(key, bytes(255 - byte for byte in bytes(value)))


@dataclass(frozen=True)
class Flips(StorageTransformer):
    name: ClassVar[str] = "test.taken"

    def wrap(self, store: Any, prefix: str) -> Any:
        return Flipped(store)


@dataclass(frozen=True)
class Leaves(StorageTransformer):
    name: ClassVar[str] = "test.taken"

    def wrap(self, store: Any, prefix: str) -> Any:
        return store


@dataclass(frozen=True, kw_only=True)
class Big(Int32):
    _zarr_v3_name: ClassVar[str] = "int32"

    def to_native_dtype(self) -> Any:
        return np.dtype(">u4")


class OtherDashes(Dashes):
    name: ClassVar[str] = "test.taken"


TAKEN = {
    "the serializer that is the default": ("codec", "bytes", Reversed, {}),
    "a serializer": ("codec", "bytes", Reversed, {"serializer": BytesCodec(endian="big")}),
    "a serializer within shards": ("codec", "bytes", Reversed, {"shards": 4}),
    "a filter": ("codec", "transpose", Negative, {"filters": [TransposeCodec(order=(0,))]}),
    "a compressor": ("codec", "gzip", Inverted, {"compressors": GzipCodec(level=1)}),
    "the grid that is the default": ("grid", "regular", Uneven, {}),
    "the keys that are the default": ("keys", "default", Dashes, {}),
    "keys of another user": ("keys", "test.taken", OtherDashes, {"chunk_key_encoding": Other()}),
    "a transformer": ("transformer", "test.taken", Leaves, {"storage_transformers": [Flips()]}),
    "a data type": ("data type", "int32", Big, {"dtype": Int32()}),
}


@pytest.mark.parametrize("what", TAKEN)
def test_what_would_be_read_by_another_class_is_not_stored(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The array read as other values when it was opened again: as fill values, where the keys were others."""
    kind, name, cls, options = TAKEN[what]
    monkeypatch.setattr(Other, "name", "test.taken")
    register(kind, name, cls)
    store: dict[str, Any] = {}
    usual = {"shape": 8, "chunks": 2, "dtype": "i4", "compressors": None}
    with pytest.raises(MetadataValidationError, match=name):
        zarrcore.create_array(store, **(usual | options))
    assert not store


@pytest.mark.parametrize("compressors", [ZstdCodec(level=1), "auto", {"name": "zstd"}])
def test_a_class_that_reads_the_same_may_take_a_name(compressors: Any) -> None:
    register("codec", "zstd", Same)
    store: dict[str, Any] = {}
    array = zarrcore.create_array(store, data=np.arange(8), chunks=2, compressors=compressors)
    assert array[...].tolist() == zarrcore.open_array(store)[...].tolist() == list(range(8))


def test_what_names_the_class_that_took_a_name_is_stored_by_it() -> None:
    for kind, name, cls in (("codec", "gzip", Inverted), ("keys", "default", Dashes)):
        register(kind, name, cls)
    store: dict[str, Any] = {}
    zarrcore.create_array(
        store, data=np.arange(1, 9), chunks=4, compressors={"name": "gzip"}, chunk_key_encoding=Dashes()
    )
    assert {"k0", "k1"} < store.keys()
    assert zarrcore.open_array(store)[...].tolist() == list(range(1, 9))
