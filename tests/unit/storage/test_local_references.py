# SPDX-License-Identifier: MIT
"""References to files of this machine, whose parts the engine reads itself."""

from __future__ import annotations

import os
import pickle
import zlib

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, ChunkError
from zarrcore.storage import LocalStore, ReferenceStore

if os.name == "nt":
    pytest.skip("the engine does not read parts of files", allow_module_level=True)

VALUES = np.random.default_rng(3).integers(0, 1000, (60, 50), "u2")
CHUNKS = (8, 16)


def document(compressor=None):
    return {
        "shape": [60, 50],
        "chunks": [*CHUNKS],
        "dtype": "<u2",
        "order": "C",
        "fill_value": 7,
        "filters": None,
        "compressor": compressor,
        "zarr_format": 2,
    }


def make_references(folder, files=3, compress=bytes):
    """References to chunks in several files, with bytes between them; chunk (1, 1) is absent."""
    parts = {f"{folder}/{n}.bin": b"head" for n in range(files)}
    refs = {}
    for number, (i, j) in enumerate(np.ndindex(8, 4)):
        if (i, j) == (1, 1):
            continue
        chunk = np.full(CHUNKS, 7, "<u2")
        part = VALUES[i * 8 : i * 8 + 8, j * 16 : j * 16 + 16]
        chunk[: part.shape[0], : part.shape[1]] = part
        data, path = compress(chunk.tobytes()), f"{folder}/{number % files}.bin"
        refs[f"{i}.{j}"] = [path, len(parts[path]), len(data)]
        parts[path] += data + b"between"
    for path, data in parts.items():
        with open(path, "wb") as file:
            file.write(data)
    return refs


def expected():
    values = VALUES.copy()
    values[8:16, 16:32] = 7
    return values


def opened(refs, compressor=None, kind=ReferenceStore):
    return zarrcore.open_array(kind({".zarray": document(compressor), **refs}), mode="r")


@pytest.fixture
def of_engine(monkeypatch):
    """No value may be read by Python."""

    def refuse(*_args, **_options):
        raise AssertionError("read by Python")

    monkeypatch.setattr(LocalStore, "get", refuse)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.usefixtures("of_engine")
def test_any_selection_is_that_of_numpy(tmp_path, threads, is_compressed):
    compressor = {"id": "zlib", "level": 1} if is_compressed else None
    refs = make_references(tmp_path, compress=zlib.compress if is_compressed else bytes)
    array, values = opened(refs, compressor), expected()
    kept = array.with_cache(1 << 20)
    rng = np.random.default_rng(11)
    with zarrcore.config.set({"threading.max_workers": threads}):
        assert np.array_equal(array[...], values)
        for _ in range(60):
            (a, b), (c, d) = np.sort(rng.integers(0, 61, 2)), np.sort(rng.integers(0, 51, 2))
            step = int(rng.integers(1, 4))
            rows, columns = rng.integers(0, 60, 5), rng.integers(0, 50, 5)
            for one in (array, kept):
                assert np.array_equal(one[a:b:step, c:d], values[a:b:step, c:d])
                assert np.array_equal(one.oindex[rows, columns], values[np.ix_(rows, columns)])
                assert np.array_equal(one.vindex[rows, columns], values[rows, columns])
                assert np.array_equal(one[int(rows[0])], values[rows[0]])
    assert np.array_equal(pickle.loads(pickle.dumps(array))[...], values)


def test_more_files_than_are_held_open(tmp_path):
    refs = {}
    for number in range(300):
        (tmp_path / f"{number}").write_bytes(bytes([number % 256, 1]) * 4)
        refs[f"{number}"] = [f"{tmp_path}/{number}", 2, 4]
    meta = {**document(), "shape": [600], "chunks": [2]}
    array = zarrcore.open_array(ReferenceStore({".zarray": meta, **refs}), mode="r")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        assert np.array_equal(array[...], np.repeat(np.arange(300) % 256 + 256, 2))
    assert len(os.listdir("/dev/fd")) <= before


def test_a_file_that_was_cut_off_is_an_error(tmp_path):
    refs = make_references(tmp_path, files=1)
    array = opened(refs)
    assert np.array_equal(array[...], expected())
    path, offset, size = refs["7.3"]
    os.truncate(path, offset + size - 1)
    with pytest.raises(ChunkError, match=r"chunk \(7, 3\).*'7\.3'.*lacks it"):
        array[...]
    assert np.array_equal(array[:56], expected()[:56])
    os.remove(path)
    with pytest.raises(ChunkError, match="lacks it"):
        array[:8]


def test_a_file_that_is_cut_off_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    refs = make_references(tmp_path, files=1)
    array = opened(refs)
    whole = LocalStore._open_file

    def open_and_cut(store, key):
        file = whole(store, key)
        os.truncate(f"{tmp_path}/0.bin", 100)
        return file

    monkeypatch.setattr(LocalStore, "_open_file", open_and_cut)
    with pytest.raises(ChunkError, match=r"chunk \(.*the file ends after"):
        array[...]


@pytest.mark.parametrize("kind", ["directory", "fifo", "device", "below a file", "link to nothing"])
def test_what_is_no_file_is_an_error(tmp_path, kind):
    path = tmp_path / "odd"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = "/dev/zero"
    elif kind == "below a file":
        path.write_bytes(bytes(1000))
        path = path / "x"
    else:
        path.symlink_to("gone")
    refs = make_references(tmp_path) | {"3.1": [str(path), 0, 256]}
    with pytest.raises(BaseZarrError, match=r"3\.1"):
        opened(refs)[...]


def test_a_value_that_no_chunk_can_have_is_not_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    refs = make_references(tmp_path) | {"0.0": [str(path), 0, 1 << 33]}
    with pytest.raises(ChunkError, match=r"8589934592 bytes"):
        opened(refs, {"id": "zlib", "level": 1})[:8]


def test_a_store_with_a_get_of_its_own_is_asked(tmp_path):
    class Turned(ReferenceStore):
        def get_partial_values(self, key_ranges):
            found = super().get_partial_values(key_ranges)
            return [value if value is None or value[:1] == b"{" else value[::-1] for value in found]

    refs = make_references(tmp_path, compress=lambda data: data[::-1])
    assert np.array_equal(opened(refs, kind=Turned)[...], expected())
