# SPDX-License-Identifier: MIT
"""Stores of users that answer with no bytes, or with memory in which their next answer is going to be."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, MetadataValidationError, NodeIOError, StoreError
from zarrcore.experimental.cache_store import CacheStore as KeepingStore
from zarrcore.storage import (
    CacheStore,
    LocalStore,
    LoggingStore,
    MemoryStore,
    ObjectStore,
    Store,
    WrapperStore,
    resolve_range,
)

VALUES = np.arange(1, 25, dtype="i4")
LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {"chunks": 4, "compressors": None},
    "sharded": {"chunks": 2, "shards": 8},
    "format-2": {"chunks": 4, "zarr_format": 2},
    "text": {"chunks": 4},
}


class Careless(Store):
    """Has one buffer for all answers of a thread, or answers with whatever `answer` returns for a key."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__()
        self.values = values
        self.own = threading.local()
        self.answer: Callable[[str], Any] | None = None

    def get(self, key: str, byte_range: Any = None) -> Any:
        value = self.values.get(key)
        if value is None:
            return None
        if self.answer is not None and (answer := self.answer(key)) is not None:
            return answer
        value = value[slice(*resolve_range(byte_range, len(value)))]
        buffer = vars(self.own).setdefault("buffer", bytearray(1 << 14))
        buffer[:] = value + b"\xee" * (len(buffer) - len(value))
        return memoryview(buffer)[: len(value)]

    def set(self, key: str, value: Any) -> None:
        self.values[key] = bytes(value)

    def delete(self, key: str) -> None:
        self.values.pop(key, None)

    def list(self) -> Iterator[str]:
        return iter(sorted(self.values))


class Yielding(Careless):
    """The same, with batches that come one by one."""

    def get_many(self, keys: Any) -> Any:
        return (self.get(key) for key in keys)

    def get_partial_values(self, key_ranges: Any) -> Any:
        return (self.get(*request) for request in key_ranges)


def filled(layout: str = "plain", kind: type[Careless] = Careless) -> tuple[Careless, np.ndarray]:
    """A group with an array, and its values."""
    store, options = MemoryStore(), dict(LAYOUTS[layout])
    root = zarrcore.open_group(store, mode="a", zarr_format=options.pop("zarr_format", 3))
    values = VALUES.astype("T") if layout == "text" else VALUES
    array = root.create_array(
        "a", shape=24, dtype=str if layout == "text" else "i4", fill_value=None, **options
    )
    array[...] = values
    root.create_array("b", data=np.arange(3))
    return kind({key: bytes(store.get(key) or b"") for key in store.list()}), values


def chunks(answer: Any) -> Callable[[str], Any]:
    return lambda key: answer if "zarr.json" not in key else None


@pytest.mark.parametrize(
    "wrap", [lambda store: store, WrapperStore, LoggingStore], ids=["bare", "wrapped", "logged"]
)
@pytest.mark.parametrize("kind", [Careless, Yielding])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_next_answer_may_be_in_the_same_memory(layout: str, kind: type[Careless], wrap: Any) -> None:
    """All chunks of a read were the last one."""
    store, values = filled(layout, kind)
    root = zarrcore.open_group(wrap(store), mode="r")
    array = root["a"]
    for _ in range(2):
        assert np.array_equal(array[...], values)
        assert np.array_equal(array[3:17], values[3:17])
        assert np.array_equal(array.vindex[[20, 1, 9]], values[[20, 1, 9]])
    assert sorted(name for name, _ in root.members()) == ["a", "b"]
    assert zarrcore.verify(wrap(store)).ok
    copied = MemoryStore()
    zarrcore.copy_store(wrap(store), copied)
    assert {key: copied.get(key) for key in copied.list()} == store.values


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_move_through_memory_that_is_used_again(layout: str) -> None:
    store, values = filled(layout)
    before = dict(store.values)
    zarrcore.open_group(store, mode="r+").move("a", "c")
    assert store.values == {f"c{key[1:]}" if key[:2] == "a/" else key: value for key, value in before.items()}
    assert np.array_equal(zarrcore.open_array(store, path="c", mode="r")[...], values)


class Numbered:
    """No bytes, but `bytes` makes some of it."""

    def __bytes__(self) -> bytes:
        return b"\1" * 16


NO_BYTES = [16, [1] * 16, np.array([1, 2], object), Numbered(), "x" * 16, 1 << 45]


@pytest.mark.parametrize("answer", NO_BYTES, ids=lambda answer: type(answer).__name__)
def test_what_is_no_bytes_is_not_kept_in_a_cache(answer: Any, tmp_path: Path) -> None:
    """16 was read as 16 bytes of zeros, and Python objects as their addresses."""
    store, values = filled()
    cached = CacheStore(store, tmp_path, max_bytes=1 << 20, immutable=True, name="careless")
    array = zarrcore.open_array(cached, path="a", mode="r")
    store.answer = chunks(answer)
    for selection in (..., slice(1, 3), 5):
        with pytest.raises(BaseZarrError, match=r"array 'a'.*key 'a/c/.*expected a bytes-like value"):
            array[selection]
    store.answer = None
    assert np.array_equal(array[...], values)


@pytest.mark.parametrize("n", [0, 5, None])
def test_a_cache_is_answered_with_another_number_of_values(n: int | None, tmp_path: Path) -> None:
    def answers() -> Iterator[bytes]:
        while True:
            yield bytes(16)

    class Other(Careless):
        def get_partial_values(self, key_ranges: Any) -> Any:
            return answers() if n is None else [bytes(16)] * n

    store = filled(kind=Other)[0]
    cached = CacheStore(store, tmp_path, max_bytes=1 << 20, immutable=True, name="careless")
    with pytest.raises(StoreError, match="get_partial_values returned .* values for 2 keys"):
        cached.get_many(["a/c/0", "a/c/1"])


@pytest.mark.parametrize("answer", NO_BYTES, ids=lambda answer: type(answer).__name__)
def test_what_is_no_bytes_is_copied_nowhere(answer: Any) -> None:
    """The addresses of Python objects were stored as a chunk, or a bare error was raised."""
    store, _ = filled()
    dest = filled()[0]
    array = zarrcore.open_array(store, path="a", mode="r")
    before = dict(dest.values)
    store.answer = chunks(answer)
    with pytest.raises(BaseZarrError, match=r"a/c/\d.*expected a bytes-like value"):
        zarrcore.copy(array, zarrcore.open_group(dest, mode="r+"), "c")
    with pytest.raises(BaseZarrError, match=r"a/c/\d.*expected a bytes-like value"):
        zarrcore.open_group(store, mode="r+").move("a", "c")
    with pytest.raises(BaseZarrError, match=r"a/c/\d.*expected a bytes-like value"):
        zarrcore.copy_store(store, dest, if_exists="replace")
    with pytest.raises(BaseZarrError, match=r"a/c/\d.*expected a bytes-like value"):
        array.encoded((0,)).get()
    with pytest.raises(TypeError, match=r"a/c/0.*expected a bytes-like value"):
        store.set_partial_values([("a/c/0", 0, b"x")])
    assert {key: value for key, value in dest.values.items() if key[0] != "c"} == before


@pytest.mark.parametrize("answer", NO_BYTES, ids=lambda answer: type(answer).__name__)
def test_documents_that_are_no_bytes(answer: Any) -> None:
    store, _ = filled()
    array = zarrcore.open_array(store, path="a", mode="r+")
    store.answer = lambda key: answer
    for call in (
        lambda: zarrcore.open_group(store, mode="r"),
        lambda: zarrcore.open_array(store, path="a", mode="r"),
        lambda: array.attrs.update(x=1),
        lambda: array.resize(7),
    ):
        with pytest.raises((MetadataValidationError, NodeIOError), match=r"zarr.json.*expected .*bytes"):
            call()
    assert "zarr.json" in str(zarrcore.verify(store))


class Endless(Careless):
    """Batches of chunks never end."""

    def get_many(self, keys: Any) -> Any:
        return (
            [super(Endless, self).get(key) for key in keys]
            if "json" in keys[0]
            else iter(lambda: bytes(16), 0)
        )

    def get_partial_values(self, key_ranges: Any) -> Any:
        return iter(lambda: bytes(16), 0)


@pytest.mark.parametrize("layout", ["plain", "text"])
def test_a_batch_without_end_ends(layout: str) -> None:
    """It was gathered into a list until there was no memory left."""
    array = zarrcore.open_array(filled(layout, Endless)[0], path="a", mode="r")
    with pytest.raises(BaseZarrError, match="array 'a'.* get_many returned more.* values for 6 keys"):
        array[...]


class Repeating(Careless):
    """Lists its keys twice, or again and again."""

    times = 2

    def list(self) -> Iterator[str]:
        return (key for _ in range(self.times) for key in [*self.values])


def test_keys_that_a_listing_repeats_were_counted_twice() -> None:
    store, copy = filled("plain", Repeating)[0], MemoryStore()
    array = zarrcore.open_array(store, path="a", mode="r")
    assert array.nchunks_initialized == 6
    assert array.nbytes_stored() == sum(len(store.values[key]) for key in store.list_prefix("a"))
    assert zarrcore.copy_store(store, copy)[0] == len(store.values) == len([*copy.list()])


LISTING: dict[str, Callable[[Store, zarrcore.Array], object]] = {
    "chunks": lambda store, array: array.nchunks_initialized,
    "copy": lambda store, array: zarrcore.copy_store(store, MemoryStore()),
    "members": lambda store, array: [*zarrcore.open_group(store, mode="r")],
    "remove": lambda store, array: zarrcore.open_group(store).__delitem__("a"),
    "move": lambda store, array: zarrcore.open_group(store).move("a", "b"),
}


@pytest.mark.parametrize("ask", LISTING)
def test_a_listing_that_repeats_itself_without_end_ends(ask: str) -> None:
    store = filled("plain", Repeating)[0]
    array = zarrcore.open_array(store, path="a", mode="r")
    store.times = 1 << 62
    with pytest.raises(BaseZarrError, match="the same keys again and again"):
        LISTING[ask](store, array)
    assert array[...].tolist() == VALUES.tolist()


@pytest.mark.parametrize(
    "wrap", [lambda store: store, WrapperStore, LoggingStore], ids=["bare", "wrapped", "logged"]
)
@pytest.mark.parametrize("error", [OSError("no"), PermissionError("no"), KeyError("no"), TypeError("no")])
@pytest.mark.parametrize("kind", ["store", "dictionary"])
def test_an_error_of_a_store_that_is_wrapped_names_the_node(kind: str, error: Exception, wrap: Any) -> None:
    """An OSError of a user's store came out bare where one of zarrcore's was around it."""

    class Failing(Careless):
        fails = False

        def set(self, key: str, value: Any) -> None:
            if self.fails:
                raise error
            super().set(key, value)

    class FailingDictionary(dict[str, bytes]):
        fails = False

        def __setitem__(self, key: str, value: bytes) -> None:
            if self.fails:
                raise error
            super().__setitem__(key, value)

    store: Any = filled(kind=Failing)[0]
    if kind == "dictionary":
        store = FailingDictionary(store.values)
    array = zarrcore.open_array(
        wrap(MemoryStore(store) if kind == "dictionary" else store), path="a", mode="r+"
    )
    store.fails = True
    for change in (lambda: array.attrs.update(x=1), lambda: array.resize(30), lambda: array.append([1] * 4)):
        with pytest.raises(BaseZarrError, match="'a'|a/zarr.json"):
            change()


def test_a_move_that_goes_on_does_not_take_another_value_for_a_copy() -> None:
    """Two values in one memory were alike, and the source was removed."""
    store, _ = filled()
    for key, value in [*store.values.items()]:
        if key.startswith("a/"):
            store.values[f"c{key[1:]}"] = value
    store.values["c/c/1"] = bytes(16)
    before = dict(store.values)
    with pytest.raises(BaseZarrError):
        zarrcore.open_group(store, mode="r+").move("a", "c")
    assert store.values == before


@pytest.mark.parametrize(
    "wrap", [lambda store: store, WrapperStore, LoggingStore], ids=["bare", "wrapped", "logged"]
)
@pytest.mark.parametrize("place", ["same", "link", "above", "memory"])
def test_copies_are_not_kept_where_the_values_are(place: str, wrap: Any, tmp_path: Path) -> None:
    """Reading an array removed it, since copies that are not good are removed."""
    source: Any = LocalStore(tmp_path / "data")
    copies: Any = LocalStore(tmp_path / ("data" if place == "same" else "link" if place == "link" else ""))
    if place == "link":
        (tmp_path / "data").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "data")
    if place == "memory":
        source = MemoryStore()
        copies = MemoryStore(source._store_dict)
    zarrcore.create_array(source, name="a", data=np.arange(40), chunks=4)
    with pytest.raises(ValueError, match="cache_store: expected a place of its own"):
        KeepingStore(wrap(source), cache_store=wrap(copies), max_size=100)
    assert np.array_equal(zarrcore.open_array(source, path="a", mode="r")[...], np.arange(40))


class Everything(Careless):
    """Lists all of its keys, whatever the prefix."""

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.list()


@pytest.mark.parametrize(
    "wrap", [lambda store: store, WrapperStore, LoggingStore], ids=["bare", "wrapped", "logged"]
)
def test_a_store_lists_keys_that_are_not_below_the_prefix(wrap: Any) -> None:
    """Chunks of other arrays were removed as an array shrank or was made, and copied as its own."""
    values: dict[str, bytes] = {}
    root = zarrcore.open_group(Careless(values), mode="a")
    for name in "abc":
        root.create_array(name, data=VALUES * ord(name), chunks=4)
    before = dict(values)
    store = wrap(Everything(values))
    root = zarrcore.open_group(store, mode="r+")
    for change in (
        lambda: root["b"].resize(6),
        lambda: root["b"].nchunks_initialized,
        lambda: root["b"].nbytes_stored(),
        lambda: root.create_array("d", data=[1, 2]),
        lambda: root.create_array("b", data=[1, 2], overwrite=True),
        lambda: root.__delitem__("b"),
        lambda: root.move("b", "d"),
        lambda: zarrcore.copy(root["b"], zarrcore.open_group({}), "b"),
        lambda: zarrcore.copy(root["b"], root, "d"),
        lambda: zarrcore.from_array({}, data=root["b"]),
    ):
        with pytest.raises(BaseZarrError, match="lists what is not below: 'a/"):
            change()
        assert {key: value for key, value in values.items() if key[0] in "ac"}.items() <= before.items()
        values.clear()
        values.update(before)
    report = zarrcore.verify(store)
    assert "lists what is not below: 'a/" in str(report)
    assert not report.ok


class Dictionary(dict[str, bytes]):
    """A dictionary that does not always know what is in it."""

    left = -1

    def __contains__(self, key: object) -> bool:
        self.left -= 1
        if self.left == -1:
            raise ConnectionError("gone")
        return super().__contains__(key)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dictionary_that_fails_when_chunks_are_absent(layout: str) -> None:
    """A bare ConnectionError came out of reading."""
    values = Dictionary(filled(layout)[0].values)
    absent = next(key for key in values if key.startswith("a/") and key[-1].isdecimal())
    del values[absent]
    for left in range(3):
        array = zarrcore.open_array(MemoryStore(values), path="a", mode="r")
        values.left = left
        with pytest.raises(BaseZarrError, match="array 'a'.*memory.* ConnectionError: gone"):
            for _ in range(2):
                array[...]
        values.left = -1


@pytest.mark.parametrize("name", ["", ".", "..", "/", "b/c", "../a", "\0", "a//b"])
def test_verify_ends_where_a_store_lists_what_is_no_name(name: str) -> None:
    """An empty name, as of a marker of a directory, led to the same group again without end."""

    class Odd(Careless):
        asked = 0

        def list_dir(self, prefix: str) -> Iterator[str]:
            self.asked += 1
            assert self.asked < 100
            yield from super().list_dir(prefix)
            yield name

    store = Odd(filled()[0].values)
    before = dict(store.values)
    report = zarrcore.verify(store)
    assert (report.groups, report.arrays) == (1, 2)
    assert f"the store lists what is no name: {name!r}" in str(report)
    zarrcore.repair(report, dry_run=False)
    root = zarrcore.open_group(store, mode="r+")
    assert sorted(root) == [key for key, _ in root.members(max_depth=None)] == ["a", "b"]
    assert str(root.tree()).count("\n") == 2
    assert store.values == before


def inverted(value: Any) -> Any:
    return None if value is None else bytes(255 - byte for byte in bytes(value))


class Delegating(Store):
    """Inverts all values, and passes on by `__getattr__` whatever it does not know."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["inner"], name)

    def get(self, key: str, byte_range: Any = None) -> Any:
        return inverted(self.inner.get(key, byte_range))

    def set(self, key: str, value: Any) -> None:
        self.inner.set(key, inverted(value))

    def delete(self, key: str) -> None:
        self.inner.delete(key)

    def list(self) -> Iterator[str]:
        return iter(self.inner.list())


class DelegatingWrapper(WrapperStore[Any]):
    """The same, made from a wrapper."""

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_store"], name)

    def get(self, key: str, byte_range: Any = None) -> Any:
        return inverted(self._store.get(key, byte_range))

    def set(self, key: str, value: Any) -> None:
        self._store.set(key, inverted(value))


def object_store(tmp_path: Path) -> Store:
    return ObjectStore(pytest.importorskip("obstore.store").MemoryStore())


INNER = {
    "object": object_store,
    "cache": lambda path: CacheStore(MemoryStore(), path, max_bytes=1 << 20, immutable=True, name="inner"),
    "local": LocalStore,
    "memory": lambda path: MemoryStore(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [Delegating, DelegatingWrapper])
@pytest.mark.parametrize("inner", INNER)
def test_a_store_that_passes_on_what_it_does_not_know_is_not_passed_by(
    inner: str, kind: Any, layout: str, tmp_path: Path
) -> None:
    """Over an object store, chunks were read past its `get`."""
    store = kind(INNER[inner](tmp_path))
    root = zarrcore.open_group(store, mode="a", zarr_format=LAYOUTS[layout].get("zarr_format", 3))
    options = {key: value for key, value in LAYOUTS[layout].items() if key != "zarr_format"}
    values = VALUES.astype("T") if layout == "text" else VALUES
    array = root.create_array("a", shape=24, dtype=str if layout == "text" else "i4", **options)
    array[...] = values
    for selection in (..., slice(3, 17), [20, 1, 9]):
        assert np.array_equal(array[selection], values[selection])
    assert np.array_equal(array.read_many([slice(2, 20)])[0], values[2:20])
    assert np.array_equal(asyncio.run(array.async_array.getitem(...)), values)
    assert zarrcore.verify(store).ok
    plain = MemoryStore()
    zarrcore.copy_store(store, plain)
    assert np.array_equal(zarrcore.open_array(plain, path="a", mode="r")[...], values)
