"""Mixins for codecs that need not have a whole chunk in hand to read or write a part of it."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

import numpy as np

from zarrcore._typing import Buffer
from zarrcore.codecs.base import ArraySpec


@runtime_checkable
class ByteGetter(Protocol):
    """A place that a value can be read from, such as a :class:`~zarrcore.storage.StorePath`.

    Examples
    --------
    >>> from zarrcore.storage import make_store_path
    >>> place = make_store_path({"key": b"0123456789"}) / "key"
    >>> isinstance(place, ByteGetter), bytes(place.get((2, 3)))
    (True, b'234')
    """

    def get(self, byte_range: Any = None) -> Buffer | None: ...


@runtime_checkable
class ByteSetter(ByteGetter, Protocol):
    """A place that a value can be read from and written to.

    Examples
    --------
    >>> from zarrcore.storage import make_store_path
    >>> place = make_store_path({}, mode="a") / "key"
    >>> place.set(b"value")
    >>> isinstance(place, ByteSetter), bytes(place.get())
    (True, b'value')
    """

    def set(self, value: Buffer) -> None: ...

    def delete(self) -> None: ...

    def set_if_not_exists(self, default: Buffer) -> object: ...


class ArrayBytesCodecPartialDecodeMixin:
    """An array -> bytes codec that decodes a part of a chunk from a part of its bytes.

    Reads of parts of chunks go through :meth:`decode_partial` where the codec is the only one of the array;
    whole chunks, and chunks that other codecs have been at, go through ``decode``.  Unlike in zarr-python the
    method is called for one chunk, and is no coroutine.

    Examples
    --------
    One byte for each item, so that what is read of a slice is nothing but its bytes:

    >>> from zarrcore.codecs import BytesCodec
    >>> class Plain(ArrayBytesCodecPartialDecodeMixin, BytesCodec):
    ...     def decode_partial(self, byte_getter, selection, spec):
    ...         (part,) = selection
    ...         stored = byte_getter.get((part.start, part.stop - part.start))
    ...         return None if stored is None else np.frombuffer(stored, "u1")[:: part.step]
    >>> array = zarrcore.create_array({}, shape=6, dtype="u1", serializer=Plain(), compressors=None)
    >>> array[:] = [3, 1, 4, 1, 5, 9]
    >>> array[2:5]
    array([4, 1, 5], dtype=uint8)
    """

    def decode_partial(self, byte_getter: ByteGetter, selection: Any, spec: ArraySpec) -> np.ndarray | None:
        """Read a part of a chunk.

        Parameters
        ----------
        byte_getter : ByteGetter
            The stored chunk: ``byte_getter.get(byte_range)`` returns a part of its bytes; None if it is not
            stored.
        selection : tuple of slice or of ndarray of int
            The part: what NumPy selects with ``chunk[selection]``.
        spec : ArraySpec
            The chunk.

        Returns
        -------
        ndarray or None
            ``chunk[selection]``; None if the chunk is not stored.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement decode_partial")


class ArrayBytesCodecPartialEncodeMixin:
    """An array -> bytes codec that writes a part of a chunk without decoding the rest.

    Writes of parts of chunks go through :meth:`encode_partial` where the codec is the only one of the array.
    The chunk is locked against other threads of this process meanwhile.

    Examples
    --------
    >>> from zarrcore.codecs import BytesCodec
    >>> class Plain(ArrayBytesCodecPartialEncodeMixin, BytesCodec):
    ...     def encode_partial(self, byte_setter, values, selection, spec):
    ...         stored = byte_setter.get()
    ...         chunk = np.full(spec.shape, spec.fill_value, "u1")
    ...         if stored is not None:
    ...             chunk[:] = np.frombuffer(stored, "u1")
    ...         chunk[selection] = values
    ...         byte_setter.set(chunk.tobytes())
    >>> array = zarrcore.create_array({}, shape=6, dtype="u1", serializer=Plain(), compressors=None)
    >>> array[1:3] = [4, 5]
    >>> array[:]
    array([0, 4, 5, 0, 0, 0], dtype=uint8)
    """

    def encode_partial(
        self, byte_setter: ByteSetter, values: np.ndarray, selection: Any, spec: ArraySpec
    ) -> None:
        """Write a part of a chunk.

        Parameters
        ----------
        byte_setter : ByteSetter
            The stored chunk, with ``get(byte_range)``, ``set(value)`` and ``delete()``.
        values : ndarray
            What to store, of the shape of the selection and the data type of `spec`.
        selection : tuple of slice or of ndarray of int
            Where: what NumPy assigns to with ``chunk[selection] = values``.
        spec : ArraySpec
            The chunk; its fill value is the value of absent chunks.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement encode_partial")


class GetResult(TypedDict):
    """What zarr-python's codec pipelines tell of a chunk that they read; for annotations only.

    Examples
    --------
    >>> result: GetResult = {"status": "missing"}
    >>> result["status"]
    'missing'
    """

    status: Literal["present", "missing"]
