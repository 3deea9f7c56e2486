"""What a case is, and the operations that several cases share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Home
from benchmarks.libraries import LIBRARIES
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

#: zarrs works on the file system only; a memory map has no meaning without files.
IN_MEMORY = tuple(name for name in LIBRARIES if name not in ("zarrs", "tensorstore-mmap"))
#: Reading through a memory map writes like the default.
WRITERS = tuple(name for name in LIBRARIES if name != "tensorstore-mmap")


@dataclass(frozen=True)
class Place:
    """Directories of a worker: the data sets, and one of its own to write in."""

    home: Home
    scratch: Path


Prepare = Callable[[Library, Place], Operation]


@dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes
    ----------
    name : str
        "group/what/how".
    dataset : str
        The data set that it reads, or whose metadata and values it writes.
    prepare : callable
        ``(library, place) -> Operation``.
    libraries : tuple of str
        Who takes part.
    threads : int
        Threads given to every library; 0 for each one's default.
    seconds : float
        A sample repeats the operation until it takes about this long.
    """

    name: str
    dataset: str
    prepare: Prepare
    libraries: tuple[str, ...] = LIBRARIES
    threads: int = 0
    seconds: float = 0.1


def read_all(dataset: str, *, memory: bool = False) -> Prepare:
    """``array[...]`` of an opened array."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset), memory=memory))
        return Operation(lambda: library.read(array))

    return prepare


def read_into(dataset: str) -> Prepare:
    """The same into memory that the caller has."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        out = np.ones(tuple(array.shape), _numpy_dtype(array))
        return Operation(lambda: library.read_into(array, out))

    return prepare


def _numpy_dtype(array: Any) -> np.dtype:
    return getattr(array.dtype, "numpy_dtype", array.dtype)


def write_all(dataset: str, values: str) -> Prepare:
    """``array[...] = values`` into a new directory that holds the metadata."""

    def prepare(library: Library, place: Place) -> Operation:
        data = place.home.values(values)
        return _writing(library, place, lambda array: library.write(array, data), dataset, keep_chunks=False)

    return prepare


def update(dataset: str, change: Callable[[Library, Any], None]) -> Prepare:
    """A change of a fresh copy of the data set."""

    def prepare(library: Library, place: Place) -> Operation:
        return _writing(library, place, lambda array: change(library, array), dataset, keep_chunks=True)

    return prepare


def _writing(
    library: Library, place: Place, act: Callable[[Any], None], dataset: str, *, keep_chunks: bool
) -> Operation:
    target = place.scratch / dataset
    source = place.home.array(dataset)
    opened: list[Any] = []

    def fresh() -> None:
        opened.clear()
        shutil.rmtree(target, ignore_errors=True)
        if keep_chunks:
            shutil.copytree(source, target)
        else:
            target.mkdir(parents=True)
            for name in ("zarr.json", ".zarray"):
                if (source / name).exists():
                    shutil.copy(source / name, target / name)
        opened.append(library.open(library.locate(target), writable=True))

    return Operation(lambda: act(opened[0]), before=fresh, written=target)
