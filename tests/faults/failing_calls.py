# SPDX-License-Identifier: MIT
"""A program that runs under shim.c: system calls of random operations fail at random; see test_calls.py.

failing_calls.py DIRECTORY LAYOUT SEED CASES [FIRST]    (from the case FIRST on)
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import json
import os
import random
import shutil
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))

from operations import CHANGES, OPERATIONS, READS, Subject, applies, fill, prepare, state, why_not

import zarrcore
from zarrcore.storage.files import is_temporary

KINDS = (
    "open",
    "read",
    "write",
    "sync",
    "rename",
    "unlink",
    "mkdir",
    "link",
    "stat",
    "list",
    "close",
    "lock",
)
SHORT = -1
CODES = (errno.EIO, errno.EACCES, errno.ENOSPC, errno.EMFILE, errno.ESTALE, errno.EINTR, SHORT)
FOREVER = 1 << 30
REPORTING = ("verify", "verify-index", "repair", "census")  # these tell what they could not look at

shim = ctypes.CDLL(None)


class Case(NamedTuple):
    operation: str
    kind: str
    code: int
    share: float  # of the calls of this kind, before the first one that fails
    times: int
    options: dict[str, Any]


# What once went wrong.
FOUND = {
    "chunks": [
        Case("attributes", "lock", errno.EACCES, 0, FOREVER, {"locks": "file"}),  # was waited for without end
        Case("delete", "list", errno.EIO, 0.9, 1, {}),  # nobody said where
        Case("list", "close", errno.EIO, 0.5, 1, {}),  # failed, though nothing had been lost
    ],
    "shards": [Case("explain", "open", errno.ESTALE, 0.32, 1, {})],  # took a failed request for an answer
    # Sometimes the attributes went first, as the file system would have it.
    "format-2": [Case("copy-over", "unlink", errno.EIO, share / 20, 1, {}) for share in range(20)],
}


def random_case(chance: random.Random, layout: str) -> Case:
    operation = chance.choice([name for name in OPERATIONS if applies(name, layout)])
    kind = chance.choice(KINDS)
    code = chance.choice(CODES if kind in ("read", "write") else CODES[:-1])
    # What interrupts every call, or never moves a byte, is no fault but an end of the world.
    times = 1 if code in (errno.EINTR, SHORT) else chance.choice((1, 1, 2, FOREVER))
    options = {"fsync": chance.random() < 0.3, "locks": chance.choice(("none", "none", "file"))}
    return Case(operation, kind, code, chance.random(), times, options)


class Run:
    """Cases of one layout, with what operations do when nothing fails."""

    def __init__(self, directory: Path, layout: str) -> None:
        self.directory, self.layout = directory, layout
        self.clean = directory / "clean"
        fill(self.clean, layout)
        self.known: dict[Any, tuple[Any, Any, Any, dict[str, int]]] = {}
        self.injected: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()

    def fresh(self, operation: str) -> Path:
        """A new copy of the store, ready for an operation."""
        path = self.directory / "store"
        for old in (path, self.directory / "store-aside"):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(self.clean, path)
        prepare(path, operation)
        return path

    def expected(self, case: Case) -> tuple[Any, Any, Any, dict[str, int]]:
        """State before, after, what is returned, and how many calls there are of each kind."""
        key = (case.operation, *case.options.items())
        if key not in self.known:
            path = self.fresh(case.operation)
            before = state(path)
            seen = {}
            for number, kind in enumerate(KINDS):
                if number and case.operation in CHANGES:
                    path = self.fresh(case.operation)
                it = Subject(path, self.layout, **case.options)
                shim.shim_fail(-1, 0, 1 << number, 0)
                result = OPERATIONS[case.operation](it)
                seen[kind] = shim.shim_seen()
                shim.shim_failed()
            self.known[key] = before, state(path), result, seen
        return self.known[key]

    def check(self, case: Case) -> None:
        before, after, wanted, seen = self.expected(case)
        if seen[case.kind] == 0:
            return
        path = self.fresh(case.operation)
        it = Subject(path, self.layout, **case.options)
        descriptors = len(os.listdir("/proc/self/fd"))
        error = result = None
        shim.shim_fail(int(case.share * seen[case.kind]), case.times, 1 << KINDS.index(case.kind), case.code)
        try:
            result = OPERATIONS[case.operation](it)
        except Exception as raised:
            error = raised
        failed = shim.shim_failed()
        self.outcomes["raised" if error is not None else "succeeded"] += 1
        self.injected[case.kind] += failed
        found = state(path)
        if error is None:
            if case.operation in READS:
                assert result == wanted, ("another result", result, wanted)
            assert why_not(found, after, after, "") == "", why_not(found, after, after, "")
        else:
            try:
                self.judge(case, error, failed, path)
            except AssertionError as problem:
                raise problem from error
            problem = why_not(found, before, after if case.operation in CHANGES else before, case.operation)
            assert problem == "", problem
        del error, result
        assert len(os.listdir("/proc/self/fd")) == descriptors, "descriptors are left"
        if case.kind != "unlink" and case.operation != "repair":
            left = [one for one in path.rglob(".zc-*") if is_temporary(one.name)]
            assert left == [], left
        self.use(case, it, found)

    def judge(self, case: Case, error: Exception, failed: int, path: Path) -> None:
        """An error is one of ours or of the system, and names what was wrong and where."""
        assert failed, "an error without a reason"
        is_retried = case.kind in ("open", "read", "write", "sync", "close", "lock")
        assert not is_retried or case.code not in (errno.EINTR, SHORT), "not tried again"
        assert isinstance(error, (zarrcore.errors.BaseZarrError, OSError)), f"not typed: {error!r}"
        text = str(error)
        assert any(place in text for place in (path.name, "grp", "zarr.json", ".z")), f"no place: {error!r}"
        if case.operation not in REPORTING:
            assert os.strerror(case.code) in chain_of(error), f"no reason: {error!r}"

    def use(self, case: Case, it: Subject, found: Any) -> None:
        """Whatever has failed, later calls work: with the old handles and new ones."""
        if "grp/arr" in found and found["grp/arr"].values is not None:
            shape = zarrcore.open_array(it.store, path="grp/arr", mode="r")[...].shape
            assert shape == found["grp/arr"].values.shape
            array = zarrcore.open_array(it.store, path="grp/arr")
            array[:3] = array[1:4]
        group = it.group
        if case.operation == "migrate":  # a handle of one format is none of another
            group = zarrcore.open_group(it.store, path="grp")
        group.attrs["later"] = 1
        assert zarrcore.open_group(it.store, path="grp", mode="r").attrs["later"] == 1
        group.create_array("later", data=it.values([1, 2, 3]))
        assert group["later"][...].tolist() == it.values([1, 2, 3]).tolist()


def chain_of(error: BaseException | None) -> str:
    text = ""
    while error is not None:
        text += f"{error}\n"
        for more in getattr(error, "failures", ()):
            text += chain_of(more)
        error = error.__cause__ or error.__context__
    return text


def main(directory: str, layout: str, seed: str, cases: str, first: str = "0") -> None:
    warnings.simplefilter("ignore", zarrcore.errors.ZarrUserWarning)
    run = Run(Path(directory), layout)
    known = FOUND.get(layout, [])
    for number in range(int(first) - len(known) * (first == "0"), int(cases)):
        chance = random.Random(f"{layout} {seed} {number}")
        case = random_case(chance, layout) if number >= 0 else known[number]
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            run.check(case)
        except Exception as error:
            error.add_note(f"layout {layout!r}, seed {seed}, number {number}: {case}")
            raise
    print(json.dumps({"injected": run.injected, "outcomes": run.outcomes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
