# SPDX-License-Identifier: MIT
"""Shards of other writers, whose encoders may make more of an inner chunk than the linked ones ever do."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkDecodeError, ChunkError
from zarrcore.storage import Store

N = 4096


def roomy_gzip(data: bytes, extra: int) -> bytes:
    """A stream with a long file name in its header."""
    out = io.BytesIO()
    with gzip.GzipFile("x" * extra, "wb", fileobj=out, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def shard_of(inner: list[bytes | None], *, overlapping: bool = False) -> bytes:
    """A shard with these inner chunks and its index at the end."""
    from zarrcore.kernels import crc32c

    index, parts, at = [], [], 0
    for data in inner:
        index += [2**64 - 1] * 2 if data is None else [0 if overlapping else at, len(data)]
        parts.append(b"" if data is None else data)
        at += len(parts[-1])
    encoded = np.array(index, "<u8").tobytes()
    checksum = int(crc32c(np.frombuffer(encoded, "u1"))).to_bytes(4, "little")
    return b"".join(parts) + encoded + checksum


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).integers(1, 256, 8 * N, dtype="u1")


def create(store: Store) -> zarrcore.Array:
    return zarrcore.create_array(
        store,
        shape=8 * N,
        chunks=N,
        shards=8 * N,
        dtype="u1",
        compressors={"name": "gzip", "configuration": {"level": 1}},
    )


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("oversize", [(3,), (0, 7), tuple(range(8))])
def test_large_inner_chunks_are_kept_and_patched(
    store: Store, values: np.ndarray, oversize: tuple[int, ...], threads: int
) -> None:
    array = create(store)
    pieces = [values[i * N : (i + 1) * N].tobytes() for i in range(8)]
    inner = [roomy_gzip(piece, 2000 if i in oversize else 0) for i, piece in enumerate(pieces)]
    store.set("c/0", shard_of(inner))
    assert np.array_equal(array[:], values)
    expected = values.copy()
    for where, value in ((slice(3 * N + 5, 3 * N + 9), 1), (slice(N, 2 * N), 2), (slice(7 * N, 8 * N), 0)):
        array.write(where, value, threads=threads)
        expected[where] = value
        assert np.array_equal(array[:], expected)
    untouched = [i for i in (0, 2, 4, 5, 6) if i in oversize]
    assert all(inner[i] in bytes(store.get("c/0")) for i in untouched)


def test_an_inner_chunk_of_no_sound_size_is_refused(store: Store, values: np.ndarray) -> None:
    array = create(store)
    inner = [roomy_gzip(values[i * N : (i + 1) * N].tobytes(), 200_000 if i == 2 else 0) for i in range(8)]
    before = shard_of(inner)
    store.set("c/0", before)
    for action in (lambda: array[2 * N], lambda: array.write(slice(0, 5), 1)):
        with pytest.raises(ChunkDecodeError, match="are more than an encoding"):
            action()
    assert bytes(store.get("c/0")) == before


def test_inner_chunks_that_share_their_bytes_do_not_make_room_for_themselves(
    store: Store, values: np.ndarray
) -> None:
    array = create(store)
    inner = roomy_gzip(values[:N].tobytes(), 2000)
    shard = shard_of([inner] * 8, overlapping=True)
    store.set("c/0", shard[: len(inner)] + shard[8 * len(inner) :])
    assert np.array_equal(array[7 * N :], values[:N])
    with pytest.raises(ChunkError, match="take more bytes than it has"):
        array[:5] = 1


def nested(codecs: list[dict[str, Any]]) -> dict[str, Any]:
    """Metadata of two shards of two inner chunks each, of 5000 bytes that `codecs` encode."""
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    shard = {"chunk_shape": [5000], "codecs": codecs, "index_codecs": index}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [20_000],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10_000]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "sharding_indexed", "configuration": shard}],
    }


SINGLE_BYTES = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [1],
        "codecs": [{"name": "bytes"}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    },
}
DELTA = {"name": "numcodecs.delta", "configuration": {"dtype": "|u1"}}
RESHAPE = {"name": "reshape", "configuration": {"shape": [5000]}}
CRC = {"name": "crc32c"}


@pytest.mark.parametrize(
    "codecs",
    [[SINGLE_BYTES], [SINGLE_BYTES, CRC], [DELTA, SINGLE_BYTES], [RESHAPE, SINGLE_BYTES, CRC]],
    ids=["bare", "crc32c", "delta", "reshape-crc32c"],
)
def test_a_shard_in_a_shard_may_be_mostly_index(store: Store, codecs: list[dict[str, Any]]) -> None:
    """17 bytes for each that is stored: more than other encoders ever make of one."""
    store.set("zarr.json", json.dumps(nested(codecs)).encode())
    array = zarrcore.open_array(store)
    expected = np.random.default_rng(1).integers(1, 256, 20_000, dtype="u1")
    array[...] = expected
    assert len(bytes(store.get("c/0"))) > 17 * 10_000
    for where in (slice(None), slice(3, None, 7), slice(4999, 5002), 17_000):
        assert np.array_equal(array[where], expected[where])
    array[6000:6002] = expected[6000:6002] = 5
    assert np.array_equal(array[:], expected)


def test_a_shard_in_a_shard_of_no_sound_size_is_refused(store: Store) -> None:
    store.set("zarr.json", json.dumps(nested([SINGLE_BYTES, CRC])).encode())
    store.set("c/0", shard_of([b"\xff" * 300_000] * 2))
    with pytest.raises(ChunkDecodeError, match="are more than"):
        zarrcore.open_array(store)[:]
