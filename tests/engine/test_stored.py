# SPDX-License-Identifier: MIT
"""What is stored of an array: its directory listed, parts of values, and which chunks cannot be decoded."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_chains import make_chain

import zarrcore
from zarrcore._core import engine
from zarrcore._core.engine import LocalSource, MemorySource, NativeArray
from zarrcore.codecs import Crc32cCodec, GzipCodec, ZstdCodec
from zarrcore.keys.base import chunk_coords
from zarrcore.keys.standard import DefaultChunkKeyEncoding, V2ChunkKeyEncoding
from zarrcore.storage.files import is_lock_file

MANY = 1 << 20


def native(root: Path | dict[str, bytes], encoding: Any, ndim: int, prefix: str = "a/") -> NativeArray:
    source = MemorySource(root) if isinstance(root, dict) else LocalSource(root)
    return NativeArray(
        source, prefix, shape=(9,) * ndim, chunks=(2,) * ndim, key_encoding=encoding.native(),
        chain=make_chain(4), dtype="i4",
    )  # fmt: skip


def files_below(top: Path) -> dict[str, int]:
    """Files by the system's own walk, and empty directories with a slash."""
    found: dict[str, int] = {}
    for above, directories, names in os.walk(top):
        path = Path(above).relative_to(top).as_posix()
        start = "" if path == "." else f"{path}/"
        names = [name for name in names if not is_lock_file(name)]
        directories[:] = [name for name in directories if not is_lock_file(name)]
        found.update({start + name: os.lstat(f"{above}/{name}").st_size for name in names})
        if not names and not directories and start:
            found[start] = -1
    return found


NAMES = [
    "c", "0", "00", "1", "12", "01", "-1", "+1", "1e3", " 1", "1 ", "\u0663", "c0", "0.0", "1.2", "c.1.2",
    "c.0", ".", "..c", "9" * 18, "9" * 19, "9" * 27, "zarr.json", ".zc-locks", ".zc-locks-3",
    ".zc-locks-da", ".zc-locksx", ".zc-0123456789abcdef.partial", "a\nb", "c..1", "0.", ".0", "0..0",
]  # fmt: skip


@pytest.mark.parametrize("ndim", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "encoding", [kind(separator=s) for kind in (DefaultChunkKeyEncoding, V2ChunkKeyEncoding) for s in "./"]
)
def test_a_listing_is_that_of_the_system_and_keys_are_read_as_their_encoding_does(
    encoding: Any, ndim: int, tmp_path: Path
) -> None:
    rng = random.Random(ndim)
    (tmp_path / "a").mkdir()
    for _ in range(150):
        path = tmp_path.joinpath(
            "a", *rng.choices([n for n in NAMES if n != "."], k=rng.randint(1, ndim + 2))
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if rng.random() < 0.1:
                path.mkdir()
            else:
                path.write_bytes(bytes(rng.randrange(5)))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    wanted = files_below(tmp_path / "a")
    array = native(tmp_path, encoding, ndim)
    for sizes in (False, True):
        found = engine.list_stored(array, MANY, sizes)
        assert found is not None
        coords, nbytes, others = found
        keys = [encoding.encode(tuple(row)) for row in coords.tolist()]
        assert sorted(keys + others) == sorted(wanted)
        assert nbytes.tolist() == [wanted[key] if sizes else -2 for key in keys]
        chunks = {key for key in wanted if chunk_coords(encoding, key, ndim) is not None}
        assert set(keys) <= chunks
        assert all(len(key) > 18 for key in chunks - set(keys)), "left to Python: huge numbers alone"


@pytest.mark.parametrize("ndim", [0, 1, 2, 3])
@pytest.mark.parametrize("prefix", ["", "a/", "\u00e9/"])
@pytest.mark.parametrize("separator", "./")
def test_a_listing_of_a_dictionary_is_that_of_its_keys(separator: Any, prefix: str, ndim: int) -> None:
    rng, names = random.Random(ndim), [name for name in NAMES if name != "."]
    encoding = DefaultChunkKeyEncoding(separator=separator)
    values = {f"{start}{'/'.join(rng.choices(names, k=rng.randint(1, ndim + 2)))}": bytes(rng.randrange(5))
              for start in [prefix, prefix, "b/", "a"] for _ in range(100)}  # fmt: skip
    values[prefix] = b""
    wanted = {key[len(prefix) :]: len(value) for key, value in values.items() if key.startswith(prefix)}
    for sizes in (False, True):
        coords, nbytes, others = engine.list_stored(native(values, encoding, ndim, prefix), MANY, sizes)  # type: ignore[misc]
        keys = [encoding.encode(tuple(row)) for row in coords.tolist()]
        assert sorted(keys + others) == sorted(wanted)
        assert nbytes.tolist() == [wanted[key] if sizes else -2 for key in keys]
        chunks = {key for key in wanted if chunk_coords(encoding, key, ndim) is not None}
        assert set(keys) <= chunks and all(len(key) > 18 for key in chunks - set(keys))


@pytest.mark.parametrize("key", [3, "c/\udcff"])
def test_dictionaries_with_odd_keys_take_another_way(key: Any) -> None:
    array = native({"c/0": b"1234", key: b""}, DefaultChunkKeyEncoding(), 1, "")
    assert engine.list_stored(array, MANY, True) is None


@pytest.mark.parametrize(("value", "size"), [(bytearray(5), 5), (np.zeros(3, "i4"), 12), (None, -1), (5, -1)])
def test_odd_values_in_a_dictionary_have_a_size_if_they_are_bytes_like(value: Any, size: int) -> None:
    array = native({"c/0": b"1234", "c/1": value}, DefaultChunkKeyEncoding(), 1, "")
    assert engine.list_stored(array, MANY, True)[1].tolist() == [4, size]  # type: ignore[index]


def test_links_and_too_many_entries_and_other_stores_take_another_way(tmp_path: Path) -> None:
    encoding = DefaultChunkKeyEncoding()
    assert engine.list_stored(native(dict.fromkeys("abc", b""), encoding, 1, ""), 2) is None
    logged = zarrcore.create_array(
        zarrcore.storage.LoggingStore(zarrcore.storage.MemoryStore()), shape=4, dtype="u1"
    )
    assert engine.list_stored(logged._opened.engine(), MANY) is None
    assert engine.list_stored(native(tmp_path, encoding, 1), MANY) is None  # nothing is there
    (tmp_path / "a/c").mkdir(parents=True)
    for n in range(5):
        (tmp_path / f"a/c/{n}").write_bytes(b"x")
    array = native(tmp_path, encoding, 1)
    assert engine.list_stored(array, 4) is None
    assert len(engine.list_stored(array, 5)[0]) == 5  # type: ignore[index]
    (tmp_path / "a/c/7").symlink_to("0")
    assert engine.list_stored(array, MANY) is None
    (tmp_path / "a/c/7").unlink()
    tmp_path.joinpath("a", *(["d"] * 40)).mkdir(parents=True)
    assert engine.list_stored(array, MANY) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="everything may be read here")
def test_a_directory_that_may_not_be_listed_takes_another_way(tmp_path: Path) -> None:
    (tmp_path / "a/c").mkdir(parents=True)
    os.chmod(tmp_path / "a/c", 0)
    try:
        assert engine.list_stored(native(tmp_path, DefaultChunkKeyEncoding(), 1), MANY) is None
    finally:
        os.chmod(tmp_path / "a/c", 0o700)


def test_what_is_no_file_has_no_size(tmp_path: Path) -> None:
    (tmp_path / "a/c").mkdir(parents=True)
    os.mkfifo(tmp_path / "a/c/0")
    array = native(tmp_path, DefaultChunkKeyEncoding(), 1)
    for sizes in (False, True):
        coords, nbytes, others = engine.list_stored(array, MANY, sizes)  # type: ignore[misc]
        assert (coords.tolist(), nbytes.tolist(), others) == ([[0]], [-1], [])
    assert engine.try_chunks(array, coords).tolist() == [-2]
    assert engine.read_parts(array, coords, 1, False)[1].tolist() == [-2]


LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"compressors": None},
    "zstd": {"compressors": ZstdCodec()},
    "gzip": {"compressors": GzipCodec()},
    "crc": {"compressors": [Crc32cCodec()]},
    "transposed": {"filters": zarrcore.codecs.TransposeCodec(order=(1, 0)), "compressors": [Crc32cCodec()]},
    "shards": {"shards": (6, 4), "compressors": [ZstdCodec(), Crc32cCodec()]},
    "varied": {"chunks": ((3, 2, 6), (2, 5)), "compressors": [Crc32cCodec()]},
    "varied, large": {
        "chunks": ((400, 2, 600), (200, 500)),
        "shape": (1002, 700),
        "compressors": ZstdCodec(),
    },
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("where", ["files", "memory", "python"])
def test_a_trial_fails_where_a_read_does(layout: str, where: str, threads: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"chunks": (3, 2), "shape": (11, 7), **LAYOUTS[layout]}
    store: Any = {
        "files": zarrcore.storage.LocalStore(tmp_path),
        "memory": zarrcore.storage.MemoryStore(),
    }.get(where, zarrcore.storage.LoggingStore(zarrcore.storage.MemoryStore()))
    array = zarrcore.create_array(store, dtype="i4", fill_value=7, **options)
    array[...] = np.arange(array.size).reshape(array.shape)
    grid = [len(edges) for edges in (array.write_chunk_sizes if layout.startswith("varied") else [])] or [
        -(-n // c) for n, c in zip(array.shape, array.shards or array.chunks, strict=True)
    ]
    rng = random.Random(layout)
    coords = np.array([*np.ndindex(*grid), (grid[0], 0), (-1, 0), (2**62, 2**62)])
    keys = [array.metadata.encode_chunk_key(tuple(row)) for row in coords[:-3].tolist()]
    for number, key in enumerate(keys):
        value = bytearray(store.get(key))
        if number % 4 == 1:
            store.delete(key)
        elif number % 4 == 2:
            value[rng.randrange(len(value))] ^= 64
            store.set(key, bytes(value))
        elif number % 4 == 3:
            store.set(key, bytes(value[: rng.choice([0, len(value) // 2, len(value) - 1])]))
    outcome = engine.try_chunks(array._opened.engine(), coords, threads)
    assert outcome[-3:].tolist() == [-2] * 3
    for row, key, found in zip(coords.tolist(), keys, outcome.tolist(), strict=False):
        value = store.get(key)
        try:
            array.get_block_selection(tuple(row)) if not layout.startswith("varied") else array[
                _box(array, row)
            ]
        except zarrcore.errors.ChunkError:
            assert found == -2, key
        else:
            assert found == (-1 if value is None else len(value)), key


def _box(array: Any, row: list[int]) -> tuple[slice, ...]:
    ends = [np.cumsum([0, *edges]) for edges in array.write_chunk_sizes]
    return tuple(slice(int(e[k]), int(e[k + 1])) for e, k in zip(ends, row, strict=True))


@pytest.mark.parametrize("last", [False, True])
def test_parts_of_values_are_those_of_the_files(last: bool, tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=600, chunks=2, dtype="u1", compressors=None)
    rng = random.Random(3)
    contents = {n: rng.randbytes(rng.randrange(40)) for n in range(300) if rng.random() < 0.9}
    (tmp_path / "c").mkdir()
    for n, content in contents.items():
        (tmp_path / f"c/{n}").write_bytes(content)
    coords = np.arange(-1, 302)[:, None]
    parts, sizes = engine.read_parts(array._opened.engine(), coords, 16, last, 2)
    for n, part, size in zip(coords[:, 0].tolist(), parts, sizes.tolist(), strict=True):
        content = contents.get(n, b"")
        assert size == (len(content) if len(content) >= 16 else -2)
        if size >= 0:
            assert part.tobytes() == (content[-16:] if last else content[:16])


def test_arguments_that_are_no_positions(tmp_path: Path) -> None:
    array = native(tmp_path, DefaultChunkKeyEncoding(), 2)
    for chunks in (np.zeros(2, int), np.zeros((2, 3), int)):
        with pytest.raises(ValueError, match="chunks: expected shape"):
            engine.try_chunks(array, chunks)
    assert engine.try_chunks(array, np.zeros((0, 2), int)).tolist() == []
    with pytest.raises(TypeError, match="is not in files"):
        engine.read_parts(native({}, DefaultChunkKeyEncoding(), 2), np.zeros((1, 2), int), 4, True)


def test_an_interrupt_ends_a_trial(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=(64, 1 << 20), chunks=(1, 1 << 20), dtype="u1",
                                  compressors=GzipCodec(level=1))  # fmt: skip
    array[...] = np.random.default_rng(0).integers(0, 4, array.shape)
    coords = np.repeat(np.stack([np.arange(64), np.zeros(64, int)], axis=1), 40, axis=0)
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.try_chunks(array._opened.engine(), coords, 2)
        time.sleep(5)
    timer.join()
    assert (engine.try_chunks(array._opened.engine(), coords[:40]) > 0).all()
