# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.codecs.base import (
    ArrayArrayCodec as ArrayArrayCodec, ArrayBytesCodec as ArrayBytesCodec, ArraySpec as ArraySpec,
    BytesBytesCodec as BytesBytesCodec, Codec as Codec,
)
from zarrcore.codecs.blosc import (
    Blosc as Blosc, BloscCname as BloscCname, BloscCodec as BloscCodec, BloscShuffle as BloscShuffle,
)
from zarrcore.codecs.bytes import BytesCodec as BytesCodec, Endian as Endian
from zarrcore.codecs.cast_value import CastValue as CastValue
from zarrcore.codecs.chain import CodecChain as CodecChain
from zarrcore.codecs.checksums import (
    Adler32 as Adler32, CRC32 as CRC32, CRC32C as CRC32C, Crc32cCodec as Crc32cCodec,
    Fletcher32 as Fletcher32, JenkinsLookup3 as JenkinsLookup3,
)
from zarrcore.codecs.compressors import BZ2 as BZ2, LZ4 as LZ4, LZMA as LZMA, Shuffle as Shuffle
from zarrcore.codecs.foreign import PCodec as PCodec, ZFPY as ZFPY
from zarrcore.codecs.gzip import GZip as GZip, GzipCodec as GzipCodec, Zlib as Zlib
from zarrcore.codecs.number_filters import (
    AsType as AsType, BitRound as BitRound, Delta as Delta, FixedScaleOffset as FixedScaleOffset,
    PackBits as PackBits, Quantize as Quantize,
)
from zarrcore.codecs.optional import OptionalCodec as OptionalCodec
from zarrcore.codecs.packbits import PackBitsCodec as PackBitsCodec
from zarrcore.codecs.scale_offset import ScaleOffset as ScaleOffset
from zarrcore.codecs.sharding import (
    ShardingCodec as ShardingCodec, ShardingCodecIndexLocation as ShardingCodecIndexLocation,
    SubchunkWriteOrder as SubchunkWriteOrder,
)
from zarrcore.codecs.transpose import SqueezeCodec as SqueezeCodec, TransposeCodec as TransposeCodec
from zarrcore.codecs.vlen import (
    VLenBytesCodec as VLenBytesCodec, VLenUTF8Codec as VLenUTF8Codec, VLenV2Codec as VLenV2Codec,
)
from zarrcore.codecs.vlen_indexed import VLenCodec as VLenCodec
from zarrcore.codecs.zstd import Zstd as Zstd, ZstdCodec as ZstdCodec

__all__: list[str]
