# SPDX-License-Identifier: MIT
"""What ``zarrcore.verify`` costs beside a plain read of everything: ``python -m benchmarks.verifying``.

Every round runs both, in turns, and takes their ratio, so that a change of the machine's speed touches both.
Ratios are read / verify: more than 1 means that verifying is faster than reading.

With ``--level index``: the seconds that level "index" takes for 1,000,000 inner chunks.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zarrcore
from zarrcore.codecs import BloscCodec, ZstdCodec
from zarrcore.storage import MemoryStore

_COMPRESSORS: dict[str, Any] = {"raw": None, "zstd": ZstdCodec(level=1), "blosc": BloscCodec()}
_FORMATS: dict[str, dict[str, Any]] = {
    "4 KiB": {"chunks": (32, 32)},
    "4 KiB, row": {"chunks": (1024,)},
    "4 KiB, v2": {"chunks": (32, 32), "zarr_format": 2},
    "64 KiB": {"chunks": (128, 128)},
    "4 MiB": {"chunks": (1024, 1024)},
    "4 KiB in 4 MiB": {"chunks": (32, 32), "shards": (1024, 1024)},
    "16 KiB in 4 MiB": {"chunks": (64, 64), "shards": (1024, 1024)},
    "4 KiB in 64 KiB": {"chunks": (32, 32), "shards": (128, 128)},
}
_INNER = 1_000_000  # chunks, for the level "index"


def _arrays(mib: int, only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    side = int((mib << 18) ** 0.5)
    for layout, options in _FORMATS.items():
        shape = (side * side,) if len(options["chunks"]) == 1 else (side, side)
        for name, codec in _COMPRESSORS.items():
            if only in f"{layout} {name}" and (codec is None or "zarr_format" not in options):
                yield f"{layout} {name}", {"shape": shape, "compressors": codec, **options}


def _values(shape: tuple[int, ...]) -> np.ndarray:
    """Values that compress about as measured ones do."""
    rng = np.random.default_rng(7)
    values = np.cumsum(rng.integers(-3, 4, shape), axis=-1)
    return values.astype("i4")


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def _measure(place: Any, rounds: int, threads: int) -> None:
    array = zarrcore.open_array(place, mode="r")

    def read() -> None:
        array[...]

    def check() -> None:
        report = zarrcore.verify(place, threads=threads)
        assert report.ok and report.chunks, report

    samples: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for number in range(rounds + 1):
        calls = (read, check) if number % 2 else (check, read)
        first, second = map(_timed, calls)
        samples.append((first, second) if number % 2 else (second, first))
    for clock, name in enumerate(("CPU", "wall")):
        reads, checks = zip(*((r[clock], c[clock]) for r, c in samples[1:]), strict=True)
        ratios = [r / c for r, c in zip(reads, checks, strict=True)]
        best = min(reads) / min(checks)
        print(
            f"  {name}: read {min(reads) * 1e3:.1f} ms, verify {min(checks) * 1e3:.1f} ms, "
            f"of the best {best:.2f}, median {statistics.median(ratios):.2f}",
            end="" if not clock else "\n",
        )


def _measure_indexes(rounds: int, threads: int, folder: str, shards: int) -> None:
    array = zarrcore.create_array(
        f"{folder}/a", shape=_INNER, dtype="u1", chunks=1, shards=_INNER // shards, compressors=None
    )
    array[...] = np.arange(_INNER) % 251 + 1  # no fill values, so that all are stored

    def check() -> None:
        report = zarrcore.verify(f"{folder}/a", level="index", threads=threads)
        assert report.ok and report.inner_chunks == _INNER, report

    check()
    cpu, wall = zip(*(_timed(check) for _ in range(rounds)), strict=True)
    for name, seconds in (("CPU", cpu), ("wall", wall)):
        print(
            f"  {name}: {min(seconds):.3f} s at best, median {statistics.median(seconds):.3f}, "
            f"at most {max(seconds):.3f}",
            end="" if name == "CPU" else "\n",
        )


def main() -> None:
    """Measure all layouts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="layouts whose name has this text in it")
    parser.add_argument("--mib", type=int, default=64, help="size of each array")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=0, help="of both; 0: the usual number")
    parser.add_argument("--where", choices=["files", "memory"], help="of the arrays; by default both")
    parser.add_argument("--scratch", help="directory for the arrays, such as /dev/shm")
    parser.add_argument("--level", choices=["data", "index"], default="data")
    given = parser.parse_args()
    if given.threads:
        zarrcore.config.set({"threading.max_workers": given.threads})
    if given.level == "index":
        for shards in (1, 100, 10_000):
            with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
                print(f"{_INNER:,} inner chunks in {shards:,} shards:", end="", flush=True)
                _measure_indexes(given.rounds, given.threads, folder, shards)
        return
    for name, options in _arrays(given.mib, given.only):
        for where in [given.where] if given.where else ["files", "memory"]:
            with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
                place = f"{folder}/a" if where == "files" else MemoryStore()
                array = zarrcore.create_array(place, dtype="i4", **options)
                array[...] = _values(array.shape)
                print(f"{name}, {where}:", end="", flush=True)
                _measure(place, given.rounds, given.threads)


if __name__ == "__main__":
    main()
