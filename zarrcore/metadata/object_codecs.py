"""The codecs of format 2 that determine the data type of ``"|O"``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

OBJECT_CODEC_IDS = ("vlen-utf8", "vlen-bytes", "vlen-array", "pickle", "json2", "msgpack2")
"""Their ids."""


def object_codec_id(ids: Iterable[str | None]) -> str | None:
    """Return the first id, of filters and compressor, of a codec that determines the data type."""
    for name in ids:
        if name in OBJECT_CODEC_IDS:
            return name
        if name == "categorize":
            return "vlen-utf8"  # categories of objects are strings
    return None
