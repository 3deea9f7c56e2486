# SPDX-License-Identifier: MIT
"""No argument and no setting is swallowed: what is not known, or contradicts what is there, is refused."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BadConfigError, ZarrRuntimeWarning
from zarrcore.storage import MemoryStore

WRONG: dict[str, Callable[[MemoryStore], Any]] = {
    "create_array": lambda store: zarrcore.create_array({}, shape=1, dtype="i1", chunkz=1),
    "create": lambda store: zarrcore.create(1, chunkz=1),
    "array": lambda store: zarrcore.array([1], chunkz=1),
    "empty": lambda store: zarrcore.empty(1, chunkz=1),
    "zeros": lambda store: zarrcore.zeros(1, chunkz=1),
    "ones": lambda store: zarrcore.ones(1, chunkz=1),
    "full": lambda store: zarrcore.full(1, 2, chunkz=1),
    "zeros_like": lambda store: zarrcore.zeros_like(np.zeros(1), chunkz=1),
    "from_array": lambda store: zarrcore.from_array({}, data=np.zeros(1), chunkz=1),
    "save_array": lambda store: zarrcore.save_array({}, np.zeros(1), chunkz=1),
    "open_array": lambda store: zarrcore.open_array(store, path="a", shape=3, chunkz=1),
    "open": lambda store: zarrcore.open(store, path="a", shape=3, chunkz=1),
    "open_like": lambda store: zarrcore.open_like(np.zeros(3), "a", store=store, chunkz=1),
    "Group.create_array": lambda store: zarrcore.open_group(store).create_array("b", shape=1, chunkz=1),
    "Group.require_array": lambda store: zarrcore.open_group(store).require_array(
        "a", shape=3, dtype="i4", chunkz=1
    ),
    "Group.zeros": lambda store: zarrcore.open_group(store).zeros(name="b", shape=1, chunkz=1),
    "Group.full_like": lambda store: zarrcore.open_group(store).full_like(name="b", data=[1], chunkz=1),
}


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    zarrcore.create_array(store, name="a", shape=3, dtype="i4")
    return store


@pytest.mark.parametrize("name", WRONG)
def test_unknown_arguments_are_refused_by_the_public_function(name: str, store: MemoryStore) -> None:
    before = set(store.list())
    called = name.replace(".", "[.]")
    message = rf"^{called}\(\) got an unexpected keyword argument 'chunkz'; did you mean 'chunks'\?"
    with pytest.raises(TypeError, match=message):
        WRONG[name](store)
    assert set(store.list()) == before


def test_arguments_without_a_place_are_refused(store: MemoryStore) -> None:
    group = zarrcore.open_group(store)
    with pytest.raises(TypeError, match=r"Group[.]create_array: storage_options"):
        group.create_array("b", shape=1, dtype="i1", storage_options={"anon": True})
    with pytest.raises(TypeError, match=r"^open: chunks is for arrays"):
        zarrcore.open({}, mode="a", chunks=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="open_consolidated"):
        zarrcore.open_consolidated(store, shape=3)  # type: ignore[call-arg]


def test_an_array_that_is_there_must_be_the_one_described(store: MemoryStore) -> None:
    for mode in ("r", "r+", "a"):
        with pytest.raises(TypeError, match=r"array '/a' .*expected shape \(99,\), found \(3,\)"):
            zarrcore.open_array(store, path="a", mode=mode, shape=99)
        with pytest.raises(TypeError, match="expected data type float64, found int32"):
            zarrcore.open_array(store, path="a", mode=mode, dtype="f8")
        assert zarrcore.open_array(store, path="a", mode=mode, shape=3, dtype=">i4").shape == (3,)
    with pytest.raises(TypeError, match="expected shape"):
        zarrcore.open(store, path="a", shape=99, dtype="i4")
    with pytest.raises(TypeError, match="expected shape"):
        zarrcore.open_group(store).require_array("a", shape=99, dtype="i4")
    assert zarrcore.open_like(np.zeros(99), "a", store=store).shape == (3,)
    with pytest.raises(TypeError, match="expected shape"):
        zarrcore.open_like(np.zeros(3), "a", store=store, shape=7)


def test_settings_that_nobody_reads() -> None:
    for key, close in (("array.ordr", "array.order"), ("treading.max_workers", "threading.max_workers")):
        with pytest.raises(BadConfigError, match=f"{key}.*did you mean '{close}'"):
            zarrcore.config.set({key: 1})
    with pytest.raises(BadConfigError, match="no such key; known are .*store.fsync"):
        zarrcore.config.set({"store.no_relation": 1})
    for key in ("async.timeout", "array.rectilinear_chunks", "codec_pipeline.batch_size"):
        with pytest.warns(ZarrRuntimeWarning, match=f"'{key}' has no effect"), zarrcore.config.set({key: 1}):
            assert zarrcore.config.get(key) == 1
    with warnings.catch_warnings(), zarrcore.config.set({"my_plugin.limit": 3}):
        assert zarrcore.config["my_plugin.limit"] == 3


def test_signatures_are_shown() -> None:
    for function in (zarrcore.create_array, zarrcore.create, zarrcore.from_array):
        assert "chunks" in inspect.signature(function).parameters
    assert zarrcore.zeros.__name__ == "zeros"
    assert zarrcore.zeros.__doc__


def test_a_warning_names_the_line_of_the_user(store: MemoryStore) -> None:
    for call in (
        lambda: zarrcore.create(1, cache_attrs=True),
        lambda: zarrcore.zeros(1, cache_attrs=True),
        lambda: zarrcore.open_group(store, cache_attrs=True),
        lambda: zarrcore.open_array({}, mode="a", shape=1, cache_attrs=True),
    ):
        with pytest.warns(ZarrRuntimeWarning, match="cache_attrs") as found:
            call()
        assert found[0].filename == __file__


@pytest.mark.parametrize("function", [zarrcore.copy, zarrcore.copy_all])
def test_arguments_of_copies_are_refused_in_their_name(function) -> None:
    source, dest = zarrcore.create_group({}), zarrcore.create_group({})
    source.create_array("a", shape=4, dtype="i4")
    expected = rf"^{function.__name__}\(\) got an unexpected keyword argument 'chunkz'; did you mean 'chunks'"
    with pytest.raises(TypeError, match=expected):
        function(source, dest, name="b", chunkz=2) if function is zarrcore.copy else function(
            source, dest, chunkz=2
        )
    assert list(dest) == []
    zarrcore.copy(source["a"], dest, "c", chunks=2, compressor=None, zarr_format=3)
    assert dest["c"].chunks == (2,) and dest["c"].compressors == ()
