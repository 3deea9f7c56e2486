# SPDX-License-Identifier: MIT
"""Groups with symbolic links among them: each directory is walked once through links, none back up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrcore
from zarrcore.storage import FsspecStore, LocalStore, WrapperStore

LEVELS = 22  # the paths through them are four million


@pytest.fixture(params=["directory", "wrapper", "fsspec"])
def fans(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A group with groups that lead to the next one by two links each, and a link to itself."""
    path = tmp_path / "fan.zarr"
    root = zarrcore.create_group(path, zarr_format=2)
    for level in range(LEVELS):
        root.create_group(f"d{level:02}")
    root["d21/a"] = [1, 2, 3]
    for level in range(LEVELS - 1):
        for name in "lr":
            (path / f"d{level:02}" / name).symlink_to(f"../d{level + 1:02}")
    (path / "self").symlink_to(".")
    if request.param == "fsspec":
        fsspec = pytest.importorskip("fsspec")
        return FsspecStore(fsspec.filesystem("file"), path=str(path))
    return path if request.param == "directory" else WrapperStore(LocalStore(path))


def test_links_are_members_and_are_walked_once(fans: Any) -> None:
    root = zarrcore.open_group(fans, mode="r+")
    paths = [path for path, _ in root.members(max_depth=None)]
    assert "self" in paths
    assert "self/d00" not in paths
    assert "/".join(["d00", *"l" * (LEVELS - 1), "a"]) in paths
    assert len(paths) == len(set(paths)) < 5 * LEVELS
    assert root["self/self/d00/r"].path == "self/self/d00/r"
    assert root.nmembers(None) == len(paths)
    assert len(zarrcore.consolidate_metadata(root.store).members(max_depth=None)) == len(paths)
    assert zarrcore.check_consolidated(root.store) == ()


def test_a_copy_ends(fans: Any) -> None:
    root, dest = zarrcore.open_group(fans, mode="r"), zarrcore.create_group({})
    zarrcore.copy_all(root, dest)
    assert dest["d21/a"][...].tolist() == [1, 2, 3]
    assert dest.nmembers(None) == root.nmembers(None)


def test_inspection_and_migration_end(fans: Any) -> None:
    report = zarrcore.verify(fans)
    assert not report.errors
    assert any("a link that leads back up" in note.message for note in report)
    zarrcore.migrate(fans, remove_old=True)
    assert zarrcore.open_group(fans, mode="r")["d21/a"][...].tolist() == [1, 2, 3]
