"""400,000 strings, or byte strings, of any length in 16 chunks; strings in 200 inner chunks of 4 shards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.cases.base import Case, Prepare, read, read_all, update, write_all
from benchmarks.libraries.base import Library

#: tensorstore has no strings of any length.
_LIBRARIES = ("zarrcore", "zarr", "zarr-fused", "zarrs")
#: Data sets and their values.
_STRINGS = {
    "words-raw": "words",
    "words-zstd": "words",
    "words-v2-zstd": "words",
    "titles-raw": "titles",
    "titles-zstd": "titles",
    "titles-shards": "titles",
}
_BYTES = {"word-bytes-raw": "words", "title-bytes-raw": "titles", "title-bytes-zstd": "titles"}


def _runs(count: int) -> list[slice]:
    """Ten strings each, at places that are the same for everybody."""
    return [
        slice(start, start + 10) for start in np.random.default_rng(6).integers(0, 399_990, count).tolist()
    ]


def _read_runs(library: Library, array: Any) -> list[Any]:
    return [library.read(array, run) for run in _runs(20)]


def _change_runs(library: Library, array: Any) -> None:
    for number, run in enumerate(_runs(8)):
        library.write(array, np.full(10, f"title {number}", np.dtypes.StringDType()), run)


def cases() -> Iterator[Case]:
    for name, values in _STRINGS.items():
        yield _case(f"{name}/read", goals.READ_TEXT, read_all(name))
        for how, given in (("write", "strings"), ("write-objects", "objects")):
            write = write_all(name, f"{values}:{given}")
            yield _case(f"{name}/{how}", goals.WRITE_TEXT, write)
    for name, values in _BYTES.items():
        write = write_all(name, f"{values}:bytes")
        yield _case(f"{name}/read", goals.READ_BYTES, read_all(name))
        yield _case(f"{name}/write", goals.WRITE_BYTES, write)
    shards = "titles-shards"
    yield _case(f"{shards}/20-runs", goals.INNER_CHUNKS, read(shards, _read_runs))
    yield _case(f"{shards}/8-updates", goals.UPDATES, update(shards, _change_runs))


def _case(name: str, family: goals.Family, prepare: Prepare) -> Case:
    return Case(f"text/{name}", family, prepare, _LIBRARIES, floor=False)
