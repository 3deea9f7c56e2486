"""A group of 2,000 arrays: create, open each, list; with consolidated metadata and without."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import goals
from benchmarks.cases.base import Case, Place, Prepare
from benchmarks.datasets import NAMES
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

#: How chunks are coded makes no difference here, so each library takes part once.
_LIBRARIES = ("zarrcore", "zarr", "tensorstore")


def _members(directory: Path) -> list[str]:
    """Name, shape and chunks of all arrays, as their documents say."""
    found = []
    for name in NAMES:
        document = json.loads((directory / name / "zarr.json").read_text())
        found.append(f"{name} {document['shape']} {document['chunk_grid']['configuration']['chunk_shape']}")
    return found


def _create(consolidated: bool) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        target = place.scratch / "group"
        return Operation(
            lambda: library.create_members(target, NAMES, consolidated=consolidated),
            before=lambda: shutil.rmtree(target, ignore_errors=True),
            outcome=lambda: _members(target),
        )

    return prepare


def _open(dataset: str, consolidated: bool) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        group = place.home.array(dataset)

        def call() -> list[Any]:
            return library.open_members(group, NAMES, consolidated=consolidated)

        return Operation(call, outcome=lambda: [str(tuple(array.shape)) for array in call()])

    return prepare


def _list(dataset: str, consolidated: bool) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        group = place.home.array(dataset)

        def call() -> list[tuple[str, tuple[int, ...]]]:
            return library.list_members(group, consolidated=consolidated)

        return Operation(call, outcome=lambda: [f"{name} {shape}" for name, shape in sorted(call())])

    return prepare


def cases() -> Iterator[Case]:
    for how in ("plain", "consolidated"):
        dataset, consolidated = f"group-{how}", how == "consolidated"
        prepared = {
            "create": (goals.CREATING, _create(consolidated)),
            "open": (goals.OPENING, _open(dataset, consolidated)),
            "list": (goals.LISTING, _list(dataset, consolidated)),
        }
        for what, (family, prepare) in prepared.items():
            yield Case(f"hierarchy/{how}/{what}", family, prepare, _LIBRARIES, floor=False)
