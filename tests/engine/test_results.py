# SPDX-License-Identifier: MIT
"""Memory of large results that the next results take."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import zarrcore
from zarrcore._core import engine
from zarrcore.config import BadConfigError, config
from zarrcore.errors import ChunkError

LARGE = (5, 1 << 23)  # of bytes: 40 MiB
recycles = pytest.mark.skipif(
    "san" in os.environ.get("LD_PRELOAD", "") or not hasattr(os, "fork"),
    reason="what a sanitizer, or Windows, allocates is not recycled",
)


@pytest.fixture(autouse=True)
def keeping() -> Iterator[None]:
    gc.collect()
    with config.set({"memory.kept_results": 0}):  # what others have left goes back
        pass
    with config.set({"memory.kept_results": 1 << 30}):
        yield


@pytest.fixture
def array() -> zarrcore.Array:
    made = zarrcore.create_array({}, shape=LARGE, chunks=(1, LARGE[1]), dtype="u1", fill_value=3)
    made[1] = 1
    return made


def leaves_memory(read: Callable[[], object]) -> bool:
    """Return whether the memory of a result waits; a busy machine may take so long that it is gone again."""
    for _ in range(20):
        read()
        if engine.kept_results() > 0:
            return True
    return False


def address(values: np.ndarray) -> int:
    return values.__array_interface__["data"][0]


@recycles
@pytest.mark.parametrize(
    "read",
    [
        lambda array: array[...],
        lambda array: array.read(),
        lambda array: np.asarray(array),
        lambda array: array.get_orthogonal_selection(([0, 1, 2, 3, 4],)),
        lambda array: zarrcore.read_many([(array, ...)])[0],
        lambda array: zarrcore.read_many([(array, i) for i in range(5)], stack=True),
    ],
)
def test_a_result_takes_the_memory_of_one_that_is_gone(array, read) -> None:
    expected = read(array).copy()
    for _ in range(20):  # unless a busy machine takes so long that it was given back
        first = read(array)
        place = address(first)
        first[...] = 77  # old bytes
        del first
        second = read(array)
        np.testing.assert_array_equal(second, expected)
        if address(second) == place:
            break
    assert address(second) == place and engine.kept_results() == 0
    assert second.flags.owndata and second.base is None


@recycles
def test_chunks_that_are_missing_show_no_old_bytes(array) -> None:
    old = array[...]
    old[...] = 77
    del old
    array[1] = 3  # removes the chunk
    np.testing.assert_array_equal(array[...], np.full(LARGE, 3, "u1"))


@recycles
def test_a_read_that_fails_shows_nothing_of_its_result(array) -> None:
    store: dict[str, bytes] = {}
    compressed = zarrcore.create_array(store, shape=LARGE, chunks=(1, LARGE[1]), dtype="u1")
    compressed[...] = 5
    store["c/2/0"] = b"damaged"
    with pytest.raises(ChunkError, match="c/2/0"):
        compressed[...]
    gc.collect()
    np.testing.assert_array_equal(array[...][0], np.full(LARGE[1], 3, "u1"))


def test_views_keep_the_memory(array) -> None:
    result = array[...]
    view = result[1, ::2]
    del result
    again = array[...]
    again[...] = 9
    assert (view == 1).all()


def test_results_that_are_resized_have_their_values() -> None:
    values = engine.empty((40 << 20,), np.dtype("u1"))
    values[...] = 4
    values.resize(50 << 20, refcheck=False)
    assert (values[: 40 << 20] == 4).all() and (values[40 << 20 :] == 0).all()
    values.resize(10, refcheck=False)
    assert values.tolist() == [4] * 10


@recycles
def test_only_large_results_of_plain_numbers_are_recycled() -> None:
    names = {
        dtype: get_handler_name(engine.empty((64 << 20,), np.dtype(dtype))) for dtype in ("u1", "f4", "M8[s]")
    }
    assert set(names.values()) == {"zarrcore_results"}
    for shape, dtype in (((1 << 20,), "u1"), ((8 << 20,), "O"), ((4 << 20,), [("a", "f8"), ("b", "u1")])):
        assert get_handler_name(engine.empty(shape, np.dtype(dtype))) == "default_allocator"
    assert get_handler_name(np.empty(64 << 20, "u1")) == "default_allocator"
    assert engine.empty((64, 1 << 20), np.dtype("u1"), "F").flags.f_contiguous


@recycles
def test_the_setting_limits_what_is_kept(array) -> None:
    with config.set({"memory.kept_results": 16 << 20}):
        array[...]
        assert engine.kept_results() == 0
    assert leaves_memory(lambda: array[...])
    with config.set({"memory.kept_results": 0}):
        assert engine.kept_results() == 0
        assert get_handler_name(array[...]) == "default_allocator"
    for bad in (-1, None, True, 1.5, 1 << 63):
        with pytest.raises(BadConfigError, match="expected an integer from 0"):
            config.set({"memory.kept_results": bad})


@recycles
def test_memory_that_nobody_takes_goes_back(array) -> None:
    array[...]
    for _ in range(300):
        if engine.kept_results() == 0:
            break
        time.sleep(0.1)
    assert engine.kept_results() == 0


@recycles
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_of_fork_recycles_its_own(array) -> None:
    held = array[...]
    assert leaves_memory(lambda: array[...])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ok = engine.kept_results() == 0 and bool((held[1] == 1).all())
            del held
            ok = ok and engine.kept_results() == 0 and bool((array[...][1] == 1).all())
            code = 0 if ok and leaves_memory(lambda: array[...]) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (held[1] == 1).all()


@pytest.mark.threads
def test_threads_that_read_at_once_have_results_of_their_own(array) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def read(number: int) -> bool:
        for _ in range(4):
            result = array[...]
            result[0] = number
            if not ((result[0] == number).all() and (result[1] == 1).all()):
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(read, range(10, 16)))
