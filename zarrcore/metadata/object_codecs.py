"""The codecs of format 2 that give the data type ``"|O"`` its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OBJECT_CODEC_IDS", "object_codec_id"]

OBJECT_CODEC_IDS = ("vlen-utf8", "vlen-bytes", "vlen-array", "pickle", "json2", "msgpack2")
"""Their ids."""


def object_codec_id(ids: Iterable[str | None]) -> str | None:
    """The first id, of the filters and the compressor, of a codec that gives objects their meaning."""
    for name in ids:
        if name in OBJECT_CODEC_IDS:
            return name
        if name == "categorize":
            return "vlen-utf8"  # categories of objects are strings
    return None
