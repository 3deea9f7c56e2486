"""The tables of a run over random arrays: the distribution, the families, the worst cases."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.random_arrays.compare import Measure, Outcome

#: By what the cases are divided.
FAMILIES: dict[str, Callable[[Outcome], str]] = {
    "selection": lambda outcome: outcome.selection.kind,
    "codecs": lambda outcome: outcome.array.codec,
    "layout": lambda outcome: outcome.array.layout,
    "values": lambda outcome: outcome.array.values,
    "bytes of the array": lambda outcome: _size_class(outcome.array.nbytes),
    "bytes of a chunk": lambda outcome: _size_class(outcome.array.chunk_nbytes),
}
_PERCENTILES = (0, 1, 5, 25, 50, 75, 95)


def _size_class(nbytes: int) -> str:
    for limit, name in ((64 << 10, "64 KiB"), (1 << 20, "1 MiB"), (8 << 20, "8 MiB")):
        if nbytes < limit:
            return f"below {name}"
    return "8 MiB and more"


def compared(measure: Measure, outcomes: Iterable[Outcome]) -> list[tuple[float, Outcome]]:
    """Ratios and their cases, the lowest first."""
    pairs = [(measure.ratio(outcome), outcome) for outcome in outcomes]
    return sorted(((r, o) for r, o in pairs if r is not None), key=lambda pair: pair[0])


def distribution(measure: Measure, outcomes: Iterable[Outcome]) -> list[str]:
    """A paragraph of numbers, as lines."""
    ratios = np.array([ratio for ratio, _ in compared(measure, outcomes)])
    if not len(ratios):
        return [f"## {measure.title}", "", "Nothing was compared.", ""]
    values = np.percentile(ratios, _PERCENTILES)
    shown = ", ".join(f"{p} %: {value:.2f}" for p, value in zip(_PERCENTILES, values, strict=True))
    return [
        f"## {measure.title}",
        "",
        f"{len(ratios)} cases; geometric mean {statistics.geometric_mean(ratios):.2f}; "
        f"{(ratios >= 0.95).mean():.2%} at 0.95 or better; {(ratios < 0.9).sum()} below 0.9.",
        "",
        f"Percentiles: {shown}.",
        "",
    ]


def families(measure: Measure, outcomes: list[Outcome]) -> list[str]:
    """A table for each way to divide the cases."""
    lines: list[str] = []
    for title, family in FAMILIES.items():
        members: dict[str, list[float]] = {}
        for ratio, outcome in compared(measure, outcomes):
            members.setdefault(family(outcome), []).append(ratio)
        lines += [f"| {title} | cases | geometric mean | least | below 0.95 |", "| " + "--- | " * 5]
        for name, ratios in sorted(members.items()):
            mean, low = statistics.geometric_mean(ratios), sum(ratio < 0.95 for ratio in ratios)
            lines.append(f"| {name} | {len(ratios)} | {mean:.2f} | {ratios[0]:.2f} | {low} |")
        lines.append("")
    return lines


def describe(outcome: Outcome) -> str:
    """A case in a line."""
    array = outcome.array
    edges = " in ".join(map(_by, filter(None, (array.shape, array.chunks, array.shards))))
    return f"{outcome.selection.kind}: {array.dtype} {array.values} {edges}, {array.layout}, {array.codec}"


def _by(lengths: Iterable[int]) -> str:
    return "x".join(map(str, lengths))


def worst(measure: Measure, outcomes: Iterable[Outcome], count: int) -> list[str]:
    """A table of the lowest ratios."""
    lines = ["| ratio | ms | best other | ms | CPU ms | case | array |", "| " + "--- | " * 7]
    for ratio, outcome in compared(measure, outcomes)[:count]:
        best = measure.best(outcome) or ""
        ours, theirs = outcome.wall[measure.ours] * 1e3, outcome.wall[best] * 1e3
        cpu = f"{outcome.cpu[measure.ours] * 1e3:.3f} / {outcome.cpu[best] * 1e3:.3f}"
        case = f"{describe(outcome)} | {outcome.number}"
        lines.append(f"| {ratio:.2f} | {ours:.3f} | {best} | {theirs:.3f} | {cpu} | {case} |")
    return [*lines, ""]


def failures(outcomes: Iterable[Outcome]) -> list[str]:
    """How often who failed, and how."""
    seen: dict[str, list[Any]] = {}
    for outcome in outcomes:
        for name, why in outcome.failed.items():
            seen.setdefault(f"{name}: {why[:160]}", []).append(outcome.number)
    return [f"- {what} ({len(them)} cases, array {them[0]} first)" for what, them in sorted(seen.items())]
