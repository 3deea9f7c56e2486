"""How much another Python thread still gets done during a large read, and how long it has to wait."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from contextlib import ExitStack

from benchmarks.driver import Client, Setup, WorkerError
from benchmarks.libraries import FLOOR

PROBED = ("dense/volume-raw/read", "dense/volume-blosc/read", "dense/volume-shards/read", "codecs/zstd/read")
_SECONDS = 0.5


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """By case and library: turns of a counting thread over those beside plain C, and its longest wait.

    ``turns`` is the median over the rounds; 1 means that the read disturbs Python no more than C does that
    never holds the GIL. ``wait`` is the median of each round's longest pause, in seconds.
    """
    names = sorted(names, key=lambda name: name != FLOOR)
    if FLOOR not in names:
        return {}
    return {case: _one(setup, names, case, rounds) for case in PROBED}


def _one(setup: Setup, names: list[str], case: str, rounds: int) -> dict[str, dict[str, float]]:
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(setup, name)) for name in names]
        for client in clients:
            client.ask("prepare", case=case)
        seen: dict[str, list[dict[str, float]]] = {}
        for _ in range(rounds):
            for client in clients:
                try:
                    seen.setdefault(client.library, []).append(client.ask("beside", seconds=_SECONDS))
                except WorkerError:
                    seen.pop(client.library, None)
    base = [turn["turns"] for turn in seen[FLOOR]]
    return {
        name: {
            "turns": statistics.median(t["turns"] / b for t, b in zip(turns, base, strict=False)),
            "wait": statistics.median(t["wait"] for t in turns),
        }
        for name, turns in seen.items()
    }
