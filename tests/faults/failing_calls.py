# SPDX-License-Identifier: MIT
"""A program that runs under shim.c: system calls of random operations fail at random; see test_calls.py.

failing_calls.py DIRECTORY LAYOUT SEED CASES [FIRST]    (from the case FIRST on)
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import gc
import json
import os
import random
import sys
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "shared"))

from operations import (
    CHANGES,
    OPERATIONS,
    READS,
    Runs,
    Subject,
    applies,
    state,
    temporary_files,
    use,
    why_not,
)

import zarrcore

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
        Case("check", "open", errno.EACCES, 0.93, FOREVER, {}),  # took what it could not read for changed
    ],
    "shards": [Case("explain", "open", errno.ESTALE, 0.32, 1, {})],  # took a failed request for an answer
    # A part of a file was taken for the whole.
    "compressed": [Case("read", "read", SHORT, share / 6, 1, {}) for share in range(6)],
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


def open_files() -> tuple[int, int]:
    """How many descriptors there are, and how many more of lock files, which stay open with their arrays."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the listing
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    locks = sum("/.zc-locks" in path for path in found)
    return len(found) - locks, locks


class Run(Runs):
    """Cases of one layout."""

    def __init__(self, directory: Path, layout: str) -> None:
        super().__init__(directory, layout)
        self.counts: dict[Any, int] = {}
        self.injected: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()

    def calls(self, case: Case) -> int:
        """How many calls of its kind there are in the operation of a case."""
        key = (case.operation, case.kind, *case.options.items())
        if key not in self.counts:
            it = Subject(self.fresh(case.operation), self.layout, **case.options)
            shim.shim_fail(-1, 0, 1 << KINDS.index(case.kind), 0)
            OPERATIONS[case.operation](it)
            self.counts[key] = shim.shim_seen()
            shim.shim_failed()
        return self.counts[key]

    def check(self, case: Case) -> None:
        before, after, wanted = self.expected(case.operation, **case.options)
        calls = self.calls(case)
        if calls == 0:
            return
        path = self.fresh(case.operation)
        it = Subject(path, self.layout, **case.options)
        gc.collect()  # arrays of earlier runs keep their files of locks open until they are collected
        gc.freeze()  # what is left stays: the next collection looks at what this case makes
        descriptors = open_files()
        error = result = None
        shim.shim_fail(int(case.share * calls), case.times, 1 << KINDS.index(case.kind), case.code)
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
        assert open_files()[0] == descriptors[0], "descriptors are left"
        if case.kind != "unlink" and case.operation != "repair":
            assert temporary_files(path) == []
        use(it, case.operation, found)
        del it
        gc.collect()
        assert open_files() == descriptors, "descriptors of locks are left"

    def judge(self, case: Case, error: Exception, failed: int, path: Path) -> None:
        """An error is one of ours or of the system, and names what was wrong and where."""
        assert failed, "an error without a reason"
        is_retried = case.kind in ("open", "read", "write", "sync", "lock")
        assert not is_retried or case.code not in (errno.EINTR, SHORT), "not tried again"
        assert isinstance(error, (zarrcore.errors.BaseZarrError, OSError)), f"not typed: {error!r}"
        text = str(error)
        assert any(place in text for place in (path.name, "grp", "zarr.json", ".z")), f"no place: {error!r}"
        if case.operation not in REPORTING:
            assert os.strerror(case.code) in chain_of(error), f"no reason: {error!r}"


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
