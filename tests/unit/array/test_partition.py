"""Regions for writers that do not know of each other share no chunk or shard, or are refused by name."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import RegionOverlapError


def sharded() -> zarrcore.Array:
    return zarrcore.create_array({}, name="a", shape=(20, 7), chunks=(2, 2), shards=(8, 4), dtype="i4")


@pytest.mark.parametrize("unit", ["chunk", "shard"])
def test_regions_of_the_grid_cover_each_element_once(unit: Any) -> None:
    array = sharded()
    count = np.zeros(array.shape, int)
    for region in array.iter_regions(unit):
        count[region] += 1
    assert (count == 1).all()
    assert len(list(array.iter_regions(unit))) == (40 if unit == "chunk" else 6)
    array.check_regions(array.iter_regions())


def test_chunks_of_one_shard_are_no_regions_for_different_writers() -> None:
    with pytest.raises(RegionOverlapError, match=r"'a': regions 0 \(0:2, 0:2\).*shard \(0, 0\).*0:8, 0:4"):
        sharded().check_regions(sharded().iter_regions("chunk"))


def test_arrays_without_shards_irregular_ones_and_scalars() -> None:
    plain = zarrcore.create_array({}, shape=5, chunks=2, dtype="i4")
    assert list(plain.iter_regions()) == list(plain.iter_regions("chunk"))
    scalar = zarrcore.create_array({}, shape=(), dtype="i4")
    assert list(scalar.iter_regions()) == [()]
    scalar.check_regions([()])
    with pytest.raises(RegionOverlapError, match="regions 0 .* and 1"):
        scalar.check_regions([(), ...])
    uneven = zarrcore.create_array({}, shape=9, chunks=[[2, 4, 3]], dtype="i4")
    assert list(uneven.iter_regions()) == [(slice(0, 2),), (slice(2, 6),), (slice(6, 9),)]
    uneven.check_regions([slice(0, 6), slice(6, 9)])
    with pytest.raises(RegionOverlapError, match=r"chunk \(1,\), the elements 2:6"):
        uneven.check_regions([slice(0, 3), slice(4, 6)])
    assert list(zarrcore.create_array({}, shape=(0, 3), dtype="i4").iter_regions()) == []


def test_a_unit_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="'chunk' or 'shard', got 'block'"):
        list(sharded().iter_regions("block"))  # type: ignore[arg-type]


def test_regions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(IndexError):
        sharded().check_regions([(0, 0, 0)])
    with pytest.raises(IndexError):
        sharded().check_regions([[1, 2]])


def test_what_selects_nothing_is_in_nobodys_way() -> None:
    sharded().check_regions([slice(0, 20), slice(3, 3)])


@pytest.mark.parametrize("seed", range(60))
def test_random_regions_are_judged_as_by_marking_every_element(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 20, rng.integers(1, 4)).tolist())
    chunks = tuple(int(rng.integers(1, n + 1)) for n in shape)
    array = zarrcore.create_array({}, shape=shape, chunks=chunks, dtype="i1")
    numbers = np.indices(shape) // np.array(chunks).reshape(-1, *[1] * len(shape))
    ids = np.ravel_multi_index(tuple(numbers), tuple(-(-n // c) for n, c in zip(shape, chunks, strict=True)))
    regions = []
    for _ in range(int(rng.integers(1, 6))):
        bounds = [np.sort(rng.integers(0, n + 1, 2)).tolist() for n in shape]
        region: list[Any] = [slice(a, b, int(rng.integers(1, 4))) for a, b in bounds]
        if rng.random() < 0.3:
            region[0] = int(rng.integers(0, shape[0]))
        elif rng.random() < 0.3:
            region[-1] = slice(None, None, -1)
        regions.append(tuple(region))
    # A chunk between two elements of a step counts as touched: a box is what is compared.
    boxes = [{*map(tuple, box_of(ids, region, numbers))} for region in regions]
    if any(one & other for one, other in combinations(boxes, 2)):
        with pytest.raises(RegionOverlapError):
            array.check_regions(regions)
    else:
        array.check_regions(regions)


def box_of(ids: np.ndarray, region: Any, numbers: np.ndarray) -> list[list[int]]:
    """The chunks of the smallest box that contains those of a region."""
    touched = np.unique(ids[region])
    if not touched.size:
        return []
    at = np.array([[axis.ravel()[ids.ravel() == k][0] for axis in numbers] for k in touched])
    lengths = at.max(axis=0) - at.min(axis=0) + 1
    return [(at.min(axis=0) + offset).tolist() for offset in np.ndindex(*lengths)]


def test_many_regions_are_compared_in_a_moment() -> None:
    array = zarrcore.create_array({}, shape=(1000, 1000), chunks=(10, 10), dtype="i1")
    regions = list(array.iter_regions())
    array.check_regions(regions)
    with pytest.raises(RegionOverlapError, match=r"regions 4145 .* and 10000 .*chunk \(41, 45\)"):
        array.check_regions([*regions, (slice(415, 416), slice(455, 456))])
