"""Chunks that a killed removal, or creation, has left: a new array would read them as its own."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, compress, islice, product, repeat

from zarrcore.engine.build import chunk_store
from zarrcore.errors import MetadataValidationError, NodeIOError
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.keys.base import chunk_coords, key_maker
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.reading import key_text, reading
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import is_document, key_prefix

_BATCH = 256  # of keys looked for in one call
_FEW = 64  # keys
_AS_MANY = 6  # keys that are walked through in the time in which one is made and looked for
_MOST_ASKED = 1 << 16  # chunks whose keys cannot be read backwards; of more, any key counts


def chunk_left(place: StorePath, metadata: ArrayMetadata) -> str | None:
    """Return the key of a chunk that a new array would find at its place, or None.

    None as well where the store cannot list its keys: not everyone who may write may list.
    """
    prefix, store = key_prefix(place.path), chunk_store(metadata, place)
    try:
        with reading(place, prefix):
            walked = store._walked_keys()
            if walked is not None and len(walked[1]) < _FEW and not _is_any_below(prefix, *walked):
                return None
            if not store.supports_listing:
                return None
            return next(_chunks_left(store, prefix, metadata, walked), None)
    except NodeIOError as error:
        if isinstance(error.__cause__, MetadataValidationError):  # of a grid or a key encoding of a user's
            raise error.__cause__ from None
        if store._is_near:
            raise
        return None


def _is_any_below(prefix: str, start: str, keys: Iterable[str]) -> bool:
    return any(map(str.startswith, [*keys], repeat(start + prefix)))


def _chunks_left(
    store: Store, prefix: str, metadata: ArrayMetadata, walked: tuple[str, Collection[str]] | None
) -> Iterator[str]:
    counts = metadata.chunk_grid.grid_shape(metadata.shape)
    if walked is not None:
        # To look for each chunk costs less than to walk through many more keys than there can be chunks.
        if _AS_MANY * math.prod(counts) < len(walked[1]):
            start, keys = walked
            return filter(keys.__contains__, _grid_keys(start + prefix, metadata, counts))
        if not _is_any_below(prefix, *walked):
            return iter(())
    return _listed(store, prefix, metadata, counts)


def _grid_keys(prefix: str, metadata: ArrayMetadata, counts: Sequence[int]) -> Iterator[str]:
    """Yield the keys of all chunks of a grid."""
    encoding = metadata.chunk_key_encoding
    kind, separator = encoding.native() or ("", "")
    if counts and kind in ("default", "v2"):  # in a fourth of the time
        first, *axes = [[*map(str, range(count))] for count in counts if all(counts)] or [[]]
        begin = f"{prefix}c{separator}" if kind == "default" else prefix
        return map(separator.join, product([begin + index for index in first], *axes))
    encode = key_maker(encoding)
    return (prefix + encode(coords) for coords in product(*map(range, counts)))


def _which_are_there(store: Store, keys: Iterator[str]) -> Iterator[str]:
    while batch := [*islice(keys, _BATCH)]:
        yield from compress(batch, store._which_exist(batch))


def _listed(store: Store, prefix: str, metadata: ArrayMetadata, counts: Sequence[int]) -> Iterator[str]:
    """Yield the keys of chunks that are listed; only what can be the beginning of one is looked into."""
    encoding, ndim = metadata.chunk_key_encoding, len(metadata.shape)
    if encoding.native() is None:
        keys: Iterable[str] = store._list_stored(prefix)
        if type(encoding).decode is ChunkKeyEncoding.decode:
            keys = (key for key in keys if not (key.endswith("/") or is_document(key)))
            few = math.prod(counts) <= _MOST_ASKED
            asked = _which_are_there(store, _grid_keys(prefix, metadata, counts))
            yield from asked if few and any(keys) else keys
            return
    else:
        head, slash, _ = encoding.encode((0,) * ndim).partition("/")
        can_begin = re.compile(re.escape(head).replace("0", "[0-9]+")).fullmatch
        found = (prefix + name for name in map(key_text, store.list_dir(prefix)) if can_begin(name))
        keys = chain.from_iterable(store._list_stored(f"{name}/") for name in found) if slash else found
    for key in keys:
        if not key.endswith("/") and chunk_coords(encoding, key[len(prefix) :], ndim) is not None:
            yield key
