"""Stores whose methods are coroutines, as those of zarr-python: the base class that packages derive from.

Where zarrcore takes the place of zarr-python (:func:`zarrcore.compat.stand_in`), ``zarr.abc.store`` has these
names.  Functions of zarrcore take such stores, and run their coroutines on an event loop in another thread.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from zarrcore.compat.buffers import Buffer, BufferPrototype, buffer_prototype, default_buffer_prototype
from zarrcore.config import config
from zarrcore.errors import ReadOnlyError
from zarrcore.storage.byte_range import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
)
from zarrcore.storage.validation import validate_prefix

__all__ = [
    "ByteGetter",
    "ByteRequest",
    "ByteSetter",
    "OffsetByteRequest",
    "RangeByteRequest",
    "Store",
    "SuffixByteRequest",
    "SupportsDeleteSync",
    "SupportsGetSync",
    "SupportsSetSync",
    "SupportsSyncStore",
    "SyncByteGetter",
    "SyncByteSetter",
    "set_or_delete",
]


class Store(ABC):
    """A mapping of keys to buffers, whose methods are coroutines.

    Parameters
    ----------
    read_only : bool
        Refuse every write.

    Examples
    --------
    >>> from zarrcore.compat.buffers import buffer_prototype
    >>> class DictStore(Store):
    ...     supports_writes = supports_deletes = supports_listing = True
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.values = {}
    ...     def __eq__(self, other):
    ...         return self is other
    ...     async def get(self, key, prototype, byte_range=None):
    ...         value = self.values.get(key)
    ...         return None if value is None else prototype.buffer.from_bytes(value)
    ...     async def get_partial_values(self, prototype, key_ranges):
    ...         return [await self.get(key, prototype, part) for key, part in key_ranges]
    ...     async def exists(self, key):
    ...         return key in self.values
    ...     async def set(self, key, value):
    ...         self.values[key] = value.to_bytes()
    ...     async def delete(self, key):
    ...         self.values.pop(key, None)
    ...     async def list(self):
    ...         for key in list(self.values):
    ...             yield key
    ...     async def list_prefix(self, prefix):
    ...         for key in list(self.values):
    ...             if key.startswith(prefix):
    ...                 yield key
    ...     async def list_dir(self, prefix):
    ...         start = len(f"{prefix}/" if prefix else "")
    ...         for name in {key[start:].partition("/")[0] async for key in self.list_prefix(prefix)}:
    ...             yield name
    >>> array = zarrcore.create_array(DictStore(), shape=4, dtype="i4")
    >>> array[:2] = 7
    >>> array[:].tolist()
    [7, 7, 0, 0]
    """

    zarrcore_prototype: ClassVar[BufferPrototype] = buffer_prototype  # what zarrcore asks such stores for

    _read_only: bool
    _is_open: bool

    def __init__(self, *, read_only: bool = False) -> None:
        self._is_open = False
        self._read_only = read_only

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Create a store and open it.

        Parameters
        ----------
        *args, **kwargs
            The arguments of the class.
        """
        store = cls(*args, **kwargs)
        await store._open()
        return store

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError(f"{self} is open already")
        self._is_open = True

    async def _ensure_open(self) -> None:
        if not self._is_open:
            await self._open()

    def close(self) -> None:
        """Release what the store keeps open."""
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to be written."""
        return self._read_only

    def with_read_only(self, read_only: bool = False) -> Store:
        """Return the same store, read-only or writable.

        Parameters
        ----------
        read_only : bool
            Whether the returned store refuses writes.
        """
        raise NotImplementedError(f"{type(self).__name__} has no with_read_only")

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self} is read-only and cannot be written")

    # --- what a store must have ---

    @property
    @abstractmethod
    def supports_writes(self) -> bool:
        """Whether values can be stored."""

    @property
    @abstractmethod
    def supports_deletes(self) -> bool:
        """Whether keys can be removed."""

    @property
    @abstractmethod
    def supports_listing(self) -> bool:
        """Whether keys can be listed."""

    @property
    def supports_partial_writes(self) -> bool:
        """Whether parts of values can be stored: never."""
        return False

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Whether consolidated metadata are of use in this store."""
        return True

    @abstractmethod
    def __eq__(self, value: object) -> bool:
        """Return whether two stores have the same values."""

    @abstractmethod
    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the value at a key, or a part of it; None if there is none.

        Parameters
        ----------
        key : str
            The key.
        prototype : BufferPrototype
            The class of the buffer that is returned.
        byte_range : RangeByteRequest, OffsetByteRequest or SuffixByteRequest, optional
            The part to return.
        """

    @abstractmethod
    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> Sequence[Buffer | None]:
        """Return many values, or parts of values, in the order of the requests.

        Parameters
        ----------
        prototype : BufferPrototype
            The class of the buffers that are returned.
        key_ranges : iterable of (key, byte range or None)
            What to read.
        """

    @abstractmethod
    async def exists(self, key: str) -> bool:
        """Return whether there is a value at a key."""

    @abstractmethod
    async def set(self, key: str, value: Buffer) -> None:
        """Store a value at a key.

        Parameters
        ----------
        key : str
            The key.
        value : Buffer
            The value.
        """

    @abstractmethod
    async def delete(self, key: str) -> None:
        """Remove a key and its value."""

    @abstractmethod
    def list(self) -> AsyncIterator[str]:
        """Return an iterator over all keys."""

    @abstractmethod
    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Return an iterator over the keys that begin with a prefix, in full."""

    @abstractmethod
    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Return an iterator over the names of keys and prefixes directly below a prefix."""

    # --- what is built on these ---

    async def _get_many(
        self, requests: Iterable[tuple[str, BufferPrototype, ByteRequest | None]]
    ) -> AsyncIterator[tuple[str, Buffer | None]]:
        for key, prototype, part in requests:
            yield key, await self.get(key, prototype, part)

    async def get_ranges(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        **options: Any,
    ) -> AsyncIterator[Sequence[tuple[int, Buffer | None]]]:
        """Yield parts of a value, each with its place among those that are asked for.

        Parameters
        ----------
        key : str
            The key.
        byte_ranges : sequence of byte ranges or None
            The parts.
        prototype : BufferPrototype
            The class of the buffers.
        **options
            Options of zarr-python, which have no effect here.

        Raises
        ------
        FileNotFoundError
            In a group of errors, if there is no value.
        """
        found = await self.get_partial_values(prototype, [(key, part) for part in byte_ranges])
        if None in found:
            raise BaseExceptionGroup("get_ranges", [FileNotFoundError(key)])
        yield [*enumerate(found)]

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Store a value unless the key has one.

        Parameters
        ----------
        key : str
            The key.
        value : Buffer
            The value.
        """
        if not await self.exists(key):
            await self.set(key, value)

    async def _set_many(self, values: Iterable[tuple[str, Buffer]]) -> None:
        await asyncio.gather(*(self.set(key, value) for key, value in values))

    async def getsize(self, key: str) -> int:
        """Return the size of a value, in bytes.

        Raises
        ------
        FileNotFoundError
            If there is no value at the key.
        """
        value = await self.get(key, default_buffer_prototype())
        if value is None:
            raise FileNotFoundError(key)
        return len(value)

    async def getsize_prefix(self, prefix: str) -> int:
        """Return the sum of the sizes of all values below a prefix, in bytes."""
        gate = asyncio.Semaphore(config.get("async.concurrency"))

        async def size(key: str) -> int:
            async with gate:
                return await self.getsize(key)

        keys = [key async for key in self.list_prefix(validate_prefix(prefix))]
        return sum(await asyncio.gather(*map(size, keys)))

    async def is_empty(self, prefix: str) -> bool:
        """Return whether there is no key below a prefix."""
        async for _ in self.list_prefix(validate_prefix(prefix)):
            return False
        return True

    async def delete_dir(self, prefix: str) -> None:
        """Remove all keys below a prefix."""
        self._check_writable()
        for key in [key async for key in self.list_prefix(validate_prefix(prefix))]:
            await self.delete(key)

    async def clear(self) -> None:
        """Remove all keys."""
        self._check_writable()
        await self.delete_dir("")


@runtime_checkable
class ByteGetter(Protocol):
    """A place that a value can be read from."""

    async def get(
        self, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None: ...


@runtime_checkable
class ByteSetter(ByteGetter, Protocol):
    """A place that a value can be read from and written to."""

    async def set(self, value: Buffer) -> None: ...

    async def delete(self) -> None: ...

    async def set_if_not_exists(self, default: Buffer) -> None: ...


@runtime_checkable
class SyncByteGetter(Protocol):
    """A place that a value can be read from without an event loop."""

    def get_sync(
        self, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None: ...


@runtime_checkable
class SyncByteSetter(SyncByteGetter, Protocol):
    """A place that a value can be written to without an event loop."""

    def set_sync(self, value: Buffer) -> None: ...

    def delete_sync(self) -> None: ...


@runtime_checkable
class SupportsGetSync(Protocol):
    """A store that can be read without an event loop."""

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None: ...


@runtime_checkable
class SupportsSetSync(Protocol):
    """A store that can be written without an event loop."""

    def set_sync(self, key: str, value: Buffer) -> None: ...


@runtime_checkable
class SupportsDeleteSync(Protocol):
    """A store that keys can be removed from without an event loop."""

    def delete_sync(self, key: str) -> None: ...


@runtime_checkable
class SupportsSyncStore(SupportsGetSync, SupportsSetSync, SupportsDeleteSync, Protocol):
    """A store that can be read and written without an event loop.

    Examples
    --------
    >>> from zarrcore.compat.zarr.storage import MemoryStore
    >>> isinstance(MemoryStore(), SupportsSyncStore), isinstance({}, SupportsSyncStore)
    (True, False)
    """


async def set_or_delete(byte_setter: ByteSetter, value: Buffer | None) -> None:
    """Store a value at a place, or remove what is there if the value is None.

    Parameters
    ----------
    byte_setter : ByteSetter
        The place.
    value : Buffer or None
        What to store.

    Examples
    --------
    >>> from zarrcore.compat.sync import sync
    >>> from zarrcore.compat.zarr.storage import MemoryStore, StorePath
    >>> store = MemoryStore()
    >>> sync(set_or_delete(StorePath(store, "key"), Buffer.from_bytes(b"value")))
    >>> sync(store.get("key")).to_bytes()
    b'value'
    """
    if value is None:
        await byte_setter.delete()
    else:
        await byte_setter.set(value)
