# SPDX-License-Identifier: MIT
"""What cannot be read or written raises an error that says where; only what is absent is the fill value."""

from __future__ import annotations

import os
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_chains import make_chain, make_shard

from zarrcore._core.engine import Chain, LocalSource, MemorySource, NativeArray
from zarrcore.errors import (
    ChecksumError,
    ChunkDecodeError,
    ChunkEncodeError,
    ChunkError,
    ChunkIOError,
    UnknownCodecError,
)
from zarrcore.testing.process import in_child

SHAPE, CHUNKS = (4, 6), (2, 3)
WHOLE = [(0, 1, 4), (0, 1, 6)]
VALUES = np.arange(24, dtype="i4").reshape(SHAPE) + 1
NONE = 2**64 - 1  # offset and length of an inner chunk that is absent

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


def chain_of(*stages: tuple[str, dict]) -> Chain:
    return make_chain(4, stages=stages)


def sharded(*inner: tuple[str, dict], index: tuple = (("crc32c", {}),), where: str = "end") -> Chain:
    return make_chain(4, shard=make_shard((1, 3), chain_of(*inner), make_chain(8, stages=index), where))


def written(chain: Chain, **options: Any) -> tuple[dict[str, bytes], NativeArray]:
    """A store and an array whose chunks have all been written."""
    store: dict[str, bytes] = {}
    array = NativeArray(
        MemorySource(store),
        "foo/bar/",
        shape=SHAPE,
        chunks=CHUNKS,
        chain=chain,
        dtype="i4",
        path="foo/bar",
        **options,
    )
    array.write(WHOLE, VALUES)
    return store, array


def failure(call: Any, *arguments: Any, kind: type[ChunkError] = ChunkDecodeError) -> ChunkError:
    with pytest.raises(kind) as caught:
        call(*arguments)
    error = caught.value
    assert error.array == "foo/bar"
    assert str(error).startswith("array 'foo/bar'")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    return error


# ---- absent --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chain", [chain_of(), sharded(), sharded(index=(), where="start")], ids=["plain", "end", "start"]
)
def test_absent_chunks_are_fill(chain: Chain) -> None:
    store, array = written(chain, fill=np.int32(-9).tobytes())
    del store["foo/bar/c/1/0"]
    wanted = VALUES.copy()
    wanted[2:, :3] = -9
    assert np.array_equal(array.get(...), wanted)
    store.clear()
    assert (array.get(...) == -9).all()


def test_absent_directory_is_fill(tmp_path: Path) -> None:
    array = local(tmp_path / "nothing" / "here")
    assert (array.get(...) == 0).all()
    assert list(tmp_path.iterdir()) == []


# ---- damaged -------------------------------------------------------------------------------------

COMPRESSED = {
    "blosc": {"cname": "lz4", "clevel": 5, "shuffle": 1, "typesize": 4, "blocksize": 0},
    "gzip": {"level": 5},
    "zlib": {"level": 5},
    "zstd": {"level": 1, "checksum": True},
    "lz4": {"acceleration": 1},
    "crc32c": {},
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_truncated_chunk(name: str) -> None:
    store, array = written(chain_of((name, COMPRESSED[name])))
    key, good = "foo/bar/c/1/0", store["foo/bar/c/1/0"]
    for length in range(len(good)):
        store[key] = good[:length]
        error = failure(array.get, (3, 0))
        assert (error.chunk, error.key, error.codec, error.inner_chunk) == ((1, 0), key, name, None)
        assert error.reason
    assert np.array_equal(array.get(slice(2)), VALUES[:2])  # the others are there
    store[key] = good
    assert np.array_equal(array.get(...), VALUES)


@pytest.mark.parametrize("name", COMPRESSED)
def test_damaged_chunk(name: str) -> None:
    """A flipped bit: an error that says where or, without a checksum, other values; but no crash."""
    store, array = written(chain_of((name, COMPRESSED[name])))
    key, good = "foo/bar/c/0/1", store["foo/bar/c/0/1"]
    found = 0
    for at in range(len(good)):
        store[key] = good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :]
        try:
            assert array.get(...).shape == SHAPE
        except ChunkDecodeError as error:
            assert (error.chunk, error.key, error.codec) == ((0, 1), key, name)
            found += 1
    assert found > 0
    if name == "crc32c":
        assert found == len(good)


@pytest.mark.parametrize("name", COMPRESSED)
def test_chunk_of_another_size(name: str) -> None:
    """A chunk that decodes well, but to more or fewer bytes than it has."""
    for length in (1, 11, 13, 100_000):
        other, array = {}, None
        array = NativeArray(
            MemorySource(other),
            "",
            shape=(length,),
            chunks=(length,),
            chain=chain_of((name, COMPRESSED[name])),
            dtype="i4",
        )
        array.write([(0, 1, length)], np.arange(length, dtype="i4") % 7 + 1)
        store, array = written(chain_of((name, COMPRESSED[name])))
        store["foo/bar/c/0/0"] = other["c/0"]
        error = failure(array.get, ...)
        assert (error.chunk, error.key) == ((0, 0), "foo/bar/c/0/0")


@pytest.mark.parametrize("length", [0, 1, 23, 25, 1000])
def test_unencoded_chunk_of_another_size(length: int) -> None:
    store, array = written(chain_of())
    store["foo/bar/c/0/0"] = bytes(length)
    assert failure(array.get, ...).chunk == (0, 0)
    assert failure(array.get, (0, 0)).chunk == (0, 0)


def test_the_failing_codec_is_named() -> None:
    store, array = written(chain_of(("zstd", {"level": 1}), ("crc32c", {})))
    store["foo/bar/c/0/0"] = store["foo/bar/c/0/0"][:-1] + b"\0"
    assert failure(array.get, ..., kind=ChecksumError).codec == "crc32c"
    bare, other = written(chain_of(("crc32c", {})))
    store["foo/bar/c/0/0"] = bare["foo/bar/c/0/0"]  # a good checksum, of what is not zstd
    assert failure(array.get, ...).codec == "zstd"
    assert other.get((0, 0)) == 1


def test_a_damaged_chunk_is_not_patched() -> None:
    """What could not be read is not overwritten, unless all of it is."""
    store, array = written(chain_of(("zstd", {"level": 1})))
    store["foo/bar/c/1/1"] = b"damaged"
    failure(array.write, [(3, 1, 1), (4, 1, 2)], np.zeros((1, 2), "i4"))
    failure(array.write_points, [np.array([2]), np.array([5])], np.zeros(1, "i4"))
    assert store["foo/bar/c/1/1"] == b"damaged"
    array.write([(2, 1, 2), (3, 1, 3)], VALUES[2:, 3:])
    assert np.array_equal(array.get(...), VALUES)


def test_the_first_error_ends_the_call_and_the_array_stays_usable() -> None:
    store, array = written(chain_of(("zstd", {"level": 1})))
    good = dict(store)
    store.update(dict.fromkeys(store, b"bad"))
    for threads in (1, 4):
        for _ in range(20):
            with pytest.raises(ChunkDecodeError):
                array.get(..., threads)
    store.update(good)
    assert np.array_equal(array.get(..., 4), VALUES)


# ---- shards --------------------------------------------------------------------------------------


def index_entries(shard: bytes, *, where: str = "end") -> list[int]:
    raw = shard[-32:] if where == "end" else shard[:32]
    return list(struct.unpack("<4Q", raw))


def with_index(shard: bytes, entries: list[int], where: str = "end") -> bytes:
    raw = struct.pack("<4Q", *entries)
    return shard[:-32] + raw if where == "end" else raw + shard[32:]


LIES = {
    "offset-behind-the-end": lambda offset, length, size: (size, length),
    "end-behind-the-end": lambda offset, length, size: (offset, size - offset + 1),
    "offset-wraps": lambda offset, length, size: (2**64 - length, length),
    "length-wraps": lambda offset, length, size: (offset, 2**64 - offset),
    "length-huge": lambda offset, length, size: (offset, 2**63),
    "offset-negative": lambda offset, length, size: (2**63, length),
    "length-too-small": lambda offset, length, size: (offset, length - 1),
    "length-too-large": lambda offset, length, size: (offset, length + 1),
    "length-none": lambda offset, length, size: (offset, NONE),
    "offset-none": lambda offset, length, size: (NONE, length),
    "length-zero": lambda offset, length, size: (offset, 0),
}


@pytest.mark.parametrize("where", ["start", "end"])
@pytest.mark.parametrize("lie", LIES)
def test_shard_index_that_lies(lie: str, where: str, tmp_path: Path) -> None:
    store, array = written(sharded(index=(), where=where))
    key = "foo/bar/c/0/1"
    entries = index_entries(store[key], where=where)
    entries[2:] = LIES[lie](*entries[2:], len(store[key]))
    store[key] = with_index(store[key], entries, where)
    on_disk = local(tmp_path, sharded(index=(), where=where))
    path = tmp_path / key
    path.parent.mkdir(parents=True)
    path.write_bytes(store[key])
    for one in (array, on_disk):
        for selection in ((1, slice(3, 6)), ..., (1, 5)):
            error = failure(one.get, selection)
            assert (error.chunk, error.key) == ((0, 1), key)
            assert error.inner_chunk == (1, 0) or "entry 1 " in error.reason
        with pytest.raises(ChunkDecodeError):
            one.write([(1, 1, 1), (4, 1, 1)], np.ones((1, 1), "i4"))
        assert (
            one.get((0, slice(0, 3))).tolist()
            == (VALUES[0, :3] if one is array else VALUES[0, :3] * 0).tolist()
        )


def test_damaged_inner_chunk() -> None:
    store, array = written(sharded(("zstd", {"level": 1, "checksum": True})))
    key = "foo/bar/c/1/1"
    shard = store[key]
    offset, length = struct.unpack("<4Q", shard[-36:-4])[2:]
    store[key] = shard[:offset] + bytes(length) + shard[offset + length :]
    error = failure(array.get, (3, 5))
    assert (error.chunk, error.inner_chunk, error.key, error.codec) == ((1, 1), (1, 0), key, "zstd")
    assert error.byte_range == (offset, length)
    assert array.get((2, 5)) == VALUES[2, 5]
    with pytest.raises(ChunkDecodeError):
        array.write([(2, 1, 1), (5, 1, 1)], np.zeros((1, 1), "i4"))  # needs to know all inner chunks
        array.get(...)


def test_inner_chunk_of_a_transposed_shard() -> None:
    """The inner chunk's place is told in the array's order of dimensions."""
    chain = make_chain(
        4, order=(1, 0), shard=make_shard((1, 2), chain_of(("zstd", {"level": 1})), make_chain(8), "end")
    )
    store, array = written(chain)
    key = "foo/bar/c/0/0"
    entries = list(struct.unpack("<6Q", store[key][-48:]))
    store[key] = store[key][: entries[4]] + bytes(entries[5]) + store[key][entries[4] + entries[5] :]
    error = failure(array.get, (0, 2))
    assert (error.chunk, error.inner_chunk) == ((0, 0), (0, 2))


@pytest.mark.parametrize("where", ["start", "end"])
def test_shard_without_a_whole_index(where: str) -> None:
    store, array = written(sharded(where=where))
    good = store["foo/bar/c/0/0"]
    for length in (0, 1, 4, 35):
        store["foo/bar/c/0/0"] = good[:length] if where == "start" else good[len(good) - length :]
        assert failure(array.get, (0, 0)).chunk == (0, 0)


def test_damaged_index() -> None:
    store, array = written(sharded())
    key = "foo/bar/c/0/0"
    store[key] = store[key][:-20] + b"\xee" + store[key][-19:]
    error = failure(array.get, (0, 0), kind=ChecksumError)
    assert (error.chunk, error.key, error.codec) == ((0, 0), key, "crc32c")


# ---- files ---------------------------------------------------------------------------------------


def local(root: Path, chain: Chain | None = None, prefix: str = "foo/bar/") -> NativeArray:
    return NativeArray(
        LocalSource(root),
        prefix,
        shape=SHAPE,
        chunks=CHUNKS,
        chain=chain or chain_of(),
        dtype="i4",
        path="foo/bar",
    )


def chunk_path(root: Path) -> Path:
    path = root / "foo" / "bar" / "c" / "1" / "0"
    path.parent.mkdir(parents=True)
    return path


def check_io_error(array: NativeArray) -> None:
    error = failure(array.get, (2, 0), kind=ChunkIOError)
    assert isinstance(error, OSError)
    assert (error.chunk, error.key) == ((1, 0), "foo/bar/c/1/0")
    with pytest.raises(ChunkIOError):
        array.write([(2, 1, 1), (0, 1, 1)], np.ones((1, 1), "i4"))


@pytest.mark.parametrize(
    "chain", [chain_of(), chain_of(("zstd", {"level": 1})), sharded()], ids=["plain", "zstd", "shard"]
)
def test_directory_in_place_of_a_chunk(chain: Chain, tmp_path: Path) -> None:
    path = chunk_path(tmp_path)
    path.mkdir()
    check_io_error(local(tmp_path, chain))
    assert path.is_dir()


@posix
@pytest.mark.parametrize("chain", [chain_of(), sharded()], ids=["plain", "shard"])
def test_fifo_in_place_of_a_chunk(chain: Chain, tmp_path: Path) -> None:
    """Which would block whoever opens it."""
    path = chunk_path(tmp_path)
    os.mkfifo(path)
    check_io_error(local(tmp_path, chain))


@posix
def test_symbolic_link_that_leads_to_itself(tmp_path: Path) -> None:
    path = chunk_path(tmp_path)
    path.symlink_to(path)
    check_io_error(local(tmp_path))


@posix
def test_link_to_nothing(tmp_path: Path) -> None:
    """The key is there, so its value is not absent."""
    path = chunk_path(tmp_path)
    path.symlink_to(tmp_path / "nowhere")
    error = failure(local(tmp_path).get, (2, 0), kind=ChunkIOError)
    assert error.key == "foo/bar/c/1/0"


@posix
def test_file_in_place_of_a_directory(tmp_path: Path) -> None:
    chunk_path(tmp_path).parent.rmdir()
    (tmp_path / "foo" / "bar" / "c" / "1").write_bytes(b"")
    with pytest.raises(ChunkIOError):
        local(tmp_path).write(WHOLE, VALUES)


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = chunk_path(tmp_path)
    path.write_bytes(bytes(24))
    path.chmod(0)
    error = failure(local(tmp_path).get, (2, 0), kind=ChunkIOError)
    assert isinstance(error, PermissionError) or error.errno == 13


@posix
@pytest.mark.parametrize(
    "chain",
    [chain_of(), chain_of(("zstd", {"level": 1})), chain_of(("blosc", {}))],
    ids=["plain", "zstd", "blosc"],
)
def test_huge_file_in_place_of_a_small_chunk(chain: Chain, tmp_path: Path) -> None:
    """It is refused before memory is asked for: the child has 1 GiB to spare, the file has 64."""
    path = chunk_path(tmp_path)
    with path.open("wb") as file:
        file.truncate(64 << 30)
    array = local(tmp_path, chain)

    def refused() -> bool:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30),) * 2)
        try:
            array.get((2, 0), 1)
        except MemoryError:
            return False
        except ChunkDecodeError as error:
            return error.chunk == (1, 0)
        return False

    if sys.platform == "linux" and "san" not in os.environ.get("LD_PRELOAD", ""):
        assert in_child(refused)
    else:
        failure(array.get, (2, 0))


def test_what_is_left_after_a_failed_write(tmp_path: Path) -> None:
    """No temporary file stays, and what was there is as it was."""
    path = chunk_path(tmp_path)
    path.mkdir()
    (path / "file").touch()  # an empty directory would make room
    with pytest.raises(ChunkIOError):
        local(tmp_path).write(WHOLE, VALUES, 2)
    names = {p.name for p in tmp_path.rglob("*") if p.is_file()}
    assert names <= {"0", "1", "file"}


# ---- codecs --------------------------------------------------------------------------------------


def test_unknown_codecs_and_options() -> None:
    with pytest.raises(UnknownCodecError, match="snippy"):
        chain_of(("snippy", {}))
    with pytest.raises(TypeError, match="speed"):
        chain_of(("zstd", {"speed": 3}))


def test_chunk_that_a_codec_cannot_take(tmp_path: Path) -> None:
    """blosc holds at most 2 GiB - 1; that is said before anything is encoded."""
    array = NativeArray(
        MemorySource({}),
        "",
        shape=(2**31,),
        chunks=(2**31,),
        chain=make_chain(1, stages=[("blosc", {})]),
        dtype="u1",
        path="foo/bar",
    )
    with pytest.raises((ChunkEncodeError, MemoryError)):
        array.write([(0, 1, 1)], np.ones(1, "u1"))
