"""An operation that raises because its store failed has not destroyed data, and a second try succeeds.

Every operation is run over a store that fails at the n-th call of a kind, for all n.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ContainsArrayError, CopyError, NodeIOError, ReadOnlyError, StoreError
from zarrcore.storage import MemoryStore, Store, WrapperStore, ZipStore, resolve_range


class Failing(Store):
    """A store as users write it, over a dictionary; it fails once, after `left` more calls of a kind."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__()
        self.values = values
        self.kind, self.left = "", -1

    def tick(self, kind: str) -> None:
        if kind == self.kind:
            self.left -= 1
            if self.left == -1:
                raise OSError(f"{kind} failed")

    def get(self, key: str, byte_range: Any = None) -> bytes | None:
        self.tick("get")
        value = self.values.get(key)
        return None if value is None else value[slice(*resolve_range(byte_range, len(value)))]

    def set(self, key: str, value: Any) -> None:
        self.tick("set")
        self.values[key] = bytes(value)

    def delete(self, key: str) -> None:
        self.tick("delete")
        self.values.pop(key, None)

    def list(self) -> Iterator[str]:
        self.tick("list")
        return iter(sorted(self.values))


LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {"chunks": 4},
    "sharded": {"chunks": 2, "shards": 4},
    "rectilinear": {"chunks": [[4, 4, 4, 8]]},
    "format-2": {"chunks": 4, "zarr_format": 2},
}


def fill(store: Store, layout: str) -> None:
    """A group with the arrays a and c; c is what a copy replaces."""
    options = dict(LAYOUTS[layout])
    root = zarrcore.open_group(store, mode="a", zarr_format=options.pop("zarr_format", 3))
    for name, first in (("a", 1), ("c", 101)):
        root.create_array(name, shape=20, dtype="i4", **options)[...] = np.arange(first, first + 20)
    zarrcore.consolidate_metadata(store)


def state(values: dict[str, bytes], path: str) -> list[int] | None:
    """What can be read at a path; None if there is nothing."""
    found = zarrcore.open_group(dict(values), mode="r", use_consolidated=False).get(path)
    return None if found is None else found[...].tolist()


OPERATIONS: dict[str, Callable[[zarrcore.Group], object]] = {
    "copy": lambda root: zarrcore.copy(root["a"], root, "b"),
    "copy-again": lambda root: zarrcore.copy(root["a"], root, "b", chunks=5, shards=None),
    "copy-over": lambda root: zarrcore.copy(root["a"], root, "c", if_exists="replace"),
    "overwrite": lambda root: root.create_array("c", data=np.full(20, 7, "i4"), chunks=4, overwrite=True),
    "empty": lambda root: root.create_array("c", shape=20, dtype="i4", chunks=4, overwrite=True),
    "set": lambda root: root.__setitem__("c", np.full(20, 7, "i4")),
    "move": lambda root: root.move("a", "b"),
    "delete": lambda root: root.__delitem__("a"),
    "migrate": lambda root: zarrcore.migrate(root.store, remove_old=True),
    "consolidate": lambda root: zarrcore.consolidate_metadata(root.store),
    "append": lambda root: root["a"].append(np.full(6, 7, "i4")),
    "shrink": lambda root: root["a"].resize(7),
    "grow": lambda root: root["a"].resize(30),
    "attributes": lambda root: root["a"].attrs.update(x=1),
}
REPLACING = ("copy-over", "overwrite", "empty", "set")  # what is there is removed first, as documented


@pytest.mark.filterwarnings(
    "ignore::zarrcore.errors.ZarrUserWarning"
)  # consolidated metadata that could not follow
@pytest.mark.parametrize("kind", ["set", "delete", "list", "get"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_store_that_fails_once(operation: str, layout: str, kind: str) -> None:
    act = OPERATIONS[operation]
    before: dict[str, bytes] = {}
    fill(Failing(before), layout)
    after = dict(before)
    act(zarrcore.open_group(Failing(after)))
    expected = [state(after, path) for path in "abc"]
    for n in count():
        store = Failing(dict(before))
        root = zarrcore.open_group(store)
        store.kind, store.left = kind, n
        try:
            act(root)
        except Exception:
            failed = True
        else:
            failed = False
        if store.left >= 0:
            break  # there was no n-th call
        store.kind = ""
        for path in ("a", "b", "c"):
            allowed = [state(before, path), state(after, path)]
            if path == "c" and operation in REPLACING:
                allowed.append(None)
            assert state(store.values, path) in allowed, (path, n)
        if failed and can_be_repeated(operation, layout, store):
            act(zarrcore.open_group(store))
            assert [state(store.values, path) for path in "abc"] == expected


def can_be_repeated(operation: str, layout: str, store: Failing) -> bool:
    """Not what would remove chunks of format 2 without a document."""
    left = [key for key in store.values if key.startswith(("a/", "c/"))]
    if layout != "format-2" or operation not in ("overwrite", "empty", "delete"):
        return True
    return {"a/.zarray", "c/.zarray"} <= {*left}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_read_only_store(operation: str, layout: str) -> None:
    store = Failing({})
    fill(store, layout)
    before = dict(store.values)
    root = zarrcore.open_group(store.with_read_only(True), mode="r")
    with pytest.raises(ReadOnlyError):
        OPERATIONS[operation](root)
    assert store.values == before


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("operation", [*REPLACING, "move", "delete", "shrink"])
def test_a_store_that_cannot_delete(operation: str, layout: str, tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "a.zip", mode="w")
    fill(store, layout)
    before = {key: bytes(store.get(key) or b"") for key in store.list()}
    with pytest.raises((StoreError, ContainsArrayError, CopyError)):
        OPERATIONS[operation](zarrcore.open_group(store))
    assert {key: bytes(store.get(key) or b"") for key in store.list()} == before


class Ended(Failing):
    """A store whose process is killed after `left` more changes."""

    def tick(self, kind: str) -> None:
        if kind in ("set", "delete"):
            self.left -= 1
        if self.kind and self.left < 0:
            raise OSError("there is no process any more")


def test_a_killed_copy_in_format_2_left_an_array_without_its_attributes() -> None:
    """The next copy took it for one that was complete."""
    source = zarrcore.create_group({}, zarr_format=2)
    source.create_array("a", data=np.arange(1, 5), chunks=2, attributes={"units": "m"})
    for left in count():
        store = Ended({})
        target = zarrcore.create_group(store, zarr_format=2)
        store.kind, store.left = "all", left
        with contextlib.suppress(StoreError, OSError):
            zarrcore.copy_all(source, target)
        if store.left >= 0:
            break
        store = Ended(dict(store.values))
        zarrcore.copy_all(source, zarrcore.open_group(store), if_exists="skip_initialized")
        copied = zarrcore.open_group(store)["a"]
        assert copied.attrs == {"units": "m"}
        assert copied[...].tolist() == [1, 2, 3, 4]
    assert left > 3


def test_what_a_killed_process_left_out_of_the_copy_above_is_found_again() -> None:
    """A copy that goes on raised ContainsArrayError, and a move KeyError: consolidated metadata lacked it."""
    values: dict[str, bytes] = {}
    fill(Failing(values), "plain")
    values |= {key.replace("a/", "left/"): value for key, value in values.items() if key.startswith("a/")}

    def root() -> zarrcore.Group:
        group = zarrcore.open_group(Failing(values))
        assert sorted(group) == ["a", "c"]
        return group

    target = root()
    assert zarrcore.copy(target["a"], target, "left", if_exists="skip_initialized") == (0, 1, 0)
    target = root()
    assert zarrcore.copy(target["c"], target, "left", if_exists="replace")[0] == 1
    values |= {key.replace("a/", "moved/"): value for key, value in values.items() if key.startswith("a/")}
    group = zarrcore.open_group(Failing(values))
    assert "moved" not in group
    group.move("moved", "d")
    assert sorted(zarrcore.open_group(Failing(values))) == ["a", "c", "d", "left"]


def test_attributes_without_a_node_keep_no_group_from_being_replaced() -> None:
    """A killed creation had left them in it, and a ForeignDataError was what came of a second one."""
    store = Failing({})
    zarrcore.create_group(store, path="g/h", zarr_format=2)
    store.values["g/left/.zattrs"] = b"{}"
    zarrcore.create_group(store, path="g", zarr_format=2, overwrite=True)
    assert sorted(store.values) == [".zattrs", ".zgroup", "g/.zattrs", "g/.zgroup"]


class FailingDocument(WrapperStore[Any]):
    """A store that raises what users raise for the document of the root, once, after `left` reads of it."""

    left = -1

    def get(self, key: str, byte_range: Any = None) -> Any:
        if key == "zarr.json":
            self.left -= 1
            if self.left == -1:
                raise KeyError(key)
        return super().get(key, byte_range)


@pytest.mark.parametrize(
    "change",
    [
        lambda group: group["a"].attrs.update(x=1),
        lambda group: group["a"].append([4]),
        lambda group: group["a"].resize(2),
        lambda group: group.create_array("a", data=[1], overwrite=True),
        lambda group: group.__delitem__("a"),
        lambda group: group.move("a", "b"),
    ],
    ids=["attributes", "append", "resize", "overwrite", "delete", "move"],
)
def test_an_error_for_the_copy_above_a_changed_node_names_its_place(change: Callable[[Any], Any]) -> None:
    """It came as a bare KeyError, though the change had been stored, for which there is a warning."""
    for left in count():
        store = FailingDocument(MemoryStore())
        zarrcore.create_group(store).create_array("a", data=[1, 2, 3])
        group = zarrcore.consolidate_metadata(store)
        store.left = left
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                change(group)
            except NodeIOError as error:
                said = str(error)
            else:
                said = "".join(str(warning.message) for warning in caught)
        if store.left >= 0:
            break
        assert re.search("node '/' in wrapping-memory.*KeyError: 'zarr.json'", said)
    assert left > 1


def test_an_error_for_what_a_migration_would_replace_names_its_place() -> None:
    store = FailingDocument(MemoryStore())
    zarrcore.create_array(store, data=[1, 2, 3], zarr_format=2)
    store.left = 0
    with pytest.raises(NodeIOError, match="node '/' in .*memory.*, key 'zarr.json': KeyError"):
        zarrcore.migrate(store)
