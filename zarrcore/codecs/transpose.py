"""Codecs that move items to another order (``transpose``) or shape (``reshape``, ``zarrs.squeeze``)."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._validate import fail, integer, integers, sequence
from zarrcore.codecs.base import ArrayArrayCodec, ArraySpec


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


_SHAPE = "configuration.shape"


@dataclass(frozen=True, kw_only=True)
class ReshapeCodec(ArrayArrayCodec):
    """The items in the same (C) order, in another shape (codec ``reshape`` of the Zarr extensions).

    Parameters
    ----------
    shape : sequence of (int or sequence of int)
        For each dimension of the stored array: its length, the dimensions of the chunk whose lengths are
        multiplied, or once -1 for the length that is left over.

    Examples
    --------
    >>> ReshapeCodec(shape=([0, 1], [2], 3)).to_json()
    {'name': 'reshape', 'configuration': {'shape': [[0, 1], [2], 3]}}
    """

    name: ClassVar[str] = "reshape"
    is_fixed_size: ClassVar[bool] = True
    keeps_items: ClassVar[bool] = True
    shape: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        parts = tuple(_part(item, f"shape[{i}]") for i, item in enumerate(sequence(self.shape, "shape")))
        if parts.count(-1) > 1:
            fail("shape", "-1 at most once", list(parts))
        axes = [axis for part in parts if isinstance(part, tuple) for axis in part]
        if any(axis >= after for axis, after in zip(axes, axes[1:], strict=False)):
            fail("shape", "dimensions of the chunk in increasing order", axes)
        object.__setattr__(self, "shape", parts)

    def resolve(self, spec: ArraySpec) -> Self:
        self._output_shape(spec.shape)
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return replace(spec, shape=self._output_shape(spec.shape))

    def lengths(self, spec: ArraySpec) -> tuple[int | tuple[int, ...], ...]:
        return self.shape

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return np.reshape(chunk, self._output_shape(spec.shape))

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return np.reshape(chunk, spec.shape)

    def _output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the stored array, checked to hold as many items as the chunk."""
        for i, part in enumerate(self.shape):
            if isinstance(part, tuple) and part and part[-1] >= len(shape):
                fail(f"{_SHAPE}[{i}]", f"dimensions 0..{len(shape) - 1} of the chunk", list(part))
        lengths = [prod(shape[axis] for axis in p) if isinstance(p, tuple) else p for p in self.shape]
        if -1 in lengths:
            given = prod(length for length in lengths if length != -1)
            lengths[lengths.index(-1)] = prod(shape) // given if given else 0
        if prod(lengths) != prod(shape):
            fail(_SHAPE, f"lengths for the {prod(shape)} items of a chunk of shape {shape}", lengths)
        self._check_aligned(shape, lengths)
        return tuple(lengths)

    def _check_aligned(self, shape: tuple[int, ...], lengths: list[int]) -> None:
        """Check that a dimension made of the chunk's runs over the very items that those run over."""
        for i, part in enumerate(self.shape):
            if not isinstance(part, tuple) or not part:
                continue
            before, after = prod(shape[: part[0]]), prod(shape[part[-1] + 1 :])
            if prod(lengths[:i]) != before or prod(lengths[i + 1 :]) != after:
                fail(
                    f"{_SHAPE}[{i}]",
                    f"{before} items before and {after} after dimensions {list(part)} of the chunk {shape}",
                    [prod(lengths[:i]), prod(lengths[i + 1 :])],
                )


@dataclass(frozen=True, kw_only=True)
class SqueezeCodec(ArrayArrayCodec):
    """The items without dimensions of length 1; one is left if there are no others (codec ``zarrs.squeeze``).

    Examples
    --------
    >>> spec = ArraySpec((1, 3, 1, 2), zarrcore.dtype.Int16(), fill=0)
    >>> SqueezeCodec().output_spec(spec).shape
    (3, 2)
    """

    name: ClassVar[str] = "zarrs.squeeze"
    is_fixed_size: ClassVar[bool] = True
    keeps_items: ClassVar[bool] = True

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return replace(spec, shape=tuple(length for length in spec.shape if length > 1) or (1,))

    def lengths(self, spec: ArraySpec) -> tuple[int | tuple[int, ...], ...]:
        return tuple((axis,) for axis, length in enumerate(spec.shape) if length > 1) or (-1,)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk.reshape(self.output_spec(spec).shape)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk.reshape(spec.shape)


def _part(item: object, where: str) -> int | tuple[int, ...]:
    if isinstance(item, (list, tuple)):
        return integers(item, where, 0)
    length = integer(item, where, -1)
    if length == 0:
        fail(where, "a positive integer, -1 or dimensions of the chunk", length)
    return length
