# SPDX-License-Identifier: MIT
"""CRC-32C against the crc32c package and the vectors of RFC 3720."""

from __future__ import annotations

import array

import numpy as np
import pytest

from zarrcore import kernels

oracle = pytest.importorskip("crc32c").crc32c
DATA = np.random.default_rng(7).integers(0, 256, 1 << 17, dtype=np.uint8)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_known_answers(data, expected):
    assert kernels.crc32c(data) == expected


def test_short_lengths_and_offsets():
    for n in range(301):
        for offset in (0, 1, 3, 7):
            piece = DATA[offset : offset + n]
            assert kernels.crc32c(piece) == oracle(piece.tobytes())


def test_every_length_around_a_fold():
    for n in range(250, 700, 7):
        piece = DATA[3 : 3 + n]
        assert kernels.crc32c(piece, n) == oracle(piece.tobytes(), n)


@pytest.mark.parametrize("n", [767, 768, 1536, 4096, 12287, 12288, 12289, 12288 * 2 + 769, 1 << 17])
def test_long_lengths(n):
    assert kernels.crc32c(DATA[:n], 99) == oracle(DATA[:n].tobytes(), 99)


@pytest.mark.parametrize("seed", [0, 1, 0x12345678, 2**32 - 1])
def test_seeds(seed):
    for n in (0, 1, 8, 100, 5000):
        assert kernels.crc32c(DATA[:n], seed) == oracle(DATA[:n].tobytes(), seed)


def test_continues():
    whole = kernels.crc32c(DATA)
    for cut in (0, 1, 100, 70000, DATA.size):
        assert kernels.crc32c(DATA[cut:], kernels.crc32c(DATA[:cut])) == whole


@pytest.mark.parametrize(
    "data",
    [
        bytearray(b"abcdef"),
        memoryview(b"abcdef"),
        array.array("H", [1, 2, 3]),
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.zeros(3, dtype="M8[s]"),
        np.zeros(2, dtype=[("a", "i4"), ("b", "S3")]),
        np.zeros((0, 4), dtype="f8"),
        np.array(5, dtype="u2"),
        np.zeros(3, dtype="S0"),
    ],
)
def test_any_buffer(data):
    raw = data.tobytes() if isinstance(data, np.ndarray) else bytes(data)
    assert kernels.crc32c(data) == oracle(raw)


def test_read_only():
    data = DATA[:100].copy()
    data.flags.writeable = False
    assert kernels.crc32c(data) == oracle(data.tobytes())


@pytest.mark.parametrize("data", ["text", 5, None, [1, 2], np.array([object()])])
def test_refuses_what_has_no_bytes(data):
    with pytest.raises(TypeError):
        kernels.crc32c(data)


@pytest.mark.parametrize("data", [DATA[::2], memoryview(b"abcdef")[::2], np.zeros((3, 4)).T])
def test_bridges_gaps(data):
    assert kernels.crc32c(data) == kernels.crc32c(data.tobytes())


@pytest.mark.parametrize("value", [-1, 2**32])
def test_refuses_seed_out_of_range(value):
    with pytest.raises(ValueError, match="value"):
        kernels.crc32c(b"", value)


def test_refuses_seed_of_other_type():
    with pytest.raises(TypeError):
        kernels.crc32c(b"", 1.5)
