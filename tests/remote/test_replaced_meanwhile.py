"""A read through a network while this process puts another array in the place of the one that is read."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.storage import ObjectStore

clients: Any = pytest.importorskip("obstore.store")


@pytest.fixture
def remote(server: ObjectServer) -> ObjectStore:
    client = clients.S3Store(
        "bucket",
        endpoint=server.url,
        access_key_id="a",
        secret_access_key="b",
        region="us-east-1",
        client_options={"allow_http": True},
    )
    return ObjectStore(client)


@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize("dtype", ["i4", "string"])
@pytest.mark.parametrize("number", [0, 5, 11])
def test_a_read_was_of_two_arrays(
    server: ObjectServer, remote: ObjectStore, number: int, dtype: str, is_awaited: bool
) -> None:
    def make(value: int) -> Any:
        data = np.full(24, value, "i4").astype("i4" if dtype == "i4" else str)
        return zarrcore.create_array(remote, name="a", data=data, chunks=2, overwrite=True)

    async def awaited() -> Any:
        found = await zarrcore.api.asynchronous.open_array(store=remote, path="a", mode="r")
        return await found.getitem(slice(None))

    array = make(1)
    with ThreadPoolExecutor(1) as pool, server.hold(f"/c/{number}$") as held:
        reading = pool.submit(lambda: asyncio.run(awaited()) if is_awaited else array[:])
        while not held.requests:  # the other chunks are answered meanwhile, or before
            time.sleep(0.001)
        time.sleep(0.05)
        server._held = None  # of the new array none
        make(2)
        server._loop.call_soon_threadsafe(held.released.set)
        found = reading.result(30)
    assert {int(value) for value in np.unique(found)} == {2}


@pytest.mark.parametrize("dtype", ["i4", "string"])
@pytest.mark.parametrize("how", ["always", "near"])
def test_a_read_that_is_confirmed_was_of_two_arrays_where_another_process_replaced_one(
    server: ObjectServer, remote: ObjectStore, how: str, dtype: str
) -> None:
    """It costs one request, and nothing where it is not asked for."""

    def make(name: str, value: int) -> Any:
        data = np.full(24, value, "i4").astype("i4" if dtype == "i4" else str)
        return zarrcore.create_array(remote, name=name, data=data, chunks=2)

    make("b", 2)
    with zarrcore.config.set({"metadata.confirm_reads": how}):
        array = make("a", 1)
        array[:]
        with server.watch() as seen:
            array[:]
        assert len(seen.requests) == 12 + (how == "always")
        with ThreadPoolExecutor(1) as pool, server.hold("a/c/7$") as held:
            reading = pool.submit(lambda: array[:])
            while not held.requests:
                time.sleep(0.001)
            time.sleep(0.05)
            server._held = None
            for key in [key for key in server.objects if "/b/" in key]:
                server.objects[key.replace("/b/", "/a/")] = server.objects[key]
            server.objects["bucket/a/zarr.json"] += b" "  # the server does not say when it was stored
            server._loop.call_soon_threadsafe(held.released.set)
            found = reading.result(30)
    assert {int(value) for value in np.unique(found)} == ({2} if how == "always" else {1, 2})
