# SPDX-License-Identifier: MIT
"""Hierarchies nested more deeply than Python can call, and consolidated metadata with bare NaN in them."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

import zarrcore
from zarrcore.storage import LocalStore

LEVELS = 1010
GROUP = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'


@pytest.fixture
def deep() -> dict[str, bytes]:
    values = {"zarr.json": GROUP}
    path = ""
    for _ in range(LEVELS):
        path += "g/"
        values[f"{path}zarr.json"] = GROUP
    return values


def test_members_of_deeply_nested_groups(deep: dict[str, bytes]) -> None:
    """The walk called itself for each level until the stack of the process was full."""
    root = zarrcore.open_group(deep)
    members = root.members(max_depth=None)
    assert [path for path, _ in members] == ["/".join("g" * n) for n in range(1, LEVELS + 1)]
    assert root.nmembers(None) == LEVELS
    assert len(repr(root.tree(max_nodes=2 * LEVELS)).splitlines()) == LEVELS + 1
    assert repr(root.tree(level=2)).splitlines() == ["/", "└── g", "    └── g"]
    assert repr(root.tree(max_nodes=1)).splitlines() == ["/", "└── g", "... (only 1 nodes are shown)"]


def test_deeply_nested_groups_consolidated(deep: dict[str, bytes]) -> None:
    root = zarrcore.consolidate_metadata(deep)
    for group in (root, zarrcore.open_consolidated(deep), pickle.loads(pickle.dumps(root))):
        assert len(group.members(max_depth=None)) == LEVELS
    bottom = root["/".join("g" * (LEVELS - 3))]
    assert [path for path, _ in bottom.members(None)] == ["g", "g/g", "g/g/g"]
    again = pickle.loads(pickle.dumps(bottom))
    assert again.metadata == bottom.metadata
    assert [path for path, _ in again.members(None)] == ["g", "g/g", "g/g/g"]


def test_files_of_deeply_nested_directories_are_listed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    key = "/".join("d" * LEVELS) + "/zarr.json"
    store.set(key, b"x")
    try:
        assert list(store.list()) == [key]
        assert store.remove_partials() == 0
    finally:  # neither shutil nor pytest removes it
        subprocess.run(["rm", "-rf", str(store.root)], check=True)


@pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrcoreWarning")
@pytest.mark.parametrize("indent", [2, None])
@pytest.mark.parametrize("own_documents", [True, False])
def test_bare_nan_in_consolidated_metadata_of_zarr_python(indent: int | None, own_documents: bool) -> None:
    """zarr-python 3.0.0 to 3.0.6: members() and every child failed."""
    values: dict[str, Any] = {}
    root = zarrcore.create_group(values)
    fills = {"n": math.nan, "i": math.inf, "m": -math.inf}
    for name, fill in fills.items():
        root.create_array(f"g/{name}", shape=2, dtype="f4", fill_value=fill)
    root.create_array("g/z", shape=2, dtype="c8", fill_value=complex(math.nan, -math.inf))
    root.create_array("plain", shape=2, dtype="i4", fill_value=7)
    zarrcore.consolidate_metadata(values)
    document = json.loads(values["zarr.json"])
    for node in document["consolidated_metadata"]["metadata"].values():
        if "fill_value" in node:
            node["fill_value"] = _bare(node["fill_value"])
    values["zarr.json"] = json.dumps(document, indent=indent).encode()
    assert b" -Infinity" in values["zarr.json"]
    if not own_documents:
        for name in (*fills, "z"):
            del values[f"g/{name}/zarr.json"]
    root = zarrcore.open_consolidated(values)
    assert [path for path, _ in root.members(None)] == ["g", "g/i", "g/m", "g/n", "g/z", "plain"]
    for name, fill in fills.items():
        assert str(root[f"g/{name}"].fill_value) == str(fill)
    assert str(root["g/z"].fill_value) == "(nan-infj)"
    assert root["plain"].fill_value == 7


def _bare(fill: Any) -> Any:
    if isinstance(fill, list):
        return [_bare(item) for item in fill]
    return float(fill.replace("Infinity", "inf")) if isinstance(fill, str) else fill


def test_deeply_nested_groups_are_migrated() -> None:
    store = {"g/" * level + ".zgroup": b'{"zarr_format": 2}' for level in range(LEVELS)}
    report = zarrcore.migrate(store)
    assert [node.path.count("g") for node in report.nodes] == list(range(LEVELS))
    assert zarrcore.open_group(store).nmembers(None) == LEVELS - 1
