# SPDX-License-Identifier: MIT
"""A machine that stops while libzarrcore changes a tree with ZARRCORE_SYNC: a node is old, new, or gone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from disk import replayed
from shim import compiled, needs_shim

import zarrcore

pytestmark = [*needs_shim, pytest.mark.timeout(600)]  # the first test builds the library

OLD = np.arange(1, 25, dtype="f4").reshape(6, 4)
MORE = np.full((3, 4), 7, "f4")
NEW = {"zarr_format": 3, "node_type": "group", "attributes": {"new": 1}}

Seen = dict[str, Any]
A: Seen = {"attributes": {"old": 1}, "values": OLD.tolist()}
BARE: Seen = {"attributes": {}}
TREE: dict[str, Seen | None] = {"g": {"attributes": {"old": 0}}, "g/a": A, "g/s": BARE, "g/s/c": A}
EMPTY = {"attributes": {}, "values": np.zeros((6, 4)).tolist()}
CHANGES: dict[str, tuple[str, dict[str, Seen | None]]] = {
    "erase-array": ("tree.erase('g/a')", {"g/a": None}),
    "erase-group": ("tree.erase('g')", dict.fromkeys(TREE)),
    "create": ("tree.create_array('n/m/x', V3)", {"n": BARE, "n/m": BARE, "n/m/x": EMPTY}),
    "create-group": ("tree.create_group('n', NEW)", {"n": {"attributes": {"new": 1}}}),
    "attribute": ("tree.set_attribute('g/a', 'new', 1)", {"g/a": A | {"attributes": {"old": 1, "new": 1}}}),
    "append": ("tree.append('g/a', MORE)", {"g/a": A | {"values": [*OLD.tolist(), *MORE.tolist()]}}),
    "shrink": ("tree.resize('g/a', 4, 4)", {"g/a": A | {"values": OLD[:4].tolist()}}),
    "new-store": (
        "Tree(api, Error, f'{sys.argv[1]}/{name}/x/y', 1 | 2 | 16).create_group('', NEW)",
        {"../x/y": {"attributes": {"new": 1}}},
    ),
}  # fmt: skip

PROGRAM = """
import ctypes, json, sys
import numpy
library, folders, new, program = json.loads(sys.argv[2])["setup"]
sys.path[:0] = folders
from capi_documents import V3
from capi_tree import Tree
from conftest import Error, library_api
NEW, MORE = new, numpy.full((3, 4), 7, "f4")
api, shim = library_api(library), ctypes.CDLL(None)
for name, code in program.items():
    tree = Tree(api, Error, f"{sys.argv[1]}/{name}/store", 1 | 2)
    shim.shim_mark(b"begin")
    exec(code)
    shim.shim_mark(b"end")
"""


def seen(left: dict[str, bytes], paths: list[str]) -> dict[str, Seen | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zarrcore.errors.ZarrUserWarning)  # consolidated metadata may be older
        root = zarrcore.open_group(left, path="store", mode="r")
        found: dict[str, Seen | None] = {}
        for path in paths:
            if path.startswith("../"):
                above, path_ = left, path[3:]
                node = zarrcore.open(above, path=path_, mode="r") if f"{path_}/zarr.json" in left else None
            else:
                node = root.get(path)
            if node is None:
                found[path] = None
                continue
            found[path] = {"attributes": dict(node.attrs)}
            if isinstance(node, zarrcore.Array):
                try:
                    found[path] = {"attributes": dict(node.attrs), "values": node[...].tolist()}
                except zarrcore.errors.ChunkIOError as error:  # consolidated metadata name it still
                    assert "the array is gone" in str(error)
                    found[path] = None
        return found


@pytest.mark.parametrize("consolidated", [False, True])
def test_every_node_is_old_or_new_after_a_crash(prefix: Path, consolidated: bool, tmp_path: Path) -> None:
    for name in CHANGES:
        root = zarrcore.create_group(tmp_path / "root" / name / "store")
        group = root.create_group("g", attributes={"old": 0})
        for path in ("a", "s/c"):
            array = group.create_array(path, shape=(6, 4), chunks=(4, 2), dtype="f4", attributes={"old": 1})
            array[...] = OLD
        if consolidated:
            zarrcore.consolidate_metadata(root.store)
    (library,) = (prefix / "lib").glob("libzarrcore.so.*")
    here = Path(__file__).parent
    codes = {name: code for name, (code, _) in CHANGES.items()}
    setup = (str(library), [str(here), str(here.parent / "shared")], NEW, codes)
    found_after = replayed(PROGRAM, {"setup": setup}, compiled(), tmp_path, names=[*CHANGES])
    for name, left, has_ended in found_after:
        after = CHANGES[name][1]
        for path, found in seen(left, [*{**TREE, **after}]).items():
            old = TREE.get(path)
            new = after.get(path, old)
            assert found in ([new] if has_ended else [old, new]), (name, path)
