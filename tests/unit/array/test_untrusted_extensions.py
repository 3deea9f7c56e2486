# SPDX-License-Identifier: MIT
"""Grids, key encodings, storage transformers and stores of users that return what they must not, or raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BytesBytesCodec
from zarrcore.dtype import Int32, data_type_registry
from zarrcore.errors import (
    BaseZarrError,
    ChunkDecodeError,
    ChunkIOError,
    MetadataValidationError,
    StoreError,
    ZarrUserWarning,
)
from zarrcore.grids import ChunkGrid, RectilinearGrid
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.metadata import ArrayV3Metadata
from zarrcore.registry import grid_registry, key_encoding_registry, register_codec
from zarrcore.storage import MemoryStore, WrapperStore
from zarrcore.transformers import StorageTransformer

DIVIDED = "integer division|division by zero"  # by the version of CPython


@dataclass(frozen=True)
class AnyGrid(ChunkGrid):
    """A grid whose lengths a test chooses."""

    name: ClassVar[str] = "test.any-grid"
    lengths: ClassVar[Any] = None
    ndim: ClassVar[int] = 1  # type: ignore[misc]

    def native(self) -> Any:
        return self.lengths() if callable(self.lengths) else self.lengths

    def validate(self, shape: tuple[int, ...]) -> None: ...

    def update_shape(self, shape: tuple[int, ...]) -> AnyGrid:
        return self


@pytest.mark.parametrize(
    "lengths",
    [
        None, ([5, 5],), [5], (-5,), ((-5, 15),), (0,), ((0, 10),), ((5.0, 5.0),), ("55",), ((5,),), ((),),
        (5, 5), (), (True,), (np.array([5, 5]),), (np.int64(5),), (range(1, 6),), ((4, 5),),
    ],
    ids=repr,
)  # fmt: skip
def test_a_grid_without_lengths_that_cover_the_array_is_refused_before_it_is_stored(lengths: Any) -> None:
    store: dict[str, Any] = {}
    refused = pytest.raises(MetadataValidationError, match="chunk_grid: expected")
    with patch.object(AnyGrid, "lengths", lengths), refused:
        zarrcore.create_array(store, shape=10, dtype="i4", chunk_grid=AnyGrid())
    assert store == {}
    with patch.object(AnyGrid, "lengths", ((5, 5),)):
        array = zarrcore.create_array(store, shape=10, dtype="i4", chunk_grid=AnyGrid())
        with pytest.raises(MetadataValidationError, match="expected lengths of chunks that cover 11"):
            array.metadata.update_shape((11,))


def test_a_grid_that_changes_the_chunks_that_are_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stored could not be decoded after a resize."""
    monkeypatch.setattr(grid_registry, "_classes", grid_registry._classes | {AnyGrid.name: AnyGrid})
    monkeypatch.setattr(AnyGrid, "lengths", ((3, 3, 4, 10),))
    array = zarrcore.create_array({}, data=np.arange(10), chunk_grid=AnyGrid())
    for other in (((2, 2, 6, 10),), (5,), ((3, 3, 5, 9),)):
        wrong = RectilinearGrid(other)
        with patch.object(AnyGrid, "update_shape", lambda *_: wrong):  # noqa: B023
            for change in (lambda: array.resize(12), lambda: array.resize(8), lambda: array.append([1, 2])):
                with pytest.raises(MetadataValidationError, match="update_shape of the grid 'test.any-grid'"):
                    change()
    kept = RectilinearGrid(((3, 3, 4, 7),))  # where nothing is stored, it may differ
    with patch.object(AnyGrid, "update_shape", lambda *_: kept):
        array.append([10, 11])
    assert np.array_equal(zarrcore.open_array(array.store)[...], np.arange(12))


class AnyType(Int32):
    """A data type of which a test replaces a method."""

    _zarr_v3_name: ClassVar[str] = "test.any-type"

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return False


@pytest.fixture
def typed() -> Iterator[zarrcore.Array]:
    data_type_registry.register(AnyType._zarr_v3_name, AnyType)
    array = zarrcore.create_array({}, shape=10, dtype=AnyType(), chunks=3)
    array[...] = np.arange(10)
    yield array
    data_type_registry.unregister(AnyType._zarr_v3_name)


@pytest.mark.parametrize(
    ("method", "result", "place"),
    [
        ("to_json", None, "data_type"),
        ("to_json", "int8", "data_type"),
        ("to_json", {"name": "float64"}, "data_type"),
        ("to_json", {1}, "data_type"),
        ("to_json_scalar", 10**30, "fill_value"),
        ("to_json_scalar", None, "fill_value"),
        ("to_json_scalar", object(), "fill_value"),
    ],
)
def test_a_data_type_whose_document_could_not_be_read_is_not_stored(
    typed: zarrcore.Array, method: str, result: Any, place: str
) -> None:
    """Attributes were set, and the array could not be opened any more."""
    document, other = typed.store.get("zarr.json"), {}
    with patch.object(AnyType, method, lambda *_, **__: result):
        for change in (
            lambda: typed.attrs.update(a=1),
            lambda: typed.resize(20),
            lambda: typed.append([1, 2]),
            lambda: zarrcore.create_array(other, shape=3, dtype=AnyType()),
        ):
            with pytest.raises(MetadataValidationError, match=place):
                change()
    assert typed.store.get("zarr.json") == document
    assert other == {}
    assert np.array_equal(zarrcore.open_array(typed.store)[...], np.arange(10))


@pytest.mark.parametrize("found", [None, 5, AnyType])
def test_what_is_no_data_type_from_from_json_is_refused(typed: zarrcore.Array, found: Any) -> None:
    wrong = patch.object(AnyType, "from_json", classmethod(lambda *_, **__: found))
    with wrong, pytest.raises(MetadataValidationError, match=r"data_type: .*from_json of AnyType, got"):
        zarrcore.open_array(typed.store)


@pytest.mark.parametrize("found", ["i4", None, np.dtype((np.int32, 2))], ids=str)
def test_what_is_no_dtype_of_numpy_is_refused(found: Any) -> None:
    wrong = patch.object(AnyType, "to_native_dtype", lambda _: found)
    with (
        wrong,
        pytest.raises(MetadataValidationError, match=r"data_type: .* from to_native_dtype of AnyType"),
    ):
        ArrayV3Metadata(**PLAIN, data_type=AnyType())


PLAIN: dict[str, Any] = {
    "shape": (2,),
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": "default",
    "fill_value": 0,
    "codecs": ("bytes",),
}


def test_errors_of_grids_key_encodings_and_transformers_name_their_place() -> None:
    def divide(*_: Any) -> Any:
        return 1 // 0

    options: dict[str, Any] = {"shape": 10, "dtype": "i4"}
    refused = pytest.raises(MetadataValidationError, match=rf"chunk_grid: ({DIVIDED})")
    with patch.object(AnyGrid, "lengths", divide), refused:
        zarrcore.create_array({}, **options, chunk_grid=AnyGrid())
    refused = pytest.raises(MetadataValidationError, match=rf"chunk \(0,\): ({DIVIDED})")
    with patch.object(AnyKeys, "encode", divide), refused:
        zarrcore.create_array({}, **options, chunk_key_encoding=AnyKeys())
    for wrap, reason in ((divide, DIVIDED), (lambda *_: None, r"expected a store from wrap\(\), got null")):
        match = f"storage transformer 'test.any-transformer': {reason}"
        with patch.object(AnyTransformer, "wrap", wrap), pytest.raises(MetadataValidationError, match=match):
            zarrcore.create_array({}, **options, storage_transformers=[AnyTransformer()])[...] = 1


@dataclass(frozen=True)
class AnyKeys(ChunkKeyEncoding):
    """A key encoding that a test writes."""

    name: ClassVar[str] = "test.any-keys"

    def encode(self, coords: tuple[int, ...]) -> str:
        raise NotImplementedError


def plain(self: Any, coords: tuple[int, ...]) -> str:
    return "/".join(["k", *map(str, coords)])


def position(self: Any, key: str) -> tuple[int, ...] | None:
    return tuple(map(int, key.split("/")[1:])) if key.startswith("k/") else None


@pytest.fixture(params=[position, None], ids=["read backwards", "not read backwards"])
def keyed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> zarrcore.Array:
    """An array whose chunk keys are made by :class:`AnyKeys`."""
    registered = key_encoding_registry._classes | {AnyKeys.name: AnyKeys}
    monkeypatch.setattr(key_encoding_registry, "_classes", registered)
    monkeypatch.setattr(AnyKeys, "encode", plain)
    if request.param is not None:
        monkeypatch.setattr(AnyKeys, "decode", request.param, raising=False)
    array = zarrcore.create_array({}, data=np.arange(10), chunks=3, chunk_key_encoding=AnyKeys())
    assert array.nchunks_initialized == 4
    return array


CHANGES: dict[str, Any] = {
    "write": lambda array: array.set_basic_selection(..., 5),
    "fill": lambda array: array.set_basic_selection(..., 0),
    "append": lambda array: array.append(np.arange(5)),
    "grow": lambda array: array.resize(20),
    "shrink": lambda array: array.resize(4),
    "writer": lambda array: _gather(array),
}


def _gather(array: zarrcore.Array) -> None:
    with array.writer() as writer:
        writer.append(np.arange(5))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("wrong", ["zarr.json", None, "x/.zarray"])
def test_keys_that_become_those_of_documents_remove_none(
    keyed: zarrcore.Array, wrong: Any, change: str
) -> None:
    """An append that failed took its room back by the keys of its chunks, and the document went with them."""
    with patch.object(AnyKeys, "encode", lambda *_: wrong), suppress(BaseZarrError):
        CHANGES[change](keyed)
    assert np.array_equal(zarrcore.open_array(keyed.store)[:4], np.arange(4))


@pytest.mark.parametrize("position", [[0], 0, "0"])
def test_positions_that_are_none_are_refused(keyed: zarrcore.Array, position: Any) -> None:
    """No chunk was seen, and a copy had fill values in its place."""
    keyed[...] = 7
    wrong = patch.object(type(keyed.metadata.chunk_key_encoding), "decode", lambda *_: position, create=True)
    other: Any = {"chunk_key_encoding": {"name": "default"}, "compressors": ["gzip"]}
    with wrong:
        for look in (lambda: zarrcore.from_array({}, data=keyed, **other), lambda: keyed.nchunks_initialized):
            with pytest.raises(MetadataValidationError, match=r"key .*from decode of the chunk key encoding"):
                look()


def test_errors_of_keys_name_the_encoding(keyed: zarrcore.Array) -> None:
    def lookup(*_: Any) -> Any:
        return {}["k"]

    match = r"chunk \(0,\): KeyError: 'k' \(chunk key encoding 'test.any-keys'\)"
    with patch.object(AnyKeys, "encode", lookup), pytest.raises(MetadataValidationError, match=match):
        keyed[...]
    match = r"KeyError: 'k' \(chunk key encoding 'test.any-keys'\)"
    with patch.object(AnyKeys, "decode", lookup):
        with pytest.raises(MetadataValidationError, match=match):
            _ = keyed.nchunks_initialized
        with pytest.raises(StoreError, match=match):
            keyed.resize(4)


@dataclass(frozen=True)
class AnyTransformer(StorageTransformer):
    """A storage transformer that a test writes."""

    name: ClassVar[str] = "test.any-transformer"

    def wrap(self, store: Any, prefix: str) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("dtype", ["i4", "str"])
@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize("value", [5, "text", [1], np.array([None]), np.array([None] * 4)], ids=repr)
def test_a_store_whose_values_are_no_bytes_is_blamed_in_both_engines(
    dtype: str, chunks: int, value: Any
) -> None:
    """Of several chunks of strings the error was a bare one; of objects the addresses were read."""

    class Odd(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            return value if key == "c/0" else super().get(key, byte_range)

    options: Any = {"shape": 4, "chunks": chunks, "dtype": dtype, "compressors": None}
    array = zarrcore.create_array(Odd(MemoryStore()), **options)
    with pytest.raises(ChunkIOError, match=r"key 'c/0': TypeError: .*expected a bytes-like value, got"):
        array[...]
    assert [error.chunk for error in array.read(on_error="collect")[1]] == [(0,)]


@pytest.mark.parametrize("shards", [None, 8])
def test_objects_are_no_bytes_of_which_a_codec_makes_values(shards: int | None) -> None:
    """Their addresses were read as integers, and so were those in a dictionary."""

    @dataclass(frozen=True)
    class Objects(BytesBytesCodec):
        name: ClassVar[str] = "test.objects"
        is_wrong: ClassVar[bool] = False

        def encode(self, data: Any, spec: Any = None) -> Any:
            return data

        def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
            return np.array([None] * (len(data) // 8)) if type(self).is_wrong else data

    register_codec("test.objects", Objects)
    options: Any = {"shape": 8, "chunks": 4, "shards": shards, "dtype": "i8"}
    array = zarrcore.create_array({}, compressors=Objects(), **options)
    array[:] = 5
    Objects.is_wrong = True
    with pytest.raises(ChunkDecodeError, match=r"'test.objects'.* a bytes-like object is required"):
        array[:]
    values: Any = {}
    array = zarrcore.create_array(values, compressors=None, **options)
    values["c/0"] = np.array([None] * 8)
    with pytest.raises(ChunkIOError, match="expected a bytes-like value, got ndarray"):
        array[:4]


def test_groups_above_that_are_no_bytes_are_named() -> None:
    """A change of an array, which was stored, was a bare TypeError."""
    is_wrong = False

    class Odd(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            return "text" if is_wrong and key == "zarr.json" else super().get(key, byte_range)

    array = zarrcore.create_group(Odd(MemoryStore())).create_array("a", shape=4, dtype="i4")
    is_wrong = True
    with pytest.warns(ZarrUserWarning, match=r"zarr.json: expected bytes, got str"):
        array.resize(8)
    assert array.shape == (8,)


@pytest.mark.parametrize("value", ["text", 5, [1]])
def test_a_store_whose_documents_are_no_bytes_is_told_so(value: Any) -> None:
    class Odd(WrapperStore):
        def get(self, key: str, byte_range: Any = None) -> Any:
            return value

    store = Odd(zarrcore.create_array({}, shape=2, dtype="i4").store)
    for opens in (zarrcore.open, zarrcore.open_array, zarrcore.open_group):
        with pytest.raises(
            MetadataValidationError, match=f"zarr.json: expected bytes, got {type(value).__name__}"
        ):
            opens(store, mode="r")


def test_a_store_that_lists_what_is_not_below_is_not_walked_for_ever() -> None:
    """verify came back to the root, again and again."""

    class Elsewhere(WrapperStore):
        def list_dir(self, prefix: str) -> Any:
            return iter(["zarr.json", "x"])

        def list_prefix(self, prefix: str) -> Any:
            return iter(["zarr.json", "x"])

    store = Elsewhere(MemoryStore())
    zarrcore.create_group(store)
    report = zarrcore.verify(store)
    assert any("lists what is not below: 'zarr.json'" in finding.message for finding in report.errors)
