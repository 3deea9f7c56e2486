"""Peak memory of reading a whole array in a fresh process, beyond the result itself."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.cases import CASES
from benchmarks.driver import Client, Setup, WorkerError

PROBED = (
    "dense/volume-raw/read",
    "dense/volume-blosc/read",
    "dense/volume-shards/read",
    "codecs/gzip/read",
    "codecs/zstd/read",
)


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, float | str]]:
    """MiB by case and library, each from one process (peaks hardly vary); a string says why there is none."""
    del rounds
    names = list(names)
    return {case: {name: _one(setup, name, case) for name in names} for case in PROBED}


def _one(setup: Setup, library: str, case: str) -> float | str:
    if library not in CASES[case].libraries:
        return "does not take part"
    with Client(setup, library) as client:
        try:
            client.ask("prepare", case=case)
            seen = client.ask("memory")
        except WorkerError as error:
            return str(error)
    return (seen["growth"] - seen["result"]) / 2**20
