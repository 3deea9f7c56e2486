"""An array whose directory is removed while it is open: what is not there is not taken for the fill value."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError, ChunkIOError, NodeNotFoundError, StoreError
from zarrcore.storage import FsspecStore, LocalStore, ManagedMemoryStore, MemoryStore, WrapperStore, files

KINDS = {
    "v3": {"dtype": "i4"},
    "v2": {"dtype": "i4", "zarr_format": 2},
    "shards": {"dtype": "i4", "shards": (4, 4)},
    "strings": {"dtype": "string"},
    "python codec": {"dtype": "i4", "filters": {"name": "bitround", "configuration": {"keepbits": 20}}},
}
READS = {
    "one": lambda array: array[1, 2],
    "slice": lambda array: array[1:3, ::-1],
    "all": lambda array: array[...],
    "points": lambda array: array.vindex[[0, 3], [1, 7]],
    "many": lambda array: array.oindex[[0, 3, 7], [1, 7]],
    "batch": lambda array: array.read_many([np.s_[0:2], np.s_[3, 1:5]])[0],
}


@pytest.fixture(params=KINDS)
def array(request, tmp_path):
    array = zarrcore.create_array(tmp_path, name="g/a", shape=(8, 8), chunks=(2, 2), **KINDS[request.param])
    array[:4] = np.ones((4, 8), "i4").astype(str if request.param == "strings" else "i4")
    return array


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("how", ["removed", "dangling"])
def test_reads_of_what_is_gone(array, tmp_path, read, how):
    expected = READS[read](array)
    shutil.move(tmp_path / "g" / "a", tmp_path / "elsewhere")
    if how == "dangling":
        if os.name == "nt":
            pytest.skip("links need a privilege there")
        os.symlink(tmp_path / "nowhere", tmp_path / "g" / "a")
    reason = {"removed": "the directory of the array is gone", "dangling": "a symbolic link .*nothing"}[how]
    with pytest.raises(ChunkIOError, match=f"array 'g/a'.*{reason}"):
        READS[read](array)
    if how == "dangling":
        os.unlink(tmp_path / "g" / "a")
    shutil.move(tmp_path / "elsewhere", tmp_path / "g" / "a")
    assert np.array_equal(READS[read](array), expected)


def test_chunks_that_are_absent_still_read_as_the_fill_value(array, tmp_path):
    assert len(set(np.ravel(array[4:]).tolist())) == 1
    shutil.rmtree(tmp_path / "g" / "a" / "c", ignore_errors=True)
    for name in os.listdir(tmp_path / "g" / "a"):
        if name[0].isdigit():
            os.unlink(tmp_path / "g" / "a" / name)
    assert len(set(np.ravel(array[...]).tolist())) == 1


def test_an_array_at_the_root_of_its_store(tmp_path):
    array = zarrcore.create_array(tmp_path / "a", shape=8, chunks=2, dtype="i4", fill_value=3)
    assert array[...].tolist() == [3] * 8
    shutil.rmtree(tmp_path / "a")
    for read in (lambda: array[...], lambda: array[5]):
        with pytest.raises(ChunkIOError, match="gone"):
            read()


STORES = {
    "memory": lambda tmp_path: MemoryStore(),
    "managed": lambda tmp_path: ManagedMemoryStore(path="inside"),
    "python": lambda tmp_path: WrapperStore(MemoryStore()),
    "local": LocalStore,
    "local in python": lambda tmp_path: WrapperStore(LocalStore(tmp_path)),
    "fsspec": lambda tmp_path: FsspecStore.from_url(f"file://{tmp_path}"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STORES)
def test_an_array_that_another_handle_removed(tmp_path, name, kind):
    if name == "fsspec":
        pytest.importorskip("fsspec")
    store = STORES[name](tmp_path)
    array = zarrcore.create_array(store, name="g/a", shape=(8, 8), chunks=(2, 2), **KINDS[kind])
    empty = array[...]
    for read in READS.values():
        read(array)  # fill values, as long as the array is there
    del zarrcore.open_group(store, mode="r+")["g/a"]
    for read in READS.values():
        with pytest.raises(ArrayNotFoundError, match="array 'g/a' is no longer"):
            read(array)
    zarrcore.create_array(store, name="g/a", shape=(8, 8), chunks=(2, 2), **KINDS[kind])
    assert np.array_equal(array[...], empty)


def test_what_is_known_from_consolidated_metadata_alone_is_not_gone():
    store = MemoryStore()
    root = zarrcore.create_group(store)
    root.create_array("a", shape=4, chunks=2, dtype="i4", fill_value=3)[0] = 1
    zarrcore.consolidate_metadata(store)
    store.delete("a/zarr.json")
    assert zarrcore.open_consolidated(store)["a"][...].tolist() == [1, 3, 3, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", ["local", "local in python", "fsspec"])
@pytest.mark.parametrize("place", ["c", "c/0"])
def test_a_file_in_the_place_of_a_directory_of_chunks(tmp_path, store, kind, place):
    """Nobody knows what the chunks held: neither fill values, nor is anything written."""
    if store == "fsspec":
        pytest.importorskip("fsspec")
    options = dict(KINDS[kind])
    if kind == "v2":
        place, options["chunk_key_encoding"] = "0", {"name": "v2", "separator": "/"}
    array = zarrcore.create_array(STORES[store](tmp_path), shape=(8, 8), chunks=(2, 2), **options)
    empty = array[:2]
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_bytes(b"a file")
    for read in (lambda: array[0, 1], lambda: array[:2], lambda: array[...], lambda: array.vindex[[0], [7]]):
        with pytest.raises(
            (ChunkIOError, StoreError), match="in the place of a directory above it|Not a dir"
        ):
            read()
    with pytest.raises((ChunkIOError, StoreError)):
        array[0, 0] = "x" if kind == "strings" else 1
    (tmp_path / place).unlink()
    assert np.array_equal(array[:2], empty)


def test_the_repr_of_what_is_gone():
    root = zarrcore.create_group({})
    array = root.create_array("a", shape=3, dtype="i4")
    del root["a"]
    assert repr(array).endswith("/a shape=(3,) dtype=int32 chunks=(3,)>")


@pytest.mark.parametrize("name", ["local", "local in python", "fsspec"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_read", [False, True])
def test_an_array_that_another_process_has_begun_to_remove(tmp_path, name, kind, has_read):
    """A removal begins with the document: what was absent after it read as the fill value."""
    if name == "fsspec":
        pytest.importorskip("fsspec")
    store = STORES[name](tmp_path)
    array = zarrcore.create_array(store, name="g/a", shape=(8, 8), chunks=(2, 2), **KINDS[kind])
    array[0, 0] = array[0, 0] if kind == "strings" else 0
    if has_read:
        array[...]
    document = tmp_path / "g" / "a" / (".zarray" if kind == "v2" else "zarr.json")
    removed = document.rename(tmp_path / "removed")
    for read in READS.values():
        with pytest.raises(ChunkIOError, match=r"array 'g/a'.*(metadata|the array is gone)"):
            read(array)
    removed.rename(document)
    array[...]


OPENED = {
    "open_array": lambda store: zarrcore.open_array(store, path="g/a"),
    "open": lambda store: zarrcore.open(store, path="g/a", mode="r"),
    "member": lambda store: zarrcore.open_group(store)["g/a"],
    "members": lambda store: dict(zarrcore.open_group(store).members(max_depth=None))["g/a"],
    "with settings": lambda store: zarrcore.open_array(store, path="g/a").with_config({"order": "C"}),
}


@pytest.mark.parametrize("name", ["memory", *STORES])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opened", OPENED)
def test_an_array_whose_removal_began_between_opening_it_and_the_first_read(tmp_path, name, kind, opened):
    """Chunks that were gone read as the fill value: when the engine was compiled there was no document."""
    if name == "fsspec":
        pytest.importorskip("fsspec")
    store = MemoryStore() if name == "memory" else STORES[name](tmp_path)
    made = zarrcore.create_array(store, name="g/a", shape=(8, 8), chunks=(2, 2), **KINDS[kind])
    made[0, 0] = made[0, 0] if kind == "strings" else 0
    arrays = [OPENED[opened](store) for _ in READS]
    document = "g/a/" + (".zarray" if kind == "v2" else "zarr.json")
    store.delete(document)
    for array, read in zip(arrays, READS.values(), strict=True):
        with pytest.raises(ChunkIOError, match=r"array 'g/a'.*(metadata|the array is gone)"):
            read(array)


def test_what_consolidated_metadata_of_a_directory_alone_name_is_read(tmp_path):
    root = zarrcore.create_group(tmp_path, zarr_format=2)
    root.create_array("a", shape=4, chunks=2, dtype="i4", fill_value=3)[0] = 1
    zarrcore.consolidate_metadata(tmp_path)
    (tmp_path / "a" / ".zarray").unlink()
    assert zarrcore.open_consolidated(tmp_path)["a"][...].tolist() == [1, 3, 3, 3]


@pytest.mark.parametrize(
    "change",
    [
        lambda array: array.resize((2,)),
        lambda array: array.attrs.update(a=1),
        lambda array: array.append([1]),
    ],
    ids=["resize", "attributes", "append"],
)
def test_a_directory_that_goes_while_its_document_is_written(
    change: Callable[[zarrcore.Array], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a bare error of the system."""
    array = zarrcore.create_array(tmp_path / "a", shape=4, dtype="i4")
    write = files.write_file

    def gone(path: str, *args: Any, **options: Any) -> bool:
        if path.endswith("zarr.json"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return write(path, *args, **options)

    monkeypatch.setattr(files, "write_file", gone)
    with pytest.raises(NodeNotFoundError, match=r"node '/' in .*/a was removed while it was written to"):
        change(array)


def test_a_key_that_goes_while_it_is_copied() -> None:
    class Forgetful(MemoryStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            return None if key.endswith("zarr.json") else super().get(key, byte_range)

    values: dict[str, bytes] = {}
    zarrcore.create_array(values, name="a", shape=4, dtype="i4")
    with pytest.raises(NodeNotFoundError, match=r"'a/zarr\.json' vanished from .* while it was copied"):
        zarrcore.copy_store(Forgetful(values), {})
