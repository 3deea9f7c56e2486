"""Base classes of codecs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, BytesBytesCodec
from zarrcore.codecs.base import Codec as BaseCodec
from zarrcore.codecs.chain import CodecChain
from zarrcore.codecs.partial import (
    ArrayBytesCodecPartialDecodeMixin,
    ArrayBytesCodecPartialEncodeMixin,
    GetResult,
)

Codec = ArrayArrayCodec | ArrayBytesCodec | BytesBytesCodec
"""Any codec that can stand in a chain."""

CodecPipeline = CodecChain
"""The codecs of an array, in order."""

CodecInput = np.ndarray | bytes | bytearray | memoryview
"""What codecs take."""

CodecOutput = np.ndarray | bytes | bytearray | memoryview
"""What codecs make."""


@runtime_checkable
class SupportsSyncCodec(Protocol):
    """An object that encodes and decodes without an event loop, as all codecs do here.

    Examples
    --------
    >>> isinstance(zarrcore.codecs.ZstdCodec(), SupportsSyncCodec)
    True
    """

    def encode(self, chunk: CodecInput, spec: ArraySpec, /) -> CodecOutput:
        """Encode a chunk, or the bytes that stand for one."""
        ...

    def decode(self, chunk: CodecInput, spec: ArraySpec, /) -> CodecOutput:
        """Decode what :meth:`encode` made."""
        ...


__all__ = [
    "ArrayArrayCodec",
    "ArrayBytesCodec",
    "ArrayBytesCodecPartialDecodeMixin",
    "ArrayBytesCodecPartialEncodeMixin",
    "ArraySpec",
    "BaseCodec",
    "BytesBytesCodec",
    "Codec",
    "CodecInput",
    "CodecOutput",
    "CodecPipeline",
    "GetResult",
    "SupportsSyncCodec",
]
