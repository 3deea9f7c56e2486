# SPDX-License-Identifier: MIT
"""Hierarchies nested more deeply than Python can call, and consolidated metadata with bare NaN in them."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
import zarrcore.metadata.group as group_metadata
from zarrcore._validate import MAX_LEVELS
from zarrcore.errors import InvalidKeyError, NestingError
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore

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


class Counting(WrapperStore):
    """A store that counts the calls of its methods; `at_once` makes it a slow one, asked in parallel."""

    calls, at_once = 0, 0

    def _call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return super()._call(method, *args, **kwargs)

    def _concurrent_requests(self) -> int:
        return self.at_once


def chain(levels: int) -> dict[str, bytes]:
    return {"g/" * level + "zarr.json": GROUP for level in range(levels + 1)}


WALKS: dict[str, Callable[[Any], int]] = {
    "members": lambda store: len(zarrcore.open_group(store, mode="r").members(None)),
    "nmembers": lambda store: zarrcore.open_group(store, mode="r").nmembers(None),
    "tree": lambda store: (
        len(repr(zarrcore.open_group(store, mode="r").tree(max_nodes=10**6)).splitlines()) - 1
    ),
    "consolidate": lambda store: len(zarrcore.consolidate_metadata(store).members(None)),
    "verify": lambda store: zarrcore.verify(store).groups - 1,
    "migrate": lambda store: len(zarrcore.migrate(store, dry_run=True).nodes) - 1,
    "copy": lambda store: zarrcore.copy_all(
        zarrcore.open_group(store, mode="r"), zarrcore.open_group({}), dry_run=True
    )[0],
}


@pytest.mark.parametrize("at_once", [0, 4], ids=["near", "slow"])
@pytest.mark.parametrize("walk", WALKS)
def test_twice_as_many_levels_take_twice_as_many_calls(walk: str, at_once: int) -> None:
    """A chain of 1,500 consolidated groups took minutes."""
    calls = []
    for levels in (100, 200, 400):
        store = Counting(MemoryStore(chain(levels)))
        store.at_once = at_once
        assert WALKS[walk](store) == levels
        calls.append(store.calls)
    assert calls[1] - calls[0] <= 100 * 12
    assert calls[2] - calls[1] == 2 * (calls[1] - calls[0])


def test_a_consolidated_chain_is_parsed_once_for_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = group_metadata.parse_node_below
    monkeypatch.setattr(group_metadata, "parse_node_below", lambda *args: parsed.append(1) or parse(*args))
    for levels in (100, 200):
        store = MemoryStore(chain(levels))
        for level in range(1, levels + 1):  # each with a text of its own: equal ones are parsed once
            store.set(
                "g/" * level + "zarr.json", GROUP.replace(b"{}", b'{"level": %d}' % (1000 * levels + level))
            )
        zarrcore.consolidate_metadata(store)
        for level in range(1, levels + 1):
            store.delete("g/" * level + "zarr.json")
        parsed.clear()
        assert zarrcore.open_group(store).nmembers(None) == levels
        assert len(parsed) <= levels


@pytest.fixture(scope="module")
def too_deep() -> dict[str, bytes]:
    return chain(MAX_LEVELS + 1)


@pytest.mark.parametrize("walk", [name for name in WALKS if name != "verify"])
def test_more_levels_than_are_walked_are_an_error_that_names_the_limit(
    walk: str, too_deep: dict[str, bytes]
) -> None:
    with pytest.raises(
        (NestingError, InvalidKeyError), match="nested more than 2,000 levels deep|2,000 are the most"
    ) as caught:
        WALKS[walk](FewScans(too_deep))
    assert len(str(caught.value)) < 500


def test_verify_reports_what_is_too_deep(too_deep: dict[str, bytes]) -> None:
    report = zarrcore.verify(FewScans(too_deep))
    assert [finding.message for finding in report.errors] == [
        "groups are nested more than 2,000 levels deep; those below are not looked at"
    ]


def test_the_deepest_group_that_is_walked(too_deep: dict[str, bytes]) -> None:
    store = FewScans({key: too_deep[key] for key in too_deep if key.count("/") <= MAX_LEVELS})
    root = zarrcore.open_group(store, mode="r")
    assert root.nmembers(None) == MAX_LEVELS
    assert len(root.members(10)) == 11
    store = FewScans(too_deep)
    assert zarrcore.open_group(store, mode="r").nmembers(10) == 11  # no further than asked
    bottom = "/".join("g" * MAX_LEVELS)
    assert zarrcore.open_group(store, path=bottom, mode="r").nmembers(None) == 1


class FewScans(MemoryStore):
    """A store in memory of a chain of groups, which lists a directory without looking at all keys."""

    def list_dir(self, prefix: str) -> Any:
        below = f"{prefix}/g/zarr.json".lstrip("/")
        return iter(["zarr.json", "g"] if self.exists(below) else ["zarr.json"])


def test_no_node_is_made_deeper_than_walks_go() -> None:
    root = zarrcore.create_group({})
    for create in (root.create_group, lambda path: root.create_array(path, shape=1, dtype="i1")):
        with pytest.raises(InvalidKeyError, match="too long: 2,001 names, 2,000 are the most"):
            create("/".join("g" * (MAX_LEVELS + 1)))
    assert list(root.store.list()) == ["zarr.json"]


def consolidated(paths: Iterable[str]) -> dict[str, bytes]:
    nodes = {path: json.loads(GROUP) for path in paths}
    inline = {"kind": "inline", "must_understand": False, "metadata": nodes}
    return {"zarr.json": json.dumps({**json.loads(GROUP), "consolidated_metadata": inline}).encode()}


def test_consolidated_paths_are_as_deep_as_walks_go() -> None:
    path = "/".join("g" * MAX_LEVELS)
    assert zarrcore.open_group(consolidated([path]), mode="r").nmembers(None) == MAX_LEVELS
    with pytest.raises(
        NestingError, match=r"^zarr.json: consolidated_metadata.metadata: .* 2,000 names, got \"g/"
    ):
        zarrcore.open_group(consolidated([f"{path}/g"]), mode="r")


def test_consolidated_metadata_that_name_more_groups_than_they_describe() -> None:
    """A document of 10 MB took 1 GB: names of two bytes became groups."""
    paths = ["/".join([f"a{n}", *"g" * 1900]) for n in range(10)]
    with pytest.raises(NestingError, match="more than 32 groups without a document for each"):
        list(zarrcore.open_group(consolidated(paths), mode="r"))
    groups = zarrcore.open_group(consolidated(f"a{n}/b/c/d" for n in range(100)), mode="r")
    assert groups.nmembers(None) == 400


class Foreign(dict[str, Any]):
    """A group of another library."""

    name, attrs = "/", dict[str, Any]()


@pytest.mark.parametrize("name", ["a/../b", "zarr.json", "x/zarr.json/y", "..."])
def test_a_copy_with_a_name_that_no_node_has_is_refused_before_anything_is_written(name: str) -> None:
    source, dest = Foreign({"good": np.arange(3), name: np.arange(3)}), zarrcore.create_group({})
    with pytest.raises(InvalidKeyError):
        zarrcore.copy_all(source, dest)
    assert list(dest) == []
