"""Chunk key encodings, under the names of ``zarr.core.chunk_key_encodings``."""

from __future__ import annotations

from zarrcore.keys import (
    ChunkKeyEncoding,
    DefaultChunkKeyEncoding,
    V2ChunkKeyEncoding,
    parse_chunk_key_encoding,
)
from zarrcore.keys.standard import ChunkKeyEncodingLike

__all__ = [
    "ChunkKeyEncoding",
    "ChunkKeyEncodingLike",
    "DefaultChunkKeyEncoding",
    "V2ChunkKeyEncoding",
    "parse_chunk_key_encoding",
]
