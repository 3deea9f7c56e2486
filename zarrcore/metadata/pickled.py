"""The metadata of an array as a short text, for pickles: it is read once, and by other versions as well."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from zarrcore._extension import is_of_a_user
from zarrcore._locks import fresh_in_child
from zarrcore.codecs.chain import IgnoredCodec
from zarrcore.errors import BaseZarrError
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.documents import load_document
from zarrcore.registry import registrations

_MOST_KEPT, _LONGEST = 256, 4096

_kept: dict[tuple[object, bytes], tuple[type[ArrayMetadata], dict[str, Any]]] = {}
fresh_in_child(globals(), "_kept", are_caches=True)


def text_of(metadata: ArrayMetadata) -> bytes | None:
    """Return the document without attributes, from which :func:`of_text` makes the same metadata.

    None if it would not: what users have made may be unknown elsewhere, and some things no document says.
    """
    own = vars(metadata)
    found: bytes | None = own.get("_pickled", b"")
    if found == b"":
        found = own["_pickled"] = _written(metadata)
    return found


def of_text(text: bytes, attributes: dict[str, Any]) -> ArrayMetadata:
    """Return the metadata in what :func:`text_of` has returned, as a new object.

    Raises
    ------
    MetadataValidationError, UnknownCodecError
        If the text is of another version, which knew more.
    """
    key = (registrations(), text)
    found = _kept.get(key)
    if found is None:
        read = _read(text)
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        key = (registrations(), text)  # classes that are imported for it are registered
        found = _kept[key] = (type(read), {**vars(read), "_pickled": text})
    metadata: ArrayMetadata = object.__new__(found[0])
    vars(metadata).update(found[1], attributes=attributes, extra_fields={})
    return metadata


def _read(text: bytes) -> ArrayMetadata:
    where = "metadata of a pickled array"
    document = load_document(text, where=where)
    if document.get("zarr_format") == 2:
        from zarrcore.metadata.v2 import ArrayV2Metadata

        return ArrayV2Metadata.from_document(document, where=where)
    from zarrcore.metadata.v3 import ArrayV3Metadata

    return ArrayV3Metadata.from_document(document, where=where)


def _written(metadata: ArrayMetadata) -> bytes | None:
    if not _is_plain(metadata):
        return None
    text = json.dumps({**metadata._document(), "attributes": {}}, separators=(",", ":")).encode()
    try:
        read = _read(text) if len(text) <= _LONGEST else None
    except BaseZarrError:
        return None
    return text if read is not None and _is_same(read, metadata) else None


def _is_plain(metadata: ArrayMetadata) -> bool:
    """Return whether all is zarrcore's own and nothing can be changed, so that handles may share it."""
    fill_value, own = metadata.fill_value, vars(metadata)
    if own["extra_fields"] or own.get("storage_transformers") or metadata.separator_is_open:
        return False
    if isinstance(fill_value, np.void) or not isinstance(fill_value, (np.generic, str, bytes, type(None))):
        return False
    parts: tuple[Any, ...] = (metadata.data_type, metadata.chunk_grid, metadata.chunk_key_encoding)
    chain = metadata.chain()
    is_ours = not any(map(is_of_a_user, map(type, parts))) and not chain.has_codec_of_user
    return (
        is_ours
        and metadata.zarr_format > 1
        and metadata._can_be_kept
        and not any(isinstance(codec, IgnoredCodec) for codec in chain.codecs)
    )


def _is_same(read: ArrayMetadata, metadata: ArrayMetadata) -> bool:
    """Return whether all but the attributes is the same, of the same types, down to the bits of a NaN."""
    one, other = ({**vars(each), "attributes": {}} for each in (read, metadata))
    names = ("shape", "dimension_names", *metadata._storage_members)
    return (
        type(read) is type(metadata)
        and all(
            type(one.get(name)) is type(other.get(name))
            and (one.get(name) == other.get(name) or name == "fill_value")
            for name in names
        )
        and _bits(read.fill_value) == _bits(metadata.fill_value)
    )


def _bits(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.generic) else value
