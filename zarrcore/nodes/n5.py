"""N5 containers as stores of format 3: each ``attributes.json`` is seen as a ``zarr.json``, read-only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zarrcore._typing import Buffer
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata import ZARR_JSON, load_document
from zarrcore.metadata.n5 import ATTRIBUTES_JSON, is_n5_array, is_n5_root, n5_document
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path
from zarrcore.storage.wrapper import ReadOnlyStore, of_wrapped

if TYPE_CHECKING:
    from zarrcore.storage.byte_range import ByteRange


class N5Store(ReadOnlyStore):
    """A store of format 3 made of a store with an N5 container, for reading.

    Arrays have their dimensions in the order of Zarr, that of N5 reversed; a group needs no document.

    Parameters
    ----------
    store : Store
        The store that contains the N5 container.

    Examples
    --------
    >>> import zarrcore
    >>> from zarrcore.storage import MemoryStore
    >>> attributes = b'{"dimensions": [3, 2], "blockSize": [3, 1], "dataType": "uint8"}'
    >>> store = MemoryStore({"attributes.json": b'{"n5": "2.0.0"}', "a/attributes.json": attributes})
    >>> zarrcore.open_group(N5Store(store), mode="r")["a"].shape
    (2, 3)
    """

    # --- documents ---

    def _attributes(self, path: str) -> dict[str, Any] | None:
        key = join_path(path, ATTRIBUTES_JSON)
        data = self._store.get(key)
        return None if data is None else load_document(data, where=key)

    def _document(self, path: str) -> bytes | None:
        """Return the ``zarr.json`` of the node at `path`, or None if there is no node."""
        attributes = self._attributes(path)
        if attributes is None:
            if not self._is_bare_group(path):
                return None
            attributes = {}
        return json.dumps(n5_document(attributes, where=join_path(path, ATTRIBUTES_JSON))).encode()

    def _is_bare_group(self, path: str) -> bool:
        """Return whether something lies below `path` that is not the blocks of an array."""
        if not path:
            return True
        if not self._store.supports_listing or self._store.is_empty(path):
            return False
        above = path
        while above:
            above = above.rpartition("/")[0]
            if is_n5_array(self._attributes(above) or {}):
                return False
        return True

    # --- the store ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        path, is_document = _split(key)
        if not is_document:
            return self._store.get(key, byte_range)
        document = self._document(path)
        if document is None or byte_range is None:
            return document
        from zarrcore.storage import MemoryStore

        return MemoryStore({key: document}).get(key, byte_range)

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        pairs = list(key_ranges)
        if not any(_split(key)[1] for key, _ in pairs):
            return self._store.get_partial_values(pairs)
        return [self.get(key, byte_range) for key, byte_range in pairs]

    def _size(self, key: str) -> int | None:
        path, is_document = _split(key)
        if not is_document:
            return self._store._size(key)
        document = self._document(path)
        return None if document is None else len(document)

    def list(self) -> Iterator[str]:
        return map(_renamed, self._store.list())

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return map(_renamed, self._store.list_prefix(prefix))

    def list_dir(self, prefix: str) -> Iterator[str]:
        return map(_renamed, self._store.list_dir(prefix))

    _native_source = of_wrapped("_native_source")

    def __str__(self) -> str:
        return f"n5-{self._store}"


def _split(key: str) -> tuple[str, bool]:
    """Return the path of a node, and whether the key is that of its document."""
    path, _, name = key.rpartition("/")
    return path, name == ZARR_JSON


def _renamed(key: str) -> str:
    path, slash, name = key.rpartition("/")
    return f"{path}{slash}{ZARR_JSON}" if name == ATTRIBUTES_JSON else key


def n5_place(place: StorePath) -> StorePath | None:
    """Return the place seen as one in an N5 container, or None if it is in none."""
    # A container is known by the attributes of an array, or by the version that those of its root, or of a
    # group on the way to the place, name.
    store = N5Store(place.store)
    path: str | None = place.path
    while path is not None:
        try:
            attributes = store._attributes(path) or {}
        except MetadataValidationError:
            return None  # another program's file of the same name
        if is_n5_root(attributes) or (path == place.path and is_n5_array(attributes)):
            return StorePath(store, place.path)
        path = path.rpartition("/")[0] if path else None
    return None
