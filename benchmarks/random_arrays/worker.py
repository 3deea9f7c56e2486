"""One library with random arrays, in a process of its own: started as `benchmarks.worker` is."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import libraries
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation
from benchmarks.random_arrays.arrays import Array
from benchmarks.random_arrays.selections import Selection
from benchmarks.worker import Worker, serve

#: Calls that make less memory than this are not preceded by touching some.
_TOUCHED_FROM = 1 << 20


class RandomWorker(Worker):
    """A worker whose cases come with the request."""

    def __init__(self, library: str, threads: int, home: Path, scratch: Path) -> None:
        super().__init__(library, threads, home, scratch)
        self._load: Callable[[], Library] = lambda: libraries.load(library, threads)
        self._keeps_chunks = library.startswith("tensorstore")
        self._touched = 0
        self._new: tuple[Array, np.ndarray] | None = None

    def make(self, array: dict[str, Any], directory: str) -> None:
        """Write an array that all libraries read."""
        made = Array.from_json(array)
        package = self._library.package  # type: ignore[attr-defined]  # of zarr's interface
        package.create_array(directory, **made.options())[...] = made.make_values()

    def take(self, array: dict[str, Any], selection: dict[str, Any], directory: str) -> None:
        """Prepare a selection."""
        stored, chosen = Array.from_json(array), Selection.from_json(selection)
        itemsize = np.dtype(stored.dtype).itemsize
        nbytes = chosen.size(stored.shape) * itemsize + min(stored.nbytes, 2 * stored.chunk_nbytes)
        self._touched = 2 * nbytes if nbytes >= _TOUCHED_FROM else 0
        prepare = self._writing if chosen.writes else self._reading
        self._operation = prepare(stored, chosen, Path(directory))

    def least(self, calls: int) -> dict[str, float]:
        """Least times of some calls."""
        times = [self._timed() for _ in range(calls)]
        return {"wall": min(wall for wall, _ in times), "cpu": min(cpu for _, cpu in times)}

    def _timed(self) -> tuple[float, float]:
        if self._prepared.before is not None:
            self._prepared.before()
        if self._touched:
            np.ones(self._touched, "u1")  # memory that has lain free for long is slow to come by
        call = self._prepared.call
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        result = call()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        del result
        return wall * 1e-9, cpu * 1e-9

    def _reading(self, stored: Array, chosen: Selection, directory: Path) -> Operation:
        index = chosen.index(stored.shape)
        opened: list[Any] = []

        def fresh() -> None:
            self._open_again(opened, directory, writable=False)

        fresh()
        before = fresh if self._keeps_chunks else None
        return Operation(lambda: chosen.read(self._library, opened[0], index), before)

    def _writing(self, stored: Array, chosen: Selection, directory: Path) -> Operation:
        """Into a copy of the array, or of its metadata alone where all of it is written."""
        target = self._place.scratch / "written"
        index = chosen.index(stored.shape)
        values = np.array(self._new_values(stored)[index], order="C")
        opened: list[Any] = []

        def fresh() -> None:
            if chosen.kind == "write all" or not target.exists():
                shutil.rmtree(target, ignore_errors=True)
                chunks = ("c", "[0-9]*") if chosen.kind == "write all" else ()
                shutil.copytree(directory, target, ignore=shutil.ignore_patterns(*chunks))
            self._open_again(opened, target, writable=True)

        fresh()
        before = fresh if chosen.kind == "write all" or self._keeps_chunks else None
        return Operation(lambda: self._library.write(opened[0], values, index), before, written=target)

    def _open_again(self, opened: list[Any], directory: Path, *, writable: bool) -> None:
        """Open the array for a call, with the library loaded again: its context may keep decoded chunks."""
        opened.clear()
        self._library = self._load()
        opened.append(self._library.open(self._library.locate(directory), writable=writable))

    def _new_values(self, stored: Array) -> np.ndarray:
        """What is written, kept for the other selections of the array."""
        if self._new is None or self._new[0] != stored:
            self._new = stored, stored.make_values(stored.seed + 1)
        return self._new[1]


if __name__ == "__main__":
    name, threads, home, scratch = sys.argv[1:]
    serve(RandomWorker(name, int(threads), Path(home), Path(scratch)))
