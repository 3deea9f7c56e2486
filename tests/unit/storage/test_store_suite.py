"""The conformance suite, over every store of the package and over the smallest store a user can write."""

from __future__ import annotations

import pickle
from collections import UserDict

import pytest
from small_store import SmallStore

from zarrcore.storage import (
    LocalStore,
    LoggingStore,
    ManagedMemoryStore,
    MemoryStore,
    Store,
    WrapperStore,
    ZipStore,
)
from zarrcore.testing.store import StoreTests


class TestLocalStore(StoreTests):
    def make_store(self, tmp_path):
        return LocalStore(tmp_path / "not" / "yet there")


class TestLocalStoreWithFsync(StoreTests):
    def make_store(self, tmp_path):
        return LocalStore(tmp_path / "a" / "b", fsync=True)


class TestMemoryStore(StoreTests):
    def make_store(self, tmp_path):
        return MemoryStore()


class TestMappingStore(StoreTests):
    def make_store(self, tmp_path):
        return MemoryStore(UserDict())


class TestManagedMemoryStore(StoreTests):
    def make_store(self, tmp_path):
        return ManagedMemoryStore(path="below/here")


class TestZipStore(StoreTests):
    def make_store(self, tmp_path):
        return ZipStore(tmp_path / "store.zip", mode="w")

    def reopened(self, store):
        store.close()
        return pickle.loads(pickle.dumps(ZipStore(store.path)))


class TestDeflatedZipStore(TestZipStore):
    def make_store(self, tmp_path):
        return ZipStore(tmp_path / "store.zip", mode="x", compression=8)


class TestWrapperStore(StoreTests):
    def make_store(self, tmp_path):
        return WrapperStore(LocalStore(tmp_path))


class TestLoggingStore(StoreTests):
    picklable = False

    def make_store(self, tmp_path):
        return LoggingStore(MemoryStore(), log_level="ERROR")


class TestSmallStore(StoreTests):
    validates_keys = False
    atomic_create = False

    def make_store(self, tmp_path):
        return SmallStore()

    def reopened(self, store):
        return store


def test_a_store_needs_the_four_methods():
    class Half(Store):
        def get(self, key, byte_range=None):
            return None

    with pytest.raises(TypeError, match="delete"):
        Half()


def test_the_suite_says_what_is_missing(tmp_path):
    with pytest.raises(NotImplementedError, match="make_store"):
        StoreTests().make_store(tmp_path)
