"""Codecs: what stands between a chunk in memory and its bytes in a store."""

from __future__ import annotations

from zarrcore._lazy import attach
from zarrcore.registry import NUMCODECS

HOMES = {
    "base": "ArrayArrayCodec ArrayBytesCodec ArraySpec BytesBytesCodec Codec",
    "blosc": "BloscCname BloscCodec BloscShuffle",
    "bytes": "BytesCodec Endian",
    "cast_value": "CastValue",
    "chain": "CodecChain",
    "crc32c": "Crc32cCodec",
    "gzip": "GzipCodec",
    "numcodecs": " ".join(NUMCODECS.values()),
    "packbits": "PackBitsCodec",
    "scale_offset": "ScaleOffset",
    "sharding": "ShardingCodec ShardingCodecIndexLocation SubchunkWriteOrder",
    "transpose": "TransposeCodec",
    "vlen": "VLenBytesCodec VLenUTF8Codec",
    "zstd": "ZstdCodec",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
