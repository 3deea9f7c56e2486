"""What samples of one or several arrays are, and in which order an epoch has them: without torch."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from zarrcore._core.engine import empty
from zarrcore.arrays.array import Array
from zarrcore.arrays.batches import read_many

_MOST_BLOCKS, _MOST_CROPS = 1 << 26, 1 << 28  # in an order: some 200 bytes for a block of rows, 8 for a crop

Values = tuple[np.ndarray, ...]
"""For each array, its values of some samples: one after the other along the first dimension."""

Block = Sequence[int] | np.ndarray
"""Numbers of samples."""


def whole(value: object, name: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return a number that a user gave, or that a file has, if it is a whole one within limits."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}") from None
    if least <= number <= most:
        return number
    limits = "positive numbers" if least == 1 else "no less than 0" if most >= 2**62 else f"{least} to {most}"
    raise ValueError(f"{name}: expected {limits}, got {number}")


def _lengths(values: object, name: str) -> tuple[int, ...]:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise TypeError(f"{name}: expected a sequence of lengths, got {values!r}")
    return tuple(whole(value, name, 1) for value in values)


class Samples:
    """Rows of arrays that have the same length, or crops at the same places of all of them."""

    def __init__(
        self,
        arrays: Sequence[Array],
        crop: Sequence[int] | None,
        stride: Sequence[int] | None,
        starts: np.ndarray | None,
    ) -> None:
        if not arrays:
            raise ValueError("arrays: expected at least one")
        for number, array in enumerate(arrays):
            if not isinstance(array, Array):
                raise TypeError(f"arrays: number {number} is no zarrcore.Array but {type(array).__name__}")
            if array.dtype.kind not in "biufc":
                raise TypeError(f"array {_name(array)}: torch has no tensors of its data type {array.dtype}")
        if crop is None and (stride is not None or starts is not None):
            raise ValueError("stride, starts: are of crops; rows have none")
        self.arrays = tuple(arrays)
        lengths = None if crop is None else _lengths(crop, "crop")
        self._ndim = 1 if lengths is None else len(lengths)
        shape = self._common_shape()
        self.crop = None if lengths is None else _checked_crop(lengths, shape, arrays[0])
        self._starts = None if starts is None else _checked_starts(starts, self.crop or (), shape, arrays[0])
        self._grid = self._count_crops(shape, stride)
        self.n = len(self._starts) if self._starts is not None else prod(n for n, _ in self._grid)

    def _common_shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions that samples are taken along."""
        first = self.arrays[0]
        for array in self.arrays:
            if array.ndim < self._ndim:
                raise ValueError(
                    f"array {_name(array)} has {array.ndim} dimensions, samples need {self._ndim}"
                )
            if array.shape[: self._ndim] != first.shape[: self._ndim]:
                raise ValueError(
                    f"arrays {_name(first)} and {_name(array)} have no samples in common: their shapes "
                    f"begin with {first.shape[: self._ndim]} and {array.shape[: self._ndim]}"
                )
        return first.shape[: self._ndim]

    def _count_crops(self, shape: tuple[int, ...], stride: Sequence[int] | None) -> list[tuple[int, int]]:
        """For each dimension the number of samples, and how far they are from each other."""
        if self.crop is None:
            return [(shape[0], 1)]
        steps = self.crop if stride is None else _lengths(stride, "stride")
        if len(steps) != len(self.crop):
            raise ValueError(f"stride: expected {len(self.crop)} positive numbers, got {steps}")
        return [((n - c) // s + 1, s) for n, c, s in zip(shape, self.crop, steps, strict=True)]

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """Where samples begin: shape (samples, dimensions)."""
        if self._starts is not None:
            starts: np.ndarray = self._starts[numbers]
            return starts
        counts = tuple(n for n, _ in self._grid)
        steps = np.array([step for _, step in self._grid])
        places: np.ndarray = np.stack(np.unravel_index(numbers, counts), axis=1) * steps
        return places

    # --- reading ---

    def read(self, numbers: Sequence[int] | np.ndarray, threads: int) -> Values:
        """Read samples, in one call."""
        wanted = np.asarray(numbers, np.int64)
        places = [self._selection(start) for start in self.starts(wanted).tolist()]
        outs = [self._room(array, len(places)) for array in self.arrays]
        requests = [(array, place) for array in self.arrays for place in places]
        read_many(requests, out=[out[i, ...] for out in outs for i in range(len(out))], threads=threads)
        return tuple(outs)

    def read_runs(self, runs: Sequence[tuple[int, int]], threads: int) -> Values:
        """Read runs of rows that follow each other, in one call."""
        n = sum(stop - start for start, stop in runs)
        outs = [self._room(array, n) for array in self.arrays]
        ends = np.cumsum([0] + [stop - start for start, stop in runs]).tolist()
        requests = [(array, slice(*run)) for array in self.arrays for run in runs]
        parts = [out[i:j] for out in outs for i, j in zip(ends[:-1], ends[1:], strict=True)]
        read_many(requests, out=parts, threads=threads)
        return tuple(outs)

    def _selection(self, start: list[int]) -> Any:
        if self.crop is None:
            return start[0]
        return tuple(slice(i, i + n) for i, n in zip(start, self.crop, strict=True))

    def _room(self, array: Array, n: int) -> np.ndarray:
        return empty((n, *(self.crop or ()), *array.shape[self._ndim :]), array.dtype)

    # --- blocks: samples whose values lie in the same chunks ---

    def blocks(self) -> Sequence[Block]:
        """Return the numbers of the samples of each block; those of rows follow each other."""
        edges = self._block_edges()
        n, most = (-(-self.n // edges[0]), _MOST_BLOCKS) if self.crop is None else (self.n, _MOST_CROPS)
        if n > most:
            what = "blocks of rows" if self.crop is None else "crops"
            raise ValueError(f"array {_name(self.arrays[0])}: {n} {what}, more than can be in order: {most}")
        if self.crop is None:
            return [range(i, min(i + edges[0], self.n)) for i in range(0, self.n, edges[0])]
        numbers = np.arange(self.n)
        _, block = np.unique(self.starts(numbers) // np.array(edges), axis=0, return_inverse=True)
        order = np.argsort(block.reshape(-1), kind="stable")
        return np.split(order, np.flatnonzero(np.diff(block.reshape(-1)[order])) + 1) if self.n else []

    def _block_edges(self) -> tuple[int, ...]:
        """Lengths of a block: those of the largest chunks (of sharded arrays: inner chunks) of all arrays."""
        edges = [self._edges_of(array) for array in self.arrays]
        return tuple(max(1, *each) for each in zip(*edges, strict=True))

    def _edges_of(self, array: Array) -> tuple[int, ...]:
        try:
            return array.chunks[: self._ndim]
        except NotImplementedError:  # chunks of different lengths: the longest
            return tuple(max(sizes) for sizes in array.read_chunk_sizes[: self._ndim])


def _name(array: Array) -> str:
    return repr(array.path or "/")


def _checked_crop(crop: tuple[int, ...], shape: tuple[int, ...], array: Array) -> tuple[int, ...]:
    if not crop:
        raise ValueError("crop: expected positive numbers, got none")
    if any(c > n for c, n in zip(crop, shape, strict=True)):
        raise ValueError(f"crop: {crop} is larger than array {_name(array)} of shape {array.shape}")
    return crop


def _checked_starts(
    starts: np.ndarray, crop: tuple[int, ...], shape: tuple[int, ...], array: Array
) -> np.ndarray:
    given = np.asarray(starts)
    if given.ndim != 2 or given.shape[1] != len(crop) or given.dtype.kind not in "iu":
        raise ValueError(
            f"starts: expected integers of shape (samples, {len(crop)}), got {given.dtype}{given.shape}"
        )
    outside = np.flatnonzero(((given < 0) | (given > np.array(shape) - crop)).any(axis=1))
    if len(outside):
        number = int(outside[0])
        raise ValueError(
            f"starts: number {number}, {tuple(given[number].tolist())}, with crop {crop} reaches out of "
            f"array {_name(array)} of shape {array.shape}"
        )
    return given.astype(np.int64)


# --- the order of an epoch ---


class Epoch:
    """The samples of one worker in one epoch: windows of blocks, each in a random order."""

    def __init__(
        self,
        blocks: Sequence[Block],
        window: int,
        seed: tuple[int, int],
        part: int,
        parts: int,
        shuffle: bool,
    ) -> None:
        order = np.random.default_rng(seed).permutation(len(blocks)) if shuffle else np.arange(len(blocks))
        own = order[part::parts]
        self._windows = [[blocks[b] for b in own[i : i + window]] for i in range(0, len(own), window)]
        self._shuffle = shuffle
        self._seed = (*seed, part)
        self.n = sum(len(block) for blocks in self._windows for block in blocks)

    def values(self, samples: Samples, skip: int, threads: int) -> Iterator[Values]:
        """Read window by window, without the first `skip` samples; windows that are skipped are not read."""
        for number, blocks in enumerate(self._windows):
            n = sum(map(len, blocks))
            if skip >= n:
                skip -= n
                continue
            order = np.arange(n)
            if self._shuffle:
                np.random.default_rng((*self._seed, number)).shuffle(order)
            yield _read_window(samples, blocks, order[skip:], threads)
            skip = 0


def _read_window(samples: Samples, blocks: Sequence[Block], order: np.ndarray, threads: int) -> Values:
    if samples.crop is not None:
        return samples.read(np.concatenate(blocks)[order], threads)
    read = samples.read_runs([(int(block[0]), int(block[-1]) + 1) for block in blocks], threads)
    return tuple(each[order] for each in read)


def rebatch(windows: Iterator[Values], size: int, drop_last: bool) -> Iterator[Values]:
    """Cut windows into batches; what is left of one goes to the next."""
    rest: Values | None = None
    for window in windows:
        values = window if rest is None else tuple(map(np.concatenate, zip(rest, window, strict=True)))
        n = len(values[0])
        for begin in range(0, n - size + 1, size):
            yield tuple(each[begin : begin + size] for each in values)
        rest = tuple(each[n - n % size :] for each in values) if n % size else None
    if rest is not None and not drop_last:
        yield rest


def turns_after(batches: int, counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the parts of an epoch in their turns after some batches, each with how many of them it had.

    Workers take turns as long as they have any, beginning with the first; so the first goes on with the part
    whose turn it is.
    """
    left, rounds = batches, 0
    for count in sorted(set(counts)):
        active = sum(1 for each in counts if each > rounds)
        full = min(left // active, count - rounds) if active else 0
        rounds += full
        left -= full * active
        if rounds < count:
            break
    done = [min(count, rounds) for count in counts]
    for part in [part for part, count in enumerate(counts) if count > rounds][:left]:
        done[part] += 1
    return sorted(enumerate(done), key=lambda turn: (turn[1] == counts[turn[0]], turn[1]))
