# SPDX-License-Identifier: MIT
"""A program that disturbs random operations, see test_disturbed.py.

disturbed.py interrupt|kill|full|memory DIRECTORY LAYOUT SEED CASES [FIRST]    (from the case FIRST on)

interrupt: Ctrl-C at a random moment; kill: SIGKILL; full: the file system of DIRECTORY has room for a few
blocks more; memory: the process may have a little more than it has.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import random
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

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

Ended = tuple[bool, object]  # whether an operation had ended, and what it returned


class Run(Runs):
    """Operations of one layout, and how long each takes."""

    def __init__(self, directory: Path, layout: str) -> None:
        super().__init__(directory, layout)
        self.outcomes: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}

    def moment(self, operation: str, locks: str, share: float) -> float:
        """Seconds after the beginning of an operation."""
        if operation not in self.seconds:
            it = Subject(self.fresh(operation), self.layout, locks=locks)
            began = time.perf_counter()
            OPERATIONS[operation](it)
            self.seconds[operation] = time.perf_counter() - began
        return max(1e-6, share * self.seconds[operation])

    def check(self, how: str, operation: str, locks: str, share: float) -> None:
        before, after, wanted = self.expected(operation, locks=locks)
        seconds = self.moment(operation, locks, share)
        path = self.fresh(operation)
        it = Subject(path, self.layout, locks=locks)
        has_ended, result = WAYS[how](it, operation, seconds, share)
        self.outcomes["ended" if has_ended else how] += 1
        found = state(path)
        if has_ended:
            assert operation in CHANGES or how == "kill" or result == wanted, ("another result", result)
            problem = why_not(found, after, after, "")
        else:
            problem = why_not(found, before, before if operation in READS else after, operation)
        assert problem == "", problem
        if how != "kill" and operation != "repair":
            assert temporary_files(path) == []
        use(it, operation, found)


def interrupted(it: Subject, operation: str, seconds: float, share: float) -> Ended:
    """Run an operation, and interrupt it as Ctrl-C does; returns whether it had ended."""
    has_ended, result, is_over = False, None, False

    def interrupt(*_: object) -> None:
        if not is_over:  # another thread may see to a signal, a moment later
            signal.raise_signal(signal.SIGINT)  # with which event loops deal in a way of their own

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        result = OPERATIONS[operation](it)
        has_ended = True
        is_over = True
    except KeyboardInterrupt:
        is_over = True
    signal.setitimer(signal.ITIMER_REAL, 0)
    return has_ended, result


def killed(it: Subject, operation: str, seconds: float, share: float) -> Ended:
    """Run an operation in a child and kill that; returns whether it had ended."""
    child = os.fork()
    if child == 0:
        try:
            OPERATIONS[operation](it)
        except BaseException as error:
            print(f"{operation}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status == 0, None


def without_room(it: Subject, operation: str, seconds: float, share: float) -> Ended:
    """Run an operation where there is room for up to 12 blocks."""
    ballast = it.path.parent / "ballast"
    room = os.statvfs(it.path)
    ballast.write_bytes(bytes(max(0, room.f_bavail - int(10 * share)) * room.f_bsize))
    try:
        return True, OPERATIONS[operation](it)
    except (OSError, zarrcore.errors.FlushError) as error:
        assert operation == "repair" or "No space left" in str(error), repr(error)
        assert it.path.name in str(error) or "grp" in str(error), repr(error)
        return False, None
    finally:
        ballast.unlink()


def without_memory(it: Subject, operation: str, seconds: float, share: float) -> Ended:
    """Run an operation for which there may be too little memory."""
    ctypes.CDLL(None).malloc_trim(0)
    most = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + int(share * share * (10 << 20)), most[1]))
    try:
        return True, OPERATIONS[operation](it)
    except MemoryError:
        return False, None
    except Exception as error:
        assert operation in ("repair", "verify") or isinstance(error.__cause__, MemoryError), repr(error)
        return False, None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, most)


WAYS = {"interrupt": interrupted, "kill": killed, "full": without_room, "memory": without_memory}


def main(how: str, directory: str, layout: str, seed: str, cases: str, first: str = "0") -> None:
    warnings.simplefilter("ignore")
    operations = [
        name for name in (OPERATIONS if how in ("interrupt", "memory") else CHANGES) if applies(name, layout)
    ]
    run = Run(Path(directory), layout)
    for number in range(int(first), int(cases)):
        chance = random.Random(f"{layout} {seed} {number}")
        case = chance.choice(operations), chance.choice(("none", "file")), 1.2 * chance.random()
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            run.check(how, *case)
        except BaseException as error:
            error.add_note(f"{how}, layout {layout!r}, seed {seed}, number {number}: {case}")
            raise
    print(json.dumps(run.outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
