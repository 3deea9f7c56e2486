"""Parts of arrays: boxes, planes, inner chunks, elements, strides, points, outer products, masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.cases.base import Case, Place, Prepare
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

Shape = tuple[int, ...]
Box = tuple[slice, ...]
_VOLUMES = ("volume-raw", "volume-blosc", "volume-shards")


def random_boxes(shape: Shape, edge: int, count: int, align: int = 1) -> list[Box]:
    """The same for everybody; with `align`, boxes begin at multiples of it."""
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


def _mask(dataset: str, share: float) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        mask = np.random.default_rng(8).random(tuple(array.shape), "f4") < share
        return Operation(lambda: library.read_mask(array, mask))

    return prepare


def cases() -> Iterator[Case]:
    for name in _VOLUMES:
        stem = f"partial/{name}"
        read: dict[str, tuple[goals.Family, Callable[[Shape], list[Any]]]] = {
            "8-boxes": (goals.BOXES, lambda shape: random_boxes(shape, 50, 8)),
            "10-elements": (goals.ELEMENTS, lambda shape: _elements(shape, 10)),
            "first-plane": (goals.SCATTERED, lambda shape: [(shape[0] // 3,)]),
            "last-plane": (goals.SCATTERED, lambda shape: [(..., shape[2] // 3)]),
            "every-8th": (goals.SCATTERED, lambda shape: [(slice(None, None, 8),) * 3]),
            "every-3rd-row": (goals.SCATTERED, lambda shape: [(slice(None), slice(1, None, 3))]),
        }
        for how, (family, choose) in read.items():
            yield Case(f"{stem}/{how}", family, _selections(name, choose))
        yield Case(f"{stem}/1000-points", goals.SCATTERED, _points(name, 1000))
        yield Case(f"{stem}/100000-points", goals.SCATTERED, _points(name, 100_000))
        yield Case(f"{stem}/orthogonal-40", goals.SCATTERED, _orthogonal(name, 40))
        yield Case(f"{stem}/mask-1-percent", goals.MASKS, _mask(name, 0.01))
    shards = "volume-shards"
    inner = _selections(shards, lambda shape: random_boxes(shape, 32, 32, 32))
    yield Case(f"partial/{shards}/32-inner-chunks", goals.INNER_CHUNKS, inner)
    element = _selections("small-shard", lambda shape: [(shape[0] // 2,)])
    yield Case("partial/small-shard/element", goals.ELEMENTS, element)
