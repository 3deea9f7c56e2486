"""Buffers for scripts written for zarr-python, and the classes that the configuration chooses."""

from __future__ import annotations

import numpy as np
import pytest

import zarrcore
from zarrcore.buffer import BufferPrototype, cpu, default_buffer_prototype
from zarrcore.codecs import CodecChain
from zarrcore.config import config
from zarrcore.errors import BadConfigError
from zarrcore.registry import (
    get_buffer_class,
    get_ndbuffer_class,
    get_pipeline_class,
    register_buffer,
    register_ndbuffer,
    register_pipeline,
)
from zarrcore.storage import MemoryStore


def test_bytes():
    buffer = cpu.Buffer.from_bytes(b"0123456789")
    assert len(buffer) == 10
    assert buffer.to_bytes() == bytes(buffer.as_buffer_like()) == b"0123456789"
    assert buffer[2:4].to_bytes() == b"23"
    assert (buffer[:2] + buffer[8:]).to_bytes() == b"0189"
    assert buffer == cpu.Buffer.from_buffer(buffer) == cpu.Buffer.from_array_like(buffer.as_array_like())
    assert buffer != b"0123456789"
    assert len(cpu.Buffer.create_zero_length()) == 0
    writable = cpu.Buffer(np.zeros(3, "i1"))
    writable[1:] = buffer[:2]
    assert writable.to_bytes() == b"\x0001"
    with pytest.raises(TypeError, match="slice"):
        buffer[0]
    for bad in (np.zeros((2, 2), "u1"), np.zeros(2, "u2")):
        with pytest.raises(ValueError, match="single bytes"):
            cpu.Buffer(bad)


def test_arrays():
    buffer = cpu.NDBuffer.create(shape=(2, 3), dtype="i4", order="F", fill_value=7)
    assert (buffer.shape, buffer.dtype, len(buffer)) == ((2, 3), np.dtype("i4"), 2)
    assert buffer.as_numpy_array().flags.f_contiguous
    buffer[0] = cpu.NDBuffer.from_numpy_array(np.array([1, 2, 3]))
    assert np.array_equal(buffer, [[1, 2, 3], [7, 7, 7]])
    assert cpu.NDBuffer.from_ndarray_like(np.array([[5]])).as_scalar() == 5
    assert cpu.NDBuffer.empty((2,), "f4")[:1].shape == (1,)
    assert (cpu.NDBuffer.create(shape=(2,), dtype="f4").as_ndarray_like() == 0).all()
    assert "shape=(2, 3)" in repr(buffer)


@pytest.mark.parametrize("value", ["2001-01-01T01:02:03.000000004", "NaT"])
def test_a_scalar_keeps_its_data_type(value):
    """Nanoseconds came back as numbers, since Python has no such times."""
    scalar = cpu.NDBuffer.from_numpy_array(np.array([value], "M8[ns]")).as_scalar()
    assert scalar.dtype == "M8[ns]" and str(scalar) == value
    with pytest.raises(ValueError, match="single item"):
        cpu.NDBuffer.empty((2,), "f4").as_scalar()


def test_stores_and_arrays_take_them():
    store = MemoryStore()
    store.set("k", default_buffer_prototype().buffer.from_bytes(b"value"))
    assert store.get("k") == b"value"
    array = zarrcore.ones((4, 4), dtype="f4")
    out = default_buffer_prototype().nd_buffer.empty((4, 4), "f4")
    array.get_basic_selection(out=out, prototype=default_buffer_prototype())
    assert np.array_equal(out, np.ones((4, 4)))


def test_zarr_python_makes_the_same_of_them():
    theirs = pytest.importorskip("zarr.buffer").cpu.Buffer.from_bytes(b"0123")
    store = MemoryStore()
    store.set("k", theirs)
    assert store.get("k") == cpu.Buffer.from_buffer(theirs).to_bytes() == b"0123"


CHOICES = [
    ("buffer", register_buffer, get_buffer_class, cpu.Buffer),
    ("ndbuffer", register_ndbuffer, get_ndbuffer_class, cpu.NDBuffer),
    ("codec_pipeline.path", register_pipeline, get_pipeline_class, CodecChain),
]


@pytest.mark.parametrize(("setting", "register", "get", "default"), CHOICES)
def test_the_class_in_use(setting, register, get, default):
    class Mine(default):
        pass

    assert get() is get(reload_config=True) is default
    register(Mine)
    assert get() is default
    with config.set({setting: f"{Mine.__module__}.{Mine.__qualname__}"}):
        assert get() is Mine
    with config.set({setting: "nobody.knows.it"}), pytest.raises(BadConfigError, match="nobody.knows.it"):
        get()


@pytest.mark.parametrize(("setting", "register", "get", "default"), CHOICES)
def test_a_class_that_cannot_be_used_is_refused_when_it_is_registered(setting, register, get, default):
    with pytest.raises(TypeError, match=f"the class dict for the setting '{setting}': it has no .*"):
        register(dict)
    with pytest.raises(TypeError, match="it is no class"):
        register({})
    with config.set({setting: "builtins.dict"}), pytest.raises(BadConfigError, match=r"builtins\.dict"):
        get()


@pytest.mark.parametrize(("setting", "register", "get", "default"), CHOICES)
def test_the_classes_of_zarr_python_can_be_registered(setting, register, get, default):
    pytest.importorskip("zarr")
    from zarr.registry import get_buffer_class, get_ndbuffer_class, get_pipeline_class

    theirs = {"buffer": get_buffer_class, "ndbuffer": get_ndbuffer_class}.get(setting, get_pipeline_class)()
    register(theirs)
    with config.set({setting: f"{theirs.__module__}.{theirs.__qualname__}"}):
        assert get() is theirs


def test_the_prototype_follows():
    class Mine(cpu.Buffer):
        pass

    register_buffer(Mine, "mine")
    with config.set({"buffer": "mine"}):
        assert default_buffer_prototype() == BufferPrototype(Mine, cpu.NDBuffer)
