"""Codecs: what stands between a chunk in memory and its bytes in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._lazy import attach

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, BytesBytesCodec, Codec
    from zarrcore.codecs.blosc import BloscCname, BloscCodec, BloscShuffle
    from zarrcore.codecs.bytes import BytesCodec, Endian
    from zarrcore.codecs.cast_value import CastValue
    from zarrcore.codecs.chain import CodecChain
    from zarrcore.codecs.crc32c import Crc32cCodec
    from zarrcore.codecs.gzip import GzipCodec
    from zarrcore.codecs.numcodecs import (
        BZ2,
        CRC32,
        CRC32C,
        LZ4,
        LZMA,
        ZFPY,
        Adler32,
        AsType,
        BitRound,
        Blosc,
        Delta,
        FixedScaleOffset,
        Fletcher32,
        GZip,
        JenkinsLookup3,
        PackBits,
        PCodec,
        Quantize,
        Shuffle,
        Zlib,
        Zstd,
    )
    from zarrcore.codecs.packbits import PackBitsCodec
    from zarrcore.codecs.scale_offset import ScaleOffset
    from zarrcore.codecs.sharding import ShardingCodec, ShardingCodecIndexLocation, SubchunkWriteOrder
    from zarrcore.codecs.transpose import TransposeCodec
    from zarrcore.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
    from zarrcore.codecs.zstd import ZstdCodec

__all__ = [
    "BZ2",
    "CRC32",
    "CRC32C",
    "LZ4",
    "LZMA",
    "ZFPY",
    "Adler32",
    "ArrayArrayCodec",
    "ArrayBytesCodec",
    "ArraySpec",
    "AsType",
    "BitRound",
    "Blosc",
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesBytesCodec",
    "BytesCodec",
    "CastValue",
    "Codec",
    "CodecChain",
    "Crc32cCodec",
    "Delta",
    "Endian",
    "FixedScaleOffset",
    "Fletcher32",
    "GZip",
    "GzipCodec",
    "JenkinsLookup3",
    "PCodec",
    "PackBits",
    "PackBitsCodec",
    "Quantize",
    "ScaleOffset",
    "ShardingCodec",
    "ShardingCodecIndexLocation",
    "Shuffle",
    "SubchunkWriteOrder",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "Zlib",
    "Zstd",
    "ZstdCodec",
]

_load, __dir__ = attach(
    __name__,
    {
        "base": ("ArrayArrayCodec", "ArrayBytesCodec", "ArraySpec", "BytesBytesCodec", "Codec"),
        "blosc": ("BloscCname", "BloscCodec", "BloscShuffle"),
        "bytes": ("BytesCodec", "Endian"),
        "cast_value": ("CastValue",),
        "chain": ("CodecChain",),
        "crc32c": ("Crc32cCodec",),
        "gzip": ("GzipCodec",),
        "numcodecs": (
            "BZ2",
            "CRC32",
            "CRC32C",
            "LZ4",
            "LZMA",
            "ZFPY",
            "Adler32",
            "AsType",
            "BitRound",
            "Blosc",
            "Delta",
            "FixedScaleOffset",
            "Fletcher32",
            "GZip",
            "JenkinsLookup3",
            "PCodec",
            "PackBits",
            "Quantize",
            "Shuffle",
            "Zlib",
            "Zstd",
        ),
        "packbits": ("PackBitsCodec",),
        "scale_offset": ("ScaleOffset",),
        "sharding": ("ShardingCodec", "ShardingCodecIndexLocation", "SubchunkWriteOrder"),
        "transpose": ("TransposeCodec",),
        "vlen": ("VLenBytesCodec", "VLenUTF8Codec"),
        "zstd": ("ZstdCodec",),
    },
)

if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
