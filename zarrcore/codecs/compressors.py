"""The other codecs of numcodecs that take and make bytes.

What the engine does not have, the standard library does, within the bounds that the metadata sets.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from zarrcore._extension import option
from zarrcore._validate import fail, integer
from zarrcore.codecs._native import NativeBytesCodec, unbounded_room
from zarrcore.codecs.base import ArraySpec, Buffer, BytesBytesCodec
from zarrcore.codecs.spelling import NumcodecsCodec
from zarrcore.errors import ChunkDecodeError, MetadataValidationError


class LZ4(NumcodecsCodec, NativeBytesCodec, id="lz4"):
    """The decoded size and one LZ4 block.

    Parameters
    ----------
    acceleration : int
        The larger, the faster and the less compressed; below 1 the same as 1.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=LZ4())
    >>> array.metadata.to_dict()["compressor"]
    {'id': 'lz4', 'acceleration': 1}
    """

    needed_to_decode = ()
    acceleration: int = option(1, integer, -(2**31), 2**31 - 1)

    def stage(self) -> tuple[str, dict[str, Any]]:
        return "lz4", {"acceleration": max(self.acceleration, 1)}

    def max_input(self) -> int | None:
        return 0x7E000000  # LZ4_MAX_INPUT_SIZE


class Shuffle(NumcodecsCodec, NativeBytesCodec, id="shuffle"):
    """The first bytes of all items, then the second bytes, and so on.

    Parameters
    ----------
    elementsize : int
        Bytes of an item.  NCZarr writes 0 for the item size of the data type.

    Notes
    -----
    Bytes after the last whole item are read where HDF5 leaves them, at the end.  They are not written, since
    numcodecs refuses to read them.

    Examples
    --------
    >>> Shuffle(elementsize=2).encode(b"aAbBcC")
    b'abcABC'
    >>> filters = [Shuffle(elementsize=4)]
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, filters=filters)
    >>> array.metadata.to_dict()["filters"]
    [{'id': 'shuffle', 'elementsize': 4}]
    """

    is_fixed_size = True
    elementsize: int = option(4, integer, 0, 2**31 - 1)
    itemsize: ClassVar[int] = 0  # in place of an elementsize of 0

    def sized(self, nbytes: int, item_size: int | None) -> Self:
        return self._replaced(itemsize=item_size or 1)

    def resolve(self, spec: ArraySpec) -> Self:
        return self.completed(elementsize=spec.item_size or 1)

    def encoded_size(self, nbytes: int) -> int:
        return nbytes

    def stage(self) -> tuple[str, dict[str, Any]]:
        return self._engine_name, {"elementsize": self._width}

    def check_input(self, nbytes: int) -> None:
        if nbytes % self._width:
            raise MetadataValidationError(
                f"elementsize: {nbytes} bytes are no whole number of items of {self._width} bytes"
            )

    @property
    def _width(self) -> int:
        return self.elementsize or self.itemsize or 1


class BZ2(NumcodecsCodec, BytesBytesCodec, id="bz2"):
    """Compression by the bz2 module of the standard library.

    Parameters
    ----------
    level : int
        1 to 9: hundreds of kilobytes that are compressed at once.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=BZ2(level=9))
    >>> array.metadata.to_dict()["compressor"]
    {'id': 'bz2', 'level': 9}
    """

    needed_to_decode = ()
    level: int = option(1, integer, 1, 9)

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import bz2

        return bz2.compress(data, self.level)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import bz2

        return _decompress(bz2.BZ2Decompressor, data, spec, max_size, self.name, OSError)


_LZMA_MEMORY_LIMIT = 1 << 27  # bytes, twice what the highest preset needs
_LZMA_LARGEST_DICTIONARY = 3 << 29  # that encoders make
_LZMA_CHECKS = (-1, 0, 1, 4, 10)  # by the format, none, CRC32, CRC64, SHA-256
_LZMA_EXTREME = 1 << 31  # may be added to a preset
_LZMA_FILTERS = (0x4000000000000001, 0x21, *range(3, 10))  # LZMA1, LZMA2, delta, machine code of processors


def _lzma_check(value: object, where: str) -> int:
    if integer(value, where) not in _LZMA_CHECKS:
        fail(where, "-1, 0, 1, 4 or 10", value)
    return integer(value, where)


def _lzma_preset(value: object, where: str) -> int:
    if integer(value, where) & ~_LZMA_EXTREME not in range(10):
        fail(where, f"an integer 0..9, to which {_LZMA_EXTREME} may be added", value)
    return integer(value, where)


def _lzma_filters(value: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, dict) for item in value):
        fail(where, "an array of objects", value)
    for index, item in enumerate(value):
        if integer(item.get("id"), f"{where}[{index}].id") not in _LZMA_FILTERS:
            fail(f"{where}[{index}].id", "the number of a filter of the lzma module", item["id"])
    return [dict(item) for item in value]


class LZMA(NumcodecsCodec, BytesBytesCodec, id="lzma"):
    """Compression by the lzma module of the standard library, whose numbers the configuration uses.

    Parameters
    ----------
    format, check : int
        The container and its checksum.
    preset : int, optional
        0 to 9, to which ``lzma.PRESET_EXTREME`` may be added.
    filters : list of dict, optional
        A chain of filters, in place of a preset; the raw format needs it.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=LZMA(preset=6))
    >>> array[:] = 7
    >>> array[:].tolist()
    [7, 7, 7]
    """

    needed_to_decode = ("format",)
    format: int = option(1, integer, 0, 3)
    check: int = option(-1, _lzma_check)
    preset: int | None = option(None, _lzma_preset)
    filters: list[dict[str, Any]] | None = option(None, _lzma_filters)

    def _check(self) -> None:
        if self.filters is not None and self.preset is not None:
            fail("preset", "none together with filters", self.preset)
        if self.filters is None and self.format == 3:
            fail("filters", "filters, as the format 3 (raw) needs", None)

    def _raw_filters(self, most: int) -> list[dict[str, Any]]:
        """The filters, with dictionaries no larger than what is decoded: they are allocated at once."""
        return [
            {**item, "dict_size": min(size, max(most, 4096))}
            if isinstance(size := item.get("dict_size"), int)
            else item
            for item in self.filters or ()
        ]

    @property
    def _memory_limit(self) -> int:
        """Most bytes that decoding may allocate besides the result; a stream states how much it needs."""
        sizes = [item.get("dict_size", 0) for item in self.filters or ()]
        largest = max((size for size in sizes if isinstance(size, int)), default=0)
        return _LZMA_MEMORY_LIMIT + min(largest, _LZMA_LARGEST_DICTIONARY)

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import lzma

        return lzma.compress(
            data, format=self.format, check=self.check, preset=self.preset, filters=self.filters
        )

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import lzma

        room = unbounded_room(data, spec) if max_size is None else max_size

        def start() -> lzma.LZMADecompressor:
            if self.format == lzma.FORMAT_RAW:
                return lzma.LZMADecompressor(self.format, filters=self._raw_filters(room))
            return lzma.LZMADecompressor(self.format, memlimit=self._memory_limit)

        needs_end = self.format != lzma.FORMAT_RAW  # a raw stream has no end mark
        return _decompress(start, data, spec, max_size, self.name, lzma.LZMAError, needs_end=needs_end)


class Base64(NumcodecsCodec, BytesBytesCodec, id="base64", in_v3=False):
    """The bytes as text of 64 characters (RFC 4648)."""

    is_fixed_size = True

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


def _decompress(
    start: Any,
    data: Buffer,
    spec: ArraySpec | None,
    max_size: int | None,
    codec: str,
    error_class: type[Exception],
    *,
    needs_end: bool = True,
) -> bytes:
    """Decompress one stream after the other, and never more than `max_size` bytes."""
    room = max_size = unbounded_room(data, spec) if max_size is None else max_size
    parts: list[bytes] = []
    view, at = memoryview(bytes(data)), 0
    while at < len(view) or not parts:
        stream = start()
        try:
            part, at = _of_stream(stream, view, at, room)
        except (error_class, EOFError, ValueError) as error:
            raise ChunkDecodeError(str(error), codec=codec) from error
        if len(part) > room:
            raise ChunkDecodeError(f"decodes to more than the {max_size} bytes it may have", codec=codec)
        if needs_end and not stream.eof:
            raise ChunkDecodeError("the compressed stream is cut off", codec=codec)
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


_FIRST_STEP, _LARGEST_STEP = 1 << 10, 1 << 20


def _of_stream(stream: Any, data: memoryview, at: int, room: int) -> tuple[bytes, int]:
    """Decompress a stream that begins at a byte of `data`; returns at most one byte too many, and its end.

    A stream copies what follows it, and data may be thousands of empty ones: it is given a little at first.
    """
    parts: list[bytes] = []
    step = _FIRST_STEP
    while not stream.eof and room >= 0 and not (stream.needs_input and at == len(data)):
        given = data[at : at + step] if stream.needs_input else b""
        at, step = at + len(given), min(2 * step, _LARGEST_STEP)
        parts.append(stream.decompress(given, room + 1))
        room -= len(parts[-1])
    return b"".join(parts), at - len(stream.unused_data)
