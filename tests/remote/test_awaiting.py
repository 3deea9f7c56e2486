# SPDX-License-Identifier: MIT
"""Reads that an event loop awaits: no thread for each, few requests, and none after a cancelled read."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.codecs import BytesBytesCodec
from zarrcore.registry import register_codec
from zarrcore.storage import ObjectStore

pytest.importorskip("obstore")

VALUES = np.arange(1, 1001, dtype="i4").reshape(10, 100)
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (5, 10)},
    "shards": {"chunks": (1, 10), "shards": (10, 50)},
    "index at the start": {
        "chunks": (10, 50),
        "compressors": None,
        "serializer": zarrcore.codecs.ShardingCodec(chunk_shape=(1, 10), index_location="start"),
    },
    "format 2": {"chunks": (5, 10), "zarr_format": 2},
    "lzma": {"chunks": (5, 10), "zarr_format": 2, "compressors": {"id": "lzma"}},
    "strings": {"chunks": (5, 10), "dtype": "str"},
    "shards of strings": {"chunks": (1, 10), "shards": (10, 50), "dtype": "str"},
}


@dataclass(frozen=True)
class InLoop(BytesBytesCodec):
    """Decodes in an event loop of its own, as clients of services do."""

    name: ClassVar[str] = "test.in_loop"

    def encode(self, data: Any, spec: Any = None) -> bytes:
        return bytes(data)

    def decode(self, data: Any, spec: Any = None, max_size: int | None = None) -> bytes:
        async def decoded() -> bytes:
            return bytes(data)

        return asyncio.run(decoded())


register_codec("test.in_loop", InLoop)


@pytest.fixture
def store(bucket: Any) -> ObjectStore:
    return ObjectStore(bucket)


def created(store: ObjectStore, layout: dict[str, Any]) -> tuple[zarrcore.AsyncArray, np.ndarray[Any, Any]]:
    array = zarrcore.create_array(store, shape=VALUES.shape, **{"dtype": "i4", **layout})
    values = VALUES.astype(array.dtype)
    array[...] = values
    return array._async_array, values


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_read_is_what_was_written(
    store: ObjectStore, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    array, values = created(store, LAYOUTS[layout])
    monkeypatch.delattr("zarrcore.arrays.async_array.in_thread")  # nothing is done in a thread

    async def main() -> None:
        for selection in (..., 3, (slice(2, 9), slice(5, 80, 7)), (4, 44), (slice(0, 0),)):
            assert np.array_equal(await array.getitem(selection), values[selection])
        assert np.array_equal(await array.oindex.getitem(([0, 7], [3, 99])), values[np.ix_([0, 7], [3, 99])])
        assert np.array_equal(await array.vindex.getitem(([0, 7], [3, 99])), values[[0, 7], [3, 99]])

    asyncio.run(main())


@pytest.mark.parametrize("shards", [None, (10, 50)])
def test_a_codec_may_run_an_event_loop(store: ObjectStore, shards: Any) -> None:
    """It was called in the thread of the loop that awaits the chunks, which does not run another one."""
    array, values = created(store, {"chunks": (5, 10), "shards": shards, "compressors": InLoop()})

    async def main() -> None:
        for selection in (..., 3, (slice(2, 9), slice(5, 80, 7))):
            assert np.array_equal(await array.getitem(selection), values[selection])

    asyncio.run(main())


def test_absent_chunks_are_fill_values(store: ObjectStore) -> None:
    array = zarrcore.create_array(store, shape=(10,), chunks=(2,), dtype="i4", fill_value=7)._async_array
    assert asyncio.run(array.getitem(...)).tolist() == [7] * 10


def test_a_thousand_at_once_need_no_threads(server: ObjectServer, store: ObjectStore) -> None:
    array, values = created(store, LAYOUTS["chunks"])
    server.latency = 0.02
    before = threading.active_count()
    most = 0

    async def one(at: int) -> Any:
        nonlocal most
        found = await array.getitem(divmod(at, 100))
        most = max(most, threading.active_count())
        return found

    async def main() -> list[Any]:
        return await asyncio.gather(*map(one, range(1000)))

    assert asyncio.run(main()) == values.reshape(-1).tolist()
    assert most <= before


def test_requests_and_waves(server: ObjectServer, store: ObjectStore) -> None:
    values = np.arange(1 << 20, dtype="i4").reshape(1024, 1024)
    array = zarrcore.create_array(store, data=values, chunks=(32, 32), shards=(512, 512))._async_array

    async def read(selection: Any) -> None:
        assert np.array_equal(await array.getitem(selection), values[selection])

    for at, requests, waves in ((3, 4, 2), (40, 2, 1)):
        with server.watch() as seen:
            asyncio.run(read((at, slice(500, 530))))
        assert (len(seen.requests), seen.waves) == (requests, waves), str(seen)


def test_no_more_requests_than_the_setting_allows(server: ObjectServer, store: ObjectStore) -> None:
    array, values = created(store, LAYOUTS["chunks"])

    async def main() -> None:
        assert np.array_equal(await array.getitem(...), values)

    with server.watch() as seen, zarrcore.config.set({"async.concurrency": 5}):
        asyncio.run(main())
    assert (len(seen.requests), seen.waves) == (20, 4)


def test_a_failure_names_the_chunk(server: ObjectServer, store: ObjectStore) -> None:
    for layout in ("chunks", "shards"):
        array, _ = created(store, {**LAYOUTS[layout], "overwrite": True})
        server.fail(403, r"c/0/1$")
        with pytest.raises(zarrcore.errors.ChunkIOError, match=r"c/0/1.*403|403.*c/0/1"):
            asyncio.run(array.getitem(...))
        server.mend()


def test_a_shard_that_is_replaced_is_read_again(server: ObjectServer, store: ObjectStore) -> None:
    array, values = created(store, LAYOUTS["shards"])

    async def main() -> None:
        assert await array.getitem((0, 0)) == values[0, 0]
        other = zarrcore.create_array({}, data=-values[::-1] // 7, **LAYOUTS["shards"])
        for key in [key for key in other.store.list() if "c/" in key]:
            server.objects[f"bucket/{key}"] = bytes(other.store.get(key))
        assert await array.getitem((5, 5)) == (-values[::-1] // 7)[5, 5]

    asyncio.run(main())


def test_a_change_of_shape_is_seen(store: ObjectStore) -> None:
    array, values = created(store, LAYOUTS["chunks"])

    async def main() -> None:
        assert (await array.getitem(...)).shape == (10, 100)
        zarrcore.open_array(store, mode="r+").resize((5, 50))
        assert np.array_equal(await array.getitem(...), values[:5, :50])
        await array.append(values[:1, :50])
        assert np.array_equal((await array.getitem(...))[5], values[0, :50])
        await array.setitem((0, 0), -5)
        assert await array.getitem((0, 0)) == -5

    asyncio.run(main())


def test_cancelling_ends_the_requests() -> None:
    from obstore.store import S3Store

    async def main() -> None:
        asked, ended = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()  # until the client has gone
            ended.set()
            writer.close()

        listening = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        keys = {"access_key_id": "k", "secret_access_key": "s", "region": "us-east-1"}
        remote = ObjectStore(S3Store("bucket", endpoint=url, client_options={"allow_http": True}, **keys))
        metadata = zarrcore.create_array({}, shape=(4,), chunks=(4,), dtype="i4").metadata
        array = zarrcore.Array(metadata, zarrcore.storage.StorePath(remote))._async_array
        reading = asyncio.ensure_future(array.getitem(...))
        await asyncio.wait_for(asked.wait(), 20)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await asyncio.wait_for(ended.wait(), 20)
        listening.close()

    asyncio.run(main())
