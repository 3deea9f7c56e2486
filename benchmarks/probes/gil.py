"""How much another Python thread still gets done during a large read."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from benchmarks.cases import CASES
from benchmarks.driver import Client, Setup, WorkerError

PROBED = (
    "dense/volume-raw/read",
    "dense/volume-blosc/read",
    "dense/volume-shards/read",
    "chunks/small-raw-local/read",
)


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, float | str]]:
    """Turns of a counting thread beside the read, over its turns beside as many threads of `zlib.crc32`.

    1 means that the read disturbs Python no more than work that never holds the GIL on all cores.
    """
    return {case: {name: _one(setup, name, case, rounds) for name in names} for case in PROBED}


def _one(setup: Setup, library: str, case: str, rounds: int) -> float | str:
    if library not in CASES[case].libraries:
        return "does not take part"
    with Client(setup, library) as client:
        try:
            client.ask("prepare", case=case)
            turns = [client.ask("gil", seconds=0.7) for _ in range(rounds)]
        except WorkerError as error:
            return str(error)
    return statistics.median(turn["beside_call"] / turn["beside_crc32"] for turn in turns)
