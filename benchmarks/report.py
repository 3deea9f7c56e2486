"""Ratios to the best peer, and their tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.driver import Result
from benchmarks.libraries import LIBRARIES, SUBJECT


@dataclass(frozen=True)
class Verdict:
    """zarrcore against the fastest peer of a case; below 1 is faster.

    Attributes
    ----------
    ratio : float
        Median over the rounds of zarrcore's time over the peer's time in the same round.
    low, high : float
        Quartiles of the same.
    """

    peer: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float


def verdict(seconds: dict[str, list[float]]) -> Verdict | None:
    """The verdict of a case by one clock; None without zarrcore or without peers."""
    if SUBJECT not in seconds or len(seconds) < 2:
        return None
    return max((_against(seconds, peer) for peer in seconds if peer != SUBJECT), key=lambda v: v.ratio)


def _against(seconds: dict[str, list[float]], peer: str) -> Verdict:
    ours, theirs = seconds[SUBJECT], seconds[peer]
    ratios = [a / b for a, b in zip(ours, theirs, strict=False)]
    low, high = (ratios[0],) * 2 if len(ratios) < 2 else _quartiles(ratios)
    return Verdict(
        peer, statistics.median(ours), statistics.median(theirs), statistics.median(ratios), low, high
    )


def _quartiles(values: list[float]) -> tuple[float, float]:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale or unit == "us":
            return f"{seconds / scale:.3g} {unit}"
    raise AssertionError("unreachable")


def markdown(results: Iterable[Result], probes: dict[str, Any], about: dict[str, Any]) -> str:
    """The whole report."""
    results = list(results)
    parts = ["# zarrcore against its peers", "", *(f"- {key}: {value}" for key, value in about.items()), ""]
    parts += (
        _summary(results)
        + _verdicts(results)
        + _times(results)
        + _stored(results)
        + _disk(results)
        + _failures(results)
    )
    parts += _imports(probes.get("imports", {}))
    parts += _probe(probes.get("memory", {}), "Peak memory of a first read beyond its result, MiB", "{:.1f}")
    parts += _probe(
        probes.get("gil", {}), "A Python thread beside the read, against beside zlib.crc32", "{:.2f}"
    )
    return "\n".join(parts) + "\n"


def line(result: Result) -> str:
    """One case in one line, for whoever watches the run."""
    cells = []
    for clock in ("wall", "cpu"):
        found = verdict(getattr(result, clock))
        if found is not None:
            cells.append(
                f"{clock} {duration(found.ours):>8} / {duration(found.theirs):>8} = {found.ratio:5.2f} "
                f"({found.peer})"
            )
    cells += [f"{name}: {why[:80]}" for name, why in result.failed.items()]
    return "  ".join([f"{result.case:44}", *cells])


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]


def _summary(results: list[Result]) -> list[str]:
    lines = []
    for clock in ("wall", "cpu"):
        verdicts = [v for r in results if (v := verdict(getattr(r, clock))) is not None]
        won = sum(v.ratio < 1 for v in verdicts)
        if verdicts:
            mean = statistics.geometric_mean(v.ratio for v in verdicts)
            lines.append(
                f"- {clock}: faster than the best peer in {won} of {len(verdicts)} cases; geometric mean of "
                f"the ratios {mean:.2f}"
            )
    return [*lines, ""]


def _verdicts(results: list[Result]) -> list[str]:
    rows = []
    for result in results:
        wall, cpu = verdict(result.wall), verdict(result.cpu)
        if wall is None or cpu is None:
            continue
        mark = "**" if wall.ratio >= 1 or cpu.ratio >= 1 else ""
        rows.append(
            [
                f"{mark}{result.case}{mark}",
                duration(wall.ours),
                wall.peer,
                duration(wall.theirs),
                f"{wall.ratio:.2f} ({wall.low:.2f}-{wall.high:.2f})",
                duration(cpu.ours),
                cpu.peer,
                duration(cpu.theirs),
                f"{cpu.ratio:.2f} ({cpu.low:.2f}-{cpu.high:.2f})",
            ]
        )
    head = ["case", "wall", "best peer", "its wall", "ratio", "CPU", "best peer", "its CPU", "ratio"]
    return [
        "## zarrcore against the best peer of each case",
        "",
        "Medians over the rounds; ratio: median (quartiles) "
        "of zarrcore / peer in the same round, below 1 is faster; bold: not faster by one of the clocks.",
        "",
        *_table(head, rows),
    ]


def _times(results: list[Result]) -> list[str]:
    lines = []
    for clock, title in (("wall", "Wall time"), ("cpu", "CPU time of all threads")):
        rows = []
        for result in results:
            seconds = getattr(result, clock)
            cells = [duration(statistics.median(seconds[n])) if n in seconds else "" for n in LIBRARIES]
            rows.append([result.case, *cells])
        lines += [f"## {title}, all libraries", "", *_table(["case", *LIBRARIES], rows)]
    return lines


def _stored(results: list[Result]) -> list[str]:
    rows = [
        [r.case, *(f"{r.stored[n] / 2**20:.2f}" if n in r.stored else "" for n in LIBRARIES)]
        for r in results
        if r.stored and max(r.stored.values()) > 2**20
    ]
    return ["## MiB written", "", *_table(["case", *LIBRARIES], rows)] if rows else []


def _disk(results: list[Result]) -> list[str]:
    rows = [[r.case, name, f"{count / 2**20:.1f}"] for r in results for name, count in r.from_disk.items()]
    return (
        ["## Not from the page cache after all, MiB", "", *_table(["case", "library", "MiB"], rows)]
        if rows
        else []
    )


def _failures(results: list[Result]) -> list[str]:
    rows = [
        [r.case, name, why.replace("|", "/").replace("\n", " ")[:200]]
        for r in results
        for name, why in r.failed.items()
    ]
    return ["## Not timed", "", *_table(["case", "library", "why"], rows)] if rows else []


def _imports(probe: dict[str, dict[str, float]]) -> list[str]:
    if not probe:
        return []
    rows = [
        [name, duration(seen["wall"]), duration(seen["cpu"]), f"{seen['over_numpy']:.2f}"]
        for name, seen in probe.items()
    ]
    head = ["process", "wall", "CPU", "CPU beyond an empty process, over numpy's"]
    return ["## Fresh processes", "", *_table(head, rows)]


def _probe(probe: dict[str, dict[str, float | str]], title: str, form: str) -> list[str]:
    if not probe:
        return []
    rows = [
        [case, *(form.format(seen[n]) if isinstance(seen.get(n), float) else "" for n in LIBRARIES)]
        for case, seen in probe.items()
    ]
    return [f"## {title}", "", *_table(["case", *LIBRARIES], rows)]
