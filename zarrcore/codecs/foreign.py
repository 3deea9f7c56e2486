"""Codecs of the optional package numcodecs: what is neither in the engine nor in the standard library.

Registered classes that behave like codecs of numcodecs do not need that package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.codecs.by_id import numcodecs_codec
from zarrcore.codecs.filters import Filter, as_bytes
from zarrcore.codecs.spelling import NumcodecsCodec
from zarrcore.errors import ChunkDecodeError

_FIXED_RATE = 2  # a mode of zfpy


class _Foreign(NumcodecsCodec):
    """Base class: a codec whose configuration only another package knows."""

    def __init__(self, /, **codec_config: Any) -> None:
        codec_config.pop("id", None)
        vars(self)["_given"] = codec_config

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id, **self._given}

    def _codec(self) -> Any:
        return numcodecs_codec(self.get_config())

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        codec = cls(**configuration)
        codec._codec()  # which checks the configuration
        return codec

    def _decoded(self, data: Any, spec: ArraySpec | None) -> Any:
        if not isinstance(data, np.ndarray):
            data = bytes(data)  # some of these codecs take nothing else
        if self.codec_id == "zfpy" and spec is not None:
            from zarrcore.codecs.zfp import decode_described

            return decode_described(self._codec().decode, bytes(data), spec.size, self.name)
        return self._codec().decode(data)

    def _encoded(self, data: Any) -> Any:
        codec = self._codec()
        if self.codec_id == "zfpy" and isinstance(data, np.ndarray):
            from zarrcore.codecs.zfp import refuse_bad_rate

            refuse_bad_rate(codec.rate if codec.mode == _FIXED_RATE else -1, data, self.name)
        return codec.encode(data)


class ForeignFilter(_Foreign, Filter):
    """A codec of format 2 that numcodecs implements, or a registered class that behaves like one of them."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        codec = cls(**config)
        vars(codec).update(codec_id=config["id"], name=config["id"])
        codec._codec()  # which checks the configuration
        return codec

    def encode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        if spec is not None and isinstance(data, np.ndarray) and data.size == spec.size:
            data = data.reshape(spec.shape)  # compressors of images and volumes want their dimensions
        return self._encoded(data)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        return self._decoded(data, spec)


class PCodec(_Foreign, ArrayBytesCodec, id="pcodec"):
    """The pco compressor for numbers.

    Examples
    --------
    >>> PCodec(level=8).to_json()  # to encode with it, install zarrcore[numcodecs]
    {'name': 'numcodecs.pcodec', 'configuration': {'level': 8}}
    """

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        return as_bytes(self._encoded(np.ascontiguousarray(chunk)))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        out = np.asarray(self._decoded(data, spec))
        if out.nbytes != spec.nbytes:
            raise ChunkDecodeError(f"expected {spec.nbytes} bytes, got {out.nbytes}", codec=self.name)
        return out.reshape(-1).view(spec.np_dtype).reshape(spec.shape)


class ZFPY(PCodec, id="zfpy"):
    """The ZFP compressor for floating-point arrays.

    Examples
    --------
    >>> ZFPY(mode=4, tolerance=0.01).to_json()
    {'name': 'numcodecs.zfpy', 'configuration': {'mode': 4, 'tolerance': 0.01}}
    """
