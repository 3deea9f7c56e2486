"""The blocks of the format N5: the codec ``n5_default``, and the LZ4 streams that N5 compresses them with."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import option, own_form
from zarrcore._records import dataclass
from zarrcore._validate import at, fail, integer
from zarrcore.codecs import _native
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer, BytesBytesCodec, Codec
from zarrcore.codecs.bytes import BytesCodec
from zarrcore.codecs.chain import CodecChain, fill_item, parse_codecs
from zarrcore.codecs.transpose import TransposeCodec
from zarrcore.errors import ChecksumError, ChunkDecodeError, MetadataValidationError

_DEFAULT = 0  # the mode of a block that is written
_TYPES = frozenset({"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"})


@dataclass(frozen=True, kw_only=True)
class N5DefaultCodec(ArrayBytesCodec):
    """A chunk as a block of N5: a header with its shape, then the items (codec ``n5_default``, extensions).

    Parameters
    ----------
    codecs : sequence of (Codec or dict or str)
        A ``transpose`` that reverses the dimensions, ``bytes`` with the big byte order, and at most one
        bytes -> bytes codec.

    Notes
    -----
    A block may have another shape than the chunk, as writers of N5 cut the blocks at the end of an array.
    Items that it lacks are the fill value.  Blocks of the modes "default" and "varlength" are read, the first
    are written.
    """

    name: ClassVar[str] = "n5_default"
    stores_shape: ClassVar[bool] = True
    codecs: tuple[Codec, ...]

    def __post_init__(self) -> None:
        with at("codecs"):
            object.__setattr__(self, "codecs", parse_codecs(self.codecs))
        kinds = [codec.kind for codec in self.codecs]
        if kinds[:2] != ["array->array", "array->bytes"] or not isinstance(self.codecs[0], TransposeCodec):
            fail("codecs", "transpose, bytes and at most one more codec", [c.name for c in self.codecs])
        if kinds[2:] not in ([], ["bytes->bytes"]):
            fail("codecs", "at most one bytes->bytes codec", [codec.name for codec in self.codecs[2:]])

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or f"{spec.np_dtype.kind}{spec.np_dtype.itemsize}" not in _TYPES:
            raise MetadataValidationError(f"N5 has no data type {spec.dtype!r}")
        order, items = self.codecs[:2]
        reverse = tuple(range(spec.ndim))[::-1]
        if order.order != reverse:  # type: ignore[attr-defined]
            fail("configuration.codecs[0].configuration.order", str(list(reverse)), list(order.order))  # type: ignore[attr-defined]
        if not isinstance(items, BytesCodec) or (spec.item_size > 1 and items.endian != "big"):
            fail("configuration.codecs[1]", "bytes with the big byte order", items.to_json())
        if spec.ndim > 0xFFFF or max(spec.shape, default=0) > 0xFFFFFFFF:
            fail(None, "a chunk whose lengths fit into the header of a block", list(spec.shape))
        with at("configuration.codecs"):
            return replace(self, codecs=self._chain(spec).codecs)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        header = struct.pack(f">HH{spec.ndim}I", _DEFAULT, spec.ndim, *spec.shape)
        return header + self._chain(spec).encode(chunk, spec)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        engine = _native.engine()
        array = engine.NativeArray(
            engine.MemorySource({"/".join(("c", *"0" * spec.ndim)): data}),
            "",
            shape=spec.shape,
            chunks=spec.shape,
            chain=engine.Chain(spec.item_size, own_form(self, "native", spec), shape=spec.shape),
            dtype=spec.np_dtype,
            fill=fill_item(spec).tobytes(),
        )
        out = np.empty(spec.shape, spec.np_dtype)
        try:
            array.read([(0, 1, length) for length in spec.shape], out)
        except ChunkDecodeError as error:  # where the chunk really is, the caller knows
            raise type(error)(error.reason, codec=error.codec) from error.__cause__
        return out

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        links = self._chain(spec).links(spec)
        return None if links is None else (("n5_block", links),)

    def _chain(self, spec: ArraySpec) -> CodecChain:
        return CodecChain.from_codecs(self.codecs, spec)


# --- LZ4 as lz4-java frames it


_MAGIC = b"LZ4Block"
_HEADER = struct.Struct("<8sBIII")
_RAW, _LZ4 = 0x10, 0x20
_SEED, _CHECK_MASK = 0x9747B28C, 0x0FFFFFFF
_SMALLEST_BLOCK_BITS = 10


@dataclass(frozen=True, kw_only=True)
class LZ4BlockCodec(BytesBytesCodec):
    """LZ4 in the frames of lz4-java's ``LZ4BlockOutputStream``, which N5 calls ``lz4``.

    Parameters
    ----------
    block_size : int
        Most bytes that are compressed at once, from 64 to 32 MiB.
    """

    name: ClassVar[str] = "zarrcore.lz4block"
    block_size: int = option(65536, integer, 64, 1 << 25)

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        view = memoryview(data).cast("B")
        level = max(0, (self.block_size - 1).bit_length() - _SMALLEST_BLOCK_BITS)
        parts = []
        for start in range(0, len(view), self.block_size):
            plain = bytes(view[start : start + self.block_size])
            packed = _native.encode(("lz4", {"acceleration": 1}), plain)[4:]
            method, body = (_LZ4, packed) if len(packed) < len(plain) else (_RAW, plain)
            check = xxhash32(plain, _SEED) & _CHECK_MASK
            parts += [_HEADER.pack(_MAGIC, method | level, len(body), len(plain), check), body]
        return b"".join((*parts, _HEADER.pack(_MAGIC, _RAW | level, 0, 0, 0)))

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        view = memoryview(data).cast("B")
        room = _native.unbounded_room(data, spec) if max_size is None else max_size
        parts: list[bytes] = []
        while len(view):
            part, view = self._block(view, room)
            if not part:
                break
            room -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _block(self, view: memoryview, room: int) -> tuple[bytes, memoryview]:
        """Return the next block, decoded, and the bytes that follow it."""
        if len(view) < _HEADER.size:
            raise ChunkDecodeError(f"{len(view)} bytes cannot hold the header of a block", codec=self.name)
        magic, token, stored, plain, check = _HEADER.unpack_from(view)
        method = token & 0xF0
        if magic != _MAGIC or method not in (_RAW, _LZ4):
            raise ChunkDecodeError(f"not a block: it begins with {bytes(view[:9])!r}", codec=self.name)
        body, rest = view[_HEADER.size : _HEADER.size + stored], view[_HEADER.size + stored :]
        if len(body) != stored or (method == _RAW and stored != plain) or plain > room:
            raise ChunkDecodeError(
                f"a block of {stored} bytes for {plain} cannot be, with {len(body)} left and room for {room}",
                codec=self.name,
            )
        found = bytes(body)
        if method == _LZ4:
            found = _native.decode(
                ("lz4", {"acceleration": 1}), struct.pack("<I", plain) + found, None, plain
            )
        if plain and xxhash32(found, _SEED) & _CHECK_MASK != check:
            raise ChecksumError(f"the xxHash of a block of {plain} bytes is not {check:#x}", codec=self.name)
        return found, rest


_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_WORD = 0xFFFFFFFF


def xxhash32(data: bytes, seed: int = 0) -> int:
    """Return the 32-bit xxHash of `data`.

    Examples
    --------
    >>> hex(xxhash32(b"abc"))
    '0x32d153ff'
    """
    p1, p2, p3, p4, p5 = _PRIMES
    stripes = len(data) // 16
    words = np.frombuffer(data, "<u4", 4 * stripes).reshape(-1, 4)
    total = _lanes(words, seed) if stripes else seed + p5
    total = (total + len(data)) & _WORD
    at = 16 * stripes
    for (word,) in struct.iter_unpack("<I", data[at : at + (len(data) - at) // 4 * 4]):
        total = _rotated((total + word * p3) & _WORD, 17) * p4 & _WORD
        at += 4
    for octet in data[at:]:
        total = _rotated((total + octet * p5) & _WORD, 11) * p1 & _WORD
    for shift, prime in ((15, p2), (13, p3)):
        total = (total ^ total >> shift) * prime & _WORD
    return total ^ total >> 16


def _lanes(stripes: np.ndarray, seed: int) -> int:
    """Return the four sums over the words of each lane, which do not depend on each other, joined."""
    p1, p2 = _PRIMES[:2]
    total = 0
    starts = (seed + p1 + p2, seed + p2, seed, seed - p1)
    added = (stripes.astype("u8") * p2 & _WORD).T.tolist()
    for start, words, turn in zip(starts, added, (1, 7, 12, 18), strict=True):
        lane = start & _WORD
        for word in words:
            lane = (lane + word) & _WORD
            lane = (lane << 13 | lane >> 19) * p1 & _WORD
        total += _rotated(lane, turn)
    return total


def _rotated(word: int, turn: int) -> int:
    return (word << turn | word >> 32 - turn) & _WORD
