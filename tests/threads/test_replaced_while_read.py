"""A read of several chunks while somebody puts another array in the place of the one that is read."""

from __future__ import annotations

import asyncio
import os
import pickle
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays.opened import OpenArray
from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.errors import ArrayNotFoundError, ChunkIOError, CopyError
from zarrcore.nodes import documents
from zarrcore.registry import register_codec
from zarrcore.storage import FsspecStore, LocalStore, MemoryStore, ObjectStore, WrapperStore, ZipStore


@dataclass(frozen=True)
class Interrupted(BytesBytesCodec):
    """Calls a function while it decodes the first chunk of a read."""

    name: ClassVar[str] = "tests.replaced-while-read"
    meanwhile: ClassVar[list[Callable[[], object]]] = []

    def encode(self, data: Any, spec: Any) -> bytes:
        return bytes(data)

    def decode(self, data: Any, spec: Any, max_size: int | None = None) -> bytes:
        if self.meanwhile:
            self.meanwhile.pop()()
        return bytes(data)


@pytest.fixture(autouse=True)
def codec() -> Iterator[None]:
    register_codec(Interrupted.name, Interrupted)
    yield
    Interrupted.meanwhile.clear()


N = 12
READS: dict[str, Callable[[zarrcore.Array], np.ndarray]] = {
    "indexed": lambda array: array[:],
    "into memory": lambda array: array.read(..., out=np.empty(array.shape, array.dtype), threads=1),
    "points": lambda array: array.vindex[np.arange(array.shape[0])],
    "indices": lambda array: array.oindex[np.arange(0, array.shape[0], 2)],
    "many": lambda array: np.concatenate(array.read_many([np.s_[:5], np.s_[5:]], threads=1)),
    "tolerant": lambda array: array.read(on_error="collect")[0],
    "progress": lambda array: array.read(progress=lambda done, total: None),
}
KINDS: dict[str, dict[str, Any]] = {
    "v3": {"dtype": "i4"},
    "v2": {"dtype": "i4", "zarr_format": 2, "filters": None},
    "shards": {"dtype": "i4", "shards": (4,)},
    "strings": {"dtype": "string"},
}
STORES: dict[str, Callable[[Path], Any]] = {
    "files": LocalStore,
    "dictionary": lambda path: MemoryStore(),
    "python": lambda path: WrapperStore(MemoryStore()),
    "python files": lambda path: WrapperStore(LocalStore(path)),
}


def make(store: Any, name: str | None, value: int | None, n: int = N, kind: str = "v3", **more: Any) -> Any:
    options = {"shape": 2 * n, "chunks": 2, "fill_value": 9, **KINDS[kind], **more}
    if options["dtype"] == "string":
        options["fill_value"] = "9"
    if kind != "v2":
        options["compressors"] = [Interrupted()]
    array = zarrcore.create_array(store, name=name, overwrite=True, **options)
    if value is not None:
        array[...] = np.full(array.shape, value).astype(str if options["dtype"] == "string" else "i4")
    return array


def in_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def values_of(read: Any) -> set[int]:
    return {int(value) for value in np.unique(read)}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", ["v3", "shards", "strings"])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("name", "value"), [(None, 2), ("a", None)])
def test_a_read_was_of_two_arrays_where_another_thread_replaced_one(
    tmp_path: Path, name: str | None, store: str, kind: str, read: str, value: int | None
) -> None:
    at = STORES[store](tmp_path)
    array = make(at, name, 1, kind=kind)
    Interrupted.meanwhile.append(lambda: in_thread(lambda: make(at, name, value, kind=kind)))
    found = values_of(READS[read](array))
    assert not Interrupted.meanwhile
    assert found == {9 if value is None else value}


@pytest.mark.parametrize("read", ["indexed", "many"])
@pytest.mark.parametrize("store", ["files", "dictionary"])
def test_another_kind_of_array_in_its_place_is_an_error(tmp_path: Path, store: str, read: str) -> None:
    at = STORES[store](tmp_path)
    array = make(at, "a", 1)
    Interrupted.meanwhile.append(lambda: in_thread(lambda: make(at, "a", 2, dtype="f4")))
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        READS[read](array)


@pytest.mark.parametrize("how", ["moved", "removed"])
@pytest.mark.parametrize("store", ["files", "dictionary"])
def test_a_node_that_is_moved_to_the_place_or_removed(tmp_path: Path, store: str, how: str) -> None:
    at = STORES[store](tmp_path)
    root = zarrcore.open_group(at, mode="w")
    array = make(at, "a", 1)
    make(at, "b", 2)

    def change() -> None:
        del root["a"]
        if how == "moved":
            root.move("b", "a")

    Interrupted.meanwhile.append(lambda: in_thread(change))
    if how == "moved":
        assert values_of(array[:]) == {2}
    else:
        with pytest.raises((ArrayNotFoundError, ChunkIOError), match=r"no longer|gone|removed"):
            array[:]


def test_an_awaited_read_is_of_one_array(tmp_path: Path) -> None:
    array = make(MemoryStore(), "a", 1)
    at = array.store

    async def read() -> Any:
        return await (await zarrcore.api.asynchronous.open_array(at, path="a")).getitem(slice(None))

    Interrupted.meanwhile.append(lambda: in_thread(lambda: make(at, "a", 2)))
    assert values_of(asyncio.run(read())) == {2}


def test_an_array_that_shrinks_while_it_is_read_has_the_shape_from_before(tmp_path: Path) -> None:
    array = make(tmp_path, "a", 1)
    Interrupted.meanwhile.append(lambda: in_thread(lambda: array.resize((4,))))
    found = array.read(..., threads=1)
    assert found.shape == (2 * N,)
    assert (found[:4] == 1).all()


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", ["v3", "strings"])
@pytest.mark.parametrize("store", STORES)
def test_what_lies_outside_of_a_smaller_array_in_its_place_is_not_what_memory_held(
    tmp_path: Path, store: str, kind: str, read: str
) -> None:
    at = STORES[store](tmp_path)
    array = make(at, "a", 1, kind=kind)
    Interrupted.meanwhile.append(lambda: in_thread(lambda: make(at, "a", 2, 4, kind=kind)))
    try:
        found = READS[read](array)
    except ArrayNotFoundError as error:
        assert "has shrunk from shape" in str(error)  # noqa: PT017  # either will do
        assert "while it was read" in str(error)  # noqa: PT017
    else:
        assert found.shape == (8,)
        assert values_of(found) == {2}


@pytest.mark.parametrize("read", ["indexed", "into memory", "points"])
def test_a_larger_array_in_its_place_is_read(tmp_path: Path, read: str) -> None:
    array = make(tmp_path, "a", 1)
    Interrupted.meanwhile.append(lambda: in_thread(lambda: make(tmp_path, "a", 2, 2 * N)))
    found = READS[read](array)
    assert found.shape == (2 * N,)
    assert values_of(found) == {2}


def test_an_array_that_others_replace_all_the_time_is_an_error(tmp_path: Path) -> None:
    array = make(tmp_path, "a", 1)

    def replace() -> None:
        in_thread(lambda: make(tmp_path, "a", 2))
        Interrupted.meanwhile.append(replace)

    Interrupted.meanwhile.append(replace)
    with pytest.raises(ChunkIOError, match="other arrays keep coming to the place"):
        array[:]
    Interrupted.meanwhile.clear()
    assert values_of(array[:]) == {2}


@pytest.mark.parametrize("chunks", ["keep", (3,)])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", [None, "a"])
def test_a_copy_was_of_two_arrays_where_another_thread_replaced_its_source(
    tmp_path: Path, store: str, name: str | None, chunks: Any
) -> None:
    at = STORES[store](tmp_path)
    array, dest = make(at, name, 1), MemoryStore()
    meanwhile = [lambda: make(at, name, 2)]

    def progress(done: int, total: int) -> None:
        if meanwhile:
            in_thread(meanwhile.pop(0))

    with pytest.raises(CopyError, match="was replaced by another one"):
        zarrcore.from_array(dest, data=array, chunks=chunks, threads=1, progress=progress)
    assert list(dest.list()) == []
    if name:
        meanwhile.append(lambda: make(at, "b", 3))
        assert values_of(zarrcore.from_array(dest, data=array, chunks=chunks, progress=progress)[:]) == {2}


# --- another process: whatever writes files ---


def by_another_process(place: Path, source: Path) -> None:
    """Do as another process does that replaces an array: its document goes first and comes last."""
    (place / document_of(place)).unlink()
    if place.name == "a":
        shutil.rmtree(place)
        place.mkdir()
    else:
        shutil.rmtree(place / "c")
    for path in sorted(source.iterdir(), key=lambda path: path.name == document_of(source)):
        path.rename(place / path.name)


def document_of(place: Path) -> str:
    return next(name for name in ("zarr.json", ".zarray") if (place / name).exists())


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / "x" if request.param == "root" else tmp_path / "x" / "a"


OF_OTHERS: dict[str, Callable[[zarrcore.Array], np.ndarray]] = READS | {
    "one by one": lambda array: np.concatenate(array.read_many([np.s_[:2], np.s_[2:4]], threads=1)),
    "points one by one": lambda array: np.concatenate(array.read_many([[0, 1], [2, 3]], threads=1)),
    "into strides": lambda array: np.concatenate(
        array.read_many([[0, 1], [2, 3]], out=[*np.empty((2, 4), array.dtype)[:, ::2]], threads=1)
    ),
}


@pytest.mark.parametrize("read", OF_OTHERS)
@pytest.mark.parametrize("kind", ["v3", "shards", "strings"])
@pytest.mark.parametrize(
    ("value", "n", "place"),
    [(2, 3, "a"), (2, N, "root"), (None, 3, "root"), (None, N, "a")],
    indirect=["place"],
)
def test_a_read_was_of_two_arrays_where_another_process_replaced_one(
    tmp_path: Path,
    place: Path,
    n: int,
    value: int | None,
    kind: str,
    read: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("zarrcore.arrays.steps.STEP_BYTES", 1)
    array = make(place, None, 1, n, kind)
    make(tmp_path / "other", None, value, n, kind)
    Interrupted.meanwhile.append(lambda: by_another_process(place, tmp_path / "other"))
    found = OF_OTHERS[read](array)
    assert not Interrupted.meanwhile
    assert values_of(found) == {9 if value is None else value}


@pytest.mark.parametrize("kind", ["v3", "shards", "strings"])
def test_the_handle_that_an_array_was_created_with_read_of_two_arrays(tmp_path: Path, kind: str) -> None:
    """Its engine had written the values before there was a document to compare."""
    options = KINDS[kind] | {"chunks": 2, "fill_value": "9" if kind == "strings" else 9}
    dtype = "U1" if options.pop("dtype") == "string" else "i4"
    for name, value in (("other", 2), ("a", 1)):
        array = zarrcore.create_array(tmp_path / name, data=np.full(12, value).astype(dtype), **options)
    meanwhile = [lambda: by_another_process(tmp_path / "a", tmp_path / "other")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("zarrcore.arrays.steps.STEP_BYTES", 1)
        found = array.read(progress=lambda done, total: meanwhile and meanwhile.pop()())
    assert values_of(found) == {2}


@pytest.mark.parametrize("read", ["indexed", "points"])
@pytest.mark.parametrize("kind", ["v3", "shards"])
@pytest.mark.parametrize("place", ["root", "a"], indirect=True)
def test_chunks_that_neither_of_two_arrays_lacks_were_fill_values(
    tmp_path: Path, place: Path, kind: str, read: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk was looked for after the old array had gone, and its document when there was a new one."""
    array = make(place, None, 1, 3, kind)
    make(tmp_path / "other", None, 2, 3, kind)
    look = OpenArray.engine_after

    def replace() -> None:
        by_another_process(place, tmp_path / "other")
        (place / "c").rename(tmp_path / "later")

    def once_there(opened: OpenArray, *args: Any, **options: Any) -> Any:
        (tmp_path / "later").rename(place / "c")
        return look(opened, *args, **options)

    Interrupted.meanwhile.append(replace)
    monkeypatch.setattr(OpenArray, "engine_after", once_there)
    found = values_of(READS[read](array))
    assert found == {2}


class Replaced(LocalStore):
    """A store of a user in which another process replaces an array after so many chunks were asked for."""

    chunks_left = 0
    meanwhile: Callable[[], object]

    def get(self, key: str, byte_range: Any = None) -> Any:
        found = super().get(key, byte_range)
        self.chunks_left -= "/c/" in key
        if self.chunks_left == 0 and "/c/" in key:
            self.meanwhile()
        return found


@pytest.mark.parametrize("read", ["indexed", "points", "many", "tolerant"])
@pytest.mark.parametrize("kind", ["v3", "shards", "strings"])
@pytest.mark.parametrize("wraps", [False, True])
def test_a_read_through_a_store_of_a_user_was_of_two_arrays(
    tmp_path: Path, kind: str, wraps: bool, read: str
) -> None:
    place = tmp_path / "x" / "a"
    for asked in range(1, 8):
        make(place, None, 1, 3, kind)
        make(tmp_path / "other", None, 2, 3, kind)
        store = Replaced(tmp_path / "x", read_only=True)
        array = zarrcore.open_array(WrapperStore(store) if wraps else store, path="a", mode="r")
        store.chunks_left, store.meanwhile = asked, lambda: by_another_process(place, tmp_path / "other")
        assert values_of(READS[read](array)) in ({1}, {2})
        if store.chunks_left > 0:
            break
    assert asked > 2


def of_zarr_python(make_one: Callable[[Any, Path], Any]) -> Callable[[Path], Any]:
    return lambda path: make_one(pytest.importorskip("zarr.storage"), path)


OTHER_STORES: dict[str, Callable[[Path], Any]] = {
    "wrapper": lambda path: WrapperStore(LocalStore(path)),
    "read-only": lambda path: LocalStore(path).with_read_only(True),
    "fsspec": lambda path: pytest.importorskip("fsspec") and FsspecStore.from_url(f"file://{path}"),
    "obstore": lambda path: ObjectStore(pytest.importorskip("obstore").store.LocalStore(str(path))),
    "zarr-python": of_zarr_python(lambda storage, path: storage.LocalStore(path)),
    "a wrapper of zarr-python": of_zarr_python(
        lambda storage, path: storage.WrapperStore(storage.LocalStore(path))
    ),
    "fsspec by zarr-python": of_zarr_python(
        lambda storage, path: storage.FsspecStore.from_url(f"file://{path}")
    ),
}


@pytest.mark.parametrize("kind", ["v3", "v2", "shards", "strings"])
@pytest.mark.parametrize("store", OTHER_STORES)
def test_a_read_of_files_through_another_store_was_of_two_arrays(
    tmp_path: Path, store: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrcore.arrays.steps.STEP_BYTES", 1)
    place = tmp_path / "x" / "a"
    make(place, None, 1, 3, kind)
    make(tmp_path / "other", None, 2, 3, kind)
    array = zarrcore.open_array(OTHER_STORES[store](tmp_path / "x"), path="a", mode="r")
    meanwhile = [lambda: by_another_process(place, tmp_path / "other")]
    found = array.read(progress=lambda done, total: meanwhile and meanwhile.pop()())
    assert not meanwhile
    assert values_of(found) == {2}


def test_a_dictionary_that_another_package_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrcore.arrays.steps.STEP_BYTES", 1)
    values: dict[str, bytes] = {}
    other: dict[str, bytes] = {}
    for kind in KINDS:
        array = make(MemoryStore(values), "a", 1, 3, kind)
        make(MemoryStore(other), "a", 2, 3, kind)
        meanwhile = [lambda: values.update({key: bytes(bytearray(value)) for key, value in other.items()})]
        found = array.read(progress=lambda done, total, todo=meanwhile: todo and todo.pop()())
        assert values_of(found) == {2}


def copied_over(place: Path, source: Path) -> None:
    """Put other files into the directories of an array, and the same document once more."""
    shutil.copytree(source, place, dirs_exist_ok=True)


def copied_while(array: zarrcore.Array, chunks: Any, change: Callable[[], object]) -> Any:
    meanwhile = [change]

    def progress(done: int, total: int) -> None:
        if meanwhile:
            meanwhile.pop()()

    return zarrcore.from_array(MemoryStore(), data=array, chunks=chunks, threads=1, progress=progress)[:]


@pytest.mark.parametrize("chunks", ["keep", (3,)])
@pytest.mark.parametrize(
    ("how", "attributes"), [(by_another_process, {}), (by_another_process, {"new": 1}), (copied_over, {})]
)
@pytest.mark.parametrize("place", ["root", "a"], indirect=True)
def test_a_copy_was_of_two_arrays_where_another_process_replaced_its_source(
    tmp_path: Path, place: Path, attributes: dict[str, int], how: Any, chunks: Any
) -> None:
    array = make(place, None, 1)
    make(tmp_path / "other", None, 2, attributes=attributes)
    with pytest.raises(CopyError, match="was replaced by another one"):
        copied_while(array, chunks, lambda: how(place, tmp_path / "other"))


@pytest.mark.parametrize("chunks", ["keep", (3,)])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copy_goes_on_while_another_process_changes_attributes_and_appends(
    tmp_path: Path, zarr_format: Any, chunks: Any
) -> None:
    values = np.arange(24, dtype="i4")
    array = zarrcore.create_array(tmp_path, data=values, chunks=2, zarr_format=zarr_format)
    other = tmp_path.parent / f"{tmp_path.name}-other"
    shutil.copytree(tmp_path, other)

    def change() -> None:
        handle = zarrcore.open_array(other)
        handle.append(values)
        handle.attrs["new"] = 1
        for document in ("zarr.json", ".zarray", ".zattrs"):
            if (other / document).exists():
                (other / document).rename(tmp_path / document)

    np.testing.assert_array_equal(copied_while(array, chunks, change), values)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("store", ["wrapper", "fsspec", "obstore", "zarr-python"])
def test_a_copy_of_keys_was_of_two_arrays(tmp_path: Path, store: str, zarr_format: int) -> None:
    kind, place, dest = {2: "v2", 3: "v3"}[zarr_format], tmp_path / "x" / "a", MemoryStore()
    zarrcore.create_group(tmp_path / "x", zarr_format=zarr_format)
    make(place, None, 1, 3, kind)
    make(tmp_path / "other", None, 2, 3, kind)
    source = OTHER_STORES[store](tmp_path / "x")
    change: list[Callable[[], object]] = []

    def progress(done: int, total: int) -> None:
        if change:
            change.pop()()

    for replace in (
        lambda: by_another_process(place, tmp_path / "other"),
        lambda: zarrcore.open_array(place).append(np.full(2, 2, "i4")),
    ):
        change.append(replace)
        with pytest.raises(CopyError, match="'a' was replaced by another one, or has another shape"):
            zarrcore.copy_store(source, dest, threads=1, if_exists="replace", progress=progress)
    change.append(lambda: zarrcore.open_array(place).attrs.put({"n": 1}))
    zarrcore.copy_store(source, dest, threads=1, if_exists="replace", progress=progress)
    assert values_of(zarrcore.open_array(dest, path="a")[:]) == {2}


@pytest.mark.parametrize("chunks", ["keep", (3,)])
@pytest.mark.parametrize("store", ["wrapper", "fsspec", "obstore", "zarr-python"])
def test_a_copy_through_another_store_was_of_two_arrays(tmp_path: Path, store: str, chunks: Any) -> None:
    place = tmp_path / "x" / "a"
    make(place, None, 1)
    make(tmp_path / "other", None, 2)
    array = zarrcore.open_array(OTHER_STORES[store](tmp_path / "x"), path="a", mode="r")
    with pytest.raises(CopyError, match="was replaced by another one"):
        copied_while(array, chunks, lambda: by_another_process(place, tmp_path / "other"))


def test_a_copy_of_an_array_that_another_process_replaces_by_another_kind(tmp_path: Path) -> None:
    array = make(tmp_path / "a", None, 1)
    make(tmp_path / "b", None, 2, dtype="f4")
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        copied_while(array, "keep", lambda: copied_over(tmp_path / "a", tmp_path / "b"))


def test_an_archive_that_another_process_replaces_by_renaming_is_read_as_it_was(tmp_path: Path) -> None:
    for name, value in (("old.zip", 1), ("new.zip", 2)):
        with ZipStore(tmp_path / name, mode="w") as archive:
            make(archive, None, value)
    array = zarrcore.open_array(tmp_path / "old.zip", mode="r")
    Interrupted.meanwhile.append(lambda: (tmp_path / "new.zip").rename(tmp_path / "old.zip"))
    assert values_of(array[:]) == values_of(array[:4]) == {1}
    assert values_of(zarrcore.open_array(tmp_path / "old.zip", mode="r")[:]) == {2}


def test_a_handle_of_an_array_that_another_process_has_replaced_by_another_kind(tmp_path: Path) -> None:
    """Its chunks were decoded as the old array had them, where many are read."""
    array = make(tmp_path / "a", None, 1)
    shutil.rmtree(tmp_path / "a")
    make(tmp_path / "b", None, 2, dtype="f4").store.close()
    (tmp_path / "b").rename(tmp_path / "a")
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        array[:]


FIRST = {
    "read of one chunk": lambda array: array[2],
    "read": lambda array: array[:],
    "points": lambda array: array.vindex[[0, 5]],
    "write": lambda array: array.__setitem__(slice(0, 2), 3),
    "writer": lambda array: array.writer().__enter__().__setitem__(slice(0, 2), 3),
    "copied": lambda array: zarrcore.from_array({}, data=array),
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("how", "opened created pickled pickled-after configured member copy".split())
def test_an_array_that_was_replaced_before_its_first_use(tmp_path: Path, how: str, first: str) -> None:
    """Its chunks were read, and written, as the array had them that was there when it was opened."""
    array = make(tmp_path / "g", "a", 1, compressors=None)
    if how == "created":
        array = make(tmp_path / "g", "a", None, compressors=None)
    elif how != "pickled-after":
        array = zarrcore.open_array(tmp_path / "g" / "a")
    if how == "configured":
        array = array.with_config({"write_empty_chunks": True})
    if how == "copy":
        array = zarrcore.consolidate_metadata(tmp_path / "g")["a"]
    if how == "member":
        array = zarrcore.open_group(tmp_path / "g")["a"]
    text = pickle.dumps(array)
    make(tmp_path / "b", None, 2, dtype="f4", compressors=None)
    by_another_process(tmp_path / "g" / "a", tmp_path / "b")
    if how.startswith("pickled"):
        array = pickle.loads(text)
    with pytest.raises((ArrayNotFoundError, CopyError), match="replaced by another one"):
        FIRST[first](array)
    assert values_of(zarrcore.open_array(tmp_path / "g" / "a")[:]) == {2}


OF_FILES: dict[str, Callable[[Path], Any]] = {
    "wrapped": lambda path: WrapperStore(LocalStore(path)),
    "fsspec": lambda path: FsspecStore(pytest.importorskip("fsspec").filesystem("file"), path=str(path)),
    "obstore": lambda path: ObjectStore(pytest.importorskip("obstore.store").LocalStore(path)),
    "archive": lambda path: ZipStore(path.with_suffix(".zip")),
}


@pytest.mark.parametrize("store", OF_FILES)
def test_files_by_another_store_that_were_replaced_before_their_first_use(tmp_path: Path, store: str) -> None:
    for name, dtype in (("a", "i4"), ("b", "f4")):
        make(tmp_path / name, None, 1, dtype=dtype, compressors=None)
        with ZipStore(tmp_path / f"{name}.zip", mode="w") as archive:
            zarrcore.copy_store(LocalStore(tmp_path / name), archive)
    array = zarrcore.open_array(OF_FILES[store](tmp_path / "a"), mode="r")
    by_another_process(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b.zip").replace(tmp_path / "a.zip")
    array.store.close()
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        array[2]


OPENINGS: dict[str, Callable[[Path], Any]] = {
    "opened": lambda root: zarrcore.open_array(root, path="a"),
    "member": lambda root: zarrcore.open_group(root, use_consolidated=False)["a"],
    "consolidated": lambda root: zarrcore.open_group(root, use_consolidated=True)["a"],
    "listed": lambda root: dict(zarrcore.open_group(root, use_consolidated=False).arrays())["a"],
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_was_replaced_after_its_document_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zarr_format: int, opening: str
) -> None:
    """The version that was noted was that of the other array's document: nothing was different later."""
    root = zarrcore.create_group(tmp_path / "root", zarr_format=zarr_format)
    make(root.store, "a", 1, compressors=None, kind=f"v{zarr_format}")
    make(tmp_path / "b", None, 2, dtype="f4", compressors=None, kind=f"v{zarr_format}")
    with warnings.catch_warnings(action="ignore"):
        zarrcore.consolidate_metadata(root.store)
    parse, is_late = documents.parse, [False]

    def replaced(zarr_format: int, values: dict[str, Any], *, path: str) -> Any:
        if path == "a" and values and not is_late[0]:
            is_late[0] = True
            by_another_process(tmp_path / "root" / "a", tmp_path / "b")
        return parse(zarr_format, values, path=path)

    monkeypatch.setattr(documents, "parse", replaced)
    array = OPENINGS[opening](tmp_path / "root")
    assert is_late[0]
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        array[0]


def test_attributes_and_rows_of_others_before_the_first_use_are_no_replacement(tmp_path: Path) -> None:
    make(tmp_path / "a", None, 1, compressors=None)
    arrays = [zarrcore.open_array(tmp_path / "a") for _ in range(2)]
    arrays[1] = pickle.loads(pickle.dumps(arrays[1]))
    make(tmp_path / "b", None, 1, compressors=None, attributes={"n": 1}).append(np.full(2, 5, "i4"))
    by_another_process(tmp_path / "a", tmp_path / "b")
    for array in arrays:
        array[0] = 3
        assert array[:].tolist() == [3, *[1] * (2 * N - 1)]


def test_attributes_and_rows_of_another_process_are_no_replacement(tmp_path: Path) -> None:
    """A sparse array whose document changes each time that it is read."""
    array = make(tmp_path / "a", None, None)
    array[:2] = 1
    other = zarrcore.open_array(tmp_path / "a")
    for number in range(5):
        Interrupted.meanwhile.append(lambda number=number: in_thread(lambda: other.attrs.put({"n": number})))
        assert values_of(array[:]) == {1, 9}
        assert values_of(array[2:4]) == {9}
    Interrupted.meanwhile.append(lambda: in_thread(lambda: other.append(np.full(2, 5, "i4"))))
    found = array.read(..., threads=1)
    assert values_of(found) == {1, 9}
    assert found.shape == (2 * N,)


def test_metadata_that_change_during_every_read_do_not_end_it(tmp_path: Path) -> None:
    array = make(tmp_path / "a", None, 1)
    document = tmp_path / "a" / "zarr.json"
    text = document.read_text()
    changes = 0

    def change() -> None:
        nonlocal changes
        changes += 1
        document.write_text(text.replace('"attributes": {}', f'"attributes": {{"n": {"1" * changes}}}'))
        Interrupted.meanwhile.append(change)

    Interrupted.meanwhile.append(change)
    assert values_of(array.read(..., threads=1)) == {1}
    assert 3 * N < changes < 10 * N  # one for each chunk of each read


# --- writes by a handle of the array that was there before ---

WRITES: dict[str, Callable[[zarrcore.Array, np.ndarray], object]] = {
    "a chunk": lambda array, values: array.__setitem__(np.s_[:2], values[:2]),
    "a part of one": lambda array, values: array.__setitem__(0, values[0]),
    "all": lambda array, values: array.__setitem__(..., values),
    "a list": lambda array, values: array.__setitem__(np.s_[:4], values[:4].tolist()),
    "points": lambda array, values: array.vindex.__setitem__([0, 3], values[:2]),
    "indices": lambda array, values: array.oindex.__setitem__([0, 3], values[:2]),
}


def opened(array: zarrcore.Array) -> zarrcore.Array:
    """The array by a handle whose first write looks at the metadata, as others do now and then."""
    handle = zarrcore.open_array(array.store)
    handle[:1]  # it knows the version of the metadata now
    return handle


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_handle_wrote_over_the_array_in_the_place_of_its_own(tmp_path: Path, kind: str, write: str) -> None:
    """What it wrote was encoded as its own array had it: nobody could read that, or all read other values."""
    array = opened(make(tmp_path / "a", None, 1, kind=kind))
    values = np.full(array.shape, 3).astype("U1" if kind == "strings" else "i4")
    make(tmp_path / "b", None, 2, dtype="f8", kind=kind)
    by_another_process(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        WRITES[write](array, values)
    assert values_of(zarrcore.open_array(tmp_path / "a")[:]) == {2}


@pytest.mark.parametrize("is_used", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_handle_made_chunks_of_an_array_that_another_process_had_removed(
    tmp_path: Path, kind: str, is_used: bool
) -> None:
    make(tmp_path / "a", None, 1, kind=kind)
    array = zarrcore.open_array(tmp_path / "a")
    if is_used:
        array[:1]
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(ArrayNotFoundError):
        array[:2] = np.full(2, 3).astype("U1" if kind == "strings" else "i4")
    assert not (tmp_path / "a").exists()


def test_a_handle_writes_where_another_process_changed_attributes_or_appended(tmp_path: Path) -> None:
    array = opened(make(tmp_path / "a", None, 1, kind="v2"))
    zarrcore.open_array(tmp_path / "a").attrs["n"] = 1
    zarrcore.open_array(tmp_path / "a").append(np.full(2, 5, "i4"))
    array[:2], array[2:4] = 3, np.full(2, 4, "i4")
    assert array[:6].tolist() == zarrcore.open_array(tmp_path / "a")[:6].tolist() == [3, 3, 4, 4, 1, 1]


def test_a_file_of_metadata_is_another_one_though_it_has_the_same_size_and_time(tmp_path: Path) -> None:
    """As where an archive is unpacked over it, or rsync keeps the times: it had the same number, too."""
    array = make(tmp_path / "a", None, 1, kind="v2")
    array[:]
    document = tmp_path / "a" / ".zarray"
    status = document.stat()
    document.write_text(document.read_text().replace("<i4", "<f4"))
    os.utime(document, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert document.stat().st_size == status.st_size
    with pytest.raises(ArrayNotFoundError, match="replaced by another one"):
        array[:]
