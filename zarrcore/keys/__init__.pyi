# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.keys.base import ChunkKeyEncoding
from zarrcore.keys.fanout import FanoutChunkKeyEncoding
from zarrcore.keys.n5 import N5ChunkKeyEncoding
from zarrcore.keys.standard import DefaultChunkKeyEncoding, V2ChunkKeyEncoding, parse_chunk_key_encoding
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
