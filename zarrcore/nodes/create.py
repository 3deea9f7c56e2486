"""Creating nodes: their documents, and those of the groups above them that are missing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from zarrcore.errors import ContainsArrayError, ContainsGroupError, InvalidKeyError
from zarrcore.metadata import ZARR_JSON, ZGROUP_JSON
from zarrcore.nodes import documents as node_documents
from zarrcore.nodes.changes import note_change
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import read_node
from zarrcore.storage.validation import join_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.nodes.documents import Metadata
    from zarrcore.storage import StorePath

__all__ = ["create_node", "delete_node", "missing_parents", "new_node", "store_documents", "write_documents"]


def write_documents(place: StorePath, metadata: Metadata) -> None:
    """Store the metadata documents of a node, replacing those that are there."""
    store_documents(place, metadata.to_documents())


def store_documents(place: StorePath, documents: dict[str, bytes]) -> None:
    """The same for documents that have been serialised already."""
    note_change(place)
    for name, data in documents.items():
        place.store.set(join_path(place.path, name), data)


def create_node(
    place: StorePath, metadata: Metadata, *, overwrite: bool = False, group: StorePath | None = None
) -> None:
    """Store a new node and the groups above it that are missing.

    Parameters
    ----------
    overwrite : bool
        Remove what is at the place and below it first.
    group : StorePath, optional
        A group above the place that has been read: if its document is still there, so is what is above it.

    Raises
    ------
    ContainsArrayError, ContainsGroupError
        If there is a node already, or an array above the place.
    """
    documents = metadata.to_documents()  # first: nothing is removed for metadata that cannot be stored
    _clear_the_way(place, metadata.zarr_format, overwrite=overwrite, group=group)
    store_documents(place, documents)


@contextmanager
def new_node(place: StorePath, metadata: Metadata, *, overwrite: bool = False) -> Iterator[bool]:
    """A place for a node whose documents are stored when the block ends, once all its chunks are there.

    If the block fails there is no node, and what it stored is removed again where nothing else can have
    been.  The parameters and errors are those of :func:`create_node`; the block is told whether nothing lies
    at the place yet.
    """
    documents = metadata.to_documents()
    _clear_the_way(place, metadata.zarr_format, overwrite=overwrite)
    store = place.store
    is_new = store.supports_listing and store.is_empty(place.path)
    try:
        yield is_new
        store_documents(place, documents)
    except BaseException:
        if is_new and store.supports_deletes:
            store.erase_prefix(place.path)
        raise


def _clear_the_way(
    place: StorePath, zarr_format: int, *, overwrite: bool, group: StorePath | None = None
) -> None:
    """Make sure that a node can be stored at a place: nothing is there any more, and groups are above it."""
    store = place.store
    store._check_writable()
    _refuse_reserved(place.path)
    missing = missing_parents(place, zarr_format, group)
    if overwrite and store.supports_deletes:
        note_change(place, removed=True)
        store.erase_prefix(place.path)
    else:
        _refuse_existing(place)
    if missing:
        from zarrcore.metadata import GroupMetadata
    for parent in missing:
        write_documents(parent, GroupMetadata(attributes={}, zarr_format=zarr_format))


def _refuse_reserved(path: str) -> None:
    """Refuse paths that lead through the place of a metadata document."""
    for name in node_documents.ALL_NAMES.intersection(path.split("/")):
        raise InvalidKeyError(f"{path!r}: {name!r} is the name of a metadata document, no node can have it")


def _refuse_existing(place: StorePath) -> None:
    found = None if place.store._claim(place.path) else read_node(place)
    if found is None:
        return
    if is_array_metadata(found):
        raise ContainsArrayError(f"an array exists in store {place.store} at path {place.path!r}")
    raise ContainsGroupError(f"a group exists in store {place.store} at path {place.path!r}")


def missing_parents(place: StorePath, zarr_format: int, group: StorePath | None = None) -> list[StorePath]:
    """The places above that have no node yet, from the root down; see :func:`create_node`."""
    missing: list[StorePath] = []
    while place.path:
        place = place.parent
        if group is not None and place.path == group.path and _has_document(place, zarr_format):
            break
        found = read_node(place, zarr_format)
        if found is None:
            missing.append(place)
        elif is_array_metadata(found):
            raise ContainsArrayError(
                f"an array exists in store {place.store} at path {place.path!r}; no node can be below it"
            )
    return missing[::-1]


def _has_document(place: StorePath, zarr_format: int) -> bool:
    return place.store.exists(join_path(place.path, ZARR_JSON if zarr_format == 3 else ZGROUP_JSON))


def delete_node(place: StorePath) -> None:
    """Remove a node and everything below it."""
    place.store._check_writable()
    note_change(place, removed=True)
    place.store.erase_prefix(place.path)
