"""The state of a node as text that dask hashes: results for equal tokens are taken to be equal.

The token of values in memory is made of these.  Elsewhere they are not read: it has the place, the metadata,
what this process has changed, and in directories when the document and the first directories of chunks were
changed by anybody (a chunk is replaced by renaming a file, which changes its directory).
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from zarrcore.arrays.chunks import grid_axes
from zarrcore.nodes.documents import NAMES
from zarrcore.storage.base import WrapperStore
from zarrcore.storage.memory import GpuMemoryStore, MemoryStore
from zarrcore.storage.validation import key_prefix

if TYPE_CHECKING:
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.storage import Store, StorePath

_MOST = 64  # keys, and directories, that are looked at


def place_token(place: StorePath, zarr_format: int) -> tuple[Any, ...]:
    """Return what identifies the state of a place, as far as it is known without the metadata."""
    store = _innermost(place.store)
    if isinstance(store, MemoryStore) and not isinstance(store, GpuMemoryStore):
        return "zarrcore", type(store).__name__, place.path, _digest(store, key_prefix(place.path))
    keys = [key_prefix(place.path) + name for name in NAMES[zarr_format]]
    versions = [store._version(key) for key in [*keys, place.path]]
    return "zarrcore", type(store).__name__, _address(store), place.path, repr(versions)


def array_token(array: OpenArray) -> tuple[Any, ...]:
    """Return the token of an array."""
    array.follow()
    read_as = array.config.order, array.config.read_missing_chunks
    token = (
        *place_token(array.store_path, array.metadata.zarr_format),
        repr(array.metadata.to_dict()),
        repr(read_as),
    )
    store = _innermost(array.store)
    if isinstance(store, MemoryStore):
        return token
    from zarrcore._core.engine import key_events

    encode, lengths = array.metadata.chunk_key_encoding.encode, [axis.nchunks for axis in grid_axes(array)]
    few = [range(min(length, _MOST)) for length in lengths]
    keys = [encode(coords) for coords in islice(product(*few), _MOST)]
    rows = product(*few[:-1])
    firsts = [encode((*row, 0) if lengths else ()) for row in islice(rows, _MOST)]
    directories = {(key_prefix(array.path) + key).rpartition("/")[0] for key in firsts}
    versions = [store._version(directory) for directory in sorted(directories)]
    scope = store._scope(array.path)
    return *token, repr(
        (versions, [key_events(scope, key) for key in keys])
    )  # text: dask looks at each item of a list


def _innermost(store: Store) -> Store:
    while isinstance(store, WrapperStore):
        store = store._store
    return store


def _address(store: Store) -> Any:
    """Return what identifies a store: the store itself, if its class leaves open which ones are equal."""
    identity = store._identity()
    return store if identity == id(store) else identity


def _digest(store: Store, prefix: str) -> str:
    digest = blake2b(digest_size=16)
    for key in sorted(store.list_prefix(prefix)):
        value = store.get(key)
        if value is not None:  # else another thread has just removed it
            digest.update(f"{len(key)} {key} {memoryview(value).nbytes} ".encode())
            digest.update(value)
    return digest.hexdigest()
