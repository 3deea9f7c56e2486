# SPDX-License-Identifier: MIT
"""Whole reads and writes with 1, 2, 4, ... threads: ``python -m benchmarks.scaling reading``.

zarrcore, tensorstore and the floor (plain C) do the same in one process and in turns, after what they read,
or wrote, was compared.  ``reading`` makes a new array each time, as ``array[...]`` does; ``into`` reads into
memory that was used before, without tensorstore.  Two rows show what the machine itself has for so many
threads: ``sha256``, which is nothing but arithmetic, and ``memory``, a copy as large as the array.

Shown are the least times of the rounds, and how many times as fast as one thread that is; for what memory
bounds, bytes of the array in a second.  --json keeps all times, a line for each side, as they come.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import zarrcore
from benchmarks import floor
from benchmarks.datasets import volume
from benchmarks.libraries import load
from benchmarks.measure import usable_cores
from zarrcore.codecs import BloscCodec, GzipCodec, ZstdCodec

_EDGE, _INNER = 128, 32
_CODECS = {
    "raw": None,
    "lz4": BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2),
    "blosclz": BloscCodec(cname="blosclz", clevel=9, shuffle="bitshuffle", typesize=2),
    "zstd": ZstdCodec(level=3),
    "gzip": GzipCodec(level=1),
}
_SHARDED = ("raw", "lz4", "zstd")
_LIBRARIES = ("zarrcore", "tensorstore", "floor")
_LEAST_ROUNDS = 2
_TURN = 0.15  # seconds, if that is more than one call


@dataclass
class Side:
    """Who does something on how many threads.

    Attributes
    ----------
    call : callable
        What is timed.
    before : callable, optional
        What is not.
    times : list of (float, float)
        Elapsed and CPU seconds of each call.
    """

    who: str
    threads: int
    call: Callable[[], object]
    before: Callable[[], object] | None = None
    times: list[tuple[float, float]] = field(default_factory=list)

    def turn(self) -> None:
        """A call, or some quick ones."""
        taken = 0.0
        while taken < _TURN:
            self.run()
            taken += self.times[-1][0]

    def run(self) -> None:
        """One call."""
        if self.before is not None:
            self.before()
        cpu, wall = time.process_time(), time.perf_counter()
        result = self.call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.times.append((wall, cpu))
        del result

    def least(self) -> float:
        return min(wall for wall, _ in self.times)


def in_turns(sides: list[Side], rounds: int, until: float) -> None:
    """Run all sides until the time is over, forwards and backwards."""
    for number in range(rounds):
        if number >= _LEAST_ROUNDS and time.monotonic() > until:
            return
        for side in sides[:: 1 if number % 2 else -1]:
            side.turn()


def _in_parts(pool: ThreadPoolExecutor, threads: int, work: Callable[[int], object]) -> None:
    list(pool.map(work, range(threads)))


class Machine:
    """What the machine has for a number of threads."""

    def __init__(self, nbytes: int, counts: list[int]) -> None:
        self._source, self._target = np.ones(nbytes, "u1"), np.ones(nbytes, "u1")
        self._pools = {n: ThreadPoolExecutor(n) for n in counts}
        self._block = bytes(1 << 18)

    def sides(self) -> list[Side]:
        """SHA-256 of 128 MiB out of the cache, and a copy in memory."""
        found = []
        for n, pool in self._pools.items():
            found.append(Side("sha256", n, lambda n=n, pool=pool: _in_parts(pool, n, self._digests(n))))
            found.append(Side("memory", n, lambda n=n, pool=pool: _in_parts(pool, n, self._copies(n))))
        return found

    def touch(self) -> None:
        """Have the process use, and give back, twice the memory of a result.

        What has lain free for long is slow to come by on some virtual machines.
        """
        new = np.empty(2 * len(self._source), "u1")
        n, pool = next(reversed(self._pools.items()))
        _in_parts(pool, n, lambda i: new[i * len(new) // n : (i + 1) * len(new) // n].fill(1))

    def _digests(self, n: int) -> Callable[[int], object]:
        return lambda i: [hashlib.sha256(self._block) for _ in range(i, 512, n)]

    def _copies(self, n: int) -> Callable[[int], object]:
        size = len(self._source)
        return lambda i: np.copyto(
            self._target[i * size // n : (i + 1) * size // n],
            self._source[i * size // n : (i + 1) * size // n],
        )


class Case:
    """An array of one layout, and the libraries that read and write it."""

    def __init__(
        self, name: str, folder: Path, values: np.ndarray, libraries: tuple[str, ...], counts: list[int]
    ) -> None:
        self.name, self._folder, self._values = name, folder / name.replace(", ", "-"), values
        self._libraries = {(who, n): load(who, n) for who in libraries for n in counts}
        self._most = max(counts)
        self._out = np.ones_like(values)
        self.create(self._folder)[...] = values

    def create(self, folder: Path) -> zarrcore.Array:
        """The array without its values, in place of what is there."""
        shutil.rmtree(folder, ignore_errors=True)
        codec, _, sharded = self.name.partition(", ")
        shards = {"chunks": (_INNER,) * 3, "shards": (_EDGE,) * 3} if sharded else {"chunks": (_EDGE,) * 3}
        return zarrcore.create_array(
            folder,
            shape=self._values.shape,
            dtype=self._values.dtype,
            compressors=_CODECS[codec],
            **shards,  # type: ignore[arg-type]
        )

    def reads(self, touch: Callable[[], object], *, into: bool) -> list[Side]:
        """Into new memory, or into some that was used before."""
        found = []
        for (who, n), library in self._libraries.items():
            array = library.open(library.locate(self._folder))
            call = _reading(who, n, library, array, self._out if into else None)
            if n == self._most:
                self._out.fill(0)
                self._compare(f"{who} read", call())
            found.append(Side(who, n, call, None if into else touch))
        return found

    def writes(self) -> list[Side]:
        """Into a directory that is made again each time."""
        found = []
        for (who, n), library in self._libraries.items():
            target, opened = self._folder.with_name(f"{self._folder.name}-{who}"), []

            def before(library: Any = library, target: Path = target, opened: list[Any] = opened) -> None:
                self.create(target)
                opened[:] = [library.open(library.locate(target), writable=True)]

            def call(who: str = who, n: int = n, library: Any = library, opened: list[Any] = opened) -> None:
                if who == "zarrcore":
                    opened[0].write(..., self._values, threads=n)
                else:
                    library.write(opened[0], self._values)

            if n == self._most:
                before()
                call()
                self._compare(f"{who} wrote", zarrcore.open_array(target)[...])
            found.append(Side(who, n, call, before))
        return found

    def _compare(self, what: str, found: np.ndarray) -> None:
        if not np.array_equal(found, self._values):
            raise RuntimeError(f"{self.name}: {what} other values")


def _reading(who: str, n: int, library: Any, array: Any, out: np.ndarray | None) -> Callable[[], Any]:
    if who == "zarrcore":
        return lambda: array.read(out=out, threads=n)
    return lambda: library.read(array) if out is None else library.read_into(array, out)


def table(sides: list[Side], nbytes: int, *, rates: bool) -> Iterator[str]:
    """A line for each side: milliseconds, and how many times as fast as one thread, or GB/s."""
    counts = sorted({side.threads for side in sides})
    for who in dict.fromkeys(side.who for side in sides):
        times = {side.threads: side.least() for side in sides if side.who == who}
        shown = (
            f"{times[n] * 1e3:.0f} ({nbytes / times[n] * 1e-9:.1f} GB/s)"
            if rates or who == "memory"
            else f"{times[n] * 1e3:.0f} ({times[counts[0]] / times[n]:.1f})"
            for n in counts
        )
        yield " | ".join((who, *shown))


def _measures(names: list[str], scratch: Path, given: argparse.Namespace) -> Iterator[tuple[str, list[Side]]]:
    values, counts, into = volume((given.mib * 8, 256, 256)), given.threads, given.what == "into"
    machine = Machine(values.nbytes, counts)
    yield "machine", machine.sides()
    for name in names:
        libraries = tuple(who for who in _LIBRARIES if not into or who != "tensorstore")
        case = Case(name, scratch, values, libraries, counts)
        yield name, case.writes() if given.what == "writing" else case.reads(machine.touch, into=into)
        for folder in scratch.iterdir():
            shutil.rmtree(folder)


def main(argv: list[str] | None = None) -> None:
    """Measure."""
    names = [*_CODECS, *(f"{codec}, shards" for codec in _SHARDED)]
    powers = [1 << n for n in range(8) if 1 << n <= usable_cores()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("reading", "into", "writing"))
    parser.add_argument("--layouts", default=";".join(names), help="default: %(default)s")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=powers)
    parser.add_argument("--mib", type=int, default=512, help="a multiple of 16, from 64 on")
    parser.add_argument("--rounds", type=int, default=9, help="at most")
    parser.add_argument("--seconds", type=float, default=600, help="no more after two rounds of each")
    parser.add_argument("--scratch", type=Path, help="directory for the arrays, such as /dev/shm")
    parser.add_argument("--json", type=Path, help="file for all times")
    given = parser.parse_args(argv)
    layouts = given.layouts.split(";")
    if not floor.LIBRARY.exists() and (why := floor.build()):
        parser.error(why)
    begun, left = time.monotonic(), len(layouts) + 1
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        for name, sides in _measures(layouts, Path(folder), given):
            now = time.monotonic()
            in_turns(sides, given.rounds, now + (begun + given.seconds - now) / left)
            left -= 1
            print(f"{given.what} {name}: ms with {', '.join(map(str, given.threads))} threads", flush=True)
            print(*table(sides, given.mib << 20, rates="raw" in name), sep="\n", flush=True)
            if given.json:
                with given.json.open("a") as file:
                    for side in sides:
                        line = {
                            "name": f"{given.what} {name}",
                            "who": side.who,
                            "threads": side.threads,
                            "times": side.times,
                        }
                        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
