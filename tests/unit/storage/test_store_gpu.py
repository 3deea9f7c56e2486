"""A store in the memory of a GPU, with numpy in place of cupy: no machine that runs these tests has a GPU."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import StoreError
from zarrcore.storage import GpuMemoryStore
from zarrcore.testing.store import StoreTests


class DeviceArray(np.ndarray):
    """Stands for an array of cupy, which gives no memory to the host."""

    def __buffer__(self, flags):
        raise TypeError("on the GPU")


CUPY = SimpleNamespace(
    ndarray=DeviceArray,
    asarray=lambda array: np.array(array).view(DeviceArray),
    asnumpy=lambda array: np.array(array),
    ascontiguousarray=lambda array: np.ascontiguousarray(array).view(DeviceArray),
)


@pytest.fixture(autouse=True)
def cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", CUPY)


class TestGpuMemoryStore(StoreTests):
    picklable = False

    def make_store(self, tmp_path):
        return GpuMemoryStore()


def test_values_are_on_the_gpu():
    values = {}
    array = zarrcore.create_array(GpuMemoryStore(values), shape=(10, 10), chunks=(5, 5), dtype="f4")
    array[...] = np.arange(100).reshape(10, 10)
    assert all(type(value) is DeviceArray for value in values.values())
    assert len(values) == 5
    assert zarrcore.open_array(GpuMemoryStore(values))[3:7, ::-3].tolist() == [
        [row * 10.0 + column for column in (9, 6, 3, 0)] for row in range(3, 7)
    ]


def test_a_copy_of_a_dictionary():
    store = GpuMemoryStore.from_dict({"a": b"12", "b": CUPY.asarray(np.array([1, 2], "<u2"))})
    assert (bytes(store.get("a")), bytes(store.get("b"))) == (b"12", b"\1\0\2\0")
    assert str(store).startswith("gpumemory://")


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(StoreError, match="cupy"):
        GpuMemoryStore()
