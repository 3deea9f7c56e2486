"""Mixins for codecs that need not have a whole chunk in hand to read or write a part of it."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

import numpy as np

from zarrcore._typing import Buffer
from zarrcore.codecs.base import ArraySpec


@runtime_checkable
class ByteGetter(Protocol):
    """A place that a value can be read from, such as a :class:`~zarrcore.storage.StorePath`."""

    def get(self, byte_range: Any = None) -> Buffer | None: ...


@runtime_checkable
class ByteSetter(ByteGetter, Protocol):
    """A place that a value can be read from and written to."""

    def set(self, value: Buffer) -> None: ...

    def delete(self) -> None: ...

    def set_if_not_exists(self, default: Buffer) -> object: ...


class ArrayBytesCodecPartialDecodeMixin:
    """An array -> bytes codec that decodes a part of a chunk from a part of its bytes.

    Reads of parts of chunks go through :meth:`decode_partial` where the codec is the only one of the array;
    whole chunks, and chunks that other codecs have been at, go through ``decode``.  Unlike in zarr-python the
    method is called for one chunk, and is no coroutine.
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
    """What zarr-python's codec pipelines tell of a chunk that they read; for annotations only."""

    status: Literal["present", "missing"]
