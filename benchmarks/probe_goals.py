"""What the probes found, held against their goals."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import goals
from benchmarks.libraries import SUBJECT
from benchmarks.probes.threads import DECODE_BOUND


@dataclass(frozen=True)
class Finding:
    """One goal of a probe.

    Attributes
    ----------
    name : str
        "probe/case", by which misses.md finds it.
    text : str
        What was found, and the goal.
    """

    name: str
    text: str
    met: bool


def findings(probes: dict[str, Any]) -> list[Finding]:
    """All goals that the probes of a run can judge."""
    return [
        *_threads(probes.get("threads", {})),
        *_imports(probes.get("imports", {})),
        *_memory(probes.get("memory", {})),
        *_beside(probes.get("beside", {})),
    ]


def speed_up(by_count: dict[str, list[float]], count: str) -> float | None:
    """Median over the rounds of the time with one thread over that with so many; None if not measured."""
    if count == "1" or "1" not in by_count or count not in by_count:
        return None
    return statistics.median(a / b for a, b in zip(by_count["1"], by_count[count], strict=True))


def _threads(probe: dict[str, Any]) -> Iterator[Finding]:
    for case in DECODE_BOUND:
        found = speed_up(probe.get(case, {}).get(SUBJECT, {}), "2")
        if found is not None:
            text = f"{found:.2f} times faster with 2 threads than with 1, goal {goals.SPEED_UP:.2f}"
            yield Finding(f"threads/{case}", text, found >= goals.SPEED_UP)


def _imports(probe: dict[str, Any]) -> Iterator[Finding]:
    if f"import {SUBJECT}" in probe:
        found = probe[f"import {SUBJECT}"]["over_numpy"]
        text = f"{found:.2f} of the CPU time of `import numpy`, goal {goals.IMPORT:.2f}"
        yield Finding(f"imports/{SUBJECT}", text, found <= goals.IMPORT)


def _memory(probe: dict[str, Any]) -> Iterator[Finding]:
    for case, seen in probe.items():
        found, allowed = seen.get(SUBJECT), seen.get("allowed")
        if isinstance(found, float) and allowed is not None:
            yield Finding(
                f"memory/{case}", f"{found:.1f} MiB beyond the result, goal {allowed:.1f}", found <= allowed
            )


def _beside(probe: dict[str, Any]) -> Iterator[Finding]:
    for case, seen in probe.items():
        if SUBJECT in seen:
            found = seen[SUBJECT]["turns"]
            text = (
                f"{found:.2f} of the turns that a Python thread has beside plain C, goal {goals.BESIDE:.2f}"
            )
            if "by_cpu" in seen[SUBJECT]:
                text += f" ({seen[SUBJECT]['by_cpu']:.2f} of them for the same CPU time)"
            yield Finding(f"beside/{case}", text, found >= goals.BESIDE)
