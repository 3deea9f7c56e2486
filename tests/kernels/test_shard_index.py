# SPDX-License-Identifier: MIT
"""Packing and unpacking shard indexes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrcore import kernels
from zarrcore.kernels import SHARD_EMPTY

SHARD = 10_000
entries = st.one_of(
    st.just((SHARD_EMPTY, SHARD_EMPTY)),
    st.integers(0, SHARD).flatmap(lambda at: st.tuples(st.just(at), st.integers(0, SHARD - at))),
)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype="u8").reshape(-1, 2)
    return table[:, 0], table[:, 1]


@pytest.mark.parametrize("byteorder", ["little", "big"])
@settings(deadline=None)
@given(pairs=st.lists(entries, max_size=50))
def test_round_trip(byteorder, pairs):
    offsets, nbytes = columns(pairs)
    packed = kernels.shard_index_pack(offsets, nbytes, byteorder=byteorder)
    stored = "<u8" if byteorder == "little" else ">u8"
    assert packed.tobytes() == np.stack([offsets, nbytes], axis=1).astype(stored).tobytes()
    found = kernels.shard_index_unpack(packed.tobytes(), shard_nbytes=SHARD, byteorder=byteorder)
    np.testing.assert_array_equal(found[0], offsets)
    np.testing.assert_array_equal(found[1], nbytes)


def test_large_index():
    offsets = np.arange(100_000, dtype="u8") * 5
    packed = kernels.shard_index_pack(offsets, np.full(100_000, 5))
    found = kernels.shard_index_unpack(packed, shard_nbytes=500_000)
    np.testing.assert_array_equal(found[0], offsets)
    with pytest.raises(ValueError, match="entry 99999 "):
        kernels.shard_index_unpack(packed, shard_nbytes=499_999)


def test_out_and_input_kinds():
    out = np.zeros(32, dtype="u1")
    assert kernels.shard_index_pack([[1, 2]], np.array([[3, 4]], "i2"), out=out) is out
    assert out[[0, 8, 16, 24]].tolist() == [1, 3, 2, 4]
    out.flags.writeable = False
    for buf in (out, out.tobytes(), bytearray(out), memoryview(out), out.view("<u8").reshape(2, 2)):
        offsets, nbytes = kernels.shard_index_unpack(buf, shard_nbytes=6)
        assert offsets.tolist() == [1, 2] and nbytes.tolist() == [3, 4]


@pytest.mark.parametrize("buf", [b"", np.empty(0, "u1"), np.empty((0, 2), "u8")])
def test_empty(buf):
    offsets, nbytes = kernels.shard_index_unpack(buf, shard_nbytes=0)
    assert offsets.size == nbytes.size == 0
    assert kernels.shard_index_pack([], []).size == 0


@pytest.mark.parametrize(
    "entry",
    [
        (0, SHARD + 1),
        (SHARD, 1),
        (SHARD + 1, 0),
        (2**64 - 2, 3),
        (3, 2**64 - 2),
        (SHARD_EMPTY, 0),
        (0, SHARD_EMPTY),
        (2**63, 2**63),
    ],
)
def test_entries_outside_of_the_shard(entry):
    packed = kernels.shard_index_pack(*columns([(0, 5), entry]))
    with pytest.raises(ValueError, match="entry 1 "):
        kernels.shard_index_unpack(packed, shard_nbytes=SHARD)


def test_half_empty_in_a_shard_of_any_size():
    packed = kernels.shard_index_pack(*columns([(SHARD_EMPTY, 0)]))
    with pytest.raises(ValueError, match="entry 0 "):
        kernels.shard_index_unpack(packed, shard_nbytes=2**64 - 1)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: kernels.shard_index_pack([1, 2, 3], [1, 2]), ValueError),
        (lambda: kernels.shard_index_pack([-1], [1]), ValueError),
        (lambda: kernels.shard_index_pack([1.0], [1]), TypeError),
        (lambda: kernels.shard_index_pack([1], [1], byteorder="native"), ValueError),
        (lambda: kernels.shard_index_pack([1], [1], out=np.zeros(15, "u1")), ValueError),
        (lambda: kernels.shard_index_pack([1], [1], out=np.zeros(2, "u8")), TypeError),
        (lambda: kernels.shard_index_pack([1], [1], out=np.zeros(32, "u1")[::2]), ValueError),
        (lambda: kernels.shard_index_pack([1], [1], out=bytearray(16)), TypeError),
        (lambda: kernels.shard_index_unpack(bytes(15), shard_nbytes=9), ValueError),
        (lambda: kernels.shard_index_unpack(bytes(16), shard_nbytes=-1), ValueError),
        (lambda: kernels.shard_index_unpack(bytes(16), shard_nbytes=2**64), ValueError),
        (lambda: kernels.shard_index_unpack(bytes(16), shard_nbytes=1.0), TypeError),
        (lambda: kernels.shard_index_unpack("text", shard_nbytes=1), TypeError),
        (lambda: kernels.shard_index_unpack(bytes(32), shard_nbytes=1, byteorder=">"), ValueError),
    ],
)
def test_refuses(call, error):
    with pytest.raises(error):
        call()
