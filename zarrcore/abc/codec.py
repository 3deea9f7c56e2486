"""Base classes of codecs."""

from __future__ import annotations

from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, BytesBytesCodec
from zarrcore.codecs.base import Codec as BaseCodec
from zarrcore.codecs.chain import CodecChain

Codec = ArrayArrayCodec | ArrayBytesCodec | BytesBytesCodec
"""Any codec that can stand in a chain."""

CodecPipeline = CodecChain
"""The codecs of an array, in order."""

__all__ = [
    "ArrayArrayCodec",
    "ArrayBytesCodec",
    "ArraySpec",
    "BaseCodec",
    "BytesBytesCodec",
    "Codec",
    "CodecPipeline",
]
