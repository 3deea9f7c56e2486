"""A codec of each kind: array to array, array to bytes, bytes to bytes."""

import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zarrcore.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError


@dataclass(frozen=True)
class Mirror(ArrayArrayCodec):
    """Images turned over along one axis, as a camera that looks into a mirror takes them."""

    name: ClassVar[str] = "camera.mirror"
    axis: int = 0

    def resolve(self, spec):
        if not isinstance(self.axis, int) or not 0 <= self.axis < spec.ndim:
            raise MetadataValidationError(f"expected 0..{spec.ndim - 1}, got {self.axis!r}", where="axis")
        return self

    def encode(self, chunk, spec):
        return np.flip(chunk, self.axis)

    def decode(self, chunk, spec):
        return np.flip(chunk, self.axis)


@dataclass(frozen=True)
class Pack12(ArrayBytesCodec):
    """Two numbers of 12 bits in three bytes."""

    name: ClassVar[str] = "camera.pack12"
    is_fixed_size: ClassVar[bool] = True

    def resolve(self, spec):
        if spec.np_dtype.kind != "u" or spec.np_dtype.itemsize != 2:
            raise MetadataValidationError(f"expected integers of 16 bits without sign, got {spec.dtype!r}")
        return self

    def encoded_size(self, spec):
        return -(-spec.size // 2) * 3

    def encode(self, chunk, spec):
        if chunk.max(initial=0) > 4095:
            raise ChunkEncodeError(f"camera.pack12: {chunk.max()} does not fit into 12 bits")
        values = np.zeros(-(-spec.size // 2) * 2, "u2")
        values[: spec.size] = chunk.ravel()
        first, second = values[::2], values[1::2]
        return (
            np.stack([first & 255, first >> 8 | (second & 15) << 4, second >> 4], axis=1)
            .astype("u1")
            .tobytes()
        )

    def decode(self, data, spec):
        stored = np.frombuffer(data, "u1").astype("u2")
        if stored.size != self.encoded_size(spec):
            raise ChunkDecodeError(
                f"camera.pack12: expected {self.encoded_size(spec)} bytes, got {stored.size}"
            )
        one, two, three = stored.reshape(-1, 3).T
        values = np.stack([one | (two & 15) << 8, two >> 4 | three << 4], axis=1).ravel()
        return values[: spec.size].reshape(spec.shape).astype(spec.np_dtype)


@dataclass(frozen=True)
class Deflate(BytesBytesCodec):
    """Compression without header and checksum."""

    name: ClassVar[str] = "camera.deflate"
    level: int = 6

    def __post_init__(self):
        if not isinstance(self.level, int) or not 0 <= self.level <= 9:
            raise MetadataValidationError(f"expected 0..9, got {self.level!r}", where="level")

    def encode(self, data, spec=None):
        return zlib.compress(data, self.level, wbits=-15)

    def decode(self, data, spec=None, max_size=None):
        unpacker = zlib.decompressobj(wbits=-15)
        try:
            # One byte more than may come: 0 means "all", and the end is noticed only beyond the last byte.
            values = unpacker.decompress(data, 0 if max_size is None else max_size + 1)
        except zlib.error as error:
            raise ChunkDecodeError(f"camera.deflate: {error}") from error
        if not unpacker.eof or unpacker.unused_data:
            raise ChunkDecodeError("camera.deflate: too many bytes, or not all of them")
        return values
