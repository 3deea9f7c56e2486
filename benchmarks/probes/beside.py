"""How much another Python thread still gets done during a large read, and how long it has to wait."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from contextlib import ExitStack

from benchmarks.driver import Client, Setup, WorkerError
from benchmarks.libraries import FLOOR
from benchmarks.measure import usable_cores

PROBED = ("dense/volume-raw/read", "dense/volume-blosc/read", "dense/volume-shards/read", "codecs/zstd/read")
_SECONDS = 0.2

#: A shared machine is faster now and slower then; where more threads than cores want to run, luck has a say.
_ROUNDS = 15

#: What a worker says of one round.
Turn = dict[str, float]


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """By case and library: turns of a counting thread over those beside plain C, and its longest wait.

    Each case is read with as many threads as there are cores, so that the scheduler has to choose, and with
    one fewer ("a core left"): what the counting thread loses then is due to the GIL, locks and memory alone.

    ``turns`` is the median over the rounds; 1 means that the read disturbs Python no more than C does that
    never holds the GIL. ``wait`` is the median of each round's longest pause, in seconds. ``by_cpu`` is
    ``turns`` for the CPU time that the scheduler gave to the thread, and ``calls`` the reads done meanwhile,
    over those of plain C.
    """
    names = sorted(names, key=lambda name: name != FLOOR)
    if FLOOR not in names:
        return {}
    cores = usable_cores()
    probe = {case: _one(setup, names, case, rounds, cores) for case in PROBED}
    if cores > 1:
        probe |= {f"{case}, a core left": _one(setup, names, case, rounds, cores - 1) for case in PROBED}
    return probe


def _one(setup: Setup, names: list[str], case: str, rounds: int, threads: int) -> dict[str, dict[str, float]]:
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(setup, name, threads)) for name in names]
        for client in clients:
            client.ask("prepare", case=case)
        seen: dict[str, list[Turn]] = {}
        for _ in range(max(rounds, _ROUNDS)):
            for client in clients:
                try:
                    seen.setdefault(client.library, []).append(client.ask("beside", seconds=_SECONDS))
                except WorkerError:
                    seen.pop(client.library, None)
    base = seen[FLOOR]
    return {
        name: {
            "turns": _median_ratio(turns, base, lambda t: t["turns"]),
            "wait": statistics.median(t["wait"] for t in turns),
            "by_cpu": _median_ratio(turns, base, lambda t: t["turns"] / t["share"]),
            "calls": _median_ratio(turns, base, lambda t: t["calls"]),
        }
        for name, turns in seen.items()
    }


def _median_ratio(turns: list[Turn], base: list[Turn], figure: Callable[[Turn], float]) -> float:
    """Round by round; a round without a whole call has no ratio of calls."""
    pairs = [(figure(t), figure(b)) for t, b in zip(turns, base, strict=False)]
    return statistics.median(a / b for a, b in pairs if b) if any(b for _, b in pairs) else math.nan
