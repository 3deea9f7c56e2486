"""Reading into memory of the caller that is no NumPy array."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import pytest

import zarrcore

VALUES = np.arange(24, dtype="i4").reshape(4, 6)


@pytest.fixture(params=[{}, {"shards": (4, 6)}], ids=["chunks", "shards"])
def array(request: pytest.FixtureRequest) -> zarrcore.Array:
    return zarrcore.create_array({}, data=VALUES, chunks=(2, 3), **request.param)


class Tensor:
    """An array that offers its memory by DLPack, as libraries of tensors do."""

    def __init__(self, values: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.values = values
        self._device = device

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


class OldTensor(Tensor):
    """One that cannot say in that protocol that its memory may be written to, as older torch."""

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self.values.__dlpack__(stream=stream)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values


class Interface:
    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


class Values:
    """An array whose data type is none of NumPy's, as those of torch."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values)
        self.shape, self.dtype = self._values.shape, f"library.{self._values.dtype}"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._values

    def __index__(self) -> int:
        return int(self._values)


def test_arrays_of_other_libraries_are_data_and_indices(array: zarrcore.Array) -> None:
    """The data type was refused, and so was an integer without dimensions, which NumPy takes."""
    made = zarrcore.create_array({}, data=Values(VALUES), chunks=2)
    assert made.dtype == VALUES.dtype and np.array_equal(made[...], VALUES)
    assert np.array_equal(array[Values(2)], VALUES[2])
    assert np.array_equal(array.oindex[Values(2), Values([1, 0])], VALUES[2, [1, 0]])
    for wrong in (Values(2.0), Values(True)):
        with pytest.raises(IndexError):
            array[wrong]


@pytest.mark.parametrize("kind", [Tensor, OldTensor, Interface, memoryview])
@pytest.mark.parametrize("is_strided", [False, True])
def test_memory_of_other_libraries_is_filled(kind: Any, is_strided: bool, array: zarrcore.Array) -> None:
    values = np.zeros((8, 6), "i4")[::2] if is_strided else np.zeros((4, 6), "i4")
    out = kind(values)
    assert array.read(out=out) is out and np.array_equal(values, VALUES)
    values[:] = 0
    assert array.get_orthogonal_selection(([0, 2, 1, 3], slice(None)), out=out) is out
    assert np.array_equal(values, VALUES[[0, 2, 1, 3]])


@pytest.fixture
def shared() -> Iterator[SharedMemory]:
    memory = SharedMemory(create=True, size=24 * 4)
    yield memory
    memory.close()
    memory.unlink()


def test_bytes_are_filled(array: zarrcore.Array, shared: SharedMemory) -> None:
    plain = bytearray(24 * 4)
    for out in (plain, memoryview(plain)[24:48], shared.buf[:96]):
        rows = len(out) // 24
        assert array.read(slice(0, rows), out=out) is out
        assert bytes(out) == VALUES[:rows].tobytes()


def test_many_selections_fill_memory_of_the_caller(array: zarrcore.Array, shared: SharedMemory) -> None:
    rows: Any = [3, 0, 2, 1]
    for out in (bytearray(96), shared.buf[:96], Tensor(np.zeros((4, 6), "i4"))):
        assert array.read_many(rows, out=out) is out
        found = out.values.tobytes() if isinstance(out, Tensor) else bytes(out)
        assert found == VALUES[rows].tobytes()
    each = [bytearray(24), Tensor(np.zeros(6, "i4")), np.zeros(6, "i4"), memoryview(bytearray(24))]
    array.read_many(rows, out=each)
    found = [getattr(out, "values", out) for out in each]
    assert b"".join(map(bytes, found)) == VALUES[rows].tobytes()
    both = bytearray(48)
    with pytest.raises(ValueError, match="overlap"):
        array.read_many([0, 1], out=[memoryview(both)[:24], memoryview(both)[12:36]])


def test_what_does_not_fit_is_refused(array: zarrcore.Array) -> None:
    with pytest.raises(ValueError, match="expected 96 bytes.* got 95 bytes"):
        array.read(out=bytearray(95))
    with pytest.raises(ValueError, match="read-only"):
        array.read(out=bytes(96))
    with pytest.raises(ValueError, match="data type"):
        array.read(out=Tensor(np.zeros((4, 6), "f4")))
    fixed = np.zeros((4, 6), "i4")
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array.read(out=Interface(fixed))
    with pytest.raises(TypeError, match="memory of the CPU, got Tensor"):
        array.read(out=Tensor(fixed, device=(2, 0)))  # that of a GPU
    for wrong in ([0] * 24, "text", 5, array, object()):
        with pytest.raises(TypeError, match="memory of the CPU"):
            array.read(out=wrong)  # type: ignore[arg-type]


def test_copies_of_arrays() -> None:
    array = zarrcore.create_array({}, data=VALUES, chunks=(2, 3))
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)
    for copy in (True, None):
        assert np.array_equal(np.asarray(array, dtype="f8", copy=copy), VALUES)
    assert np.array_equal(np.from_dlpack(array[1:3]), VALUES[1:3])  # what is read offers its memory
