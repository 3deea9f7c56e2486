"""Peak memory of reading a whole array in a fresh process, beyond the result itself."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.driver import Client, Setup, WorkerError
from benchmarks.libraries import FLOOR
from benchmarks.measure import usable_cores

_MIB = 2**20
#: What each thread may need: little where blocks of a chunk are placed as they come, else about a chunk.
ALLOWED = {
    "dense/volume-raw/read": _MIB,
    "dense/volume-blosc/read": _MIB,
    "dense/volume-shards/read": _MIB,
    "codecs/big-endian/read": 1.3 * _MIB,  # chunks of 1 MiB, these three
    "codecs/gzip/read": 1.3 * _MIB,
    "codecs/zstd/read": 1.3 * _MIB,
}


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, float | str]]:
    """MiB by case and library, each from one process (peaks hardly vary); a string says why there is none."""
    del rounds
    names = [name for name in names if name != FLOOR]
    threads = usable_cores()
    return {
        case: {"allowed": threads * allowed / _MIB} | {name: _one(setup, name, case) for name in names}
        for case, allowed in ALLOWED.items()
    }


def _one(setup: Setup, library: str, case: str) -> float | str:
    with Client(setup, library) as client:
        try:
            client.ask("prepare", case=case)
            seen = client.ask("memory")
        except WorkerError as error:
            return str(error)
    return (seen["growth"] - seen["result"]) / _MIB
