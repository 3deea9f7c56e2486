"""What a partial write makes of a shard: the same bytes in C and in Python, over all stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import FsspecStore, LocalStore, MemoryStore, Store, WrapperStore, ZipStore


def fsspec_store(tmp_path: Any) -> Store:
    pytest.importorskip("fsspec")
    return FsspecStore.from_url(f"file://{tmp_path}/a")


STORES: dict[str, Callable[[Any], Store]] = {
    "memory": lambda tmp_path: MemoryStore(),
    "local": LocalStore,
    "python": lambda tmp_path: WrapperStore(MemoryStore()),
    "zip": lambda tmp_path: ZipStore(tmp_path / "a.zip", mode="w"),
    "fsspec": fsspec_store,
}


def write_some(array: zarrcore.Array) -> None:
    array[:3, :2] = 1


def write_edge(array: zarrcore.Array) -> None:
    array[11] = 3


def write_fill(array: zarrcore.Array) -> None:
    array[10:] = 0


def write_all(array: zarrcore.Array) -> None:
    array[...] = 2


def write_twice(array: zarrcore.Array) -> None:
    array[...] = np.arange(96).reshape(12, 8)
    array[4:6, :] = 0
    array[11, 3] = 0


def write_points(array: zarrcore.Array) -> None:
    array.vindex[[0, 9, 11], [7, 0, 4]] = [1, 0, 5]


def write_steps(array: zarrcore.Array) -> None:
    array[::5, ::7] = 4
    array[1] = 0


def write_gathered(array: zarrcore.Array) -> None:
    with array.writer() as writer:
        writer[3:5, 1:3] = 8
        writer[10, :4] = 0


WAYS = {
    way.__name__: way
    for way in (
        write_some,
        write_edge,
        write_fill,
        write_all,
        write_twice,
        write_points,
        write_steps,
        write_gathered,
    )
}
TRANSPOSED = {"filters": [{"name": "transpose", "configuration": {"order": [1, 0]}}]}
NESTED = {
    "chunks": (10, 8),
    "serializer": {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": [5, 4],
            "codecs": [
                {
                    "name": "sharding_indexed",
                    "configuration": {
                        "chunk_shape": [1, 2],
                        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    },
                }
            ],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        },
    },
}
PLAIN = {"chunks": (2, 4), "shards": (10, 8)}
LAYOUTS = {"plain": PLAIN, "transposed": {**PLAIN, **TRANSPOSED}, "nested": NESTED}


def stored(store: Store, layout: str, way: str, *, write_empty: bool, python: bool) -> dict[str, bytes]:
    config = {"write_empty_chunks": write_empty}
    array = zarrcore.create_array(
        store, shape=(12, 8), dtype="i4", compressors=None, config=config, **LAYOUTS[layout]
    )
    with pytest.MonkeyPatch.context() as patch:
        if python:  # whatever the codecs are
            patch.setattr("zarrcore.engine.build._native_engine", lambda *args, **options: None)
        WAYS[way](array)
    return {key: bytes(store.get(key)) for key in store.list() if not key.endswith(".json")}


@pytest.mark.parametrize("write_empty", [True, False], ids=["empty-written", "empty-left-out"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_engines_and_all_stores_store_the_same_bytes(
    layout: str, way: str, write_empty: bool, tmp_path: Any
) -> None:
    wanted = stored(MemoryStore(), layout, way, write_empty=write_empty, python=False)
    for name, make in STORES.items():
        for python in (False, True):
            if name == "zip" and not write_empty:
                continue  # an archive cannot remove what became empty, so nothing is left out
            place = tmp_path / f"{name}-{python}"
            place.mkdir()
            found = stored(make(place), layout, way, write_empty=write_empty, python=python)
            assert found == wanted, (name, python)


@pytest.mark.parametrize("write_empty", [True, False], ids=["empty-written", "empty-left-out"])
@pytest.mark.parametrize("way", ["write_some", "write_edge", "write_fill", "write_twice", "write_steps"])
def test_zarr_python_stores_the_same_inner_chunks(way: str, write_empty: bool, tmp_path: Any) -> None:
    zarr = pytest.importorskip("zarr", minversion="3.1")
    ours = stored(MemoryStore(), "plain", way, write_empty=write_empty, python=True)
    theirs = zarr.create_array(
        tmp_path,
        shape=(12, 8),
        dtype="i4",
        chunks=(2, 4),
        shards=(10, 8),
        compressors=None,
        config={"write_empty_chunks": write_empty},
    )
    WAYS[way](theirs)
    store = LocalStore(tmp_path)
    found = {key: bytes(store.get(key)) for key in store.list() if not key.endswith(".json")}
    assert {key: len(value) for key, value in found.items()} == {
        key: len(value) for key, value in ours.items()
    }


def test_an_untouched_inner_chunk_keeps_its_bytes() -> None:
    """A codec that is not exact must not be run over values that nobody wrote to."""
    store = MemoryStore()
    options = {"chunks": (2, 4), "shards": (10, 8), "dtype": "f4", "compressors": None}
    exact = zarrcore.create_array(store, shape=(10, 8), **options)
    exact[...] = np.pi
    coarse = {"name": "bitround", "configuration": {"keepbits": 2}}
    document = zarrcore.create_array(MemoryStore(), shape=(10, 8), filters=[coarse], **options)
    store.set("zarr.json", document.store.get("zarr.json"))
    array = zarrcore.open_array(store)
    array[0, 0] = 1
    assert (array[2:] == np.float32(np.pi)).all()
    assert (array[0, 1:4] == 3.0).all()
