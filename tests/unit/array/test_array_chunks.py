"""Chunks in the store: which exist, what resizing and appending do to them, and what goes wrong with them."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkError, ChunkNotFoundError, ReadOnlyError
from zarrcore.storage import MemoryStore


def test_empty_chunks_are_not_stored(engine, layout):
    array = engine(zarrcore.create_array({}, shape=(23, 17), dtype="f8", fill_value=np.nan, **layout))
    array[...] = np.nan
    assert array.nchunks_initialized == 0
    array[0, 0] = 1
    assert array.nchunks_initialized > 0
    array[0, 0] = np.nan
    assert array.nchunks_initialized == 0
    array[...] = -0.0
    assert np.signbit(array[...]).all()


def test_negative_zero_is_not_the_fill_value(engine):
    array = engine(zarrcore.create_array({}, shape=(4,), chunks=(2,), dtype="f8"))
    array[...] = -0.0
    assert array.nchunks_initialized == 2
    assert np.signbit(array[...]).all()


def test_write_empty_chunks(engine):
    array = zarrcore.create_array(
        {}, shape=(4,), chunks=(2,), dtype="f8", config={"write_empty_chunks": True}
    )
    engine(array)[...] = 0
    assert array.nchunks_initialized == 2


def test_without_a_fill_value_everything_is_stored(engine):
    array = zarrcore.create_array({}, shape=(4,), chunks=(2,), dtype="f8", fill_value=None, zarr_format=2)
    assert array.fill_value is None
    engine(array)[...] = 0
    assert array.nchunks_initialized == 2


@pytest.mark.parametrize("dtype", ["M8[us]", ">M8[s]", "m8[h]"])
def test_without_a_fill_value_missing_chunks_are_not_a_time(engine, dtype):
    """As zarr-python 3 has it, and as the metadata say: the default of the data type, not zero."""
    array = zarrcore.create_array({}, shape=(4,), chunks=(2,), dtype=dtype, fill_value=None, zarr_format=2)
    assert np.isnat(array.metadata.fill_scalar)
    engine(array)[:1] = np.zeros(1, dtype)
    assert np.isnat(array[...]).tolist() == [False, True, True, True]


def test_missing_chunks_can_be_an_error():
    array = zarrcore.create_array(
        {}, shape=(4,), chunks=(2,), dtype="i4", config={"read_missing_chunks": False}
    )
    array[:2] = 1
    assert array[:2].tolist() == [1, 1]
    with pytest.raises(ChunkNotFoundError, match="c/1"):
        array[...]


def test_counts(layout):
    array = zarrcore.create_array({}, shape=(23, 17), dtype="i4", **layout)
    assert array.nchunks == int(np.prod(array.cdata_shape))
    assert array.nchunks == int(np.prod([len(sizes) for sizes in array.read_chunk_sizes]))
    assert array.nchunks_initialized == 0
    array[...] = 1
    assert array.nchunks_initialized >= array.nchunks
    assert array.nbytes == 23 * 17 * 4
    assert array.nbytes_stored() > 0
    assert [sum(sizes) for sizes in array.write_chunk_sizes] == [23, 17]


def test_a_huge_array_costs_nothing():
    array = zarrcore.create_array({}, shape=(10**15, 10**12), chunks=(1, 1), dtype="u1", compressors=None)
    assert array.nchunks == 10**27
    array[10**14, 5:7] = 3
    assert array.nchunks_initialized == 2
    small = zarrcore.create_array({}, shape=(10**15,), chunks=(2,), dtype="u1")
    assert next(iter(small)) == 0
    assert array[10**14 - 1 : 10**14 + 2, 4:8].sum() == 6
    array.resize((10**14, 10**12))
    assert array.nchunks_initialized == 0


def test_resize(pair):
    array, values = pair
    array.resize((11, 17))
    np.testing.assert_array_equal(array[...], values[:11])
    array.resize((25, 20))
    expected = np.full((25, 20), -1, dtype="i4")
    expected[:11, :17] = values[:11]
    np.testing.assert_array_equal(array[...], expected)
    again = zarrcore.open_array(array.store, mode="r")
    np.testing.assert_array_equal(again[...], expected)


def test_shrinking_forgets(pair):
    array, values = pair
    array.resize((7, 3))
    array.resize((23, 17))
    expected = np.full((23, 17), -1, dtype="i4")
    expected[:7, :3] = values[:7, :3]
    np.testing.assert_array_equal(array[...], expected)


@pytest.mark.parametrize("chunks", [(3, 2), (4, 5), ((2, 3, 4, 1), (5,)), ((1, 1, 8), (2, 3))], ids=str)
def test_shrinking_removes_what_lies_outside_alone(chunks):
    lengths = [[c] * 10 if isinstance(c, int) else c for c in chunks]
    for rows, columns in itertools.product((0, 1, 2, 3, 5, 6, 9, 10), (0, 2, 4, 5)):
        store = {}
        array = zarrcore.create_array(store, shape=(10, 5), chunks=chunks, dtype="i4", fill_value=-1)
        array[...] = values = np.arange(50).reshape(10, 5)
        array.resize((rows, columns))
        stored = {key for key in store if key != "zarr.json"}
        left = [
            [k for k in range(len(edges)) if sum(edges[:k]) < n]
            for edges, n in zip(lengths, (rows, columns), strict=True)
        ]
        assert stored == {f"c/{i}/{j}" for i, j in itertools.product(*left)}
        array.resize((10, 5))
        expected = np.full((10, 5), -1)
        expected[:rows, :columns] = values[:rows, :columns]
        np.testing.assert_array_equal(array[...], expected)


def test_resize_to_nothing_and_back(pair):
    array, _ = pair
    array.resize((0, 17))
    assert array[...].shape == (0, 17)
    assert array.nchunks_initialized == 0
    array.resize((23, 17))
    assert (array[...] == -1).all()


@pytest.mark.parametrize("shape", [(3,), (1, 2, 3), (-1, 3), (1.5, 2), "ab", (True, 3)])
def test_resize_refuses(shape):
    array = zarrcore.create_array({}, shape=(4, 4), chunks=(2, 2), dtype="i4")
    with pytest.raises((TypeError, ValueError)):
        array.resize(shape)
    assert array.shape == (4, 4)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_append(pair, axis):
    array, values = pair
    more = values[:4] if axis == 0 else values[:, :4]
    assert array.append(more, axis=axis) == np.concatenate([values, more], axis).shape
    np.testing.assert_array_equal(array[...], np.concatenate([values, more], axis))


def test_append_refuses(pair):
    array, values = pair
    for data, axis in [(values[:, :3], 0), (values[0], 0), (values, 2), (values + 0.5, 0)]:
        with pytest.raises((ValueError, TypeError)):
            array.append(data, axis)
    np.testing.assert_array_equal(array[...], values)


def test_corrupt_chunks_are_named(engine):
    store = {}
    array = zarrcore.create_array(store, name="a/b", shape=(4, 4), chunks=(2, 2), dtype="i4")
    array[...] = 7
    store["a/b/c/1/0"] = b"nonsense"
    with pytest.raises(ChunkError) as caught:
        engine(array)[...]
    assert caught.value.array == "a/b"
    assert caught.value.key == "a/b/c/1/0"
    assert caught.value.chunk == (1, 0)
    assert array[:2].tolist() == [[7] * 4] * 2
    with pytest.raises(ChunkError):
        array[3, 0] = 1


def test_truncated_chunks_are_refused(engine):
    store = {}
    array = engine(zarrcore.create_array(store, shape=(4,), chunks=(2,), dtype="i4", compressors=None))
    array[...] = 7
    store["c/1"] = store["c/1"][:5]
    with pytest.raises(ChunkError):
        array[...]


class FailingStore(MemoryStore):
    """A store whose chunks cannot be read."""

    def get(self, key, byte_range=None):
        if "c/" in key:
            raise OSError("the disk is gone")
        return super().get(key, byte_range)


def test_a_failing_store_gives_no_fill_values(engine):
    array = engine(zarrcore.create_array(FailingStore(), shape=(4, 4), chunks=(2, 2), dtype="i4"))
    with pytest.raises(OSError, match="the disk is gone"):
        array[...]
    with pytest.raises(OSError, match="the disk is gone"):
        array[0, 0]
    with pytest.raises(OSError, match="the disk is gone"):
        array[0, 0] = 1


def test_read_only(tmp_path):
    zarrcore.create_array(tmp_path / "x", shape=(4,), chunks=(2,), dtype="i4")
    array = zarrcore.open_array(tmp_path / "x", mode="r")
    assert array.read_only
    for write in (
        lambda: array.__setitem__(0, 1),
        lambda: array.resize(8),
        lambda: array.append([1]),
        lambda: array.attrs.update(a=1),
        lambda: array.vindex.__setitem__(([0],), 1),
    ):
        with pytest.raises(ReadOnlyError):
            write()
    assert issubclass(ReadOnlyError, ValueError)


def test_threads_that_patch_one_chunk_lose_nothing(engine):
    array = engine(zarrcore.create_array({}, shape=(64,), chunks=(64,), dtype="i4"))

    def work(start):
        for position in range(start, 64, 8):
            array[position] = position + 1

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array[...].tolist() == list(range(1, 65))


def test_threads_that_write_different_fields_lose_nothing():
    dtype = [("a", "i4"), ("b", "i4")]
    array = zarrcore.create_array({}, shape=(40,), chunks=(40,), dtype=dtype, zarr_format=2)

    def work(field):
        for position in range(40):
            array[field, position] = position

    threads = [threading.Thread(target=work, args=(field,)) for field in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array["a"].tolist() == array["b"].tolist() == list(range(40))
