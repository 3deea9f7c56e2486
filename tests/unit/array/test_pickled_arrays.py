# SPDX-License-Identifier: MIT
"""Pickled handles: small, quickly read, and the same array wherever they are read."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import GzipCodec
from zarrcore.errors import ArrayNotFoundError, MetadataValidationError, UnknownCodecError
from zarrcore.metadata import pickled
from zarrcore.registry import register_codec
from zarrcore.storage import LocalStore, MemoryStore

LAYOUTS: dict[str, dict[str, Any]] = {
    "format 3": {},
    "shards": {"shards": (50, 50), "attributes": {"units": "m", "levels": [1, 2.5, None]}},
    "format 2": {"zarr_format": 2},
    "order F": {"zarr_format": 2, "order": "F", "fill_value": None},
    "names": {"dimension_names": ["x", None], "fill_value": -0.0},
}
cloudpickle = pytest.importorskip("cloudpickle")
DUMPS = pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def array(request: pytest.FixtureRequest, tmp_path: Path) -> zarrcore.Array:
    options = {"shape": (100, 100), "chunks": (10, 10), "dtype": "f4"} | request.param
    return zarrcore.create_array(tmp_path / "a.zarr", **options)


def members(metadata: Any) -> dict[str, Any]:
    """What metadata consist of, a fill value by its bits."""
    names = ("shape", "attributes", "extra_fields", "dimension_names", *metadata._storage_members)
    found = {name: vars(metadata).get(name) for name in names}
    fill = found["fill_value"]
    return found | {"fill_value": (type(fill), fill.tobytes() if isinstance(fill, np.generic) else fill)}


@DUMPS
def test_a_handle_is_small_and_is_the_same_array(array: zarrcore.Array, dumps: Any) -> None:
    array[:20] = 3
    data = dumps(array)
    assert len(data) <= 1024
    for handle in (array, zarrcore.open_array(array.store)):
        found = pickle.loads(dumps(handle))
        assert type(found) is zarrcore.Array
        assert found == array
        assert members(found.metadata) == members(array.metadata)
        assert found.config == handle.config
        np.testing.assert_array_equal(found[...], array[...])
    asynchronous = pickle.loads(dumps(array.async_array))
    assert type(asynchronous) is zarrcore.AsyncArray
    assert members(asynchronous.metadata) == members(array.metadata)


def test_a_document_is_parsed_for_the_first_handle_alone(
    array: zarrcore.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    pickle.loads(pickle.dumps(array))
    monkeypatch.setattr(pickled, "load_document", None)
    monkeypatch.setattr(json, "dumps", None)
    assert pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(array)))) is not array


def test_only_so_many_documents_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickled, "_kept", {})
    for length in range(1, 2 * pickled._MOST_KEPT):
        pickle.loads(pickle.dumps(zarrcore.zeros(length, store={})))
        assert 0 < len(pickled._kept) <= pickled._MOST_KEPT


def test_handles_share_nothing_that_can_change(array: zarrcore.Array) -> None:
    data = pickle.dumps(array)
    one, other = pickle.loads(data), pickle.loads(data)
    one.metadata.attributes["more"] = [1]
    one.metadata.extra_fields["more"] = 1
    assert other.metadata.attributes == array.metadata.attributes
    assert other.metadata.extra_fields == {}


def test_a_handle_is_pickled_as_it_is_now(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=10, chunks=5, dtype="i4")
    pickle.dumps(array)
    array.resize(12)
    array.attrs["a"] = 1
    found = pickle.loads(pickle.dumps(array))
    assert (found.shape, dict(found.attrs)) == ((12,), {"a": 1})


def test_an_array_that_shrank_since_is_not_written_beyond_its_end(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=10, chunks=2, dtype="i4", compressors=None)
    data = pickle.dumps(array)
    array.resize(4)
    found = pickle.loads(data)
    assert found.shape == (4,)
    found[...] = 1
    assert sorted(os.listdir(tmp_path / "c")) == ["0", "1"]


def test_a_handle_that_knows_all_losses_asks_for_nothing_when_it_is_looked_at(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path, shape=10, chunks=2, dtype="i4")
    for _ in range(2):
        found = pickle.loads(pickle.dumps(array))
        (tmp_path / "zarr.json").rename(tmp_path / "away")
        assert found.shape == array.shape
        (tmp_path / "away").rename(tmp_path / "zarr.json")
        zarrcore.create_array({}, shape=10, chunks=2, dtype="i4").resize(3)
        array[...]


def test_an_array_that_is_gone_or_another_one_is_an_error(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path / "a", shape=10, chunks=2, dtype="i4")
    data = pickle.dumps(array)
    zarrcore.open_group(tmp_path)
    del zarrcore.open_group(tmp_path)["a"]
    found = pickle.loads(data)
    with pytest.raises(ArrayNotFoundError, match="no longer"):
        found[...]
    zarrcore.create_array(tmp_path / "a", shape=10, chunks=5, dtype="f8")
    with pytest.raises(ArrayNotFoundError, match="replaced"):
        pickle.loads(data)[...]


def test_bits_of_fill_values_stay(tmp_path: Path) -> None:
    for bits in (0x7FC00001, 0xFFC00000, 0x80000000):
        fill = np.uint32(bits).view("f4")
        array = zarrcore.create_array({}, shape=3, dtype="f4", fill_value=fill)
        found = pickle.loads(pickle.dumps(array))
        assert members(found.metadata) == members(array.metadata)
        assert found[...].view("u4").tolist() == [bits] * 3


@dataclass(frozen=True, kw_only=True)
class Own(GzipCodec):
    """A codec that no other process has registered."""

    name: ClassVar[str] = "example.own"


def test_a_codec_of_a_user_comes_along() -> None:
    array = zarrcore.zeros(3, store={}, dtype="i4")
    document = array.metadata.to_dict()
    codecs = (*array.metadata.codecs, Own(level=1))
    own = zarrcore.Array(replace(array.metadata, codecs=codecs), array.store_path)
    assert type(pickle.loads(pickle.dumps(own)).metadata.codecs[-1]) is Own
    assert pickled.text_of(own.metadata) is None
    assert document == array.metadata.to_dict()


@dataclass(frozen=True, kw_only=True)
class Registered(GzipCodec):
    name: ClassVar[str] = "example.pickled"


def test_the_pickle_of_an_array_with_a_codec_of_a_user_has_that_alone() -> None:
    """It had all that was registered: one class that cannot be pickled was enough for an error."""

    class Local(Registered):
        name: ClassVar[str] = "example.not_pickled"

    register_codec(Registered.name, Registered)
    register_codec(Local.name, Local)
    array = zarrcore.create_array({}, shape=3, dtype="i4", compressors=Registered(level=1))
    data = pickle.dumps(array)
    assert len(data) < 4096 and b"numcodecs" not in data
    assert type(pickle.loads(data).metadata.codecs[-1]) is Registered


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda document: document | {"codecs": [*document["codecs"], "example.unheard"]}, UnknownCodecError),
        (lambda document: document | {"more": 1}, MetadataValidationError),
        (lambda document: document | {"shape": 3.5}, MetadataValidationError),
        (lambda document: document | {"node_type": "group"}, MetadataValidationError),
    ],
)
def test_what_another_version_has_pickled_is_a_typed_error(change: Any, error: type[Exception]) -> None:
    function, (text, *others) = zarrcore.zeros(3, store={}).__reduce__()
    changed = json.dumps(change(json.loads(text))).encode()
    with pytest.raises(error, match="pickled"):
        function(changed, *others)
    with pytest.raises(MetadataValidationError, match="pickled by another version"):
        function(text, *others, "more")
    with pytest.raises(MetadataValidationError, match="pickled by another version"):
        function(text, *others[:3], (*others[3], "more"), *others[4:])


def test_stores_keep_their_settings_and_their_class(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, read_only=True, fsync=True, follow_symlinks=False, locks="warn")
    found = pickle.loads(pickle.dumps(store))
    for name in ("root", "read_only", "fsync", "follow_symlinks", "locks"):
        assert getattr(found, name) == getattr(store, name)
    own = OwnStore(tmp_path)
    own.more = 3
    assert (type(pickle.loads(pickle.dumps(own))), pickle.loads(pickle.dumps(own)).more) == (OwnStore, 3)


class OwnStore(LocalStore):
    more = 0


def test_settings_of_a_handle_stay(tmp_path: Path) -> None:
    config = {"order": "F", "write_empty_chunks": True, "read_missing_chunks": False}
    array = zarrcore.create_array(tmp_path, shape=(4, 4), dtype="i4", config=config)
    found = pickle.loads(pickle.dumps(array))
    assert found.config == array.config


def test_another_process_reads_it(tmp_path: Path) -> None:
    options: Any = {"shape": (100, 100), "chunks": (10, 10), "dtype": "f4"}
    arrays = [zarrcore.create_array(tmp_path / name, **(options | more)) for name, more in LAYOUTS.items()]
    for array in arrays:
        array[:20] = 3
    code = "import pickle, sys; print([a[6, 3].item() for a in pickle.load(sys.stdin.buffer)])"
    run = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(run, input=pickle.dumps(arrays), capture_output=True, check=False, cwd="/")
    assert (done.stdout.decode(), done.stderr) == (f"{[3.0] * len(arrays)}\n", b"")


def test_pickling_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = [zarrcore.zeros(3, store={}, dtype=kind) for kind in ("S3", "U3", "M8[s]", "V3")]
        arrays += [zarrcore.zeros(3, store={}, compressor={"id": "lz4"}, zarr_format=2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in arrays:
            assert members(pickle.loads(pickle.dumps(array)).metadata) == members(array.metadata)


def test_a_group_whose_members_were_listed_can_be_pickled(tmp_path: Path) -> None:
    root = zarrcore.open_group(tmp_path)
    root["a"] = np.arange(3)
    assert len(root) == len(list(root)) == 1
    asynchronous = root._async_group
    for face in (root, asynchronous):
        data = pickle.dumps(face)
        assert len(data) <= 1024
        assert type(pickle.loads(data)) is type(face)
    assert isinstance(zarrcore.open_group(MemoryStore()).store, MemoryStore)
