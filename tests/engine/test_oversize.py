# SPDX-License-Identifier: MIT
"""Shards of other writers, whose encoders may make more of an inner chunk than the linked ones ever do."""

from __future__ import annotations

import gzip
import io
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkDecodeError, ChunkError
from zarrcore.storage import LocalStore, MemoryStore, Store, WrapperStore

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


@pytest.fixture(params=["memory", "local", "python"])
def store(request: Any, tmp_path: Any) -> Store:
    if request.param == "local":
        return LocalStore(tmp_path)
    return MemoryStore() if request.param == "memory" else WrapperStore(MemoryStore())


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
