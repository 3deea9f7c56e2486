"""The ``zarrs.regular_bounded`` chunk grid: chunks of one shape, cut at the end of the array."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Self

from zarrcore._records import dataclass
from zarrcore._validate import fail
from zarrcore.errors import MetadataValidationError
from zarrcore.grids.base import ChunkGrid
from zarrcore.grids.rectilinear import MAX_EDGES, check_ndim
from zarrcore.grids.regular import RegularGrid


@dataclass(frozen=True)
class RegularBoundedGrid(RegularGrid):
    """Chunks of one shape, the last ones cut at the end of the array (chunk grid ``zarrs.regular_bounded``).

    Parameters
    ----------
    chunk_shape : sequence of int
        Shape of the chunks, all lengths at least 1.

    Notes
    -----
    What is stored of the last chunks has their own shape, so an array is resized only along dimensions whose
    length is a multiple of the chunk length before or, where it is shortened, afterwards.

    Examples
    --------
    >>> RegularBoundedGrid((4, 5)).bounded((10, 3)).native()
    ((4, 4, 2), 3)
    """

    name: ClassVar[str] = "zarrs.regular_bounded"
    bounds: tuple[int, ...] | None = field(
        default=None, init=False, compare=False, repr=False, metadata={"runtime": True}
    )
    """Shape of the array whose chunks these are; None until the metadata of one have the grid."""

    def bounded(self, shape: tuple[int, ...]) -> Self:
        self.validate(shape)
        pairs = list(zip(self.chunk_shape, shape, strict=True))
        listed = sum(-(-length // chunk) for chunk, length in pairs if chunk < length and length % chunk)
        if listed > MAX_EDGES:
            fail("configuration.chunk_shape", f"at most {MAX_EDGES} chunks where the last is shorter", listed)
        made = type(self)(self.chunk_shape)
        vars(made).update(bounds=shape, _lengths=tuple(_bounded(*pair) for pair in pairs))
        return made

    @property
    def is_regular(self) -> bool:
        return False

    def native(self) -> tuple[int | tuple[int, ...], ...]:
        lengths: tuple[int | tuple[int, ...], ...] = vars(self).get("_lengths", self.chunk_shape)
        return lengths

    def shape_of(self, coords: tuple[int, ...]) -> tuple[int, ...]:
        return ChunkGrid.shape_of(self, coords)

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """Return the grid resized to `shape`, if all stored chunks that it keeps have their shape."""
        check_ndim(self, shape)
        for chunk, old, new in zip(self.chunk_shape, self.bounds or shape, shape, strict=True):
            if old != new and min(old, new) % chunk:
                raise MetadataValidationError(
                    f"cannot resize a {self.name} grid from {old} to {new} elements in chunks of {chunk}: "
                    "the stored chunk at the end would have another shape"
                )
        return self.bounded(shape)


def _bounded(chunk: int, length: int) -> int | tuple[int, ...]:
    """Return the lengths of the chunks of a dimension."""
    if length % chunk == 0:
        return chunk
    return (chunk,) * (length // chunk) + (length % chunk,) if chunk < length else length
