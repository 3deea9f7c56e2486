"""The state of a node as text that dask hashes: results for equal tokens are taken to be equal.

The token of values in memory is made of these.  Elsewhere they are not read: it has the place, the metadata,
how often this process has changed something there, and in directories when the document and the first
directories of chunks were changed by anybody (a chunk is replaced by renaming a file, which changes its
directory).  A store that shows another one's values in its own way is part of the token.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from zarrcore.arrays.description import grid_axes
from zarrcore.metadata.documents import NAMES
from zarrcore.storage.cached import CacheStore
from zarrcore.storage.caching import CacheStore as StoreCacheStore
from zarrcore.storage.logged import LoggingStore
from zarrcore.storage.memory import GpuMemoryStore, MemoryStore
from zarrcore.storage.validation import key_prefix
from zarrcore.storage.wrapper import ReadOnlyStore, WrapperStore

if TYPE_CHECKING:
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.storage import Store, StorePath

_MOST = 64  # directories that are looked at


def place_token(place: StorePath, zarr_format: int) -> tuple[Any, ...]:
    """Return what identifies the state of a place, as far as it is known without the metadata."""
    store, views = _unwrapped(place.store)
    if isinstance(store, MemoryStore) and not isinstance(store, GpuMemoryStore):
        return "zarrcore", type(store).__name__, place.path, _digest(store, key_prefix(place.path)), *views
    keys = [key_prefix(place.path) + name for name in NAMES[zarr_format]]
    versions = [store._version(key) for key in [*keys, place.path]]
    return "zarrcore", type(store).__name__, _address(store), place.path, repr(versions), *views


def array_token(array: OpenArray) -> tuple[Any, ...]:
    """Return the token of an array."""
    array.follow()
    read_as = array.config.order, array.config.read_missing_chunks
    token = (
        *place_token(array.store_path, array.metadata.zarr_format),
        repr(array.metadata.to_dict()),
        repr(read_as),
    )
    store, _ = _unwrapped(array.store)
    if isinstance(store, MemoryStore):
        return token
    from zarrcore._core.engine import changes_below

    encode, lengths = array.metadata.chunk_key_encoding.encode, [axis.nchunks for axis in grid_axes(array)]
    rows = product(*[range(min(length, _MOST)) for length in lengths[:-1]])
    firsts = [encode((*row, 0) if lengths else ()) for row in islice(rows, _MOST)]
    directories = {(key_prefix(array.path) + key).rpartition("/")[0] for key in firsts}
    versions = [store._version(directory) for directory in sorted(directories)]
    changes = changes_below(store._scope(array.path))
    return *token, repr((versions, changes))  # text: dask looks at each item of a list


def _unwrapped(store: Store) -> tuple[Store, list[Any]]:
    """Return the store below all wrappers, and the wrappers that may show other values than it has."""
    views: list[Any] = []
    while isinstance(store, WrapperStore):
        if type(store) not in (WrapperStore, ReadOnlyStore, LoggingStore, CacheStore, StoreCacheStore):
            own = {name: value for name, value in vars(store).items() if name != "_store"}
            views.append((f"{type(store).__module__}.{type(store).__qualname__}", own))
        store = store._store
    return store, views


def _address(store: Store) -> Any:
    """Return what identifies a store: the store itself, if its class leaves open which ones are equal."""
    identity = store._identity()
    return store if identity == id(store) else identity


def _digest(store: Store, prefix: str) -> str:
    digest = blake2b(digest_size=16)
    for key in sorted(store._list_stored(prefix)):
        value = store.get(key)
        if value is not None:  # else another thread has just removed it
            digest.update(f"{len(key)} {key} {memoryview(value).nbytes} ".encode())
            digest.update(value)
    return digest.hexdigest()
