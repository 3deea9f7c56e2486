"""Random selections: what is read of an array, or written to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from benchmarks.libraries.base import Library
from benchmarks.random_arrays.arrays import Array, Shape, _between

#: Of one dimension: an index, or start, stop and step of a slice.
Part = int | tuple[int, int, int]


@dataclass(frozen=True)
class Selection:
    """One kind of access.

    Attributes
    ----------
    kind : str
        A family in the tables.
    parts : tuple
        One for each dimension; empty for points.
    listed : int
        The dimension that has a list of indices; -1: none has.
    count, seed : int
        How many points, or indices in the list, and what they are drawn from.
    """

    kind: str
    parts: tuple[Part, ...] = ()
    listed: int = -1
    count: int = 0
    seed: int = 0

    @property
    def writes(self) -> bool:
        return self.kind.startswith("write ")

    def index(self, shape: Shape) -> tuple[Any, ...]:
        """What it is in brackets: integers, slices, and arrays of indices."""
        if self.kind == "points":
            return draw_points(shape, self.count, self.seed)
        index: list[Any] = [part if isinstance(part, int) else slice(*part) for part in self.parts]
        if self.listed >= 0:
            index[self.listed] = draw_list(shape[self.listed], self.count, self.seed)
        return tuple(index)

    def size(self, shape: Shape) -> int:
        """How many elements."""
        if self.kind == "points":
            return self.count
        lengths = [1 if isinstance(part, int) else len(range(*part)) for part in self.parts]
        return math.prod(self.count if d == self.listed else n for d, n in enumerate(lengths))

    def read(self, library: Library, array: Any, index: tuple[Any, ...]) -> Any:
        """The call that a user of a library would write."""
        if self.kind == "points":
            return library.read_points(array, index)
        return library.read_orthogonal(array, index) if self.listed >= 0 else library.read(array, index)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        parts = tuple(part if isinstance(part, int) else tuple(part) for part in document["parts"])
        return cls(**{**document, "parts": parts})


def draw_points(shape: tuple[int, ...], count: int, seed: int) -> tuple[np.ndarray, ...]:
    """Coordinates of elements, one array for each dimension."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(0, n, count) for n in shape)


def draw_list(length: int, count: int, seed: int) -> np.ndarray:
    """Different indices in ascending order."""
    return np.sort(np.random.default_rng(seed).choice(length, count, replace=False))


# ---- drawing ----


def draw_selections(rng: np.random.Generator, array: Array) -> Iterator[Selection]:
    """One of each kind."""
    shape = array.shape
    whole = tuple((0, n, 1) for n in shape)
    for prefix in ("", "write "):
        yield Selection(f"{prefix}all", whole)
        yield Selection(f"{prefix}chunk", _draw_chunk(rng, array))
        yield Selection(f"{prefix}box", tuple(_draw_slice(rng, n) for n in shape))
        if len(shape) > 1:
            plane = int(rng.integers(len(shape)))
            parts = (int(rng.integers(n)) if d == plane else (0, n, 1) for d, n in enumerate(shape))
            yield Selection(f"{prefix}plane", tuple(parts))
    steps = ((int(rng.integers(min(n, 3))), n, int(rng.integers(1, 10))) for n in shape)
    yield Selection("stride", tuple(steps))
    count = _between(rng, 1, min(100_000, math.prod(shape)))
    yield Selection("points", count=count, seed=int(rng.integers(1 << 30)))
    listed = int(rng.integers(len(shape)))
    count = _between(rng, 1, shape[listed])
    yield Selection("list", whole, listed, count, int(rng.integers(1 << 30)))
    yield Selection("write element", tuple(int(rng.integers(n)) for n in shape))


def _draw_chunk(rng: np.random.Generator, array: Array) -> tuple[Part, ...]:
    """Exactly one chunk, of shards an inner one."""
    parts = []
    for n, c in zip(array.shape, array.chunks, strict=True):
        start = int(rng.integers(-(-n // c))) * c
        parts.append((start, min(n, start + c), 1))
    return tuple(parts)


def _draw_slice(rng: np.random.Generator, n: int) -> Part:
    length = _between(rng, 1, n)
    start = int(rng.integers(n - length + 1))
    return start, start + length, 1
