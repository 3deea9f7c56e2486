# SPDX-License-Identifier: MIT
"""`threads=` of the ufuncs and of shard indexes: the same results, options and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from zarrcore import kernels
from zarrcore._core import engine

N = 540_000
RNG = np.random.default_rng(7)
INDEX = RNG.integers(-(2**40), 2**40, N)
POINTS = RNG.integers(0, 1000, (N, 3))
GRID = (1024, 1000, 1000)
CODES = kernels.morton_encode(POINTS, GRID)
UFUNCS = {
    "chunk_index": (kernels.chunk_index, (INDEX, 1000)),
    "chunk_index_columns": (kernels.chunk_index, (POINTS, (7, 10, 3))),
    "chunk_index_each": (kernels.chunk_index, (INDEX, 1 + np.abs(INDEX))),
    "chunk_index_outer": (kernels.chunk_index, (INDEX[:, None], np.array([[3, 5]]))),
    "chunk_index_unsigned": (kernels.chunk_index, (POINTS.astype("u2"), np.uint64(9))),
    "chunk_count": (kernels.chunk_count, (INDEX, 1000)),
    "chunk_count_big_endian": (kernels.chunk_count, (POINTS.astype(">i4"), 10)),
    "chunk_count_every_second": (kernels.chunk_count, (INDEX[::2], 10)),
    "chunk_count_columns_first": (kernels.chunk_count, (np.asfortranarray(POINTS), 10)),
    "chunk_count_reversed": (kernels.chunk_count, (POINTS[::-1, ::-1], 10)),
    "morton_encode": (kernels.morton_encode, (POINTS, GRID)),
    "morton_encode_grids": (kernels.morton_encode, (POINTS[: N // 2], np.full((N // 2, 3), 1024))),
    "morton_decode": (kernels.morton_decode, (CODES, GRID)),
    "byteswap": (kernels.byteswap.ufunc, (POINTS,)),
    "delta_encode": (kernels.delta_encode.ufunc, (POINTS,)),
    "delta_decode": (kernels.delta_decode.ufunc, (POINTS,)),
    "crc32c": (kernels.crc32c.ufunc, (POINTS, 0)),
    "crc32c_continued": (kernels.crc32c.ufunc, (POINTS, np.arange(N, dtype="u4"))),
    "equals_fill": (kernels.equals_fill.ufunc, (POINTS, np.int64(0))),
    "shuffle": (kernels.shuffle.ufunc, (POINTS.view("u1"), 8)),
}


class Shares:
    """Counts the calls that are shared, and their pieces."""

    def __init__(self) -> None:
        self.pieces: list[int] = []

    def call_parallel(self, function, n, threads=0):
        self.pieces.append(n)
        return ORIGINAL(function, n, threads)


ORIGINAL = engine.call_parallel


@pytest.fixture
def shares(monkeypatch) -> Iterator[Shares]:
    counter = Shares()
    monkeypatch.setattr(engine, "call_parallel", counter.call_parallel)
    yield counter


def alone(name: str):
    ufunc, args = UFUNCS[name]
    return ufunc(*args, threads=1)


def check_same(found, expected) -> None:
    assert type(found) is type(expected)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", list(UFUNCS))
def test_same_results(name, shares):
    ufunc, args = UFUNCS[name]
    expected = alone(name)
    assert not shares.pieces
    for threads in (2, 5):
        check_same(ufunc(*args, threads=threads), expected)
    if name != "chunk_count_columns_first":
        assert len(shares.pieces) == 2 and all(pieces > 1 for pieces in shares.pieces)
    rooms = [np.empty_like(each) for each in (expected if isinstance(expected, tuple) else (expected,))]
    found = ufunc(*args, threads=3, out=tuple(rooms))
    check_same(found, expected)
    assert found is rooms[0] or all(one is room for one, room in zip(found, rooms, strict=True))
    check_same(ufunc(*args, *rooms, threads=3), expected)


def test_large_arrays_are_shared_unasked(shares, monkeypatch):
    monkeypatch.setattr(engine, "num_threads", lambda: 3)
    large = np.arange(1 << 22)
    chunk, offset = kernels.chunk_index(large, 1000)
    kernels.chunk_count(large, 10)
    assert len(shares.pieces) == 2
    np.testing.assert_array_equal(chunk, large // 1000)
    np.testing.assert_array_equal(offset, large % 1000)
    kernels.chunk_count(large[1:], 10)
    kernels.chunk_count(large, 10, threads=1)
    assert len(shares.pieces) == 2


def test_options_of_ufuncs(shares):
    mask = INDEX % 3 == 0
    out = np.full(N, 7)
    kernels.chunk_count(INDEX, 1000, out=out, where=mask, threads=2)
    np.testing.assert_array_equal(out, np.where(mask, -(-INDEX // 1000), 7))
    in_place = INDEX.copy()
    assert kernels.chunk_count(in_place, 1000, in_place, threads=2) is in_place
    np.testing.assert_array_equal(in_place, -(-INDEX // 1000))
    rest = np.empty_like(INDEX)
    chunk, offset = kernels.chunk_index(INDEX, 1000, out=(None, rest), threads=2)
    np.testing.assert_array_equal(chunk, INDEX // 1000)
    assert offset is rest
    small = kernels.chunk_count(INDEX, 1000, out=np.empty(N, "i2"), casting="unsafe", threads=2)
    np.testing.assert_array_equal(small, (-(-INDEX // 1000)).astype("i2"))
    assert kernels.chunk_count(POINTS, 10, dtype="u8", casting="unsafe", threads=2).dtype == np.uint64
    assert len(shares.pieces) == 5


def test_what_cannot_be_shared_is_done_alone(shares):
    memory = np.arange(N + 1)
    expected = -(-memory[:-1] // 10)
    kernels.chunk_count(memory[:-1], 10, out=memory[1:], threads=2)
    np.testing.assert_array_equal(memory[1:], expected)
    both = np.empty(N, int)
    kernels.chunk_index(INDEX, 10, out=(both, both), threads=2)
    wide = np.empty((2, N), int)
    kernels.chunk_count(INDEX, 10, out=wide, threads=2)
    np.testing.assert_array_equal(wide[1], -(-INDEX // 10))
    kernels.morton_decode(CODES, GRID, axes=[(), 0, 0], threads=2)
    assert not shares.pieces


class Derived(np.ndarray):
    """Keeps its class."""


class Asked:
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return ufunc, inputs, options


def test_others_are_asked_without_threads():
    assert type(kernels.chunk_count(INDEX.view(Derived), 10, threads=2)) is Derived
    one = Asked()
    ufunc, inputs, options = kernels.chunk_index(one, (3, 4), threads=2)
    assert ufunc is kernels.chunk_index and options == {}
    assert inputs[0] is one and type(inputs[1]) is np.ndarray and inputs[1].tolist() == [3, 4]
    assert kernels.byteswap.ufunc(one, threads=4, casting="no")[2] == {"casting": "no"}
    assert kernels.chunk_count(one, 3)[1] == (one, 3)


def test_methods_are_still_there():
    assert kernels.chunk_count.outer([100, 7], [10, 3]).tolist() == [[10, 34], [1, 3]]
    assert kernels.chunk_count.reduce([1000, 10, 3]) == 34
    assert kernels.chunk_count.accumulate([1000, 10, 3]).tolist() == [1000, 100, 34]
    x = np.array([100, 101, 102])
    kernels.chunk_count.at(x, [0, 2], 10)
    assert x.tolist() == [10, 101, 11]


@pytest.mark.parametrize("threads", [1, 3])
def test_floating_point_errors_are_those_of_the_caller(threads):
    lengths = np.full(N, 5)
    lengths[-1] = 0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        kernels.chunk_index(INDEX, lengths, threads=threads)
    with np.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide"):
        kernels.chunk_count(INDEX, lengths, threads=threads)
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.chunk_count(INDEX, lengths, threads=threads)[-1] == 0


def test_errors(shares):
    outside = POINTS.copy()
    outside[-1, 1] = 1000
    with pytest.raises(ValueError, match="position 1000 lies outside"):
        kernels.morton_encode(outside, GRID, threads=3)
    assert shares.pieces
    with pytest.raises(TypeError, match="chunk_count"):
        kernels.chunk_count(INDEX.astype(float), 10, threads=3)
    with pytest.raises(TypeError):
        kernels.chunk_count(INDEX, threads=3)
    with pytest.raises(TypeError):
        kernels.chunk_count(INDEX, 10, thread=3)
    with pytest.raises(ValueError):
        kernels.chunk_index(INDEX, 10, out=(None,), threads=3)
    with pytest.raises(ValueError):
        kernels.chunk_count(INDEX, INDEX[1:], threads=3)


@pytest.mark.parametrize("threads", [0, -1, "2", 1.0])
@pytest.mark.parametrize("size", [3, N])
def test_threads_are_checked(threads, size):
    error = TypeError if isinstance(threads, str | float) else ValueError
    words = np.zeros(size, "u8")
    for call in [
        lambda: kernels.chunk_index(INDEX[:size], 10, threads=threads),
        lambda: kernels.chunk_count(INDEX[:size], 10, threads=threads),
        lambda: kernels.morton_encode(POINTS[:size], GRID, threads=threads),
        lambda: kernels.morton_decode(CODES[:size], GRID, threads=threads),
        lambda: kernels.shard_index_pack(words, words, threads=threads),
        lambda: kernels.shard_index_unpack(bytes(16 * size), shard_nbytes=1, threads=threads),
    ]:
        with pytest.raises(error, match="^threads: "):
            call()


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_shard_indexes(byteorder, shares):
    offsets = RNG.integers(0, 2**40, N, dtype="u8")
    lengths = RNG.integers(0, 2**20, N, dtype="u8")
    offsets[::5] = lengths[::5] = kernels.SHARD_EMPTY
    packed = kernels.shard_index_pack(offsets, lengths, byteorder=byteorder, threads=1)
    shared = kernels.shard_index_pack(offsets, lengths, byteorder=byteorder, threads=3)
    np.testing.assert_array_equal(shared, packed)
    for buf in (packed, packed.tobytes(), memoryview(packed)):
        found = kernels.shard_index_unpack(buf, shard_nbytes=2**41, byteorder=byteorder, threads=3)
        np.testing.assert_array_equal(found, (offsets, lengths))
    assert len(shares.pieces) == 4
    over = packed.view("u8")[:N]
    over[...] = offsets
    kernels.shard_index_pack(over, lengths, byteorder=byteorder, out=packed, threads=3)
    np.testing.assert_array_equal(packed, shared)
    packed[16 * 454_321 :] = 7
    with pytest.raises(ValueError, match="shard index entry 454321 "):
        kernels.shard_index_unpack(packed, shard_nbytes=2**41, byteorder=byteorder, threads=3)


# --- blosc ----------------------------------------------------------------------------------------

N_BYTES = 3_000_003


def samples() -> dict[str, np.ndarray]:
    """Bytes of every kind: some that shrink, some that do not, and some that just about do."""
    random = RNG.integers(0, 256, N_BYTES, dtype="u1")
    half = random.copy()
    half[: N_BYTES // 2] = 0
    walk = np.cumsum(RNG.integers(-3, 4, N_BYTES // 4 + 1)).astype("<i4").view("u1")[:N_BYTES]
    return {"random": random, "half": half, "walk": walk, "hardly": random % 220}


SAMPLES = samples()


LAYOUTS = [
    {"shuffle": "shuffle", "typesize": 4, "clevel": 3},
    {"shuffle": "noshuffle", "typesize": 1, "clevel": 1},
    {"shuffle": "shuffle", "typesize": 3, "clevel": 2, "blocksize": 100_001},
    {"shuffle": "bitshuffle", "typesize": 16, "clevel": 1, "blocksize": 1 << 16},
    {"shuffle": "shuffle", "typesize": 17, "clevel": 0},
]


@pytest.mark.parametrize("cname", ["lz4", "lz4hc", "blosclz", "zlib", "zstd"])
@pytest.mark.parametrize("name", list(SAMPLES))
def test_blosc_makes_the_same_bytes(cname, name):
    data = SAMPLES[name]
    for layout in LAYOUTS:
        packed = kernels.blosc_encode(data, cname=cname, threads=1, **layout)
        assert kernels.blosc_encode(data, cname=cname, threads=3, **layout) == packed
        assert kernels.blosc_decode(packed, nbytes=data.size, threads=3) == data.tobytes()
    out = np.empty(data.size + 100, "u1")
    part = kernels.blosc_encode(data, out, threads=3, cname=cname, **LAYOUTS[0])
    assert bytes(part) == kernels.blosc_encode(data, cname=cname, **LAYOUTS[0])
    assert kernels.blosc_decode(part, out[: data.size], threads=2).tobytes() == data.tobytes()


@pytest.mark.parametrize("name", ["random", "walk"])
def test_damaged_blosc(name):
    packed = bytearray(kernels.blosc_encode(SAMPLES[name], threads=3, typesize=4, blocksize=1 << 16))
    for damaged in (packed[:-1], packed[:100], packed + b"x", b""):
        with pytest.raises(ValueError, match="^codec 'blosc': data: "):
            kernels.blosc_decode(damaged, nbytes=N_BYTES, threads=3)
    for nbytes in (N_BYTES - 1, N_BYTES + 1):
        with pytest.raises(ValueError, match="^codec 'blosc': data: "):
            kernels.blosc_decode(packed, nbytes=nbytes, threads=3)
    if name == "walk":
        last = (N_BYTES - 1) // int.from_bytes(packed[8:12], "little")
        packed[16 + 4 * last : 20 + 4 * last] = b"\xff\xff\xff\x7f"  # where the last block starts
        with pytest.raises(ValueError, match=f"^codec 'blosc': data: block {last} starts at"):
            kernels.blosc_decode(packed, nbytes=N_BYTES, threads=3)


@pytest.mark.parametrize("threads", [0, -1, "2", 1.0])
def test_blosc_checks_threads(threads):
    error = TypeError if isinstance(threads, str | float) else ValueError
    for call in (
        lambda: kernels.blosc_encode(b"abc", threads=threads),
        lambda: kernels.blosc_decode(kernels.blosc_encode(b"abc"), nbytes=3, threads=threads),
    ):
        with pytest.raises(error, match="^threads: "):
            call()


def test_blosc_of_overlapping_memory():
    memory = np.zeros(2 * N_BYTES, "u1")
    memory[:N_BYTES] = SAMPLES["walk"]
    part = kernels.blosc_encode(memory[:N_BYTES], memory, threads=3, typesize=4)
    assert bytes(part) == kernels.blosc_encode(SAMPLES["walk"], typesize=4)
    kernels.blosc_decode(part, memory[:N_BYTES], threads=3)
    assert memory[:N_BYTES].tobytes() == SAMPLES["walk"].tobytes()
