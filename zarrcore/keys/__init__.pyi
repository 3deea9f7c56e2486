# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.keys.base import ChunkKeyEncoding as ChunkKeyEncoding
from zarrcore.keys.fanout import FanoutChunkKeyEncoding as FanoutChunkKeyEncoding
from zarrcore.keys.standard import (
    DefaultChunkKeyEncoding as DefaultChunkKeyEncoding, N5ChunkKeyEncoding as N5ChunkKeyEncoding,
    V2ChunkKeyEncoding as V2ChunkKeyEncoding, parse_chunk_key_encoding as parse_chunk_key_encoding,
)
from zarrcore.keys.suffix import (
    DefaultSuffixChunkKeyEncoding as DefaultSuffixChunkKeyEncoding,
    SuffixChunkKeyEncoding as SuffixChunkKeyEncoding,
)

__all__: list[str]
