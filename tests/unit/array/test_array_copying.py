# SPDX-License-Identifier: MIT
"""Copies of arrays: which are made of the stored chunks as they are, what others cost, how they end."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_store import FailingStore

import zarrcore
from zarrcore._threads import in_threads
from zarrcore.arrays import creation
from zarrcore.arrays.copying import REGION_BYTES, same_bytes
from zarrcore.arrays.regions import RegionGrid
from zarrcore.engine.projection import axes_of
from zarrcore.errors import CopyError
from zarrcore.storage import LocalStore, MemoryStore, StorePath, WrapperStore, ZipStore
from zarrcore.testing import strategies as zst

VALUES = np.arange(7 * 10, dtype="i4").reshape(7, 10)
BLOSC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}


def chunks_of(array: zarrcore.Array) -> dict[tuple[int, ...], bytes]:
    """The stored bytes of each chunk by its position."""
    from zarrcore.arrays.chunks import stored_chunks

    return {coords: bytes(array.store.get(key)) for coords, key in stored_chunks(array)}


def no_codecs(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on neither decoding nor encoding is possible."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a chunk was decoded or encoded")

    monkeypatch.setattr(zarrcore.Array, "_compiled", refuse)


# ---- chunks as they are


ALIKE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all kept": ({}, {}),
    "separator": ({}, {"chunk_key_encoding": {"name": "default", "separator": "."}}),
    "other keys": ({}, {"chunk_key_encoding": {"name": "v2", "separator": "/"}}),
    "shards": ({"chunks": (2, 5), "shards": (4, 10)}, {}),
    "uneven": ({"chunks": [[3, 4], [5, 5]]}, {}),
    "fill value": ({"fill_value": 7}, {}),
    "format 2": ({"zarr_format": 2}, {}),
    "format 2 to 3": ({"zarr_format": 2}, {"zarr_format": 3}),
    "order F to 3": ({"zarr_format": 2, "order": "F", "compressors": BLOSC}, {"zarr_format": 3}),
    "big endian to 3": ({"zarr_format": 2, "dtype": ">i4"}, {"zarr_format": 3}),
    "zlib to 3": ({"zarr_format": 2, "compressors": {"id": "zlib", "level": 1}}, {"zarr_format": 3}),
    "format 3 to 2": ({}, {"zarr_format": 2}),
    "other attributes": ({"attributes": {"a": 1}}, {"attributes": {}, "dimension_names": ["y", "x"]}),
}


def make_store(kind: str, path: Path) -> Any:
    if kind == "zip":
        return ZipStore(path / f"{kind}.zip", mode="w")
    return LocalStore(path / kind) if kind == "local" else MemoryStore()


def make_source(store: Any, **options: Any) -> zarrcore.Array:
    """An array of which the chunks in the middle are absent."""
    options = {"shape": VALUES.shape, "chunks": (2, 5), "dtype": "i4", **options}
    array = zarrcore.create_array(store, name="from/here", **options)
    array[:2] = VALUES[:2]
    array[6:, :3] = VALUES[6:, :3]
    return array


@pytest.mark.parametrize("name", ALIKE)
def test_chunks_are_not_decoded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    created, changed = ALIKE[name]
    source = make_source({}, **created)
    expected, stored = source[...], chunks_of(source)
    with monkeypatch.context() as patch:
        no_codecs(patch)
        copy = zarrcore.from_array({}, data=source, name="to", **changed)
    assert chunks_of(copy) == stored
    again = zarrcore.open_array(copy.store, path="to", mode="r")
    np.testing.assert_array_equal(again[...], expected)
    assert again.fill_value == source.fill_value


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("source_kind", ["memory", "local", "zip"])
@pytest.mark.parametrize("kind", ["memory", "local", "zip"])
def test_between_stores(
    source_kind: str, kind: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source_path, path = tmp_path / "a", tmp_path / "b"
    source_path.mkdir()
    path.mkdir()
    with make_store(source_kind, source_path) as from_store, make_store(kind, path) as to_store:
        source = make_source(from_store)
        expected = source[...]
        with monkeypatch.context() as patch:
            no_codecs(patch)
            copy = zarrcore.from_array(to_store, data=source, threads=threads)
        assert copy.nchunks_initialized == 3
        np.testing.assert_array_equal(copy[...], expected)


def test_what_was_copied_is_read_by_zarr_python(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    for name, (created, changed) in ALIKE.items():
        if name == "uneven":  # experimental there
            continue
        source = make_source({}, **created)
        zarrcore.from_array(str(tmp_path / name), data=source, **changed)
        np.testing.assert_array_equal(zarr.open_array(str(tmp_path / name), mode="r")[...], source[...])


DIFFERENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "chunks": ({}, {"chunks": (3, 4)}),
    "codecs": ({}, {"compressors": None}),
    "level": ({}, {"compressors": {"name": "zstd", "configuration": {"level": 3, "checksum": False}}}),
    "shards": ({}, {"shards": (4, 10)}),
    "no shards": ({"shards": (4, 10)}, {"shards": None}),
    "fill value": ({"fill_value": 1}, {"fill_value": 2}),
    "no fill value": ({"zarr_format": 2, "fill_value": 3}, {"fill_value": None}),
    "byte order": ({"zarr_format": 2, "dtype": ">i4"}, {"zarr_format": 3, "serializer": "auto"}),
    "order": ({"zarr_format": 2, "order": "F"}, {"order": "C"}),
    "uneven": ({"chunks": [[3, 4], [5, 5]]}, {"chunks": (4, 4)}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_chunks_are_encoded_anew(name: str) -> None:
    created, changed = DIFFERENT[name]
    source = make_source({}, **created)
    copy = zarrcore.from_array({}, data=source, **changed)
    assert not same_bytes(source.metadata, copy.metadata)
    np.testing.assert_array_equal(copy[...], source[...])


def test_strings_are_copied_both_ways() -> None:
    source = zarrcore.create_array({}, shape=7, chunks=2, dtype=str, fill_value="none")
    source[:3] = np.array(["a", "bcd", "é"], dtype=object)
    for changed in ({}, {"chunks": 3}, {"fill_value": "other"}):
        copy = zarrcore.from_array({}, data=source, **changed)
        assert same_bytes(source.metadata, copy.metadata) == (not changed)
        assert copy[...].tolist() == source[...].tolist() == ["a", "bcd", "é", *["none"] * 4]


# ---- absent chunks


def test_absent_chunks_stay_absent() -> None:
    source = zarrcore.create_array({}, shape=(10**9, 10**9), chunks=(1000, 1000), dtype="u1", fill_value=5)
    source[123_456_789, 10:20] = 6
    source[999_999_999, 999_999_999] = 7
    copy = zarrcore.from_array({}, data=source)
    assert copy.nchunks_initialized == 2
    other = zarrcore.from_array({}, data=source, chunks=(300, 700))
    assert other.nchunks_initialized == 2
    for array in (copy, other):
        assert array[123_456_789, 9:21].tolist() == [5, *[6] * 10, 5]
        assert array[-1, -2:].tolist() == [5, 7]


def test_absent_chunks_are_written_where_they_mean_something_else() -> None:
    source = zarrcore.create_array({}, shape=10, chunks=2, dtype="i2", fill_value=-1)
    source[2:4] = 9  # the fill value of the copy
    copy = zarrcore.from_array({}, data=source, fill_value=9)
    assert copy[...].tolist() == source[...].tolist()
    assert sorted(chunks_of(copy)) == [(0,), (2,), (3,), (4,)]


def test_a_store_that_cannot_list() -> None:
    class Blind(WrapperStore):
        supports_listing = False

        def list(self) -> Any:
            raise AssertionError("listed")

        list_prefix = list_dir = list

    source = make_source(MemoryStore())
    blind = zarrcore.open_array(Blind(source.store), path="from/here")
    for changed in ({}, {"chunks": (4, 4)}):
        np.testing.assert_array_equal(zarrcore.from_array({}, data=blind, **changed)[...], source[...])


# ---- regions


@pytest.mark.parametrize("limit", [1, 7, 24, 60, 1000])
@pytest.mark.parametrize("source", [(1, 10), (7, 1), (3, 4), ((3, 4), (1, 9))])
@pytest.mark.parametrize("target", [(2, 5), (7, 10), (1, 1), (10, 20), ((1, 6), (5, 5))])
def test_regions_cover_everything_once(target: Any, source: Any, limit: int) -> None:
    shape = (7, 10)
    axes = axes_of(shape, target)
    regions = list(RegionGrid(axes, axes_of(shape, source), limit))
    count = np.zeros(shape, int)
    for region in regions:
        count[region] += 1
    assert (count == 1).all()
    starts = [{axis.offset(k) for k in range(axis.nchunks)} for axis in axes]
    for region in regions:
        assert all(part.start in start for part, start in zip(region, starts, strict=True))
    largest = max(np.empty(shape)[region].size for region in regions)
    chunk = np.prod([max(axis.valid_length(k) for k in range(axis.nchunks)) for axis in axes])
    assert largest <= max(limit, chunk)


def test_regions_take_whole_chunks_of_both_where_they_fit() -> None:
    shape = (12, 12)
    grid = RegionGrid(axes_of(shape, (12, 1)), axes_of(shape, (1, 12)), 144)
    assert list(grid) == [(slice(0, 12), slice(0, 12))]
    grid = RegionGrid(axes_of(shape, (2, 12)), axes_of(shape, (3, 12)), 72)
    assert [region[0] for region in grid] == [slice(0, 6), slice(6, 12)]


def test_regions_that_boxes_reach_into() -> None:
    axes = axes_of((10**12, 10), (10, 5))
    grid = RegionGrid(axes, axes, 50)
    found = list(grid.touching([[(995, 1005), (0, 5)], [(10**12 - 1, 10**12), (5, 6)], [(0, 1), (4, 5)]]))
    assert found == [
        (slice(0, 10), slice(0, 5)),
        (slice(990, 1000), slice(0, 5)),
        (slice(1000, 1010), slice(0, 5)),
        (slice(10**12 - 10, 10**12), slice(5, 10)),
    ]


def test_values_in_memory_are_bounded(tmp_path: Path) -> None:
    shape = (8192, 12288)  # 96 MiB
    source = zarrcore.create_array(
        tmp_path / "a", shape=shape, chunks=(8, 12288), dtype="u1", compressors=None
    )
    source[...] = 3
    tracemalloc.start()
    try:
        copy = zarrcore.from_array(tmp_path / "b", data=source, chunks=(1024, 96), threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < REGION_BYTES + (6 << 20)
    assert (copy[::1000, ::77] == 3).all()


def test_items_of_any_length_are_bounded(tmp_path: Path) -> None:
    """Only chunks tell how much strings take: two of the source, or three of the copy, of 1 MB each."""
    source = zarrcore.create_array(tmp_path / "a", shape=400, chunks=10, dtype="bytes", compressors=None)
    for start in range(0, 400, 10):
        items = np.empty(10, object)
        items[:] = [bytes([(start + i) % 256]) * 100_000 for i in range(10)]
        source[start : start + 10] = items
    tracemalloc.start()
    try:
        copy = zarrcore.from_array(tmp_path / "b", data=source, chunks=7, threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert [item[0] for item in copy[...]] == [i % 256 for i in range(400)]


RSS = """
import resource, sys, numpy as np, zarrcore
source = zarrcore.open_array(sys.argv[1], mode="r")
source[0, :8]
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
zarrcore.from_array(sys.argv[2], data=source, chunks=(512, 512), shards=(1024, 2048), threads=2)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
def test_the_process_is_bounded(tmp_path: Path) -> None:
    """The scratch memory of the engine is included: shards of 4 and 2 MiB, an array of 192 MiB."""
    shape = (12288, 8192)
    source = zarrcore.create_array(
        tmp_path / "a", shape=shape, chunks=(128, 128), shards=(512, 8192), dtype="u2"
    )
    for start in range(0, shape[0], 512):
        source[start : start + 512] = np.arange(start, start + 512, dtype="u2")[:, None]
    script = [sys.executable, "-c", RSS, str(tmp_path / "a"), str(tmp_path / "b")]
    answer = subprocess.run(script, capture_output=True, text=True, check=True)
    assert int(answer.stdout) < 96 << 20
    copy = zarrcore.open_array(tmp_path / "b", mode="r")
    assert (copy[::511, 5] == np.arange(0, shape[0], 511)).all()


# ---- progress and failures


@pytest.mark.parametrize("changed", [{}, {"chunks": (3, 3)}], ids=["moved", "encoded"])
def test_progress(changed: dict[str, Any]) -> None:
    source = make_source({})
    calls: list[tuple[int, int]] = []
    zarrcore.from_array({}, data=source, progress=lambda *call: calls.append(call), **changed)
    assert calls[-1] == (VALUES.nbytes, VALUES.nbytes)
    assert calls == sorted(calls)
    assert {total for _, total in calls} == {VALUES.nbytes}


class Stop(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("changed", [{}, {"chunks": (7, 9)}], ids=["moved", "encoded"])
def test_a_copy_that_is_stopped_leaves_nothing(
    changed: dict[str, Any], error: type[BaseException], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 64)
    source = zarrcore.create_array({}, data=np.arange(10_000).reshape(100, 100), chunks=(5, 5))
    values: dict[str, Any] = {}
    before = _thread._count()

    def stop(done: int, total: int) -> None:
        if done > total // 4:
            raise error

    with pytest.raises(error):
        zarrcore.from_array(values, name="g/a", data=source, threads=threads, progress=stop, **changed)
    until = time.monotonic() + 60
    while _thread._count() > before and time.monotonic() < until:  # they have nothing to do any more
        time.sleep(1e-3)
    assert _thread._count() == before
    assert list(values) == ["zarr.json", "g/zarr.json"]
    np.testing.assert_array_equal(source[...], np.arange(10_000).reshape(100, 100))


@pytest.fixture
def sigint_raises() -> Iterator[None]:
    """As when started from a terminal: a shell that starts a job in the background ignores SIGINT for it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class PressesCtrlC(WrapperStore):
    """A store that interrupts the main thread once, in the middle of a copy, and counts what is set later."""

    def __init__(self, store: Any, count: int) -> None:
        super().__init__(store)
        self.left, self.later = count, 0

    def set(self, key: str, value: Any) -> None:
        self.left -= 1
        if self.left == 0:
            _thread.interrupt_main()
        self.later += self.left < 0
        super().set(key, value)


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("changed", [{}, {"chunks": (7, 9)}], ids=["moved", "encoded"])
@pytest.mark.usefixtures("sigint_raises")
def test_ctrl_c(changed: dict[str, Any], threads: int) -> None:
    source = zarrcore.create_array({}, data=np.arange(250_000).reshape(500, 500), chunks=(5, 5))
    store = PressesCtrlC(MemoryStore(), 50)
    with pytest.raises(KeyboardInterrupt):
        zarrcore.from_array(store, data=source, threads=threads, **changed)
    assert list(store.list()) == []
    later = store.later
    time.sleep(0.1)
    assert store.later == later, "something was written after the interrupt had been answered"
    assert zarrcore.from_array(store, data=source, threads=threads, **changed)[499, 499] == 249_999


@pytest.mark.threads
def test_ctrl_c_while_a_thread_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    start, calls = _thread.start_new_thread, list[int]()

    def start_and_be_interrupted(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        start(work, arguments)
        raise KeyboardInterrupt

    def call(item: int) -> None:
        time.sleep(0.05)
        calls.append(item)

    monkeypatch.setattr(_thread, "start_new_thread", start_and_be_interrupted)
    with pytest.raises(KeyboardInterrupt), closing(in_threads(call, range(9), 3)) as results:
        next(results)
    done = len(calls)
    time.sleep(0.2)
    assert len(calls) == done, "a call was at work after the interrupt had been answered"


@pytest.mark.parametrize("changed", [{}, {"chunks": (3, 3)}], ids=["moved", "encoded"])
def test_a_store_that_fails(changed: dict[str, Any]) -> None:
    source = make_source(MemoryStore())
    dest = MemoryStore()
    with pytest.raises(OSError, match="No space left"):
        zarrcore.from_array(FailingStore(dest, "set", left=2), data=source, **changed)
    assert list(dest.list()) == []
    failing = FailingStore(source.store, "get", "get_many", "get_partial_values", left=0)
    broken = zarrcore.Array(source.metadata, StorePath(failing, source.path))
    with pytest.raises(OSError, match="No space left"):
        zarrcore.from_array(dest, data=broken, **changed)
    assert list(dest.list()) == []


def test_leftovers_of_a_killed_copy_are_not_taken_over() -> None:
    source = zarrcore.create_array({}, shape=6, chunks=2, dtype="i4")
    source[:2] = 1
    values: dict[str, Any] = {"c/2": b"left over", "notes": b"kept"}
    copy = zarrcore.from_array(values, data=source)
    assert copy[...].tolist() == [1, 1, 0, 0, 0, 0]
    assert values["notes"] == b"kept"


def test_others_files_stay_when_a_copy_fails() -> None:
    source = make_source({})
    values = {"notes": b"kept"}
    with pytest.raises(Stop):
        zarrcore.from_array(values, data=source, progress=lambda *_: (_ for _ in ()).throw(Stop))
    assert values["notes"] == b"kept"
    assert "zarr.json" not in values


def test_values_that_cannot_be_stored_leave_no_array() -> None:
    values: dict[str, Any] = {}
    with pytest.raises((TypeError, ValueError)):
        zarrcore.create(store=values, shape=2, dtype="i4", data=["x", "y"])
    assert values == {}


# ---- sources of other libraries


class Foreign:
    """The least that an array of another library may have."""

    def __init__(self, values: np.ndarray, chunks: tuple[int, ...]) -> None:
        self.values, self.shape, self.dtype, self.chunks = values, values.shape, values.dtype, chunks
        self.largest = 0

    def __getitem__(self, selection: Any) -> np.ndarray:
        part = self.values[selection]
        self.largest = max(self.largest, part.nbytes)
        return part


def test_arrays_of_other_libraries_are_read_by_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 400)
    foreign = Foreign(np.arange(10_000, dtype="i4").reshape(100, 100), (10, 5))
    for make in (zarrcore.from_array, zarrcore.create_array):
        copy = make({}, data=foreign)
        np.testing.assert_array_equal(copy[...], foreign.values)
    assert zarrcore.from_array({}, data=foreign).chunks == (10, 5)
    foreign.largest = 0
    zarrcore.from_array({}, data=foreign, threads=1)
    assert foreign.largest <= 400
    scalar = zarrcore.create_array({}, data=np.array(5))
    assert zarrcore.from_array({}, data=scalar, compressors=None)[...] == 5
    assert zarrcore.from_array({}, data=scalar)[...] == 5


def test_overwriting_the_source_through_another_store(tmp_path: Path) -> None:
    source = zarrcore.create_array(tmp_path / "data", data=VALUES)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    wrapped = zarrcore.open_array(WrapperStore(LocalStore(tmp_path / "data")))
    for target, array in ((tmp_path / "link", source), (LocalStore(tmp_path), wrapped)):
        with pytest.raises(ValueError, match="removed first"):
            zarrcore.from_array(target, data=array, overwrite=True)
    np.testing.assert_array_equal(source[...], VALUES)


# ---- any arrays


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_array_into_any_other(data: st.DataObject) -> None:
    """Formats, grids, shards, data types, fill values, memory and threads, with parts that are absent."""
    shape = data.draw(zst.array_shapes(max_dims=3))
    source_format, dest_format = (data.draw(st.sampled_from([2, 3])) for _ in range(2))
    dtype = data.draw(zst.dtypes(zarr_format=2, flexible=False))
    source = zarrcore.create_array(
        {}, shape=shape, chunks=data.draw(zst.chunk_shapes(shape)), dtype=dtype, zarr_format=source_format,
        order=data.draw(st.sampled_from("CF")),
    )  # fmt: skip
    region = data.draw(zst.basic_indices(shape, integers=False))
    source[region] = data.draw(zst.numpy_arrays(source[region].shape, dtype))
    chunks = data.draw(zst.chunk_shapes(shape))
    options: dict[str, Any] = {"chunks": chunks} if data.draw(st.booleans()) else {}
    if options and dest_format == 3 and data.draw(st.booleans()):
        options["shards"] = tuple(length * data.draw(st.integers(1, 3)) for length in chunks)
    calls: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zarrcore.arrays.copying.REGION_BYTES", data.draw(st.sampled_from([1, 100, 1 << 24])))
        copy = zarrcore.from_array(
            {}, data=source, zarr_format=dest_format, threads=data.draw(st.sampled_from([1, 3])),
            progress=lambda done, total: calls.append(done), **options,
        )  # fmt: skip
    native = source.dtype.newbyteorder("=")
    assert copy.dtype.newbyteorder("=") == native
    assert np.asarray(copy).astype(native).tobytes() == np.asarray(source).astype(native).tobytes()
    assert calls == sorted(calls)
    assert not calls or calls[-1] == source.nbytes


LITTLE = [{"name": "bytes", "configuration": {"endian": "little"}}]


def shard(shape: list[int], codecs: list[Any]) -> dict[str, Any]:
    configuration = {"chunk_shape": shape, "codecs": codecs, "index_codecs": LITTLE}
    return {"name": "sharding_indexed", "configuration": configuration}


@pytest.mark.parametrize(
    "options", [{}, {"compressors": "gzip"}, {"shards": None}, {"chunks": (3, 4), "shards": None}]
)
def test_a_copy_of_nested_shards_after_a_transposition(options: dict[str, Any]) -> None:
    transpose = {"name": "transpose", "configuration": {"order": [1, 0]}}
    source = zarrcore.create_array(
        {},
        shape=(6, 8),
        chunks=(6, 4),
        dtype="u2",
        compressors=None,
        serializer=shard([2, 3], [shard([1, 3], LITTLE)]),
        filters=[transpose],
    )
    source[...] = np.arange(48).reshape(6, 8)
    copied = zarrcore.from_array({}, data=source, **options)
    assert np.array_equal(copied[...], source[...])


@pytest.mark.parametrize("name", ["scale_offset", "transpose"])
def test_rectilinear_shards_after_a_filter_grow(name: str) -> None:
    configuration = {"scale_offset": {"scale": 3}, "transpose": {"order": [0]}}[name]
    array = zarrcore.create_array(
        {},
        shape=(6,),
        chunks=[[4, 2]],
        dtype="i1",
        compressors=None,
        filters=[{"name": name, "configuration": configuration}],
        serializer=shard([2], LITTLE),
    )
    array[...] = np.arange(6)
    array.append([6])
    array.append([7, 8])
    assert array[...].tolist() == list(range(9))
    assert array.write_chunk_sizes == ((4, 2, 2, 1),)


def test_encoded_chunks_are_stored_under_the_locks_of_their_keys() -> None:
    from zarrcore._core import engine
    from zarrcore.errors import ChunkLockError

    class Asking(MemoryStore):
        locked: ClassVar[list[str]] = []

        def set(self, key: str, value: Any) -> None:
            if "/c/" in key:
                try:
                    with engine.KeyLock(engine.Place(self._scope("b")), key.removeprefix("b/")):
                        pass
                except ChunkLockError:
                    self.locked.append(key)
            super().set(key, value)

    source = zarrcore.create_array({}, data=np.arange(6), chunks=2)
    store = Asking()
    zarrcore.from_array(store, name="b", data=source, threads=1)
    assert sorted(store.locked) == ["b/c/0", "b/c/1", "b/c/2"]


@pytest.mark.parametrize("change", ["shrink", "remove", "replace"])
def test_chunks_of_the_source_that_are_removed_meanwhile_are_not_taken_for_absent(change: str) -> None:
    root = zarrcore.create_group({})
    source = root.create_array("a", data=np.arange(1, 1001), chunks=1)

    def progress(done: int, total: int) -> None:
        if change == "shrink":
            source.resize(100)
        elif change == "remove" and "a" in root:
            del root["a"]
        elif source.path == "a" and "b" not in root:
            root["b"] = 1
            root.create_array("a", shape=5, dtype="i1", overwrite=True)

    store: dict[str, Any] = {}
    with pytest.raises(
        CopyError, match=r"values are missing: array 'a' (has shrunk|is no longer|in .* replaced)"
    ):
        zarrcore.from_array(store, data=source, threads=1, progress=progress)
    assert not store


@pytest.mark.parametrize("shape", [(9, 6), (4, 6)])
@pytest.mark.parametrize("moment", ["before", "meanwhile"])
@pytest.mark.parametrize("chunks", ["keep", (3, 3)])
def test_a_source_that_gets_another_shape_by_its_own_handle(
    shape: tuple[int, int], moment: str, chunks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that had grown was said to have shrunk, or was no number that can be stored."""
    values = np.arange(1, 49).reshape(8, 6)
    source = zarrcore.create_array({}, data=values, chunks=(2, 3))
    store: dict[str, Any] = {}
    if moment == "before":
        check = creation.refuse_misread_codecs
        monkeypatch.setattr(
            creation, "refuse_misread_codecs", lambda metadata: source.resize(shape) or check(metadata)
        )
    options = {} if moment == "before" else {"progress": lambda *_: source.resize(shape)}
    if shape[0] > 8:
        made = zarrcore.from_array(store, data=source, chunks=chunks, **options)
        np.testing.assert_array_equal(made[...], values)
    else:
        with pytest.raises(CopyError, match="values are missing: array '/' has shrunk"):
            zarrcore.from_array(store, data=source, chunks=chunks, **options)
        assert not store
