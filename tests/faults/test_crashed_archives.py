# SPDX-License-Identifier: MIT
"""A machine that stops while a ZIP archive is written, or soon after it is closed, with ``fsync=True``."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import replayed
from shim import compiled, needs_shim, run_under

import zarrcore
from zarrcore.errors import NodeNotFoundError, StoreError
from zarrcore.storage import ZipStore

pytestmark = needs_shim

OLD = np.arange(1, 101, dtype="i4").reshape(10, 10)

# Each begins with an archive of OLD in "a"; afterwards "a" and "b" have these values.
OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "new": ("path += '2'; write('w', a=OLD, b=-OLD)", {"a": OLD, "b": -OLD}),
    "replaced": ("write('w', b=-OLD)", {"b": -OLD}),
    "appended": ("write('a', b=-OLD)", {"a": OLD, "b": -OLD}),
    "changed": ("write('a', a=-OLD)", {"a": -OLD}),
    "cleared": ("write('a', True, b=-OLD)", {"b": -OLD}),
    "setting": ("with zarrcore.config.set({'store.fsync': True}): zarrcore.save(path, b=-OLD)", {"b": -OLD}),
}  # fmt: skip
PROGRAM = """
import ctypes, json, sys
import numpy
import zarrcore
from zarrcore.storage import ZipStore
OLD = numpy.arange(1, 101, dtype="i4").reshape(10, 10)
def write(mode, clear=False, **arrays):
    with ZipStore(path, mode=mode, fsync=True) as at:
        if clear:
            at.clear()
        root = zarrcore.open_group(at)
        for name, values in arrays.items():
            array = root.require_array(name, shape=values.shape, chunks=(4, 5), dtype=values.dtype)
            array[...] = values
shim = ctypes.CDLL(None)
for name, code in json.loads(sys.argv[2]).items():
    path = f"{sys.argv[1]}/{name}/old.zip"
    shim.shim_mark(b"begin")
    exec(code)
    shim.shim_mark(b"end")
"""


def test_an_archive_that_opens_after_a_crash_has_all_that_it_lists(tmp_path: Path) -> None:
    for name in OPERATIONS:
        (tmp_path / "root" / name).mkdir(parents=True)
        with ZipStore(tmp_path / "root" / name / "old.zip", mode="w") as at:
            zarrcore.create_array(at, name="a", data=OLD, chunks=(4, 5))
    codes = {name: code for name, (code, _) in OPERATIONS.items()}
    found: dict[str, set[str]] = {name: set() for name in OPERATIONS}
    for name, left, has_ended in replayed(PROGRAM, codes, compiled(), tmp_path):
        archive = left.get("old.zip2" if name == "new" else "old.zip")
        state = state_of(archive, OPERATIONS[name][1])
        assert state == "new" or not has_ended, name
        found[name].add(state)
    assert all({"new", "nothing"} <= states for states in found.values()), found


def state_of(archive: bytes | None, new: dict[str, Any]) -> str:
    """Return whether an archive is new or old; if it is neither it is none, or fails."""
    if archive is None:
        return "nothing"
    try:
        root = zarrcore.open_group(ZipStore(io.BytesIO(archive)), mode="r")
        values = {key: array[...] for key, array in root.arrays()}
    except (StoreError, NodeNotFoundError):
        return "nothing"
    for state, expected in {"new": new, "old": {"a": OLD}}.items():
        if values.keys() == expected.keys() and all(map(np.array_equal, values.values(), expected.values())):
            return state
    raise AssertionError(f"neither old nor new: {values}")


AFTER_FAILURES = """
import ctypes, errno, shutil, sys, zipfile
from zarrcore.errors import StoreError
from zarrcore.storage import ZipStore
OLD, NEW = {name: name.encode() * 90 for name in "abc"}, {"b": b"new", "d": b"d" * 30000}
base, path, shim = f"{sys.argv[1]}/base.zip", f"{sys.argv[1]}/a.zip", ctypes.CDLL(None)
with ZipStore(base, mode="w") as store:
    for name, value in OLD.items():
        store.set(name, value)
for kind in range(12):
    for code in (errno.EIO, errno.EMFILE, -1)[: 3 if kind in (1, 2) else 2]:  # -1: half of what is wanted
        failed, n = 1, 0
        while failed:
            shutil.copy(base, path)
            shim.shim_fail(n, 1, 1 << kind, code)
            store, ended = ZipStore(path, mode="a", fsync=True), {}
            for name, value in NEW.items():
                try:
                    store.set(name, value)
                    ended[name] = value
                except (OSError, StoreError):
                    pass
            try:
                store.close()
            except (OSError, StoreError):
                ended = {}
            failed, n = shim.shim_failed(), n + 1
            shim.shim_fail(-1, 0, 0, 0)
            with zipfile.ZipFile(path) as archive:
                found = {name: archive.read(name) for name in archive.namelist()}
            where = kind, code, n, found.keys()
            assert (OLD | ended).keys() <= found.keys(), where
            assert all(value in (OLD.get(name), NEW.get(name)) for name, value in found.items()), where
            assert all(found[name] == value for name, value in ended.items()), where
"""


def test_a_call_that_fails_leaves_all_other_entries_of_an_archive(tmp_path: Path) -> None:
    """zipfile began a new archive in the place of one that it could not open, and all entries were lost."""
    run_under(compiled(), AFTER_FAILURES, tmp_path, root=tmp_path)


@pytest.mark.parametrize("what", ["zip_directory.sync_open", "zip_directory.sync_directory"])
def test_an_archive_that_cannot_be_synced_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = tmp_path / "old.zip"
    with ZipStore(path, mode="w") as at:
        at.set("a", b"1")

    def fail(*args: object) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    at = ZipStore(path, mode="a", fsync=True)
    at.set("b", b"2")
    with monkeypatch.context() as patch:
        patch.setattr(f"zarrcore.storage.{what}", fail)
        with pytest.raises(OSError, match=r"the disk is gone.*old\.zip"):
            at.close()
    assert list(ZipStore(path).list()) == ["a"]
    at.set("b", b"3")  # nothing is locked
    at.close()
    assert ZipStore(path).get("b") == b"3"


def test_an_archive_in_a_file_object_is_not_synced() -> None:
    with pytest.raises(ValueError, match=r"fsync=True: a file object is synced by who has opened it"):
        ZipStore(io.BytesIO(), mode="w", fsync=True)
    with zarrcore.config.set({"store.fsync": True}), ZipStore(io.BytesIO(), mode="w") as at:
        at.set("a", b"1")
