"""64 MiB of float32 through each codec chain, in 64 chunks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import goals
from benchmarks.cases.base import WRITERS, Case, read_all, write_all
from benchmarks.goals import Family

#: Goals of (read, write).
_SETS: dict[str, tuple[Family, Family]] = {
    "raw": (goals.READ_RAW, goals.WRITE_RAW),
    "big-endian": (goals.READ_REORDERED, goals.WRITE_BIG_ENDIAN),
    "transposed": (goals.READ_REORDERED, goals.WRITE_TRANSPOSED),
    "gzip": (goals.READ_GZIP, goals.WRITE_GZIP),
    "zstd": (goals.READ_ZSTD, goals.WRITE_OTHER),
    "lz4": (goals.READ_LZ4, goals.WRITE_OTHER),
    "zstd-crc32c": (goals.READ_ZSTD, goals.WRITE_OTHER),
    "zstd-transposed": (goals.READ_REORDERED, goals.WRITE_TRANSPOSED),
    "zstd-shards": (goals.READ_RAW, goals.WRITE_OTHER),
    "v2-lz4": (goals.READ_LZ4, goals.WRITE_OTHER),
    "v2-lz4-f": (goals.READ_REORDERED, goals.WRITE_OTHER),
}


def cases() -> Iterator[Case]:
    for how, (reads, writes) in _SETS.items():
        name = f"floats-{how}"
        yield Case(f"codecs/{how}/read", reads, read_all(name), seconds=0.25)
        yield Case(f"codecs/{how}/write", writes, write_all(name, "floats"), WRITERS, seconds=0.25)
