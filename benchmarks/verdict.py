"""How a case went: ratios to the best peer and to the floor, and whether its goal is met."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.cases import CASES
from benchmarks.driver import Result
from benchmarks.goals import FAMILIES, KINDS, SAME_SIZE, Family
from benchmarks.libraries import FLOOR, PEERS, PROJECTS, SUBJECT


@dataclass(frozen=True)
class Comparison:
    """zarrcore against one other by one clock.

    Attributes
    ----------
    other : str
        Whom it is compared with.
    ours, theirs : float
        Medians, in seconds.
    ratio : float
        Median over the rounds of the other's time over zarrcore's in the same round: how many times faster
        zarrcore is.
    low, high : float
        Quartiles of the same.
    """

    other: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """What is said about a case that zarrcore and a peer at least completed.

    Attributes
    ----------
    wall, cpu : Comparison
        Against the best peer by that clock: the one against which the ratio is lowest.
    floor : float, optional
        zarrcore's wall time over that of plain C.
    size : float, optional
        Bytes that zarrcore wrote over those of the best peer.
    """

    case: str
    family: Family
    wall: Comparison
    cpu: Comparison
    floor: float | None
    size: float | None

    @property
    def met(self) -> bool:
        """Whether the goal is met; a smaller time for a larger result does not count where that is asked."""
        return self.wall.ratio >= self.family.goal and not self.is_too_large

    @property
    def is_too_large(self) -> bool:
        """Whether zarrcore wrote more than it may where the size is part of the goal."""
        return self.family.no_larger and self.size is not None and self.size > SAME_SIZE


def verdicts(results: Iterable[Result]) -> list[Verdict]:
    """Of all cases that can be judged, in their order."""
    return [found for result in results if (found := verdict(result)) is not None]


def verdict(result: Result) -> Verdict | None:
    """None where zarrcore or all peers are missing."""
    wall, cpu = best_peer(result.wall), best_peer(result.cpu)
    if wall is None or cpu is None:
        return None
    size = None
    if SUBJECT in result.stored and wall.other in result.stored:
        size = result.stored[SUBJECT] / result.stored[wall.other]
    floor = 1 / against(result.wall, FLOOR).ratio if FLOOR in result.wall else None
    return Verdict(result.case, CASES[result.case].family, wall, cpu, floor, size)


def best_peer(seconds: dict[str, list[float]], peers: Iterable[str] = PEERS) -> Comparison | None:
    """Return the comparison with the peer, of the given ones, that does best against zarrcore."""
    if SUBJECT not in seconds:
        return None
    compared = [against(seconds, name) for name in peers if name in seconds]
    return min(compared, key=lambda c: c.ratio, default=None)


def against(seconds: dict[str, list[float]], other: str) -> Comparison:
    """zarrcore against one other, round by round."""
    ours, theirs = seconds[SUBJECT], seconds[other]
    ratios = [b / a for a, b in zip(ours, theirs, strict=False)]
    low, middle, high = quartiles(ratios)
    return Comparison(other, statistics.median(ours), statistics.median(theirs), middle, low, high)


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Of one value: itself."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def geometric_mean(found: Iterable[Verdict]) -> float:
    """Of the wall ratios."""
    return statistics.geometric_mean(v.wall.ratio for v in found)


def by_family(found: Iterable[Verdict]) -> dict[Family, list[Verdict]]:
    """In the order of `FAMILIES`, the worst ratio first within one."""
    ordered = sorted(found, key=lambda v: v.wall.ratio)
    families = {family: [one for one in ordered if one.family is family] for family in FAMILIES}
    return {family: members for family, members in families.items() if members}


def by_kind(results: Iterable[Result]) -> dict[str, dict[str, list[float]]]:
    """Return the wall ratios of each kind of work against each project, for the cases that it completed."""
    results = list(results)
    kinds: dict[str, dict[str, list[float]]] = {}
    for kind, families in KINDS.items():
        members = [result.wall for result in results if CASES[result.case].family in families]
        for project, peers in PROJECTS.items():
            found = (best_peer(seconds, peers) for seconds in members)
            kinds.setdefault(kind, {})[project] = [one.ratio for one in found if one is not None]
    return kinds
