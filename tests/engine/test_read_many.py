# SPDX-License-Identifier: MIT
"""Many selections in one call give what each of them gives alone."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrcore
from zarrcore import errors
from zarrcore._core import engine
from zarrcore.storage import MemoryStore, WrapperStore
from zarrcore.testing import strategies as zst

MODEL = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)

LAYOUTS = {
    "plain": {"chunks": (5, 4), "compressors": None},
    "zstd": {"chunks": (5, 4)},
    "blosc": {"chunks": (23, 17), "compressors": {"name": "blosc", "configuration": {"blocksize": 256}}},
    "transposed": {
        "chunks": (5, 4),
        "filters": {"name": "transpose", "configuration": {"order": [1, 0]}},
        "dtype": ">i4",
    },
    "sharded": {"chunks": (2, 3), "shards": (6, 9)},
    "format-2": {"chunks": (5, 4), "zarr_format": 2, "order": "F"},
    "uneven": {"chunks": ((3, 10, 10), 4)},
}


def new(store: Any, layout: str = "zstd", **options: Any) -> Any:
    options = {"shape": (23, 17), "dtype": "i4", "fill_value": -1, **LAYOUTS[layout], **options}
    array = zarrcore.create_array(store, **options)
    array[...] = np.arange(array.size).reshape(array.shape)
    return array


@st.composite
def selections(draw: Any, shape: tuple[int, ...]) -> Any:
    """A basic selection, one with an index list, or points."""
    kind = draw(st.sampled_from(("basic", "basic", "list", "points")))
    if kind == "points":
        return draw(zst.point_indices(shape))
    if kind == "list":
        return draw(st.lists(st.integers(-shape[0], shape[0] - 1))), slice(2, 9, 2)
    return draw(zst.basic_indices(shape))


@pytest.mark.parametrize("layout", LAYOUTS)
@MODEL
@given(data=st.data(), threads=st.sampled_from([0, 1, 3]), max_bytes=st.sampled_from([None, 500, 1 << 20]))
def test_each_result_is_that_of_a_read_alone(
    layout: str, store: Any, data: Any, threads: int, max_bytes: int | None
) -> None:
    array = new(store, layout, overwrite=True).with_cache(max_bytes)
    array[3:9, 2:7] = -1  # some chunks may be absent
    wanted = data.draw(st.lists(selections(array.shape), max_size=12))
    results = array.read_many(wanted, threads=threads)
    assert len(results) == len(wanted)
    for result, selection in zip(results, wanted, strict=True):
        assert isinstance(result, np.ndarray)
        assert np.array_equal(result, array[selection])
        assert result.shape == np.shape(array[selection])


def test_several_arrays(tmp_path: Path) -> None:
    arrays = [
        new({}),
        new(tmp_path, "sharded"),
        new(WrapperStore(MemoryStore()), "plain", shape=(9,), chunks=3),
    ]
    names = zarrcore.create_array({}, shape=3, chunks=2, dtype="str", fill_value="none")
    requests = [(arrays[n % 3], (slice(n, n + 3),)) for n in range(6)] + [(names, slice(1, None))]
    results = zarrcore.read_many(iter(requests))
    for result, (array, selection) in zip(results, requests, strict=True):
        assert np.array_equal(result, array[selection])
    assert zarrcore.read_many([]) == []


def test_stacked_and_into_memory_of_the_caller() -> None:
    array = new({}, "sharded")
    crops = [np.s_[n : n + 4, 3:9] for n in (0, 12, 3, 3, 19)]
    wanted = np.stack([array[crop] for crop in crops])
    assert np.array_equal(array.read_many(crops, stack=True), wanted)
    out = np.zeros((7, 4, 12), "i4")[1:6, :, ::2]
    assert array.read_many(crops, out=out) is out
    assert np.array_equal(out, wanted)
    outs = [np.empty((4, 6), "i4", order="F") for _ in crops]
    assert array.read_many(crops, out=outs) is outs
    assert np.array_equal(np.stack(outs), wanted)
    points = [(np.array([n, 2]), np.array([3, n])) for n in range(5)]
    stacked = np.empty((2, 5), "i4").T
    array.read_many(points, out=stacked)
    assert np.array_equal(stacked, [array.vindex[each] for each in points])


def test_integers_and_slices_are_not_taken_apart_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks took four times as long as in a loop."""
    array = new({}, "plain")
    values = array[...]
    crops = [np.s_[3:7, 2:12:5], np.s_[20:16:-1, -2:], np.s_[9:9, 1:3], (slice(0, 4), np.int8(3))]
    monkeypatch.delattr(engine, "read_many")  # the long way
    assert all(map(np.array_equal, array.read_many(crops), [values[crop] for crop in crops]))
    assert array.read_many([(3, -1), ()])[0].shape == ()
    outs = [np.zeros_like(values[crop]) for crop in crops]
    assert array.read_many(crops, out=outs) is outs
    assert all(map(np.array_equal, outs, [values[crop] for crop in crops]))
    rows = np.s_[2:6, ::2], np.s_[12:8:-1, ::2]
    assert np.array_equal(array.read_many(rows, stack=True), [values[row] for row in rows])
    out = np.zeros((2, 4, 9), "i4")
    assert array.read_many(rows, out=out) is out
    assert np.array_equal(out, [values[row] for row in rows])


class CountingStore(WrapperStore):
    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.asked: Counter[str] = Counter()

    def get(self, key: str, byte_range: Any = None) -> Any:
        self.asked[key] += 1
        return super().get(key, byte_range)


def test_a_chunk_that_several_want_is_opened_once() -> None:
    store = CountingStore()
    array = new(store, "sharded", shards=(23 + 1, 18))
    store.asked.clear()
    array.read_many([np.s_[n : n + 12, 3:9] for n in range(5)])
    assert store.asked == {"c/0/0": 1}


@pytest.mark.parametrize("layout", ["zstd", "sharded"])
def test_errors_name_the_selection(layout: str, tmp_path: Path) -> None:
    root = zarrcore.open_group(tmp_path)
    root["a"] = np.zeros(3)
    array = zarrcore.create_array(
        tmp_path, name="b", shape=(20, 20), dtype="i4", fill_value=0, **LAYOUTS[layout]
    )
    array[...] = 1
    path = tmp_path / "b" / "c" / "2" / "1"
    path.write_bytes(b"\xff" * os.path.getsize(path))
    crops = [np.s_[0:2, 0:3], np.s_[3, 3], np.s_[0:20, 0:20], np.s_[0, 0]]
    requests = [(root["a"], slice(0, 2)), *((array, crop) for crop in crops)]
    with pytest.raises(
        errors.ChunkDecodeError, match=r"array 'b'.*chunk \(2, 1\).*: selection 3: "
    ) as caught:
        zarrcore.read_many(requests)
    assert caught.value.chunk == (2, 1)
    with pytest.raises(IndexError, match="selection 1 of array 'b'"):
        zarrcore.read_many([(array, 0), (array, 99)])
    path.unlink()
    strict = array.with_config({"read_missing_chunks": False})
    with pytest.raises(errors.ChunkNotFoundError, match="selection 2: "):
        strict.read_many(crops)
    assert array.read_many(crops)[2][-1, 5] in (0, 1)


def test_wrong_arguments() -> None:
    array = new({})
    crops = [np.s_[0:2], np.s_[0:3]]
    with pytest.raises(ValueError, match=r"selection 1 has shape \(3, 17\)"):
        array.read_many(crops, stack=True)
    with pytest.raises(ValueError, match="no selections to stack"):
        array.read_many([], stack=True)
    with pytest.raises(ValueError, match="expected 2 arrays"):
        array.read_many(crops, out=[np.empty((2, 17), "i4")])
    with pytest.raises(ValueError, match="out: expected shape"):
        array.read_many(crops, out=[np.empty((2, 17), "i4")] * 2)
    with pytest.raises(ValueError, match="out: expected data type"):
        array.read_many(crops[:1], out=np.empty((1, 2, 17), "f4"))


def test_memory_of_the_caller_must_not_overlap() -> None:
    array = new({})
    crops = [np.s_[0:4, 0:6], np.s_[4:8, 0:6], np.s_[8:12, 3:9]]
    x, y = np.empty((4, 6), "i4"), np.empty((4, 6), "i4")
    block = np.empty((6, 12), "i4")
    for outs, pair in [
        ([x, y, x], "0 and 2"),
        ([x, y, y[::-1, ::-1]], "1 and 2"),
        ([block[:4, :6], block[1:5, 5:11], x], "0 and 1"),
        ([x, block[:4, ::2], block[2:, :6]], "1 and 2"),
    ]:
        with pytest.raises(ValueError, match=f"^out: the arrays for selections {pair} overlap$"):
            array.read_many(crops, out=outs)


def test_memory_of_the_caller_may_alternate() -> None:
    array = new({})
    crops = [np.s_[n : n + 4, 3:9] for n in (0, 12, 3)]
    wanted = [array[crop] for crop in crops]
    between = np.empty((4, 6, 3), "i4")
    rows = np.empty((12, 12), "i4")
    for outs in (
        [between[..., k] for k in range(3)],
        [between[::-1, :, k] for k in (2, 0, 1)],
        [rows[k::3, k % 2 :: 2] for k in range(3)],
        [rows[:4, ::2], rows[:4, 1::2], rows[4:8, 3:9]],
    ):
        assert array.read_many(crops, out=outs) is outs
        for out, each in zip(outs, wanted, strict=True):
            assert np.array_equal(out, each)
    nothing = np.empty((0, 17), "i4")
    assert array.read_many([np.s_[3:3], np.s_[5:5]], out=[nothing, nothing]) == [nothing, nothing]


def test_much_memory_that_alternates_is_compared_quickly() -> None:
    array = new({}, shape=(3000,), chunks=3000)
    between = np.empty((4, 5000), "i4")
    array.read_many([slice(0, 4)] * 5000, out=[between[:, k] for k in range(5000)])
    assert np.array_equal(between, np.repeat(array[:4], 5000).reshape(4, 5000))
    twice = [between[:, k % 4999] for k in range(5000)]
    with pytest.raises(ValueError, match="^out: the arrays for selections 0 and 4999 overlap"):
        array.read_many([slice(0, 4)] * 5000, out=twice)
