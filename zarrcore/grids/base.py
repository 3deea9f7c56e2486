"""What a chunk grid is: for each dimension, the lengths of the chunks along it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import repeat
from math import prod
from typing import Any, ClassVar, Self, TypeAlias

from zarrcore._extension import ANY, DOCUMENT, Extension, Result, instance_of, is_a_users, parse_extension
from zarrcore._validate import fail
from zarrcore.registry import grid_registry


class ChunkGrid(Extension, ABC):
    """Base class of chunk grids (Zarr v3, extension point ``chunk_grid``).

    Examples
    --------
    >>> grid = parse_chunk_grid({"name": "regular", "configuration": {"chunk_shape": [10, 5]}})
    >>> isinstance(grid, ChunkGrid), grid.ndim, grid.grid_shape((100, 20))
    (True, 2, (10, 4))
    """

    _what = "chunk grid"
    _results: ClassVar[Mapping[str, Result]] = {
        "to_json": DOCUMENT,
        "ndim": instance_of("a number of dimensions", int),
        "native": (
            "a length, or a tuple of lengths, for each dimension",
            lambda found, owner: _is_cut(found, owner),
        ),
        "edges": ANY,
        "validate": ANY,
        "update_shape": ANY,  # see metadata.v3
        "bounded": ("a chunk grid", lambda found, owner: isinstance(found, ChunkGrid)),
        "is_regular": instance_of("True or False", bool),
        "shape_of": instance_of("a tuple", tuple),
        "origin_of": instance_of("a tuple", tuple),
        "grid_shape": instance_of("a tuple", tuple),
        "n_chunks": instance_of("a number", int),
        "chunk_shapes_present": (
            "a list of shapes",
            lambda found, owner: isinstance(found, list) and bool(found),
        ),
    }

    @property
    @abstractmethod
    def ndim(self) -> int:
        """Number of dimensions."""

    @abstractmethod
    def native(self) -> tuple[int | tuple[int, ...], ...]:
        """Return the length of every chunk, or a tuple of all lengths, for each dimension."""

    @abstractmethod
    def validate(self, shape: tuple[int, ...]) -> None:
        """Check that the grid covers an array of `shape`.

        Raises
        ------
        MetadataValidationError
            If it has another number of dimensions, or chunks that end before the array does.
        """

    @abstractmethod
    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """Return the grid of the same array, resized to `shape`."""

    def bounded(self, shape: tuple[int, ...]) -> Self:
        """Return the grid of an array of `shape`, for grids whose chunks depend on it."""
        return self

    @property
    def edges(self) -> tuple[int | tuple[int, ...], ...]:
        """The same as :meth:`native`."""
        return self.native()

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have the same shape."""
        return all(isinstance(edges, int) for edges in self.native())

    def shape_of(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the chunk at `coords`, including what reaches over the end of the array."""
        pairs = zip(coords, self.native(), strict=True)
        return tuple(edges if isinstance(edges, int) else edges[i] for i, edges in pairs)

    def origin_of(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        """Return the array index of the first item of the chunk at `coords`."""
        pairs = zip(coords, self.native(), strict=True)
        return tuple(i * edges if isinstance(edges, int) else sum(edges[:i]) for i, edges in pairs)

    def grid_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of chunks along each dimension of an array of `shape`."""
        return tuple(_count(edges, length) for edges, length in zip(self.native(), shape, strict=True))

    def n_chunks(self, shape: tuple[int, ...]) -> int:
        """Return the number of chunks of an array of `shape`."""
        return prod(self.grid_shape(shape))

    def chunk_shapes_present(self) -> list[tuple[int, ...]]:
        """Return a few chunk shapes that contain each length of each dimension at least once."""
        lengths = [(e,) if isinstance(e, int) else tuple(dict.fromkeys(e)) for e in self.native()]
        most = max(map(len, lengths), default=1)
        return [tuple(own[min(i, len(own) - 1)] for own in lengths) for i in range(most)]


def _is_cut(found: Any, grid: ChunkGrid) -> bool:
    """Return whether what a grid of a user has for lengths are such, whatever the array is."""
    if not isinstance(found, tuple) or len(found) != grid.ndim:
        return False
    return all(
        type(length) is int and 0 < length < 2**63
        for edges in found
        for length in (edges if isinstance(edges, tuple) else (edges,))
    )


#: A chunk grid, or its JSON object.
ChunkGridLike: TypeAlias = ChunkGrid | Mapping[str, Any]


def check_cover(grid: ChunkGrid, shape: tuple[int, ...]) -> None:
    """Refuse a grid, which a user may have written, whose chunks have no lengths or do not cover an array."""
    grid.validate(shape)
    if not is_a_users(grid):  # it checks its lengths itself
        return
    lengths: Any = grid.native()
    if not isinstance(lengths, tuple) or len(lengths) != len(shape):
        fail(None, f"a tuple of lengths for {len(shape)} dimensions from the grid {grid.name!r}", lengths)
    for edges, length in zip(lengths, shape, strict=True):
        each = edges if isinstance(edges, tuple) else (edges,)
        if not all(type(edge) is int and edge > 0 for edge in each) or (
            each is edges and sum(edges) < length
        ):
            fail(None, f"lengths of chunks that cover {length} elements from the grid {grid.name!r}", edges)


def check_kept(before: ChunkGrid, after: ChunkGrid, shape: tuple[int, ...]) -> None:
    """Refuse a grid, which a user may have written, that has other chunks where some are stored."""
    if not is_a_users(before) and not is_a_users(after):
        return
    for old, new, length in zip(before.native(), after.native(), shape, strict=True):
        if not start_alike(old, new, length):
            fail(None, f"the chunks that are there kept by update_shape of the grid {before.name!r}", new)


def start_alike(old: int | tuple[int, ...], new: int | tuple[int, ...], length: int) -> bool:
    """Return whether chunks of these lengths are the same where they hold the first `length` items."""
    if isinstance(old, int) and isinstance(new, int):
        return old == new or not length
    each = [repeat(edges) if isinstance(edges, int) else edges for edges in (old, new)]
    start = 0
    for ours, theirs in zip(*each, strict=False):
        if start >= length:
            break
        if ours != theirs:
            return False
        start += ours
    return True


def _count(edges: int | tuple[int, ...], length: int) -> int:
    if isinstance(edges, int):
        return -(-length // edges)
    end = 0
    for count, edge in enumerate(edges):
        if end >= length:
            return count
        end += edge
    return len(edges)


def parse_chunk_grid(data: object) -> ChunkGrid:
    """Return a chunk grid from `data`: an extension object of a metadata document, or an instance.

    Examples
    --------
    >>> parse_chunk_grid({"name": "regular", "configuration": {"chunk_shape": [10, 5]}})
    RegularGrid(chunk_shape=(10, 5))
    """
    return parse_extension(data, ChunkGrid, grid_registry)  # type: ignore[type-abstract]
