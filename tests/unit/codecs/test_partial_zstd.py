# SPDX-License-Identifier: MIT
"""Zstd chunks are decoded up to the last element that is wanted, where that saves something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ZstdCodec
from zarrcore.errors import ChunkError

SHAPE, CHUNKS = (100, 130, 90), (64, 96, 64)  # chunks of 768 KiB, those at the edges are wanted in part
VALUES = np.cumsum(np.random.default_rng(0).integers(-3, 4, SHAPE), axis=2).astype("u2")
LAYOUTS: dict[str, dict[str, Any]] = {
    "format 3": {"chunks": CHUNKS},
    "big-endian": {"chunks": CHUNKS, "dtype": ">u2"},
    "checksum": {"chunks": CHUNKS, "compressors": ZstdCodec(level=1, checksum=True)},
    "checked": {"chunks": CHUNKS, "compressors": [ZstdCodec(level=1), {"name": "crc32c"}]},
    "transposed": {"chunks": CHUNKS, "filters": {"name": "transpose", "configuration": {"order": [2, 0, 1]}}},
    "format 2": {"chunks": CHUNKS, "zarr_format": 2, "order": "F", "compressors": {"id": "zstd", "level": 1}},
    "shards": {"chunks": CHUNKS, "shards": (128, 192, 128)},
    "one chunk": {"chunks": SHAPE},
}
SELECTIONS = [
    (0, 0, 0),
    (5, 95, 63),
    (63, 64, 64),
    (99, 129, 89),
    (slice(0, 7),),
    (slice(60, 70), slice(90, 100), slice(60, 70)),
    (slice(None, None, -9), slice(3, None, 7), slice(None, None, 5)),
    (..., 0),
    (slice(0, 0),),
    ...,
]


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def array(request: pytest.FixtureRequest, tmp_path: Path) -> zarrcore.Array:
    array = zarrcore.create_array(tmp_path / "a.zarr", **({"shape": SHAPE, "dtype": "u2"} | request.param))
    array[...] = VALUES
    return array


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_read_is_what_was_written(array: zarrcore.Array, threads: int) -> None:
    for selection in SELECTIONS:
        np.testing.assert_array_equal(array.read(selection, threads=threads), VALUES[selection])
    rng = np.random.default_rng(1)
    points = tuple(rng.integers(0, n, 50) for n in SHAPE)
    np.testing.assert_array_equal(array.vindex[points], VALUES[points])
    for count in (1, 20):
        lists = tuple(rng.choice(n, count, replace=False) for n in SHAPE)  # in any order
        np.testing.assert_array_equal(array.oindex[lists], VALUES[np.ix_(*lists)])
    mask = rng.random(SHAPE) < 1e-4
    np.testing.assert_array_equal(array[mask], VALUES[mask])
    np.testing.assert_array_equal(array.with_cache(zarrcore.ChunkCache(1 << 20))[:3, 5], VALUES[:3, 5])


def test_parts_are_patched(array: zarrcore.Array) -> None:
    array[3, 4, 5] = 7
    array[98, :, 88] = 8
    expected = VALUES.copy()
    expected[3, 4, 5], expected[98, :, 88] = 7, 8
    np.testing.assert_array_equal(array[...], expected)


def test_a_chunk_that_was_cut_off_is_an_error_wherever_it_is_read(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=CHUNKS, chunks=CHUNKS, dtype="u2")
    array[...] = VALUES[:64, :96, :64]
    file = tmp_path / "c" / "0" / "0" / "0"
    data = file.read_bytes()
    for broken in (data[:-1], data[: len(data) // 2], data + b"\0", data + data):
        file.write_bytes(broken)
        for selection in ((0, 0, 0), slice(0, 3), ...):
            with pytest.raises(ChunkError):
                array[selection]


def test_verify_decodes_what_no_read_needs(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=(8, 96, 64), chunks=CHUNKS, dtype="u2")
    array[...] = VALUES[:8, :96, :64]
    file = tmp_path / "c" / "0" / "0" / "0"
    whole = zarrcore.create_array({}, shape=CHUNKS, chunks=CHUNKS, dtype="u2")
    whole[...] = VALUES[:64, :96, :64]
    data = bytearray(whole.store.get("c/0/0/0"))
    data[-2000:-1000] = bytes(1000)
    file.write_bytes(data)
    with pytest.raises(ChunkError):
        whole.store.set("c/0/0/0", bytes(data))
        whole[...]
    assert not zarrcore.verify(tmp_path, level="data").ok
