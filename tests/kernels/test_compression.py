# SPDX-License-Identifier: MIT
"""The compression functions: exact sizes, the caller's memory, damaged data."""

from __future__ import annotations

import array
import gzip
import tracemalloc
import zlib

import numpy as np
import pytest

from zarrcore import kernels
from zarrcore.errors import ChunkDecodeError

NAMES = ["blosc", "gzip", "zlib", "zstd", "lz4"]
DATA = np.arange(5000, dtype="<i4") // 7


def encode(name: str, *args, **options):
    return getattr(kernels, f"{name}_encode")(*args, **options)


def decode(name: str, *args, **options):
    return getattr(kernels, f"{name}_decode")(*args, **options)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name):
    packed = encode(name, DATA)
    assert isinstance(packed, bytes) and len(packed) < DATA.nbytes
    assert decode(name, packed, nbytes=DATA.nbytes) == DATA.tobytes()
    out = np.zeros_like(DATA)
    assert decode(name, packed, out=out) is out
    np.testing.assert_array_equal(out, DATA)
    raw = bytearray(DATA.nbytes)
    assert decode(name, bytearray(packed), out=raw, nbytes=DATA.nbytes) is raw
    assert raw == DATA.tobytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "data", [b"", b"x", bytes(100), np.empty((0, 3)), np.array(5, "u2"), np.zeros(3, "M8[s]")]
)
def test_small_and_empty(name, data):
    raw = data.tobytes() if isinstance(data, np.ndarray) else data
    packed = encode(name, data)
    assert decode(name, packed, nbytes=len(raw)) == raw
    assert decode(name, packed, out=bytearray(len(raw))) == raw


@pytest.mark.parametrize("name", NAMES)
def test_encode_into(name):
    plain = encode(name, DATA)
    for room in (len(plain), len(plain) + 1, 3 * DATA.nbytes):
        out = np.full(room, 7, "u1")
        part = encode(name, DATA, out=out)
        assert isinstance(part, memoryview)
        assert decode(name, part, nbytes=DATA.nbytes) == DATA.tobytes()
        assert np.shares_memory(np.frombuffer(part, "u1"), out)
    with pytest.raises(ValueError, match="out: .*needs"):
        encode(name, DATA, out=bytearray(len(plain) - 1))
    with pytest.raises(ValueError, match="out: .*needs"):
        encode(name, DATA, out=bytearray())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [-1, 1, -DATA.nbytes])
def test_size_must_be_exact(name, change):
    packed = encode(name, DATA)
    with pytest.raises(ChunkDecodeError):
        decode(name, packed, nbytes=DATA.nbytes + change)
    with pytest.raises(ChunkDecodeError):
        decode(name, packed, out=bytearray(DATA.nbytes + change))


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_found(name):
    packed = encode(name, DATA)
    for damaged in (packed[:-1], packed[: len(packed) // 2], packed + b"x", b"", b"\xff" * 40):
        with pytest.raises(ValueError):
            decode(name, damaged, nbytes=DATA.nbytes)


def test_formats():
    assert gzip.decompress(kernels.gzip_encode(DATA, level=9)) == DATA.tobytes()
    assert zlib.decompress(kernels.zlib_encode(DATA)) == DATA.tobytes()
    assert kernels.gzip_decode(gzip.compress(b"abc") + gzip.compress(b"de"), nbytes=5) == b"abcde"
    checked = kernels.zstd_encode(DATA, level=-5, checksum=True)
    with pytest.raises(ValueError):
        kernels.zstd_decode(checked[:-1] + bytes([checked[-1] ^ 1]), nbytes=DATA.nbytes)


@pytest.mark.parametrize("period", [1, 2, 3, 4, 8, 12, 16])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_what_repeats_is_decoded_by_others(period: int, level: int):
    """The stream is written down then: with each rest after whole matches, and bytes in any order."""
    zstd = pytest.importorskip("numcodecs").Zstd()
    rng = np.random.default_rng(period)
    pattern = rng.permutation(256).astype("u1")[:period]
    sizes = [1023, *range(1024, 1024 + 258), 65_536, 1_000_003]
    for data in (np.resize(pattern, n) for n in sizes):
        assert zlib.decompress(kernels.zlib_encode(data, level=level)) == data.tobytes()
        assert gzip.decompress(kernels.gzip_encode(data, level=level)) == data.tobytes()
        assert zstd.decode(kernels.zstd_encode(data, level=level)) == data.tobytes()


@pytest.mark.parametrize("at", [0, 15, 16, 17, 500, -17, -1])
def test_one_byte_that_differs_is_kept(at):
    data = np.full(5_000, 7, "u1")
    data[at] = 8
    assert zlib.decompress(kernels.zlib_encode(data)) == data.tobytes()


@pytest.mark.parametrize("level", range(1, 4))
def test_repeated_data_are_no_larger_than_by_zlib_itself(level):
    data = np.full(1 << 18, 1.5, "f4")
    assert len(kernels.zlib_encode(data, level=level)) <= len(zlib.compress(data, level))


def test_judged_by_numcodecs():
    numcodecs = pytest.importorskip("numcodecs")
    judges = {"blosc": numcodecs.Blosc(), "zstd": numcodecs.Zstd(), "lz4": numcodecs.LZ4()}
    for name, judge in judges.items():
        assert bytes(judge.decode(encode(name, DATA))) == DATA.tobytes()
        assert decode(name, bytes(judge.encode(DATA)), nbytes=DATA.nbytes) == DATA.tobytes()


def test_blosc_type_size():
    assert kernels.blosc_encode(DATA)[3] == 4
    assert kernels.blosc_encode(DATA.tobytes())[3] == 1
    assert kernels.blosc_encode(np.zeros(10, "V300"))[3] == 1
    for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
        packed = kernels.blosc_encode(DATA, cname="zstd", clevel=9, shuffle=shuffle)
        assert kernels.blosc_decode(packed, nbytes=DATA.nbytes) == DATA.tobytes()


def test_overlap():
    memory = np.zeros(2 * DATA.nbytes, "u1")
    packed = kernels.zstd_encode(DATA)
    memory[: len(packed)] = np.frombuffer(packed, "u1")
    kernels.zstd_decode(memory[: len(packed)], out=memory[: DATA.nbytes])
    assert memory[: DATA.nbytes].tobytes() == DATA.tobytes()


def test_encode_overlaps():
    memory = np.zeros(2 * DATA.nbytes, "u1")
    memory[: DATA.nbytes] = DATA.view("u1")
    part = kernels.zstd_encode(memory[: DATA.nbytes], out=memory)
    assert kernels.zstd_decode(part, nbytes=DATA.nbytes) == DATA.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_encoded_bytes_hold_no_more_memory(name):
    zeros = np.zeros(1 << 18, "u1")
    encode(name, zeros)
    tracemalloc.start()
    try:
        kept = [encode(name, zeros) for _ in range(10)]
        traced, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traced < sum(len(one) for one in kept) + 10_000


class Sub(np.ndarray):
    """A subclass of ndarray."""


@pytest.mark.parametrize(
    "data",
    [
        np.arange(60, dtype="f2").reshape(3, 4, 5),
        np.arange(6).astype("M8[s]"),
        np.arange(6).astype("m8[h]").view(Sub),
        np.array(["a", "bcd"]),
        np.array([(1, 2.5)], "i2, f8"),
        np.arange(5, dtype=">i4"),
        np.arange(3, dtype=np.longdouble),
        memoryview(np.arange(6.0).reshape(2, 3)),
        array.array("h", [1, 2, 3]),
        bytearray(b"abcdef"),
        np.frombuffer(b"read-only", "u1"),
    ],
    ids=lambda data: f"{type(data).__name__}-{getattr(data, 'dtype', 'bytes')}",
)
def test_anything_with_bytes(data):
    raw = bytes(np.asarray(data).tobytes())
    packed = kernels.lz4_encode(data)
    assert kernels.lz4_decode(memoryview(packed), nbytes=len(raw)) == raw
    out = np.array(data) if isinstance(data, np.ndarray) else bytearray(len(raw))
    assert kernels.lz4_decode(np.frombuffer(packed, "u1"), out=out) is out
    assert bytes(out) == raw if isinstance(out, bytearray) else out.tobytes() == raw


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: kernels.gzip_encode("text"), TypeError, "data"),
        (lambda: kernels.gzip_encode(np.array([None])), TypeError, "data: .*references"),
        (lambda: kernels.gzip_encode(b"", level=10), ValueError, "level: expected 0 to 9"),
        (lambda: kernels.gzip_encode(b"", level=True), TypeError, "level"),
        (lambda: kernels.zlib_encode(b"", level="5"), TypeError, "level"),
        (lambda: kernels.zstd_encode(b"", level=23), ValueError, "level"),
        (lambda: kernels.lz4_encode(b"", acceleration=0), ValueError, "acceleration"),
        (lambda: kernels.blosc_encode(b"", cname="lzma"), ValueError, "cname"),
        (lambda: kernels.blosc_encode(b"", shuffle="on"), ValueError, "shuffle"),
        (lambda: kernels.blosc_encode(b"", typesize=0), ValueError, "typesize"),
        (lambda: kernels.blosc_encode(b"", clevel=10), ValueError, "clevel"),
        (lambda: kernels.blosc_encode(b"", blocksize=-1), ValueError, "blocksize"),
        (lambda: kernels.blosc_encode(b"", cname=None), TypeError, "cname: expected one of"),
        (lambda: kernels.blosc_encode(b"", cname=np.array(["lz4", "zstd"])), TypeError, "cname: expected"),
        (lambda: kernels.blosc_encode(b"", shuffle=1), TypeError, "shuffle: expected one of"),
        (lambda: kernels.blosc_encode(b"", typesize=2.0), TypeError, "typesize: expected an integer"),
        (lambda: kernels.zstd_encode(b"", checksum="no"), TypeError, "checksum: expected True or False"),
        (lambda: kernels.blosc_encode(np.empty(2**31, "u1")), ValueError, "data: cannot encode 2147483648"),
        (
            lambda: kernels.blosc_encode(np.empty(2**31, "u1"), bytearray(5)),
            ValueError,
            "data: cannot encode",
        ),
        (lambda: kernels.lz4_encode(np.empty(2**31, "u1")), ValueError, "data: cannot encode 2147483648"),
        (lambda: kernels.gzip_decode(b"abc", out=bytearray(5), nbytes="x"), TypeError, "nbytes: expected"),
        (lambda: kernels.gzip_encode(b"abc", out=bytes(100)), ValueError, "out: .*read-only"),
        (lambda: kernels.gzip_encode(b"abc", out="x"), TypeError, "out"),
        (lambda: kernels.gzip_encode(b"a", out=np.frombuffer(b"abc", "u1")), ValueError, "out: .*read-o"),
        (lambda: kernels.gzip_encode(b"abc", out=memoryview(bytes(99))), ValueError, "out: .*read-only"),
        (lambda: kernels.gzip_encode(np.array(["a"], "T")), TypeError, "data: .*references"),
        (lambda: kernels.gzip_encode(np.zeros(2, "O, i4")), TypeError, "data: .*references"),
        (lambda: kernels.gzip_decode(b"abc"), TypeError, "nbytes"),
        (lambda: kernels.gzip_decode(b"abc", nbytes=-1), ValueError, "nbytes"),
        (lambda: kernels.gzip_decode(b"abc", out=bytearray(5), nbytes=4), ValueError, "out: expected 4"),
        (lambda: kernels.gzip_decode(b"abc", out=np.zeros(8)[::2]), ValueError, "out: expected C-contig"),
    ],
)
def test_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_compressor_that_the_build_lacks():
    try:
        packed = kernels.blosc_encode(DATA, cname="snappy")
    except ValueError as error:
        assert str(error) == "cname: this build of blosc lacks the compressor snappy"
        with pytest.raises(ValueError, match="^cname: "):
            kernels.blosc_encode(DATA, out=bytearray(DATA.nbytes), cname="snappy")
    else:
        assert kernels.blosc_decode(packed, nbytes=DATA.nbytes) == DATA.tobytes()
