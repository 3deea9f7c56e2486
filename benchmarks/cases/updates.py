"""Changes of arrays that are there: boxes, inner chunks, half-shard rows; rows appended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.cases.base import WRITERS, Act, Case, update
from benchmarks.cases.partial import random_boxes
from benchmarks.libraries.base import Library

_ROWS = 24  # appended at a time: neither a chunk nor a shard is a multiple of it
_TIMES = 16


def _boxes(edge: int, count: int, dtype: str, align: int = 1) -> Act:
    def change(library: Library, array: Any) -> None:
        for number, box in enumerate(random_boxes(tuple(array.shape), edge, count, align)):
            library.write(array, np.full((edge,) * 3, number, dtype), box)

    return change


def _half_shard_rows(library: Library, array: Any) -> None:
    """The first half of the first shards, across the whole array."""
    rows = array.shape[0] // 4
    plane = np.arange(array.shape[1] * array.shape[2], dtype="u2").reshape(tuple(array.shape[1:]))
    library.write(array, np.broadcast_to(plane, (rows, *plane.shape)).copy(), slice(0, rows))


def _append(library: Library, array: Any) -> None:
    rows = np.arange(_ROWS * array.shape[1], dtype="f4").reshape(_ROWS, -1)
    for _ in range(_TIMES):
        array = library.append(array, rows)


def cases() -> Iterator[Case]:
    for name in ("floats-raw", "floats-zstd", "floats-zstd-shards"):
        yield _case(f"{name}/8-boxes", name, _boxes(50, 8, "f4"))
    shards = "volume-shards"
    yield _case(f"{shards}/32-inner-chunks", shards, _boxes(32, 32, "u2", 32))
    yield _case(f"{shards}/half-shard-rows", shards, _half_shard_rows)
    for name in ("rows-raw", "rows-zstd", "rows-zstd-shards"):
        yield _case(f"{name}/append", name, _append, goals.APPENDS)


def _case(name: str, dataset: str, change: Act, family: goals.Family = goals.UPDATES) -> Case:
    return Case(f"updates/{name}", family, update(dataset, change), WRITERS, floor=False)
