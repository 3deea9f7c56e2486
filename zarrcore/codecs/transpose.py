"""The ``transpose`` codec: the dimensions of a chunk in another order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zarrcore._validate import fail, integers
from zarrcore.codecs.base import ArrayArrayCodec

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec


@dataclass(frozen=True, kw_only=True)
class TransposeCodec(ArrayArrayCodec):
    """Stored dimension ``i`` is dimension ``order[i]`` of the chunk (Zarr v3, codec ``transpose``).

    Parameters
    ----------
    order : sequence of int
        A permutation of the dimensions.

    Examples
    --------
    >>> TransposeCodec(order=(1, 0)).to_json()
    {'name': 'transpose', 'configuration': {'order': [1, 0]}}
    """

    name: ClassVar[str] = "transpose"
    is_fixed_size: ClassVar[bool] = True
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", integers(self.order, "order"))

    def resolve(self, spec: ArraySpec) -> Self:
        if sorted(self.order) != list(range(spec.ndim)):
            expected = f"a permutation of 0..{spec.ndim - 1}" if spec.ndim else "[]"
            fail("configuration.order", expected, list(self.order))
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return replace(spec, shape=tuple(spec.shape[axis] for axis in self.order))

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk.transpose(self.order)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk.transpose(np.argsort(self.order))

    def permutation(self, spec: ArraySpec) -> tuple[int, ...] | None:
        return self.order
