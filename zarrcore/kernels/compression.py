# SPDX-License-Identifier: MIT
"""Compressed bytes: the codecs of the chunk engine, one call each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from zarrcore import errors
from zarrcore._core import engine
from zarrcore.kernels._memory import buffer_of, dense_bytes_of, index_of
from zarrcore.kernels._sharing import SHARE_NBYTES, check_threads, thread_count

_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")


def blosc_encode(
    data: Any,
    /,
    out: Any = None,
    *,
    cname: str = "lz4",
    clevel: int = 5,
    shuffle: Literal["noshuffle", "shuffle", "bitshuffle"] = "shuffle",
    typesize: int | None = None,
    blocksize: int = 0,
    threads: int | None = None,
) -> Any:
    """Compress with blosc.

    Parameters
    ----------
    data : bytes-like or ndarray
        Any type, in C order; with gaps between its items it is copied first.
    out : writable buffer, optional
        Where the result begins; it may be longer.
    cname : {"lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"}, optional
        The compressor; which ones exist depends on the build.
    clevel : int, optional
        0 to 9.
    shuffle : {"noshuffle", "shuffle", "bitshuffle"}, optional
        What is done before compression.
    typesize : int, optional
        1 to 255; default: the item size of an array, else 1.
    blocksize : int, optional
        In bytes; 0: blosc chooses.
    threads : int, optional
        The most threads to use; default: those of the engine from 32 MiB on, below that one.

    Returns
    -------
    bytes or memoryview
        The result, or the part of ``out`` that it takes.

    Raises
    ------
    TypeError
        If ``data`` or ``out`` has no buffer, or an option is of another type.
    ValueError
        If an option is out of range or the build lacks the compressor, ``data`` is too large, or ``out`` is
        too small or read-only.

    Notes
    -----
    The ``blosc`` codec of Zarr.  The GIL is released.  Any number of threads makes the same bytes: each
    compresses some blocks, which are then put together in their order; that takes as much memory again as
    ``data`` does.

    The other formats are one stream from the first byte to the last: what encodes and decodes them uses the
    calling thread alone.  To compress many buffers at once, call it from a pool of threads.

    Examples
    --------
    >>> x = np.arange(1000)
    >>> packed = blosc_encode(x, cname="zstd")
    >>> back = np.empty_like(x)
    >>> blosc_decode(packed, out=back) is back
    True
    """
    if typesize is None:
        typesize = data.itemsize if isinstance(data, np.ndarray) and 1 <= data.itemsize <= 255 else 1
    config = {
        "cname": _one_of(cname, "cname", _COMPRESSORS),
        "clevel": _within(clevel, "clevel", 0, 9),
        "shuffle": _SHUFFLES.index(_one_of(shuffle, "shuffle", _SHUFFLES)),
        "typesize": _within(typesize, "typesize", 1, 255),
        "blocksize": _within(blocksize, "blocksize", 0, 2**31 - 1),
    }
    return _encode("blosc", config, data, out, _sharing(threads))


def gzip_encode(data: Any, /, out: Any = None, *, level: int = 5) -> Any:
    """Compress to the gzip format (RFC 1952), ``level`` 0 to 9; else as :func:`blosc_encode`.

    Examples
    --------
    >>> import gzip
    >>> gzip.decompress(gzip_encode(b"abc" * 100, level=9)) == b"abc" * 100
    True
    """
    return _encode("gzip", {"level": _within(level, "level", 0, 9)}, data, out)


def zlib_encode(data: Any, /, out: Any = None, *, level: int = 1) -> Any:
    """Compress to the zlib format (RFC 1950), ``level`` 0 to 9; else as :func:`blosc_encode`.

    Examples
    --------
    >>> import zlib
    >>> zlib.decompress(zlib_encode(b"abc", level=6))
    b'abc'
    """
    return _encode("zlib", {"level": _within(level, "level", 0, 9)}, data, out)


def zstd_encode(data: Any, /, out: Any = None, *, level: int = 3, checksum: bool = False) -> Any:
    """Compress to a zstd frame (RFC 8878), ``level`` -131072 to 22; else as :func:`blosc_encode`.

    Examples
    --------
    >>> len(zstd_encode(bytes(1000), level=9, checksum=True)) < 30
    True
    """
    if not isinstance(checksum, bool | np.bool_):
        raise TypeError(f"checksum: expected True or False, got {checksum!r}")
    config = {"level": _within(level, "level", -131072, 22), "checksum": bool(checksum)}
    return _encode("zstd", config, data, out)


def lz4_encode(data: Any, /, out: Any = None, *, acceleration: int = 1) -> Any:
    """Compress to 4 bytes of decoded size and an LZ4 block; otherwise as :func:`blosc_encode`.

    ``acceleration`` is 1 (smallest) to 65537 (fastest).  This is the ``lz4`` compressor of Zarr v2.

    Examples
    --------
    >>> len(lz4_encode(bytes(1000))) < 20
    True
    """
    return _encode("lz4", {"acceleration": _within(acceleration, "acceleration", 1, 65537)}, data, out)


def blosc_decode(
    data: Any, /, out: Any = None, *, nbytes: int | None = None, threads: int | None = None
) -> Any:
    """Decompress what blosc has compressed.

    Parameters
    ----------
    data : bytes-like or ndarray
        With gaps between its bytes it is copied first.
    out : writable buffer, optional
        C-contiguous, of exactly the size of the result: an array of any type, a bytearray, ...
    nbytes : int, optional
        The exact size of the result; needed where there is no ``out``.  Nothing larger is ever allocated.
    threads : int, optional
        The most threads to use, of :func:`blosc_decode` only; default: those of the engine from 32 MiB on,
        below that one.

    Returns
    -------
    bytes or ndarray or other buffer
        ``out``, or the result.

    Raises
    ------
    TypeError
        If ``data`` or ``out`` has no buffer, or there is neither ``out`` nor ``nbytes``.
    ValueError
        If ``out`` is read-only or not contiguous.
    ChunkDecodeError, ChecksumError
        (both are ValueErrors) If ``data`` is malformed or stands for another number of bytes; ``out`` is
        then undefined.

    Notes
    -----
    Every length in ``data`` is checked before it is used.  The GIL is released.

    Examples
    --------
    >>> blosc_decode(blosc_encode(b"abc" * 100), nbytes=300) == b"abc" * 100
    True
    """
    return _decode("blosc", data, out, nbytes, _sharing(threads))


def gzip_decode(data: Any, /, out: Any = None, *, nbytes: int | None = None) -> Any:
    """Decompress one or more gzip members (RFC 1952); else as :func:`blosc_decode`.

    Examples
    --------
    >>> out = np.empty(3, "u1")
    >>> gzip_decode(gzip_encode(b"abc"), out)
    array([97, 98, 99], dtype=uint8)
    """
    return _decode("gzip", data, out, nbytes)


def zlib_decode(data: Any, /, out: Any = None, *, nbytes: int | None = None) -> Any:
    """Decompress a zlib stream (RFC 1950); else as :func:`blosc_decode`.

    Examples
    --------
    >>> import zlib
    >>> zlib_decode(zlib.compress(b"abc"), nbytes=3)
    b'abc'
    """
    return _decode("zlib", data, out, nbytes)


def zstd_decode(data: Any, /, out: Any = None, *, nbytes: int | None = None) -> Any:
    """Decompress zstd frames (RFC 8878); else as :func:`blosc_decode`.

    Examples
    --------
    >>> zstd_decode(zstd_encode(b"abc"), nbytes=3)
    b'abc'
    """
    return _decode("zstd", data, out, nbytes)


def lz4_decode(data: Any, /, out: Any = None, *, nbytes: int | None = None) -> Any:
    """Decompress what :func:`lz4_encode` has made; else as :func:`blosc_decode`.

    Examples
    --------
    >>> lz4_decode(lz4_encode(b"abc"), nbytes=3)
    b'abc'
    """
    return _decode("lz4", data, out, nbytes)


_Sharing = Callable[[int], int]
"""The number of threads for so many decoded bytes."""


def _alone(nbytes: int) -> int:
    return 1


def _sharing(threads: int | None) -> _Sharing:
    check_threads(threads)
    return lambda nbytes: 1 if threads is None and nbytes < SHARE_NBYTES else thread_count(threads)


def _encode(name: str, config: dict[str, Any], data: Any, out: Any, sharing: _Sharing = _alone) -> Any:
    source = data if engine.is_plain(data) else dense_bytes_of(data, "data")
    threads = sharing(_nbytes(source))
    if out is None:
        return _name_argument(engine.encode_bytes, name, config, source, threads)
    target = _writable(out)
    written = _name_argument(engine.encode_into, name, config, source, target, threads)
    return memoryview(buffer_of(target, "out"))[:written]


def _name_argument(encode: Callable[..., Any], name: str, config: dict[str, Any], *rest: Any) -> Any:
    """Name the option in errors about what this build cannot do, and the data in all others."""
    try:
        return encode(name, config, *rest)
    except errors.ChunkEncodeError as error:
        engine.check_options(name, config)
        raise errors.ChunkEncodeError(f"data: {error.reason}", codec=name) from None


def _decode(name: str, data: Any, out: Any, nbytes: int | None, sharing: _Sharing = _alone) -> Any:
    source = data if engine.is_plain(data) else dense_bytes_of(data, "data")
    if out is None:
        if nbytes is None:
            raise TypeError("nbytes: needed where there is no out")
        size = _within(nbytes, "nbytes", 0, 2**63 - 1)
        decoded: bytes = _name_data(engine.decode_bytes, name, source, size, sharing(size))
        _check_size(name, len(decoded), size)
        return decoded
    target = _writable(out)
    size = _nbytes(target)
    if nbytes is not None and _within(nbytes, "nbytes", 0, 2**63 - 1) != size:
        raise ValueError(f"out: expected {nbytes} bytes, got {size}")
    written: int = _name_data(engine.decode_into, name, source, target, sharing(size))
    _check_size(name, written, size)
    return out


def _nbytes(memory: Any) -> int:
    return memory.nbytes if isinstance(memory, np.ndarray) else len(memory)


def _name_data(decode: Callable[..., Any], name: str, source: Any, room: Any, threads: int) -> Any:
    """Name the argument in errors about encoded bytes."""
    try:
        return decode(name, {}, source, room, threads)
    except errors.ChunkDecodeError as error:
        raise type(error)(f"data: {error.reason}", codec=name) from None


def _check_size(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise errors.ChunkDecodeError(f"data: expected {expected} bytes, found {found}", codec=name)


def _writable(out: Any) -> Any:
    """Return ``out`` itself if it is a plain one, else its bytes."""
    if engine.is_plain(out, writable=True):
        return out
    target = buffer_of(out, "out")
    if not target.flags.writeable:
        raise ValueError("out: the buffer is read-only")
    return target


def _within(value: Any, name: str, low: int, high: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name}: expected an integer, got {value}")
    integer = index_of(value, name)
    if not low <= integer <= high:
        raise ValueError(f"{name}: expected {low} to {high}, got {integer}")
    return integer


def _one_of(value: str, name: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    return value
