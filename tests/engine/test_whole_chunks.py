# SPDX-License-Identifier: MIT
"""Large chunks in files, some decoded over their own encoded bytes: values and errors are those of memory."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from engine_chains import make_chain

from zarrcore._core.engine import LocalSource, MemorySource, NativeArray
from zarrcore.errors import ChunkDecodeError, ChunkError

numcodecs = pytest.importorskip("numcodecs")

SHAPE, CHUNKS = (600, 600), (600, 500)
KEY = "c/0/0"
NBYTES = 600 * 500 * 4
WHOLE = [(0, 1, n) for n in SHAPE]

CHAINS = {
    "zstd": (("zstd", {"level": 1}),),
    "zstd-checksum": (("zstd", {"level": 1, "checksum": True}),),
    "zstd-crc32c": (("zstd", {"level": 1}), ("crc32c", {})),
    "gzip": (("gzip", {"level": 1}),),
    "zlib": (("zlib", {"level": 1}),),
    "blosclz": (("blosc", {"cname": "blosclz", "clevel": 9, "shuffle": 2, "typesize": 4, "blocksize": 0}),),
    "blosclz-small-blocks": (
        ("blosc", {"cname": "blosclz", "clevel": 5, "shuffle": 1, "typesize": 4, "blocksize": 65536}),
    ),
    "gzip-crc32c-twice": (("gzip", {"level": 1}), ("crc32c", {}), ("crc32c", {})),
}


def values() -> np.ndarray:
    """Numbers of which half the bytes can be compressed, in places."""
    rng = np.random.default_rng(5)
    out = np.arange(SHAPE[0] * SHAPE[1], dtype="i4").reshape(SHAPE) // 50
    out[300:] = rng.integers(0, 1 << 24, (300, SHAPE[1]))
    return out


def arrays(tmp_path: Path, name: str) -> tuple[NativeArray, NativeArray, dict[str, bytes], Path]:
    """The same in files and in memory, written, with the file of the first chunk."""
    store: dict[str, bytes] = {}
    made = [
        NativeArray(
            source,
            "",
            shape=SHAPE,
            chunks=CHUNKS,
            chain=make_chain(4, stages=CHAINS[name]),
            dtype="i4",
            path="a",
        )
        for source in (LocalSource(str(tmp_path)), MemorySource(store))
    ]
    for array in made:
        array.write(WHOLE, values())
    return made[0], made[1], store, tmp_path / KEY


def outcome(array: NativeArray) -> bytes | tuple[type, str]:
    out = np.full(SHAPE, -1, "i4")
    try:
        array.read(WHOLE, out)
    except ChunkError as error:
        return type(error), str(error)
    return out.tobytes()


@pytest.mark.parametrize("name", CHAINS)
def test_values(name: str, tmp_path: Path) -> None:
    local, memory, store, file = arrays(tmp_path, name)
    assert file.stat().st_size > 256 << 10
    assert file.read_bytes() == store[KEY]
    assert outcome(local) == outcome(memory) == values().tobytes()


def _cut(data: bytes) -> bytes:
    return data[:-100_000]


def _cut_by_one(data: bytes) -> bytes:
    return data[:-1]


def _stray(data: bytes) -> bytes:
    return data + b"stray"


def _flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


def _flipped_header(data: bytes) -> bytes:
    return data[:4] + bytes([data[4] ^ 0x40]) + data[5:]


def _nothing(data: bytes) -> bytes:
    return bytes(len(data))


DAMAGES: list[Callable[[bytes], bytes]] = [_cut, _cut_by_one, _stray, _flipped, _flipped_header, _nothing]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", CHAINS)
def test_damage_is_seen_as_in_memory(name: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    local, memory, store, file = arrays(tmp_path, name)
    store[KEY] = damage(store[KEY])
    file.write_bytes(store[KEY])
    found, wanted = outcome(local), outcome(memory)
    if isinstance(wanted, tuple):
        assert issubclass(wanted[0], ChunkDecodeError)
    assert found == wanted


def _encoded(name: str, raw: bytes) -> bytes:
    if name == "zstd":
        return bytes(numcodecs.Zstd(level=1).encode(raw))
    return gzip.compress(raw, 1) if name == "gzip" else zlib.compress(raw, 1)


@pytest.mark.parametrize("name", ["zstd", "gzip", "zlib"])
@pytest.mark.parametrize("nbytes", [NBYTES - 1, NBYTES + 1, 2 * NBYTES, 400_000])
def test_another_size_is_refused(name: str, nbytes: int, tmp_path: Path) -> None:
    local, memory, store, file = arrays(tmp_path, name)
    noise = np.random.default_rng(1).bytes(nbytes)
    store[KEY] = _encoded(name, noise)
    file.write_bytes(store[KEY])
    wanted = outcome(memory)
    assert isinstance(wanted, tuple) and issubclass(wanted[0], ChunkDecodeError)
    assert outcome(local) == wanted


@pytest.mark.parametrize("name", ["zstd", "gzip"])
@pytest.mark.parametrize("cut", [1, 300_000, NBYTES - 1])
def test_several_frames_are_one_value(name: str, cut: int, tmp_path: Path) -> None:
    local, memory, store, file = arrays(tmp_path, name)
    raw = np.random.default_rng(2).integers(0, 1 << 20, (600, 500), dtype="i4").tobytes()
    store[KEY] = _encoded(name, raw[:cut]) + _encoded(name, raw[cut:])
    file.write_bytes(store[KEY])
    found = outcome(local)
    assert isinstance(found, bytes)
    np.testing.assert_array_equal(
        np.frombuffer(found, "i4").reshape(SHAPE)[:, :500], np.frombuffer(raw, "i4").reshape(600, 500)
    )
    assert found == outcome(memory)


@pytest.mark.parametrize("name", ["zstd", "gzip"])
def test_an_end_that_does_not_fit_behind_the_beginning(name: str, tmp_path: Path) -> None:
    """Nothing, and then noise: the decoder catches up with the bytes that it reads."""
    local, memory, store, file = arrays(tmp_path, name)
    rng = np.random.default_rng(3)
    for zeros in (0, 1, NBYTES // 2, NBYTES - 300_000):
        raw = bytes(zeros) + rng.bytes(NBYTES - zeros)
        store[KEY] = _encoded(name, raw)
        file.write_bytes(store[KEY])
        found = outcome(local)
        assert isinstance(found, bytes) and found == outcome(memory)
        assert np.frombuffer(found, "i4").reshape(SHAPE)[:, :500].tobytes() == raw


@pytest.mark.parametrize("name", ["zstd-checksum", "gzip", "zstd-crc32c"])
def test_a_file_that_changes_while_it_is_read(name: str, tmp_path: Path) -> None:
    """Cut short, and written again in place: right values or an error, never others."""
    local, _, store, file = arrays(tmp_path, name)
    good = store[KEY]
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            with file.open("r+b") as f:
                f.truncate(len(good) // 2)
                f.seek(0)
                f.write(good)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(60):
            found = outcome(local)
            assert isinstance(found, tuple) or found == values().tobytes()
    finally:
        stop.set()
        thread.join()
    file.write_bytes(good)
    assert outcome(local) == values().tobytes()
