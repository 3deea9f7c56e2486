"""Buffers as zarr-python knows them: objects around bytes and around arrays.

zarrcore does not need them: stores take and return bytes-like objects, arrays are numpy arrays.  They are
here for scripts that wrap values for ``Store.set``, which every store takes, or look at ``BufferPrototype``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._typed import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, Self

    import numpy.typing as npt

__all__ = [
    "ArrayLike",
    "Buffer",
    "BufferPrototype",
    "NDArrayLike",
    "NDBuffer",
    "buffer_prototype",
    "default_buffer_prototype",
]

ArrayLike = NDArrayLike = np.ndarray
"""What buffers are made of."""


class Buffer:
    """Bytes, as a one-dimensional array of them.

    Parameters
    ----------
    array_like : ndarray
        One dimension, items of one byte.

    Examples
    --------
    >>> (Buffer.from_bytes(b"0123")[1:3] + Buffer.from_bytes(b"ab")).to_bytes()
    b'12ab'
    """

    def __init__(self, array_like: Any) -> None:
        array = np.asarray(array_like)
        if array.ndim != 1 or array.dtype.itemsize != 1:
            raise ValueError(
                f"expected one dimension of single bytes, got shape {array.shape} of {array.dtype}"
            )
        self._data: np.ndarray = array.view("u1")

    @classmethod
    def create_zero_length(cls) -> Self:
        """No bytes."""
        return cls(np.empty(0, "u1"))

    @classmethod
    def from_array_like(cls, array_like: Any) -> Self:
        """Return a buffer around an array of bytes, which is not copied."""
        return cls(array_like)

    @classmethod
    def from_buffer(cls, buffer: Any) -> Self:
        """Return a buffer of this class with the bytes of another one."""
        return cls(buffer.as_numpy_array())

    @classmethod
    def from_bytes(cls, bytes_like: Any) -> Self:
        """Return a buffer around a bytes-like object, which is not copied."""
        return cls(np.frombuffer(bytes_like, "u1"))

    def as_numpy_array(self) -> np.ndarray:
        """Return the array of bytes."""
        return self._data

    as_array_like = as_numpy_array

    def as_buffer_like(self) -> memoryview:
        """Return the bytes, as an object that supports the buffer protocol."""
        return memoryview(np.ascontiguousarray(self._data))

    def to_bytes(self) -> bytes:
        """Return a copy of the bytes."""
        return self._data.tobytes()

    def combine(self, others: Iterable[Buffer]) -> Self:
        """Return the bytes of this buffer followed by those of others."""
        return type(self)(np.concatenate([self._data, *(other.as_numpy_array() for other in others)]))

    def __add__(self, other: Buffer) -> Self:
        return self.combine([other])

    def __getitem__(self, key: slice) -> Self:
        if not isinstance(key, slice):
            raise TypeError(f"expected a slice, got {key!r}")
        return type(self)(self._data[key])

    def __setitem__(self, key: slice, value: Any) -> None:
        self._data[key] = value.as_numpy_array() if isinstance(value, Buffer) else value

    def __len__(self) -> int:
        return self._data.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]


class NDBuffer:
    """An array of any shape and data type.

    Parameters
    ----------
    array : ndarray
        The array, which is not copied.

    Examples
    --------
    >>> NDBuffer.create(shape=(2, 2), dtype="i2", fill_value=7).as_numpy_array()
    array([[7, 7],
           [7, 7]], dtype=int16)
    """

    def __init__(self, array: Any) -> None:
        self._data: np.ndarray = np.asarray(array)

    @classmethod
    def create(
        cls,
        *,
        shape: Iterable[int],
        dtype: npt.DTypeLike,
        order: Literal["C", "F"] = "C",
        fill_value: Any | None = None,
    ) -> Self:
        """Return a new array; without a fill value its items are zero."""
        array: np.ndarray = np.zeros(tuple(shape), dtype, order)
        if fill_value is not None:
            array.fill(fill_value)
        return cls(array)

    @classmethod
    def empty(cls, shape: tuple[int, ...], dtype: npt.DTypeLike, order: Literal["C", "F"] = "C") -> Self:
        """Return a new array whose items are undefined."""
        return cls(np.empty(shape, dtype, order))

    @classmethod
    def from_numpy_array(cls, array_like: npt.ArrayLike) -> Self:
        """Return a buffer around an array, which is not copied."""
        return cls(array_like)

    from_ndarray_like = from_numpy_array

    def as_numpy_array(self) -> np.ndarray:
        """Return the array."""
        return self._data

    as_ndarray_like = as_numpy_array

    def as_scalar(self) -> Any:
        """Return the only item, as NumPy has it: Python has none for nanoseconds."""
        if self._data.size != 1:
            raise ValueError(f"expected a single item, got shape {self._data.shape}")
        return self._data.reshape(())[()]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type."""
        return self._data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return self._data.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._data, dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> Self:
        return type(self)(self._data[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[key] = value._data if isinstance(value, NDBuffer) else value

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        return f"<NDBuffer shape={self.shape} dtype={self.dtype}>"


class BufferPrototype(NamedTuple):
    """The classes of buffers that a program works with.

    Examples
    --------
    >>> prototype = BufferPrototype(Buffer, NDBuffer)
    >>> prototype.nd_buffer.empty((2, 3), "f4").shape
    (2, 3)
    """

    buffer: type[Buffer]
    nd_buffer: type[NDBuffer]


buffer_prototype = BufferPrototype(Buffer, NDBuffer)
"""The classes of this module."""


def default_buffer_prototype() -> BufferPrototype:
    """Return the classes that :func:`zarrcore.registry.get_buffer_class` and ``get_ndbuffer_class`` return.

    Examples
    --------
    >>> default_buffer_prototype().buffer.from_bytes(b"ab").to_bytes()
    b'ab'
    """
    from zarrcore.registry import get_buffer_class, get_ndbuffer_class

    return BufferPrototype(get_buffer_class(), get_ndbuffer_class())
