# SPDX-License-Identifier: MIT
"""The cache of decoded chunks: equal results, never stale ones, never more memory than allowed."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrcore
from zarrcore import errors
from zarrcore._core.engine import age_by_mtime
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore, ZipStore
from zarrcore.testing import strategies as zst

MODEL = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)

LAYOUTS = {
    "plain": {"chunks": (5, 4), "compressors": None},
    "zstd": {"chunks": (5, 4)},
    "transposed": {
        "chunks": (5, 4),
        "filters": {"name": "transpose", "configuration": {"order": [1, 0]}},
        "dtype": ">i4",
    },
    "sharded": {"chunks": (2, 3), "shards": (6, 9)},
    "format-2": {"chunks": (5, 4), "zarr_format": 2, "order": "F"},
}


class CountingStore(WrapperStore):
    """Counts the keys that are asked for."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.asked = 0

    def get(self, key: str, byte_range: Any = None) -> Any:
        self.asked += 1
        return super().get(key, byte_range)

    def get_many(self, keys: Any) -> Any:
        keys = list(keys)
        self.asked += len(keys)
        return super().get_many(keys)


YEAR_2001 = 10**18  # in nanoseconds
VERSIONS = itertools.count()


def age(root: Path) -> None:
    """Make all files old, as the cache wants them; those that are old stay as they are.

    No two versions of a file get the same time, as none have that are written: the number of a file that was
    replaced may be given to the next one, which may have the same size.
    """
    age_by_mtime(True)  # the other time of change cannot be set back
    for path in root.rglob("*"):
        if path.is_file() and path.stat().st_mtime_ns > YEAR_2001 + 10**15:
            stamp = YEAR_2001 + next(VERSIONS)
            os.utime(path, ns=(stamp, stamp))


def new(store: Any, layout: str = "zstd", **options: Any) -> Any:
    options = {"shape": (23, 17), "dtype": "i4", "fill_value": -1, **LAYOUTS[layout], **options}
    array = zarrcore.create_array(store, **options)
    array[...] = np.arange(array.size).reshape(array.shape)
    if isinstance(array.store, LocalStore):
        age(array.store.root)
    return array


@pytest.mark.parametrize("layout", LAYOUTS)
@MODEL
@given(data=st.data(), max_bytes=st.sampled_from([1, 400, 3000, 1 << 20]))
def test_reads_and_writes_are_those_of_numpy(layout: str, store: Any, data: Any, max_bytes: int) -> None:
    """Through one array with a cache and one without, in turn."""
    array = new(store, layout, overwrite=True)
    model = np.arange(23 * 17, dtype="i4").reshape(23, 17)
    cached = array.with_cache(max_bytes)
    for number in range(data.draw(st.integers(1, 6))):
        index = data.draw(zst.basic_indices(model.shape))
        assert np.array_equal(cached[index], model[index])
        points = data.draw(zst.point_indices(model.shape))
        assert np.array_equal(cached.vindex[points], model[points])
        assert cached.cache.nbytes <= max_bytes
        index = data.draw(zst.basic_indices(model.shape))
        writer = array if data.draw(st.booleans()) else cached
        writer[index] = model[index] = np.full(np.shape(model[index]), number)
        if isinstance(array.store, LocalStore) and data.draw(st.booleans()):
            age(array.store.root)
    assert np.array_equal(cached[...], model)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_read_is_found_again(layout: str, store: Any) -> None:
    array = new(store, layout).with_cache(1 << 20)
    first = array[...]
    misses = array.cache.misses
    assert array.cache.nchunks == misses > 0
    assert array.cache.hits == 0
    assert np.array_equal(array[...], first)
    assert (array.cache.hits, array.cache.misses) == (misses, misses)
    array.cache.clear()
    assert array.cache.nbytes == array.cache.nchunks == 0
    assert np.array_equal(array[...], first)
    assert array.cache.misses == 2 * misses


@pytest.mark.parametrize("layout", ["zstd", "sharded"])
def test_hits_decode_nothing(layout: str, tmp_path: Path) -> None:
    array = new(tmp_path, layout).with_cache(1 << 20)
    first = array[...]
    before = zarrcore.metrics()
    assert np.array_equal(array[...], first)
    done = zarrcore.metrics() - before
    assert (done.chunks, done.bytes_read, done.decode_seconds, done.cache_misses) == (0, 0, 0, 0)
    assert done.cache_hits >= array.cache.nchunks > 0  # those of indexes, too


@pytest.mark.skipif(os.name == "nt", reason="there is one time of change, which can be set back")
@pytest.mark.parametrize("layout", ["plain", "zstd", "sharded"])
def test_files_that_change_in_place_and_get_their_old_date_are_read_again(
    layout: str, tmp_path: Path
) -> None:
    """As archives unpacked over each other, with reproducible dates: the old values were returned."""
    array = new(tmp_path, layout).with_cache(1 << 20)
    first = array[...]
    for path in (tmp_path / "c").rglob("*"):
        if path.is_file():
            date, data = path.stat().st_mtime_ns, path.read_bytes()
            with path.open("r+b") as file:
                file.write(bytes(byte ^ 1 for byte in data[:12]))
            os.utime(path, ns=(date, date))
    for one in (array, array.with_cache(None), array.with_cache(1 << 20)):
        if layout == "plain":
            assert not np.array_equal(one[...], first)
        else:
            with pytest.raises(errors.ChunkDecodeError):
                one[...]


def test_files_that_others_replace_are_read_again(tmp_path: Path) -> None:
    array = new(tmp_path).with_cache(1 << 20)
    assert array[0, 0] == 0
    (tmp_path / "c" / "0" / "0").replace(tmp_path / "c" / "0" / "1")
    age(tmp_path)
    assert array[0, 4] == 0
    assert array[0, 0] == -1  # gone: the fill value
    assert array[5, 0] == 5 * 17


def test_a_file_that_has_just_changed_is_not_kept(tmp_path: Path) -> None:
    array = new(tmp_path).with_cache(1 << 20)
    array[0, 0] = 7
    for value in range(20):
        assert array[0, 0] == (value or 7)
        program = f"import zarrcore; zarrcore.open_array({str(tmp_path)!r})[0, 0] = {value + 1}"
        if value < 3:
            subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        else:
            zarrcore.open_array(tmp_path)[0, 0] = value + 1
    assert array.cache.nchunks == 0


@pytest.mark.skipif(os.name == "nt", reason="there is one time of change, which can be set back")
@pytest.mark.parametrize("date", [0, 10**9, 2**34], ids=["1970", "2001", "2514"])
@pytest.mark.parametrize("layout", ["plain", "sharded"])
def test_a_file_that_was_given_another_date_is_no_older(layout: str, date: int, tmp_path: Path) -> None:
    """As by ``rsync -t`` and ``cp -p``: within the tick of the clock such a file may change once more."""
    array = new(tmp_path, layout).with_cache(1 << 20)
    for path in (tmp_path / "c").rglob("*"):
        if path.is_file():
            os.utime(path, (date, date))
    age_by_mtime(False)
    assert array[0, 0] == array[0, 0] == 0
    assert array.cache.nchunks == array.cache.hits == 0


def test_objects_that_are_replaced_in_memory_are_read_again() -> None:
    values: dict[str, Any] = {}
    array = new(values).with_cache(1 << 20)
    assert array[0, 0] == 0
    values["c/0/0"] = bytes(values["c/0/1"])
    assert array[0, 0] == 4
    values["c/0/0"] = bytearray(values["c/1/0"])  # which may change at any time
    assert array[0, 0] == 85
    values["c/0/0"][:] = values["c/0/1"]
    assert array[0, 0] == 4
    del values["c/0/0"]
    assert array[0, 0] == -1


def test_a_store_in_python_is_not_asked_for_what_is_kept() -> None:
    store = CountingStore()
    array = new(store).with_cache(1 << 20)
    array[3:9]
    before = store.asked
    assert np.array_equal(array[3:9], array.with_cache(None)[3:9])
    assert store.asked == before + 10
    assert np.array_equal(array[:, 0], np.arange(0, 391, 17))
    assert store.asked == before + 10 + 3
    zarrcore.open_array(store)[4, 4] = -5
    assert array[4, 4] == -5
    store.delete("c/0/1")
    array.cache.clear()
    assert array[4, 4] == -1


def test_absent_chunks_and_errors_are_not_kept(tmp_path: Path) -> None:
    array = new(tmp_path).with_cache(1 << 20)
    path = tmp_path / "c" / "0" / "0"
    data = path.read_bytes()
    path.unlink()
    assert array[0, 0] == -1
    path.write_bytes(b"nonsense")
    age(tmp_path)
    for _ in range(2):
        with pytest.raises(errors.ChunkDecodeError, match=r"chunk \(0, 0\)"):
            array[0, 0]
    path.write_bytes(data)
    age(tmp_path)
    assert array[0, 0] == 0
    assert array.cache.nchunks == 1


def test_the_limit_holds_for_all_arrays_together() -> None:
    cache = zarrcore.ChunkCache(4000)
    arrays = [new({}).with_cache(cache) for _ in range(3)]
    for _ in range(3):
        for array in arrays:
            assert array[22, 16] == 22 * 17 + 16
            assert np.array_equal(array[...], np.arange(23 * 17).reshape(23, 17))
            assert 0 < cache.nbytes <= cache.max_bytes == 4000
    assert cache.misses > 75


def test_the_least_recently_used_go_first() -> None:
    array = new({}, shape=(5, 400)).with_cache(1 << 20)
    array[0, :4]
    size = array.cache.nbytes
    array = array.with_cache(3 * size)
    for column in (0, 4, 8, 0, 12, 0, 4):
        array[0, column]
    assert (array.cache.hits, array.cache.misses) == (2, 5)


def test_a_chunk_beyond_the_limit_is_read_as_without_a_cache() -> None:
    array = new({}).with_cache(79)
    assert np.array_equal(array[...], np.arange(23 * 17).reshape(23, 17))
    assert (array.cache.nchunks, array.cache.hits, array.cache.misses) == (0, 0, array.nchunks)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reads_of_files_that_are_too_young_to_be_kept_are_misses(layout: str, tmp_path: Path) -> None:
    array = new(tmp_path, layout).with_cache(1 << 20)
    documents = {"zarr.json", ".zarray", ".zgroup", ".zattrs"}
    chunks = [path for path in tmp_path.rglob("*") if path.is_file() and path.name not in documents]
    for path in chunks:  # the clock of another machine may be ahead
        os.utime(path, ns=(time.time_ns(), time.time_ns() + 10**12))
    array[...]
    assert array.cache.nchunks == array.cache.hits == 0
    assert array.cache.misses == len(chunks) > 0


def test_a_resized_array_starts_anew() -> None:
    array = new({}).with_cache(1 << 20)
    array[...]
    array.resize((4, 3))
    array.resize((23, 17))
    assert array[0, 0] == 0
    assert (array[4:] == -1).all()
    assert (array[:, 3:] == -1).all()


def test_how_a_cache_is_attached(tmp_path: Path) -> None:
    assert new(tmp_path).cache is None
    array = zarrcore.open_array(tmp_path, cache_bytes=5000)
    assert array.cache.max_bytes == 5000
    assert array.with_config({"order": "F"}).cache is array.cache
    assert pickle.loads(pickle.dumps(array)).cache is None
    assert "0 chunks, 0 of 5000 bytes" in repr(array.cache)
    with ZipStore(tmp_path / "x.zip", mode="w") as archive:
        assert new(archive).with_cache(array.cache)[0, 0] == 0
    for wrong in (0, -1, True):
        with pytest.raises(ValueError, match="max_bytes: expected 1 or more"):
            zarrcore.ChunkCache(wrong)
    with pytest.raises(TypeError):
        zarrcore.ChunkCache("much")
    strings = zarrcore.create_array({}, shape=3, chunks=3, dtype="str", fill_value="", zarr_format=2)
    with pytest.raises(ValueError, match="cannot keep chunks of strings"):
        strings.with_cache(1000)


# --- prefetching ---


@pytest.mark.parametrize("layout", LAYOUTS)
def test_prefetched_chunks_are_hits(layout: str, store: Any) -> None:
    array = new(store, layout).with_cache(1 << 20)
    assert array.prefetch(np.s_[3:9, ::-2]).wait()
    misses = array.cache.misses
    assert misses > 0
    assert np.array_equal(array[3:9, ::-2], array.with_cache(None)[3:9, ::-2])
    assert array.cache.misses == misses
    points = np.array([1, 20, 1]), np.array([0, 16, 3])
    array.prefetch(points).wait()
    misses = array.cache.misses
    assert array.vindex[points].tolist() == [17, 356, 20]
    assert array.cache.misses == misses


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE, TURN = codec("bytes", endian="little"), codec("transpose", order=[1, 0])
INNER = codec("sharding_indexed", chunk_shape=[1, 2], codecs=[LITTLE], index_codecs=[LITTLE])
SHARDS = codec("sharding_indexed", chunk_shape=[2, 3], codecs=[LITTLE], index_codecs=[LITTLE])
NESTED = codec("sharding_indexed", chunk_shape=[2, 6], codecs=[INNER, codec("crc32c")], index_codecs=[LITTLE])
CHAINS = {  # filters, serializer, compressors
    "checked shards": ([], SHARDS, [codec("crc32c")]),
    "compressed shards": ([], SHARDS, [codec("zstd", level=1), codec("crc32c")]),
    "turned shards": ([TURN], SHARDS, [codec("gzip", level=1)]),
    "nested shards": ([], NESTED, []),
    "nested, checked shards": ([], NESTED, [codec("crc32c")]),
    "filtered shards": ([codec("numcodecs.delta", dtype="<i4")], SHARDS, [codec("crc32c")]),
    "blocks": (
        [],
        codec("n5_default", codecs=[codec("transpose", order=[1, 0]), codec("bytes", endian="big")]),
        [],
    ),
    "checked blocks": (
        [],
        codec("n5_default", codecs=[codec("transpose", order=[1, 0]), codec("bytes", endian="big")]),
        [codec("crc32c")],
    ),
}


@pytest.mark.parametrize("cached", [100, 1 << 20])
@pytest.mark.parametrize("chain", CHAINS)
def test_prefetching_behind_every_kind_of_codec(chain: str, cached: int) -> None:
    filters, serializer, compressors = CHAINS[chain]
    whole = zarrcore.create_array(
        {},
        shape=(12, 12),
        chunks=(6, 6),
        dtype="i4",
        fill_value=-1,
        filters=filters,
        serializer=serializer,
        compressors=compressors,
    )
    whole[:6] = expected = np.arange(72).reshape(6, 12)  # the other chunks are absent
    array = whole.with_cache(cached)
    for selection in (np.s_[...], np.s_[::3, 1:7:2], np.s_[1:11, 2:3], ([0, 11, 5], [11, 0, 4])):
        for _ in range(2):
            assert array.prefetch(selection).wait()
    assert np.array_equal(array[...], np.vstack([expected, np.full((6, 12), -1)]))


def test_prefetching_beyond_the_limit_and_of_nothing() -> None:
    array = new({}).with_cache(10)
    assert array.prefetch().wait()
    assert array.prefetch(slice(0, 0)).wait()
    assert array.cache.nchunks == 0
    single = zarrcore.create_array({}, shape=3, chunks=1, dtype="u1")
    single[...] = 1, 2, 3
    single = single.with_cache(1 << 20)
    assert single.prefetch().wait()
    assert single.cache.nchunks == 3
    assert single[...].tolist() == [1, 2, 3]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_prefetching_files_that_have_just_changed(layout: str, tmp_path: Path) -> None:
    array = new(tmp_path, layout).with_cache(1 << 20)
    array[...] = 5
    assert array.prefetch().wait()
    assert array.cache.nchunks == 0
    assert (array[...] == 5).all()


def test_errors_come_out_when_somebody_waits() -> None:
    values: dict[str, Any] = {}
    array = new(values).with_cache(1 << 20)
    values["c/0/0"] = b"nonsense"
    reading = array.prefetch()
    for _ in range(2):
        with pytest.raises(errors.ChunkDecodeError, match=r"chunk \(0, 0\)"):
            reading.wait()
    assert reading.done
    assert "done" in repr(reading)
    assert array[22, 16] == 22 * 17 + 16
    with pytest.raises(ValueError, match="needs a cache"):
        array.with_cache(None).prefetch()
    with pytest.raises(IndexError):
        array.prefetch(99)


class SlowStore(WrapperStore):
    def get_many(self, keys: Any) -> Any:
        time.sleep(0.05)
        return super().get_many(keys)


def test_cancelling() -> None:
    values: dict[str, Any] = {}
    store = SlowStore(MemoryStore(values))
    array = zarrcore.create_array(store, shape=(400, 1 << 20), chunks=(1, 1 << 20), dtype="u1")
    array[0] = np.random.default_rng(0).integers(0, 255, 1 << 20, dtype="u1")
    values.update({f"c/{number}/0": values["c/0/0"] for number in range(1, 400)})
    array = array.with_cache(1 << 30)
    reading = array.prefetch()
    assert reading.wait(0.001) is False
    reading.cancel()
    assert reading.wait(30)
    assert reading.cancelled
    assert array.cache.nchunks < 400
    assert array[3, 7] == array.with_cache(None)[3, 7]


PROGRAM = textwrap.dedent(
    """
    import os, sys, time
    import numpy as np
    import zarrcore

    values = {}
    array = zarrcore.create_array(values, shape=(4000, 1000, 1000), chunks=(1, 1000, 1000), dtype="u1")
    array[0] = np.random.default_rng(0).integers(0, 4, (1000, 1000), dtype="u1")
    for number in range(1, 4000):
        values[f"c/{number}/0/0"] = values["c/0/0/0"]
    array = array.with_cache(1 << 26)
    reading = array.prefetch()
    while not array.cache.nchunks:
        time.sleep(0.001)
    if sys.argv[1] == "fork":
        pid = os.fork()
        if pid == 0:
            assert reading.wait() and reading.done
            assert array.cache.nchunks == 0
            assert array[5, :3, 0].shape == (3,)
            assert array.cache.nchunks == 1
            assert array.prefetch(slice(0, 3)).wait()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    print("end")
    """
)


@pytest.mark.parametrize(
    "what", ["exit", pytest.param("fork", marks=pytest.mark.skipif(os.name == "nt", reason="no fork"))]
)
def test_a_program_that_ends_or_forks_while_something_is_prefetched(what: str) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, what], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    assert time.monotonic() - began < 20
