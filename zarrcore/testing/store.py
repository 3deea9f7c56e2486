"""A suite of pytest tests that every store has to pass.

Derive a class in a test module and say how a fresh, empty store is made::

    from zarrcore.testing.store import StoreTests

    class TestMyStore(StoreTests):
        def make_store(self, tmp_path):
            return MyStore(tmp_path / "data")

What a store does not claim to support (``supports_deletes`` and the like) is not tested.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from zarrcore._typing import Buffer
from zarrcore.config import config
from zarrcore.errors import InvalidKeyError, ReadOnlyError, StoreError
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarrcore.testing.threads import in_threads

__all__ = ["BAD_KEYS", "GOOD_KEYS", "StoreTests"]

GOOD_KEYS = (
    "zarr.json",
    ".zarray",
    "foo/bar/c/0/1/2",
    "0.0.0",
    "a b",
    "...",
    "a..b/..c",
    "ünïcödé/数",
    "x" * 200,
    "__nc__",
    "c/" * 20 + "0",
)
BAD_KEYS = ("", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a", "a/.", "a\0b")

_RANGES = (
    (None, slice(None)),
    (RangeByteRequest(0, 10), slice(0, 10)),
    (RangeByteRequest(3, 5), slice(3, 5)),
    (RangeByteRequest(4, 4), slice(4, 4)),
    (RangeByteRequest(8, 10**15), slice(8, 10)),
    (RangeByteRequest(50, 60), slice(0, 0)),
    (OffsetByteRequest(0), slice(0, 10)),
    (OffsetByteRequest(9), slice(9, 10)),
    (OffsetByteRequest(11), slice(0, 0)),
    (SuffixByteRequest(0), slice(0, 0)),
    (SuffixByteRequest(4), slice(6, 10)),
    (SuffixByteRequest(10**15), slice(0, 10)),
    ((2, 3), slice(2, 5)),
    ((2, None), slice(2, 10)),
    ((9, 10**15), slice(9, 10)),
)

_NUMPY: Any = np  # type checkers do not take its integers for those of Python
_KEYS = ["a/b", "a/c/d", "a/c/e", "ab/f", "e/f/g", "zarr.json"]  # those of the fixture `tree`
# A prefix, the keys that begin with it, and the names directly below it.
_LISTINGS: tuple[tuple[str, list[str], list[str]], ...] = (
    ("", _KEYS, ["a", "ab", "e", "zarr.json"]),
    ("a/", ["a/b", "a/c/d", "a/c/e"], ["b", "c"]),
    ("a", ["a/b", "a/c/d", "a/c/e"], ["b", "c"]),
    ("a/c/", ["a/c/d", "a/c/e"], ["d", "e"]),
    ("a/b/", [], []),
    ("x/", [], []),
)


class StoreTests:
    """Tests of one kind of store; override :meth:`make_store`, and the switches where a rule cannot hold.

    Attributes
    ----------
    validates_keys : bool
        Invalid keys are refused.  A store that leaves this to its callers may switch it off.
    case_sensitive : bool
        Keys that differ in case are different.
    atomic_create : bool
        Of several threads that call ``set_if_not_exists``, one wins.
    picklable : bool
        A store that was pickled shows the same values.

    Examples
    --------
    In a test module; pytest finds the tests that the class inherits:

    >>> class TestMyStore(StoreTests):
    ...     def make_store(self, tmp_path):
    ...         return zarrcore.storage.LocalStore(tmp_path / "data")
    """

    validates_keys: ClassVar[bool] = True
    case_sensitive: ClassVar[bool] = True
    atomic_create: ClassVar[bool] = True
    picklable: ClassVar[bool] = True

    def make_store(self, tmp_path: Path) -> Store:
        """Return a fresh, empty, writable store."""
        raise NotImplementedError("a subclass of StoreTests defines make_store(tmp_path)")

    def reopened(self, store: Store) -> Store:
        """Return the same store after a round trip through pickle, with its credentials."""
        with config.set({"pickle.credentials": True}):
            copy: Store = pickle.loads(pickle.dumps(store))
        return copy

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with self.make_store(tmp_path) as store:
            yield store

    @pytest.fixture
    def tree(self, store: Store) -> Store:
        """The store with the keys of the specification's examples, and neighbours that look like them."""
        for key in _KEYS:
            store.set(key, key.encode())
        return store

    # --- values ---

    @pytest.mark.parametrize("key", GOOD_KEYS)
    def test_what_is_set_is_got(self, store: Store, key: str) -> None:
        store.set(key, b"value")
        assert _bytes(store.get(key)) == b"value"
        assert store.exists(key)
        assert store.getsize(key) == 5
        assert list(store.list()) == [key]

    @pytest.mark.parametrize("size", [0, 1, 4096, 3_000_001])
    def test_sizes(self, store: Store, size: int) -> None:
        value = np.arange(size, dtype="u1").tobytes()
        store.set("k", value)
        assert _bytes(store.get("k")) == value
        assert store.getsize("k") == size

    @pytest.mark.parametrize(
        "value",
        [
            bytearray(b"0123"),
            memoryview(b"0123"),
            memoryview(b"0x1x2x3x")[::2],
            np.frombuffer(b"0123", "<i4"),
            np.frombuffer(b"0123", "u1").reshape(2, 2),
        ],
        ids=["bytearray", "memoryview", "strided", "int32", "2d"],
    )
    def test_any_bytes_like_value(self, store: Store, value: Any) -> None:
        store.set("k", value)
        assert _bytes(store.get("k")) == b"0123"

    @pytest.mark.parametrize("value", ["text", None, 3, [1, 2]])
    def test_other_values_are_refused(self, store: Store, value: Any) -> None:
        with pytest.raises(TypeError):
            store.set("k", value)
        assert store.get("k") is None
        assert list(store.list()) == []

    def test_a_value_is_copied(self, store: Store) -> None:
        value = bytearray(b"before")
        store.set("k", value)
        value[:] = b"after!"
        assert _bytes(store.get("k")) == b"before"

    def test_a_value_is_replaced_as_a_whole(self, store: Store) -> None:
        store.set("k", b"a long value")
        store.set("k", b"short")
        assert _bytes(store.get("k")) == b"short"
        assert store.getsize("k") == 5
        assert list(store.list()) == ["k"]

    def test_an_absent_key(self, tree: Store) -> None:
        for key in ("x", "a/x", "e/f/x"):
            assert tree.get(key) is None
            assert tree.get(key, RangeByteRequest(0, 1)) is None
            assert not tree.exists(key)
            with pytest.raises(FileNotFoundError, match=key):
                tree.getsize(key)
        assert not tree.exists("a")

    def test_a_key_below_a_value(self, tree: Store) -> None:
        """Absent, or an error where values are files, one of which is in the place of a directory."""
        try:
            found = tree.get("a/b/x")
        except (NotADirectoryError, StoreError):
            return
        assert found is None
        assert not tree.exists("a/b/x")

    def test_case(self, store: Store) -> None:
        _need(self.case_sensitive, "keys are not case-sensitive")
        store.set("foo", b"a")
        store.set("FOO", b"b")
        assert (_bytes(store.get("foo")), _bytes(store.get("FOO"))) == (b"a", b"b")

    # --- parts of values ---

    @pytest.mark.parametrize(("byte_range", "expected"), _RANGES)
    def test_byte_ranges(self, store: Store, byte_range: Any, expected: slice) -> None:
        store.set("k", b"0123456789")
        assert _bytes(store.get("k", byte_range)) == b"0123456789"[expected]

    @pytest.mark.parametrize(
        ("make", "expected"),
        [
            (lambda: (_NUMPY.int8(100), _NUMPY.int8(100)), slice(100, 200)),
            (lambda: (_NUMPY.uint8(200), _NUMPY.uint8(100)), slice(200, 250)),
            (lambda: RangeByteRequest(_NUMPY.int8(100), _NUMPY.int16(200)), slice(100, 200)),
            (lambda: OffsetByteRequest(_NUMPY.int8(100)), slice(100, 250)),
            (lambda: SuffixByteRequest(_NUMPY.uint8(5)), slice(245, 250)),
        ],
    )
    def test_byte_ranges_of_small_integers(self, store: Store, make: Any, expected: slice) -> None:
        """Sums of them, and what is counted from the end, do not fit into their type."""
        store.set("k", bytes(range(250)))
        assert _bytes(store.get("k", make())) == bytes(range(250))[expected]

    @pytest.mark.parametrize("byte_range", ["0-3", 5, (1, 2, 3), (-1, 2), (0, -2), slice(0, 2)])
    def test_bad_byte_ranges(self, store: Store, byte_range: Any) -> None:
        store.set("k", b"0123456789")
        with pytest.raises((TypeError, ValueError)):
            store.get("k", byte_range)

    def test_get_partial_values(self, tree: Store) -> None:
        requests = [
            ("a/c/d", (2, 1)),
            ("x", None),
            ("a/b", None),
            ("a/c/d", SuffixByteRequest(1)),
            ("x", (0, 1)),
        ]
        found = [None if part is None else bytes(part) for part in tree.get_partial_values(requests)]
        assert found == [b"c", None, b"a/b", b"d", None]
        assert list(tree.get_partial_values([])) == []
        assert [_bytes(value) for value in tree.get_partial_values(iter([("a/b", (0, 1))]))] == [b"a"]

    def test_get_many(self, tree: Store) -> None:
        found = [
            None if value is None else bytes(value) for value in tree.get_many(["zarr.json", "x", "a/b"])
        ]
        assert found == [b"zarr.json", None, b"a/b"]

    def test_set_partial_values(self, store: Store) -> None:
        store.set("k", b"0123456789")
        store.set_partial_values([("k", 8, b"ABCD"), ("new", 0, b"xy"), ("k", 2, b"--")])
        assert _bytes(store.get("k")) == b"01--4567ABCD"
        assert _bytes(store.get("new")) == b"xy"

    @pytest.mark.parametrize("parts", [[(0, b"abc"), (2, b"x")], [(11, b"x")], [(-1, b"x")]])
    def test_bad_partial_values(self, store: Store, parts: list[tuple[int, bytes]]) -> None:
        store.set("k", b"0123456789")
        with pytest.raises(StoreError, match="'k'"):
            store.set_partial_values([("k", start, part) for start, part in parts])
        assert _bytes(store.get("k")) == b"0123456789"

    # --- creating and removing ---

    def test_set_if_not_exists(self, store: Store) -> None:
        assert store.set_if_not_exists("a/k", b"first")
        assert not store.set_if_not_exists("a/k", b"second")
        assert _bytes(store.get("a/k")) == b"first"
        assert list(store.list()) == ["a/k"]

    def test_delete(self, tree: Store) -> None:
        _need(tree.supports_deletes, "the store does not support deletes")
        tree.delete("a/b")
        tree.erase("a/c/d")
        assert tree.get("a/b") is None
        assert sorted(tree.list()) == ["a/c/e", "ab/f", "e/f/g", "zarr.json"]

    def test_delete_of_an_absent_key(self, tree: Store) -> None:
        before = sorted(tree.list())
        for key in ("x", "a/x", "a/b/x"):
            tree.delete(key)
        assert sorted(tree.list()) == before

    def test_erase_values(self, tree: Store) -> None:
        _need(tree.supports_deletes, "the store does not support deletes")
        tree.erase_values(["a/b", "x", "e/f/g"])
        assert sorted(tree.list()) == ["a/c/d", "a/c/e", "ab/f", "zarr.json"]

    @pytest.mark.parametrize("prefix", ["a", "a/"])
    def test_erase_prefix(self, tree: Store, prefix: str) -> None:
        _need(tree.supports_deletes, "the store does not support deletes")
        tree.erase_prefix(prefix)
        assert sorted(tree.list()) == ["ab/f", "e/f/g", "zarr.json"]
        tree.delete_dir("ab")
        tree.erase_prefix("x")
        assert sorted(tree.list()) == ["e/f/g", "zarr.json"]

    def test_erase_prefix_is_not_erase(self, tree: Store) -> None:
        tree.erase_prefix("zarr.json")
        assert tree.exists("zarr.json")

    def test_clear(self, tree: Store) -> None:
        _need(tree.supports_deletes, "the store does not support deletes")
        tree.clear()
        assert list(tree.list()) == []
        tree.clear()
        tree.set("a", b"again")
        assert list(tree.list()) == ["a"]

    # --- listing ---

    def test_list(self, tree: Store) -> None:
        assert sorted(tree.list()) == _KEYS

    @pytest.mark.parametrize(("prefix", "expected"), [(prefix, keys) for prefix, keys, _ in _LISTINGS])
    def test_list_prefix(self, tree: Store, prefix: str, expected: list[str]) -> None:
        assert sorted(tree.list_prefix(prefix)) == expected
        assert tree.is_empty(prefix) is (not expected)
        assert tree.getsize_prefix(prefix) == sum(map(len, expected))

    @pytest.mark.parametrize(("prefix", "expected"), [(prefix, names) for prefix, _, names in _LISTINGS])
    def test_list_dir(self, tree: Store, prefix: str, expected: list[str]) -> None:
        assert sorted(tree.list_dir(prefix)) == expected

    def test_an_empty_store(self, store: Store) -> None:
        assert list(store.list()) == list(store.list_dir("")) == list(store.list_prefix("a/")) == []
        assert store.is_empty("")
        assert store.getsize_prefix("") == 0

    def test_a_store_may_change_while_it_is_listed(self, tree: Store) -> None:
        seen = []
        for key in tree.list():
            seen.append(key)
            tree.set(key, b"changed")
        assert sorted(seen) == sorted(tree.list())

    # --- keys ---

    @pytest.mark.parametrize("key", BAD_KEYS)
    def test_bad_keys_are_refused(self, store: Store, key: str) -> None:
        _need(self.validates_keys, "the store leaves the validation of keys to its callers")
        calls: list[Callable[[], object]] = [
            lambda: store.get(key),
            lambda: store.get_many([key]),
            lambda: store.exists(key),
            lambda: store.getsize(key),
            lambda: store.set(key, b""),
            lambda: store.set_if_not_exists(key, b""),
            lambda: store.set_partial_values([(key, 0, b"")]),
            lambda: store.delete(key),
            lambda: store.erase_values([key]),
        ]
        for call in calls:
            with pytest.raises(InvalidKeyError) as caught:
                call()
            assert repr(key) in str(caught.value)
        assert list(store.list()) == []

    @pytest.mark.parametrize("prefix", ["..", "../", "a/../", "./", "/a", "a//", "a\0/"])
    def test_bad_prefixes_are_refused(self, tree: Store, prefix: str) -> None:
        for call in (tree.list_prefix, tree.list_dir, tree.is_empty, tree.getsize_prefix, tree.erase_prefix):
            with pytest.raises(InvalidKeyError):
                call(prefix)
        assert len(list(tree.list())) == 6

    # --- read-only ---

    def test_read_only(self, tree: Store) -> None:
        before = sorted(tree.list())
        view = tree.with_read_only(True)
        assert view.read_only
        assert not tree.read_only
        calls: list[Callable[[], object]] = [
            lambda: view.set("a/b", b""),
            lambda: view.set("new", b""),
            lambda: view.set_if_not_exists("new", b""),
            lambda: view.set_partial_values([("a/b", 0, b"x")]),
            lambda: view.delete("a/b"),
            lambda: view.delete("x"),
            lambda: view.erase("a/b"),
            lambda: view.erase_values([]),
            lambda: view.erase_prefix("x"),
            lambda: view.delete_dir("a"),
            lambda: view.clear(),
        ]
        for call in calls:
            with pytest.raises(ReadOnlyError):
                call()
        assert _bytes(view.get("a/b")) == b"a/b"
        assert sorted(view.list()) == before
        assert not view.with_read_only(False).read_only
        tree.set("a/b", b"still writable")
        assert _bytes(view.get("a/b")) == b"still writable"

    # --- life ---

    def test_equality_and_text(self, store: Store) -> None:
        assert store == store
        assert store != object()
        assert str(store)
        assert type(store).__name__ in repr(store)

    def test_pickle(self, tree: Store) -> None:
        _need(self.picklable, "the store cannot be pickled")
        copy = self.reopened(tree)
        assert copy == tree
        assert sorted(copy.list()) == sorted(tree.list())
        assert _bytes(copy.get("a/c/d")) == b"a/c/d"

    # --- threads ---

    def test_readers_see_whole_values(self, store: Store) -> None:
        values = (b"A" * 70_000, b"b" * 30_000)
        store.set("k", values[0])
        seen: list[bytes] = []
        stop = threading.Event()

        def read() -> None:
            while not (seen and stop.is_set()):
                seen.append(_bytes(store.get("k")))

        def write() -> None:
            for turn in range(60):
                store.set("k", values[turn % 2])

        def write_then_stop() -> None:
            try:
                write()
            finally:
                stop.set()

        in_threads(read, read, write, write_then_stop)
        assert seen
        assert set(seen) <= set(values)
        assert list(store.list()) == ["k"]

    def test_one_of_many_creates(self, store: Store) -> None:
        _need(self.atomic_create, "set_if_not_exists is not safe against other writers")
        seen: list[bytes] = []

        def create(name: bytes) -> None:
            if store.set_if_not_exists("a/k", name):
                winners.append(name)
            seen.append(_bytes(store.get("a/k")))

        winners: list[bytes] = []
        in_threads(*(partial(create, b"%d" % name) for name in range(6)))
        assert len(seen) == 6
        assert set(seen) == set(winners)
        assert len(winners) == 1

    def test_threads_write_their_own_keys(self, store: Store) -> None:
        def write(name: int) -> None:
            for turn in range(20):
                store.set(f"{turn}/{name}", b"%d %d" % (turn, name))

        in_threads(*(partial(write, name) for name in range(4)))
        assert len(list(store.list())) == 80
        assert _bytes(store.get("7/3")) == b"7 3"


def _bytes(value: Buffer | None) -> bytes:
    """Return a value that has to be there."""
    assert value is not None
    return bytes(value)


def _need(supported: bool, reason: str) -> None:
    if not supported:
        pytest.skip(reason)
