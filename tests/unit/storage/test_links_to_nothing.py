# SPDX-License-Identifier: MIT
"""What is there and cannot be read, as below a link to a disk that is not mounted, is nowhere absent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, ChunkIOError, NodeIOError, StoreError
from zarrcore.keys.base import chunk_coords
from zarrcore.storage import FsspecStore, LocalStore, LoggingStore, ObjectStore, WrapperStore
from zarrcore.storage.zarr_python import ZarrPythonStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links take rights there")

VALUES = np.arange(1, 17).reshape(4, 4)
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {},
    "shards": {"shards": (4, 2)},
    "format 2": {"zarr_format": 2},
    "format 2, directories": {
        "zarr_format": 2,
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}},
    },
}


def made(path: Path, layout: str = "chunks", follow_symlinks: Any = "inside") -> zarrcore.Array:
    store = LocalStore(path, follow_symlinks=follow_symlinks)
    return zarrcore.create_array(store, name="a", data=VALUES, chunks=(2, 2), **LAYOUTS[layout])


def linked(path: Path, target: str = "nowhere") -> None:
    """Put a link in the place of what is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("follow", ["inside", True, False])
@pytest.mark.parametrize(
    ("layout", "place"),
    [("chunks", "a/c"), ("chunks", "a/c/0"), ("shards", "a/c"), ("format 2, directories", "a/0")],
)
def test_chunks_below_a_link_to_nothing_are_not_absent(
    tmp_path: Path, layout: str, place: str, follow: Any
) -> None:
    """They were read as fill values, and chunks of fill values were "removed" there."""
    array = made(tmp_path, layout, follow)
    linked(tmp_path / place)
    for call in (
        lambda: array[...],
        lambda: array[0, 0],
        lambda: array.__setitem__((0, 0), 5),
        lambda: array.__setitem__((slice(0, 2), slice(0, 2)), 0),
        lambda: array.__setitem__((slice(0, 2), slice(0, 2)), 5),
    ):
        with pytest.raises(ChunkIOError, match=r"array 'a', chunk \(0, 0\), key 'a/.*symbolic link"):
            call()
    with pytest.raises(StoreError, match="(?i)symbolic link"):
        array.store.get(f"{place}/0")
    with pytest.raises(StoreError, match="(?i)symbolic link"):
        array.store.delete(f"{place}/0")


def copies(array: zarrcore.Array) -> dict[str, Callable[[], Any]]:
    source = zarrcore.open_array(array.store, path="a", mode="r")
    return {
        "copy_store": lambda: zarrcore.copy_store(array.store, {}),
        "copy": lambda: zarrcore.copy(source, zarrcore.create_group({})),
        "from_array": lambda: zarrcore.from_array({}, data=source),
        "other chunks": lambda: zarrcore.from_array({}, data=source, chunks=(4, 4), shards=None),
    }


@pytest.mark.parametrize("how", ["copy_store", "copy", "from_array", "other chunks"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_copy_leaves_out_a_chunk_that_is_a_link_to_nothing(tmp_path: Path, layout: str, how: str) -> None:
    """As git-annex has it for what was not fetched; the copy read as fill values there."""
    array = made(tmp_path, layout)
    key = next(key for key in array.store.list() if not key.rpartition("/")[2].startswith((".z", "zarr")))
    linked(tmp_path / key)
    with pytest.raises(BaseZarrError, match=key):
        copies(array)[how]()


@pytest.mark.parametrize("how", ["copy", "from_array", "other chunks"])
@pytest.mark.parametrize("place", ["a/c", "a/c/0"])
def test_no_copy_leaves_out_chunks_below_a_link_to_nothing(tmp_path: Path, place: str, how: str) -> None:
    array = made(tmp_path)
    linked(tmp_path / place)
    with pytest.raises(BaseZarrError, match="'a/c/0/0'"):
        copies(array)[how]()


@pytest.mark.parametrize("how", ["copy", "from_array", "other chunks"])
def test_no_copy_leaves_out_a_chunk_in_whose_place_is_a_directory(tmp_path: Path, how: str) -> None:
    array = made(tmp_path)
    (tmp_path / "a/c/0/1").unlink()
    (tmp_path / "a/c/0/1").mkdir()
    (tmp_path / "a/c/0/1/file").write_bytes(b"")
    with pytest.raises(BaseZarrError, match="'a/c/0/1'"):
        copies(array)[how]()


def hidden(path: Path, layout: str) -> str:
    """Put an empty directory in the place of a chunk; returns its key."""
    array = made(path, layout)
    key = next(key for key in array.store.list() if not key.rpartition("/")[2].startswith((".z", "zarr")))
    (path / key).unlink()
    (path / key).mkdir()
    return key


@pytest.mark.parametrize("how", ["copy_store", "copy", "from_array", "other chunks"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_copy_leaves_out_a_chunk_in_whose_place_is_an_empty_directory(
    tmp_path: Path, layout: str, how: str
) -> None:
    """Listings do not have it; the copies read as fill values there."""
    key = hidden(tmp_path, layout)
    store = LocalStore(tmp_path)
    array = zarrcore.open_array(store, path="a", mode="r")
    with pytest.raises(ChunkIOError, match=key):
        array[...]
    with pytest.raises(BaseZarrError, match=f"'{key}'"):
        copies(array)[how]()
    assert key not in [*store.list()]
    assert key not in [*store.list_prefix("a")]


@pytest.mark.parametrize("how", ["copy_store", "copy", "from_array", "other chunks"])
def test_no_copy_leaves_out_a_chunk_in_whose_place_is_a_link_back(tmp_path: Path, how: str) -> None:
    """A link to a directory that it lies in was not listed: the copies had fill values."""
    key = hidden(tmp_path, "chunks")
    (tmp_path / key).rmdir()
    (tmp_path / key).symlink_to("..")
    with pytest.raises(BaseZarrError, match=f"'{key}'"):
        copies(zarrcore.open_array(tmp_path, path="a", mode="r"))[how]()


@pytest.mark.parametrize("wrapped", [LoggingStore, WrapperStore])
@pytest.mark.parametrize("how", ["copy_store", "copy"])
def test_nor_do_copies_through_wrappers(tmp_path: Path, how: str, wrapped: Any) -> None:
    key = hidden(tmp_path, "chunks")
    with pytest.raises(BaseZarrError, match=f"'{key}'"):
        copies(zarrcore.open_array(wrapped(LocalStore(tmp_path)), path="a", mode="r"))[how]()


def test_copy_store_names_a_chunk_in_whose_place_is_a_directory_with_files(tmp_path: Path) -> None:
    key = hidden(tmp_path, "chunks")
    (tmp_path / key / "file").write_bytes(b"")
    with pytest.raises(BaseZarrError, match=f"'{key}'"):
        zarrcore.copy_store(LocalStore(tmp_path), {})


def test_directories_that_are_in_no_chunks_place_do_not_matter(tmp_path: Path) -> None:
    """Directories stay where all values in them were removed; users make others."""
    array = made(tmp_path)
    for place in ("a/c/5", "a/c/0/x", "a/notes", "b/c/0/0", "a/c/7/7"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    array[0:2] = 0
    for key in ("a/c/0/0", "a/c/0/1"):
        array.store.delete(key)
    for copy in copies(array).values():
        copy()
    target: dict[str, Any] = {}
    zarrcore.copy_store(array.store, target)
    assert sorted(target) == sorted(array.store.list())


def test_a_move_by_copying_names_a_chunk_in_whose_place_is_a_directory(tmp_path: Path) -> None:
    made(tmp_path / "elsewhere")
    group = zarrcore.create_group(LocalStore(tmp_path / "root"))
    shutil.copytree(tmp_path / "elsewhere" / "a", tmp_path / "root" / "real")
    (tmp_path / "root" / "a").symlink_to("real")
    (tmp_path / "root" / "real" / "c" / "0" / "1").unlink()
    (tmp_path / "root" / "real" / "c" / "0" / "1").mkdir()
    with pytest.raises((BaseZarrError, OSError), match="'a/c/0/1'"):
        group.move("a", "b")
    assert "a" in group and "b" not in group


def by(package: str, path: Path) -> Any:
    """A store of files of another package."""
    module = pytest.importorskip(package)
    if package == "fsspec":
        return FsspecStore(module.filesystem("file"), path=str(path))
    if package == "obstore":
        return ObjectStore(pytest.importorskip("obstore.store").LocalStore(str(path)))

    class Theirs(module.storage.LocalStore):  # type: ignore[name-defined,misc]  # not known here
        """A store of which nobody knows what it does."""

    return ZarrPythonStore(Theirs(path, read_only=True))


@pytest.mark.parametrize("package", ["fsspec", "obstore", "zarr"])
@pytest.mark.parametrize("how", ["copy_store", "copy", "from_array", "other chunks"])
@pytest.mark.parametrize("kind", ["directory", "empty directory", "nowhere"])
def test_copies_of_files_by_other_packages(tmp_path: Path, package: str, how: str, kind: str) -> None:
    """Their listings have no links to nothing, nor directories in the place of chunks."""
    made(tmp_path)
    place = tmp_path / "a/c/0/1"
    if kind == "nowhere":
        linked(place)
    else:
        place.unlink()
        place.mkdir()
        if kind == "directory":
            (place / "file").write_bytes(b"")
    array = zarrcore.open_array(by(package, tmp_path), path="a", mode="r")
    with pytest.raises(BaseZarrError, match="'a/c/0/1'"):
        copies(array)[how]()


@pytest.mark.parametrize("kind", ["directory", "empty", "nowhere", "file above"])
def test_files_by_zarr_python(tmp_path: Path, kind: str) -> None:
    """Its store takes for absent what cannot be read."""
    made(tmp_path)
    place = tmp_path / ("a/c/0" if kind == "file above" else "a/c/0/0")
    if kind == "empty":
        place.unlink()
        place.mkdir()
    else:
        odd(place, kind.partition(" ")[0])
    array = zarrcore.open_array(by("zarr", tmp_path), path="a", mode="r")
    for selection in (..., (0, 0)):
        with pytest.raises(ChunkIOError, match="key 'a/c/0/0'"):
            array[selection]
    assert array.store.get("a/d/0/0") is None


@pytest.mark.parametrize("package", ["fsspec", "obstore"])
@pytest.mark.parametrize("place", ["a/c", "a/c/0/0"])
def test_files_by_other_packages(tmp_path: Path, package: str, place: str) -> None:
    """For them, what a link to nothing hides is not there."""
    array = made(tmp_path)
    linked(tmp_path / place)
    module = pytest.importorskip(package)
    if package == "fsspec":
        store: Any = FsspecStore(module.filesystem("file"), path=str(tmp_path))
    else:
        store = ObjectStore(pytest.importorskip("obstore.store").LocalStore(str(tmp_path)))
    array = zarrcore.open_array(store, path="a", mode="r")
    for selection in (..., (0, 0)):
        with pytest.raises(ChunkIOError, match="key 'a/c/./.'.*points to nothing"):
            array[selection]
    for part in (None, (0, 1)):
        with pytest.raises(StoreError, match="points to nothing"):
            store.get("a/c/0/0", part)
    assert store.get("a/d/0/0") is None


def test_a_move_by_copying_leaves_nothing_out(tmp_path: Path) -> None:
    array = made(tmp_path / "elsewhere")
    group = zarrcore.create_group(LocalStore(tmp_path / "root"))
    shutil.copytree(tmp_path / "elsewhere" / "a", tmp_path / "root" / "real")
    (tmp_path / "root" / "a").symlink_to("real")
    linked(tmp_path / "root" / "real" / "c" / "0" / "1")
    with pytest.raises((BaseZarrError, OSError), match="points to nothing"):
        group.move("a", "b")
    assert "a" in group
    assert array.shape == group["a"].shape


def test_a_link_to_itself_hides_no_others(tmp_path: Path) -> None:
    """One such link, in any directory, was an error of the whole listing."""
    store = made(tmp_path).store
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a" / "loop").symlink_to("loop")
    root = zarrcore.open_group(store, mode="w-", path="g")
    (tmp_path / "g" / "loop").symlink_to("loop")
    root.create_array("b", data=VALUES)
    assert [*store.list_dir("g")] == ["b", "zarr.json"]
    assert [name for name, _ in root.members(max_depth=None)] == ["b"]
    assert "b" in str(root.tree())
    assert "a/c/0/0" in store.list()
    with pytest.raises(NodeIOError, match="(?i)symbolic link"):
        zarrcore.open_group(store, path="g/loop", mode="r")


def odd(path: Path, kind: str) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
        (path / "file").write_bytes(b"")
    elif kind == "file":
        path.write_bytes(b"")
    else:
        path.symlink_to(path.name if kind == "loop" else "nowhere")


@pytest.mark.parametrize("kind", ["nowhere", "loop", "fifo"])
@pytest.mark.parametrize("layout", ["chunks", "format 2"])
def test_verify_names_what_cannot_be_read(tmp_path: Path, layout: str, kind: str) -> None:
    """A group whose own documents could not be read had no finding, nor had what was once a node."""
    store = made(tmp_path, layout).store
    for name in ("g", "h"):
        zarrcore.create_group(store, path=name, attributes={"x": 1}, zarr_format=array_format(layout))
    document = "zarr.json" if layout == "chunks" else ".zattrs"
    odd(tmp_path / "g" / document, kind)
    odd(tmp_path / "h", kind)
    report = zarrcore.verify(store)
    found = {(finding.severity, finding.key) for finding in report.findings}
    assert ("error", f"g/{document}") in found
    assert ("warning", "h") in found


def array_format(layout: str) -> int:
    return int(LAYOUTS[layout].get("zarr_format", 3))


@pytest.mark.parametrize(
    ("layout", "place", "kind"),
    [
        ("chunks", "a/c", "nowhere"),
        ("chunks", "a/c/0", "file"),
        ("chunks", "a/c", "fifo"),
        ("chunks", "a/c/0/1", "directory"),
        ("chunks", "a/c/0/1", "nowhere"),
        ("shards", "a/c/0/1", "directory"),
        ("format 2", "a/0.1", "directory"),
        ("format 2, directories", "a/0", "nowhere"),
    ],
)
def test_what_hides_chunks_is_an_error_of_verify(tmp_path: Path, layout: str, place: str, kind: str) -> None:
    """Reading them is one; the report had a warning of a name that is no chunk key, and ended with code 0."""
    array = made(tmp_path, layout)
    odd(tmp_path / place, kind)
    with pytest.raises(ChunkIOError):
        array[...]
    report = zarrcore.verify(array.store)
    assert any(f.severity == "error" and f.key.startswith(place) for f in report.findings)


@pytest.mark.parametrize("name", ["zarr.json", "x"])
def test_verify_follows_links_that_lead_back_up_once(tmp_path: Path, name: str) -> None:
    """Two of them made it visit as many places as there are ways through them."""
    zarrcore.create_group(LocalStore(tmp_path))
    for above in "ab":
        (tmp_path / above).mkdir()
        (tmp_path / above / name).symlink_to("..")
    assert zarrcore.verify(LocalStore(tmp_path)).groups <= 2


def test_a_copy_reads_no_chunk_key_of_the_usual_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys were made into positions one by one, which took a sixth of the time of a copy of small files."""
    group = zarrcore.create_group(tmp_path / "a")
    for name, encoding in (("slash", "default"), ("dot", {"name": "v2", "separator": "."})):
        options = {"chunks": (1, 1), "chunk_key_encoding": encoding}
        group.create_array(name, data=np.ones((3, 4), "i4"), **options)
    (tmp_path / "a/slash/c/7").mkdir()
    read: list[str] = []
    monkeypatch.setattr(
        "zarrcore.nodes.hidden.chunk_coords", lambda *args: read.append(args[1]) or chunk_coords(*args)
    )
    zarrcore.copy_store(tmp_path / "a", tmp_path / "b")
    assert {name.partition("/")[2] for name in read} <= {"", "7", "7/0"}
    assert (zarrcore.open_group(tmp_path / "b")["slash"][...] == 1).all()


def test_a_copy_has_what_links_lead_to_from_several_places(tmp_path: Path) -> None:
    """The second array had fill values in the copy: a directory was walked once."""
    for name in ("a", "b"):
        made(tmp_path / "s" / name)
        (tmp_path / "s" / name / "a/c/0").rename(tmp_path / f"s/{name}-0")
        (tmp_path / "s" / name / "a/c/0").symlink_to("../../../a-0")
    zarrcore.copy_store(tmp_path / "s", tmp_path / "d")
    for name in ("a", "b"):
        assert (zarrcore.open_array(tmp_path / "d" / name / "a")[...] == VALUES).all()


def test_a_copy_does_not_follow_links_without_end(tmp_path: Path) -> None:
    made(tmp_path / "0")
    for n in range(20):  # 2 ** 20 paths
        (tmp_path / f"{n + 1}").mkdir()
        for name in ("l", "r"):
            (tmp_path / f"{n + 1}" / name).symlink_to(f"../{n}")
    with pytest.raises(BaseZarrError, match="not copied: links lead to more than 1000 directories"):
        zarrcore.copy_store(tmp_path, {})
