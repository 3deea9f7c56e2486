"""Base classes of codecs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

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


class BatchedCodecPipeline(tuple[Codec, ...]):
    """The codecs of an array in order, for packages that sort them by their kinds.

    Parameters
    ----------
    array_array_codecs : sequence of ArrayArrayCodec
        Those that change the array.
    array_bytes_codec : ArrayBytesCodec
        The one that makes bytes of it.
    bytes_bytes_codecs : sequence of BytesBytesCodec
        Those that change the bytes.
    batch_size : int
        Has no effect.

    Examples
    --------
    >>> from zarrcore.codecs import BytesCodec, ZstdCodec
    >>> pipeline = BatchedCodecPipeline((), BytesCodec(), (ZstdCodec(),))
    >>> [type(codec).__name__ for codec in pipeline]
    ['BytesCodec', 'ZstdCodec']
    """

    array_array_codecs: tuple[ArrayArrayCodec, ...]
    array_bytes_codec: ArrayBytesCodec
    bytes_bytes_codecs: tuple[BytesBytesCodec, ...]

    def __new__(
        cls,
        array_array_codecs: Sequence[ArrayArrayCodec],
        array_bytes_codec: ArrayBytesCodec,
        bytes_bytes_codecs: Sequence[BytesBytesCodec],
        batch_size: int = 1,
    ) -> Self:
        made = super().__new__(cls, (*array_array_codecs, array_bytes_codec, *bytes_bytes_codecs))
        made.array_array_codecs = tuple(array_array_codecs)
        made.array_bytes_codec = array_bytes_codec
        made.bytes_bytes_codecs = tuple(bytes_bytes_codecs)
        return made


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
