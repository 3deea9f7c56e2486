# SPDX-License-Identifier: MIT
"""Compressors and decompressors of `zarrcore.kernels` against those of numcodecs, by size of the chunk.

Both sides end up in C libraries, which for zstd, lz4 and blosc without shuffling are the same ones: with
large chunks there is nothing between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.comparing import Case
from zarrcore import kernels

SMALL = (4 << 10, 64 << 10)


def walk(n: int, dtype: str = "<i4") -> np.ndarray:
    """n bytes of a random walk: neighbours differ by up to 5."""
    steps = np.random.default_rng(6).integers(-5, 6, n // np.dtype(dtype).itemsize)
    return np.cumsum(steps).astype(dtype)


def compression_cases(numcodecs: Any, n: int) -> Iterator[Case]:
    """Decoding n bytes and small chunks, encoding small chunks."""
    numcodecs.blosc.use_threads = False
    for name, codec, decode, dtype in _decoders(numcodecs):
        yield _decoding(name, codec, decode, walk(n, dtype))
    for name, codec, decode in _common(numcodecs):
        for size in SMALL:
            yield _decoding(f"{name}_decode, {size >> 10} KiB", codec, decode, walk(size))
    for name, codec, encode in _encoders(numcodecs):
        for size in SMALL:
            yield _encoding(f"{name}_encode, {size >> 10} KiB", codec, encode, walk(size))


def _common(numcodecs: Any) -> Iterator[tuple[str, Any, Any]]:
    yield "zstd", numcodecs.Zstd(3), kernels.zstd_decode
    yield "lz4", numcodecs.LZ4(), kernels.lz4_decode
    yield "gzip", numcodecs.GZip(1), kernels.gzip_decode
    yield "zlib", numcodecs.Zlib(1), kernels.zlib_decode
    yield "blosc", numcodecs.Blosc("lz4"), kernels.blosc_decode


def _decoders(numcodecs: Any) -> Iterator[tuple[str, Any, Any, str]]:
    for name, codec, decode in _common(numcodecs):
        yield f"{name}_decode", codec, decode, "<i4"
    blosc = numcodecs.Blosc
    for what, dtype, options in (
        ("<i2", "<i2", {"cname": "lz4"}),
        ("bits", "<i4", {"cname": "lz4", "shuffle": blosc.BITSHUFFLE}),
        ("zstd", "<i4", {"cname": "zstd"}),
        ("zstd, bits", "<i4", {"cname": "zstd", "shuffle": blosc.BITSHUFFLE}),
        ("plain", "<i4", {"cname": "lz4", "shuffle": blosc.NOSHUFFLE}),
    ):
        yield f"blosc_decode, {what}", blosc(**options), kernels.blosc_decode, dtype


def _encoders(numcodecs: Any) -> Iterator[tuple[str, Any, Any]]:
    yield "zstd", numcodecs.Zstd(3), lambda x: kernels.zstd_encode(x, level=3)
    yield "lz4", numcodecs.LZ4(), kernels.lz4_encode
    yield "gzip", numcodecs.GZip(1), lambda x: kernels.gzip_encode(x, level=1)
    yield "zlib", numcodecs.Zlib(1), lambda x: kernels.zlib_encode(x, level=1)
    yield "blosc", numcodecs.Blosc("lz4"), kernels.blosc_encode


def _decoding(name: str, codec: Any, decode: Any, x: np.ndarray) -> Case:
    encoded, out = codec.encode(x), np.empty_like(x)
    return Case(
        name,
        x.nbytes,
        lambda: decode(encoded, out=out),
        lambda: codec.decode(encoded, out=out),
        f"{type(codec).__name__} of numcodecs",
    )


def _encoding(name: str, codec: Any, encode: Any, x: np.ndarray) -> Case:
    """Encoders need not find the same bytes: what is compared is what those decode to."""
    for encoded in (encode(x), codec.encode(x)):
        if not np.array_equal(np.frombuffer(codec.decode(encoded), x.dtype), x):
            raise AssertionError(f"{name}: other values come back")
    return Case(
        name,
        x.nbytes,
        lambda: len(encode(x)) > 0,
        lambda: len(codec.encode(x)) > 0,
        f"{type(codec).__name__} of numcodecs",
    )
