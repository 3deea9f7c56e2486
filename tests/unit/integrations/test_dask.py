"""dask over zarrcore: tokens, blocks of whole shards, and writes that lose nothing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ContainsArrayError, RegionOverlapError, StoreError
from zarrcore.storage import FsspecStore, LocalStore, LoggingStore, MemoryStore, Store, WrapperStore

da = pytest.importorskip("dask.array")
fsspec = pytest.importorskip("fsspec")
dask = pytest.importorskip("dask")
ours = pytest.importorskip("zarrcore.dask")
tokenize = dask.tokenize.tokenize

VALUES = np.random.default_rng(5).random((64, 48))


@pytest.fixture(params=["memory", "directory", "logging"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    return LocalStore(tmp_path) if request.param == "directory" else LoggingStore(LocalStore(tmp_path))


class Flipped(WrapperStore):
    """Shows chunks with some bits of each byte flipped."""

    def __init__(self, store: Store, bits: int) -> None:
        super().__init__(store)
        self.bits = bits

    def get(self, key: str, *args: Any, **options: Any) -> Any:
        value = super().get(key, *args, **options)
        if value is None or "c" not in key.split("/"):
            return value
        return bytes(byte ^ self.bits for byte in bytes(value))


def in_fsspec(path: str) -> Store:
    return FsspecStore(fsspec.filesystem("memory"), path=path)


def sharded(store: Any, **options: Any) -> zarrcore.Array:
    options = {"chunks": (4, 4), "shards": (16, 16), "dtype": "f8", **options}
    return zarrcore.create_array(store, name="a", shape=VALUES.shape, **options)


class TestTokens:
    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_two_opens_of_one_state_have_one_token_until_anything_changes(
        self, store: Store, zarr_format: int
    ) -> None:
        writer = zarrcore.create_array(
            store, name="a", shape=(9, 8), chunks=(2, 3), dtype="f4", zarr_format=zarr_format
        )
        changes = [
            lambda: writer.attrs.update(units="K"),
            lambda: writer.write((0, 0), 5),
            lambda: writer.write((slice(7), slice(2)), 6),
            lambda: writer.write((0, 0), 7),
            lambda: writer.resize((12, 8)),
            lambda: writer.encoded((0, 0)).erase(),
            lambda: writer.write((0, 0), 5),
        ]
        seen = []
        for change in [lambda: None, *changes]:
            change()
            opens = [zarrcore.open_array(store, path="a", mode=mode) for mode in ("r", "r+")]
            tokens = {tokenize(array) for array in [*opens, pickle.loads(pickle.dumps(opens[0]))]}
            assert len(tokens) == 1
            seen += tokens
        assert len({*seen}) == len(seen)

    def test_arrays_of_another_place_or_type_have_other_tokens(self, store: Store) -> None:
        arrays = [
            zarrcore.create_array(store, name=name, shape=3, dtype=dtype)
            for name, dtype in [("a", "i4"), ("b", "i4"), ("c", "u4")]
        ]
        assert len({tokenize(array) for array in arrays}) == 3

    def test_groups(self, store: Store) -> None:
        group = zarrcore.create_group(store, path="g")
        first = tokenize(group)
        assert tokenize(zarrcore.open_group(store, path="g")) == first
        group.attrs["a"] = 1
        second = tokenize(zarrcore.open_group(store, path="g"))
        group.create_array("x", shape=3, dtype="i4")
        third = tokenize(zarrcore.open_group(store, path="g"))
        assert len({first, second, third}) == 3

    def test_a_store_in_memory_has_the_token_of_its_contents(self) -> None:
        tokens = set()
        for value in (1, 1, 2):
            array = sharded({})
            array[5, 5] = value
            tokens.add(tokenize(array))
        assert len(tokens) == 2

    def test_wrappers_that_show_other_values_have_other_tokens(self, store: Store) -> None:
        zarrcore.create_array(store, data=np.arange(8, dtype="u1"), compressors=None)
        views = [zarrcore.open_array(Flipped(store, bits)) for bits in (0, 1, 2, 2)]
        assert [view[3] for view in views] == [3, 2, 1, 1]
        one, two, three, same = (tokenize(view) for view in views)
        assert len({one, two, three, tokenize(zarrcore.open_array(store))}) == 4
        assert same == three

    @pytest.mark.parametrize("make", [in_fsspec, LocalStore, MemoryStore])
    def test_every_write_of_this_process_changes_the_token(self, tmp_path: Path, make: Any) -> None:
        store = make() if make is MemoryStore else make(str(tmp_path))
        options = {"shape": (200, 4), "chunks": (1, 2), "dtype": "i4", "fill_value": 1}
        array = zarrcore.create_array(store, name="a", **options)
        array[...] = 0
        others = [zarrcore.create_array(store, name=f"b{n}", shape=4, dtype="i4") for n in range(4)]
        changes = [
            lambda: array.write((150, 3), 5),
            lambda: array.write((slice(150, 152), 0), 5),
            lambda: store.set("a/c/199/1", store.get("a/c/150/1")),
            lambda: store.delete("a/c/199/1"),
        ]
        seen = [tokenize(array)]
        for change in changes:
            change()
            seen.append(tokenize(zarrcore.open_array(store, path="a")))
            tokens = [seen[-1]]
            for other in others:
                other[...] = 4
                tokens.append(tokenize(array))
            # Any two places may share one of the 32,768 counters of changes, but hardly two of four do.
            assert sum(a != b for a, b in pairwise(tokens)) <= 1, "another array"
        assert len({*seen}) == len(seen)

    def test_writes_of_another_process_change_the_token(self, tmp_path: Path) -> None:
        array = sharded(tmp_path)
        before = tokenize(array)
        program = f"import zarrcore\nzarrcore.open_array({str(tmp_path / 'a')!r}, mode='r+')[40, 40] = 1"
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert tokenize(array) != before

    def test_arrays_with_many_chunks_are_not_walked(self, tmp_path: Path) -> None:
        array = zarrcore.create_array(tmp_path, shape=(10**6, 10**6), chunks=(1, 1), dtype="i1")
        assert tokenize(array) == tokenize(zarrcore.open_array(tmp_path))


class TestReading:
    def test_a_grid_of_any_number_of_chunks_takes_no_memory(self) -> None:
        """A document of 300 bytes made one entry for each of its chunks."""
        array = zarrcore.create_array({}, shape=(2**50, 2), chunks=(1, 1), dtype="i1", fill_value=3)
        for asked in ("shards", "chunks", "auto", (1, "auto")):
            with pytest.raises(zarrcore.errors.MetadataValidationError, match="chunks: expected at most"):
                ours.from_zarr(array, asked)
        lazy = ours.from_zarr(array, (2**44, 2))
        assert lazy.chunks == ((2**44,) * 64, (2,))

    def test_blocks_are_shards_chunks_or_what_is_asked_for(self) -> None:
        array = sharded({})
        array[...] = VALUES
        for chunks, numblocks in [
            ("shards", (4, 3)),
            ("chunks", (16, 12)),
            ("auto", (1, 1)),
            ((20, 48), (4, 1)),
        ]:
            lazy = ours.from_zarr(array, chunks)
            assert lazy.numblocks == numblocks
            np.testing.assert_array_equal(lazy.compute(), VALUES)
            np.testing.assert_array_equal(lazy[3:50:7, ::-1].compute(), VALUES[3:50:7, ::-1])

    def test_auto_takes_whole_shards(self) -> None:
        with dask.config.set({"array.chunk-size": "9kiB"}):
            lazy = ours.from_zarr(sharded({}), "auto")
        assert all(length % 16 == 0 for axis in lazy.chunks for length in axis)
        assert 1 < lazy.npartitions < 12

    def test_the_graph_is_one_small_layer(self, tmp_path: Path) -> None:
        array = zarrcore.create_array(tmp_path, shape=(4000, 4000), chunks=(20, 20), dtype="i1")
        lazy = ours.from_zarr(array)
        assert len(lazy.dask.layers) == 1
        assert lazy.npartitions == 40_000
        one = ours.from_zarr(array, (4000, 4000))
        assert len(pickle.dumps(lazy.dask)) < len(pickle.dumps(one.dask)) + 20_000

    def test_equal_arrays_have_one_name(self, tmp_path: Path) -> None:
        array = sharded(tmp_path)
        assert ours.from_zarr(array).name == ours.from_zarr(tmp_path, path="a").name
        assert ours.from_zarr(array).name != ours.from_zarr(array, "chunks").name
        assert ours.from_zarr(array, name="mine").name == "mine"

    @pytest.mark.parametrize("shape", [(), (0, 3), (5,)])
    @pytest.mark.parametrize("dtype", ["i4", "str", "M8[s]"])
    def test_scalars_empty_arrays_and_other_types(self, shape: tuple[int, ...], dtype: str) -> None:
        array = zarrcore.create_array({}, shape=shape, dtype=dtype)
        for chunks in ("shards", "chunks", "auto"):
            read = ours.from_zarr(array, chunks).compute()
            np.testing.assert_array_equal(read, array[...])
            assert read.dtype == array.dtype

    def test_grids_of_uneven_chunks(self) -> None:
        array = zarrcore.create_array({}, shape=9, chunks=[[2, 4, 3]], dtype="i4")
        array[...] = range(9)
        assert ours.from_zarr(array).chunks == ((2, 4, 3),)
        np.testing.assert_array_equal(ours.from_zarr(array).compute(), range(9))

    def test_wrong_arguments_are_named(self) -> None:
        with pytest.raises(ValueError, match="'shards', 'chunks', 'auto' or lengths, got 'shard'"):
            ours.from_zarr(sharded({}), "shard")
        with pytest.raises(TypeError, match="path="):
            ours.from_zarr(sharded({}), path="a")


class TestWriting:
    @pytest.mark.parametrize("blocks", [(7, 9), (1, 48), (64, 48), (16, 16), (33, 20)])
    def test_blocks_of_any_shape_are_made_of_whole_shards(self, tmp_path: Path, blocks: Any) -> None:
        logged: list[str] = []

        class Noting(LocalStore):
            def set(self, key: str, value: Any) -> None:
                logged.append(key)
                super().set(key, value)

        data = da.from_array(VALUES, chunks=blocks)
        array = ours.to_zarr(data, Noting(tmp_path), name="a", chunks=(4, 4), shards=(16, 16))
        np.testing.assert_array_equal(array[...], VALUES)
        shards = [key for key in logged if "/c/" in key]
        assert len(shards) == len({*shards}) == 12

    def test_regions(self) -> None:
        array = sharded({})
        array[...] = VALUES
        region = slice(16, 64), slice(32, None)
        again = ours.to_zarr(da.zeros((48, 16), chunks=5), array, region=region)
        expected = VALUES.copy()
        expected[region] = 0
        np.testing.assert_array_equal(again[...], expected)
        ours.to_zarr(da.ones((64, 16), chunks=5), array, region=(..., slice(0, 16)))
        assert (array[:, :16] == 1).all()

    def test_what_could_meet_another_process_in_a_shard_is_refused_with_the_cure(self) -> None:
        array = sharded({})
        with pytest.raises(
            RegionOverlapError, match=r"edge at 10 in dimension 0, within shard 0 \(0:16\).*at 0 or 16"
        ):
            ours.to_zarr(da.ones((10, 48)), array, region=slice(0, 10))
        with pytest.raises(
            RegionOverlapError, match="edge at 20 in dimension 1, within shard 1 .*rechunk=False"
        ):
            ours.to_zarr(da.ones((64, 48), chunks=(64, 20)), array, rechunk=False)
        ours.to_zarr(da.ones((64, 48), chunks=(64, 32)), array, rechunk=False)
        assert not np.any(array[...] != 1)

    def test_later(self, tmp_path: Path) -> None:
        later = ours.to_zarr(da.from_array(VALUES, chunks=10), tmp_path, compute=False)
        assert (zarrcore.open_array(tmp_path)[...] == 0).all()
        np.testing.assert_array_equal(later.compute()[...], VALUES)
        assert later.compute().chunks == (10, 10)

    def test_the_same_write_is_done_again(self, tmp_path: Path) -> None:
        array, data = sharded(tmp_path), da.from_array(VALUES, chunks=16)
        one, two = (ours.to_zarr(data, array, compute=False) for _ in range(2))
        assert one.key != two.key
        assert not {*one.__dask_graph__().layers} & {*two.__dask_graph__().layers} - {*data.dask.layers}

    def test_new_arrays(self, tmp_path: Path) -> None:
        data = da.from_array(VALUES, chunks=(20, 48))
        assert ours.to_zarr(data, tmp_path, name="a", compressors=None).chunks == (20, 48)
        with pytest.raises(ContainsArrayError):
            ours.to_zarr(data, tmp_path, name="a")
        assert ours.to_zarr(data, tmp_path, name="a", shards=(32, 48), overwrite=True).shards == (32, 48)
        for shape in ((), (0, 3)):
            written = ours.to_zarr(da.full(shape, 7), {})
            np.testing.assert_array_equal(written[...], np.full(shape, 7))

    def test_wrong_arguments_are_named(self) -> None:
        array = sharded({})
        with pytest.raises(TypeError, match="name, chunks: the array exists"):
            ours.to_zarr(da.ones((64, 48)), array, chunks=4, name="b")
        with pytest.raises(TypeError, match="region="):
            ours.to_zarr(da.ones(3), {}, region=slice(0, 3))
        with pytest.raises(ValueError, match=r"shape \(3, 48\), what it is written to \(64, 48\)"):
            ours.to_zarr(da.ones((3, 48)), array)
        with pytest.raises(ValueError, match="step 1"):
            ours.to_zarr(da.ones((32, 48)), array, region=slice(0, 64, 2))
        unknown = da.ones(10, chunks=5)
        with pytest.raises(ValueError, match="compute_chunk_sizes"):
            ours.to_zarr(unknown[unknown > 0], {})

    def test_memory_is_not_written_by_other_processes(self) -> None:
        array, data = sharded({}), da.ones((64, 48))
        with (
            dask.config.set(scheduler="processes"),
            pytest.raises(StoreError, match="array 'a'.*memory of this process.*threads"),
        ):
            ours.to_zarr(data, array)
        with pytest.raises(StoreError, match="memory of this process"):
            ours.to_zarr(data, array, compute=False).compute(scheduler="processes")
        assert not array[...].any()
        ours.to_zarr(data, array, compute=False).compute(scheduler="sync")
        assert array[...].all()

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_what_is_refused_removes_and_creates_nothing(self, tmp_path: Path, overwrite: bool) -> None:
        """A call that was refused left zeros in the place of the array that it was to replace."""
        data = da.arange(10, chunks=3)
        memory, directory = MemoryStore(), LocalStore(tmp_path)
        if overwrite:
            for place in (memory, directory):
                zarrcore.save(place, np.arange(10), path="a")
        before = [[*place.list()] for place in (memory, directory)]
        with pytest.raises(RegionOverlapError, match="array 'a': a block has an edge"):
            ours.to_zarr(data, directory, name="a", chunks=4, rechunk=False, overwrite=overwrite)
        with dask.config.set(scheduler="processes"), pytest.raises(StoreError, match="in the memory"):
            ours.to_zarr(data, memory, name="a", overwrite=overwrite)
        assert [[*place.list()] for place in (memory, directory)] == before
        for place in (memory, directory) if overwrite else ():
            assert zarrcore.load(place, path="a").tolist() == [*range(10)]

    @pytest.mark.parametrize("store", [LoggingStore(MemoryStore(), log_level="ERROR"), "memory://to-zarr"])
    def test_nor_is_memory_in_other_stores(self, store: Any) -> None:
        array = sharded(store)
        assert array.store._in_process
        write = ours.to_zarr(da.ones((64, 48)), array, compute=False)
        with pytest.raises(StoreError, match="memory of this process"):
            write.compute(scheduler="processes")
        write.compute(scheduler="sync")
        assert array[...].all()

    def test_the_values_that_an_array_cannot_have_are_errors(self) -> None:
        array = zarrcore.create_array({}, shape=4, chunks=2, dtype="u1")
        with pytest.raises(OverflowError, match="300"):
            ours.to_zarr(da.full(4, 300, chunks=2), array)


def test_dask_takes_our_arrays_as_arrays_of_zarr_python(tmp_path: Path) -> None:
    pytest.importorskip("zarr", minversion="3.1")
    from zarrcore.integrations.zarr_python import as_zarr

    array = sharded(tmp_path)
    da.to_zarr(da.from_array(VALUES, chunks=16), as_zarr(array))
    np.testing.assert_array_equal(array[...], VALUES)
    lazy = da.from_zarr(as_zarr(array), chunks=(16, 16))
    np.testing.assert_array_equal(lazy.compute(), VALUES)


class TestProcesses:
    """A cluster of two processes on this machine."""

    @pytest.fixture(scope="class")
    @staticmethod
    def client() -> Iterator[Any]:
        distributed = pytest.importorskip("distributed")
        os.environ["PYTHONPATH"], before = os.pathsep.join(sys.path), os.environ.get("PYTHONPATH")
        try:
            with (
                distributed.LocalCluster(
                    n_workers=2, threads_per_worker=1, dashboard_address=":0"
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before

    def test_arrays_are_written_and_read(self, client: Any, tmp_path: Path) -> None:
        data = da.from_array(VALUES, chunks=(7, 9))
        array = ours.to_zarr(data, tmp_path, chunks=(4, 4), shards=(16, 16))
        np.testing.assert_array_equal(array[...], VALUES)
        lazy = ours.from_zarr(array)
        np.testing.assert_array_equal(lazy.compute(), VALUES)
        ours.to_zarr(da.zeros((16, 48)), array, region=slice(48, 64))
        fresh = ours.from_zarr(array)
        assert fresh.name != lazy.name
        assert not fresh[48:].compute().any()

    def test_an_array_in_memory_is_refused(self, client: Any) -> None:
        with pytest.raises(StoreError, match="memory of this process"):
            ours.to_zarr(da.ones((64, 48)), sharded({}))

    def test_a_call_in_a_worker_uses_its_share_of_threads(self, client: Any, tmp_path: Path) -> None:
        array = sharded(tmp_path)
        used = client.gather([client.submit(threads_after_reading, array, k, pure=False) for k in range(4)])
        assert used == [1] * 4
        assert client.submit(threads_as_configured, array).result() == 3

    def test_a_worker_that_dies_between_two_shards_loses_nothing(self, client: Any, tmp_path: Path) -> None:
        array = sharded(tmp_path / "stored")
        marks = tmp_path / "marks"
        marks.mkdir()
        data = da.from_array(VALUES, chunks=16).map_blocks(die_once, marks, dtype="f8")
        # One block after the other on one worker: the fifth ends it, and what it has written stays.
        ours.to_zarr(data, array, compute=False).compute()
        assert (marks / "died").exists()
        np.testing.assert_array_equal(array[...], VALUES)
        assert not zarrcore.verify(tmp_path / "stored").findings


def threads_after_reading(array: zarrcore.Array, number: int) -> int:
    from zarrcore._core.engine import num_threads

    array[number]
    return num_threads()


def threads_as_configured(array: zarrcore.Array) -> int:
    from zarrcore._core.engine import num_threads

    array[0]
    with zarrcore.config.set({"threading.max_workers": 3}):
        return num_threads()


def test_what_is_no_array_of_dask_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match="expected an array of dask, got ndarray"):
        zarrcore.dask.to_zarr(np.ones(3), {})


def die_once(block: np.ndarray, marks: Path) -> np.ndarray:
    """End the process in the middle of the work, once."""
    time.sleep(0.02)
    (marks / f"{os.getpid()}-{time.monotonic_ns()}").touch()
    if len(list(marks.iterdir())) >= 5:
        try:
            (marks / "died").touch(exist_ok=False)
        except FileExistsError:
            return block
        os._exit(1)
    return block
