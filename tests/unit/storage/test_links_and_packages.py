# SPDX-License-Identifier: MIT
"""Files of this machine through fsspec and obstore: links that lead out of the root, and what is no file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError
from zarrcore.storage import FsspecStore, ObjectStore, Store, ZarrPythonStore

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no links there")


def by_fsspec(root: Path) -> Store:
    return FsspecStore(pytest.importorskip("fsspec").filesystem("file"), path=str(root))


def by_obstore(root: Path) -> Store:
    pytest.importorskip("obstore")
    from obstore.store import LocalStore

    return ObjectStore(LocalStore(str(root)))


def by_zarr(root: Path) -> Store:
    theirs = pytest.importorskip("zarr.storage")
    own = type("Own", (theirs.LocalStore,), {})  # another class than theirs, which has a twin here
    return ZarrPythonStore(own(root))


KINDS = {"fsspec": by_fsspec, "obstore": by_obstore, "zarr": by_zarr}
CHANGES: dict[str, Callable[[Any], object]] = {
    "write": lambda store: zarrcore.open_array(store, path="a").__setitem__(..., 7),
    "write a part": lambda store: zarrcore.open_array(store, path="a").__setitem__(1, 7),
    "write fill values": lambda store: zarrcore.open_array(store, path="a").__setitem__(..., 0),
    "resize": lambda store: zarrcore.open_array(store, path="a").resize(2),
    "append": lambda store: zarrcore.open_array(store, path="a").append([1, 2, 3]),
    "attributes": lambda store: zarrcore.open_array(store, path="a").attrs.update(x=1),
    "overwrite": lambda store: zarrcore.create_array(store, name="a", shape=2, dtype="i4", overwrite=True),
    "del": lambda store: zarrcore.open_group(store).__delitem__("a"),
    "move": lambda store: zarrcore.open_group(store).move("a", "b"),
    "replace all": lambda store: zarrcore.open_group(store, mode="w"),
    "clear": lambda store: store.clear(),
    "erase": lambda store: store.erase_prefix("a"),
    "delete": lambda store: store.delete("a/c/0"),
    "set": lambda store: store.set("a/c/0", b"new"),
    "set a new one": lambda store: store.set_if_not_exists("a/c/new", b"new"),
    "copy": lambda store: zarrcore.copy_store({"a/c/0": b"new"}, store, if_exists="replace"),
}


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("linked", ["a", "a/c"])
def test_nothing_is_changed_through_a_link_that_leads_out(
    kind: str, change: str, linked: str, tmp_path: Path
) -> None:
    """Chunks were written beside the store, and removing an array removed the files of another one."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for root in (inside, outside):
        zarrcore.create_group(root).create_array("a", data=np.arange(1, 9), chunks=2)
    (inside / linked).rename(tmp_path / "replaced")
    (inside / linked).symlink_to(outside / linked)
    before = contents(outside)
    store = KINDS[kind](inside)
    try:
        CHANGES[change](store)
    except BaseZarrError as error:
        assert "link" in str(error) or "not found" in str(error), error
    assert contents(outside) == before


@pytest.mark.parametrize("kind", KINDS)
def test_links_that_stay_inside_are_followed(kind: str, tmp_path: Path) -> None:
    zarrcore.create_group(tmp_path).create_array("a", data=np.arange(8), chunks=2)
    (tmp_path / "b").symlink_to("a")
    store = KINDS[kind](tmp_path)
    zarrcore.open_array(store, path="b")[3] = 7
    assert zarrcore.open_array(store, path="a")[...].tolist() == [0, 1, 2, 7, 4, 5, 6, 7]
    store.delete("b/c/0")
    assert not (tmp_path / "a" / "c" / "0").exists()


FIFO = """
import sys, zarrcore
from zarrcore.errors import BaseZarrError
from zarrcore.storage import FsspecStore, ObjectStore, ZarrPythonStore
if sys.argv[1] == "fsspec":
    import fsspec
    store = FsspecStore(fsspec.filesystem("file"), path=sys.argv[2])
elif sys.argv[1] == "zarr":
    from zarr.storage import LocalStore
    store = ZarrPythonStore(type("Own", (LocalStore,), {})(sys.argv[2]))
else:
    from obstore.store import LocalStore
    store = ObjectStore(LocalStore(sys.argv[2]))
for call in (
    lambda: zarrcore.open_array(store, path="a")[...],
    lambda: zarrcore.open_array(store, path="a").__setitem__(1, 1),
    lambda: zarrcore.copy_store(store, {}),
    lambda: list(zarrcore.open_group(store, mode="r").members()),
):
    try:
        call()
        print("read")
    except BaseZarrError as error:
        print("no regular file" in str(error))
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["a/c/0", "a/zarr.json"])
def test_a_fifo_in_the_place_of_a_file_is_not_waited_for(kind: str, key: str, tmp_path: Path) -> None:
    """Nobody ever writes to it: the call did not end, nor did Ctrl-C end it."""
    pytest.importorskip(kind)
    zarrcore.create_group(tmp_path).create_array("a", data=np.arange(1, 9), chunks=2)
    (tmp_path / key).unlink()
    os.mkfifo(tmp_path / key)
    program = [sys.executable, "-W", "ignore", "-c", FIFO, kind, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, check=False)
    copied = "read" if kind == "zarr" else "True"  # its listing has regular files alone
    members = "read" if key == "a/c/0" else "True"
    assert done.stdout.split() == ["True", "True", copied, members], done.stderr[-2000:]
