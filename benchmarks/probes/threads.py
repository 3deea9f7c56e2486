"""Whole reads with 1, 2, 4, ... threads, up to the cores that the process may use."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from benchmarks.driver import Client, Setup, WorkerError
from benchmarks.measure import usable_cores

#: In all but the first, decoding is most of the work.
PROBED = (
    "dense/volume-raw/read",
    "dense/volume-blosc/read",
    "dense/volume-shards/read",
    "codecs/zstd/read",
    "codecs/gzip/read",
)
DECODE_BOUND = PROBED[1:]
_SECONDS = 0.05

#: Short turns in alternation: on a shared machine what one core gets differs from one second to the next.
_ROUNDS = 15


def counts() -> list[int]:
    """Powers of two, and the number of cores."""
    cores = usable_cores()
    return sorted({cores, *(1 << n for n in range(5) if 1 << n <= cores)})


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Wall seconds per round, by case, library and number of threads; all in turn, each in its process."""
    names = list(names)
    return {case: _one(setup, names, case, max(rounds, _ROUNDS)) for case in PROBED}


def _one(setup: Setup, names: list[str], case: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    seen: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        ready = []
        for name in names:
            for count in counts():
                client = stack.enter_context(Client(setup, name, count))
                try:
                    client.ask("prepare", case=case)
                    client.ask("check")
                    ready.append((client, count, client.ask("calibrate", seconds=_SECONDS)))
                except WorkerError:
                    continue
        for number in range(rounds):
            turn = number % max(1, len(ready))
            for client, count, repeat in ready[turn:] + ready[:turn]:
                seconds = client.ask("sample", repeat=repeat)["wall"]
                seen.setdefault(client.library, {}).setdefault(str(count), []).append(seconds)
    return seen
