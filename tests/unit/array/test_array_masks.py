"""Masks, sparse and dense: what is read is what NumPy takes, whatever lies between mask and store."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays.prefetching import Prefetch
from zarrcore.errors import ChunkDecodeError
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore

BYTES = {"name": "bytes", "configuration": {"endian": "big"}}
TRANSPOSE = {"name": "transpose", "configuration": {"order": [2, 0, 1]}}
LAYOUTS = {
    "raw": {"chunks": (8, 7, 70), "compressors": None},
    "zstd": {"chunks": (8, 7, 70), "compressors": {"name": "zstd"}},
    "blosc": {"chunks": (20, 16, 140), "compressors": {"name": "blosc"}},
    "swapped": {"chunks": (8, 16, 33), "compressors": None, "serializer": BYTES},
    "transposed": {"chunks": (8, 7, 70), "filters": [TRANSPOSE]},
    "v2-f": {"chunks": (8, 7, 70), "zarr_format": 2, "order": "F"},
    "shards": {"chunks": (4, 4, 32), "shards": (12, 16, 64)},
    "one shard": {"chunks": (4, 4, 65), "shards": (20, 16, 195), "compressors": None},
    "transposed shards": {"chunks": (4, 4, 32), "shards": (12, 16, 64), "filters": [TRANSPOSE]},
    "rectilinear": {"chunks": [[5, 15], [16], [100, 30]]},
}
SHAPE = (20, 16, 130)


def _store(kind, tmp_path):
    if kind == "local":
        return LocalStore(tmp_path)
    return MemoryStore() if kind == "memory" else WrapperStore(MemoryStore())


def _ball(shape, radius):
    grid = np.meshgrid(*[np.linspace(-1, 1, n) for n in shape], indexing="ij")
    return sum(axis**2 for axis in grid) < radius**2


def _masks(shape):
    rng = np.random.default_rng(1)
    for share in (0, 1e-4, 0.01, 0.1, 0.5, 1):
        yield rng.random(shape) < share
    yield _ball(shape, 0.4)
    mask = np.zeros(shape, bool)
    mask[-1, -1, -1:] = mask[0, :, 3:5] = True
    yield mask
    yield np.asfortranarray(rng.random(shape) < 0.3)
    yield (rng.random((shape[0] * 2, *shape[1:])) < 0.2)[::2]


@pytest.mark.parametrize(  # each two of the three come together
    ("layout", "dtype", "kind"),
    [
        pytest.param(layout, dtype, ("local", "memory", "wrapped")[(row + column) % 3], id=f"{name}-{dtype}")
        for row, (name, layout) in enumerate(LAYOUTS.items())
        for column, dtype in enumerate(("u1", "<u2", ">i4", "f8", "c16", "V3"))
    ],
)
def test_as_numpy(kind, layout, dtype, tmp_path):
    if dtype == "V3" and "serializer" in layout:
        pytest.skip("bytes without an order")
    dtype = np.dtype("u1") if dtype == "V3" and layout.get("zarr_format") == 2 else np.dtype(dtype)
    raw = np.random.default_rng(2).integers(0, 256, (*SHAPE, dtype.itemsize), dtype="u1")
    expected = raw.view(dtype)[..., 0]
    if dtype.kind in "fc":
        expected = np.nan_to_num(expected)
    array = zarrcore.create_array(_store(kind, tmp_path), shape=SHAPE, dtype=dtype, **layout)
    expected = expected.astype(array.dtype)
    array[:10] = expected[:10]
    array[10:, 8:] = expected[10:, 8:]  # the rest is absent, in part or as whole chunks
    expected[10:, :8] = array.fill_value
    for mask in _masks(SHAPE):
        found = array.vindex[mask]
        assert found.dtype == array.dtype
        assert found.tobytes() == expected[mask].tobytes()
        out = np.empty(found.shape, array.dtype)
        assert array.get_mask_selection(mask, out=out) is out
        assert out.tobytes() == found.tobytes()


@pytest.mark.parametrize("shape", [(1000,), (1, 700), (700, 1), (1, 1, 1), (3, 1, 5, 90), (0, 5), (5, 0)])
def test_shapes(shape, tmp_path):
    expected = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    chunks = tuple(max(n // 2 + 1, 1) for n in shape)
    array = zarrcore.create_array(str(tmp_path), shape=shape, chunks=chunks, dtype="i4")
    array[...] = expected
    rng = np.random.default_rng(3)
    for share in (0, 0.1, 0.9, 1):
        mask = rng.random(shape) < share
        np.testing.assert_array_equal(array.vindex[mask], expected[mask])


def test_fields(tmp_path):
    dtype = np.dtype([("a", "<i2"), ("b", ">f4"), ("c", "u1", (3,))])
    raw = np.random.default_rng(4).bytes(130 * 40 * dtype.itemsize)
    expected = np.frombuffer(raw, dtype).reshape(130, 40).copy()
    expected["b"] = np.nan_to_num(expected["b"])
    array = zarrcore.create_array(str(tmp_path), shape=(130, 40), chunks=(50, 16), dtype=dtype, zarr_format=2)
    array[:100] = expected[:100]
    expected[100:] = np.zeros((), dtype)
    mask = np.random.default_rng(5).random((130, 40)) < 0.3
    for fields in ("a", "b", "c", ["b", "a"]):
        found = array.get_mask_selection(mask, fields=fields)
        for name in [fields] if isinstance(fields, str) else fields:
            part = found if isinstance(fields, str) else found[name]
            np.testing.assert_array_equal(part, expected[name][mask], strict=True)
    assert array.vindex[mask].tobytes() == expected[mask].tobytes()


def test_out_with_gaps(tmp_path):
    array = zarrcore.create_array(str(tmp_path), shape=(100, 100), chunks=(30, 40), dtype="i4")
    array[...] = np.arange(10_000).reshape(100, 100)
    mask = np.random.default_rng(6).random((100, 100)) < 0.4
    out = np.zeros((int(mask.sum()), 2), "i4")
    array.get_mask_selection(mask, out=out[:, 1])
    np.testing.assert_array_equal(out[:, 1], array[...][mask])
    assert not out[:, 0].any()


def test_only_chunks_with_wanted_elements_are_read(tmp_path):
    """A broken chunk harms who wants something of it, nobody else."""
    array = zarrcore.create_array(str(tmp_path), shape=(64, 64), chunks=(16, 16), shards=(32, 32), dtype="i4")
    array[...] = np.arange(4096).reshape(64, 64)
    (tmp_path / "c" / "1" / "1").write_bytes(b"broken")
    mask = np.zeros((64, 64), bool)
    mask[:32] = mask[:, :32] = True
    np.testing.assert_array_equal(array.vindex[mask], np.arange(4096).reshape(64, 64)[mask])
    mask[40, 40] = True
    with pytest.raises(ChunkDecodeError, match=r"1.*1"):
        array.vindex[mask]


def test_inner_chunks_without_wanted_elements_are_not_asked_for():
    asked = []

    class Counting(WrapperStore):
        def get(self, key, *args, **kwargs):
            asked.append((key, *args))
            return super().get(key, *args, **kwargs)

    store = Counting(MemoryStore())
    options = {"chunks": (16, 64), "shards": (64, 64), "compressors": None}
    array = zarrcore.create_array(store, shape=(64, 64), dtype="i4", **options)
    array[...] = np.arange(4096).reshape(64, 64)
    mask = np.zeros((64, 64), bool)
    mask[20:30] = True
    asked.clear()
    np.testing.assert_array_equal(array.vindex[mask], np.arange(4096).reshape(64, 64)[mask])
    assert sum(item[1][1] for item in asked if len(item) > 1 and isinstance(item[1], tuple)) <= 16 * 64 * 4
    assert all(len(item) > 1 for item in asked)  # never the shard as a whole


def test_through_a_cache():
    array = zarrcore.create_array({}, shape=(64, 64), chunks=(16, 16), dtype="i4").with_cache(1 << 20)
    array[...] = np.arange(4096).reshape(64, 64)
    mask = np.random.default_rng(7).random((64, 64)) < 0.5
    for _ in range(3):
        np.testing.assert_array_equal(array.vindex[mask], np.arange(4096).reshape(64, 64)[mask])
    assert array.cache.nchunks == 16
    assert array.cache.hits == 32


def test_a_mask_that_changes_behind_a_prefetch():
    array = zarrcore.create_array({}, shape=(64,), chunks=(8,), dtype="i4").with_cache(1 << 20)
    array[...] = np.arange(64)
    mask = np.ones(64, bool)
    prefetch = array.prefetch(mask)
    mask[:] = False
    prefetch.wait()
    assert array.cache.nchunks == 8


def test_indices_that_change_behind_a_prefetch(monkeypatch):
    """As those of a loader that goes on with the next batch: other chunks were read, or it was an error."""
    changed, run = threading.Event(), Prefetch._run
    monkeypatch.setattr(Prefetch, "_run", lambda self: changed.wait(60) and run(self))
    array = zarrcore.create_array({}, shape=(64,), chunks=(8,), dtype="i4").with_cache(1 << 20)
    array[...] = np.arange(64)
    indices = np.arange(0, 64, 4)
    prefetch = array.prefetch(indices)
    indices[:] = 1000
    changed.set()
    assert prefetch.wait()
    assert array.cache.nchunks == 8


def test_large_masks_on_several_threads(tmp_path):
    shape = (300, 200, 150)
    array = zarrcore.create_array(str(tmp_path), shape=shape, chunks=(64, 64, 64), dtype="u2")
    expected = np.random.default_rng(8).integers(0, 65536, shape, dtype="u2")
    array[...] = expected
    mask = np.random.default_rng(9).random(shape, "f4") < 0.02
    np.testing.assert_array_equal(array.vindex[mask], expected[mask])
