# SPDX-License-Identifier: MIT
"""How many requests stores of fsspec are asked, and how many of them wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.storage import FsspecStore

pytest.importorskip("s3fs")


@pytest.fixture
def place(server: ObjectServer) -> Callable[[str], Any]:
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    return lambda bucket: FsspecStore.from_url(f"s3://{bucket}/data", words)


def test_creating_was_eleven_waves(server: ObjectServer, place: Any) -> None:
    """Each question whether something is there was two requests, one after the other."""
    for name in "ab":
        with server.watch() as seen:
            zarrcore.create_array(place("bucket"), name=name, shape=(10,), dtype="i4")
        assert len(seen.requests) <= 11, str(seen)
        assert seen.waves == 3, str(seen)
    assert [*zarrcore.open_group(place("bucket")).array_keys()] == ["a", "b"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("kind", ["array", "group"])
def test_what_is_there_is_found_by_whoever_creates(
    server: ObjectServer, place: Any, kind: str, zarr_format: int
) -> None:
    store = place("bucket")
    if kind == "array":
        zarrcore.create_array(store, name="a", shape=3, dtype="i4", zarr_format=zarr_format)
    else:
        zarrcore.create_group(store, path="a", zarr_format=zarr_format)
    exists = zarrcore.errors.ContainsArrayError if kind == "array" else zarrcore.errors.ContainsGroupError
    before = dict(server.objects)
    for other in (2, 3):
        if zarr_format == 3 or other == 2:
            with pytest.raises(exists):
                zarrcore.create_array(place("bucket"), name="a", shape=3, dtype="i4", zarr_format=other)
    assert server.objects == before
    replaced = zarrcore.create_array(
        place("bucket"), name="a", shape=4, dtype="i4", zarr_format=zarr_format, overwrite=True
    )
    assert zarrcore.open_array(place("bucket"), path="a").shape == replaced.shape == (4,)


def test_many_nodes_waited_for_each_other(server: ObjectServer, place: Any) -> None:
    """Of all nodes of the process, one was stored at a time."""
    metadata = zarrcore.create_array({}, shape=(10,), dtype="i4").metadata
    with server.watch() as seen:
        made = dict(zarrcore.create_hierarchy(store=place("b"), nodes={f"a{n}": metadata for n in range(8)}))
    assert len(made) == 9
    assert seen.waves <= 12, str(seen)  # 7 are needed; one at a time it were 21; one that begins late adds 2
    assert len(seen.requests) <= 2 * 8 + 8, str(seen)
    with pytest.raises(zarrcore.errors.ContainsArrayError):
        dict(zarrcore.create_hierarchy(store=place("b"), nodes={"a1": metadata}))


def test_whether_an_empty_value_is_there(server: ObjectServer, place: Any) -> None:
    store = place("bucket")
    server.objects |= {"bucket/data/empty": b"", "bucket/data/dir/one": b"1"}
    assert [store.exists(key) for key in ("empty", "dir", "dir/one", "none")] == [True, False, True, False]
    assert store.set_if_not_exists("empty", b"x") is False
    server.fail(403, "dir/one")
    with pytest.raises(zarrcore.errors.StoreError):
        store.exists("dir/one")


def test_chunks_waited_for_ten_connections(server: ObjectServer, place: Any) -> None:
    array = zarrcore.create_array(place("bucket"), data=np.arange(40), chunks=1)
    with server.watch() as seen:
        assert np.array_equal(array[...], np.arange(40))
    assert (len(seen.requests), seen.waves) == (40, 1), str(seen)
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    given = {**words, "config_kwargs": {"max_pool_connections": 5}}
    array = zarrcore.open_array(FsspecStore.from_url("s3://bucket/data", given), mode="r")
    with server.watch() as seen:
        assert np.array_equal(array[...], np.arange(40))
    assert seen.waves == 8, str(seen)
