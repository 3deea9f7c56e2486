"""An array of 100 numbers in one chunk: what a call costs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.cases.base import IN_MEMORY, WRITERS, Case, Place, Prepare, read_all
from benchmarks.libraries import LIBRARIES
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation


def _opened(dataset: str, memory: bool, act: Callable[[Library, Any], Any]) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset), memory=memory))
        return Operation(lambda: act(library, array))

    return prepare


def _open_and(dataset: str, memory: bool, act: Callable[[Library, Any], Any]) -> Prepare:
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
    numbers = np.arange(100, dtype="i4")[::-1].copy()
    for dataset in ("tiny-raw", "tiny-zstd"):
        for store, memory in (("local", False), ("memory", True)):
            readers = IN_MEMORY if memory else LIBRARIES
            writers = IN_MEMORY if memory else WRITERS
            reads = {
                "read": read_all(dataset, memory=memory),
                "scalar": _opened(dataset, memory, lambda library, array: library.read(array, 7)),
                "slice": _opened(dataset, memory, lambda library, array: library.read(array, slice(20, 40))),
                "open": _open_and(dataset, memory, lambda library, array: None),
                "open-read": _open_and(dataset, memory, lambda library, array: library.read(array)),
            }
            writes = {
                "write": _overwrite(dataset, memory, ..., numbers),
                "write-scalar": _overwrite(dataset, memory, 7, 5),
            }
            stem = f"tiny/{dataset.removeprefix('tiny-')}-{store}"
            for how, prepare in reads.items():
                yield Case(f"{stem}/{how}", dataset, prepare, readers, seconds=0.03)
            for how, prepare in writes.items():
                yield Case(f"{stem}/{how}", dataset, prepare, writers, seconds=0.03)
