"""The metadata of an array as properties, which need no look into the store."""

from __future__ import annotations

import math
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrcore._validate import of_array
from zarrcore.arrays.config import ArrayConfig
from zarrcore.engine.projection import Axis, axes_of
from zarrcore.errors import BaseZarrError
from zarrcore.metadata import layout
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.node import Node


class ArrayDescription(Node):
    """The properties that arrays, synchronous or not, have from their metadata and settings."""

    __slots__ = ()

    __class_getitem__: Any = classmethod(GenericAlias)  # annotations: Array[ArrayV3Metadata]

    if TYPE_CHECKING:

        @property
        def _metadata(self) -> ArrayMetadata: ...

        @property
        def _config(self) -> ArrayConfig: ...

    @property
    def metadata(self) -> ArrayMetadata:
        """The metadata document."""
        return self._metadata

    @property
    def config(self) -> ArrayConfig:
        """Run-time settings."""
        return self._config

    @property
    def _chunk_grid(self) -> Any:
        """The chunks, as indexers take them: the name that annbatch uses."""
        from zarrcore.arrays.indexers import ChunkGrid

        return ChunkGrid.from_metadata(self._metadata)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return self._metadata.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._metadata.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """Data type in memory."""
        try:
            return self._metadata.np_dtype
        except BaseZarrError:
            with of_array(self.path):
                raise

    @property
    def fill_value(self) -> Any:
        """Value of elements that were never written; None if a format 2 array defines none."""
        return self._metadata.fill_value

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """Names of the dimensions, or None; in format 2 those that xarray stores in an attribute."""
        return layout.dimension_names(self._metadata)

    @property
    def order(self) -> Literal["C", "F"]:
        """Memory layout of the arrays that a read returns."""
        return self._metadata.order if self._metadata.zarr_format == 2 else self._config.order

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a chunk; of an inner chunk if the array is sharded."""
        try:
            return self._metadata.chunks
        except BaseZarrError:
            with of_array(self.path):
                raise

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of a shard, or None if the array is not sharded."""
        return self._metadata.shards

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of the chunks (inner chunks, if sharded) along each dimension, cut at the array's end.

        More than 16,777,216 along all dimensions together are a `MetadataValidationError`.
        """
        inner = layout.inner_chunks(self._metadata)
        with of_array(self.path):
            return layout.chunk_sizes(inner or layout.grid_edges(self._metadata), self.shape)

    @property
    def write_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of the chunks (shards, if sharded) along each dimension, cut at the array's end.

        More than 16,777,216 along all dimensions together are a `MetadataValidationError`.
        """
        with of_array(self.path):
            return layout.chunk_sizes(layout.grid_edges(self._metadata), self.shape)

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Number of chunks along each dimension (of inner chunks, if sharded)."""
        from zarrcore.engine.projection import grid_shape

        try:
            inner = layout.inner_chunks(self._metadata)
            return grid_shape(self.shape, inner or layout.grid_edges(self._metadata))
        except BaseZarrError:
            with of_array(self.path):
                raise

    @property
    def nchunks(self) -> int:
        """Number of chunks (of inner chunks, if sharded), stored or not."""
        return math.prod(self.cdata_shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes of all elements in memory; :meth:`nbytes_stored` is what the store has of them."""
        return self.size * self.dtype.itemsize

    @property
    def filters(self) -> tuple[Any, ...]:
        """Codecs from array to array."""
        return layout.codecs_of(self._metadata)[0]

    @property
    def serializer(self) -> Any | None:
        """Codec from array to bytes; None for format 2."""
        return layout.codecs_of(self._metadata)[1]

    @property
    def compressors(self) -> tuple[Any, ...]:
        """Codecs from bytes to bytes."""
        return layout.codecs_of(self._metadata)[2]

    @property
    def compressor(self) -> Any | None:
        """The compressor of a format 2 array.

        Raises
        ------
        TypeError
            For format 3 arrays, which may have several: see `compressors`.
        """
        if self._metadata.zarr_format == 3:
            raise TypeError("compressor exists for format 2 arrays only; use compressors")
        return self._metadata.compressor


def grid_axes(array: ArrayDescription) -> tuple[Axis, ...]:
    """Return the axes of the chunk grid."""
    with of_array(array.path):
        return axes_of(array.shape, layout.grid_edges(array.metadata))
