# SPDX-License-Identifier: MIT
"""Chunk key encodings that only Python knows: keys, their way back, and arrays that use them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import MetadataValidationError
from zarrcore.keys import ChunkKeyEncoding, FanoutChunkKeyEncoding, parse_chunk_key_encoding
from zarrcore.keys.base import chunk_coords, quick_reader
from zarrcore.registry import chunk_key_encoding_registry
from zarrcore.storage import MemoryStore

SUFFIX = {"name": "suffix", "configuration": {"suffix": ".tiff", "base_encoding": {"name": "default"}}}
SUFFIX_V2 = {"name": "suffix", "configuration": {"suffix": ".shard.zip", "base_encoding": "v2"}}
OF_ZARRS = {"name": "zarrs.default_suffix", "configuration": {"separator": ".", "suffix": ".bin"}}
FANOUT_100 = {"name": "fanout", "configuration": {"max_children": 100}}

KEYS: list[tuple[Any, tuple[int, ...], str]] = [
    (SUFFIX, (1, 2), "c/1/2.tiff"),
    (SUFFIX_V2, (1, 2), "1.2.shard.zip"),
    (OF_ZARRS, (1, 2), "c.1.2.bin"),
    ("fanout", (), "c"),
    ("fanout", (0,), "c/0/000"),
    ("fanout", (12,), "c/0/012"),
    ("fanout", (1234567,), "c/2/001/234/567"),
    ("fanout", (1234, 5, 0, 6789012), "c/1/001/234/0/005/0/000/2/006/789/012"),
    (FANOUT_100, (99, 100), "c/0/99/1/01/00"),
    ("zarrcore.n5", (1, 23, 45), "45/23/1"),
]


@pytest.mark.parametrize(("encoding", "coords", "key"), KEYS, ids=lambda value: str(value)[:30])
def test_keys_and_back(encoding: Any, coords: tuple[int, ...], key: str) -> None:
    made = parse_chunk_key_encoding(encoding)
    assert made.encode(coords) == key
    assert made.decode(key) == coords
    assert made.native() == (("n5", "/") if encoding == "zarrcore.n5" else None)
    assert parse_chunk_key_encoding(made.to_json()) == made
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    ("encoding", "key"),
    [
        (SUFFIX, "c/1/2"),
        (SUFFIX, "c/1/x.tiff"),
        (SUFFIX, "1/2.tiff"),
        (SUFFIX_V2, "01.2.shard.zip"),
        (OF_ZARRS, "c.1.2"),
        ("fanout", "d/0/000"),
        ("fanout", "c/0/00"),
        ("fanout", "c/1/000/001"),
        ("fanout", "c/2/001"),
        ("fanout", "c/0"),
        ("fanout", "c/0/-01"),
        ("fanout", "c/x/001"),
        ("zarrcore.n5", "1/02"),
        ("zarrcore.n5", "attributes.json"),
    ],
)
def test_other_keys_are_refused(encoding: Any, key: str) -> None:
    with pytest.raises(ValueError, match="expected a chunk key"):
        parse_chunk_key_encoding(encoding).decode(key)


@pytest.mark.parametrize(
    "encoding",
    [
        *("default", "v2", "zarrcore.n5", "fanout"),
        {"name": "default", "separator": "."},
        {"name": "v2", "separator": "/"},
    ],
    ids=str,
)
@pytest.mark.parametrize("ndim", [0, 1, 2, 3])
def test_keys_that_are_read_quickly_are_those_of_chunks(encoding: Any, ndim: int) -> None:
    made = parse_chunk_key_encoding(encoding)
    read = quick_reader(made, ndim)
    numbers = [
        "0",
        "10",
        "9",
        "00",
        "01",
        "+1",
        "-1",
        "1_0",
        "\u0661",
        "",
        "1" * 18,
        "9" * 19,
        "1\n",
        "zarr.json",
    ]
    few = ["0", "12", "01", "9" * 18]
    names = [*numbers, *(f"{a}{s}{b}" for s in "./" for a in few for b in numbers)]
    names += [f"{a}{s}{b}{s}{c}" for s in "./" for a in few for b in few for c in few]
    names += [f"{start}{name}" for start in ("c/", "c.", "c", "C/", "/") for name in names]
    names += ["c", "c/", "c."]
    for name in names:
        coords = chunk_coords(made, name, ndim)
        assert read(name) in (None, coords)
        if ndim and encoding != "fanout" and coords is not None and max(coords) < 10**18:
            assert read(name) == coords


def test_fanout_counts_in_powers_of_ten() -> None:
    assert FanoutChunkKeyEncoding(250).max_children == 100
    assert FanoutChunkKeyEncoding(1234).to_json()["configuration"] == {"max_children": 1000}
    keys = [FanoutChunkKeyEncoding(100).encode((i,)) for i in range(0, 12000, 7)]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("name", "configuration", "message"),
    [
        ("fanout", {"max_children": 99}, "max_children: expected an integer of at least 100, got 99"),
        ("fanout", {"max_children": "100"}, "max_children"),
        ("fanout", {"separator": "/"}, "separator: unknown key"),
        ("suffix", {"suffix": ".x"}, "base_encoding: is required"),
        ("suffix", {"base_encoding": "v2"}, "suffix: is required"),
        ("suffix", {"suffix": "/../x", "base_encoding": "v2"}, "suffix: expected no path"),
        ("suffix", {"suffix": 7, "base_encoding": "v2"}, "suffix: expected a string"),
        ("suffix", {"suffix": ".x", "base_encoding": "no"}, "base_encoding.*unknown chunk key encoding 'no'"),
        ("zarrs.default_suffix", {"separator": "."}, "suffix: is required"),
        ("zarrs.default_suffix", {"suffix": "", "separator": "-"}, "separator"),
        ("zarrcore.n5", {"separator": "/"}, "separator: unknown key"),
    ],
)
def test_configurations_that_are_refused(name: str, configuration: dict[str, Any], message: str) -> None:
    with pytest.raises(MetadataValidationError, match=message):
        parse_chunk_key_encoding({"name": name, "configuration": configuration})


@pytest.mark.parametrize(
    "encoding", [SUFFIX, SUFFIX_V2, OF_ZARRS, FANOUT_100, "fanout", "zarrcore.n5"], ids=str
)
@pytest.mark.parametrize("options", [{}, {"shards": (4, 6)}], ids=["chunks", "shards"])
def test_arrays(encoding: Any, options: dict[str, Any]) -> None:
    values = np.arange(5 * 7, dtype="i4").reshape(5, 7) + 1
    store = MemoryStore()
    array = zarrcore.create_array(
        store, name="a", shape=(5, 7), chunks=(2, 3), dtype="i4", chunk_key_encoding=encoding, **options
    )
    array[...] = values
    array[1:3, ::2] = -1
    expected = values.copy()
    expected[1:3, ::2] = -1
    made = parse_chunk_key_encoding(encoding)
    again = zarrcore.open_array(store, path="a", mode="r+")
    np.testing.assert_array_equal(again[...], expected)
    assert store.exists(f"a/{made.encode((1, 1))}")
    again.resize((2, 3))
    np.testing.assert_array_equal(again[...], expected[:2, :3])
    assert [key for key in store.list() if not key.endswith("zarr.json")] == [f"a/{made.encode((0, 0))}"]


@pytest.mark.interop
def test_zarr_python_names_no_other() -> None:
    """The day that it does, its keys are to be compared with these."""
    registry = pytest.importorskip("zarr.registry")
    for name in ("fanout", "suffix"):
        with pytest.raises(KeyError):
            registry.get_chunk_key_encoding_class(name)


def test_encoding_without_a_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are found although their keys cannot be read backwards: none stays beyond a smaller shape."""

    @dataclass(frozen=True)
    class Backwards(ChunkKeyEncoding):
        name: ClassVar[str] = "test.backwards"

        def encode(self, coords: tuple[int, ...]) -> str:
            return "k/" + "-".join(map(str, coords[::-1]))

    registered = chunk_key_encoding_registry._classes
    monkeypatch.setattr(chunk_key_encoding_registry, "_classes", registered | {"test.backwards": Backwards})
    store: dict[str, Any] = {}
    array = zarrcore.create_array(
        store,
        name="a",
        shape=(6, 6),
        chunks=(2, 2),
        dtype="i4",
        fill_value=-1,
        chunk_key_encoding=Backwards(),
    )
    array[:, :4] = np.arange(24).reshape(6, 4)
    assert (array.nchunks, array.nchunks_initialized) == (9, 6)
    array.resize((3, 3))
    assert sorted(store) == ["a/k/0-0", "a/k/0-1", "a/k/1-0", "a/k/1-1", "a/zarr.json", "zarr.json"]
    array.resize((6, 6))
    expected = np.full((6, 6), -1)
    expected[:3, :3] = np.arange(24).reshape(6, 4)[:3, :3]
    assert np.array_equal(array[...], expected)
    copied = zarrcore.from_array({}, data=array, chunk_key_encoding="default")
    assert np.array_equal(copied[...], expected)
