"""The ``regular`` chunk grid: all chunks have one shape."""

from __future__ import annotations

from typing import ClassVar, Self

from zarrcore._records import dataclass
from zarrcore._validate import fail, shape
from zarrcore.grids.base import ChunkGrid


@dataclass(frozen=True)
class RegularGrid(ChunkGrid):
    """Chunks of one shape, the last ones overhanging the array (Zarr v3, chunk grid ``regular``).

    Parameters
    ----------
    chunk_shape : sequence of int
        Shape of the chunks, all lengths at least 1.

    Examples
    --------
    >>> RegularGrid((5, 20, 400)).grid_shape((10, 200, 3000))
    (2, 10, 8)
    """

    name: ClassVar[str] = "regular"
    chunk_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_shape", shape(self.chunk_shape, "chunk_shape", low=1))

    @property
    def ndim(self) -> int:
        return len(self.chunk_shape)

    def native(self) -> tuple[int | tuple[int, ...], ...]:
        return self.chunk_shape

    def shape_of(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        return self.chunk_shape

    def validate(self, shape: tuple[int, ...]) -> None:
        if len(shape) != self.ndim:
            fail(
                "configuration.chunk_shape", f"{len(shape)} lengths, as the shape has", list(self.chunk_shape)
            )

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        self.validate(shape)
        return self
