"""Chunk key encodings: chunk grid coordinates -> the part of the store key behind the array's prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._lazy import attach

if TYPE_CHECKING:
    from zarrcore.keys.fanout import FanoutChunkKeyEncoding
    from zarrcore.keys.n5 import N5ChunkKeyEncoding
    from zarrcore.keys.standard import (
        ChunkKeyEncoding,
        DefaultChunkKeyEncoding,
        V2ChunkKeyEncoding,
        parse_chunk_key_encoding,
    )
    from zarrcore.keys.suffix import DefaultSuffixChunkKeyEncoding, SuffixChunkKeyEncoding

__all__ = [
    "ChunkKeyEncoding",
    "DefaultChunkKeyEncoding",
    "DefaultSuffixChunkKeyEncoding",
    "FanoutChunkKeyEncoding",
    "N5ChunkKeyEncoding",
    "SuffixChunkKeyEncoding",
    "V2ChunkKeyEncoding",
    "parse_chunk_key_encoding",
]

_load, __dir__ = attach(
    __name__,
    {
        "fanout": ("FanoutChunkKeyEncoding",),
        "n5": ("N5ChunkKeyEncoding",),
        "standard": (
            "ChunkKeyEncoding",
            "DefaultChunkKeyEncoding",
            "V2ChunkKeyEncoding",
            "parse_chunk_key_encoding",
        ),
        "suffix": ("DefaultSuffixChunkKeyEncoding", "SuffixChunkKeyEncoding"),
    },
)

if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
