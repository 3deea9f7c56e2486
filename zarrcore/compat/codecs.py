"""Base classes of codecs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from zarrcore._typing import Buffer
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


CodecJSON_V2: TypeAlias = Mapping[str, Any]
"""What describes a codec in format 2: an object with its name as ``id``."""

CodecJSON_V3: TypeAlias = str | Mapping[str, Any]
"""What describes a codec in format 3: its name, or an object with ``name`` and ``configuration``."""

CodecJSON: TypeAlias = str | Mapping[str, Any]
"""What describes a codec in any format."""


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


class Numcodec(Protocol):
    """A codec of numcodecs, or one that behaves like it; wherever zarrcore takes codecs, it takes these.

    Examples
    --------
    >>> import numcodecs
    >>> codec: Numcodec = numcodecs.Zstd(level=3)
    >>> zarrcore.create_array({}, shape=4, dtype="u1", compressors=codec, zarr_format=2).compressors[0].level
    3
    """

    codec_id: str

    def encode(self, buf: Buffer) -> Any:
        """Encode bytes."""
        ...

    def decode(self, buf: Buffer, out: Buffer | None = None) -> Any:
        """Decode what :meth:`encode` made, into `out` if that is there."""
        ...

    def get_config(self) -> dict[str, Any]:
        """Return the JSON object that describes the codec, with its name as `id`."""
        ...

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Return the codec that a JSON object describes."""
        ...


def _is_numcodec_cls(obj: object) -> bool:
    """Return whether an object is the class of such codecs; packages of codecs ask it."""
    methods = ("encode", "decode", "get_config", "from_config")
    return (
        isinstance(obj, type)
        and isinstance(getattr(obj, "codec_id", None), str)
        and all(callable(getattr(obj, name, None)) for name in methods)
    )


def _is_numcodec(obj: object) -> bool:
    """Return whether an object is such a codec."""
    return _is_numcodec_cls(type(obj))


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
    "CodecJSON",
    "CodecJSON_V2",
    "CodecJSON_V3",
    "CodecOutput",
    "CodecPipeline",
    "GetResult",
    "SupportsSyncCodec",
]
