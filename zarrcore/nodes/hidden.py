"""Chunks that are not absent although no key has their name: something else is in their place.

Reading them is an error.  A copy that goes by keys alone would leave them out, and read as fill values there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from zarrcore.engine.projection import Axis, axes_of
from zarrcore.errors import BaseZarrError, NodeIOError, named, shown
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.keys.base import chunk_coords, chunk_key, names_hidden_by
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, layout
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import read_node
from zarrcore.nodes.reading import listed_below
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import is_document, key_prefix


def keys_to_copy(place: StorePath, wanted: Callable[[str], bool] = lambda key: True) -> Sequence[str]:
    """Return the wanted keys below a place; a chunk in whose place is something else is an error."""
    listed = [key for key in listed_below(place) if wanted(key.rstrip("/"))]
    for chunk in _hidden_chunks(place, listed):
        try:
            place.store.get(chunk, (0, 1))
        except Exception as error:
            what = f"key {chunk!r} in {place.store}: {shown(named(error))}"
            raise NodeIOError(what, key=chunk, path=place.path) from error
    return [key for key in listed if not key.endswith("/")]


def _hidden_chunks(place: StorePath, listed: Sequence[str]) -> Iterator[str]:
    """Yield the keys of chunks in whose place there may be something else, which reading them shows."""
    if not place.store._has_directories:
        return
    arrays = dict(_arrays(place, listed))
    # The array of each directory, and whether the files there hide nothing.
    above: dict[str, tuple[str | None, bool]] = {}
    for key in listed if arrays else ():
        directory = key[: key.rfind("/", 0, -1) + 1]
        if directory not in above:
            path = _path_above(directory, arrays)
            above[directory] = path, path is None or _is_as_deep(directory, path, arrays[path])
        path, hides_nothing = above[directory]
        if path is None or (hides_nothing and not key.endswith("/")) or is_document(key):
            continue
        (encoding, axes), start = arrays[path], len(key_prefix(path))
        if not key.endswith("/") and chunk_coords(encoding, key[start:], len(axes)) is not None:
            continue
        for name in names_hidden_by(encoding, key[start:], len(axes)):
            coords = chunk_coords(encoding, name, len(axes))
            if coords is not None and all(k < axis.nchunks for k, axis in zip(coords, axes, strict=True)):
                yield key[:start] + name


_Layout: TypeAlias = tuple[ChunkKeyEncoding, Sequence[Axis]]


def _arrays(place: StorePath, listed: Sequence[str]) -> Iterator[tuple[str, _Layout]]:
    """Yield the paths of the arrays among what is listed, and their chunks, as far as keys can be read."""
    for key in listed:
        path, _, name = key.rpartition("/")
        if name in (ZARR_JSON, ZARRAY_JSON):
            with suppress(BaseZarrError):  # a document that nobody can use is copied as it is
                found = read_node(StorePath(place.store, path))
                if found is None or not is_array_metadata(found):
                    continue
                encoding = found.chunk_key_encoding
                if type(encoding).decode is not ChunkKeyEncoding.decode:
                    yield path, (encoding, axes_of(found.shape, layout.grid_edges(found)))


def _is_as_deep(directory: str, path: str, chunks: _Layout) -> bool:
    """Return whether a directory is as deep in an array as those of its chunks, all of which are as deep."""
    encoding, axes = chunks
    if encoding.native() is None:
        return False
    usual = chunk_key(encoding, (0,) * len(axes))
    return directory.count("/") == key_prefix(path).count("/") + usual.count("/")


def _path_above(directory: str, arrays: dict[str, _Layout]) -> str | None:
    """Return the path of the array that a directory is below, or that of it."""
    path = directory.rstrip("/")
    while path not in arrays:
        if not path:
            return None
        path = path.rpartition("/")[0]
    return path
