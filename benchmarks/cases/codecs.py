"""64 MiB of float32 through each codec chain, in 64 chunks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.cases.base import WRITERS, Case, read_all, write_all

_SETS = (
    "floats-raw",
    "floats-big-endian",
    "floats-transposed",
    "floats-gzip",
    "floats-zstd",
    "floats-lz4",
    "floats-zstd-crc32c",
    "floats-zstd-transposed",
    "floats-zstd-shards",
    "floats-v2-lz4",
    "floats-v2-lz4-f",
)


def cases() -> Iterator[Case]:
    for name in _SETS:
        yield Case(f"codecs/{name.removeprefix('floats-')}/read", name, read_all(name))
        yield Case(
            f"codecs/{name.removeprefix('floats-')}/write",
            name,
            write_all(name, "floats"),
            WRITERS,
            seconds=0,
        )
