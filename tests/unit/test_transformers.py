# SPDX-License-Identifier: MIT
"""Storage transformers: registered, stacked, and between the chunks of an array and its store."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore._validate import integer
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata import ArrayV3Metadata
from zarrcore.registry import storage_transformer_registry
from zarrcore.storage import MemoryStore, Store, StorePath, WrapperStore
from zarrcore.transformers import IgnoredTransformer, StorageTransformer, register_storage_transformer


class XorStore(WrapperStore):
    """Values with every bit of a mask turned round."""

    def __init__(self, store: Store, mask: int) -> None:
        super().__init__(store)
        self.mask = mask

    def _turned(self, value: Any) -> bytes | None:
        return None if value is None else bytes(octet ^ self.mask for octet in bytes(value))

    def get(self, key: str, byte_range: Any = None) -> Any:
        return self._turned(self._store.get(key, byte_range))

    def get_many(self, keys: Iterable[str]) -> Any:
        return [self._turned(value) for value in self._store.get_many(keys)]

    def get_partial_values(self, key_ranges: Any) -> Any:
        return [self._turned(value) for value in self._store.get_partial_values(key_ranges)]

    def set(self, key: str, value: Any) -> None:
        self._store.set(key, self._turned(value))


class MovedStore(WrapperStore):
    """The keys below a prefix in a directory of their own."""

    def __init__(self, store: Store, prefix: str, directory: str) -> None:
        super().__init__(store)
        self.prefix, self.moved = prefix, f"{prefix}{directory}/"

    def _key(self, key: str) -> str:
        return self.moved + key.removeprefix(self.prefix)

    def get(self, key: str, byte_range: Any = None) -> Any:
        return self._store.get(self._key(key), byte_range)

    def get_many(self, keys: Iterable[str]) -> Any:
        return self._store.get_many([self._key(key) for key in keys])

    def get_partial_values(self, key_ranges: Any) -> Any:
        return self._store.get_partial_values([(self._key(key), part) for key, part in key_ranges])

    def set(self, key: str, value: Any) -> None:
        self._store.set(self._key(key), value)

    def delete(self, key: str) -> None:
        self._store.delete(self._key(key))

    def list_prefix(self, prefix: str) -> Iterator[str]:
        assert prefix == self.prefix
        for key in self._store.list_prefix(self.moved):
            yield prefix + key.removeprefix(self.moved)


@dataclass(frozen=True)
class Xor(StorageTransformer):
    name: ClassVar[str] = "test.xor"
    mask: int = 0xFF

    def __post_init__(self) -> None:
        integer(self.mask, "mask", 0, 255)

    def wrap(self, store: Store, prefix: str) -> Store:
        return XorStore(store, self.mask)


@dataclass(frozen=True)
class Moved(StorageTransformer):
    name: ClassVar[str] = "test.moved"
    directory: str = "chunks"

    def wrap(self, store: Store, prefix: str) -> Store:
        return MovedStore(store, prefix, self.directory)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_transformer_registry, "_classes", dict(storage_transformer_registry._classes))
    register_storage_transformer("test.xor", Xor)
    register_storage_transformer("test.moved", Moved)


def with_transformers(
    store: MemoryStore, transformers: list[Any], *, path: str = "a", **options: Any
) -> zarrcore.Array:
    """A new array of 6 x 6 items whose document names transformers."""
    options = {"shape": (6, 6), "chunks": (2, 3), "dtype": "<i4", "compressors": None, **options}
    zarrcore.create_array(store, name=path, **options)
    key = f"{path}/zarr.json" if path else "zarr.json"
    document = json.loads(bytes(store.get(key)))
    document["storage_transformers"] = transformers
    store.set(key, json.dumps(document).encode())
    return zarrcore.open_array(store, path=path, mode="r+")


VALUES = np.arange(36, dtype="<i4").reshape(6, 6)
XOR = {"name": "test.xor", "configuration": {"mask": 0x5A}}
SHARDED = {"shards": (6, 6), "chunks": (2, 3)}
PYTHON_ONLY = {"chunk_key_encoding": {"name": "fanout"}}


@pytest.mark.parametrize("options", [{}, SHARDED, PYTHON_ONLY], ids=["engine", "sharded", "python"])
@pytest.mark.parametrize("path", ["", "a", "deep/er"])
@pytest.mark.parametrize(
    "stack", [[XOR], ["test.moved"], [XOR, "test.moved"], ["test.moved", "test.xor"]], ids=str
)
def test_values_come_back(stack: list[Any], path: str, options: dict[str, Any]) -> None:
    store = MemoryStore()
    array = with_transformers(store, stack, path=path, **options)
    array[...] = VALUES
    array[1:3, 2] = -1
    expected = VALUES.copy()
    expected[1:3, 2] = -1
    again = zarrcore.open_array(store, path=path, mode="r")
    np.testing.assert_array_equal(again[...], expected)
    np.testing.assert_array_equal(again[::2, [0, 5]], expected[::2][:, [0, 5]])
    assert again[2, 2] == -1


def test_stored_bytes_and_keys_are_the_transformed_ones() -> None:
    store = MemoryStore()
    with_transformers(store, [XOR, "test.moved"])[...] = VALUES
    chunks = {key for key in store.list() if not key.endswith("zarr.json")}
    assert chunks == {f"a/chunks/c/{i}/{j}" for i in range(3) for j in range(2)}
    plain = np.frombuffer(bytes(store.get("a/chunks/c/0/0")), "u1") ^ 0x5A
    assert plain.tobytes() == VALUES[:2, :3].tobytes()


def test_the_first_is_next_to_the_array() -> None:
    """The order shows where one transformer renames what another one is told."""
    store = MemoryStore()
    outer, inner = {"name": "test.moved", "configuration": {"directory": "x"}}, "test.moved"
    with_transformers(store, [outer, inner])[...] = VALUES
    assert store.get("a/chunks/x/c/0/0") is not None


def test_counting_and_resizing_see_the_chunks() -> None:
    store = MemoryStore()
    array = with_transformers(store, ["test.moved"])
    array[...] = VALUES + 1
    assert array.nchunks_initialized == 6
    array.resize((2, 3))
    assert array.nchunks_initialized == 1
    np.testing.assert_array_equal(array[...], VALUES[:2, :3] + 1)


def test_the_document_keeps_them() -> None:
    array = with_transformers(MemoryStore(), [XOR, "test.moved"])
    metadata = array.metadata
    assert metadata.storage_transformers == (Xor(0x5A), Moved())
    assert metadata.to_dict()["storage_transformers"] == [
        XOR,
        {"name": "test.moved", "configuration": {"directory": "chunks"}},
    ]
    assert ArrayV3Metadata.from_dict(metadata.to_dict()) == metadata
    assert pickle.loads(pickle.dumps(metadata)) == metadata


def test_unknown_ones_are_refused_unless_they_need_not_be_understood() -> None:
    with pytest.raises(
        MetadataValidationError, match=r"storage_transformers\[1\]: unknown storage transformer 'no'"
    ):
        with_transformers(MemoryStore(), [XOR, {"name": "no"}])
    optional = {"name": "no", "configuration": {"x": 1}, "must_understand": False}
    array = with_transformers(MemoryStore(), [optional])
    assert array.metadata.storage_transformers == (IgnoredTransformer(optional),)
    assert array.metadata.to_dict()["storage_transformers"] == [optional]
    array[...] = VALUES
    np.testing.assert_array_equal(array[...], VALUES)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"name": "test.xor", "configuration": {"mask": 256}},
            r"configuration.mask: expected an integer 0..255",
        ),
        ({"name": "test.xor", "configuration": {"other": 1}}, r"configuration.other: unknown key"),
        ({"configuration": {}}, r"name: expected a name"),
        (7, r"expected a name or an object"),
    ],
)
def test_bad_configurations_are_named(item: object, message: str) -> None:
    with pytest.raises(MetadataValidationError, match=r"storage_transformers\[0\].*" + message):
        with_transformers(MemoryStore(), [item])


def test_instances_can_be_given() -> None:
    store = MemoryStore()
    plain = zarrcore.create_array(store, shape=(6, 6), chunks=(2, 3), dtype="<i4", name="plain").metadata
    document = plain.to_dict() | {"storage_transformers": [XOR]}
    array = zarrcore.Array(ArrayV3Metadata.from_dict(document), StorePath(store, "mine"))
    array[...] = VALUES
    np.testing.assert_array_equal(array[...], VALUES)
