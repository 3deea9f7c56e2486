"""Arrays and groups of zarrcore as true arrays and groups of zarr-python, and the other way round."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import fields
from typing import Any, Self

import zarr
import zarr.core.array
from zarr.abc import store as abc
from zarr.core.array_spec import ArrayConfig
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.buffer.cpu import buffer_prototype

import zarrcore
from zarrcore._awaited import STORES
from zarrcore.arrays.config import ArrayConfig as OurConfig
from zarrcore.integrations.zarr_python.metadata import is_known_release
from zarrcore.integrations.zarr_python.pipeline import CodecPipeline
from zarrcore.storage import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarrcore.storage.validation import answers, as_view


class ZarrcoreStore(abc.Store):
    """A store of zarrcore as one of zarr-python; its calls run in worker threads.

    Parameters
    ----------
    store : zarrcore.storage.Store
        The store.
    """

    supports_partial_writes = False

    def __init__(self, store: Store) -> None:
        super().__init__(read_only=store.read_only)
        self.zarrcore_store = store

    supports_writes = property(lambda self: self.zarrcore_store.supports_writes)
    supports_deletes = property(lambda self: self.zarrcore_store.supports_deletes)
    supports_listing = property(lambda self: self.zarrcore_store.supports_listing)
    supports_consolidated_metadata = property(lambda self: self.zarrcore_store.supports_consolidated_metadata)

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self.zarrcore_store.with_read_only(read_only))

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: Any = None
    ) -> Buffer | None:
        return (await self.get_partial_values(prototype or buffer_prototype, [(key, byte_range)]))[0]

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, Any]]
    ) -> list[Buffer | None]:
        requests = [(key, _ours(part)) for key, part in key_ranges]
        found = await STORES.run(self.zarrcore_store.get_partial_values, requests)
        return [
            None if value is None else prototype.buffer.from_bytes(bytes(as_view(value, key)))
            for (key, _), value in zip(requests, answers(found, len(requests), "get_many"), strict=True)
        ]

    async def exists(self, key: str) -> bool:
        return await STORES.run(self.zarrcore_store.exists, key)

    async def getsize(self, key: str) -> int:
        return await STORES.run(self.zarrcore_store.getsize, key)

    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await STORES.run_to_end(self.zarrcore_store.set, key, value.to_bytes())

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await STORES.run_to_end(self.zarrcore_store.set_if_not_exists, key, value.to_bytes())

    async def set_partial_values(self, key_start_values: Any) -> None:  # zarr-python 3.1.0 wants it
        raise NotImplementedError(f"{self} does not replace parts of values")

    async def delete(self, key: str) -> None:
        self._check_writable()
        await STORES.run_to_end(self.zarrcore_store.delete, key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await STORES.run_to_end(self.zarrcore_store.erase_prefix, prefix)

    async def clear(self) -> None:
        self._check_writable()
        await STORES.run_to_end(self.zarrcore_store.clear)

    async def list(self) -> AsyncIterator[str]:
        for key in await STORES.run(lambda: [*self.zarrcore_store.list()]):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        # A prefix of zarr-python may end within a name.
        above = prefix.rpartition("/")[0]
        for key in await STORES.run(lambda: [*self.zarrcore_store.list_prefix(above)]):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        for name in await STORES.run(lambda: [*self.zarrcore_store.list_dir(prefix)]):
            yield name

    def close(self) -> None:
        super().close()
        self.zarrcore_store.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZarrcoreStore) and self.zarrcore_store == other.zarrcore_store

    def __str__(self) -> str:
        return str(self.zarrcore_store)

    def __repr__(self) -> str:
        return f"ZarrcoreStore({self.zarrcore_store!r})"


def _ours(part: Any) -> Any:
    """Return a byte range of zarr-python as one of this package."""
    match part:
        case abc.RangeByteRequest(start, end):
            return RangeByteRequest(start, max(start, end))
        case abc.OffsetByteRequest(offset):
            return OffsetByteRequest(offset)
        case abc.SuffixByteRequest(suffix):
            return SuffixByteRequest(suffix)
    return None


def as_zarr(node: zarrcore.Array | zarrcore.Group) -> Any:
    """Return an array or a group as one of zarr-python; see :meth:`zarrcore.Array.as_zarr`.

    Parameters
    ----------
    node : Array or Group
        The array or group, of format 2 or 3.

    Raises
    ------
    TypeError
        If `node` is something else.
    ValueError
        If it is of format 1.
    """
    if not isinstance(node, (zarrcore.Array, zarrcore.Group)):
        raise TypeError(f"as_zarr: expected an array or a group of zarrcore, got {type(node).__name__}")
    zarr_format = node.metadata.zarr_format
    if zarr_format == 1:
        raise ValueError(
            f"as_zarr: {node!r} is of format 1, which zarr-python 3 does not have; migrate() converts it"
        )
    place = zarr.storage.StorePath(ZarrcoreStore(node.store), node.path)
    options: Any = {"mode": "r" if node.store.read_only else "r+", "zarr_format": zarr_format}
    if isinstance(node, zarrcore.Group):
        return zarr.open_group(place, **options)
    config = _shared(node.config)
    found = zarr.open_array(place, **options)._async_array
    # Older releases open without a configuration, and the first one has no with_config.
    return zarr.Array(type(found)(found.metadata, found.store_path, ArrayConfig.from_dict(config)))


def _shared(config: Any) -> Any:
    """Return those settings of an array, of either package, that both have."""
    names = {field.name for field in fields(ArrayConfig)} & {field.name for field in fields(OurConfig)}
    return {name: getattr(config, name) for name in names if hasattr(config, name)}


def from_zarr(node: Any) -> zarrcore.Array | zarrcore.Group:
    """Return an array or a group of zarr-python as one of zarrcore; see :func:`zarrcore.from_zarr`.

    Parameters
    ----------
    node : zarr.Array, zarr.Group, zarr.AsyncArray or zarr.AsyncGroup
        The array or group.

    Raises
    ------
    TypeError
        If `node` is something else.
    """
    is_array = isinstance(node, (zarr.Array, zarr.AsyncArray))
    if not is_array and not isinstance(node, (zarr.Group, zarr.AsyncGroup)):
        raise TypeError(f"from_zarr: expected an array or a group of zarr-python, got {type(node).__name__}")
    place = node.store_path
    store = getattr(place.store, "zarrcore_store", place.store)
    options: Any = {"path": place.path, "mode": "r" if place.store.read_only else "r+"}
    options["zarr_format"] = node.metadata.zarr_format
    if is_array:
        theirs = getattr(node, "_async_array", node)
        config = getattr(theirs, "config", None) or theirs._config
        return zarrcore.open_array(store, config=_shared(config), **options)
    return zarrcore.open_group(store, **options)


if is_known_release():
    _of_zarr_python = zarr.core.array.create_codec_pipeline

    def _create_codec_pipeline(metadata: Any, *, store: Any = None) -> Any:
        """Return the pipeline of an array: ours, whatever is configured, for one in a store of ours."""
        if isinstance(store, ZarrcoreStore):
            return CodecPipeline.from_array_metadata_and_store(metadata, store)
        return _of_zarr_python(metadata, store=store)

    zarr.core.array.create_codec_pipeline = _create_codec_pipeline
ZarrcoreStore.__module__ = "zarrcore.integrations.zarr_python"
