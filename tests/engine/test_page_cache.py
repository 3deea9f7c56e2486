"""``LocalStore(page_cache=False)``: what the system keeps in memory of chunks that were read or written."""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import sys

import numpy as np
import pytest

import zarrcore
from zarrcore import config
from zarrcore.storage import LocalStore

MIB = 1 << 20


def kept(path):
    """How many pages of a file are in memory; looking brings none there."""
    count = ctypes.CDLL(None, use_errno=True).mincore
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        data = np.frombuffer(mapped, "u1")
        found = np.zeros(-(-len(data) // mmap.PAGESIZE), "u1")
        place, size, to = data.ctypes.data, len(data), found.ctypes.data
        code = count(ctypes.c_void_p(place), ctypes.c_size_t(size), ctypes.c_void_p(to))
        del data
    if code:
        raise OSError(ctypes.get_errno(), "mincore")
    return int((found & 1).sum())


@pytest.fixture
def folder(tmp_path):
    """A directory on a disk of which the system tells what is in memory."""
    if sys.platform != "linux":
        pytest.skip("the system is not asked to put anything out of memory")
    probe = tmp_path / "probe"
    probe.write_bytes(bytes(MIB))
    fd = os.open(probe, os.O_RDWR)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
    if kept(probe):
        pytest.skip("the file system keeps everything in memory")
    return tmp_path / "array"


def make(folder, *, page_cache, **options):
    store = LocalStore(folder, fsync=True, page_cache=page_cache)
    array = zarrcore.create_array(store, shape=4 * MIB, dtype="u1", fill_value=0, **options)
    values = np.random.default_rng(5).integers(1, 256, 4 * MIB, "u1")
    array[...] = values
    files = [folder / key for key in sorted(store.list()) if key.startswith("c/")]
    return array, values, files


LAYOUTS = [
    pytest.param({"chunks": MIB, "compressors": None}, id="raw"),
    pytest.param({"chunks": MIB}, id="zstd"),
    pytest.param({"chunks": 128 * 1024, "shards": 2 * MIB}, id="shards"),
    pytest.param({"chunks": 16 * 1024, "compressors": None}, id="small"),
]


@pytest.mark.parametrize("options", LAYOUTS)
def test_chunks_do_not_stay_in_memory(folder, options):
    array, values, files = make(folder, page_cache=False, **options)
    # Some the system may keep: those that are being written, those that two inner chunks share.
    few = 4 * MIB // mmap.PAGESIZE // 16
    assert sum(map(kept, files)) <= few  # after writing
    assert np.array_equal(array[...], values)
    assert sum(map(kept, files)) <= few


@pytest.mark.parametrize("options", LAYOUTS)
def test_chunks_stay_in_memory_by_default(folder, options):
    array, values, files = make(folder, page_cache=True, **options)
    assert all(kept(file) for file in files)
    assert np.array_equal(array[...], values)
    assert all(kept(file) for file in files)


def test_parts_of_chunks_are_right_without_the_page_cache(folder):
    array, values, _ = make(folder, page_cache=False, chunks=128 * 1024, shards=2 * MIB)
    rng = np.random.default_rng(7)
    for _ in range(50):
        start, stop = sorted(rng.integers(0, 4 * MIB, 2).tolist())
        assert np.array_equal(array[start:stop], values[start:stop])
        at = rng.integers(0, 4 * MIB, 20)
        assert np.array_equal(array.oindex[at], values[at])
        array[start : start + 100] = values[start : start + 100] = 7
    assert np.array_equal(array[...], values)


def test_the_setting_and_pickles(tmp_path):
    assert LocalStore(tmp_path).page_cache
    with config.set({"store.page_cache": False}):
        assert not LocalStore(tmp_path).page_cache
        assert LocalStore(tmp_path, page_cache=True).page_cache
    without = LocalStore(tmp_path, page_cache=False)
    assert not pickle.loads(pickle.dumps(without)).page_cache
    assert not without.with_read_only(True).page_cache
