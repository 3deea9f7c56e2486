"""The ``rectilinear`` and ``rectangular`` chunk grids: chunks of the lengths that are listed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, groupby
from typing import Any, ClassVar, Self

from zarrcore._records import dataclass
from zarrcore._validate import MAX_NBYTES, choice, fail, integer, integers, known_keys, sequence
from zarrcore.errors import MetadataValidationError
from zarrcore.grids.base import ChunkGrid

MAX_EDGES = 1_000_000
"""Most chunks that all dimensions together may list: run lengths in a document must not take all memory."""

_AT_MOST = f"at most {MAX_EDGES} chunks in all dimensions together"


@dataclass(frozen=True)
class RectilinearGrid(ChunkGrid):
    """Chunks of different lengths (chunk grid ``rectilinear`` of the Zarr extensions).

    Parameters
    ----------
    chunk_shapes : sequence of (int or sequence of int)
        For each dimension one length for all chunks, or the length of each chunk.  The last chunks may reach
        beyond the end of the array.

    Examples
    --------
    >>> RectilinearGrid(((4, 4, 2), 5)).to_json()["configuration"]["chunk_shapes"]
    [[[4, 2], 2], 5]
    """

    name: ClassVar[str] = "rectilinear"
    chunk_shapes: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_shapes", _parse(self.chunk_shapes, "chunk_shapes"))

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        known_keys(configuration, ("kind", "chunk_shapes"))
        choice(configuration.get("kind"), "kind", ("inline",))
        dimensions = sequence(configuration.get("chunk_shapes"), "chunk_shapes")
        expanded: list[int | tuple[int, ...]] = []
        room = MAX_EDGES
        for axis, item in enumerate(dimensions):
            edges = _expand(item, f"chunk_shapes[{axis}]", room)
            room -= 0 if isinstance(edges, int) else len(edges)
            expanded.append(edges)
        return cls(tuple(expanded))

    def to_json(self) -> dict[str, Any]:
        shapes = [edges if isinstance(edges, int) else _compress(edges) for edges in self.chunk_shapes]
        return {"name": self.name, "configuration": {"kind": "inline", "chunk_shapes": shapes}}

    @property
    def ndim(self) -> int:
        return len(self.chunk_shapes)

    def native(self) -> tuple[int | tuple[int, ...], ...]:
        return self.chunk_shapes

    def validate(self, shape: tuple[int, ...]) -> None:
        if len(shape) != self.ndim:
            fail("configuration.chunk_shapes", f"{len(shape)} dimensions, as the shape has", self.ndim)
        for axis, (edges, length) in enumerate(zip(self.chunk_shapes, shape, strict=True)):
            if isinstance(edges, tuple) and sum(edges) < length:
                where = f"configuration.chunk_shapes[{axis}]"
                fail(where, f"chunks that cover the array's length {length}", sum(edges))

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """Return the grid resized to `shape`: a dimension that outgrows its chunks gets one more chunk."""
        check_ndim(self, shape)
        return type(self)(tuple(map(_grown, self.chunk_shapes, shape)))


@dataclass(frozen=True)
class RectangularGrid(ChunkGrid):
    """Chunks of different lengths that end with the array (chunk grid ``rectangular``, ZEP 3 and zarrs).

    Parameters
    ----------
    chunk_shape : sequence of (int or sequence of int)
        For each dimension one length for all chunks, or the length of each chunk.  Listed lengths add up to
        the length of the array, so an array is shortened only to where one of its chunks ends.

    Examples
    --------
    >>> RectangularGrid(((4, 4, 2), 5)).to_json()
    {'name': 'rectangular', 'configuration': {'chunk_shape': [[4, 4, 2], 5]}}
    """

    name: ClassVar[str] = "rectangular"
    chunk_shape: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_shape", _parse(self.chunk_shape, "chunk_shape"))

    @property
    def ndim(self) -> int:
        return len(self.chunk_shape)

    def native(self) -> tuple[int | tuple[int, ...], ...]:
        return self.chunk_shape

    def validate(self, shape: tuple[int, ...]) -> None:
        if len(shape) != self.ndim:
            fail("configuration.chunk_shape", f"{len(shape)} dimensions, as the shape has", self.ndim)
        for axis, (edges, length) in enumerate(zip(self.chunk_shape, shape, strict=True)):
            if isinstance(edges, tuple) and sum(edges) != length:
                where = f"configuration.chunk_shape[{axis}]"
                fail(where, f"chunks of the array's length {length} together", sum(edges))

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """Return the grid resized to `shape`: with one more chunk, or without those beyond the new end."""
        check_ndim(self, shape)
        changed = []
        for edges, length in zip(self.chunk_shape, shape, strict=True):
            if isinstance(edges, tuple) and length < sum(edges):
                edges = _cut(edges, length)
            changed.append(_grown(edges, length))
        return type(self)(tuple(changed))


def check_ndim(grid: ChunkGrid, shape: tuple[int, ...]) -> None:
    """Refuse to resize an array to another number of dimensions."""
    if len(shape) != grid.ndim:
        raise MetadataValidationError(f"expected {grid.ndim} lengths, got {list(shape)}", where="shape")


def _grown(edges: int | tuple[int, ...], length: int) -> int | tuple[int, ...]:
    """Return the chunks of a dimension with one more where they do not cover it."""
    return (*edges, length - sum(edges)) if isinstance(edges, tuple) and length > sum(edges) else edges


def _cut(edges: tuple[int, ...], length: int) -> tuple[int, ...]:
    """Return the chunks of a dimension up to `length`, where one has to end."""
    ends = list(accumulate(edges))
    if length not in ends:
        raise MetadataValidationError(
            f"cannot shorten a {RectangularGrid.name} grid to {length} elements, where no chunk ends: "
            "the stored chunk at the end would have another shape"
        )
    return edges[: ends.index(length) + 1]


def _parse(dimensions: object, where: str) -> tuple[int | tuple[int, ...], ...]:
    parsed = tuple(
        _parse_dimension(item, f"{where}[{axis}]") for axis, item in enumerate(sequence(dimensions, where))
    )
    listed = sum(len(edges) for edges in parsed if isinstance(edges, tuple))
    if listed > MAX_EDGES:
        fail(where, _AT_MOST, listed)
    return parsed


def _parse_dimension(edges: object, where: str) -> int | tuple[int, ...]:
    if not isinstance(edges, (list, tuple)):
        return integer(edges, where, 1, MAX_NBYTES)
    if not edges:
        fail(where, "at least one chunk", [])
    parsed = integers(edges, where, 1)
    if sum(parsed) > MAX_NBYTES:
        fail(where, "chunks of less than 2**63 items together", sum(parsed))
    return parsed


def _expand(dimension: object, where: str, room: int) -> int | tuple[int, ...]:
    """Return the at most `room` lengths of one dimension, ``[length, count]`` written out ``count`` times."""
    if not isinstance(dimension, list):
        return integer(dimension, where, 1, MAX_NBYTES)
    edges: list[int] = []
    for i, item in enumerate(dimension):
        length, count = item, 1
        if isinstance(item, list):
            if len(item) != 2:
                fail(f"{where}[{i}]", "a length or [length, count]", item)
            length, count = item
        length = integer(length, f"{where}[{i}]", 1, MAX_NBYTES)
        count = integer(count, f"{where}[{i}]", 1)
        if len(edges) + count > room:
            fail(where, _AT_MOST, MAX_EDGES - room + len(edges) + count)
        edges += [length] * count
    return tuple(edges)


def _compress(edges: tuple[int, ...]) -> list[Any]:
    """Return the lengths with runs as ``[length, count]``, where that is shorter."""
    runs = [(length, len(list(group))) for length, group in groupby(edges)]
    packed = [length if count == 1 else [length, count] for length, count in runs]
    return packed if len(packed) < len(edges) else list(edges)
