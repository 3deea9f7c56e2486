"""The codecs of format 2 that the standard library has, bytes -> bytes, within the bounds of the metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import fail, integer
from zarrcore.codecs._native import unbounded_room
from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.codecs.v2_config import V2Config
from zarrcore.errors import ChunkDecodeError

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = ["BZ2", "LZMA", "Base64"]

_LZMA_MEMORY_LIMIT = 1 << 27  # bytes, twice what the highest preset needs
_LZMA_CHECKS = (-1, 0, 1, 4, 10)  # by the format, none, CRC32, CRC64, SHA-256
_LZMA_EXTREME = 1 << 31  # may be added to a preset
_LZMA_FILTERS = (0x4000000000000001, 0x21, *range(3, 10))  # LZMA1, LZMA2, delta, machine code of processors


@dataclass(frozen=True)
class BZ2(V2Config, BytesBytesCodec):
    """Compression by the bz2 module of the standard library."""

    name: ClassVar[str] = "bz2"
    needed_to_decode: ClassVar[tuple[str, ...] | None] = ()
    level: int = 1

    def __post_init__(self) -> None:
        integer(self.level, "level", 1, 9)

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import bz2

        return bz2.compress(data, self.level)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import bz2

        return _decompress(bz2.BZ2Decompressor, data, _room(data, spec, max_size), self.name, OSError)


@dataclass(frozen=True)
class LZMA(V2Config, BytesBytesCodec):
    """Compression by the lzma module of the standard library, whose numbers the configuration uses."""

    name: ClassVar[str] = "lzma"
    needed_to_decode: ClassVar[tuple[str, ...] | None] = ("format",)
    format: int = 1
    check: int = -1
    preset: int | None = None
    filters: Any = None

    def __post_init__(self) -> None:
        integer(self.format, "format", 0, 3)
        if integer(self.check, "check") not in _LZMA_CHECKS:
            fail("check", "-1, 0, 1, 4 or 10", self.check)
        if self.preset is not None and integer(self.preset, "preset") & ~_LZMA_EXTREME not in range(10):
            fail("preset", f"an integer 0..9, to which {_LZMA_EXTREME} may be added", self.preset)
        if self.filters is not None:
            self._check_filters()
        elif self.format == 3:
            fail("filters", "filters, as the format 3 (raw) needs", None)

    def _check_filters(self) -> None:
        if not isinstance(self.filters, (list, tuple)) or not all(isinstance(f, dict) for f in self.filters):
            fail("filters", "an array of objects", self.filters)
        if self.preset is not None:
            fail("preset", "none beside filters", self.preset)
        for index, item in enumerate(self.filters):
            if integer(item.get("id"), f"filters[{index}].id") not in _LZMA_FILTERS:
                fail(f"filters[{index}].id", "the number of a filter of the lzma module", item["id"])
        object.__setattr__(self, "filters", [dict(item) for item in self.filters])

    def __hash__(self) -> int:
        return hash((self.name, self.format, self.check, self.preset))

    @property
    def _memory_limit(self) -> int:
        """Most bytes that decoding may take besides the result: a stream says how much it wants."""
        sizes = [item.get("dict_size", 0) for item in self.filters or ()]
        return _LZMA_MEMORY_LIMIT + max((size for size in sizes if isinstance(size, int)), default=0)

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import lzma

        return lzma.compress(
            data, format=self.format, check=self.check, preset=self.preset, filters=self.filters
        )

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import lzma

        def start() -> lzma.LZMADecompressor:
            if self.format == lzma.FORMAT_RAW:
                return lzma.LZMADecompressor(self.format, filters=self.filters)
            return lzma.LZMADecompressor(self.format, memlimit=self._memory_limit)

        may_end_anywhere = self.format == lzma.FORMAT_RAW  # a raw stream has no end mark
        room = _room(data, spec, max_size)
        return _decompress(start, data, room, self.name, lzma.LZMAError, needs_end=not may_end_anywhere)


@dataclass(frozen=True)
class Base64(V2Config, BytesBytesCodec):
    """The bytes as text of 64 characters (RFC 4648)."""

    name: ClassVar[str] = "base64"
    is_fixed_size: ClassVar[bool] = True

    def encoded_size(self, nbytes: int) -> int:
        return -(-nbytes // 3) * 4

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import base64

        return base64.standard_b64encode(data)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import base64

        try:
            return base64.b64decode(data, validate=True)
        except ValueError as error:
            raise ChunkDecodeError(f"not base64: {error}", codec=self.name) from error


def _room(data: Buffer, spec: ArraySpec | None, max_size: int | None) -> int:
    return unbounded_room(data, spec) if max_size is None else max_size


def _decompress(
    start: Any,
    data: Buffer,
    max_size: int,
    codec: str,
    error_class: type[Exception],
    *,
    needs_end: bool = True,
) -> bytes:
    """Decompress one stream after the other, and never more than `max_size` bytes."""
    room = max_size
    parts: list[bytes] = []
    rest = bytes(data)
    while rest or not parts:
        stream = start()
        try:
            part = stream.decompress(rest, room + 1)
            while not stream.eof and not stream.needs_input and len(part) <= room:
                part += stream.decompress(b"", room + 1 - len(part))
        except (error_class, EOFError, ValueError) as error:
            raise ChunkDecodeError(str(error), codec=codec) from error
        if len(part) > room:
            raise ChunkDecodeError(f"decodes to more than the {max_size} bytes it may have", codec=codec)
        if needs_end and not stream.eof:
            raise ChunkDecodeError("the compressed stream is cut off", codec=codec)
        parts.append(part)
        room -= len(part)
        rest = stream.unused_data
    return b"".join(parts)
