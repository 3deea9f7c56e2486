# SPDX-License-Identifier: MIT
"""Numbers of threads and of bytes that an array, a writer, a batch, a cache cannot take are named at once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrcore


@pytest.fixture(params=["i4", "str"])
def array(request: pytest.FixtureRequest) -> Any:
    """One that C reads, and one that Python reads."""
    made = zarrcore.create_array({}, shape=(6,), chunks=(2,), dtype=request.param)
    made[...] = np.arange(6).astype(made.dtype)
    return made


def calls(array: Any) -> list[Callable[[Any], Any]]:
    native = array.dtype.kind == "i"  # else a cache cannot keep its chunks
    cached = array.with_cache(zarrcore.ChunkCache(1000)) if native else None
    return [
        lambda threads: array.read(threads=threads),
        lambda threads: array.write(slice(0, 2), array[0:2], threads=threads),
        lambda threads: array.read_many([0, 1], threads=threads),
        lambda threads: array.writer(threads=threads).close(),
        *([lambda threads: cached.prefetch(threads=threads).wait()] if native else []),
    ]


@pytest.mark.parametrize("threads", [-1, "2", 1.5])
def test_threads_that_are_no_number_of_them(array: Any, threads: Any) -> None:
    error = ValueError if threads == -1 else TypeError
    for call in calls(array):
        with pytest.raises(error, match=r"^threads: expected .* got"):
            call(threads)


@pytest.mark.parametrize("threads", [None, 0, 1, np.int8(3), 10**20])
def test_any_number_of_threads(array: Any, threads: Any) -> None:
    for call in calls(array):
        call(threads)


@pytest.mark.parametrize("max_bytes", [-1, 0, True, "2", 1.5])
def test_memory_that_is_no_number_of_bytes(array: Any, max_bytes: Any) -> None:
    error = TypeError if isinstance(max_bytes, str | float) else ValueError
    for call in (zarrcore.ChunkCache, lambda limit: array.writer(max_bytes=limit)):
        with pytest.raises(error, match=r"^max_bytes: expected .* got"):
            call(max_bytes)


def test_more_bytes_than_there_are() -> None:
    assert zarrcore.ChunkCache(10**30).max_bytes > 2**30
    array = zarrcore.create_array({}, shape=(6,), chunks=(2,), dtype="i4")
    with array.writer(max_bytes=10**30) as writer:
        writer[1] = 5
    assert array[:3].tolist() == [0, 5, 0]


@pytest.mark.parametrize("request_", [5, (1, 2), ("a", 0), None])
def test_requests_that_are_no_pairs(array: Any, request_: Any) -> None:
    with pytest.raises(TypeError, match="^requests: expected pairs .* number 1 is"):
        zarrcore.read_many([(array, 0), request_])


def test_more_points_than_elements_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of all points took more memory than the result, and could not be interrupted for minutes."""
    values = np.arange(60).reshape(6, 10)
    array = zarrcore.create_array({}, data=values, chunks=(4, 3))
    monkeypatch.setattr("zarrcore.arrays.access._MOST_POINTS", 7)
    for rows in (
        np.broadcast_to(np.int8(5), 1000),
        np.arange(-6, 6).repeat(31)[::-1],
        np.broadcast_to(2, (3, 5, 40)),
    ):
        columns = np.arange(rows.shape[-1]) % 10
        assert (array.vindex[rows, columns] == values[rows, columns]).all()
        out = np.zeros((*rows.shape, 2), values.dtype)[..., 0]
        array.get_coordinate_selection((rows, columns), out=out)
        assert (out == values[rows, columns]).all()
    monkeypatch.undo()
    size = 2**25
    one = zarrcore.create_array({}, data=np.arange(20, dtype="i1"), chunks=5)
    tracemalloc.start()
    assert (one.vindex[np.broadcast_to(1, size)] == 1).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * size  # with lists of all points 17 times the result


def test_lengths_of_any_number_of_chunks() -> None:
    """A document of a few hundred bytes made a list of one entry for each of its chunks."""
    options = {"shape": (2**50, 3), "chunks": (2, 3), "dtype": "i1"}
    array = zarrcore.create_array({}, **options)
    sharded = zarrcore.create_array({}, **options | {"shards": (2**49, 3)})
    for sizes in ("read_chunk_sizes", "write_chunk_sizes"):
        with pytest.raises(zarrcore.errors.MetadataValidationError, match="at most 16777216 .* got 5629499"):
            getattr(array, sizes)
    with pytest.raises(zarrcore.errors.MetadataValidationError, match="at most 16777216 .* got 5629499"):
        getattr(sharded, "read_chunk_sizes")  # noqa: B009
    assert sharded.write_chunk_sizes == ((2**49, 2**49), (3,))
    assert array.cdata_shape == (2**49, 1)
