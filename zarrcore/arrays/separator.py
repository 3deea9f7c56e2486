"""Arrays of format 2 whose document leaves open how chunk keys are made, while the chunks tell.

The ``NestedDirectoryStore`` of zarr-python 2.2 to 2.7, and writers of OME-Zarr 0.2, stored chunks under keys
such as ``0/0`` without recording it.  To the letter the keys are ``0.0``: every chunk would be missing, and
read as the fill value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.departures import Departure, report
from zarrcore.metadata.documents import ZARRAY_JSON
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import key_prefix

_CLAUSE = 'Zarr v2, "Metadata": without dimension_separator chunk keys have the form "0.0"'


def with_separator_in_use(metadata: ArrayMetadata, place: StorePath, *, may_ask: bool) -> ArrayMetadata:
    """Return the metadata of an array with ``"/"`` in chunk keys if its chunks are stored like that.

    Metadata that name a separator are returned unchanged.  A store that cannot list the first names below a
    prefix at next to no cost is asked for the first chunk, if `may_ask`.
    """
    if not metadata.separator_is_open or metadata.ndim < 2:
        return metadata
    store, prefix = place.store, key_prefix(place.path)
    names = store._first_names(prefix)
    if names is not None:
        nested = _are_nested(store, prefix, names, metadata.ndim)
    elif may_ask:
        nested = _first_chunk_is_nested(store, prefix, metadata.ndim)
    else:
        return metadata
    found: Any = metadata
    if not nested:
        return replace(found, dimension_separator=".") if may_ask else metadata
    reading = 'missing, but chunks are stored under keys such as "0/0": read as "/"'
    report([Departure("dimension_separator", reading, _CLAUSE)], prefix + ZARRAY_JSON)
    nested_metadata: ArrayMetadata = replace(found, dimension_separator="/")
    return nested_metadata


def _first_chunk_is_nested(store: Store, prefix: str, ndim: int) -> bool:
    first = ["0"] * ndim
    return not store.exists(prefix + ".".join(first)) and store.exists(prefix + "/".join(first))


def _are_nested(store: Store, prefix: str, names: Iterable[str], ndim: int) -> bool:
    """Return whether there are chunks in folders and none outside of them."""
    chunk = re.compile(r"\d+" + r"\.\d+" * (ndim - 1))
    folder = None
    for name in names:
        if chunk.fullmatch(name):
            return False
        if name.isdecimal():
            folder = name
    return folder is not None and _has_chunks(store, f"{prefix}{folder}/", ndim - 1)


def _has_chunks(store: Store, prefix: str, depth: int) -> bool:
    """Return whether a folder has names that are indexes, to a depth."""
    index = next((name for name in store._first_names(prefix) or () if name.isdecimal()), None)
    return index is not None and (depth == 1 or _has_chunks(store, f"{prefix}{index}/", depth - 1))
