"""Codecs: what stands between a chunk in memory and its bytes in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._lazy import attach
from zarrcore.registry import NUMCODECS

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, BytesBytesCodec, Codec
    from zarrcore.codecs.blosc import BloscCname, BloscCodec, BloscShuffle
    from zarrcore.codecs.bytes import BytesCodec, Endian
    from zarrcore.codecs.cast_value import CastValue
    from zarrcore.codecs.chain import CodecChain
    from zarrcore.codecs.crc32c import Crc32cCodec
    from zarrcore.codecs.gzip import GzipCodec
    from zarrcore.codecs.numcodecs import *  # noqa: F403
    from zarrcore.codecs.packbits import PackBitsCodec
    from zarrcore.codecs.scale_offset import ScaleOffset
    from zarrcore.codecs.sharding import ShardingCodec, ShardingCodecIndexLocation, SubchunkWriteOrder
    from zarrcore.codecs.transpose import TransposeCodec
    from zarrcore.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
    from zarrcore.codecs.zstd import ZstdCodec

__all__ = [
    "ArrayArrayCodec",
    "ArrayBytesCodec",
    "ArraySpec",
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesBytesCodec",
    "BytesCodec",
    "CastValue",
    "Codec",
    "CodecChain",
    "Crc32cCodec",
    "Endian",
    "GzipCodec",
    "PackBitsCodec",
    "ScaleOffset",
    "ShardingCodec",
    "ShardingCodecIndexLocation",
    "SubchunkWriteOrder",
    "TransposeCodec",
    "VLenBytesCodec",
    "VLenUTF8Codec",
    "ZstdCodec",
    *NUMCODECS.values(),
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
        "numcodecs": tuple(NUMCODECS.values()),
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
