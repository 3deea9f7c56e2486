"""Chunk key encodings: chunk grid coordinates -> the part of the store key after the array's prefix."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "base": "ChunkKeyEncoding",
    "fanout": "FanoutChunkKeyEncoding",
    "standard": "DefaultChunkKeyEncoding N5ChunkKeyEncoding V2ChunkKeyEncoding parse_chunk_key_encoding",
    "suffix": "DefaultSuffixChunkKeyEncoding SuffixChunkKeyEncoding",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
