# SPDX-License-Identifier: MIT
"""A store whose n-th call fails, for each n: what is returned is right, what is stored is old or new."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from capi_callbacks import Memory
from capi_documents import SHARDS, V3, LibraryError, v3
from capi_tree import Tree

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

MEMORY, IO, CANCELLED = -1, -7, -11
MOST = 100  # calls of one operation
VALUES = np.arange(1, 25, dtype="f4").reshape(6, 4)
CONSOLIDATED = {
    "zarr_format": 3,
    "node_type": "group",
    "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {}},
}


class Failing(Memory):
    """Returns a status in the place of its n-th call."""

    def __init__(self, api: Any, *, batches: bool) -> None:
        super().__init__(api, batches=batches)
        self.left, self.status, self.failed = -1, 0, False
        for name in ("get", "get_ranges", "put", "remove", "list"):
            if name != "get_ranges" or batches:
                self.replace(name, self.counted(getattr(self, name)))

    def counted(self, function: Callable[..., int]) -> Callable[..., int]:
        def call(*args: Any) -> int:
            with self.lock:
                self.left -= 1
                now = self.left == 0
            self.failed = self.failed or now
            return self.status if now else function(*args)

        return call

    def start(self, n: int, status: int) -> None:
        self.left, self.status, self.failed = n, status, False


def read(tree: Tree) -> None:
    np.testing.assert_array_equal(tree.read("g/a"), VALUES)


def read_part(tree: Tree) -> None:
    with tree.array("g/a") as handle:
        out, start, count = np.zeros((3, 2), "f4"), (ctypes.c_int64 * 2)(2, 1), (ctypes.c_int64 * 2)(3, 2)
        tree.check(tree.api.read, handle, start, None, count, out.ctypes.data, None, 2)
    np.testing.assert_array_equal(out, VALUES[2:5, 1:3])


def list_group(tree: Tree) -> None:
    assert {name: kind for name, (kind, _) in tree.list("g").items()} == {"a": "array", "b": "array"}


READS: dict[str, Callable[[Tree], None]] = {
    "read": read,
    "read_part": read_part,
    "list": list_group,
    "document": lambda tree: tree.document("g/a"),
}
CHANGES: dict[str, Callable[[Tree], None]] = {
    "set_attribute": lambda tree: tree.set_attribute("g/a", "x", 1),
    "grow": lambda tree: tree.resize("g/a", 9, 4),
    "append": lambda tree: tree.append("g/a", VALUES[:3]),
}
WRITES: dict[str, Callable[[Tree], None]] = {"write": lambda tree: tree.write("g/a", -VALUES)}
REMOVES: dict[str, Callable[[Tree], None]] = {
    "erase": lambda tree: tree.erase("g/a"),
    "shrink": lambda tree: tree.resize("g/a", 2, 4),
}


def each_call(memory: Failing, tree: Tree, operate: Callable[[Tree], None], status: int, after: Any) -> int:
    """Have each call of the operation fail in turn; `after` is told how it ended, by a text or None."""
    base = dict(memory.values)
    for n in range(1, MOST):
        memory.values = dict(base)
        memory.start(n, status)
        message = None
        try:
            operate(tree)
        except LibraryError as error:
            message = str(error)
            assert error.args[0] == status, message
        failed = memory.failed
        memory.start(-1, 0)
        assert failed or message is None
        after(base, message)
        if not failed:
            return n - 1
    raise AssertionError("it never ends")


@pytest.fixture(params=[V3, v3("codecs", [SHARDS])], ids=["chunks", "shards"])
def document(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[False, True], ids=["get", "get_ranges"])
def memory(library: Any, error_of: Any, document: Any, request: pytest.FixtureRequest) -> Failing:
    made = Failing(library, batches=request.param)
    tree = Tree(library, error_of, made.open(error_of))
    tree.create_group("", CONSOLIDATED)
    for name in ("g/a", "g/b"):
        tree.create_array(name, document)
        tree.write(name, VALUES)
    tree.close()
    return made


@pytest.fixture
def tree(library: Any, error_of: Any, memory: Failing) -> Any:
    made = Tree(library, error_of, memory.open(error_of))
    yield made
    made.close()


@pytest.mark.parametrize("status", [IO, MEMORY, CANCELLED])
@pytest.mark.parametrize("name", [*READS, *CHANGES])
def test_what_fails_has_changed_nothing_and_what_succeeds_is_right(
    memory: Failing, tree: Tree, name: str, status: int
) -> None:
    def check(base: dict[str, bytes], message: str | None) -> None:
        if name in READS or (message is not None and "the change is stored" not in message):
            assert memory.values == base, message

    assert each_call(memory, tree, (READS | CHANGES)[name], status, check) > 0


@pytest.mark.parametrize("name", WRITES)
def test_each_chunk_is_old_or_new(memory: Failing, tree: Tree, name: str) -> None:
    def check(base: dict[str, bytes], message: str | None) -> None:
        found = tree.read("g/a")
        assert message is not None or (found == -VALUES).all()
        np.testing.assert_array_equal(abs(found), VALUES)

    assert each_call(memory, tree, WRITES[name], IO, check) > 1


@pytest.mark.parametrize("name", REMOVES)
def test_what_could_not_be_removed_can_be_removed_again(memory: Failing, tree: Tree, name: str) -> None:
    def check(base: dict[str, bytes], message: str | None) -> None:
        if name == "shrink":
            tree.resize("g/a", 2, 4)
            tree.resize("g/a", 6, 4)
            found = tree.read("g/a")
            np.testing.assert_array_equal(found[:2], VALUES[:2])
            assert len(np.unique(found[2:])) == 1, "what was cut off does not come back"
        elif message is not None and "g/a/zarr.json" in memory.values:
            tree.erase("g/a")
        consolidated = tree.list("", 1)
        assert ("g/a" in consolidated) == ("g/a/zarr.json" in memory.values)

    assert each_call(memory, tree, REMOVES[name], IO, check) > 1


def test_the_nth_call_from_two_threads(memory: Failing, tree: Tree) -> None:
    """Whoever of them meets it fails, the other one reads what is there."""
    outcomes: list[str | None] = []

    def work() -> None:
        try:
            read(tree)
        except LibraryError as error:
            outcomes.append(str(error))
        else:
            outcomes.append(None)

    for n in range(1, 20):
        memory.start(n, IO)
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    memory.start(-1, 0)
    assert len(outcomes) == 38
    read(tree)
