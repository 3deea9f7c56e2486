# SPDX-License-Identifier: MIT
"""A program that disturbs random operations, see test_disturbed.py.

disturbed.py interrupt|kill|full|memory DIRECTORY LAYOUT SEED CASES [FIRST]    (from the case FIRST on)

interrupt: Ctrl-C at a random moment; kill: SIGKILL; full: the file system of DIRECTORY has room for a few
blocks more; memory: the process may have a part of what the operation takes.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import pickle
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
import zarrcore._core.kernels  # for which there might be too little memory, too

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # of glibc's mallopt

# What these take has been taken before: documents and lists are small.
LITTLE = set(
    "attributes attributes-of-group census check consolidate create-group delete hierarchy keys list members "
    "migrate move open open-group tree".split()
)

YES, NO = 40, 41  # what children return
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
        expected = self.expected(operation, locks=locks)
        seconds = self.moment(operation, locks, share)
        it = Subject(self.fresh(operation), self.layout, locks=locks)
        has_ended, result = WAYS[how](it, operation, seconds, share)
        self.outcomes["ended" if has_ended else how] += 1
        self.judge(how, it, operation, expected, has_ended, result)

    def judge(
        self, how: str, it: Subject, operation: str, expected: Any, has_ended: bool, result: Any
    ) -> None:
        before, after, wanted = expected
        path, found = it.path, state(it.path)
        if has_ended:
            assert operation in CHANGES or how == "kill" or result == wanted, ("another result", result)
            problem = why_not(found, after, after, "")
        else:
            problem = why_not(found, before, before if operation in READS else after, operation)
        assert problem == "", problem
        if how != "kill" and operation != "repair":
            assert temporary_files(path) == []
        use(it, operation, found)


class RunInChildren(Run):
    """The same with limits of memory, each in a child of a process that never has more or less of it."""

    def __init__(self, directory: Path, layout: str) -> None:
        # Threads do not take 64 MiB of addresses each, and large blocks go back at once.
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, 1)
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 17)
        super().__init__(directory, layout)
        it = Subject(self.fresh("write-part"), layout)  # modules that each child would import
        OPERATIONS["write-part"](it)
        use(it, "write-part", state(it.path))

    def check(self, how: str, operation: str, locks: str, share: float) -> None:
        known = self.directory / f"{operation} {locks}"
        if not known.exists():
            in_child(lambda: self.learn(known, operation, locks))
        has_ended = in_child(lambda: self.disturb(known, operation, locks, share))
        self.outcomes["ended" if has_ended else how] += 1

    def learn(self, known: Path, operation: str, locks: str) -> bool:
        """Note what an operation makes of a store, and for how many bytes of addresses it asks."""
        it = Subject(self.fresh(operation), self.layout, locks=locks)
        with zarrcore.config.set({"threading.max_workers": 1}):  # it does without more, if it has to
            begin = addresses("VmSize")
            wanted = OPERATIONS[operation](it)
            need = addresses("VmPeak") - begin
        after, before = state(it.path), state(self.fresh(operation))
        known.write_bytes(pickle.dumps((need, (before, after, wanted))))
        return True

    def disturb(self, known: Path, operation: str, locks: str, share: float) -> bool:
        with known.open("rb") as file:
            need = pickle.load(file)[0]  # before what it has is counted
        it = Subject(self.fresh(operation), self.layout, locks=locks)
        has_ended, result = without_memory(it, operation, int(share * need))
        expected = pickle.loads(known.read_bytes())[1]
        self.judge("memory", it, operation, expected, has_ended, result)
        return has_ended


def in_child(call: Callable[[], bool]) -> bool:
    """Return what a function returns in a child of fork."""
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        code = 1  # as faulthandler's, which ends what hangs
        try:
            faulthandler.dump_traceback_later(60, exit=True)
            code = YES if call() else NO
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (YES, NO), code
    return code == YES


def addresses(name: str) -> int:
    """Bytes of addresses that this process has, or at most had since it was forked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


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


def without_memory(it: Subject, operation: str, nbytes: int) -> Ended:
    """Run an operation that gets so many bytes of addresses at most."""
    most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (addresses("VmSize") + nbytes, most[1]))
    try:
        return True, OPERATIONS[operation](it)
    except MemoryError:
        return False, None
    except Exception as error:
        assert operation in ("repair", "verify") or isinstance(error.__cause__, MemoryError), repr(error)
        return False, None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, most)


WAYS = {"interrupt": interrupted, "kill": killed, "full": without_room}


def main(how: str, directory: str, layout: str, seed: str, cases: str, first: str = "0") -> None:
    warnings.simplefilter("ignore")
    operations = [
        name for name in (OPERATIONS if how in ("interrupt", "memory") else CHANGES) if applies(name, layout)
    ]
    if how == "memory":
        operations = [name for name in operations if name not in LITTLE]
    run = (RunInChildren if how == "memory" else Run)(Path(directory), layout)
    for number in range(int(first), int(cases)):
        chance = random.Random(f"{layout} {seed} {number}")
        case = chance.choice(operations), chance.choice(("none", "file")), 1.2 * chance.random()
        if how != "memory":  # whose children do so: they have no thread that this process has started
            faulthandler.dump_traceback_later(60, exit=True)
        try:
            run.check(how, *case)
        except BaseException as error:
            error.add_note(f"{how}, layout {layout!r}, seed {seed}, number {number}: {case}")
            raise
    print(json.dumps(run.outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
