# SPDX-License-Identifier: MIT
"""copy, copy_all, copy_store and move: what zarr 2 promises for them, and that nothing is lost half way."""

from __future__ import annotations

import io
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_store import FailingStore

import zarrcore
from zarrcore.errors import (
    ContainsArrayError,
    ContainsGroupError,
    CopyError,
    DataTypeValidationError,
    StoreError,
    ZarrUserWarning,
)
from zarrcore.storage import LocalStore, MemoryStore, StorePath, WrapperStore, ZipStore


@pytest.fixture(params=[2, 3])
def zarr_format(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def source(zarr_format: int) -> zarrcore.Group:
    """/{b, g/{a, h/{x}}}"""
    root = zarrcore.create_group({}, attributes={"top": 1}, zarr_format=zarr_format)
    root.create_array("g/a", data=np.arange(5), chunks=2, attributes={"unit": "m"})
    root.create_array("g/h/x", data=np.arange(3.0))
    root.create_array("b", data=np.arange(4, dtype="i2"))
    root["g"].attrs["n"] = 2
    return root


def paths(group: zarrcore.Group) -> list[str]:
    return [path for path, _ in group.members(max_depth=None)]


# ---- copy and copy_all


@pytest.mark.parametrize("dest_format", [2, 3])
def test_everything(source: zarrcore.Group, dest_format: int) -> None:
    dest = zarrcore.create_group({}, zarr_format=dest_format)
    assert zarrcore.copy_all(source, dest) == (5, 0, 5 * 8 + 3 * 8 + 4 * 2)
    assert paths(dest) == paths(source)
    assert {node.metadata.zarr_format for _, node in dest.members(max_depth=None)} == {dest_format}
    assert dict(dest.attrs) == {"top": 1}
    assert dict(dest["g"].attrs) == {"n": 2}
    assert dict(dest["g/a"].attrs) == {"unit": "m"}
    for path in ("b", "g/a", "g/h/x"):
        assert dest[path].chunks == source[path].chunks
        assert dest[path].dtype == source[path].dtype
        np.testing.assert_array_equal(dest[path][...], source[path][...])


def test_names(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({})
    assert zarrcore.copy(source["g/a"], dest) == (1, 0, 40)
    assert zarrcore.copy(source["g"], dest, name="p/q")[:2] == (4, 0)
    assert paths(dest) == ["a", "p", "p/q", "p/q/a", "p/q/h", "p/q/h/x"]
    with pytest.raises(TypeError, match="no name"):
        zarrcore.copy(source, dest)
    assert zarrcore.copy(source, dest, name="all")[0] == 6


def test_shallow_copies_leave_groups_out(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({})
    assert zarrcore.copy(source["g"], dest, shallow=True)[:2] == (2, 0)
    assert paths(dest) == ["g", "g/a"]
    dest = zarrcore.create_group({})
    assert zarrcore.copy_all(source, dest, shallow=True)[:2] == (1, 0)
    assert paths(dest) == ["b"]
    assert dict(dest.attrs) == {"top": 1}


def test_without_attributes(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({})
    zarrcore.copy_all(source, dest, without_attrs=True)
    assert [dict(node.attrs) for _, node in dest.members(max_depth=None)] == [{}] * 5
    assert dict(dest.attrs) == {}


def test_what_is_there_already(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({})
    dest.create_array("g/a", shape=1, dtype="i1")
    with pytest.raises(CopyError, match=r"'g/a' exists"):
        zarrcore.copy_all(source, dest)
    assert paths(dest) == ["g", "g/a"], "something was written before the conflict was found"
    assert zarrcore.copy_all(source, dest, if_exists="skip")[:2] == (4, 1)
    assert dest["g/a"].shape == (1,)
    assert zarrcore.copy_all(source, dest, if_exists="replace")[:2] == (5, 0)
    assert dest["g/a"][...].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="if_exists"):
        zarrcore.copy_all(source, dest, if_exists="nonsense")


def test_arrays_and_groups_in_each_others_way(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({})
    dest.create_array("g", shape=1, dtype="i1")
    dest.create_group("b/inside")
    with pytest.raises(CopyError):
        zarrcore.copy(source["g"], dest)
    assert zarrcore.copy_all(source, dest, if_exists="skip") == (0, 2, 0)
    assert zarrcore.copy_all(source, dest, if_exists="replace")[:2] == (5, 0)
    assert paths(dest) == paths(source)


def test_arrays_that_are_not_complete(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({})
    dest.create_array("b", data=np.full(4, 9))
    dest.create_array("g/a", shape=5, chunks=2, dtype="i8")[:2] = 9
    assert zarrcore.copy_all(source, dest, if_exists="skip_initialized")[:2] == (4, 1)
    assert dest["b"][...].tolist() == [9] * 4
    assert dest["g/a"][...].tolist() == [0, 1, 2, 3, 4]


def test_what_is_no_array_is_no_copy_that_was_broken_off(source: zarrcore.Group) -> None:
    """A group that was in the way of an array was replaced by it, with all its members."""
    dest = zarrcore.create_group({})
    dest.create_array("b/inside", data=np.arange(3))
    with pytest.raises(CopyError, match=r"'b' exists in .* and is a group"):
        zarrcore.copy_all(source, dest, if_exists="skip_initialized")
    assert paths(dest) == ["b", "b/inside"], "something was written before the conflict was found"
    del dest["b"]
    dest.create_array("g", shape=4, chunks=2, dtype="i1")[:2] = 1
    with pytest.raises(CopyError, match=r"'g' exists in .* and is an array"):
        zarrcore.copy_all(source, dest, if_exists="skip_initialized")
    assert dest["g"][...].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("layout", [{"chunks": 2, "shards": 4}, {"chunks": 4}])
def test_an_array_is_complete_that_has_all_chunks_of_the_source(layout: dict[str, int]) -> None:
    """Where the last shard reaches beyond the shape, or chunks were never written, none was."""
    source = zarrcore.create_group({})
    source.create_array("whole", shape=11, dtype="i4", **layout)[:] = 1
    source.create_array("sparse", shape=11, dtype="i4", **layout)[:5] = 1
    source.create_array("empty", shape=11, dtype="i4", **layout)
    dest = zarrcore.create_group({})
    zarrcore.copy_all(source, dest)
    assert zarrcore.copy_all(source, dest, if_exists="skip_initialized")[:2] == (0, 3)
    dest.store.delete("sparse/c/1")
    assert zarrcore.copy_all(source, dest, if_exists="skip_initialized")[:2] == (1, 2)
    assert dest["sparse"][:].tolist() == source["sparse"][:].tolist()
    source["sparse"][10] = 1
    assert zarrcore.copy_all(source, dest, if_exists="skip_initialized")[:2] == (1, 2)


@pytest.mark.parametrize("layout", [{"chunks": 2}, {"shape": 10}, {"chunks": 2, "shards": 4}])
def test_chunks_of_another_layout_are_not_those_of_the_source(layout: dict[str, int]) -> None:
    source = zarrcore.create_group({})
    source.create_array("a", shape=11, chunks=4, dtype="i4")[:5] = 1
    dest = zarrcore.create_group({})
    dest.create_array("a", **{"shape": 11, "chunks": 4, "dtype": "i4", **layout})[:5] = 1
    same = "shards" in layout  # its shards are the chunks of the source
    assert zarrcore.copy_all(source, dest, if_exists="skip_initialized")[:2] == (int(not same), int(same))


def test_dry_run_and_log(source: zarrcore.Group, tmp_path: Path) -> None:
    dest = zarrcore.create_group({})
    lines: list[str] = []
    assert zarrcore.copy_all(source, dest, dry_run=True, log=lines.append) == (5, 0, 0)
    assert lines == [
        "copy /b (4,) int16",
        "copy /g",
        "copy /g/a (5,) int64",
        "copy /g/h",
        "copy /g/h/x (3,) float64",
        "dry run: 5 copied, 0 skipped",
    ]
    assert paths(dest) == []
    assert dict(dest.attrs) == {}
    file = io.StringIO()
    zarrcore.copy(source["b"], dest, log=file)
    zarrcore.copy(source["b"], dest, log=tmp_path / "log", if_exists="skip")
    assert file.getvalue() == "copy /b (4,) int16\nall done: 1 copied, 0 skipped, 8 bytes copied\n"
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == ["skip /b (4,) int16", "all done: 0 copied, 1 skipped, 0 bytes copied"]


def test_other_chunks_and_codecs(source: zarrcore.Group) -> None:
    dest = zarrcore.create_group({}, zarr_format=2)
    zarrcore.copy(source["g/a"], dest, chunks=(5,), compressor={"id": "zlib", "level": 1}, fill_value=3)
    assert (dest["a"].chunks, dest["a"].compressor.name, dest["a"].fill_value) == ((5,), "zlib", 3)
    assert dest["a"][...].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError):
        zarrcore.copy(source["g/a"], dest, name="x", nonsense=1)


def test_copies_within_themselves_are_refused(zarr_format: int, tmp_path: Path) -> None:
    root = zarrcore.create_group(tmp_path, zarr_format=zarr_format)
    root.create_array("g/h/a", data=np.arange(3))
    with pytest.raises(CopyError):
        zarrcore.copy(root["g"], root["g/h"])
    with pytest.raises(CopyError):
        zarrcore.copy(root["g"], root, if_exists="replace")
    with pytest.raises(CopyError):
        zarrcore.copy(root["g/h/a"], root, name="g", if_exists="replace")
    with pytest.raises(CopyError):
        zarrcore.copy_all(root, root["g"])
    again = zarrcore.open_group(WrapperStore(LocalStore(tmp_path)), path="g")
    with pytest.raises(CopyError):
        zarrcore.copy_all(root, again)
    assert paths(root) == ["g", "g/h", "g/h/a"]
    zarrcore.copy(root["g"], root, name="gg")
    assert root["gg/h/a"][...].tolist() == [0, 1, 2]


def test_progress_of_a_hierarchy(source: zarrcore.Group) -> None:
    calls: list[tuple[int, int]] = []
    zarrcore.copy_all(source, zarrcore.create_group({}), progress=lambda *call: calls.append(call))
    assert calls == sorted(calls)
    assert calls[-1] == (72, 72)


def test_an_error_names_what_was_copied(source: zarrcore.Group) -> None:
    before = {key: bytes(source.store.get(key)) for key in source.store.list()}
    dest = zarrcore.create_group({})

    def stop(done: int, total: int) -> None:
        if done > 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        zarrcore.copy_all(source, dest, progress=stop)
    assert caught.value.__notes__ == ["while 'g/a' was copied; complete are: 'b', 'g'"]
    assert paths(dest) == ["b", "g"]
    assert {key: bytes(source.store.get(key)) for key in source.store.list()} == before


class ForeignGroup(dict):
    """A group of another library, such as h5py has."""

    name = "/data"
    attrs = {"n": np.arange(2), "x": np.float32(1.5)}


class ForeignArray:
    name, fillvalue, attrs, chunks = "/data/a", 7, {"units": "m"}, (2,)
    shape, dtype, nbytes = (3,), np.dtype("i2"), 6

    def __getitem__(self, selection: Any) -> np.ndarray:
        return np.array([1, 2, 3], "i2")[selection]


def test_groups_of_other_libraries(zarr_format: int) -> None:
    dest = zarrcore.create_group({}, zarr_format=zarr_format)
    assert zarrcore.copy(ForeignGroup(a=ForeignArray()), dest) == (2, 0, 6)
    assert dict(dest["data"].attrs) == {"n": [0, 1], "x": 1.5}
    array = dest["data/a"]
    assert (array.chunks, array.fill_value, dict(array.attrs)) == ((2,), 7, {"units": "m"})
    assert array[...].tolist() == [1, 2, 3]


class AsText(ForeignArray):
    shape, dtype = (2,), np.dtype("O")

    def __getitem__(self, selection: Any) -> np.ndarray:
        return np.array(["Oslo", "Tromsø"], object)[selection]


class ForeignText(ForeignArray):
    """Strings as h5py has them: bytes, unless asked for as text; the data type knows better than NumPy."""

    attrs = {"long": np.bytes_("größe".encode()), "names": np.array([b"a", b"b"])}
    fillvalue, shape, nbytes = "ö".encode(), (2,), 16
    dtype = np.dtype("O", metadata={"vlen": str})

    def __getitem__(self, selection: Any) -> np.ndarray:
        return np.array([b"Oslo", "Tromsø".encode()], object)[selection]

    def asstr(self) -> AsText:
        return AsText()


class ForeignBytes(ForeignText):
    dtype = np.dtype("O", metadata={"vlen": bytes})


def test_strings_of_h5py_stay_strings(zarr_format: int) -> None:
    dest = zarrcore.create_group({}, zarr_format=zarr_format)
    zarrcore.copy_all(ForeignGroup(text=ForeignText(), bytes=ForeignBytes()), dest)
    assert dest["text"][...].tolist() == ["Oslo", "Tromsø"]
    assert dest["text"].fill_value == "ö"
    assert dict(dest["text"].attrs) == {"long": "größe", "names": ["a", "b"]}
    assert dest["bytes"][...].tolist() == [b"Oslo", "Tromsø".encode()]
    assert dest["bytes"].fill_value == "ö".encode()


def test_files_of_h5py(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    dest = zarrcore.create_group({})
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["ports"] = ["Oslo", "Tromsø"]
        file["ports"].attrs["title"] = np.bytes_("x")
        file.create_dataset("blobs", data=[b"a\xff", b""], dtype=h5py.special_dtype(vlen=bytes))
        file.create_dataset("ragged", shape=2, dtype=h5py.vlen_dtype(np.int32))
        zarrcore.copy(file["ports"], dest)
        zarrcore.copy(file["blobs"], dest)
        zarrcore.from_array(dest.store, name="again", data=file["ports"])
        with pytest.raises(DataTypeValidationError):
            zarrcore.copy(file["ragged"], dest)
    assert dest["ports"][...].tolist() == dest["again"][...].tolist() == ["Oslo", "Tromsø"]
    assert dict(dest["ports"].attrs) == {"title": "x"}
    assert dest["blobs"][...].tolist() == [b"a\xff", b""]


@pytest.mark.interop
@pytest.mark.filterwarnings("ignore")
def test_groups_of_zarr_python(zarr_format: int) -> None:
    zarr = pytest.importorskip("zarr")
    root = zarr.create_group({}, zarr_format=zarr_format, attributes={"a": 1})
    root.create_array("g/x", data=np.arange(6), chunks=(4,), attributes={"b": 2})
    dest = zarrcore.create_group({})
    assert zarrcore.copy_all(root, dest)[:2] == (2, 0)
    assert (dict(dest.attrs), dict(dest["g/x"].attrs)) == ({"a": 1}, {"b": 2})
    assert dest["g/x"][...].tolist() == [0, 1, 2, 3, 4, 5]
    assert dest["g/x"].chunks == (4,)


# ---- copy_store


def test_keys(zarr_format: int) -> None:
    source, dest = MemoryStore(), MemoryStore()
    zarrcore.create_array(source, name="a/b", data=np.arange(4), chunks=2, zarr_format=zarr_format)
    keys = [key for key in source.list() if key.startswith("a/")]
    nbytes = sum(source.getsize(key) for key in keys)
    assert zarrcore.copy_store(source, dest, source_path="a", dest_path="x") == (len(keys), 0, nbytes)
    assert sorted(dest.list()) == sorted(f"x{key[1:]}" for key in keys)
    assert zarrcore.open_array(dest, path="x/b")[...].tolist() == [0, 1, 2, 3]
    with pytest.raises(CopyError, match="exists"):
        zarrcore.copy_store(source, dest, source_path="a", dest_path="x")
    assert zarrcore.copy_store(source, dest, "a", "x", if_exists="skip") == (0, len(keys), 0)
    assert zarrcore.copy_store(source, dest, "a", "x", if_exists="replace")[:2] == (len(keys), 0)
    assert zarrcore.copy_store(source, dest, "a", "y", dry_run=True) == (len(keys), 0, 0)
    with pytest.raises(ValueError, match="if_exists"):
        zarrcore.copy_store(source, dest, if_exists="skip_initialized")


def test_excludes_and_includes() -> None:
    source = MemoryStore(dict.fromkeys(("a/x.json", "a/y", "b/x.json", "B/y"), b""))

    def copied(**options: Any) -> list[str]:
        dest = MemoryStore()
        zarrcore.copy_store(source, dest, **options)
        return sorted(dest.list())

    assert copied(includes="json$") == ["B/y", "a/x.json", "a/y", "b/x.json"]
    assert copied(excludes="^b/") == ["B/y", "a/x.json", "a/y"]
    assert copied(excludes="^b/", flags=2) == ["a/x.json", "a/y"]
    assert copied(excludes=["^a", "^b"], includes=["json$"]) == ["B/y", "a/x.json", "b/x.json"]


def test_log_of_keys() -> None:
    source = MemoryStore({"a/zarr.json": b"1", "a/c/0": b"22"})
    lines: list[str] = []
    zarrcore.copy_store(source, {}, "a", "b", log=lines.append)
    assert lines == [
        "copy a/c/0 -> b/c/0",
        "copy a/zarr.json -> b/zarr.json",
        "all done: 2 copied, 0 skipped, 3 bytes copied",
    ]


@pytest.mark.parametrize("threads", [1, 4])
def test_to_a_zip_archive_and_back(tmp_path: Path, threads: int) -> None:
    zarrcore.create_array(tmp_path / "a", data=np.arange(100), chunks=3)
    with ZipStore(tmp_path / "a.zip", mode="w") as archive:
        zarrcore.copy_store(tmp_path / "a", archive, threads=threads)
    zarrcore.copy_store(ZipStore(tmp_path / "a.zip"), tmp_path / "b", threads=threads)

    def files(root: Path) -> dict[Path, bytes]:
        return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_keys_are_not_copied_into_themselves(tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path, name="a", data=np.arange(4))
    for dest, path in ((tmp_path, "a"), (tmp_path, "a/b"), (tmp_path / "a" / "b", "")):
        with pytest.raises(CopyError, match="lies in it"):
            zarrcore.copy_store(tmp_path, dest, "a", path)


@pytest.mark.parametrize("kind", ["memory", "local"])
@pytest.mark.parametrize("roots", [("", ""), ("a/b", ""), ("a/b", "a")])
def test_keys_around_the_source_do_not_replace_what_is_copied(
    kind: str, roots: tuple[str, str], tmp_path: Path
) -> None:
    """The values of one member were stored as those of another one, and those were lost."""
    store = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    root = zarrcore.create_group(store)
    root["a/b/x"], root["a/b/b/x"], root["a/b/y"] = np.arange(3), np.arange(3) + 100, np.arange(2)
    source, dest = (
        StorePath(store, path) if kind == "memory" else LocalStore(tmp_path / path) for path in roots
    )
    there = "a/b"[len(roots[0]) :], "a"[len(roots[1]) :]
    for skipped in ("skip", "raise"):
        with suppress(CopyError):
            zarrcore.copy_store(source, dest, *there, excludes="b/x", if_exists=skipped)
    with pytest.raises(CopyError, match="the copy of its key 'b/x.*' would replace its key 'x.*'"):
        zarrcore.copy_store(source, dest, *there, if_exists="replace", threads=1)
    assert root["a/b/x"][:].tolist() == [0, 1, 2] and root["a/b/b/x"][0] == 100 and root["a/y"][1] == 1
    zarrcore.copy_store(source, dest, *there, excludes="^a/b/b/|^b/", if_exists="replace")


@pytest.mark.parametrize("call", ["copy_all", "copy"])
def test_a_copy_around_its_source_does_not_change_it(source: zarrcore.Group, call: str) -> None:
    def values() -> dict[str, Any]:
        return {path: node[...].tolist() for path, node in source.members(None) if hasattr(node, "shape")}

    source.create_array("g/g/a", data=np.arange(5) + 100)
    if call == "copy":
        source.create_array("g/g/g/a", data=np.arange(5) + 200)
    before = values()
    with pytest.raises(CopyError, match="lies in the other"):
        if call == "copy_all":
            zarrcore.copy_all(source["g"], source, if_exists="replace")
        else:
            zarrcore.copy(source["g/g"], source, name="g", if_exists="replace")
    assert values() == before
    del source["g/g/g" if call == "copy" else "g/g"]
    zarrcore.copy(source["g"], source, name="k")
    assert source["k/a"][:].tolist() == [0, 1, 2, 3, 4]


def test_a_copy_of_keys_that_is_stopped() -> None:
    source = MemoryStore({f"c/{n}": b"x" for n in range(100)} | {"zarr.json": b"{}"})
    dest = MemoryStore()

    def stop(done: int, total: int) -> None:
        assert total == 101
        if done == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        zarrcore.copy_store(source, dest, progress=stop, threads=2)
    assert caught.value.__notes__[0].startswith("50 of 101 keys have been copied, the last ones: ")
    assert not dest.exists("zarr.json")
    assert len(list(source.list())) == 101


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_documents_are_copied_once_all_chunks_are_there(zarr_format: int) -> None:
    """With threads one came before a slow chunk: an array that a crash would leave with fill values."""

    class Slow(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            if key.endswith("0"):  # of a chunk
                time.sleep(0.05)
            super().set(key, value)
            order.append(key.rpartition("/")[2])

    order: list[str] = []
    source: dict[str, Any] = {}
    for name in "ab":
        zarrcore.create_array(
            source, name=name, data=np.arange(1, 5), chunks=1, attributes={"u": 1}, zarr_format=zarr_format
        )
    zarrcore.copy_store(source, Slow(), threads=8)
    last = {2: [[".zattrs"] * 3, [".zarray"] * 2 + [".zgroup"]], 3: [["zarr.json"] * 3]}[zarr_format]
    for names in reversed(last):
        assert sorted(order[-len(names) :]) == names
        del order[-len(names) :]
    assert set(order) == set("0123")


# ---- move


class Copying(WrapperStore):
    """A store that cannot rename."""


def stores(kind: str, path: Path) -> Any:
    return {"local": LocalStore(path), "memory": MemoryStore(), "wrapped": Copying(LocalStore(path))}[kind]


@pytest.mark.parametrize("kind", ["local", "memory", "wrapped"])
def test_move(kind: str, zarr_format: int, tmp_path: Path) -> None:
    root = zarrcore.create_group(stores(kind, tmp_path), zarr_format=zarr_format)
    root.create_array("g/h/a", data=np.arange(6), chunks=2, attributes={"u": 1})
    root.create_array("other", shape=1, dtype="i1")
    before = {key[2:]: bytes(root.store.get(key)) for key in root.store.list_prefix("g/")}
    root.move("g", "p/q")
    assert paths(root) == ["other", "p", "p/q", "p/q/h", "p/q/h/a"]
    assert {key[4:]: bytes(root.store.get(key)) for key in root.store.list_prefix("p/q/")} == before
    root.move("p/q/h/a", "a")
    assert root["a"][...].tolist() == [0, 1, 2, 3, 4, 5]
    for dest, error in (("other", ContainsArrayError), ("p", ContainsGroupError)):
        with pytest.raises(error):
            root.move("a", dest)
    for dest in ("p/q", "p/x", "p"):
        with pytest.raises(ValueError, match="lies in it"):
            root.move("p", dest)
    with pytest.raises(ContainsArrayError):
        root.move("p", "a/below")
    assert paths(root) == ["a", "other", "p", "p/q", "p/q/h"]


def test_a_move_in_a_directory_is_a_rename(tmp_path: Path) -> None:
    root = zarrcore.create_group(tmp_path)
    root.create_array("a", data=np.arange(6), chunks=2)
    inodes = {entry.name: entry.inode() for entry in os.scandir(tmp_path / "a" / "c")}
    (tmp_path / "b").mkdir()  # an empty directory is nothing
    root.move("a", "b")
    assert {entry.name: entry.inode() for entry in os.scandir(tmp_path / "b" / "c")} == inodes


def test_a_move_between_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = zarrcore.create_group(tmp_path)
    root.create_array("a", data=np.arange(6), chunks=2)

    def other_device(*args: Any, **directories: Any) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "rename", other_device)
    root.move("a", "b")
    assert root["b"][...].tolist() == [0, 1, 2, 3, 4, 5]
    assert not (tmp_path / "a").exists()


CHANGES = ("set", "delete", "erase_values", "erase_prefix")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_move_that_breaks_off_loses_nothing(zarr_format: int) -> None:
    """Whenever it happens, the source or the target has everything, and what is not whole is no array."""
    for left in range(30):
        store = FailingStore(MemoryStore(), *CHANGES)
        root = zarrcore.create_group(store, zarr_format=zarr_format)
        root.create_array("g/a", data=np.arange(1, 7), chunks=2)
        store.left = left
        try:
            root.move("g", "x/y")
        except OSError:
            pass
        else:
            break
        store.left = 1 << 30
        found = [root.get(path) for path in ("g/a", "x/y/a")]
        assert any(found)
        for array in found:
            assert array is None or array[...].tolist() == [1, 2, 3, 4, 5, 6]
    assert 5 < left < 29
    assert paths(root) == ["x", "x/y", "x/y/a"]


@pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrUserWarning")  # of copies of metadata
@pytest.mark.parametrize("kind", ["a group", "an array", "a group with a copy of its metadata"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_move_that_was_killed_goes_on_where_it_was(zarr_format: Any, kind: str) -> None:
    """Whatever is there by then: in the end all of it is at the target, and nothing at the source."""
    path = "g/a" if kind == "an array" else "g"
    for left in range(40):
        store = FailingStore(MemoryStore(), *CHANGES)
        root = zarrcore.create_group(store, zarr_format=zarr_format)
        root.create_array("g/a", data=np.arange(1, 7), chunks=2, attributes={"a": 1})
        if kind.endswith("metadata"):
            root = zarrcore.consolidate_metadata(store, zarr_format=zarr_format)
        store.left = left
        try:
            root.move(path, "x")
        except OSError:
            pass
        else:
            break
        for again in (left % 5, 1 << 30):  # killed once more
            store.left = again
            root = zarrcore.open_group(store, use_consolidated=False)
            with suppress(OSError, KeyError):  # it may have ended
                root.move(path, "x")
        moved = root["x" if kind == "an array" else "x/a"]
        assert moved[...].tolist() == [1, 2, 3, 4, 5, 6] and moved.attrs["a"] == 1
        assert not [key for key in store.list() if key.startswith(f"{path}/")], left
        report = zarrcore.verify(store)
        assert all(finding.severity == "note" for finding in report), (left, report)
    assert 5 < left < 39


@pytest.mark.parametrize("chunk", [b"", b"other"])
def test_a_move_does_not_take_what_others_have_for_its_own(chunk: bytes) -> None:
    both = {"x/c/0", "x/c/9"}
    for there in ({"x/zarr.json"}, {"x/c/0"}, {"x/c/9"}, both, {"x/zarr.json", "x/c/0", "x/c/1"}):
        store = MemoryStore()
        root = zarrcore.create_group(store)
        root.create_array("a", data=np.arange(1, 7), chunks=2)
        for key in there:
            own = store.get(key.replace("x/", "a/"))
            store.set(key, own if own is not None and (chunk == b"" or "c/" not in key) else chunk)
        before = {key: store.get(key) for key in store.list()}
        if there == {"x/c/0"} and chunk == b"":
            root.move("a", "x")  # what a move copies first
            assert root["x"][...].tolist() == [1, 2, 3, 4, 5, 6]
            continue
        with pytest.raises((ContainsArrayError, ContainsGroupError)):
            root.move("a", "x")
        assert {key: store.get(key) for key in store.list()} == before


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("place", [lambda path: MemoryStore(), LocalStore], ids=["memory", "files"])
def test_a_node_that_has_less_is_not_moved_onto_one_that_has_more(
    place: Any, zarr_format: Any, tmp_path: Path
) -> None:
    """What it lacks was not removed by a move, for its document is there; so for what a target lacks."""
    store = place(tmp_path)
    root = zarrcore.create_group(store, zarr_format=zarr_format)
    for name, values in (("less", [1, 2, 0, 0]), ("more", [1, 2, 5, 5]), ("none", [0, 0, 0, 0])):
        root.create_array(name, data=np.array(values), chunks=2)
    for group, name in (("few", "none"), ("many", "none"), ("many", "less")):
        zarrcore.copy(root[name], root.require_group(group), name=name)
    for group, name in (("poor", "less"), ("rich", "more")):
        zarrcore.copy(root[name], root.require_group(group), name="x")
    root.create_group("empty")
    before = {key: store.get(key) for key in store.list()}
    arrays = [("less", "more"), ("none", "more")]
    for source, dest in [*arrays, ("empty", "few"), ("few", "many"), ("poor", "rich"), ("few", "empty")]:
        with pytest.raises((ContainsArrayError, ContainsGroupError)):
            root.move(source, dest)
        assert {key: store.get(key) for key in store.list()} == before, (source, dest)


def test_a_move_in_an_archive_is_refused(tmp_path: Path) -> None:
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        root = zarrcore.create_group(store)
        root.create_array("a", data=np.arange(3))
        keys = list(store.list())
        with pytest.raises(StoreError, match="cannot be moved"):
            root.move("a", "b")
        assert list(store.list()) == keys


def test_places() -> None:

    store = MemoryStore()
    assert StorePath(WrapperStore(store), "a")._address == StorePath(store, "a")._address
    assert StorePath(store, "a")._overlaps(StorePath(store, ""))
    assert not StorePath(store, "a")._overlaps(StorePath(store, "ab"))
    assert not StorePath(store)._overlaps(StorePath(MemoryStore()))


@pytest.mark.parametrize("function", [zarrcore.copy, zarrcore.copy_all])
@pytest.mark.parametrize("other", ["data.zarr", {}, MemoryStore()], ids=["path", "dict", "store"])
def test_paths_and_stores_are_refused_with_the_way_out(function, other):
    group = zarrcore.create_group({})
    for arguments, role in (((other, group), "source"), ((group, other), "dest")):
        expected = f"{function.__name__}: {role}: expected .* open_group.* copy_store"
        with pytest.raises(TypeError, match=expected):
            function(*arguments)


def test_a_data_type_without_a_name_in_the_format_stops_a_copy_before_it_begins() -> None:
    source = zarrcore.create_group({}, zarr_format=2)
    source["a"] = np.arange(3)
    source["records"] = np.zeros(2, [("x", "f4", 2)])
    dest = zarrcore.create_group(store := {})
    before = dict(store)
    with pytest.raises(DataTypeValidationError) as caught:
        zarrcore.copy_all(source, dest)
    assert store == before
    note = "/records cannot be copied, and nothing has been written; on_error='skip' leaves it out"
    assert caught.value.__notes__ == [note]
    with pytest.warns(ZarrUserWarning, match="not copied: /records: field 'x': Zarr format 3 has no form"):
        assert zarrcore.copy_all(source, dest, on_error="skip")[:2] == (1, 1)
