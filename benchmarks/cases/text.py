"""400,000 strings, or byte strings, of any length in 16 chunks."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import goals
from benchmarks.cases.base import Case, read_all, write_all

#: tensorstore has no strings of any length.
_LIBRARIES = ("zarrcore", "zarr", "zarr-fused", "zarrs")
#: Data sets and their values.
_STRINGS = {
    "words-raw": "words",
    "words-zstd": "words",
    "words-v2-zstd": "words",
    "titles-raw": "titles",
    "titles-zstd": "titles",
}
_BYTES = {"word-bytes-raw": "words", "title-bytes-raw": "titles", "title-bytes-zstd": "titles"}


def cases() -> Iterator[Case]:
    for name, values in _STRINGS.items():
        yield Case(f"text/{name}/read", goals.READ_TEXT, read_all(name), _LIBRARIES, floor=False)
        for how, given in (("write", "strings"), ("write-objects", "objects")):
            write = write_all(name, f"{values}:{given}")
            yield Case(f"text/{name}/{how}", goals.WRITE_TEXT, write, _LIBRARIES, floor=False)
    for name, values in _BYTES.items():
        write = write_all(name, f"{values}:bytes")
        yield Case(f"text/{name}/read", goals.READ_BYTES, read_all(name), _LIBRARIES, floor=False)
        yield Case(f"text/{name}/write", goals.WRITE_BYTES, write, _LIBRARIES, floor=False)
