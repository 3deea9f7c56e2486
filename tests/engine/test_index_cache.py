"""The decoded indexes of shards that an opened array keeps."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import zarrcore
from zarrcore._core.engine import age_by_mtime
from zarrcore.errors import ChunkDecodeError

VALUES = np.arange(64 * 64, dtype="u2").reshape(64, 64)
INNER = 8 * 8 * 2
INDEX = 16 * 16 + 4


def _shard(tmp_path: Path) -> tuple[zarrcore.Array, Path]:
    """An array of one uncompressed shard of 4 x 4 inner chunks in its corner, written long ago."""
    layout = {"shape": (64, 64), "shards": (32, 32), "chunks": (8, 8)}
    array = zarrcore.create_array(tmp_path / "a", dtype="u2", compressors=None, filters=None, **layout)
    array[...] = VALUES
    file = tmp_path / "a" / "c" / "0" / "0"
    _date(file, 1_000_000_000)
    return array, file


def _date(file: Path, seconds: int) -> None:
    age_by_mtime(True)  # the other time of change cannot be set back
    os.utime(file, ns=(seconds * 10**9, seconds * 10**9))


def _swap_entries(data: bytes, i: int, j: int) -> bytes:
    """The shard with two entries of its index exchanged (and a checksum that fits)."""
    from zarrcore.kernels import crc32c

    entries = [data[-INDEX + 16 * k : -INDEX + 16 * k + 16] for k in range(16)]
    entries[i], entries[j] = entries[j], entries[i]
    index = b"".join(entries)
    return data[:-INDEX] + index + int(crc32c(index)).to_bytes(4, "little")


def test_an_index_is_read_once(tmp_path: Path) -> None:
    array, file = _shard(tmp_path)
    before = zarrcore.metrics()
    assert array[0, 0] == VALUES[0, 0]
    assert (zarrcore.metrics() - before).bytes_read == INDEX + VALUES.itemsize
    before = zarrcore.metrics()
    assert array[9, 9] == VALUES[9, 9]
    assert (zarrcore.metrics() - before).bytes_read == VALUES.itemsize
    np.testing.assert_array_equal(array[:32, :32], VALUES[:32, :32])


@pytest.mark.skipif(os.name == "nt", reason="there is one time of change, which can be set back")
def test_an_index_that_changes_in_place_and_gets_its_old_date_is_read_again(tmp_path: Path) -> None:
    array, file = _shard(tmp_path)
    assert array[0, 0] == VALUES[0, 0]
    with open(file, "r+b") as f:
        f.seek(-INDEX, os.SEEK_END)
        f.write(bytes(INDEX))
    _date(file, 1_000_000_000)
    for handle in (array, zarrcore.open_array(tmp_path / "a")):
        with pytest.raises(ChunkDecodeError):
            handle[9, 9]


@pytest.mark.parametrize("how", ["replaced", "modified", "longer"])
def test_another_version_of_the_file_has_another_index(tmp_path: Path, how: str) -> None:
    array, file = _shard(tmp_path)
    assert array[0, 0] == VALUES[0, 0] and array[0, 8] == VALUES[0, 8]
    data = _swap_entries(file.read_bytes(), 0, 1)
    if how == "replaced":
        (tmp_path / "new").write_bytes(data)
        os.replace(tmp_path / "new", file)
        _date(file, 1_000_000_000)
    elif how == "modified":
        with open(file, "r+b") as f:
            f.write(data)
    else:
        file.write_bytes(bytes(10) + data)
        _date(file, 1_000_000_000)
    if how != "longer":
        np.testing.assert_array_equal(array[:8, :8], VALUES[:8, 8:16])
    fresh = zarrcore.open_array(tmp_path / "a")
    np.testing.assert_array_equal(fresh[:32, :32], array[:32, :32])


def test_fresh_files_are_not_trusted(tmp_path: Path) -> None:
    """Within the tick of the clock a file can change twice without showing."""
    array, file = _shard(tmp_path)
    os.utime(file)
    date = file.stat().st_mtime_ns
    assert array[0, 0] == VALUES[0, 0]
    data = _swap_entries(file.read_bytes(), 0, 1)
    with open(file, "r+b") as f:
        f.write(data)
    os.utime(file, ns=(date, date))
    assert array[0, 0] == VALUES[0, 8]


def test_own_writes_show(tmp_path: Path) -> None:
    array, file = _shard(tmp_path)
    other = zarrcore.open_array(tmp_path / "a")
    for value in range(5):
        assert array[:8, :8].max() >= 0
        other[0, 0] = value
        _date(file, 1_000_000_000 + value)
        assert array[0, 0] == value
        np.testing.assert_array_equal(array[8:32, :32], VALUES[8:32, :32])


def test_nested_shards(tmp_path: Path) -> None:
    """The inner shards of a file have indexes of their own; one of them may begin where the file does."""
    inner = zarrcore.codecs.ShardingCodec(chunk_shape=(4, 4))
    array = zarrcore.create_array(
        tmp_path / "n",
        shape=(64, 64),
        chunks=(32, 32),
        serializer=zarrcore.codecs.ShardingCodec(chunk_shape=(16, 16), codecs=[inner]),
        dtype="u2",
        compressors=None,
    )
    array[...] = VALUES
    for file in (tmp_path / "n" / "c").rglob("*"):
        _date(file, 1_000_000_000)
    for _ in range(3):
        for at in [(0, 0), (5, 5), (17, 3), (31, 31), (40, 40)]:
            assert array[at] == VALUES[at]
    np.testing.assert_array_equal(array[...], VALUES)
