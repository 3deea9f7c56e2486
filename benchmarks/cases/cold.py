"""Whole volumes that are not in the page cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks import goals
from benchmarks.cases.base import Case, Place, Prepare
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

_SETS = (
    "volume-raw",
    "volume-blosc",
    "volume-zstd",
    "volume-shards",
    "volume-shards-raw",
    "volume-shards-zstd",
)


def evict(files: list[Path]) -> None:
    """Put files out of the page cache (Linux)."""
    for file in files:
        handle = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def _read_cold(dataset: str) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        directory = place.home.array(dataset)
        chunks = [path for path in directory.rglob("*") if path.is_file() and path.name != "zarr.json"]
        array = library.open(library.locate(directory))
        nbytes = sum(path.stat().st_size for path in chunks)
        os.sync()  # what is not written yet stays in memory
        return Operation(lambda: library.read(array), before=lambda: evict(chunks), cold=nbytes)

    return prepare


def cases() -> Iterator[Case]:
    for name in _SETS:
        yield Case(f"cold/{name}/read", goals.COLD, _read_cold(name), floor=False, seconds=0.1)
