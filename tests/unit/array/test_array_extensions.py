"""Chunk grids and storage transformers of users, given to the functions that create arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BytesCodec, ShardingCodec
from zarrcore.grids import ChunkGrid
from zarrcore.registry import grid_registry, storage_transformer_registry
from zarrcore.storage import MemoryStore, Store, WrapperStore
from zarrcore.transformers import StorageTransformer, register_storage_transformer


@dataclass(frozen=True)
class Doubling(ChunkGrid):
    """Chunks of 1, 2, 4, 8, ... items along the only dimension."""

    name: ClassVar[str] = "test.doubling"
    chunks: int

    @property
    def ndim(self) -> int:
        return 1

    def native(self) -> tuple[tuple[int, ...]]:
        return (tuple(2**n for n in range(self.chunks)),)

    def validate(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1 or shape[0] >= 2**self.chunks:
            raise ValueError(f"{self.chunks} chunks cover {2**self.chunks - 1} items, not {shape}")

    def update_shape(self, shape: tuple[int, ...]) -> Doubling:
        return Doubling(max(self.chunks, shape[0].bit_length()))


class Inverting(WrapperStore):
    def _turned(self, value: Any) -> bytes | None:
        return None if value is None else bytes(octet ^ 255 for octet in bytes(value))

    def get(self, key: str, byte_range: Any = None) -> Any:
        return self._turned(self._store.get(key, byte_range))

    def set(self, key: str, value: Any) -> None:
        self._store.set(key, self._turned(value))


@dataclass(frozen=True)
class Inverted(StorageTransformer):
    name: ClassVar[str] = "test.inverted"

    def wrap(self, store: Store, prefix: str) -> Store:
        return Inverting(store)


VALUES = np.arange(1, 12, dtype="u1")
ASKED = {"chunk_grid": Doubling(4), "storage_transformers": [Inverted()]}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (grid_registry, storage_transformer_registry):
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    grid_registry.register(Doubling, "test.doubling")
    register_storage_transformer("test.inverted", Inverted)


def create(store: Any, **options: Any) -> zarrcore.Array:
    return zarrcore.create_array(store, data=VALUES, **{"compressors": None, **ASKED, **options})


CREATORS: dict[str, Callable[[Any], zarrcore.Array]] = {
    "create_array": create,
    "create": lambda store: zarrcore.create(11, store=store, dtype="u1", codecs=[BytesCodec()], **ASKED),
    "array": lambda store: zarrcore.array(VALUES, store=store, codecs=[BytesCodec()], **ASKED),
    "zeros": lambda store: zarrcore.zeros(11, store=store, dtype="u1", codecs=[BytesCodec()], **ASKED),
    "open_array": lambda store: zarrcore.open_array(
        store, mode="w", shape=11, dtype="u1", codecs=[BytesCodec()], **ASKED
    ),
    "from_array": lambda store: zarrcore.from_array(store, data=VALUES, compressors=None, **ASKED),
    "from_array, of an array": lambda store: zarrcore.from_array(
        store, data=zarrcore.create_array({}, data=VALUES, chunks=5, compressors=None), **ASKED
    ),
    "Group.create_array": lambda store: zarrcore.group(store).create_array(
        "a", data=VALUES, compressors=None, **ASKED
    ),
    "Group.require_array": lambda store: zarrcore.group(store).require_array(
        "a", shape=11, dtype="u1", compressors=None, **ASKED
    ),
    "a copy": lambda store: zarrcore.from_array(store, data=create({})),
    "a copy with other codecs": lambda store: zarrcore.from_array(
        store, data=create({}, compressors="auto"), compressors=None
    ),
    "zeros_like": lambda store: zarrcore.zeros_like(create({}), store=store),
    "zeros_like, of another grid": lambda store: zarrcore.zeros_like(
        zarrcore.create_array({}, data=VALUES, chunks=5, compressors=None), store=store, **ASKED
    ),
    "open_like": lambda store: zarrcore.open_like(create({}), "a", store=store),
    "Group.zeros_like": lambda store: zarrcore.group(store).zeros_like(name="a", data=create({})),
}


@pytest.mark.parametrize("name", CREATORS)
def test_every_creating_function_takes_them(name: str) -> None:
    store = MemoryStore()
    CREATORS[name](store)[...] = VALUES
    path = next(iter(zarrcore.open(store, mode="r").array_keys()), "") if store.get("a/zarr.json") else ""
    array = zarrcore.open_array(store, path=path, mode="r+")
    assert array.metadata.chunk_grid == Doubling(4)
    assert array.metadata.storage_transformers == (Inverted(),)
    assert array[...].tolist() == VALUES.tolist()
    assert bytes(store.get(f"{path}/c/1".lstrip("/"))) == bytes([255 - 2, 255 - 3])
    array.resize(20)
    array[11:] = 7
    assert array.metadata.chunk_grid == Doubling(5)
    assert array[9:13].tolist() == [10, 11, 7, 7]


def test_they_may_be_given_as_documents_have_them() -> None:
    grid = {"name": "test.doubling", "configuration": {"chunks": 4}}
    array = create({}, chunk_grid=grid, storage_transformers=({"name": "test.inverted"}, "test.inverted"))
    assert array.metadata.chunk_grid == Doubling(4)
    assert array.metadata.storage_transformers == (Inverted(), Inverted())


def test_a_single_transformer_needs_no_list() -> None:
    for one in (Inverted(), "test.inverted", {"name": "test.inverted"}):
        assert create({}, storage_transformers=one).metadata.storage_transformers == (Inverted(),)


def test_chunks_of_a_grid_may_be_shards() -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [6]}}
    array = create({}, chunk_grid=grid, serializer=ShardingCodec(chunk_shape=(2,)))
    assert (array.chunks, array.shards) == ((2,), (6,))
    array = create({}, chunk_grid=Doubling(4), serializer=ShardingCodec(chunk_shape=(1,)))
    copy = zarrcore.from_array({}, data=array)
    assert copy.metadata.chunk_grid == Doubling(4)
    assert copy.chunks == (1,)
    assert copy[...].tolist() == VALUES.tolist()
    again = zarrcore.from_array({}, data=array, chunks=6, shards=None)
    assert (again.chunks, again.shards) == ((6,), None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunks": 3}, "give either chunks or chunk_grid, not both"),
        ({"shards": 8}, "ShardingCodec"),
        ({"chunk_grid": Doubling(3)}, "chunk_grid: 3 chunks cover 7 items"),
        ({"chunk_grid": {"name": "test.other"}}, "chunk_grid: unknown chunk grid 'test.other'"),
        ({"chunk_grid": (2,)}, "chunk_grid: expected"),
        ({"storage_transformers": [3]}, r"storage_transformers\[0\]: expected"),
        ({"zarr_format": 2}, "chunk_grid: format 2 arrays have none"),
        ({"zarr_format": 2, "chunk_grid": None}, "storage_transformers: format 2 arrays have none"),
        ({"storage_transformers": ["test.other"]}, "test.other"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_stored(options: Any, message: str) -> None:
    store: dict[str, bytes] = {}
    with pytest.raises(ValueError, match=message):
        create(store, **options)
    assert store == {}


def test_a_copy_to_format_2_has_plain_chunks() -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [6]}}
    copy = zarrcore.from_array({}, data=create({}, chunk_grid=grid), zarr_format=2)
    assert copy.chunks == (6,)
    assert copy[...].tolist() == VALUES.tolist()
