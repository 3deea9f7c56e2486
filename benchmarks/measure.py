"""Clocks and memory of the running process."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Operation:
    """What a case asks a library to do once.

    Attributes
    ----------
    call : callable
        The timed work; returns what it read.
    before : callable, optional
        Runs untimed before every call.
    outcome : callable, optional
        Untimed: the output of `call`, where that is not what it returns.
    written : Path, optional
        Directory of the array that `call` writes; the reference library reads it back.
    cold : int
        Bytes that a call has to bring from the disk, `before` having put them out of memory; 0: none.
    """

    call: Callable[[], Any]
    before: Callable[[], None] | None = None
    outcome: Callable[[], Any] | None = None
    written: Path | None = None
    cold: int = 0


@dataclass(frozen=True)
class Sample:
    """Seconds per call, elapsed and of all threads (user + system); bytes that came from a disk."""

    wall: float
    cpu: float
    disk: int


def warm_sample(operation: Operation, repeat: int, *, attempts: int = 4) -> Sample:
    """A sample of data in the page cache: one that had to wait for a disk is taken again.

    Where data shall come from the disk, one that did not bring them is no sample.
    """
    if operation.cold:
        taken = sample(operation, repeat)
        if taken.disk < operation.cold * repeat:
            raise RuntimeError(
                f"{taken.disk} bytes came from the disk, {operation.cold * repeat} were not in memory"
            )
        return taken
    for _ in range(attempts - 1):
        taken = sample(operation, repeat)
        if taken.disk == 0:
            return taken
    return sample(operation, repeat)


def sample(operation: Operation, repeat: int) -> Sample:
    """Cost of a call: the median over up to nine batches of `repeat` calls in all.

    A median, because one hiccup of the machine would spoil a mean. Results are dropped as they come, as a
    loop of a user would.
    """
    gc.collect()
    batches = min(repeat, 9) if operation.before is None else repeat
    parts = []
    for number in range(batches):
        if operation.before is not None:
            operation.before()
        parts.append(_timed(operation.call, repeat * (number + 1) // batches - repeat * number // batches))
    return Sample(median(p.wall for p in parts), median(p.cpu for p in parts), sum(p.disk for p in parts))


def _timed(call: Callable[[], Any], repeat: int) -> Sample:
    count = range(repeat)
    disk = _bytes_from_disk()
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    for _ in count:
        call()
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return Sample(wall / repeat * 1e-9, cpu / repeat * 1e-9, _bytes_from_disk() - disk)


def _bytes_from_disk() -> int:
    """Bytes that this process made a disk read so far; 0 where the system does not tell (not Linux)."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("read_bytes")), 0)


def repeats_for(operation: Operation, seconds: float, first: float) -> int:
    """How many calls fill `seconds`, after a first one that took so long; trial calls warm everything up."""
    if first > 2 * seconds:
        return 1
    once = sample(operation, 1).wall
    if once < seconds / 20:
        once = sample(operation, 10).wall
    return max(1, min(100_000, round(seconds / max(once, 1e-9))))


def memory_growth(call: Callable[[], Any]) -> tuple[int, Any]:
    """Growth of the peak resident set during one call, in bytes, and the call's result (Linux)."""
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to what is resident now
    result = call()
    return _status("VmHWM") - before, result


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")
