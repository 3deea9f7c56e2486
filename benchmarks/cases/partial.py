"""Parts of arrays: boxes, planes, inner chunks, elements, strides; and updates of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.cases.base import WRITERS, Case, Place, Prepare, update
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

Shape = tuple[int, ...]
_VOLUMES = ("volume-raw", "volume-blosc", "volume-shards")


def _boxes(shape: Shape, edge: int, count: int, align: int = 1) -> list[tuple[slice, ...]]:
    rng = np.random.default_rng(3)
    starts = [[int(rng.integers(0, (n - edge) // align + 1)) * align for n in shape] for _ in range(count)]
    return [tuple(slice(s, s + edge) for s in start) for start in starts]


def _elements(shape: Shape, count: int) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(4)
    return [tuple(int(rng.integers(n)) for n in shape) for _ in range(count)]


def _selections(dataset: str, choose: Callable[[Shape], list[Any]]) -> Prepare:
    """Read several selections one after the other."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        chosen = choose(tuple(array.shape))
        return Operation(lambda: [library.read(array, selection) for selection in chosen])

    return prepare


def _points(dataset: str, count: int) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        rng = np.random.default_rng(5)
        coordinates = tuple(rng.integers(0, n, count) for n in array.shape)
        return Operation(lambda: library.read_points(array, coordinates))

    return prepare


def _orthogonal(dataset: str, count: int) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        rng = np.random.default_rng(6)
        indices = tuple(np.sort(rng.choice(n, count, replace=False)) for n in array.shape)
        return Operation(lambda: library.read_orthogonal(array, indices))

    return prepare


def _update_boxes(edge: int, count: int) -> Callable[[Library, Any], None]:
    def change(library: Library, array: Any) -> None:
        for number, box in enumerate(_boxes(tuple(array.shape), edge, count)):
            library.write(array, np.full((edge,) * 3, number, "f4"), box)

    return change


def cases() -> Iterator[Case]:
    for name in _VOLUMES:
        stem = f"partial/{name}"
        yield Case(f"{stem}/8-boxes", name, _selections(name, lambda shape: _boxes(shape, 50, 8)))
        yield Case(f"{stem}/10-elements", name, _selections(name, lambda shape: _elements(shape, 10)))
        yield Case(f"{stem}/first-plane", name, _selections(name, lambda shape: [(shape[0] // 3,)]))
        yield Case(f"{stem}/last-plane", name, _selections(name, lambda shape: [(..., shape[2] // 3)]))
        yield Case(f"{stem}/every-8th", name, _selections(name, lambda shape: [(slice(None, None, 8),) * 3]))
        yield Case(f"{stem}/1000-points", name, _points(name, 1000))
        yield Case(f"{stem}/orthogonal-40", name, _orthogonal(name, 40))
    shards = "volume-shards"
    yield Case(
        f"partial/{shards}/32-inner-chunks",
        shards,
        _selections(shards, lambda shape: _boxes(shape, 32, 32, 32)),
    )
    for name in ("floats-raw", "floats-zstd", "floats-zstd-shards"):
        yield Case(
            f"partial/{name}/update-8-boxes", name, update(name, _update_boxes(50, 8)), WRITERS, seconds=0
        )
    row = "small-shard"
    yield Case(f"partial/{row}/element", row, _selections(row, lambda shape: [(shape[0] // 2,)]))
