"""Metadata documents in caches of values: which are looked at again, and what chunks are kept for."""

from __future__ import annotations

import json
from typing import Any

from zarrcore._typing import Buffer
from zarrcore.storage.base import Store
from zarrcore.storage.validation import as_view, is_document

_DECIDING = ("zarr.json", ".zarray")
_OTHERWISE = ("attributes", "consolidated_metadata", "shape")  # change without a change of the chunks


def noticed(source: Store, key: str) -> Any:
    """Return what distinguishes a document in a source that is near from others there; else None.

    An old document, whose age is allowed, and a new chunk would be values that nobody has stored.
    """
    return source._noticed(key) if is_document(key) else None


def node_of_other_chunks(key: str, old: Buffer | None, new: Buffer | None) -> str | None:
    """Return the prefix of what was kept for one document and must not be read by the next one, or None."""
    prefix, slash, name = key.rpartition("/")
    if old is None or name not in _DECIDING or _about_chunks(old) == _about_chunks(new):
        return None
    return prefix + slash


def _about_chunks(document: Buffer | None) -> Any:
    if document is None:
        return None
    data = bytes(as_view(document, "document"))
    try:
        members = json.loads(data)
        return {name: value for name, value in members.items() if name not in _OTHERWISE}
    except (ValueError, RecursionError, AttributeError):
        return data
