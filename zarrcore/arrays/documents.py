"""The metadata documents of an array that is open: changed in the store, and taken over from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zarrcore._validate import of_array
from zarrcore.arrays.opened import OpenArray, stored_metadata
from zarrcore.metadata import ZARR_JSON, ZATTRS_JSON, layout, load_document
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.copies import document_lock
from zarrcore.nodes.users import writing
from zarrcore.nodes.versions import Versions, changed, repeated


def change_attributes(array: OpenArray, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Store the result of `change`, called with the attributes that are stored now."""
    array.check_writable()

    def store(versions: Versions) -> None:
        reread(array, documents_of(array), versions)
        attributes = changed(change, _stored_attributes(array), versions)
        save(array, array.metadata.update_attributes(attributes), versions=versions)

    with document_lock(array.store_path), writing(array):
        repeated(store, may_be_recent=True)


def _stored_attributes(array: OpenArray) -> dict[str, Any]:
    """Return the attributes in the documents that were read; those in memory may have been changed since."""
    known = documents_of(array)
    if known is None:
        return array.metadata.attributes
    if array.metadata.zarr_format == 3:
        attributes: dict[str, Any] = load_document(known[ZARR_JSON], where=ZARR_JSON)["attributes"]
        return attributes
    return load_document(known[ZATTRS_JSON], where=ZATTRS_JSON) if ZATTRS_JSON in known else {}


def reread(array: OpenArray, known: dict[str, bytes] | None = None, versions: Versions | None = None) -> None:
    """Take over what others have changed in the metadata documents, unless `known` are those in the store.

    The versions of the documents go to `versions`.
    """
    with of_array(array.path):
        found = stored_metadata(array, known, versions)
        if found is not array.metadata:
            array.adopt(found, alike=layout.is_stored_alike(found, array.metadata))


def save(
    array: OpenArray,
    metadata: ArrayMetadata,
    documents: dict[str, bytes] | None = None,
    versions: Versions | None = None,
) -> None:
    """Store changed metadata and continue with it; `documents` are what it is serialised to.

    If another process has replaced the `versions` that were read, Outdated is raised.
    """
    array.check_writable()
    documents = documents or metadata.to_documents()
    before = array.metadata.to_documents() if len(documents) > 1 else {}
    # What stays the same is not written: a failure between two documents would leave half a change.
    changed = {name: data for name, data in documents.items() if before.get(name) != data}
    from zarrcore.nodes.create import store_documents

    store_documents(array.store_path, changed or documents, versions)
    array.adopt(metadata, alike=metadata.shape == array.shape)
    array.stored = (metadata, documents)


def documents_of(array: OpenArray) -> dict[str, bytes] | None:
    """Return the documents that this object stored last, as long as its metadata say the same."""
    metadata, documents = array.stored
    return documents if metadata is array.metadata else None
