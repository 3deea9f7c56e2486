"""zarr-python on the engine of zarrcore, by its codec pipeline or accelerated, beside other pipelines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import goals
from benchmarks.cases.base import Case, Place, Prepare
from benchmarks.libraries import SUBJECT, SUBJECT_PIPELINE
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

_PIPELINES = (SUBJECT, "zarr", "zarr-fused", "zarrs")
_DEFAULT = (SUBJECT, "zarr")  # the goal is over zarr-python's default pipeline
_MEMORY = (SUBJECT, "zarr", "zarr-fused")
_accelerated = ExitStack()  # what the last case has left switched on


def _on_zarr_python(library: Library, *, accelerated: bool = False) -> Library:
    """Return zarr-python: of zarrcore on its engine, of a peer as it is."""
    if library.name != SUBJECT:
        return library
    from benchmarks.libraries.zarr_python import ZarrPython

    _accelerated.close()
    theirs = ZarrPython(0, SUBJECT_PIPELINE)
    if accelerated:
        import zarrcore

        _accelerated.enter_context(zarrcore.accelerate())
    return theirs


def _read(dataset: str, *, memory: bool = False, accelerated: bool = False) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        theirs = _on_zarr_python(library, accelerated=accelerated)
        array = theirs.open(theirs.locate(place.home.array(dataset), memory=memory))
        return Operation(lambda: theirs.read(array))

    return prepare


def _write(dataset: str, values: str) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        theirs, data = _on_zarr_python(library), place.home.values(values)
        source, target = place.home.array(dataset), place.scratch / dataset
        opened: list[Any] = []

        def fresh() -> None:
            opened[:] = [_emptied(theirs, source, target)]

        return Operation(lambda: theirs.write(opened[0], data), before=fresh, written=target)

    return prepare


def _emptied(theirs: Library, source: Path, target: Path) -> Any:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copy(source / "zarr.json", target)
    return theirs.open(theirs.locate(target), writable=True)


def cases() -> Iterator[Case]:
    small, tiny = goals.BRIDGE_SMALL, goals.BRIDGE_TINY
    yield Case("bridge/small-raw/read", small, _read("small-raw"), _PIPELINES, floor=False)
    yield Case("bridge/small-raw-memory/read", small, _read("small-raw", memory=True), _MEMORY, floor=False)
    over_default = goals.BRIDGE_SMALL_DEFAULT
    yield Case("bridge/small-raw/read-over-default", over_default, _read("small-raw"), _DEFAULT, floor=False)
    for name in ("volume-raw", "volume-blosc", "volume-shards"):
        yield Case(f"bridge/{name}/read", goals.BRIDGE_READS, _read(name), _PIPELINES, floor=False)
        write = _write(name, "volume")
        yield Case(f"bridge/{name}/write", goals.BRIDGE_WRITES, write, _PIPELINES, floor=False)
    for how, accelerated in (("read", False), ("read-accelerated", True)):
        family = goals.BRIDGE_ACCELERATED if accelerated else tiny
        for store in ("local", "memory"):
            read = _read("tiny-raw", memory=store == "memory", accelerated=accelerated)
            name = f"bridge/tiny-raw-{store}/{how}"
            yield Case(name, family, read, _DEFAULT, floor=False, seconds=0.03)
