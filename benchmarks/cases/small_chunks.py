"""4000 chunks of 1 KiB or 4 KiB: what a chunk costs."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.cases.base import IN_MEMORY, WRITERS, Case, read_all, write_all

_VALUES = {"small-raw": "kibibytes", "small-zstd": "four-kibibytes", "small-shard": "kibibytes"}


def cases() -> Iterator[Case]:
    for dataset, values in _VALUES.items():
        stem = f"chunks/{dataset}"
        yield Case(f"{stem}-local/read", dataset, read_all(dataset))
        yield Case(f"{stem}-local/read-1-thread", dataset, read_all(dataset), threads=1)
        yield Case(f"{stem}-memory/read", dataset, read_all(dataset, memory=True), IN_MEMORY)
        yield Case(f"{stem}-local/write", dataset, write_all(dataset, values), WRITERS, seconds=0)
