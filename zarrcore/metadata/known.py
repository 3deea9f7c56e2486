"""What the arrays of a store have in common, checked once.

Thousands of arrays are stored in a handful of ways: with the same data type, chunk shape, fill value and
codecs.  The members of a document that say so are parsed for the first array, and the immutable objects made
of them serve all others.  Where the whole document is the same, nothing of it is parsed again.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from zarrcore._core.json_text import unshared
from zarrcore._extension import is_of_a_user
from zarrcore._locks import fresh_in_child
from zarrcore.codecs.base import ArraySpec, Codec
from zarrcore.codecs.chain import CodecChain, IgnoredCodec, with_held
from zarrcore.metadata.departures import Departure
from zarrcore.registry import registrations

_MOST_KEPT, _LONGEST_KEY = 256, 4096

_DERIVED = ("_chain", "np_dtype", "fill_bytes", "chunk_grid", "chunk_key_encoding")  # of the other attributes

_kept: dict[tuple[object, bytes], tuple[dict[str, Any], list[Departure]]] = {}
_texts: dict[Any, Any] = {}  # of (registrations, text); under None the one found last, with these two
_chains: dict[Any, CodecChain] = {}
fresh_in_child(globals(), "_kept", "_texts", "_chains", are_caches=True)


def key_of(document: Mapping[str, Any], names: Iterable[str]) -> tuple[object, bytes] | None:
    """Return a key that is the same for the same members, and different where 1 is ``1.0`` or ``true``.

    None if the members are too long to be common.  The document is one that a JSON parser made.  Another
    class may have been registered under a name since then, so that counts as well.
    """
    try:
        # Version 2 writes every value out: newer ones refer back to objects that happen to be shared.
        members = marshal.dumps([document.get(name, ...) for name in names], 2)
    except ValueError:
        return None
    return (registrations(), members) if len(members) <= _LONGEST_KEY else None


def find(key: tuple[object, bytes] | None) -> tuple[dict[str, Any] | None, list[Departure]]:
    """Return what was kept under a key: attributes of array metadata, and departures."""
    return (None, []) if key is None else _kept.get(key, (None, []))


def keep(
    key: tuple[object, bytes] | None, metadata: Any, names: Iterable[str], departures: list[Departure]
) -> None:
    """Remember the named attributes, if nothing in them can be changed, is large, or depends on the shape.

    `departures` are those of the members of the document that the attributes were made of.
    """
    if key is None or 0 in metadata.shape or not metadata.chunk_grid.is_regular:
        return
    fill_value = metadata.fill_value
    if isinstance(fill_value, np.void) or not isinstance(fill_value, (np.generic, str, bytes, type(None))):
        return
    codecs = metadata.chain().codecs
    if any(isinstance(codec, IgnoredCodec) for codec in codecs):
        return
    if not _are_as_they_say(codecs, metadata.data_type, metadata.chunk_grid, metadata.chunk_key_encoding):
        return
    vars(metadata)["_written"] = {}  # documents that were made of the arrays that share these attributes
    shared = {name: getattr(metadata, name) for name in (*names, *_DERIVED, "_written")}
    _add(_kept, key, (shared, departures))


def of_text(text: bytes) -> Any | None:
    """Return the metadata of a node whose stored document has been read before, as a new object."""
    if len(text) > _LONGEST_KEY:  # before it is hashed
        return None
    current = registrations()
    since, latest, found = _texts.get(None, (None, b"", None))
    if since is not current or latest != text:  # members of a group are often alike, and hashing takes longer
        found = _texts.get((current, text))
        if found is None:
            return None
        _texts[None] = current, text, found
    cls, members, attributes = found
    metadata: Any = object.__new__(cls)
    vars(metadata).update(members, attributes=unshared(attributes), extra_fields={})
    return metadata


def keep_text(text: bytes, metadata: Any) -> None:
    """Remember the metadata in a stored document, if it is short and nothing in them can be changed."""
    if len(text) > _LONGEST_KEY or metadata.extra_fields or getattr(metadata, "storage_transformers", ()):
        return
    try:
        attributes = unshared(metadata.attributes)
    except RecursionError:
        return
    _add(_texts, (registrations(), text), (type(metadata), dict(vars(metadata)), attributes))


def _are_as_they_say(codecs: Iterable[Codec], *others: object) -> bool:
    """Return whether objects that compare equal, or that a document describes alike, do the same.

    Of those of users only their classes know.
    """
    return not any(may_differ(item) or _has_more(item) for item in (*with_held(codecs), *others))


def _has_more(item: object) -> bool:
    """Return whether an object has a value that it is not compared by."""
    cls: Any = type(item)
    return any(getattr(item, name) != default for name, default in _uncompared(cls))


def may_differ(item: object) -> bool:
    """Return whether the class of an object is not zarrcore's, or one that a package has for zarr-python."""
    cls: Any = type(item)
    return is_of_a_user(getattr(cls, "lender", cls))


@cache
def _uncompared(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Return the members of a class that its instances are not compared by, with their defaults."""
    members = fields(cls) if is_dataclass(cls) else ()
    return tuple((member.name, member.default) for member in members if not member.compare)


def chain_of(codecs: tuple[Codec, ...], spec: ArraySpec) -> CodecChain:
    """Return the chain of `codecs` for chunks of `spec`, a known one if there is one."""
    fill = spec.fill
    if not isinstance(fill, np.generic) or isinstance(fill, np.void):
        return CodecChain.from_codecs(codecs, spec)
    if not _are_as_they_say(codecs, spec.dtype):
        return CodecChain.from_codecs(codecs, spec)
    key = (codecs, spec.shape, spec.dtype, type(fill), fill.tobytes())  # 0.0 equals -0.0, their bytes do not
    try:
        chain = _chains.get(key)
    except TypeError:  # a codec without a hash
        return CodecChain.from_codecs(codecs, spec)
    if chain is None:
        chain = CodecChain.from_codecs(codecs, spec)
        _add(_chains, key, chain)
    return chain


def _add(table: dict[Any, Any], key: object, value: object) -> None:
    if len(table) >= _MOST_KEPT:
        table.clear()
    table[key] = value
