"""The writer that gathers: what comes out is what numpy would have, and every chunk is written once."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrcore
from zarrcore import errors
from zarrcore.arrays import forgotten
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore, ZipStore
from zarrcore.testing import strategies as zst

MODEL = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
SHARDED = {"chunks": (2, 3), "shards": (6, 9)}


class CountingStore(WrapperStore):
    """Counts what is asked of it, and fails for some keys."""

    def __init__(self, inner: Any = None) -> None:
        super().__init__(MemoryStore() if inner is None else inner)
        self.calls: Counter[tuple[str, str]] = Counter()
        self.broken: set[str] = set()

    def get(self, key: str, byte_range: Any = None) -> Any:
        self.calls["get", key] += 1
        return super().get(key, byte_range)

    def get_many(self, keys: Any) -> Any:
        self.calls.update(("get", key) for key in keys)
        return super().get_many(keys)

    def set(self, key: str, value: Any) -> None:
        self.calls["set", key] += 1
        if key in self.broken:
            raise OSError(f"no room for {key}")
        super().set(key, value)

    def of(self, call: str) -> dict[str, int]:
        return {key: n for (name, key), n in self.calls.items() if name == call and key.startswith("c/")}


def new(store: Any = None, **options: Any) -> Any:
    options = {"shape": (23, 17), "dtype": "i4", "fill_value": -1, **SHARDED, **options}
    return zarrcore.create_array({} if store is None else store, **options)


# --- values ---


@MODEL
@given(data=st.data(), max_bytes=st.sampled_from([None, 1, 300]), size=st.integers(1, 8))
def test_gathered_writes_are_those_of_numpy(pair: Any, data: Any, max_bytes: int | None, size: int) -> None:
    array, model = pair
    with array.writer(max_bytes=max_bytes, threads=2) as w:
        for number in range(size):
            kind = data.draw(st.sampled_from(("basic", "orthogonal", "points", "mask", "read")))
            if kind == "basic":
                index = data.draw(zst.basic_indices(model.shape))
                w[index] = model[index] = np.full(np.shape(model[index]), number)
            elif kind == "orthogonal":
                index = data.draw(zst.orthogonal_indices(model.shape))
                outer = np.ix_(*(np.arange(n)[i] for i, n in zip(index, model.shape, strict=True)))
                values = np.arange(model[outer].size).reshape(model[outer].shape)
                w.oindex[index] = values
                model[outer] = values
            elif kind == "points":
                index = data.draw(zst.point_indices(model.shape))
                w.vindex[index] = model[index] = np.arange(len(index[0]))
            elif kind == "mask":
                mask = data.draw(zst.masks(model.shape))
                w[mask] = model[mask] = number
            else:
                index = data.draw(zst.basic_indices(model.shape))
                assert np.array_equal(w[index], model[index])
                points = data.draw(zst.point_indices(model.shape))
                assert np.array_equal(w.vindex[points], model[points])
    assert np.array_equal(array[...], model)


@pytest.mark.parametrize("dtype", [">f8", "bool", "S3", "M8[s]", "c8", [("a", "i2"), ("b", ">f4", (2,))]])
def test_data_types(dtype: Any) -> None:
    array = new(dtype=dtype, fill_value=None, zarr_format=2, chunks=(5, 4), shards=None)
    model = array[...]  # of fill values
    values = np.random.default_rng(0).integers(0, 2, (23, 17)).astype("u1")
    given_values = values.astype("i8").astype(array.dtype) if array.dtype.kind in "SM" else values
    if array.dtype.names:
        given_values = np.zeros(values.shape, array.dtype)
        given_values["a"], given_values["b"] = values, values[..., None]
    with array.writer() as w:
        for row in range(0, 23, 2):
            w[row, 3:] = given_values[row, 3:]
            model[row, 3:] = given_values[row, 3:]
    assert array[...].tobytes() == model.tobytes()


def test_strings_of_any_length() -> None:
    array = new(dtype="str", fill_value="", chunks=(5, 4), shards=None)
    with array.writer() as w:
        w[3, 2:9] = ["", "a", "zwei", "x" * 100, "b", "c", "d"]
        w[4] = "row"
        assert w[3, 4] == "zwei"
    assert array[3, 5] == "x" * 100
    assert (array[4] == "row").all()
    assert array[5, 5] == ""


def test_fields_of_records() -> None:
    array = new(dtype=[("a", "i4"), ("b", "f8")], fill_value=0, chunks=(5, 4), shards=None)
    with array.writer() as w:
        w["a", 2:4] = 7
        w["b", 3] = 0.5
        assert (w["a", 2:5, 0] == [7, 7, 0]).all()
        out = np.empty(17)
        assert w.read(("b", 3), out=out) is out
        assert (out == 0.5).all()
    assert array[3, 3].tolist() == (7, 0.5)


def test_an_array_without_dimensions() -> None:
    array = new(shape=(), chunks=(), shards=None)
    with array.writer() as w:
        w[()] = 5
        assert w[()] == 5
    assert array[()] == 5


def test_the_values_are_copied() -> None:
    array = new()
    row = np.arange(17)
    with array.writer() as w:
        for number in range(2):
            row[:] = number
            w[number] = row
    assert array[:2, 5].tolist() == [0, 1]


# --- how often chunks are touched ---


@pytest.mark.parametrize("options", [SHARDED, {"chunks": (6, 9), "shards": None}])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_complete_chunk_is_written_once_and_never_read(options: Any, rows: int) -> None:
    store = CountingStore()
    array = new(store, **options)
    array[...] = 1  # or nothing would have to be read
    store.calls.clear()
    with array.writer() as w:
        for row in range(0, 23, rows):
            w[row : row + rows] = row
    assert set(store.of("set").values()) == {1}
    assert len(store.of("set")) == 8
    assert store.of("get") == {}
    assert (array[:, 3] == np.arange(23) // rows * rows).all()


def test_a_chunk_given_in_part_is_read_and_written_once() -> None:
    store = CountingStore()
    array = new(store)
    array[...] = 1
    store.calls.clear()
    with array.writer() as w:
        for row in range(5):
            w[row, 2] = 9
    assert store.of("get") == store.of("set") == {"c/0/0": 1}
    assert np.array_equal(array[:7, 2], [9, 9, 9, 9, 9, 1, 1])


def test_covered_chunks_are_written_at_once() -> None:
    store = CountingStore()
    with new(store).writer() as w:
        w[:13, ::-1] = np.arange(13 * 17).reshape(13, 17)
        assert set(store.of("set")) == {"c/0/0", "c/0/1", "c/1/0", "c/1/1"}
        assert 0 < w.pending_bytes <= 12 * 9 * 5
        w[0, 0] = -5
        w[:6] = 3  # makes what is pending of the first shards out of date
    assert (w.array[:6] == 3).all()
    assert store.of("set")["c/0/0"] == 2


def test_the_memory_is_bounded() -> None:
    store = CountingStore()
    array = new(store, shape=(600, 90))
    shard = 6 * 9 * 5  # with its mask
    with array.writer(max_bytes=10 * shard) as w:
        for column in range(90):
            for row in range(0, 600, 6):
                w[row, column] = row + column
                assert w.pending_bytes <= 11 * shard
    assert np.array_equal(array[::6], np.add.outer(np.arange(0, 600, 6), np.arange(90)))


def test_chunks_of_fill_values_are_not_stored() -> None:
    store = MemoryStore()
    array = new(store)
    array[...] = 1
    with array.writer() as w:
        for row in range(6):
            w[row] = -1
        w[7] = -1
    keys = {key for key in store.list() if key.startswith("c/")}
    assert keys == {f"c/{i}/{j}" for i in range(1, 4) for j in range(2)}
    assert (array[7] == -1).all()
    assert (array[8] == 1).all()


def test_append_gathers() -> None:
    store = CountingStore()
    array = new(store, shape=(0, 17))
    with array.writer() as w:
        for row in range(20):
            assert w.append(np.full((1, 17), row)) == (row + 1, 17)
        assert np.array_equal(w[:, 0], np.arange(20))
    assert np.array_equal(array[:, 16], np.arange(20))
    # at the end of the array chunks are complete when a row is, but not for long
    assert max(store.of("set").values()) <= 6
    array = new(CountingStore(), shape=(0, 17))
    with array.writer() as w:
        for row in range(0, 20, 2):
            w.append(np.full((1, 17), row))
            w[row, 3] = -7
            w.append(np.full((1, 17), row + 1))
    assert np.array_equal(array[:, 0], np.arange(20))
    assert array[::2, 3].tolist() == [-7] * 10


def test_rows_are_part_of_the_array_once_they_are_stored() -> None:
    array = new(CountingStore(), shape=(0, 17))
    with array.writer() as w:
        assert w.append(np.full((8, 8 + 9), 5)) == (8, 17) == w.shape
        assert (w[:] == 5).all()
        w.append(np.full((2, 17), 6))
        w[1, 1] = -3
        w[9, 1] = -7
        stored = zarrcore.open_array(array.store)
        assert stored.shape[0] in (6, 8, 10)
        assert (stored[...] != -1).all()
        w.flush()
        assert array.shape == zarrcore.open_array(array.store).shape == (10, 17)
        w.append(np.full((0, 17), 6))
        w.append(np.full((10, 3), 7), axis=-1)
        w.append(np.full((1, 20), 8))
    assert array.shape == (11, 20)
    assert (array[9, 1], array[1, 1], array[8, 2], array[9, 18], array[10, 19]) == (-7, -3, 6, 7, 8)
    assert (array[...] != -1).all()


def test_other_handles_append_beside_a_writer() -> None:
    """Rows that a writer has gathered become part of the array before those of another handle."""
    array = new(CountingStore(), shape=(0, 17), chunks=(4, 17), shards=None)
    other, another, third = (zarrcore.open_array(array.store) for _ in range(3))
    with array.writer() as w, another.writer() as v:
        for row in range(0, 40, 4):
            w.append(np.full((1, 17), row))
            other.append(np.full((1, 17), row + 1))
            v.append(np.full((1, 17), row + 2))
            third.append(np.full((1, 17), row + 3))
        w.append(np.full((1, 17), 40))
        array.attrs["x"] = 1
        other.resize((50, 17))
    assert array[:41, 3].tolist() == list(range(41))
    assert (array[41:] == -1).all()
    assert zarrcore.open_array(array.store).attrs["x"] == 1


@pytest.mark.parametrize("broken", ["c/0/0", "c/1/0", "c/2/0", "c/3/0", "zarr.json"])
@pytest.mark.parametrize("pending", [True, False])
def test_an_append_that_fails_leaves_what_was_given_before(broken: str, pending: bool) -> None:
    store = CountingStore()
    array = new(store, shape=(2, 17), chunks=(4, 17), shards=None)
    array[...] = 1
    w = array.writer()
    w[1, 3] = 9
    w.append(np.full((1, 17), 2))
    if not pending:
        w.flush()
    store.broken = {broken}
    if broken in ("c/0/0", "zarr.json"):  # not written yet: the first chunk is not complete
        w.append(np.full((11, 17), 3))
        with pytest.raises(OSError, match="no room for"):
            w.flush()
        store.broken = set()
        w.close()
        assert array[:, 3].tolist() == [1, 9, 2] + [3] * 11
        return
    with pytest.raises(OSError, match="no room for"):
        w.append(np.full((11, 17), 3))
    store.broken = set()
    assert w.shape == (3, 17)
    w.append(np.full((2, 17), 4))
    w.close()
    assert array[:, 3].tolist() == [1, 9, 2, 4, 4]
    array.resize((30, 17))
    assert (array[5:] == -1).all()


def test_an_append_whose_shape_cannot_be_stored() -> None:
    store = CountingStore()
    array = new(store, shape=(0, 17), chunks=(4, 17), shards=None)
    with array.writer() as w:
        w.append(np.full((4, 17), 1))
        store.broken = {"zarr.json"}
        with pytest.raises(OSError, match="no room for zarr.json"):
            w.append(np.full((6, 17), 2))
        assert w.shape == array.shape == (4, 17)
        assert sorted(store.list()) == ["c/0/0", "zarr.json"]
        store.broken = set()
        w.append(np.full((1, 17), 3))
    assert array[:, 3].tolist() == [1, 1, 1, 1, 3]


def test_what_cannot_be_stored_ends_the_array_before_it() -> None:
    store = CountingStore()
    array = new(store, shape=(0, 17), chunks=(4, 17), shards=None)
    w = array.writer()
    for row in range(3):
        w.append(np.full((1, 17), row))
    w[1, 3] = 9
    store.broken = {"c/0/0"}
    with pytest.raises(errors.ChunkIOError):
        w.flush()
    store.broken = set()
    w.append(np.full((1, 17), 3))
    w.close()
    assert array[:, 3].tolist() == [0, 9, 2, 3]


def test_a_document_that_another_program_changed_meanwhile(tmp_path: Path) -> None:
    array = new(tmp_path, shape=(0, 17), chunks=(4, 17), shards=None)
    w = array.writer()
    w.append(np.full((2, 17), 1))
    text = (tmp_path / "zarr.json").read_text()
    w[0, 0] = 5
    w.append(np.full((1, 17), 1))
    (tmp_path / "zarr.json").write_text(text.replace('"attributes": {}', '"attributes": {"x": 1}'))
    w.append(np.full((1, 17), 1))
    w.flush()
    assert zarrcore.open_array(tmp_path).shape == (4, 17)


# --- stores ---


def test_stores(tmp_path: Any) -> None:
    for store in (LocalStore(tmp_path / "a"), ZipStore(tmp_path / "b.zip", mode="w"), CountingStore()):
        array = new(store)
        with array.writer() as w:
            for row in range(23):
                w[row, row % 5 :] = row
        assert np.array_equal(array[:, 16], np.arange(23))
        store.close()


@pytest.mark.parametrize("gathered", [True, False])
def test_inner_chunks_beside_those_given_are_moved_undecoded(gathered: bool, tmp_path: Any) -> None:
    array = new(tmp_path, compressors={"name": "zstd", "configuration": {"level": 1, "checksum": True}})
    array[...] = np.arange(23 * 17).reshape(23, 17)
    path = tmp_path / "c" / "0" / "0"
    data = bytearray(path.read_bytes())
    data[6] ^= 0xFF  # in the first inner chunk
    damaged = bytes(data[:12])
    path.write_bytes(data)
    with array.writer() as w:
        target = w if gathered else array
        target[4, 4] = 1000
        target[2:4, 0:3] = 7
    assert path.read_bytes().startswith(damaged)
    assert array[4, 4] == 1000
    assert (array[2:4, 0:3] == 7).all()
    assert array[5, 8] == 5 * 17 + 8
    with pytest.raises(errors.ChunkDecodeError, match=r"inner chunk \(0, 0\)"):
        array[0, 0]


# --- errors ---


def test_one_chunk_that_fails_does_not_lose_the_others() -> None:
    store = CountingStore()
    array = new(store)
    store.broken = {"c/1/0"}
    w = array.writer()
    w[:, 3] = np.arange(23)
    with pytest.raises(errors.ChunkIOError, match="no room for c/1/0") as caught:
        w.flush()
    assert caught.value.chunk == (1, 0)
    assert array[:6, 3].tolist() == list(range(6))
    assert array[12:, 3].tolist() == list(range(12, 23))
    assert w.pending_bytes > 0
    store.broken.clear()
    w.close()
    assert array[:, 3].tolist() == list(range(23))


def test_all_chunks_that_fail_are_named() -> None:
    store = CountingStore()
    array = new(store)
    store.broken = {"c/1/0", "c/3/0"}
    w = array.writer()
    w[:, 3] = 1
    with pytest.raises(errors.FlushError, match=r"2 chunks could not be written.*c/1/0.*c/3/0") as caught:
        w.close()
    assert [failure.chunk for failure in caught.value.failures] == [(1, 0), (3, 0)]
    assert isinstance(caught.value, errors.ChunkError)
    copy = pickle.loads(pickle.dumps(caught.value.located(codec="zstd")))
    assert [str(failure) for failure in copy.failures] == [str(failure) for failure in caught.value.failures]
    assert w.closed
    w.close()
    assert array[2, 3] == 1


def test_a_full_store_does_not_make_the_memory_grow() -> None:
    store = CountingStore()
    array = new(store, shape=(600, 9))
    store.broken = {f"c/{i}/0" for i in range(100)}
    block = 2 * 3 * 5  # with its mask
    w = array.writer(max_bytes=10 * block)
    failed = 0
    for row in range(0, 600, 6):
        try:
            w[row, 0] = 1
        except errors.ChunkError:
            failed += 1
        assert w.pending_bytes <= 11 * block
    assert failed == 90
    store.broken.clear()
    w.close()


def test_an_exception_in_the_block_does_not_lose_what_was_given() -> None:
    array = new()
    with pytest.raises(ZeroDivisionError), array.writer() as w:
        w[0] = 5
        1 / 0  # noqa: B018
    assert (array[0] == 5).all()


def test_a_closed_writer_refuses() -> None:
    array = new()
    w = array.writer()
    w.close()
    for call in (lambda: w[0], lambda: w.write(0, 1), lambda: w.append(np.zeros((1, 17))), w.__enter__):
        with pytest.raises(ValueError, match="the writer is closed"):
            call()


def test_wrong_arguments() -> None:
    array = new()
    with pytest.raises(ValueError, match="max_bytes: expected 1 or more, got 0"):
        array.writer(max_bytes=0)
    with array.writer() as w:
        with pytest.raises(ValueError, match="do not fit a selection"):
            w[0] = np.zeros(5)
        with pytest.raises(OverflowError, match="out of range"):
            w[0] = 1 << 40
        with pytest.raises(IndexError):
            w[99] = 1
        array.resize((30, 17))
        with pytest.raises(ValueError, match="changed from .* while a writer was open"):
            w[0] = 1
    with pytest.raises(errors.ReadOnlyError):
        zarrcore.open_array(array.store.with_read_only(True)).writer()


def finish_forgotten() -> None:
    for thread in forgotten._at_work:
        thread.join()


def test_what_is_pending_in_a_forgotten_writer_is_written() -> None:
    w = new().writer()
    w[0, 0] = 1
    array = w.array
    with pytest.warns(errors.ZarrUserWarning, match="1 chunks pending.*was not closed.*written now"):
        del w
    finish_forgotten()
    assert array[0, 0] == 1


@pytest.mark.filterwarnings("ignore:.*others have written it since")
def test_a_forgotten_writer_warns_and_overwrites_nothing_newer() -> None:
    w = new().writer()
    w[0, 0] = 1
    array = w.array
    array[0, 0] = 2
    with pytest.warns(errors.ZarrUserWarning, match="1 chunks pending.*was not closed"):
        del w
    finish_forgotten()
    assert array[0, 0] == 2


FORGETS = """
import sys, zarrcore
array = zarrcore.create_array(sys.argv[1], shape=(4, 4), chunks=(2, 2), dtype="i4")
writers = [array.writer(), array.writer()]
writers[0][0, 0] = 1
writers[1][3, 3] = 2
"""


@pytest.mark.parametrize("how", ["always", "error"])
def test_writers_that_nobody_closed_are_written_at_the_end_of_the_program(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", how, "-c", FORGETS, str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "1 chunks pending> was not closed: its pending values are written at the end" in done.stderr
    array = zarrcore.open_array(tmp_path / "a")
    assert (array[0, 0], array[3, 3]) == (1, 2)


FORKS = (
    FORGETS
    + """
import os
if os.fork() == 0:
    del writers
    sys.exit()
os.wait()
assert array[0, 0] == 0
array[:2, :2] = 5
"""
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_write_what_is_pending_in_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKS, str(tmp_path / "a")]
    subprocess.run(command, check=True, timeout=60)
    array = zarrcore.open_array(tmp_path / "a")
    assert (array[0, 0], array[3, 3]) == (5, 2)


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_writer_is_not_copied(way: Any) -> None:
    """A copy shared what was pending, and stored it again; to pickle one was an error without a reason."""
    with zarrcore.zeros(4, store={}).writer() as writer, pytest.raises(TypeError, match="stored twice"):
        way(writer)
