"""What the arrays of a store have in common, checked once.

Thousands of arrays are stored in a handful of ways: with the same data type, chunk shape, fill value and
codecs.  The members of a document that say so are parsed for the first array, and the immutable objects made
of them serve all others.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.codecs.chain import CodecChain, IgnoredCodec
from zarrcore.registry import registrations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from zarrcore.codecs.base import ArraySpec, Codec
    from zarrcore.metadata.departures import Departure

_MOST_KEPT, _LONGEST_KEY = 256, 4096

_kept: dict[tuple[object, bytes], tuple[dict[str, Any], list[Departure]]] = {}
_chains: dict[Any, CodecChain] = {}


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
    if any(isinstance(codec, IgnoredCodec) for codec in metadata.chain().codecs):
        return
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[key] = {name: vars(metadata)[name] for name in (*names, "_chain")}, departures


def chain_of(codecs: tuple[Codec, ...], spec: ArraySpec) -> CodecChain:
    """Return the chain of `codecs` for chunks of `spec`, a known one if there is one."""
    fill = spec.fill
    if not isinstance(fill, np.generic) or isinstance(fill, np.void):
        return CodecChain.from_codecs(codecs, spec)
    key = (codecs, spec.shape, spec.dtype, type(fill), fill.tobytes())  # 0.0 equals -0.0, their bytes do not
    try:
        chain = _chains.get(key)
    except TypeError:  # a codec without a hash
        return CodecChain.from_codecs(codecs, spec)
    if chain is None:
        if len(_chains) >= _MOST_KEPT:
            _chains.clear()
        chain = _chains[key] = CodecChain.from_codecs(codecs, spec)
    return chain
