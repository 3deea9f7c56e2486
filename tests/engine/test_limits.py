# SPDX-License-Identifier: MIT
"""The bits of fill values and byte orders, and arrays larger than any memory."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_chains import make_chain, make_shard

from zarrcore._core.engine import Chain, MemorySource, NativeArray

# ---- fill values ---------------------------------------------------------------------------------

ZERO, MINUS_ZERO = b"\0\0\0\0", b"\0\0\0\x80"
NAN, OTHER_NAN = b"\0\0\xc0\x7f", b"\x01\0\xc0\x7f"


def stored(
    chain: Chain, fill: bytes, bits: bytes, *, write_empty: bool = False, chunks: Any = (4,)
) -> dict[str, bytes]:
    """What a chunk of elements with these bits leaves in the store, in an array with that fill value."""
    store: dict[str, bytes] = {}
    array = NativeArray(
        MemorySource(store), "", shape=(8,), chunks=chunks, chain=chain, dtype="<f4", fill=fill
    )
    values = np.frombuffer(bits * 8, "<f4")
    array.write([(0, 1, 8)], values, 1, write_empty)
    assert array.get(...).tobytes() == values.tobytes()  # to the bit, stored or not
    return store


CHAINS = {
    "plain": make_chain(4),
    "swapped": make_chain(4, swap=4),
    "zstd": make_chain(4, stages=[("zstd", {"level": 1})]),
    "shard": make_chain(4, shard=make_shard((2,), make_chain(4), make_chain(8))),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("bits", [ZERO, MINUS_ZERO, NAN, OTHER_NAN], ids=["0", "-0", "nan", "nan1"])
@pytest.mark.parametrize("fill", [ZERO, MINUS_ZERO, NAN, OTHER_NAN], ids=["0", "-0", "nan", "nan1"])
def test_only_the_very_bits_of_the_fill_value_are_left_out(fill: bytes, bits: bytes, chain: Chain) -> None:
    store = stored(chain, fill, bits)
    assert set(store) == (set() if fill == bits else {"c/0", "c/1"})
    assert set(stored(chain, fill, bits, write_empty=True)) == {"c/0", "c/1"}


def test_chunks_that_become_empty_are_removed() -> None:
    for chain in CHAINS.values():
        store: dict[str, bytes] = {}
        array = NativeArray(MemorySource(store), "", shape=(8,), chunks=(4,), chain=chain, dtype="<f4")
        array.write([(0, 1, 8)], np.ones(8, "<f4"))
        array.write([(0, 1, 3)], np.zeros(3, "<f4"))
        assert set(store) == {"c/0", "c/1"}
        array.write_points([np.array([3])], np.zeros(1, "<f4"))
        assert set(store) == {"c/1"}
        array.write([(4, 1, 4)], np.zeros(4, "<f4"), 1, True)
        assert set(store) == {"c/1"}


def test_inner_chunks_of_nothing_but_fill_are_not_stored() -> None:
    chain = make_chain(4, shard=make_shard((2,), make_chain(4), make_chain(8)))
    store: dict[str, bytes] = {}
    array = NativeArray(MemorySource(store), "", shape=(8,), chunks=(8,), chain=chain, dtype="<f4")
    array.write([(2, 1, 1)], np.ones(1, "<f4"))
    entries = np.frombuffer(store["c/0"][-64:], "<u8").reshape(4, 2)
    assert (entries[[0, 2, 3]] == 2**64 - 1).all()
    assert entries[1].tolist() == [0, 8]
    assert len(store["c/0"]) == 8 + 64


# ---- byte order of structured elements -----------------------------------------------------------

BIG = np.dtype([("a", ">i2"), ("b", "u1"), ("c", ">f8"), ("d", ">u4", (3,)), ("e", "S3"), ("f", ">c8")])
NATIVE = np.dtype([("a", "<i2"), ("b", "u1"), ("c", "<f8"), ("d", "<u4", (3,)), ("e", "S3"), ("f", "<c8")])
FIELDS = ((0, 2, 1), (3, 8, 1), (11, 4, 3), (26, 4, 2))


@pytest.mark.skipif(
    sys.byteorder == "big", reason="the fields are swapped on machines that count from the other end"
)
@pytest.mark.parametrize("order", [None, (1, 0)], ids=["C", "transposed"])
@pytest.mark.parametrize("sharded", [False, True], ids=["plain", "shard"])
def test_swapped_fields(sharded: bool, order: tuple | None) -> None:
    """Each field is swapped at its place; what the store holds is what numpy calls big-endian."""
    assert NATIVE.itemsize == BIG.itemsize == 34
    rng = np.random.default_rng(5)
    values = rng.integers(0, 256, (6, 10, NATIVE.itemsize), dtype="u1").view(NATIVE)[..., 0]
    chain = make_chain(34, swap=FIELDS, order=order)
    if sharded:
        chain = make_chain(
            34, shard=make_shard((2, 5), make_chain(34, swap=FIELDS, order=order), make_chain(8))
        )
    store: dict[str, bytes] = {}
    array = NativeArray(MemorySource(store), "", shape=(6, 10), chunks=(4, 5), chain=chain, dtype=NATIVE)
    array.write([(0, 1, 6), (0, 1, 10)], values)
    assert array.get(...).tobytes() == values.tobytes()
    assert array.get((slice(None, None, -2), 3)).tobytes() == values[::-2, 3].tobytes()
    wanted = values[: 2 if sharded else 4, 5:]  # the first (inner) chunk in the value
    wanted = (wanted.T if order else wanted).ravel()
    found = np.frombuffer(store["c/0/1"][: wanted.nbytes], BIG)
    for name in NATIVE.names:
        swapped = found[name].astype(NATIVE[name].base)
        assert swapped.tobytes() == np.ascontiguousarray(wanted[name]).tobytes()


@pytest.mark.parametrize("word", [2, 4, 8])
def test_swapped_words(word: int) -> None:
    values = np.arange(100, dtype=f"<u{word}") * 259 % 251
    store: dict[str, bytes] = {}
    chain = make_chain(word, swap=word)
    array = NativeArray(MemorySource(store), "", shape=(100,), chunks=(64,), chain=chain, dtype=values.dtype)
    array.write([(0, 1, 100)], values)
    assert store["c/0"] == values[:64].byteswap().tobytes()
    assert array.get(slice(3, 90, 7)).tolist() == values[3:90:7].tolist()


# ---- large arrays --------------------------------------------------------------------------------


def large(store: dict[str, bytes], *, chain: Chain | None = None) -> NativeArray:
    """10^12 chunks."""
    return NativeArray(
        MemorySource(store),
        "",
        shape=(10**9, 10**7),
        chunks=(1000, 10),
        chain=chain or make_chain(4, stages=[("zstd", {"level": 1})]),
        dtype="i4",
        fill=np.int32(3).tobytes(),
    )


@pytest.mark.parametrize(
    "chain",
    [None, make_chain(4, shard=make_shard((100, 10), make_chain(4), make_chain(8)))],
    ids=["chunks", "shards"],
)
def test_box_of_a_large_array(chain: Chain | None) -> None:
    """What is selected counts, not how large the array is."""
    store: dict[str, bytes] = {}
    array = large(store, chain=chain)
    start = time.process_time()
    values = np.arange(50 * 40, dtype="i4").reshape(50, 40)
    dims = [(999_999_980 - 50, 1, 50), (9_999_900, 2, 40)]
    array.write(dims, values)
    out = np.empty((50, 40), "i4")
    array.read(dims, out)
    assert np.array_equal(out, values)
    assert array.get((-70, slice(-100, None, 2)))[:40].tolist() == values[0].tolist()
    far = array.get(
        (slice(None, None, 10**8), slice(None, None, -(10**6)))
    )  # 100 elements, each in a chunk of its own
    assert (far == 3).all()
    assert far.shape == (10, 10)
    points = [np.array([0, 999_999_930, 5]), np.array([9_999_999, 9_999_902, 7])]
    found = np.empty(3, "i4")
    array.read_points(points, found)
    assert found.tolist() == [3, 1, 3]
    assert time.process_time() - start < 5
    assert all(key.startswith("c/9999") for key in store)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs memory itself")
def test_memory_for_a_large_array() -> None:
    from zarrcore.testing.process import in_child

    def small() -> bool:
        before = resident()
        array = large({})
        array.write([(5, 10**7, 90), (5, 10**5, 90)], np.ones((90, 90), "i4"), 2)
        assert array.get((slice(5, None, 10**7), slice(5, None, 10**5))).sum() > 0
        return resident() - before < 64 << 20

    assert in_child(small)


def resident() -> int:
    """Bytes of memory this process has had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def test_edges_of_the_number_range() -> None:
    """Lengths up to 2^63 - 1 are counted right, and keys written in full."""
    length = 2**63 - 1
    array = NativeArray(
        MemorySource({}), "", shape=(length,), chunks=(2**40,), chain=make_chain(1), dtype="u1"
    )
    assert array.chunk_key((2**23 - 1,)) == f"c/{2**23 - 1}"
    assert array.get(-1) == 0
    assert array.get(slice(-3, None)).tolist() == [0, 0, 0]
    assert array.get(slice(None, None, 2**62)).tolist() == [0, 0]
    assert array.get(slice(None, None, -(2**62))).tolist() == [0, 0]
