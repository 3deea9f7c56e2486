# SPDX-License-Identifier: MIT
"""A new array reads nothing that a killed removal, or creation, has left at its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ForeignDataError
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.storage import FsspecStore, LocalStore, LoggingStore, MemoryStore, ObjectStore, Store

OLD = np.arange(1, 65).reshape(8, 8)
DOCUMENTS = (".zarray", ".zattrs", "zarr.json")
LAYOUTS: dict[str, dict[str, Any]] = {
    "format 3": {"zarr_format": 3},
    "format 3, keys of format 2": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    "format 2": {"zarr_format": 2},
    "format 2, nested": {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "shards": {"chunks": (1, 1), "shards": (2, 2)},
    "one chunk": {"chunks": (8, 8)},
}
STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda path: MemoryStore(),
    "full memory": lambda path: MemoryStore({f"other/{n}": b"" for n in range(5000)}),
    "local": LocalStore,
    "wrapper": lambda path: LoggingStore(MemoryStore()),
    "fsspec, local": lambda path: FsspecStore.from_url(f"file://{path}"),
    "fsspec, memory": lambda path: FsspecStore.from_url(f"memory://{path.name}"),
    "obstore": lambda path: ObjectStore(pytest.importorskip("obstore.store").MemoryStore()),
}


@dataclass(frozen=True)
class Flat(ChunkKeyEncoding):
    """An encoding of a user's, which cannot be read backwards."""

    name = "example.left_over"

    def encode(self, coords: tuple[int, ...]) -> str:
        return "chunk_" + "_".join(map(str, coords))


def created(store: Store, layout: dict[str, Any], path: str = "a", **options: Any) -> zarrcore.Array:
    words = {"shape": (8, 8), "chunks": (2, 2), "dtype": "i4", "fill_value": 0, **layout, **options}
    return zarrcore.create_array(store, name=path, **words)


def forget(store: Store, path: str = "a") -> None:
    """Leave what a removal that was killed leaves: documents go first."""
    for name in DOCUMENTS:
        store.delete(f"{path}/{name}" if path else name)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param.startswith("fsspec"):
        pytest.importorskip("fsspec")
    store = STORES[request.param](tmp_path)
    yield store
    store.clear()


@pytest.mark.parametrize("path", ["a", "", "x/y"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_array_does_not_read_chunks_that_were_left(store: Store, layout: str, path: str) -> None:
    created(store, LAYOUTS[layout], path)[...] = OLD
    forget(store, path)
    said = r"chunks of an array without a document.*overwrite.*document under '.*'$"
    with pytest.raises(ForeignDataError, match=said):
        created(store, LAYOUTS[layout], path)
    with pytest.raises(zarrcore.errors.NodeNotFoundError):
        zarrcore.open_array(store, path=path)
    array = created(store, LAYOUTS[layout], path, overwrite="all")
    assert not array[...].any()
    assert array.nchunks_initialized == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_chunk_that_was_left_is_enough(store: Store, layout: str) -> None:
    created(store, LAYOUTS[layout])[-1:, -1:] = 7
    forget(store)
    with pytest.raises(ForeignDataError):
        created(store, LAYOUTS[layout])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_things_at_the_place_are_no_hindrance(store: Store, layout: str) -> None:
    for name in ("a/README.txt", "a/c.txt", "a/0x0", "a/sub/0.0", "a/c/notes", "a/0/x", "a/00.00"):
        store.set(name, b"somebody's")
    assert not created(store, LAYOUTS[layout])[...].any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_that_is_there_is_named_and_not_its_chunks(store: Store, layout: str) -> None:
    created(store, LAYOUTS[layout])[...] = OLD
    with pytest.raises(zarrcore.errors.ContainsArrayError):
        created(store, LAYOUTS[layout])
    np.testing.assert_array_equal(zarrcore.open_array(store, path="a")[...], OLD)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_chunks_beyond_the_end_are_not_read_when_the_array_grows(store: Store, layout: str) -> None:
    created(store, LAYOUTS[layout])[...] = OLD
    forget(store)
    try:
        array = created(store, LAYOUTS[layout], shape=(0, 8))
    except ForeignDataError:
        return
    array.append(np.zeros((1, 8), "i4"))
    array.resize((8, 8))
    assert not array[...].any()


def test_hierarchies_do_not_read_chunks_that_were_left(store: Store) -> None:
    metadata = created(store, {}).metadata
    zarrcore.open_array(store, path="a")[...] = OLD
    forget(store)
    with pytest.raises(ForeignDataError):
        dict(zarrcore.create_hierarchy(store=store, nodes={"a": metadata}))


def test_values_that_come_with_an_array_replace_chunks_that_were_left(store: Store) -> None:
    created(store, {})[...] = OLD
    forget(store)
    created(store, {}, shape=None, dtype=None, data=np.pad(-OLD[:2, :2], ((0, 6), (0, 6))))
    assert not zarrcore.open_array(store, path="a")[2:].any()


@pytest.mark.parametrize("shape", [(8, 8), (100_000, 100_000)])
def test_keys_that_cannot_be_read_backwards(shape: tuple[int, int], tmp_path: Path) -> None:
    for store in (MemoryStore(), LocalStore(tmp_path)):
        layout = {"chunk_key_encoding": Flat(), "shape": shape}
        created(store, layout)[:2, :2] = 7
        forget(store)
        with pytest.raises(ForeignDataError):
            created(store, layout)
        store.clear()
        assert not created(store, layout)[:8, :8].any()


def test_a_store_that_may_not_list_is_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    store = FsspecStore.from_url("memory://may-not-list")

    def refuse(*args: object) -> Any:
        raise PermissionError("no listing")

    monkeypatch.setattr(FsspecStore, "list_dir", refuse)
    monkeypatch.setattr(FsspecStore, "_concurrent_requests", lambda self: 2)
    monkeypatch.setattr(FsspecStore, "_is_near", False)
    assert not created(store, {})[...].any()


def test_chunks_in_an_archive(tmp_path: Path) -> None:
    store = zarrcore.storage.ZipStore(tmp_path / "a.zip", mode="w")
    store.set("a/c/0/0", bytes(16))
    with pytest.raises(ForeignDataError):
        created(store, {})
    assert not created(store, {}, "b")[...].any()
    store.close()


@pytest.mark.parametrize("how", ["del", "overwrite"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_left_in_a_group_is_removed(store: Store, layout: str, how: str) -> None:
    zarr_format = LAYOUTS[layout].get("zarr_format", 3)
    group = zarrcore.create_group(store, path="g", zarr_format=zarr_format)
    created(store, LAYOUTS[layout], "g/a")[...] = OLD
    forget(store, "g/a")
    if zarr_format == 2:
        store.set("g/a/.zattrs", b"{}")  # the document goes before it
    if how == "del":
        del group["a"]
        assert store.is_empty("g/a")
        with pytest.raises(KeyError):
            del group["a"]
    else:
        assert not created(store, LAYOUTS[layout], "g/a", overwrite=True)[...].any()


@pytest.mark.parametrize(
    "names", [["1", "2", "a"], ["0.0", "0.0.0"], ["0/0", "0.1"], ["01", "02"], ["1.0/bin"]]
)
def test_other_files_in_a_group_are_not_removed(store: Store, names: list[str]) -> None:
    group = zarrcore.create_group(store, zarr_format=2)
    for name in names:
        store.set(f"a/{name}", b"somebody's")
    with pytest.raises(KeyError):
        del group["a"]
    with pytest.raises(ForeignDataError):
        created(store, {"zarr_format": 2}, overwrite=True)
    assert not store.is_empty("a")


def test_files_outside_of_groups_are_not_removed(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / str(n)).write_text("a mail")
    with pytest.raises(ForeignDataError):
        created(LocalStore(tmp_path), {"zarr_format": 2}, "", overwrite=True)
