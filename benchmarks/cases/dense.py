"""Whole volumes: read, read into given memory, write, round trip; formats 3 and 2."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import goals
from benchmarks.cases.base import WRITERS, Case, read_all, read_into, write_all
from benchmarks.goals import Family

#: Goals of (read, read into memory at hand, write and round trip).
_SETS: dict[str, tuple[Family, Family, Family]] = {
    "volume-raw": (goals.READ_RAW, goals.READ_RAW_INTO, goals.WRITE_RAW),
    "volume-blosc": (goals.READ_BLOSC, goals.READ_INTO, goals.WRITE_CODED),
    "volume-shards": (goals.READ_RAW, goals.READ_INTO, goals.WRITE_CODED),
    "volume-v2-raw": (goals.READ_RAW, goals.READ_RAW_INTO, goals.WRITE_RAW),
    "volume-v2-blosc": (goals.READ_BLOSC, goals.READ_INTO, goals.WRITE_CODED),
}


def cases() -> Iterator[Case]:
    for name, (reads, into, writes) in _SETS.items():
        stem = f"dense/{name}"
        yield Case(f"{stem}/read", reads, read_all(name), seconds=0.25)
        yield Case(f"{stem}/read-into", into, read_into(name), seconds=0.25)
        yield Case(f"{stem}/write", writes, write_all(name, "volume"), WRITERS, seconds=0.25)
        if "-v2-" not in name:
            trip = write_all(name, "volume", read_back=True)
            yield Case(f"{stem}/round-trip", writes, trip, WRITERS, seconds=0.25)
