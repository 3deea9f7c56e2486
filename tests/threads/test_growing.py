# SPDX-License-Identifier: MIT
"""An array that grows through one handle while others, which do not know of it, write up to its old end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import Store
from zarrcore.testing.threads import in_threads

pytestmark = pytest.mark.threads

LAYOUTS = {
    "plain": {"chunks": 16, "compressors": None, "dtype": "i4"},
    "compressed": {"chunks": 16, "dtype": "i4"},
    "shards": {"chunks": 4, "shards": 16, "dtype": "i4"},
    "nested": {"chunks": 16, "dtype": "i4", "serializer": "nested", "compressors": None},
    "strings": {"chunks": 16, "dtype": "string"},
    "python-codec": {
        "chunks": 16,
        "dtype": "i4",
        "filters": {"name": "bitround", "configuration": {"keepbits": 24}},
    },
    "format-2": {"chunks": 16, "dtype": "i4", "zarr_format": 2},
}


def create(store: Store, layout: str, shape: int) -> zarrcore.Array:
    options = dict(LAYOUTS[layout])
    if options.get("serializer") == "nested":
        from zarrcore.codecs import ShardingCodec

        options["serializer"] = ShardingCodec(
            chunk_shape=(8,),
            codecs=(
                ShardingCodec(
                    chunk_shape=(2,), codecs=({"name": "bytes", "configuration": {"endian": "little"}},)
                ),
            ),
        )
    return zarrcore.create_array(store, name="a", shape=shape, **options)


def numbers(array: zarrcore.Array, values: Any) -> np.ndarray:
    """Values as what the array holds."""
    found = np.asarray(values)
    return found.astype(str) if array.dtype.kind in "OT" else found.astype(array.dtype)


def write_all(array: zarrcore.Array, values: np.ndarray) -> None:
    array[:] = values


def write_the_end(array: zarrcore.Array, values: np.ndarray) -> None:
    array[16:] = values[16:]


def write_points(array: zarrcore.Array, values: np.ndarray) -> None:
    array.vindex[np.arange(len(values))] = values


def write_gathered(array: zarrcore.Array, values: np.ndarray) -> None:
    with array.writer() as writer:
        for at in range(0, len(values), 2):
            writer[at : at + 2] = values[at : at + 2]


WAYS = {"all": write_all, "end": write_the_end, "points": write_points, "writer": write_gathered}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_write_up_to_the_old_end_keeps_what_another_handle_appended(
    store: Store, layout: str, way: str
) -> None:
    first = create(store, layout, 21)
    second = zarrcore.open_array(store, path="a", mode="r+")
    first.append(numbers(first, range(21, 45)))
    WAYS[way](second, numbers(second, range(21)))
    again = zarrcore.open_array(store, path="a")
    assert again[:].tolist()[16:] == numbers(again, range(16, 45)).tolist()
    assert (way == "end") or again[:16].tolist() == numbers(again, range(16)).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fill_values_up_to_the_old_end_remove_nothing_behind_it(store: Store, layout: str) -> None:
    first = create(store, layout, 21)
    second = zarrcore.open_array(store, path="a", mode="r+")
    second[:] = numbers(second, np.ones(21, int))
    first.append(numbers(first, range(21, 45)))
    second[:] = second.fill_value
    again = zarrcore.open_array(store, path="a")
    assert again[21:].tolist() == numbers(again, range(21, 45)).tolist()
    assert set(again[:21].tolist()) == {again.fill_value}


def test_a_write_after_the_array_was_cut_and_has_grown_again(store: Store) -> None:
    first = zarrcore.create_array(store, name="a", shape=(10, 6), chunks=(4, 4), dtype="i4")
    second = zarrcore.open_array(store, path="a", mode="r+")
    first.resize((5, 5))
    first.resize((12, 8))
    first[...] = 7
    second[...] = 1
    found = zarrcore.open_array(store, path="a")[...]
    assert (found[:10, :6] == 1).all()
    assert (found[10:] == 7).all()
    assert (found[:, 6:] == 7).all()


@pytest.mark.usefixtures("hasty_switching")
@pytest.mark.parametrize("layout", ["plain", "compressed", "shards", "strings"])
def test_appends_race_writes_up_to_the_end(store: Store, layout: str) -> None:
    """Each handle appends its own values and writes the others' part of the array again and again."""
    start, rounds = 13, 12
    create(store, layout, start)
    handles = [zarrcore.open_array(store, path="a", mode="r+") for _ in range(5)]

    def append(array: zarrcore.Array, number: int) -> None:
        for turn in range(rounds):
            array.append(numbers(array, [1000 * number + turn] * 3))

    def write(array: zarrcore.Array) -> None:
        for _ in range(4 * rounds):
            array[:] = numbers(array, np.full(start, 5))

    in_threads(
        *(
            lambda array=array, number=number: append(array, number)
            for number, array in enumerate(handles[:3], 1)
        ),
        *(lambda array=array: write(array) for array in handles[3:]),
    )
    again = zarrcore.open_array(store, path="a")
    assert again.shape == (start + 3 * 3 * rounds,)
    wanted = sorted(1000 * number + turn for number in (1, 2, 3) for turn in range(rounds) for _ in range(3))
    assert sorted(int(value) for value in again[start:]) == wanted
    assert set(again[:start].tolist()) == {numbers(again, 5).item()}


@pytest.mark.usefixtures("hasty_switching")
@pytest.mark.parametrize("layout", ["compressed", "shards", "strings"])
def test_threads_append_through_one_array(store: Store, layout: str) -> None:
    array = create(store, layout, 0)

    def append(number: int) -> None:
        for turn in range(15):
            array.append(numbers(array, [1000 * number + turn] * 3))

    in_threads(*(lambda number=number: append(number) for number in (1, 2, 3)))
    wanted = sorted(1000 * number + turn for number in (1, 2, 3) for turn in range(15) for _ in range(3))
    assert sorted(int(value) for value in array[:]) == wanted
