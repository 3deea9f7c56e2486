"""Documents of arrays that have been read before: thousands of arrays may have the very same one."""

from __future__ import annotations

import marshal
from typing import Any

from zarrcore.registry import registrations

_MOST_KEPT, _LONGEST = 256, 4096

_texts: dict[tuple[object, bytes], tuple[type, dict[str, Any], bytes]] = {}


def of_text(text: bytes) -> Any | None:
    """Return the metadata of an array whose stored document has been read before, as a new object."""
    found = _texts.get((registrations(), text))
    if found is None:
        return None
    cls, members, attributes = found
    metadata: Any = object.__new__(cls)
    vars(metadata).update(members, attributes=marshal.loads(attributes), extra_fields={})
    return metadata


def keep_text(text: bytes, metadata: Any) -> None:
    """Remember the metadata in a stored document, if it is short and nothing in them can be changed."""
    if len(text) > _LONGEST or metadata.extra_fields or metadata.storage_transformers:
        return
    try:
        attributes = marshal.dumps(metadata.attributes, 2)
    except ValueError:  # NaN and infinities are objects of a class of their own
        return
    if len(_texts) >= _MOST_KEPT:
        _texts.clear()
    _texts[registrations(), text] = type(metadata), dict(vars(metadata)), attributes
