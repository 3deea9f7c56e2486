# SPDX-License-Identifier: MIT
"""Every function that takes what stands for one store takes options for it, and uses them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore import migration
from zarrcore.api import asynchronous
from zarrcore.metadata import GroupMetadata

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

URL, OPTIONS = "locked://bucket", {"word": "sesame"}


class LockedFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """Files in memory that only those see who know a word."""

    protocol = "locked"
    store: dict[str, Any] = {}
    pseudo_dirs = [""]

    def __init__(self, *args: Any, word: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        if word != "sesame":
            raise PermissionError("locked: the word is missing")

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return MemoryFileSystem._strip_protocol(path.removeprefix("locked://"))  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def bucket() -> Iterator[None]:
    fsspec.register_implementation("locked", LockedFileSystem, clobber=True)
    root = zarrcore.create_group(URL, storage_options=OPTIONS)
    root["a"] = np.arange(4)
    zarrcore.save(URL, np.arange(3), path="b", zarr_format=2, storage_options=OPTIONS)
    zarrcore.save("locked://array", np.arange(4), storage_options=OPTIONS)
    yield
    LockedFileSystem.store.clear()


CALLS: dict[str, Callable[..., Any]] = {
    "load": lambda **options: zarrcore.load(URL, "a", **options)[3] == 3,
    "open": lambda **options: zarrcore.open(URL, mode="r", path="a", **options)[3] == 3,
    "open_array": lambda **options: zarrcore.open_array(URL, path="a", **options)[3] == 3,
    "open_group": lambda **options: zarrcore.open_group(URL, mode="r", **options)["a"][3] == 3,
    "open_consolidated": lambda **options: _open_consolidated(**options)["a"][3] == 3,
    "tree": lambda **options: "a (4,)" in str(zarrcore.tree(URL, **options)),
    "verify": lambda **options: _ok(zarrcore.verify(URL, **options)),
    "consolidate_metadata": lambda **options: "a" in zarrcore.consolidate_metadata(URL, **options),
    "check_consolidated": lambda **options: _check_consolidated(**options),
    "create_hierarchy": lambda **options: [
        *zarrcore.create_hierarchy(store=URL, nodes={"g": GroupMetadata()}, **options)
    ],
    "migrate": lambda **options: zarrcore.migrate(URL, path="b", dry_run=True, **options) is not None,
    "remove_metadata": lambda **options: migration.remove_metadata(
        URL, 2, force=True, dry_run=True, **options
    ),
    "Array.open": lambda **options: zarrcore.Array.open("locked://array", **options)[3] == 3,
    "Group.open": lambda **options: zarrcore.Group.open(URL, **options)["a"][3] == 3,
    "Group.from_store": lambda **options: zarrcore.Group.from_store("locked://new", **options).path == "",
    "AsyncArray.open": lambda **options: asyncio.run(zarrcore.AsyncArray.open("locked://array", **options)),
    "AsyncGroup.open": lambda **options: asyncio.run(zarrcore.AsyncGroup.open(URL, **options)),
    "asynchronous.load": lambda **options: asyncio.run(asynchronous.load(URL, "a", **options))[3] == 3,
}


def _ok(report: Any) -> bool:
    if not report.ok:
        raise PermissionError(str(report.findings[0]))
    return True


def _check_consolidated(**options: Any) -> bool:
    if options == {"storage_options": OPTIONS}:
        zarrcore.consolidate_metadata(URL, **options)
    return zarrcore.check_consolidated(URL, **options) == ()


def _open_consolidated(**options: Any) -> zarrcore.Group:
    if options == {"storage_options": OPTIONS}:
        zarrcore.consolidate_metadata(URL, **options)
    return zarrcore.open_consolidated(URL, **options)


@pytest.mark.parametrize("name", CALLS)
def test_options_are_used(name: str) -> None:
    with pytest.raises((PermissionError, zarrcore.errors.StoreError), match="the word is missing"):
        CALLS[name]()
    assert CALLS[name](storage_options=OPTIONS)
    with pytest.raises((PermissionError, zarrcore.errors.StoreError), match="the word is missing"):
        CALLS[name](storage_options={"word": "wrong"})


def _openers() -> Iterator[tuple[str, Any]]:
    owners: list[Any] = [zarrcore, asynchronous, migration]
    owners += [zarrcore.Array, zarrcore.Group, zarrcore.AsyncArray, zarrcore.AsyncGroup]
    for owner in owners:
        for name in dir(owner):
            found = None if name.startswith("_") else inspect.getattr_static(owner, name, None)
            if found is None and owner is zarrcore and not name.startswith("_"):
                found = getattr(owner, name)
            if isinstance(found, classmethod):
                found = found.__func__
            if inspect.isfunction(found) and found.__module__.startswith("zarrcore"):
                yield f"{owner.__name__}.{name}", found


def test_whoever_takes_a_store_takes_its_options() -> None:
    """Those with two stores take stores for both."""
    without, seen = [], 0
    for name, function in _openers():
        parameters = inspect.signature(function).parameters
        stores = [p for p in parameters.values() if "StoreLike" in str(p.annotation)]
        if len(stores) == 1:
            seen += 1
            if "storage_options" not in parameters and name.rpartition(".")[2] not in CALLS:
                without.append(name)
    assert seen > 25
    assert set(without) == {
        "zarrcore.repair",
        "zarrcore.api.asynchronous.repair",
    }  # it has that of the report


def test_options_for_what_is_open_are_refused() -> None:
    group = zarrcore.create_group({})
    for call in (zarrcore.tree, zarrcore.check_consolidated):
        with pytest.raises(TypeError, match="storage_options are for a URL"):
            call(group, storage_options=OPTIONS)
    for call in (zarrcore.load, zarrcore.verify, zarrcore.consolidate_metadata, zarrcore.Array.open):
        with pytest.raises(TypeError, match="storage_options are for remote stores"):
            call({}, storage_options=OPTIONS)


def test_dask_takes_options() -> None:
    dask = pytest.importorskip("zarrcore.dask")
    with pytest.raises((PermissionError, zarrcore.errors.StoreError), match="the word is missing"):
        dask.from_zarr("locked://array")
    assert dask.from_zarr("locked://array", storage_options=OPTIONS).sum().compute() == 6
    with pytest.raises(TypeError, match="storage_options="):
        dask.from_zarr(zarrcore.ones(3), storage_options=OPTIONS)
