"""The chunk grids ``rectangular`` and ``zarrs.regular_bounded``."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import MetadataValidationError, UnknownCodecError
from zarrcore.grids import RectangularGrid, RegularBoundedGrid, RegularGrid, parse_chunk_grid


def grid_of(name: str, chunk_shape: Any) -> dict[str, Any]:
    return {"name": name, "configuration": {"chunk_shape": chunk_shape}}


def rectangular(*chunk_shape: Any) -> dict[str, Any]:
    return grid_of("rectangular", list(chunk_shape))


def bounded(*chunk_shape: Any) -> dict[str, Any]:
    return grid_of("zarrs.regular_bounded", list(chunk_shape))


def created(shape: tuple[int, ...], grid: Any, **options: Any) -> zarrcore.Array:
    return zarrcore.create_array({}, shape=shape, dtype="int16", chunk_grid=grid, compressors=None, **options)


def filled(shape: tuple[int, ...], grid: Any, **options: Any) -> tuple[zarrcore.Array, np.ndarray]:
    array = created(shape, grid, **options)
    values = np.arange(1, 1 + array.size, dtype="int16").reshape(shape)
    array[...] = values
    return zarrcore.open_array(array.store), values


LAYOUTS = {
    "rectangular": ((7, 5), rectangular([1, 4, 2], 3)),
    "bounded": ((7, 5), bounded(3, 2)),
    "bounded-even": ((6, 4), bounded(3, 2)),
    "bounded-larger": ((7, 5), bounded(100, 3)),
    "bounded-0d": ((), bounded()),
    "bounded-empty": ((0, 5), bounded(3, 2)),
}


@pytest.mark.parametrize(("shape", "grid"), LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("keys", ["default", "fanout"])  # the engine in C, and that in Python
def test_values_come_back(shape: tuple[int, ...], grid: Any, keys: str) -> None:
    array, values = filled(shape, grid, chunk_key_encoding={"name": keys, "configuration": {}})
    np.testing.assert_array_equal(array[...], values)
    if values.ndim == 2 and values.size:
        np.testing.assert_array_equal(array[::-2, 1:4], values[::-2, 1:4])
        array[2:5, 3:] = -1
        values[2:5, 3:] = -1
        np.testing.assert_array_equal(zarrcore.open_array(array.store)[...], values)
    assert array.metadata.to_dict()["chunk_grid"] == grid
    for again in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array)):
        np.testing.assert_array_equal(again[...], values)
    assert zarrcore.verify(array.store).ok


def test_the_last_chunks_of_a_bounded_grid_are_cut() -> None:
    store: dict[str, bytes] = {}
    array = zarrcore.create_array(store, shape=(7, 5), dtype="i2", chunk_grid=bounded(3, 2), compressors=None)
    array[...] = 1
    assert {key: len(data) for key, data in store.items() if key != "zarr.json"} == {
        "c/0/0": 12, "c/0/1": 12, "c/0/2": 6,
        "c/1/0": 12, "c/1/1": 12, "c/1/2": 6,
        "c/2/0": 4, "c/2/1": 4, "c/2/2": 2,
    }  # fmt: skip
    assert array.metadata.chunk_grid.grid_shape((7, 5)) == (3, 3)
    assert array.metadata.chunk_grid.native() == ((3, 3, 1), (2, 2, 1))
    assert RegularBoundedGrid((3, 2)) == array.metadata.chunk_grid != RegularGrid((3, 2))


@pytest.mark.parametrize(
    ("grid", "old", "new"),
    [
        (bounded(4), 8, 11),
        (bounded(4), 11, 8),
        (bounded(4), 11, 4),
        (bounded(4), 11, 0),
        (bounded(4), 0, 3),
        (rectangular([3, 4]), 7, 9),
        (rectangular([3, 4]), 7, 3),
        (rectangular(4), 7, 9),
        (rectangular(4), 7, 5),
    ],
)
def test_resizing_keeps_what_is_stored(grid: Any, old: int, new: int) -> None:
    array, values = filled((old,), grid)
    array.resize((new,))
    expected = np.zeros(new, "int16")
    expected[: min(old, new)] = values[:new]
    again = zarrcore.open_array(array.store)
    np.testing.assert_array_equal(again[...], expected)
    again[...] = 7
    assert (zarrcore.open_array(array.store)[...] == 7).all()


@pytest.mark.parametrize(
    ("grid", "old", "new", "reason"),
    [
        (bounded(4), 7, 9, "cannot resize a zarrs.regular_bounded grid from 7 to 9"),
        (bounded(4), 7, 6, "from 7 to 6 elements in chunks of 4: the stored chunk at the end"),
        (bounded(4), 3, 4, "from 3 to 4"),
        (rectangular([3, 4]), 7, 5, "cannot shorten a rectangular grid to 5 elements, where no chunk ends"),
        (rectangular([3, 4]), 7, 0, "to 0 elements"),
    ],
)
def test_resizing_that_would_leave_chunks_of_another_shape_is_refused(
    grid: Any, old: int, new: int, reason: str
) -> None:
    array, values = filled((old,), grid)
    with pytest.raises(MetadataValidationError, match=reason):
        array.resize((new,))
    np.testing.assert_array_equal(zarrcore.open_array(array.store)[...], values)


@pytest.mark.parametrize("is_used", [False, True])
def test_other_handles_know_how_long_the_last_chunk_is(is_used: bool) -> None:
    """Without it they would store one of the length that it had when they were opened."""
    array, _ = filled((11,), bounded(4))
    other = zarrcore.open_array(array.store)
    if is_used:
        other[...]
    array.resize((8,))
    array.resize((12,))
    array[...] = 5
    assert other[...].tolist() == [5] * 12
    other[8:11] = 6
    assert zarrcore.open_array(array.store)[8:].tolist() == [6, 6, 6, 5]


def test_appending() -> None:
    array, values = filled((8,), bounded(4))
    array.append(np.ones(3, "int16"))
    np.testing.assert_array_equal(zarrcore.open_array(array.store)[...], [*values, 1, 1, 1])
    with pytest.raises(MetadataValidationError, match="cannot resize"):
        array.append(np.ones(1, "int16"))


@pytest.mark.parametrize(
    ("shape", "grid", "reason"),
    [
        ((7,), bounded(0), "chunk_shape"),
        ((7,), bounded(2.5), "chunk_shape"),
        ((7,), bounded(3, 2), "expected 1 lengths"),
        ((7,), bounded("3"), "chunk_shape"),
        ((7,), grid_of("zarrs.regular_bounded", 3), "chunk_shape"),
        ((7,), {"name": "zarrs.regular_bounded"}, "required"),
        (
            (7,),
            {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [3], "bounds": [7]}},
            "unknown key",
        ),
        ((2**62 + 1,), bounded(2), "at most 1000000 chunks where the last is shorter"),
        ((1_200_001, 1_200_001), bounded(2, 2), "got 1200002"),
        ((7,), rectangular([3, 3]), "chunks of the array's length 7 together, got 6"),
        ((7,), rectangular([3, 5]), "chunks of the array's length 7 together, got 8"),
        ((7,), rectangular([]), "at least one chunk"),
        ((7,), rectangular([7, 0]), r"chunk_shape\[0\]\[1\]"),
        ((7,), rectangular([[7, 1]]), r"chunk_shape\[0\]\[0\]"),  # no runs, as rectilinear grids have them
        ((7,), rectangular([4, 3], 1), "1 dimensions"),
        ((7,), rectangular([2**62, 2**62]), r"2\*\*63"),
        ((2_000_000,), rectangular([1] * 1_000_001), "at most 1000000 chunks"),
    ],
)
def test_bad_documents_are_refused(shape: tuple[int, ...], grid: Any, reason: str) -> None:
    document = created((4,), None).metadata.to_dict() | {"shape": list(shape), "chunk_grid": grid}
    with pytest.raises(MetadataValidationError, match=reason):
        zarrcore.open_array({"zarr.json": json.dumps(document).encode()})


def test_many_chunks_need_no_list_where_they_are_even() -> None:
    array = created((2**62,), bounded(2))
    array[2**61] = 5
    assert array[2**61 - 1 : 2**61 + 2].tolist() == [0, 5, 0]
    assert array.metadata.chunk_grid.native() == (2,)


def test_shards_of_a_bounded_grid_hold_whole_inner_chunks() -> None:
    shards = zarrcore.codecs.ShardingCodec(chunk_shape=(2,))
    array = zarrcore.create_array({}, shape=10, dtype="i4", chunk_grid=bounded(4), serializer=shards)
    array[...] = range(10)
    assert zarrcore.open_array(array.store)[...].tolist() == [*range(10)]
    with pytest.raises(MetadataValidationError, match="divisor of the shard's length 3"):
        zarrcore.create_array({}, shape=7, dtype="i4", chunk_grid=bounded(4), serializer=shards)


def test_copies_keep_the_grid() -> None:
    for grid in (bounded(4), rectangular([3, 4])):
        array, values = filled((7,), grid)
        for made in (zarrcore.empty_like(array, store={}), zarrcore.from_array({}, data=array)):
            assert made.metadata.chunk_grid == array.metadata.chunk_grid
            made[...] = values
            np.testing.assert_array_equal(zarrcore.open_array(made.store)[...], values)


def test_parsing() -> None:
    assert parse_chunk_grid(bounded(4, 5)) == RegularBoundedGrid((4, 5))
    assert parse_chunk_grid(rectangular([4, 5], 6)) == RectangularGrid(((4, 5), 6))
    with pytest.raises((MetadataValidationError, UnknownCodecError), match=r"did you mean"):
        parse_chunk_grid({"name": "zarrs.regular_bound", "configuration": {}})


@pytest.mark.interop
@pytest.mark.parametrize("name", ["rectangular", "bounded", "bounded-larger"])
def test_zarrs_reads_and_writes_chunks_of_these_shapes(name: str, tmp_path: Path) -> None:
    """Its Python package has no grids; chunks of all shapes, it has."""
    zarrs, stores = pytest.importorskip("zarrs._internal"), pytest.importorskip("zarr.storage")
    shape, grid = LAYOUTS[name]
    array = zarrcore.create_array(tmp_path, shape=shape, dtype="int16", chunk_grid=grid)
    values = np.arange(35, dtype="int16").reshape(shape)
    array[...] = values
    engine = zarrs.CodecPipelineImpl(
        (tmp_path / "zarr.json").read_text(), store_config=stores.LocalStore(str(tmp_path))
    )
    known, items = array.metadata.chunk_grid, []
    for coords in np.ndindex(known.grid_shape(shape)):
        lengths, origin = known.shape_of(coords), known.origin_of(coords)
        ends = tuple(min(i + n, end) for i, n, end in zip(origin, lengths, shape, strict=True))
        inside = tuple(slice(0, end - i) for i, end in zip(origin, ends, strict=True))
        place = tuple(slice(i, end) for i, end in zip(origin, ends, strict=True))
        items.append(zarrs.ChunkItem(f"c/{'/'.join(map(str, coords))}", inside, lengths, place, shape))
    found = np.empty(shape, "int16")
    engine.retrieve_chunks_and_apply_index(items, found)
    np.testing.assert_array_equal(found, values)
    engine.store_chunks_with_indices(items, values + 1, False)
    np.testing.assert_array_equal(array[...], values + 1)
