"""Arrays and groups of zarrcore as true arrays and groups of zarr-python, and the other way round."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import zarr
import zarr.core.array
from zarr.abc import store as abc
from zarr.core.array_spec import ArrayConfig
from zarr.core.buffer.cpu import buffer_prototype

import zarrcore
from zarrcore.arrays.config import ArrayConfig as OurConfig
from zarrcore.integrations.zarr_python.metadata import is_known_release
from zarrcore.integrations.zarr_python.pipeline import CodecPipeline
from zarrcore.storage import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarrcore.storage.awaited import Awaited


class ZarrcoreStore(Awaited, abc.Store):
    """A store of zarrcore as one of zarr-python; its calls run in worker threads.

    Parameters
    ----------
    store : zarrcore.storage.Store
        The store.
    """

    supports_partial_writes = False
    _prototype = buffer_prototype

    def __init__(self, store: Store) -> None:
        super().__init__(read_only=store.read_only)
        self.zarrcore_store = self._plain = store

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self._plain.with_read_only(read_only))

    async def set_partial_values(self, key_start_values: Any) -> None:  # zarr-python 3.1.0 wants it
        raise NotImplementedError(f"{self} does not replace parts of values")

    def __repr__(self) -> str:
        return f"ZarrcoreStore({self._plain!r})"

    @staticmethod
    def _requested(part: Any) -> Any:
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
