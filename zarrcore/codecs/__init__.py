"""Codecs: what stands between a chunk in memory and its bytes in a store."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "base": "ArrayArrayCodec ArrayBytesCodec ArraySpec BytesBytesCodec Codec",
    "blosc": "Blosc BloscCname BloscCodec BloscShuffle",
    "bytes": "BytesCodec Endian",
    "cast_value": "CastValue",
    "chain": "CodecChain",
    "checksums": "Adler32 CRC32 CRC32C Crc32cCodec Fletcher32 JenkinsLookup3",
    "compressors": "BZ2 LZ4 LZMA Shuffle",
    "foreign": "PCodec ZFPY",
    "gzip": "GZip GzipCodec Zlib",
    "number_filters": "AsType BitRound Delta FixedScaleOffset PackBits Quantize",
    "optional": "OptionalCodec",
    "packbits": "PackBitsCodec",
    "scale_offset": "ScaleOffset",
    "sharding": "ShardingCodec ShardingCodecIndexLocation SubchunkWriteOrder",
    "transpose": "SqueezeCodec TransposeCodec",
    "vlen": "VLenBytesCodec VLenUTF8Codec VLenV2Codec",
    "vlen_indexed": "VLenCodec",
    "zstd": "Zstd ZstdCodec",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules="numcodecs")
