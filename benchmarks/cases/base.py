"""What a case is, and the operations that several cases share."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Home
from benchmarks.goals import Family
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


def roomy_folder(otherwise: Path) -> Path:
    """A file system in memory: creating many files on a disk measures mostly the disk's file system."""
    tmpfs = Path("/dev/shm")
    return tmpfs if tmpfs.is_dir() and shutil.disk_usage(tmpfs).free > 8 << 30 else otherwise


Prepare = Callable[[Library, Place], Operation]
Act = Callable[[Library, Any], Any]


@dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes
    ----------
    name : str
        "group/what/how".
    family : Family
        Holds the goal.
    prepare : callable
        ``(library, place) -> Operation``.
    libraries : tuple of str
        Who takes part.
    floor : bool
        Whether plain C, called through ctypes, says anything about it.
    seconds : float
        A sample repeats the operation until it takes about this long.
    """

    name: str
    family: Family
    prepare: Prepare
    libraries: tuple[str, ...] = LIBRARIES
    floor: bool = True
    seconds: float = 0.15


# ---- reads ----


def read(dataset: str, act: Act, *, memory: bool = False) -> Prepare:
    """`act` on an opened array."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset), memory=memory))
        return Operation(lambda: act(library, array))

    return prepare


def read_all(dataset: str, *, memory: bool = False) -> Prepare:
    """``array[...]`` of an opened array."""
    return read(dataset, lambda library, array: library.read(array), memory=memory)


def read_into(dataset: str) -> Prepare:
    """The same into memory that the caller has."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        out = np.ones(tuple(array.shape), getattr(array.dtype, "numpy_dtype", array.dtype))
        return Operation(lambda: library.read_into(array, out))

    return prepare


# ---- writes ----


def write_all(dataset: str, values: str, *, memory: bool = False, read_back: bool = False) -> Prepare:
    """``array[...] = values`` where only the metadata are; then ``array[...]`` for a round trip."""

    def prepare(library: Library, place: Place) -> Operation:
        data = place.home.values(values)

        def act(array: Any) -> Any:
            library.write(array, data)
            return library.read(array) if read_back else None

        return _changing(library, place, dataset, act, memory=memory, keep_chunks=False)

    return prepare


def update(dataset: str, change: Act) -> Prepare:
    """A change of a fresh copy of the data set."""

    def prepare(library: Library, place: Place) -> Operation:
        return _changing(library, place, dataset, lambda array: change(library, array))

    return prepare


def _changing(
    library: Library,
    place: Place,
    dataset: str,
    act: Callable[[Any], Any],
    *,
    memory: bool = False,
    keep_chunks: bool = True,
) -> Operation:
    source, target = place.home.array(dataset), place.scratch / dataset
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
        opened.append(library.open(library.locate(target, memory=memory), writable=True))

    if memory:  # only the library itself can see what it wrote
        return Operation(lambda: act(opened[0]), before=fresh, outcome=lambda: library.read(opened[0]))
    return Operation(lambda: act(opened[0]), before=fresh, written=target)
