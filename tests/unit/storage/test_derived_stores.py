# SPDX-License-Identifier: MIT
"""Stores made from zarrcore's: reading, writing, removing and listing go through what users replace."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkIOError, ContainsArrayError
from zarrcore.experimental.cache_store import CacheStore as KeepingStore
from zarrcore.storage import (
    CacheStore,
    FsspecStore,
    LocalStore,
    MemoryStore,
    Store,
    WrapperStore,
    ZipStore,
    resolve_range,
)


def turned(value: Any) -> bytes:
    return bytes(byte ^ 0x55 for byte in memoryview(value).cast("B"))


class Turned:
    """Values have a byte more than they seem to, and some bits inverted."""

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        value = super().get(key)  # type: ignore[misc]
        if value is None:
            return None
        plain = turned(value)[1:]
        return plain[slice(*resolve_range(byte_range, len(plain)))]

    def set(self, key: str, value: Any) -> None:
        super().set(key, b"U" + turned(value))  # type: ignore[misc]


class TurnedLocal(Turned, LocalStore):
    pass


class TurnedMemory(Turned, MemoryStore):
    pass


class TurnedZip(Turned, ZipStore):
    pass


class TurnedFsspec(Turned, FsspecStore):
    pass


class TurnedCache(Turned, CacheStore):
    pass


class TurnedKeeping(Turned, KeepingStore):
    pass


class TurnedWrapper(Turned, WrapperStore):
    pass


NUMBERS = itertools.count()
STORES: dict[str, Callable[[Path], Store]] = {
    "local": lambda path: TurnedLocal(path),
    "memory": lambda path: TurnedMemory(),
    "zip": lambda path: TurnedZip(path / "a.zip", mode="w"),
    "fsspec": lambda path: TurnedFsspec.from_url(f"memory://turned{next(NUMBERS)}"),
    "cache": lambda path: TurnedCache(MemoryStore(), path, max_bytes=1 << 20, immutable=True, name="turned"),
    "keeping": lambda path: TurnedKeeping(MemoryStore(), cache_store=MemoryStore()),
    "wrapper": lambda path: TurnedWrapper(MemoryStore()),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "fsspec":
        pytest.importorskip("fsspec")
    return STORES[request.param](tmp_path)


def raw(store: Store) -> Any:
    """What the class of zarrcore reads."""
    kind = type(store).__mro__[2]
    return lambda key: kind.get(store, key)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_everything_goes_through_get_and_set(store: Store) -> None:
    """Documents were stored as they are where a class had set alone; whole chunks were read past its get."""
    group = zarrcore.create_group(store)
    shapes = {"chunks": (2, 3)}, {"chunks": (2, 3), "shards": (4, 6)}
    values = np.arange(48, dtype="i4").reshape(8, 6)
    for name, how in zip("ab", shapes, strict=True):
        array = group.create_array(name, shape=(8, 6), dtype="i4", compressors=None, **how)
        array[...] = values
        array[3:5, 1:4] = -1
        expected = values.copy()
        expected[3:5, 1:4] = -1
        for _ in range(2):
            assert np.array_equal(array[...], expected)
            assert np.array_equal(zarrcore.open_array(store, path=name)[::3, 2:], expected[::3, 2:])
            assert array.vindex[[0, 7], [5, 0]].tolist() == [expected[0, 5], expected[7, 0]]
            assert [*zarrcore.read_many([(array, (0, slice(2)))])[0]] == [0, 1]
    group.attrs["x"] = 1
    keys = sorted(store.list())
    assert len(keys) == 3 + 8 + 2
    read = raw(store)
    for key in keys:
        value = store.get(key)
        assert value is not None
        assert read(key) == b"U" + turned(value)
        assert store.getsize(key) == len(value)
        assert store.exists(key)
        assert store.get_many([key]) == [value]
        assert store.get_partial_values([(key, (1, 3)), (key, None)]) == [value[1:4], value]
    assert zarrcore.verify(store).ok


def test_set_if_not_exists_and_parts_go_through_set(store: Store) -> None:
    assert store.set_if_not_exists("k", b"one") and not store.set_if_not_exists("k", b"two")
    assert (store.get("k"), raw(store)("k")) == (b"one", b"U" + turned(b"one"))


class Guarded(LocalStore):
    """A directory in which nothing is removed that is called precious."""

    def delete(self, key: str) -> None:
        if "precious" in key:
            raise PermissionError(f"{key} stays")
        super().delete(key)


def test_whatever_removes_goes_through_delete(tmp_path: Path) -> None:
    store = Guarded(tmp_path)
    store.set("a/precious", b"1")
    store.set("a/b", b"2")
    for remove in (
        lambda: store.erase_prefix("a"),
        lambda: store.delete_dir("a"),
        lambda: store.clear(),
        lambda: store.erase_values(["a/precious"]),
        lambda: store.erase("a/precious"),
    ):
        with pytest.raises(PermissionError, match="precious stays"):
            remove()
    assert store.get("a/precious") == b"1"
    store.set("c/d", b"3")
    store.erase_prefix("c")
    assert not store.exists("c/d")


class Veiled(LocalStore):
    """A directory in which some keys are not listed."""

    def list(self) -> Iterator[str]:
        return (key for key in super().list() if "hidden" not in key)


class VeiledMemory(MemoryStore):
    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key in super().list_prefix(prefix) if "hidden" not in key)


@pytest.mark.parametrize("kind", [Veiled, VeiledMemory])
def test_all_listings_go_through_list(kind: Any, tmp_path: Path) -> None:
    store = Veiled(tmp_path) if kind is Veiled else VeiledMemory()
    group = zarrcore.create_group(store)
    for name in ("seen", "hidden"):
        group.create_group(name)
    assert sorted(store.list()) == sorted(store.list_prefix("")) == ["seen/zarr.json", "zarr.json"]
    assert sorted(store.list_dir("")) == ["seen", "zarr.json"] and store.is_empty("hidden")
    assert list(group) == ["seen"]


class Elsewhere:
    """Keys are others than they seem to be."""

    def get(self, key: str, byte_range: Any = None) -> Any:
        return super().get(f"below/{key}", byte_range)  # type: ignore[misc]

    def set(self, key: str, value: Any) -> None:
        super().set(f"below/{key}", value)  # type: ignore[misc]

    def delete(self, key: str) -> None:
        super().delete(f"below/{key}")  # type: ignore[misc]

    def list(self) -> Iterator[str]:
        keys: Iterator[str] = super().list()  # type: ignore[misc]
        return (key.removeprefix("below/") for key in keys)


class ElsewhereLocal(Elsewhere, LocalStore):
    pass


class ElsewhereMemory(Elsewhere, MemoryStore):
    pass


class ElsewhereFsspec(Elsewhere, FsspecStore):
    pass


class ElsewhereWrapper(Elsewhere, WrapperStore):
    pass


OTHER_KEYS: dict[str, Callable[[Path], Store]] = {
    "local": lambda path: ElsewhereLocal(path),
    "memory": lambda path: ElsewhereMemory(),
    "fsspec": lambda path: ElsewhereFsspec.from_url(f"file://{path}"),
    "wrapped memory": lambda path: ElsewhereWrapper(MemoryStore()),
    "wrapped local": lambda path: ElsewhereWrapper(LocalStore(path)),
    "wrapped twice": lambda path: WrapperStore(ElsewhereWrapper(LocalStore(path))),
}


@pytest.mark.parametrize("kind", OTHER_KEYS)
@pytest.mark.parametrize("dtype", ["i4", "str"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_with_other_keys_is_not_gone(
    kind: str, dtype: str, zarr_format: Any, tmp_path: Path
) -> None:
    """An absent chunk was an error, since nothing lay below the array's path in the store underneath."""
    if kind == "fsspec":
        pytest.importorskip("fsspec")
    group = zarrcore.create_group(OTHER_KEYS[kind](tmp_path), zarr_format=zarr_format)
    options: Any = {"shape": 6, "chunks": 2, "dtype": dtype, "fill_value": 7 if dtype == "i4" else "7"}
    array = group.create_array("a/b", **options)
    array[2:4] = [1, 2] if dtype == "i4" else ["1", "2"]
    expected = [*map(type(array[0]), [7, 7, 1, 2, 7, 7])]
    assert [*array[:]] == expected
    group.move("a", "moved")
    assert [*group["moved/b"][:]] == expected
    group["moved/b"].resize(3)
    group["moved/b"].resize(6)
    assert [*group["moved/b"][:]] == [*expected[:3], *expected[4:], expected[0]]


@pytest.mark.parametrize("dtype", ["i4", "str"])
def test_an_array_that_is_removed_from_under_a_wrapper_is_gone(dtype: str, tmp_path: Path) -> None:
    class Watching(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            return super().get(key, byte_range)

    values: dict[str, Any] = {}
    for store, remove in (
        (MemoryStore(values), values.clear),
        (LocalStore(tmp_path), lambda: shutil.rmtree(tmp_path)),
    ):
        array = zarrcore.create_array(Watching(store), name="a", shape=6, chunks=2, dtype=dtype)
        array[:] = 1 if dtype == "i4" else "1"
        remove()
        with pytest.raises(ChunkIOError, match="gone"):
            array[:]


def test_an_array_was_created_where_a_users_exists_finds_one() -> None:
    class Shown(MemoryStore):
        def exists(self, key: str) -> bool:
            return super().exists(f"shown/{key}")

        def get(self, key: str, byte_range: Any = None) -> bytes | None:
            return super().get(f"shown/{key}", byte_range)

    class OnlyExists(MemoryStore):
        def exists(self, key: str) -> bool:
            asked.append(key)
            return super().exists(key)

    values: dict[str, Any] = {}
    zarrcore.create_array(MemoryStore(values), name="shown/a", shape=4, dtype="i4")
    with pytest.raises(ContainsArrayError):
        zarrcore.create_array(Shown(values), name="a", shape=4, dtype="i4")
    asked: list[str] = []
    zarrcore.create_array(OnlyExists(values), name="b", shape=4, dtype="i4")
    assert "b/zarr.json" in asked
