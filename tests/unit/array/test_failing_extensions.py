# SPDX-License-Identifier: MIT
"""Each method of each kind of extension raises, or returns what it must not, while an array is made or used.

The errors are zarrcore's, and name what has failed; what is stored can be read afterwards.
"""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore._validate import describe
from zarrcore.codecs import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarrcore.codecs.base import Codec
from zarrcore.dtype import Int32, data_type_registry
from zarrcore.errors import (
    BaseZarrError,
    ChunkIOError,
    ChunkMemoryError,
    MetadataValidationError,
    NodeIOError,
)
from zarrcore.grids import ChunkGrid
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.migration import remove_metadata
from zarrcore.registry import codec_registry, grid_registry, key_encoding_registry, register_codec
from zarrcore.storage import MemoryStore, WrapperStore
from zarrcore.transformers import (
    StorageTransformer,
    register_storage_transformer,
    storage_transformer_registry,
)

INSTEAD: dict[str, Callable[[], Any]] = {}  # what a method does instead, by class and name
VALUES = np.arange(1, 49).reshape(8, 6).astype("i4")


def own(cls: str, name: str, found: Callable[[], Any]) -> Any:
    """Return what a method of a class returns, unless a test wants something else."""
    return INSTEAD.get(f"{cls}.{name}", found)()


@dataclass(frozen=True)
class Mirror(ArrayArrayCodec):
    """Arrays as they are."""

    name: ClassVar[str] = "test.mirror"

    def resolve(self, spec: Any) -> Any:
        return own("Mirror", "resolve", lambda: self)

    def output_spec(self, spec: Any) -> Any:
        return own("Mirror", "output_spec", lambda: spec)

    def permutation(self, spec: Any) -> Any:
        return own("Mirror", "permutation", lambda: None)

    def moved(self, given: Any, spec: Any) -> Any:
        return own("Mirror", "moved", lambda: None)

    def stage(self, spec: Any) -> Any:
        return own("Mirror", "stage", lambda: None)

    def to_json(self) -> Any:
        return own("Mirror", "to_json", super().to_json)

    def encode(self, chunk: Any, spec: Any) -> Any:
        return own("Mirror", "encode", lambda: chunk)

    def decode(self, chunk: Any, spec: Any) -> Any:
        return own("Mirror", "decode", lambda: chunk)


@dataclass(frozen=True)
class Items(ArrayBytesCodec):
    """The bytes of an array."""

    name: ClassVar[str] = "test.plain-items"

    def resolve(self, spec: Any) -> Any:
        return own("Items", "resolve", lambda: self)

    def encoded_size(self, spec: Any) -> Any:
        return own("Items", "encoded_size", lambda: spec.nbytes)

    def encoded_limit(self, spec: Any) -> Any:
        return own("Items", "encoded_limit", lambda: None)

    def native(self, spec: Any) -> Any:
        return own("Items", "native", lambda: None)

    def decode_into(self, data: Any, spec: Any, out: Any) -> Any:
        return own("Items", "decode_into", lambda: False)

    def to_json(self) -> Any:
        return own("Items", "to_json", super().to_json)

    def encode(self, chunk: Any, spec: Any) -> Any:
        return own("Items", "encode", chunk.tobytes)

    def decode(self, data: Any, spec: Any) -> Any:
        return own("Items", "decode", lambda: np.frombuffer(data, spec.np_dtype).reshape(spec.shape))


@dataclass(frozen=True)
class Octets(BytesBytesCodec):
    """Bytes as they are."""

    name: ClassVar[str] = "test.plain-octets"
    is_fixed_size: ClassVar[bool] = True

    def resolve(self, spec: Any) -> Any:
        return own("Octets", "resolve", lambda: self)

    def encoded_size(self, nbytes: int) -> Any:
        return own("Octets", "encoded_size", lambda: nbytes)

    def stage(self) -> Any:
        return own("Octets", "stage", lambda: None)

    def max_input(self) -> Any:
        return own("Octets", "max_input", lambda: None)

    def check_input(self, nbytes: int) -> Any:
        return own("Octets", "check_input", lambda: None)

    def to_json(self) -> Any:
        return own("Octets", "to_json", super().to_json)

    def encode(self, data: Any, spec: Any = None) -> Any:
        return own("Octets", "encode", lambda: data)

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        return own("Octets", "decode", lambda: data)


class Grey(Int32):
    """Integers by another name."""

    _zarr_v3_name: ClassVar[str] = "test.failing-type"

    @classmethod
    def _check_native_dtype(cls, dtype: Any) -> Any:
        return own("Grey", "_check_native_dtype", lambda: False)

    @classmethod
    def _from_json_v3(cls, data: Any) -> Any:
        return own("Grey", "_from_json_v3", lambda: Int32._from_json_v3.__func__(cls, data))

    def to_native_dtype(self) -> Any:
        return own("Grey", "to_native_dtype", super().to_native_dtype)

    def to_json(self, zarr_format: Any) -> Any:
        return own("Grey", "to_json", lambda: self._zarr_v3_name)

    def cast_scalar(self, data: Any) -> Any:
        return own("Grey", "cast_scalar", lambda: Int32.cast_scalar(self, data))

    def default_scalar(self) -> Any:
        return own("Grey", "default_scalar", lambda: np.int32(0))

    def from_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return own("Grey", "from_json_scalar", lambda: np.int32(data))

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return own("Grey", "to_json_scalar", lambda: int(data))


@dataclass(frozen=True)
class Halves(ChunkGrid):
    """Chunks of other lengths."""

    name: ClassVar[str] = "test.halves"

    @property
    def ndim(self) -> Any:
        return own("Halves", "ndim", lambda: 2)

    def native(self) -> Any:
        return own("Halves", "native", lambda: ((2, 3, 3, 10), 3))

    def validate(self, shape: Any) -> Any:
        return own("Halves", "validate", lambda: None)

    def update_shape(self, shape: Any) -> Any:
        return own("Halves", "update_shape", lambda: self)

    def shape_of(self, coords: Any) -> Any:
        return own("Halves", "shape_of", lambda: ChunkGrid.shape_of(self, coords))

    def grid_shape(self, shape: Any) -> Any:
        return own("Halves", "grid_shape", lambda: ChunkGrid.grid_shape(self, shape))

    def chunk_shapes_present(self) -> Any:
        return own("Halves", "chunk_shapes_present", lambda: ChunkGrid.chunk_shapes_present(self))

    def to_json(self) -> Any:
        return own("Halves", "to_json", super().to_json)


@dataclass(frozen=True)
class Dashes(ChunkKeyEncoding):
    """Keys with dashes."""

    name: ClassVar[str] = "test.dashes"

    def native(self) -> Any:
        return own("Dashes", "native", lambda: None)

    def encode(self, coords: Any) -> Any:
        return own("Dashes", "encode", lambda: "k" + "-".join(map(str, coords)))

    def decode(self, key: str) -> Any:
        return own("Dashes", "decode", lambda: tuple(map(int, key[1:].split("-"))))

    def to_json(self) -> Any:
        return own("Dashes", "to_json", super().to_json)


@dataclass(frozen=True)
class Through(StorageTransformer):
    """The store as it is."""

    name: ClassVar[str] = "test.through"

    def wrap(self, store: Any, prefix: str) -> Any:
        return own("Through", "wrap", lambda: WrapperStore(store))

    def to_json(self) -> Any:
        return own("Through", "to_json", super().to_json)


OPTIONS: dict[str, dict[str, Any]] = {
    "Mirror": {"filters": [Mirror()], "chunks": (2, 3)},
    "Items": {"serializer": Items(), "chunks": (2, 3)},
    "Octets": {"compressors": [Octets()], "chunks": (2, 3)},
    "Grey": {"dtype": Grey(), "chunks": (2, 3)},
    "Halves": {"chunk_grid": Halves()},
    "Dashes": {"chunk_key_encoding": Dashes(), "chunks": (2, 3)},
    "Through": {"storage_transformers": [Through()], "chunks": (2, 3)},
}
CLASSES: dict[str, Any] = {
    cls.__name__: cls for cls in (Mirror, Items, Octets, Grey, Halves, Dashes, Through)
}


class _Failure(Exception):
    """An exception of somebody else."""


def raising(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


class Mute(Exception):
    """An exception that cannot say what it means."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Untouchable:
    """An object that fails whatever is asked of it."""

    def fail(self, *_: Any) -> Any:
        raise RuntimeError("do not touch")

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __repr__ = fail  # type: ignore[assignment]


class Agreeable(str):
    """Text that says it equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Longer(tuple[Any, ...]):
    """A tuple of another length than it has."""

    def __len__(self) -> int:
        return 7

    def __iter__(self) -> Any:
        raise RuntimeError("do not touch")


def in_circles() -> dict[str, Any]:
    document: dict[str, Any] = {"name": "test.circle"}
    document["configuration"] = document
    return document


WRONG: dict[str, Callable[[], Any]] = {
    "own error": raising(_Failure("boom")),
    "error without words": raising(Mute()),
    "AttributeError": raising(AttributeError("a.b")),
    "OSError": raising(OSError("io")),
    "NotImplementedError": raising(NotImplementedError("later")),
    "None": lambda: None,
    "number": lambda: 5,
    "text": lambda: "text",
    "nothing": lambda: (),
    "class": lambda: dict,
    "number of NumPy": lambda: np.int64(3),
    "text that lies": lambda: Agreeable("test.lie"),
    "tuple that lies": lambda: Longer((1, 0)),
    "no tuple of int": lambda: (True, False),
    "huge tuple": lambda: (2**70, 2**70),
    "object that fails": Untouchable,
    "circle": in_circles,
    "empty items": lambda: np.dtype("V0"),
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for cls in (Mirror, Items, Octets):
        register_codec(cls.name, cls)
    grid_registry.register(Halves)
    key_encoding_registry.register(Dashes)
    register_storage_transformer(Through.name, Through)
    data_type_registry.register(Grey._zarr_v3_name, Grey)
    yield
    INSTEAD.clear()
    for cls in (Mirror, Items, Octets):
        del codec_registry._classes[cls.name]
    del grid_registry._classes[Halves.name], key_encoding_registry._classes[Dashes.name]
    del storage_transformer_registry._classes[Through.name]
    data_type_registry.unregister(Grey._zarr_v3_name)


def created(kind: str) -> zarrcore.Array:
    array = zarrcore.create_array({}, **{"shape": (8, 6), "dtype": "i4"} | OPTIONS[kind])
    array[...] = VALUES
    return array


CALLS: dict[str, Callable[[zarrcore.Array], object]] = {
    "read": lambda array: array[...],
    "read a part": lambda array: array[0, 0],
    "write": lambda array: array.set_basic_selection(..., VALUES),
    "write a part": lambda array: array.set_basic_selection((0, 0), 1),
    "fill": lambda array: array.set_basic_selection((0, 0), 1) or array.explain(...),
    "grow": lambda array: array.resize((9, 6)),
    "append": lambda array: array.append(VALUES),
    "attributes": lambda array: array.attrs.update(a=1),
    "info": lambda array: str(array.info_complete()),
    "repr": lambda array: repr(array) + array._repr_html_(),
    "count": lambda array: array.nchunks_initialized,
    "chunks": lambda array: array.chunk_info(),
    "metadata": lambda array: array.metadata.to_dict(),
    "verify": lambda array: str(zarrcore.verify(array.store)),
    "copy": lambda array: zarrcore.from_array({}, data=array),
    "like": lambda array: zarrcore.empty_like(array),
    "shrink": lambda array: array.resize((8, 6)),
}
_SOURCE = Path(__file__).read_text(encoding="utf-8")
METHODS = [
    (kind, name)
    for kind, cls in CLASSES.items()
    for name in vars(cls)
    if f'own("{kind}", "{name}"' in _SOURCE
]


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_whatever_a_method_does_the_error_is_named_and_nothing_is_lost(kind: str, method: str) -> None:
    """AttributeErrors and the like came out bare, and documents were stored that could not be read."""
    for wrong in WRONG.values():
        for is_used in (True, False):
            array = created(kind)
            if not is_used:
                array = zarrcore.open_array(array.store)
            for call in CALLS.values():
                INSTEAD[f"{kind}.{method}"] = wrong
                try:
                    call(array)
                except BaseZarrError as error:
                    assert str(error)
                except IndexError:
                    pass  # what was to be selected is not there
                finally:
                    INSTEAD.clear()
            found = zarrcore.open_array(array.store)[...]
            assert np.array_equal(found[:8], VALUES)


class Interrupted(Exception):
    """An exception of a method, with Ctrl-C in the moment in which its text is made first."""

    asked = 0

    def __str__(self) -> str:
        self.asked += 1
        if self.asked == 1:
            raise KeyboardInterrupt
        return "boom"

    __repr__ = __str__


class InterruptedOfOurs(Interrupted, BaseZarrError):
    """One that is handed on as it is."""


@pytest.mark.parametrize("make", [Interrupted, InterruptedOfOurs])
@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_an_interrupt_while_the_text_of_an_error_is_made_ends_the_call(
    kind: str, method: str, make: Callable[[], Interrupted]
) -> None:
    array = created(kind)
    for name, call in CALLS.items():
        error = make()
        INSTEAD[f"{kind}.{method}"] = raising(error)
        try:
            call(array)
        except KeyboardInterrupt:
            assert error.asked
        except BaseZarrError:
            assert not error.asked, (name, "the interrupt is lost")
        else:
            assert not error.asked, (name, "the interrupt is lost")
        finally:
            INSTEAD.clear()
    assert np.array_equal(zarrcore.open_array(array.store)[...][:8], VALUES)


@pytest.mark.parametrize("last", ["interrupt", "failure"])
@pytest.mark.parametrize("where", ["encode", "decode", "set"])
def test_an_interrupt_was_lost_where_another_thread_failed(where: str, last: str) -> None:
    """Of the errors of several threads the first was raised, also if a later one was KeyboardInterrupt."""
    class Store(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            own("Store", "set", lambda: MemoryStore.set(self, key, value))

    array = zarrcore.create_array(Store(), shape=64, chunks=1, dtype="i4", serializer=Items())
    array[:] = 1
    both = Barrier(2)
    kinds = {"interrupt": KeyboardInterrupt, "failure": _Failure}
    first = ({*kinds} - {last}).pop()

    def fail() -> Any:
        is_first = both.wait(60) == 0
        if not is_first:
            sleep(0.01)  # the engine has the other one, mostly
        raise kinds[first if is_first else last]

    INSTEAD[f"{'Store' if where == 'set' else 'Items'}.{where}"] = fail
    with pytest.raises(KeyboardInterrupt):
        array.read(..., threads=2) if where == "decode" else array.write(..., 2, threads=2)


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_nothing_is_created_with_what_fails(kind: str, method: str) -> None:
    for wrong in WRONG.values():
        INSTEAD[f"{kind}.{method}"] = wrong
        store: dict[str, Any] = {}
        with suppress(BaseZarrError):
            zarrcore.create_array(store, **{"shape": (8, 6), "dtype": "i4"} | OPTIONS[kind])
        INSTEAD.clear()
        if store:
            zarrcore.open_array(store, mode="r")


NAMED = [
    ("Grey", "to_native_dtype", "to_native_dtype of the data type 'Grey'"),
    ("Grey", "to_json", "to_json of the data type 'Grey'"),
    ("Halves", "native", "native of the chunk grid 'test.halves'"),
    ("Halves", "shape_of", "shape_of of the chunk grid 'test.halves'"),
    ("Mirror", "output_spec", "output_spec of the codec 'test.mirror'"),
    ("Items", "encoded_size", "encoded_size of the codec 'test.plain-items'"),
    ("Octets", "stage", "stage of the codec 'test.plain-octets'"),
    ("Dashes", "native", "native of the chunk key encoding 'test.dashes'"),
    ("Through", "wrap", "wrap of the storage transformer 'test.through'"),
]


@pytest.mark.parametrize(("kind", "method", "text"), NAMED)
@pytest.mark.parametrize("wrong", ["own error", "text"])
def test_the_error_names_the_method_and_the_class(kind: str, method: str, text: str, wrong: str) -> None:
    array = created(kind)
    expected = (
        rf"_Failure: boom \({re.escape(text)}\)"
        if wrong == "own error"
        else f'from {re.escape(text)}, got "text"'
    )
    if method == "wrap" and wrong == "text":
        expected = r"storage transformer 'test.through': expected a store from wrap\(\), got \"text\""
    if method == "to_json" and wrong == "text":
        expected = "unknown data type 'text'"
    found = []
    for call in (lambda array: created(kind), *CALLS.values()):
        INSTEAD[f"{kind}.{method}"] = WRONG[wrong]
        try:
            call(array)
        except BaseZarrError as caught:
            found.append(str(caught))
        finally:
            INSTEAD.clear()
    assert any(re.search(expected, message) for message in found), found


FILES = [
    ("Halves", "chunk_grid"),
    ("Dashes", "chunk_key_encoding"),
    ("Through", "storage_transformers"),
    ("Octets", "codecs"),
]


@pytest.mark.parametrize(("kind", "place"), FILES)
@pytest.mark.parametrize("found", [None, 5, dict])
def test_from_json_returns_an_instance(
    kind: str, place: str, found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = created(kind).store
    monkeypatch.setattr(CLASSES[kind], "from_json", classmethod(lambda *_: found), raising=False)
    with pytest.raises(
        MetadataValidationError, match=rf"{place}.*: expected (an instance from from_json|a codec)"
    ):
        zarrcore.open_array(store)


def test_a_codec_in_a_shard_that_writes_an_unknown_name_is_not_stored() -> None:
    shards = zarrcore.codecs.ShardingCodec(chunk_shape=(2, 3), codecs=[Items()])
    INSTEAD["Items.to_json"] = lambda: "test.unknown"
    store: dict[str, Any] = {}
    match = r"codecs\[0\].configuration.codecs\[0\]: expected JSON of 'test.plain-items' from to_json"
    with pytest.raises(MetadataValidationError, match=match):
        zarrcore.create_array(
            store, shape=(8, 6), dtype="i4", chunks=(4, 6), serializer=shards, compressors=None
        )
    assert store == {}


@pytest.mark.parametrize("found", [None, 5, WrapperStore, dict])
def test_wrap_returns_a_store_and_no_class(found: Any) -> None:
    array = created("Through")
    INSTEAD["Through.wrap"] = lambda: found
    with pytest.raises(MetadataValidationError, match="'test.through': expected a store from wrap"):
        zarrcore.open_array(array.store)[...]


@pytest.mark.parametrize("other", ["f4", ">i4", "i8", "S4"])
@pytest.mark.parametrize("after", range(12))
def test_a_data_type_that_is_another_one_later_stores_no_other_values(after: int, other: str) -> None:
    """Integers were stored as floating-point numbers, or in the other byte order, without an error."""
    array, calls = created("Grey"), 0

    def changing() -> Any:
        nonlocal calls
        calls += 1
        return np.dtype("i4" if calls <= after else other)

    INSTEAD["Grey.to_native_dtype"] = changing
    failures = []
    for use in (
        lambda: array.__setitem__(slice(0, 8), VALUES),
        lambda: array.append(VALUES[:1]),
        lambda: array.__setitem__((0, 0), VALUES[0, 0]),
        lambda: array[...],
        lambda: array.with_cache(1 << 20)[...],
        lambda: zarrcore.from_array({}, data=array),
    ):
        try:
            use()
        except BaseZarrError as error:
            failures.append(str(error))
    INSTEAD.clear()
    assert all("a dtype of NumPy, always the same from to_native_dtype of" in text for text in failures)
    assert np.array_equal(zarrcore.open_array(array.store)[...][:8], VALUES)


def test_equal_data_types_may_differ_in_what_they_are_not_compared_by() -> None:
    class Wide(Int32):
        _zarr_v3_name: ClassVar[str] = "test.wide"

        def __init__(self, width: int) -> None:
            super().__init__()
            vars(self)["width"] = width

        def to_native_dtype(self) -> Any:
            return np.dtype(f"i{vars(self)['width']}")

    assert [Wide(n).to_native_dtype().itemsize for n in (1, 4, 8, 1)] == [1, 4, 8, 1]


def test_classes_of_zarrcore_are_not_guarded() -> None:
    """Nor do they become slower by it."""
    assert not hasattr(Int32.to_native_dtype, "__wrapped__")
    assert not hasattr(zarrcore.codecs.ZstdCodec.stage, "__wrapped__")
    assert hasattr(Grey.to_native_dtype, "__wrapped__")
    assert isinstance(Octets(), Codec)


class Store(WrapperStore):
    """A store of which a test replaces methods."""


ANSWERS = [None, 5, (), [None], [b"1"] * 7]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
@pytest.mark.parametrize("dtype", ["i4", "str"])
def test_a_store_that_answers_other_than_it_is_asked(
    dtype: str, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks, documents and members were errors of zip() and of other functions."""
    store = Store(MemoryStore())
    group = zarrcore.create_group(store, zarr_format=2)
    array = group.create_array("a", shape=4, chunks=2, dtype=dtype)
    array[...] = np.arange(1, 5).astype(array.dtype)
    monkeypatch.setattr(Store, "get_many", lambda *_: answer, raising=False)
    monkeypatch.setattr(Store, "get_partial_values", lambda *_: answer, raising=False)
    said = r"get_many returned .* for \d+ keys"
    with pytest.raises(ChunkIOError, match=said):
        array[...]
    for call in (lambda: group.nmembers(), lambda: zarrcore.open_group(store, mode="r")):
        with pytest.raises(NodeIOError, match=said):
            call()


WRITES: dict[str, Callable[[zarrcore.Array], object]] = {
    "set": lambda array: array.attrs.update(a=1),
    "set_if_not_exists": lambda array: zarrcore.create_array(array.store, name="b", shape=3, dtype="i4"),
    "erase_prefix": lambda array: zarrcore.create_array(
        array.store, name="a", shape=3, dtype="i4", overwrite=True
    ),
    "getsize_prefix": lambda array: array.info_complete(),
    "list_prefix": lambda array: array.chunk_info(),
    "list_dir": lambda array: zarrcore.open_group(array.store).members(),
}


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize(
    "error", [_Failure("boom"), KeyError("boom"), OSError("boom"), Mute()], ids=lambda e: type(e).__name__
)
def test_errors_of_a_store_name_it_and_the_key(
    method: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of documents that were written came out bare."""
    array = zarrcore.create_array(Store(MemoryStore()), name="a", shape=4, chunks=2, dtype="i4")
    array[...] = 1

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(Store, method, fail, raising=False)
    text = "no text: RuntimeError" if isinstance(error, Mute) else ".*boom"
    match = rf"node '.*' in wrapping-memory://\d+, (key|prefix) '.*': {type(error).__name__}: .*{text}"
    with pytest.raises(NodeIOError, match=match) as caught:
        WRITES[method](array)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("names", [[None], [5], None], ids=repr)
def test_listings_that_are_no_text(names: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    array = zarrcore.create_array(Store(MemoryStore()), name="a", shape=4, chunks=2, dtype="i4")
    for method, call in (
        ("list_prefix", lambda: array.nchunks_initialized),
        ("list_dir", lambda: zarrcore.open_group(array.store).members()),
        ("getsize_prefix", lambda: array.nbytes_stored()),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(Store, method, lambda *_: names, raising=False)
            with pytest.raises(NodeIOError, match=r"node '.*' in .*, prefix '.*': TypeError: "):
                call()


USES: dict[str, Callable[[zarrcore.Group], object]] = {
    "get": lambda group: group["a"][...],
    "get_partial_values": lambda group: group["a"][...],
    "get_many": lambda group: group["a"][...],
    "set": lambda group: group["a"].set_basic_selection(..., 5),
    "delete": lambda group: group["a"].set_basic_selection(..., 0),
    "move: get": lambda group: group.move("a", "b"),
    "move: set": lambda group: group.move("a", "b"),
    "move: erase_values": lambda group: group.move("a", "b"),
    "move: erase_prefix": lambda group: group.move("a", "b"),
    "move: list_prefix": lambda group: group.move("a", "b"),
    "erase_prefix": lambda group: group.__delitem__("a"),
    "copy: get": lambda group: zarrcore.copy_store(group.store, {}),
    "from_array: get": lambda group: zarrcore.from_array({}, data=group["a"]),
    "explain: get_partial_values": lambda group: group["a"].explain(...),
    "explain: get": lambda group: group["a"].explain(...),
    "explain: _size": lambda group: group["a"].explain(...),
    "encoded: get": lambda group: group["a"].encoded(0).get(),
    "encoded: set": lambda group: group["a"].encoded(0).put(bytes(8), check=False),
    "encoded: delete": lambda group: group["a"].encoded(0).erase(),
    "resize: delete": lambda group: group["a"].resize(1),
    "append: set": lambda group: group["a"].append(np.arange(3)),
    "count: list_prefix": lambda group: group["a"].nchunks_initialized,
    "compact: get": lambda group: zarrcore.compact(group["s"]),
    "compact: set": lambda group: zarrcore.compact(group["s"]),
    "shards: explain: get": lambda group: group["s"].explain(0),
    "shards: encoded: get": lambda group: group["s"].encoded(0, inner=0).get(),
}


@pytest.mark.parametrize("call", USES)
@pytest.mark.parametrize("error", [_Failure("boom"), Mute()], ids=lambda e: type(e).__name__)
def test_no_error_of_a_store_comes_bare(call: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of delete in a move did, and of get in explain; those without words did everywhere."""
    group = zarrcore.create_group(Store(MemoryStore()))
    group.create_array("a", data=np.arange(4), chunks=2, compressors=None)
    group.create_array("s", data=np.arange(1, 5), chunks=2, shards=4, compressors=None)
    group.store.set("s/c/0", bytes(9) + bytes(group.store.get("s/c/0")))

    def fail(*_: Any) -> Any:
        raise error

    opened = zarrcore.open_group(group.store)
    members = {name: opened[name] for name in ("a", "s")}

    class Opened:
        store = opened.store
        move = opened.move
        __delitem__ = opened.__delitem__

        def __getitem__(self, name: str) -> Any:
            return members[name]

    monkeypatch.setattr(Store, call.rpartition(": ")[2], fail, raising=False)
    try:
        USES[call](Opened())  # type: ignore[arg-type]
    except BaseZarrError as caught:
        assert type(error).__name__ in str(caught)


OLD_USES: dict[str, Callable[[Any], Any]] = {
    "migrate: exists": lambda store: zarrcore.migrate(store),
    "migrate: delete": lambda store: zarrcore.migrate(store, remove_old=True),
    "remove: exists": lambda store: remove_metadata(store, 2),
    "remove: delete": lambda store: remove_metadata(store, 2, force=True),
    "create: exists": lambda store: zarrcore.create_array(store, name="b/c", shape=1, dtype="i4"),
    "add: exists": lambda store: zarrcore.open_group(store, mode="r+").create_group("b"),
    "replace: exists": lambda store: zarrcore.create_group(store, overwrite=True),
    "copy: exists": lambda store: zarrcore.copy_store({"a": b""}, store),
}


@pytest.mark.parametrize("call", OLD_USES)
def test_no_error_of_a_store_of_format_2_comes_bare(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of exists and of delete did, and an answer of exists that is no truth value."""
    store = Store(MemoryStore())
    group = zarrcore.create_group(store, zarr_format=2)
    group.create_array("a", data=np.arange(4))
    store.set("other/file", b"")
    method = call.rpartition(": ")[2]

    def fail(*_: Any) -> Any:
        raise _Failure("boom")

    answers = {"fails": fail, "lies": lambda *_: np.arange(2)}
    for name, answer in answers.items():
        with monkeypatch.context() as patch:
            patch.setattr(Store, method, answer, raising=False)
            try:
                OLD_USES[call](store)
            except BaseZarrError as caught:
                assert name == "lies" or "_Failure" in str(caught)


@pytest.mark.parametrize(
    ("kind", "method"), [pair for pair in METHODS if pair[0] in ("Grey", "Halves", "Dashes")]
)
def test_errors_name_the_array(kind: str, method: str) -> None:
    """Of several arrays nobody knew which one: grids, key encodings and data types know no paths."""
    for wrong in ("own error", "number"):
        for name, call in CALLS.items():
            if name in ("metadata", "copy", "like", "verify"):
                continue  # these make other documents, or reports with paths
            root = zarrcore.create_group({})
            options = {"shape": (8, 6), "dtype": "i4"} | OPTIONS[kind]
            array = root.create_array("some/where", **options)
            array[...] = VALUES
            array = zarrcore.open_array(root.store, path="some/where")
            INSTEAD[f"{kind}.{method}"] = WRONG[wrong]
            try:
                call(array)
            except BaseZarrError as error:
                assert "some/where" in str(error), (name, wrong)
            except IndexError:
                pass
            finally:
                INSTEAD.clear()


@pytest.mark.parametrize("shards", [None, (4, 6)])
@pytest.mark.parametrize("kind", ["Mirror", "Items", "Octets"])
def test_too_little_memory_in_a_codec_names_array_chunk_and_codec(kind: str, shards: Any) -> None:
    """It was a bare MemoryError."""
    root = zarrcore.create_group({})
    array = root.create_array("some/where", shape=(8, 6), dtype="i4", shards=shards, **OPTIONS[kind])
    array[...] = VALUES
    calls: dict[str, Any] = {"decode": array.__getitem__, "encode": lambda key: array.__setitem__(key, 7)}
    for method, call in calls.items():
        INSTEAD[f"{kind}.{method}"] = raising(MemoryError("of the test"))
        for key in (np.s_[2:4, :3], np.s_[2:4, 1:3], ...):
            with pytest.raises(ChunkMemoryError, match=r"out of memory: .*of the test") as caught:
                call(key)
            assert caught.value.array == "some/where"
            assert caught.value.codec == CLASSES[kind].name
            assert caught.value.key
            assert key is ... or caught.value.chunk == ((1, 0) if shards is None else (0, 0))
        INSTEAD.clear()
        assert np.array_equal(array[...], VALUES)


def test_of_values_of_any_size_little_is_looked_at() -> None:
    """Escapes were made for all of a result of 50 MB, of which an error shows 120 characters."""
    for value in (bytes(20_000_000), "\n" * 20_000_000, bytearray(20_000_000)):
        tracemalloc.start()
        try:
            assert len(describe(value)) <= 120
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    "value", [object(), {1}, np.int64(3), b"x", 2**20_000], ids=lambda value: type(value).__name__
)
def test_a_configuration_that_is_no_json_names_its_codec(value: Any) -> None:
    @dataclass(frozen=True)
    class Odd(BytesBytesCodec):
        name: ClassVar[str] = "test.odd"
        member: Any = None

        def encode(self, data: Any, spec: Any = None) -> Any:
            return data

        def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
            return data

    register_codec("test.odd", Odd)
    store: dict[str, Any] = {}
    try:
        with pytest.raises(
            MetadataValidationError, match=r"codecs\[1\]: .*configuration of the codec 'test.odd'"
        ):
            zarrcore.create_array(store, shape=4, dtype="i4", compressors=Odd(value))
    finally:
        del codec_registry._classes["test.odd"]
    assert store == {}
