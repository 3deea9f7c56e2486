"""Values of the entries of a ZIP archive: parts of them, decompressed no further than is asked for."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from zarrcore.storage.byte_range import ByteRange, resolve_range
from zarrcore.storage.validation import too_large
from zarrcore.storage.zip_directory import UNUSUAL, Directory

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_STEP = 1 << 20
_LZMA_HEADER = 9  # a version, the size of the properties, and these


def read(archive: Directory, info: zipfile.ZipInfo, byte_range: ByteRange | None, most: int | None) -> bytes:
    """Return an entry of at most so many bytes, or a part of it; a whole entry is checked against its CRC."""
    if most is not None and info.file_size > most:
        raise zipfile.BadZipFile(too_large(info.file_size, most))
    start, stop = resolve_range(byte_range, info.file_size)
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & UNUSUAL:
        if info.compress_size != info.file_size:
            raise zipfile.BadZipFile(f"expected {info.file_size} bytes, found {info.compress_size}")
        value = archive.part(info, start, stop)
        if stop - start == info.file_size:
            _check_sum(info, zlib.crc32(value))
        return value
    # Not all at once, whatever the entry claims: what follows, or comes after its end, is not decompressed.
    found, parts = 0, []
    for part in _steps(archive, info, stop):
        parts.append(part[max(0, start - found) : stop - found])
        found += len(part)
    if found < stop:
        raise zipfile.BadZipFile(f"expected {info.file_size} bytes, found {found}")
    return b"".join(parts)


def _steps(archive: Directory, info: zipfile.ZipInfo, stop: int) -> Iterator[bytes]:
    """Yield the first bytes of an entry, up to `stop`, piece by piece."""
    make = _DECOMPRESSORS.get(info.compress_type)
    if make is None or info.flag_bits & UNUSUAL:
        with archive.open(info) as file:
            while stop > 0 and (part := file.read(min(_STEP, stop))):
                stop -= len(part)
                yield part
        return
    # zipfile has these decompress whatever it has read, which may be a million times as much.
    decompressor, rest = make(archive, info)
    at, crc, is_whole = info.compress_size - rest, 0, stop == info.file_size
    while stop > 0 and not decompressor.eof:
        data = b""
        if decompressor.needs_input:
            data = archive.part(info, at, min(at + _STEP, info.compress_size))
            at += len(data)
        part = decompressor.decompress(data, min(_STEP, stop))
        if not part and not data:
            return
        crc = zlib.crc32(part, crc)
        stop -= len(part)
        yield part
    if is_whole and stop == 0:
        _check_sum(info, crc)


def _check_sum(info: zipfile.ZipInfo, found: int) -> None:
    if found != info.CRC:
        raise zipfile.BadZipFile("the value does not have the checksum stored with it")


class _Inflate:
    """A decompressor with the methods of those of bz2 and lzma."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, most)


def _deflate(archive: Directory, info: zipfile.ZipInfo) -> tuple[Any, int]:
    return _Inflate(), info.compress_size


def _bzip2(archive: Directory, info: zipfile.ZipInfo) -> tuple[Any, int]:
    """Return a decompressor, and how many bytes of the entry it is to be given."""
    import bz2

    return bz2.BZ2Decompressor(), info.compress_size


def _lzma(archive: Directory, info: zipfile.ZipInfo) -> tuple[Any, int]:
    """The same; a dictionary has no more than the entry can refer to, whatever it claims."""
    import lzma

    header = archive.part(info, 0, min(_LZMA_HEADER, info.compress_size))
    if len(header) < _LZMA_HEADER or header[2:4] != b"\5\0" or header[4] >= 9 * 5 * 5:
        raise zipfile.BadZipFile("the header of LZMA is damaged")
    digits = header[4]
    size = min(int.from_bytes(header[5:9], "little"), info.file_size)
    options = {"lc": digits % 9, "lp": digits // 9 % 5, "pb": digits // 45, "dict_size": max(size, 1 << 12)}
    try:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA1, **options}])
    except (lzma.LZMAError, ValueError) as error:
        raise zipfile.BadZipFile(f"the header of LZMA is damaged: {error}") from error
    return decompressor, info.compress_size - _LZMA_HEADER


def _zstandard(archive: Directory, info: zipfile.ZipInfo) -> tuple[Any, int]:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]

    return zstd.ZstdDecompressor(), info.compress_size


_DECOMPRESSORS: dict[int, Any] = {
    zipfile.ZIP_DEFLATED: _deflate,
    zipfile.ZIP_BZIP2: _bzip2,
    zipfile.ZIP_LZMA: _lzma,
}
if hasattr(zipfile, "ZIP_ZSTANDARD"):  # of Python 3.14
    _DECOMPRESSORS[zipfile.ZIP_ZSTANDARD] = _zstandard  # pyright: ignore[reportAttributeAccessIssue]


def errors_of(info: zipfile.ZipInfo) -> tuple[type[Exception], ...]:
    """What reading a damaged entry raises."""
    if info.compress_type == zipfile.ZIP_BZIP2:
        return *_ZIP_ERRORS, OSError
    if info.compress_type == zipfile.ZIP_LZMA:
        import lzma

        return *_ZIP_ERRORS, lzma.LZMAError, MemoryError
    if info.compress_type == getattr(zipfile, "ZIP_ZSTANDARD", None):
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return *_ZIP_ERRORS, zstd.ZstdError
    return _ZIP_ERRORS
