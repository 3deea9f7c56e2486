# SPDX-License-Identifier: MIT
"""Arrays, nodes and data sets through a network: zarrcore against its peers on a server with latency.

    python -m benchmarks.cloud [--rounds N] [--latencies 0,10,50] [--requests N] [CASE ...]

Each library does the same in turns, round after round, at its defaults, or with at most N requests at a time;
what it has read is compared with what was written before anything is measured.  Ratios are medians over the
rounds of one run; CPU is that of this process.  Requests and bytes are those of one more round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import zarrcore
from benchmarks.cloud import Counts, Server
from benchmarks.cloud.libraries import LIBRARIES, PEERS, Library
from benchmarks.cloud.nodes import CASES as NODES_CASES
from benchmarks.cloud.nodes import NodesCase

MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    """What is done with an array that zarrcore has created in the server."""

    name: str
    shape: tuple[int, ...]
    options: dict[str, Any]
    selection: Any = ...
    fresh: bool = False  # the array is opened, and that is part of it
    write: bool = False

    def values(self) -> np.ndarray[Any, Any]:
        """What is in the array: numbers that compress to about a half."""
        return np.random.default_rng(0).integers(0, 1 << 15, self.shape, dtype="i4")

    def prepared(self, library: Library, server: Server, requests: int | None) -> Callable[[], Any]:
        """Return the call, made once and checked."""
        path, values = f"{self.name}/{library.name}", self.values()
        made = zarrcore.create_array(
            f"s3://bucket/{path}",
            storage_options=server.options,
            shape=self.shape,
            dtype="i4",
            overwrite=True,
            **self.options,
        )
        if not self.write:
            made[...] = values
        handle = library.open(server, path, requests)
        if self.write:
            library.write(handle, values)
            found, wanted = made[...], values
        else:
            found, wanted = library.read(handle, self.selection), values[self.selection]
        if not np.array_equal(found, wanted):
            raise AssertionError(f"{self.name}: {library.name} has other values")
        if self.write:
            return lambda: library.write(handle, values)
        if self.fresh:
            return lambda: library.read(library.open(server, path, requests), self.selection)
        return lambda: library.read(handle, self.selection)


_ROWS = (64, MIB // 4)
_SHARDS: dict[str, Any] = {"chunks": (64, 64, 64), "shards": (256, 256, 64)}
CASES = [
    Case("read/raw", _ROWS, {"chunks": (1, MIB // 4), "compressors": None}),
    Case("read/zstd", _ROWS, {"chunks": (1, MIB // 4)}),
    Case("read/small", (1000, 4096), {"chunks": (1, 4096), "compressors": None}),
    Case("read/one", _ROWS, {"chunks": (1, MIB // 4)}, selection=5),
    Case("read/open", _ROWS, {"chunks": (1, MIB // 4)}, selection=(5, slice(0, 1)), fresh=True),
    Case("shard/first", (256, 256, 256), _SHARDS, selection=(3, 3, slice(0, 64)), fresh=True),
    Case("shard/again", (256, 256, 256), _SHARDS, selection=(3, 3, slice(0, 64))),
    Case("shard/plane", (256, 256, 256), _SHARDS, selection=(slice(None), 3)),
    Case("write/raw", (16, MIB // 4), {"chunks": (1, MIB // 4), "compressors": None}, write=True),
    Case("write/zstd", (16, MIB // 4), {"chunks": (1, MIB // 4)}, write=True),
    Case("write/large", (4 * MIB,), {"chunks": (4 * MIB,), "compressors": None}, write=True),
]


class Trial:
    """One case, prepared for all libraries that can do it."""

    def __init__(self, case: Case | NodesCase, server: Server, requests: int | None) -> None:
        self.case = case
        self.calls: dict[str, Callable[[], Any]] = {}
        server.begin()
        for library in LIBRARIES:
            if library.reason is None and (call := case.prepared(library, server, requests)) is not None:
                self.calls[library.name] = call

    def measure(self, rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        """Seconds of each library in each round, on the clock and of the CPU."""
        times: dict[str, list[float]] = {name: [] for name in self.calls}
        cpu: dict[str, list[float]] = {name: [] for name in self.calls}
        for number in range(rounds + 1):
            names = list(self.calls)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                start, used = time.perf_counter(), time.process_time()
                self.calls[name]()
                if number:  # the first one opens connections
                    times[name].append(time.perf_counter() - start)
                    cpu[name].append(time.process_time() - used)
        return times, cpu


def _ratio(times: dict[str, list[float]], ours: str) -> tuple[float, str] | None:
    """Return how many times as fast as the best of its peers a library is, and which one that is."""
    found = {
        name: median(theirs / own for theirs, own in zip(times[name], times[ours], strict=True))
        for name in PEERS[ours]
        if ours in times and name in times
    }
    return min((ratio, name) for name, ratio in found.items()) if found else None


def _line(
    case: Case | NodesCase,
    times: dict[str, list[float]],
    cpu: dict[str, list[float]],
    counts: dict[str, Counts],
    ratios: dict[str, list[float]],
) -> str:
    """Describe a case, and note its ratios."""
    words = []
    for ours in PEERS:
        found = _ratio(times, ours)
        if found is not None:
            ratios[ours].append(found[0])
            words.append(f"{ours} {found[0]:5.2f}x {found[1]:12}")
    parts = [
        f"{name} {median(seconds) * 1e3:.1f} ms (CPU {median(cpu[name]) * 1e3:.1f}), "
        f"{counts[name].requests} requests, "
        f"{(counts[name].sent + counts[name].received) / MIB:.1f} MiB"
        for name, seconds in times.items()
    ]
    return f"{case.name:20} {'; '.join(words)} | " + " | ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--latencies", default="0,10,50", help="milliseconds for each request")
    parser.add_argument(
        "--requests", type=int, help="most requests at a time; default: as each library wants"
    )
    parser.add_argument("cases", nargs="*", help="names, or how they begin; default: all")
    args = parser.parse_args()
    for library in LIBRARIES:
        if library.reason is not None:
            print(f"without {library.name}: {library.reason}")
    cases: list[Case | NodesCase] = [*CASES, *NODES_CASES]
    chosen = [case for case in cases if not args.cases or case.name.startswith(tuple(args.cases))]
    with Server() as server, zarrcore.config.set({"async.concurrency": args.requests}):
        trials = [Trial(case, server, args.requests) for case in chosen]
        for latency in [float(word) / 1e3 for word in args.latencies.split(",")]:
            print(f"{latency * 1e3:g} ms for each request; how many times as fast as the best peer")
            ratios: dict[str, list[float]] = {ours: [] for ours in PEERS}
            for trial in trials:
                server.begin(latency=latency)
                times, cpu = trial.measure(args.rounds)
                counts = {}
                for name, call in trial.calls.items():
                    server.begin(latency=latency)
                    call()
                    counts[name] = server.counts()
                print(_line(trial.case, times, cpu, counts, ratios), flush=True)
            means = [f"{ours} {geometric_mean(all_):.2f}x" for ours, all_ in ratios.items() if all_]
            print(f"geometric mean: {', '.join(means)}\n", flush=True)


if __name__ == "__main__":
    main()
