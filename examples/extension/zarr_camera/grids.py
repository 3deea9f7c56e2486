"""A chunk grid: one chunk for each month."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from zarrcore.errors import MetadataValidationError
from zarrcore.grids import ChunkGrid


@dataclass(frozen=True)
class Monthly(ChunkGrid):
    """Chunks of one month each along the first dimension, which counts days."""

    name: ClassVar[str] = "camera.monthly"
    first: str  # the first month, "2026-01"
    months: int  # how many there are
    frame: tuple[int, ...]  # lengths of the chunks along the other dimensions

    def __post_init__(self):
        try:
            np.datetime64(self.first, "M")
        except (TypeError, ValueError) as error:
            raise MetadataValidationError(f'expected "YYYY-MM", got {self.first!r}', where="first") from error
        if not isinstance(self.months, int) or not 1 <= self.months <= 12_000:
            raise MetadataValidationError(f"expected 1..12000, got {self.months!r}", where="months")
        if not all(isinstance(length, int) and length > 0 for length in self.frame):
            raise MetadataValidationError(f"expected positive lengths, got {self.frame!r}", where="frame")
        object.__setattr__(self, "frame", tuple(self.frame))  # JSON has lists

    @property
    def ndim(self):
        return 1 + len(self.frame)

    def native(self):
        start = np.datetime64(self.first, "M")
        days = np.arange(start, start + np.timedelta64(self.months + 1, "M")).astype("datetime64[D]")
        return (tuple(np.diff(days).astype(int).tolist()), *self.frame)

    def validate(self, shape):
        if len(shape) != self.ndim:
            raise MetadataValidationError(f"expected {self.ndim} dimensions, got the shape {shape}")
        if sum(self.native()[0]) < shape[0]:
            raise MetadataValidationError(
                f"{self.months} months have fewer than {shape[0]} days", where="months"
            )

    def update_shape(self, shape):
        start = np.datetime64(self.first, "M")
        last = start.astype("datetime64[D]") + np.timedelta64(max(shape[0] - 1, 0), "D")
        needed = (last.astype("datetime64[M]") - start) // np.timedelta64(1, "M") + 1
        return replace(self, months=max(self.months, int(needed)))
