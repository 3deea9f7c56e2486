"""The codecs of numcodecs under the names that zarr-python has for them.

They are no part of the specification; zarr-python writes them in format 3, as ``numcodecs.*``.
"""

from __future__ import annotations

from zarrcore.codecs.blosc import Blosc
from zarrcore.codecs.checksums import CRC32, CRC32C, Adler32, Fletcher32, JenkinsLookup3
from zarrcore.codecs.compressors import BZ2, LZ4, LZMA, Shuffle
from zarrcore.codecs.foreign import ZFPY, PCodec
from zarrcore.codecs.gzip import GZip, Zlib
from zarrcore.codecs.number_filters import AsType, BitRound, Delta, FixedScaleOffset, PackBits, Quantize
from zarrcore.codecs.zstd import Zstd

__all__ = [
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
]
