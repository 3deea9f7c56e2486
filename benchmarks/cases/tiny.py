"""An array of 100 numbers in one chunk: what a call costs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.cases.base import IN_MEMORY, WRITERS, Act, Case, Place, Prepare, read
from benchmarks.libraries import LIBRARIES
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

_SLICE = slice(20, 40)
_READS: dict[str, Act] = {
    "read": lambda library, array: library.read(array),
    "scalar": lambda library, array: library.read(array, 7),
    "slice": lambda library, array: library.read(array, _SLICE),
}


def _open_and(dataset: str, memory: bool, act: Act) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        location = library.locate(place.home.array(dataset), memory=memory)
        return Operation(
            lambda: act(library, library.open(location)), outcome=lambda: list(library.open(location).shape)
        )

    return prepare


def _overwrite(dataset: str, memory: bool, selection: Any, value: Any) -> Prepare:
    """Write the same chunk again and again."""

    def prepare(library: Library, place: Place) -> Operation:
        target = place.home.array(dataset)
        if not memory:
            target = shutil.copytree(target, place.scratch / dataset, dirs_exist_ok=True)
        array = library.open(library.locate(target, memory=memory), writable=True)
        return Operation(
            lambda: library.write(array, value, selection),
            outcome=lambda: library.read(array),
            written=None if memory else target,
        )

    return prepare


def cases() -> Iterator[Case]:
    for dataset in ("tiny-raw", "tiny-zstd", "tiny-v2-raw"):
        for store in ("local", "memory"):
            if (dataset, store) != ("tiny-v2-raw", "memory"):
                yield from _array_cases(dataset, store)
    for store, readers in (("local", LIBRARIES), ("memory", IN_MEMORY)):
        yield _tiny(
            f"tiny/zero-dimensional-{store}/read",
            goals.TINY_READS,
            read("zero-dimensional", _READS["read"], memory=store == "memory"),
            readers,
        )


def _array_cases(dataset: str, store: str) -> Iterator[Case]:
    memory = store == "memory"
    readers, writers = (IN_MEMORY, IN_MEMORY) if memory else (LIBRARIES, WRITERS)
    stem = f"tiny/{dataset.removeprefix('tiny-')}-{store}"
    for how, act in _READS.items():
        yield _tiny(f"{stem}/{how}", goals.TINY_READS, read(dataset, act, memory=memory), readers)
    yield _tiny(
        f"{stem}/open", goals.OPENING, _open_and(dataset, memory, lambda library, array: None), readers
    )
    yield _tiny(f"{stem}/open-read", goals.OPENING, _open_and(dataset, memory, _READS["read"]), readers)
    numbers = np.arange(100, dtype="i4")[::-1].copy()
    for how, selection, value in (("write", ..., numbers), ("write-scalar", 7, 5)):
        prepare = _overwrite(dataset, memory, selection, value)
        yield _tiny(f"{stem}/{how}", goals.TINY_WRITES, prepare, writers)


def _tiny(name: str, family: goals.Family, prepare: Prepare, libraries: tuple[str, ...]) -> Case:
    # Calling C through ctypes costs as much as what would be measured.
    return Case(name, family, prepare, libraries, floor=False, seconds=0.03)
