# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, BytesBytesCodec, Codec
from zarrcore.codecs.blosc import Blosc, BloscCname, BloscCodec, BloscShuffle
from zarrcore.codecs.bytes import BytesCodec, Endian
from zarrcore.codecs.cast_value import CastValue
from zarrcore.codecs.chain import CodecChain
from zarrcore.codecs.checksums import Adler32, CRC32, CRC32C, Crc32cCodec, Fletcher32, JenkinsLookup3
from zarrcore.codecs.compressors import BZ2, LZ4, LZMA, Shuffle
from zarrcore.codecs.foreign import PCodec, ZFPY
from zarrcore.codecs.gzip import GZip, GzipCodec, Zlib
from zarrcore.codecs.number_filters import AsType, BitRound, Delta, FixedScaleOffset, PackBits, Quantize
from zarrcore.codecs.packbits import PackBitsCodec
from zarrcore.codecs.scale_offset import ScaleOffset
from zarrcore.codecs.sharding import ShardingCodec, ShardingCodecIndexLocation, SubchunkWriteOrder
from zarrcore.codecs.transpose import TransposeCodec
from zarrcore.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
from zarrcore.codecs.zstd import Zstd, ZstdCodec

__all__ = [
    "Adler32",
    "ArrayArrayCodec",
    "ArrayBytesCodec",
    "ArraySpec",
    "AsType",
    "BZ2",
    "BitRound",
    "Blosc",
    "BloscCname",
    "BloscCodec",
    "BloscShuffle",
    "BytesBytesCodec",
    "BytesCodec",
    "CRC32",
    "CRC32C",
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
    "LZ4",
    "LZMA",
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
    "ZFPY",
    "Zlib",
    "Zstd",
    "ZstdCodec",
]
