"""Whole volumes: read, read into given memory, read with one thread, write."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.cases.base import WRITERS, Case, read_all, read_into, write_all

_SETS = ("volume-raw", "volume-blosc", "volume-shards")


def cases() -> Iterator[Case]:
    for name in _SETS:
        yield Case(f"dense/{name}/read", name, read_all(name), seconds=0)
        yield Case(f"dense/{name}/read-into", name, read_into(name), seconds=0)
        yield Case(f"dense/{name}/read-1-thread", name, read_all(name), threads=1, seconds=0)
        yield Case(f"dense/{name}/write", name, write_all(name, "volume"), WRITERS, seconds=0)
