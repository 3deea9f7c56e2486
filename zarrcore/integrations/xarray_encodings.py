"""How the arrays of data sets are stored, as xarray keeps it: encodings, codecs, fill values."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from xarray.backends import zarr as theirs

from zarrcore import Array
from zarrcore._core.json_text import unshared
from zarrcore.metadata import layout
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.documents import NonFinite


class Encodings:
    """How arrays are stored, as xarray keeps it; made once for all that are stored alike."""

    def __init__(self, spell: Callable[[Any], Any]) -> None:
        self._spell = spell
        self._known: dict[tuple[Any, ...], tuple[Any, dict[str, Any]]] = {}

    def of(
        self, metadata: ArrayMetadata, dimensions: tuple[str, ...], members: Mapping[str, Any], name: str
    ) -> dict[str, Any]:
        """Return the encoding of the array that is `members[name]`; nothing that can be changed is shared."""
        stored: tuple[Any, Any]
        if metadata.zarr_format == 3:
            stored, chunks = (metadata.codecs, metadata.chunk_grid), None
        else:
            stored, chunks = (metadata.filters, metadata.compressor), metadata.chunks
        key = id(stored[0]), id(stored[1]), chunks, metadata.shape, dimensions
        known = self._known.get(key)
        if known is None:  # what is stored stays, so that nothing else gets its identity
            known = self._known[key] = stored, self._made(members[name], dimensions)
        return unshared(known[1])  # type: ignore[no-any-return]

    def _made(self, array: Array, dimensions: tuple[str, ...]) -> dict[str, Any]:
        chunks = _lengths(array, "chunks", "read_chunk_sizes")
        filters, serializer, compressors = layout.codecs_of(array.metadata)
        encoding: dict[str, Any] = {
            "chunks": chunks,
            "preferred_chunks": dict(zip(dimensions, chunks, strict=True)),
            "compressors": tuple(map(self._spell, compressors)),
            "filters": tuple(map(self._spell, filters)),
            "shards": _lengths(array, "shards", "write_chunk_sizes"),
        }
        if array.metadata.zarr_format == 3:
            encoding["serializer"] = self._spell(serializer)
        return encoding


def _lengths(array: Array, regular: str, each: str) -> Any:
    """Return chunk lengths as xarray keeps them: an int where a dimension is regular, else all lengths."""
    try:
        return getattr(array, regular)
    except NotImplementedError:
        return theirs._compact_chunk_sizes(getattr(array, each))


def of_numcodecs(codec: Any, written: dict[str, Any]) -> Any:
    """Return the codec of numcodecs, which zarr-python wants in format 2; `codec` if numcodecs lacks it."""
    try:
        return importlib.import_module("numcodecs").get_codec(written)
    except (ImportError, ValueError):
        return codec


def fill_value_of(stored: Any, dtype: Any) -> Any:
    """Return what xarray has written as a fill value; one that many variables have is decoded once."""
    decode: Any = theirs.FillValueCoder.decode
    return _known_fill_value(stored, dtype) if type(stored) is str else decode(stored, dtype)


@lru_cache(maxsize=64)
def _known_fill_value(stored: str, dtype: Any) -> Any:
    return theirs.FillValueCoder.decode(stored, dtype)


def with_nan(value: Any) -> Any:
    """Return an attribute whose NaN are written, as data from netCDF often have one for missing values."""
    if isinstance(value, float) and not np.isfinite(value):
        return NonFinite(value)
    if isinstance(value, dict):
        return {name: with_nan(item) for name, item in value.items()}
    return [*map(with_nan, value)] if isinstance(value, (list, tuple)) else value
