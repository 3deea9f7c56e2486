"""Chunk and shard shapes: defaults, and the forms in which users give them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from zarrcore.dtypes.scalars import is_integer
from zarrcore.errors import given

Shape = tuple[int, ...]

_KIB = 1024
_MIN_BYTES = 128 * _KIB
_MAX_BYTES = 64 * _KIB * _KIB
_INNER_BYTES = _KIB * _KIB
_PRIMES = (2, 3, 5, 7, 11, 13)


def guess_chunks(shape: Sequence[int], item_size: int, *, max_bytes: int = _MAX_BYTES) -> Shape:
    """Return a chunk shape that suits most uses.

    Aims at 256 KiB for an array of 1 MiB and at twice as much for every tenfold of the array's size, between
    128 KiB and `max_bytes`.  The longest dimensions are halved first, so that chunks are nearly cubes.

    Examples
    --------
    >>> guess_chunks((100, 100), 8)
    (100, 100)
    """
    chunks = [max(1, length) for length in shape]
    if not chunks or item_size == 0:
        return tuple(chunks)
    total = math.prod(chunks) * item_size
    wanted = 256 * _KIB * 2 ** (math.log10(total) - math.log10(_KIB * _KIB))
    target = min(max(wanted, min(_MIN_BYTES, max_bytes)), max_bytes)
    while math.prod(chunks) * item_size > target * 1.5 or math.prod(chunks) * item_size > max_bytes:
        longest = max(range(len(chunks)), key=lambda dim: (chunks[dim], -dim))
        if chunks[longest] == 1:
            break
        chunks[longest] = -(-chunks[longest] // 2)
    return tuple(chunks)


def guess_shards(
    shape: Sequence[int], chunks: Sequence[int], item_size: int, target_bytes: int | None
) -> Shape:
    """Return a shard shape: whole chunks, up to `target_bytes` (by default 2, 4, 8 or 16 chunks)."""
    shards = list(chunks)
    limit = target_bytes or math.prod(chunks) * max(1, item_size) * 2 ** min(len(shards), 4)
    while True:
        dims = [dim for dim in range(len(shards)) if shards[dim] * 2 < shape[dim] + chunks[dim]]
        if not dims or math.prod(shards) * 2 * item_size > limit:
            return tuple(shards)
        dim = min(dims, key=lambda d: (shards[d] // chunks[d], d))
        shards[dim] *= 2


def _dividing(shards: Sequence[Any], item_size: int) -> Shape:
    """Return a shape of chunks that divides all shards, of up to 1 MiB where their lengths allow it."""
    chunks = [length if isinstance(length, int) else math.gcd(*length) for length in shards]
    while (nbytes := math.prod(chunks) * item_size) > _INNER_BYTES:
        factors = [next((n for n in _PRIMES if length % n == 0), 0) for length in chunks]
        if not any(factors) and nbytes > _MAX_BYTES:  # large primes: rather many chunks than one that large
            factors = [length if length > 1 else 0 for length in chunks]
        if not any(factors):
            break
        longest = max((dim for dim, n in enumerate(factors) if n), key=lambda dim: (chunks[dim], -dim))
        chunks[longest] //= factors[longest]
    return tuple(chunks)


def normalize_chunks(
    chunks: Any, shape: Sequence[int], *, unit: Sequence[int] | None = None, name: str = "chunks"
) -> tuple[Any, ...]:
    """Normalise `chunks` to one entry per dimension: a length, or a tuple of lengths (rectilinear).

    One length is for all dimensions; -1 or None in place of a length means the whole dimension, False in
    place of all of them the whole array.  Lengths made from a whole dimension are multiples of `unit`.
    """
    if chunks is False or (is_integer(chunks) and chunks == -1):
        chunks = (-1,) * len(shape)
    elif is_integer(chunks):
        chunks = (int(chunks),) * len(shape)
    elif chunks is None or chunks is True or isinstance(chunks, str) or not hasattr(chunks, "__len__"):
        raise TypeError(f'{name}: expected an integer, a tuple of integers or "auto", got {given(chunks)}')
    if len(chunks) != len(shape):
        raise ValueError(
            f"{name}: the array has {len(shape)} dimensions, got {len(chunks)} lengths ({given(chunks)})"
        )
    units = unit or (1,) * len(shape)
    return tuple(_edge(chunk, length, n, name) for chunk, length, n in zip(chunks, shape, units, strict=True))


def _edge(chunk: Any, length: int, unit: int, name: str) -> int | tuple[int, ...]:
    if chunk is None or (is_integer(chunk) and chunk == -1):
        return unit * max(1, -(-length // unit))
    if is_integer(chunk):
        if chunk < 1:
            raise ValueError(f"{name}: expected lengths of at least 1, got {chunk}")
        return int(chunk)
    if isinstance(chunk, (str, bytes)) or not hasattr(chunk, "__iter__"):
        raise TypeError(f"{name}: expected integers, got {given(chunk)}")
    edges = tuple(chunk)
    if not edges or not all(is_integer(edge) and edge > 0 for edge in edges):
        raise ValueError(f"{name}: expected lengths of at least 1, got {given(edges)}")
    if sum(edges) < length:
        raise ValueError(f"{name}: lengths {edges!r} sum to {sum(edges)}, the dimension has {length}")
    return tuple(int(edge) for edge in edges)


def resolve_layout(
    shape: Shape, item_size: int, chunks: Any, shards: Any, *, target_shard_bytes: int | None = None
) -> tuple[tuple[Any, ...], Shape | None]:
    """Return grid chunks and inner chunks (None without sharding) from the arguments `chunks` and `shards`.

    Grid chunks are for each dimension the length of a stored chunk (or shard), or the lengths of all of them.
    """
    if isinstance(shards, dict):
        if "shape" not in shards:
            raise ValueError(f"shards: expected a dictionary with a shape, got {given(shards)}")
        shards = shards["shape"]
    automatic = chunks is None or chunks is True or (isinstance(chunks, str) and chunks == "auto")
    if not automatic:
        inner = normalize_chunks(chunks, shape)
    elif shards is None or isinstance(shards, str):
        largest = _MAX_BYTES if shards is None else _INNER_BYTES
        inner = guess_chunks(shape, item_size, max_bytes=largest)
    else:
        inner = _dividing(normalize_chunks(shards, shape, name="shards"), item_size)
    if shards is None:
        return inner, None
    if not all(isinstance(length, int) for length in inner):
        raise ValueError(
            "rectilinear chunks cannot be sharded; give chunks as lengths and the shards as lists"
        )
    if isinstance(shards, str) and shards == "auto":
        return guess_shards(shape, inner, item_size, target_shard_bytes), inner
    grid = normalize_chunks(shards, shape, unit=inner, name="shards")
    for dim, (outer, length) in enumerate(zip(grid, inner, strict=True)):
        for edge in (outer,) if isinstance(outer, int) else outer:
            if edge % length:
                near = -(-edge // length) * length
                raise ValueError(
                    f"shards: length {edge} of dimension {dim} is not a multiple of the chunk length "
                    f"{length}: give shards of {near} there, chunks that divide {edge}, or shards=None"
                )
    return grid, inner
