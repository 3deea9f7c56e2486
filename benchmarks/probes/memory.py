"""Peak memory of reading a whole array in a fresh process, beyond the result itself."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from benchmarks.cases import CASES
from benchmarks.driver import Client, Setup, WorkerError

PROBED = (
    "dense/volume-raw/read",
    "dense/volume-blosc/read",
    "dense/volume-shards/read",
    "codecs/gzip/read",
    "codecs/zstd/read",
    "codecs/transposed/read",
)


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, float | str]]:
    """MiB by case and library, the median of three processes at most; a string says why there is none."""
    names = list(names)
    return {case: {name: _one(setup, name, case, min(rounds, 3)) for name in names} for case in PROBED}


def _one(setup: Setup, library: str, case: str, rounds: int) -> float | str:
    if library not in CASES[case].libraries:
        return "does not take part"
    try:
        return statistics.median(_fresh(setup, library, case) for _ in range(rounds))
    except WorkerError as error:
        return str(error)


def _fresh(setup: Setup, library: str, case: str) -> float:
    with Client(setup, library) as client:
        client.ask("prepare", case=case)
        seen = client.ask("memory")
    return (seen["growth"] - seen["result"]) / 2**20
