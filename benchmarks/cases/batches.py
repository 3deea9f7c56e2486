"""Random crops, one by one and many in a call, and rows at random: what training reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.cases.base import Case, Place, Prepare
from benchmarks.cases.partial import random_boxes
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

_EDGE, _COUNT, _BATCH = 64, 500, 32
_CORNERS = (slice(None, None, _EDGE - 1),) * 3


def _crops(dataset: str) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        boxes = random_boxes(tuple(array.shape), _EDGE, _COUNT)
        return Operation(lambda: [library.read(array, box)[_CORNERS].copy() for box in boxes])

    return prepare


def _batches(dataset: str) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        boxes = random_boxes(tuple(array.shape), _EDGE, _COUNT - _COUNT % _BATCH)
        batches = [boxes[i : i + _BATCH] for i in range(0, len(boxes), _BATCH)]
        return Operation(lambda: [library.read_boxes(array, batch)[:, *_CORNERS].copy() for batch in batches])

    return prepare


def _rows(dataset: str) -> Prepare:
    """Batches of rows, the planes of a volume as one: 8 in a batch."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset)))
        order = np.random.default_rng(9).permutation(array.shape[0])[:64].reshape(-1, 8)
        rest = [np.arange(n) for n in array.shape[1:]]

        def read() -> list[Any]:
            return [library.read_orthogonal(array, (rows, *rest)) for rows in order]

        return Operation(read)

    return prepare


def cases() -> Iterator[Case]:
    for name in ("volume-raw", "volume-blosc", "volume-shards"):
        yield Case(f"batches/{name}/crops", goals.CROPS, _crops(name), floor=False)
        yield Case(f"batches/{name}/crops-in-32", goals.CROPS_IN_BATCHES, _batches(name), floor=False)
        yield Case(f"batches/{name}/rows", goals.ROWS, _rows(name), floor=False)
