# SPDX-License-Identifier: MIT
"""A lock that the system fails to take is an error; only a file system without locks goes without."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import LocalStore, StorePath, ZipStore

fcntl = pytest.importorskip("fcntl", reason="there are no such locks on Windows")


def create(root: Path) -> None:
    zarrcore.create_array(root / "new", data=np.arange(4), chunks=2)


def replace(root: Path) -> None:
    zarrcore.create_array(root / "there", data=np.arange(4), chunks=2, overwrite=True)


def copy_by_command(root: Path) -> None:
    from zarrcore.cli.alone import alone

    with alone(StorePath(LocalStore(root), "copied")):
        pass


def remove_what_a_move_left(root: Path) -> None:
    from zarrcore.storage.moving import remove_copy

    remove_copy(str(root / "left"))


def write_archive(root: Path) -> None:
    with ZipStore(root / "archive.zip", mode="w") as store:
        store.set("key", b"value")


USERS = [create, replace, copy_by_command, remove_what_a_move_left, write_archive]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    zarrcore.create_array(tmp_path / "root" / "there", data=np.arange(6), chunks=2)
    (tmp_path / "root" / "left").mkdir()
    yield tmp_path / "root"
    monkeypatch.undo()
    assert zarrcore.open_array(tmp_path / "root" / "there")[:].tolist() in ([*range(6)], [*range(4)])


def fail_with(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(fd: int, how: int) -> None:
        if not how & fcntl.LOCK_UN:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.ENOMEM])
@pytest.mark.parametrize("use", USERS)
def test_a_lock_that_failed_was_taken_for_one_that_there_is_not(
    root: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], Any], code: int
) -> None:
    fail_with(code, monkeypatch)
    with pytest.raises(OSError, match=f"{os.strerror(code)}.*/"):
        use(root)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP])
@pytest.mark.parametrize("use", USERS)
def test_a_file_system_without_locks_goes_without(
    root: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], Any], code: int
) -> None:
    fail_with(code, monkeypatch)
    use(root)


def test_nor_does_one_that_locks_only_what_is_open_for_writing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(errno.EBADF, monkeypatch)
    create(root)
    assert zarrcore.open_array(root / "new")[:].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EMFILE])
def test_a_directory_that_cannot_be_opened_at_this_moment_was_not_locked(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    store = LocalStore(root)
    monkeypatch.setattr(LocalStore, "_open", fail)
    with pytest.raises(OSError, match=f"{os.strerror(code)}.*there"), store._alone("there"):
        pass
