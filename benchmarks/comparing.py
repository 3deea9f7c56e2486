# SPDX-License-Identifier: MIT
"""Two ways to the same result: that it is the same, and how long each takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """Two ways to the same result.

    Attributes
    ----------
    name : str
        What is done.
    nbytes : int
        What the speed counts, usually the bytes of the input.
    ours, theirs : callable
        Without arguments; they return the result.
    what : str
        What theirs is.
    moved : int
        Bytes that have to be read and written at least; 0 where memory is not what limits.
    """

    name: str
    nbytes: int
    ours: Callable[[], object]
    theirs: Callable[[], object]
    what: str
    moved: int = 0


@dataclass(frozen=True)
class Result:
    """Medians over the rounds: the ratios are those of neighbouring measurements."""

    case: Case
    seconds: float
    ratio: float
    low: float
    high: float
    of_memcpy: float | None

    @property
    def is_good(self) -> bool:
        """Three times as fast as the other way, or within 1.25 times the time of copying the bytes."""
        return self.ratio >= 3 or (self.of_memcpy is not None and self.of_memcpy >= 0.8)

    def line(self) -> str:
        """For a terminal."""
        speed = self.case.nbytes / self.seconds / 1e9
        memcpy = f"{self.of_memcpy:6.2f}" if self.of_memcpy is not None else "     -"
        return (
            f"{self.case.name:40} {speed:8.2f} GB/s {self.ratio:8.2f}x  ({self.low:.2f} - {self.high:.2f})"
            f"  memcpy {memcpy}  {self.case.what}"
        )

    def row(self) -> str:
        """For a page."""
        speed = self.case.nbytes / self.seconds / 1e9
        small = self.case.nbytes < 1 << 16
        cost = f"{self.seconds * 1e6:.2f} us" if small else f"{speed:.3g} GB/s"
        memcpy = f"{self.of_memcpy:.2f}" if self.of_memcpy is not None else ""
        name = self.case.name if self.ratio >= 1 else f"**{self.case.name}**"
        ratio = f"{self.ratio:.2f} ({self.low:.2f}-{self.high:.2f})"
        return f"| {name} | {cost} | {ratio} | {memcpy} | `{self.case.what}` |"


HEADER = (
    "| case | zarrcore | times as fast (quartiles) | of memcpy's speed | compared with |\n"
    "| --- | --- | --- | --- | --- |"
)


def copied(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``out``, after ``x`` has been copied into it."""
    np.copyto(out, x)
    return out


def frozen(result: Any) -> Any:
    """A copy of a result that can be compared with another one."""
    if isinstance(result, tuple | list):
        return [frozen(item) for item in result]
    if isinstance(result, np.ndarray):
        return result.tolist() if result.dtype.hasobject or result.dtype.kind == "T" else result.tobytes()
    if isinstance(result, memoryview | bytes | bytearray):
        return bytes(result)
    return int(result) if isinstance(result, np.integer | np.bool_) else result


def check(case: Case) -> None:
    """Refuse to compare two ways that lead to different results."""
    if frozen(case.ours()) != frozen(case.theirs()):
        raise SystemExit(f"{case.name}: not the result of {case.what}")


def seconds(call: Callable[[], object], *, at_least: float = 0.003) -> float:
    """Of this thread's CPU time for one call, from as many as make the clock's error small."""
    repeat = 1
    while True:
        start = time.thread_time()
        for _ in range(repeat):
            call()
        taken = time.thread_time() - start
        if taken >= at_least:
            return taken / repeat
        repeat *= 4


def measure(case: Case, rounds: int) -> Result:
    """Both ways in turns, and a copy of as many bytes beside them."""
    check(case)
    source = np.ones(max(1, case.moved // 2), np.uint8)
    target = np.zeros_like(source)
    times, ratios, copies = [], [], []
    for _ in range(rounds):
        ours = seconds(case.ours)
        ratios.append(seconds(case.theirs) / ours)
        times.append(ours)
        if case.moved:
            copies.append(seconds(lambda: np.copyto(target, source)) / ours)
    ratios.sort()
    return Result(
        case,
        statistics.median(times),
        statistics.median(ratios),
        ratios[len(ratios) // 4],
        ratios[-1 - len(ratios) // 4],
        statistics.median(copies) if copies else None,
    )


BEGIN, END = "<!-- speeds:begin -->\n", "<!-- speeds:end -->\n"


def fill_page(page: Path, results: Iterable[Result], about: str) -> None:
    """Put the table between the two markers of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has lost its markers")
    table = "\n".join([about, "", HEADER, *(result.row() for result in results)])
    page.write_text(f"{before}{begin}{table}\n{end}{after}", encoding="utf-8")


def run(cases: Iterable[Case], *, rounds: int, only: str) -> Iterator[Result]:
    """Measure and print the cases whose name contains a text."""
    for case in cases:
        if only in case.name:
            result = measure(case, rounds)
            print(result.line(), flush=True)
            yield result
