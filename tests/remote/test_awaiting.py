# SPDX-License-Identifier: MIT
"""Reads that an event loop awaits: no thread for each, few requests, and none after a cancelled read."""

from __future__ import annotations

import _thread
import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.api import asynchronous
from zarrcore.codecs import BytesBytesCodec
from zarrcore.errors import (
    ArrayNotFoundError,
    GroupNotFoundError,
    NodeIOError,
    NodeNotFoundError,
    NotAGroupError,
    NotAnArrayError,
    ReadOnlyError,
)
from zarrcore.registry import register_codec
from zarrcore.storage import ObjectStore, StorePath

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
    before = _thread._count()
    most = 0

    async def one(at: int) -> Any:
        nonlocal most
        found = await array.getitem(divmod(at, 100))
        most = max(most, _thread._count())
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


def test_as_many_writes_at_once_as_the_executor_has_threads(server: ObjectServer, store: ObjectStore) -> None:
    array, values = created(store, LAYOUTS["chunks"])
    places = [(slice(i, i + 5), slice(j, j + 10)) for i in (0, 5) for j in range(0, 100, 10)]

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(20))
        with server.watch() as seen:
            await asyncio.gather(*(array.setitem(place, -values[place]) for place in places))
        assert (len(seen.requests), seen.waves) == (20, 1), str(seen)
        assert np.array_equal(await array.getitem(...), -values)

    asyncio.run(main())


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


# --- opening ---


async def names(found: AsyncIterator[str]) -> list[str]:
    return [name async for name in found]


def tree(store: ObjectStore, zarr_format: int = 3) -> None:
    root = zarrcore.create_group(store, path="data", attributes={"a": 1}, zarr_format=zarr_format)
    for name in ("x", "y"):
        root.create_array(name, data=VALUES, chunks=(5, 10))
    root.create_group("inner").create_array("z", data=VALUES[0])


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done in a thread."""
    for module in ("arrays.async_array", "groups.async_group", "api.asynchronous"):
        monkeypatch.delattr(f"zarrcore.{module}.in_thread")
        monkeypatch.delattr(f"zarrcore.{module}.to_end")


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("consolidated", [False, True])
def test_nodes_are_opened_without_threads(
    store: ObjectStore, zarr_format: int, consolidated: bool, no_threads: None
) -> None:
    tree(store, zarr_format)
    if consolidated:
        zarrcore.consolidate_metadata(store, path="data")

    async def main() -> None:
        root = await asynchronous.open_group(store, path="data")
        assert root.attrs == {"a": 1} and root.store is store
        assert (root.metadata.consolidated_metadata is not None) == consolidated
        assert await names(root.keys()) == ["inner", "x", "y"]
        assert await names(root.array_keys()) == ["x", "y"]
        assert await names(root.group_keys()) == ["inner"]
        assert {path: type(node) async for path, node in root.members()} == {
            "inner": zarrcore.AsyncGroup,
            "x": zarrcore.AsyncArray,
            "y": zarrcore.AsyncArray,
        }
        assert await root.nmembers() == 3
        assert await root.contains("inner/z") and not await root.contains("x/z")
        assert await root.get("w", 5) == 5
        found = [
            await root.getitem("x"),
            await root.get_array("y"),
            await asynchronous.open_array(store, path="data/x", mode="r"),
            await asynchronous.open(store, path="data/x", zarr_format=zarr_format),
            await zarrcore.AsyncArray.open(StorePath(store, "data/y"), zarr_format),
        ]
        for array in found:
            assert isinstance(array, zarrcore.AsyncArray)
            assert np.array_equal(await array.getitem(...), VALUES)
        assert [array.read_only for array in found] == [False, False, True, False, False]
        inner = await root.get_group("inner")
        assert np.array_equal(await (await inner.getitem("z")).getitem(...), VALUES[0])
        again = await zarrcore.AsyncGroup.open(StorePath(store, "data"), zarr_format)
        assert again.metadata == root.metadata

    asyncio.run(main())


def test_what_is_opened_can_be_changed(store: ObjectStore) -> None:
    tree(store)

    async def main() -> None:
        root = await asynchronous.open_group(store, path="data", mode="r+")
        array = await root.getitem("x")
        await array.setitem((0, 0), -7)
        assert await array.getitem((0, 0)) == -7
        await root.create_array("new", shape=3, dtype="i4")
        assert await root.contains("new")
        await root.delitem("y")
        assert await names(root.keys()) == ["inner", "new", "x"]
        with pytest.raises(ReadOnlyError):
            await (await asynchronous.open_array(store, path="data/x", mode="r")).setitem(..., 1)

    asyncio.run(main())


def test_opening_what_is_not_there(store: ObjectStore) -> None:
    tree(store)

    async def main() -> None:
        for opened, error in (
            (asynchronous.open_array(store, path="data/w"), ArrayNotFoundError),
            (asynchronous.open_array(store, path="data"), NotAnArrayError),
            (asynchronous.open_group(store, path="data/x"), NotAGroupError),
            (asynchronous.open_group(store, path="data/w", mode="r"), GroupNotFoundError),
            (asynchronous.open(store, path="data/w", mode="r"), NodeNotFoundError),
            (zarrcore.AsyncArray.open(StorePath(store, "data/w")), ArrayNotFoundError),
            (zarrcore.AsyncGroup.open(StorePath(store, "data/w")), GroupNotFoundError),
        ):
            with pytest.raises(error):
                await opened
        root = await asynchronous.open_group(store, path="data")
        for found, error in (
            (root.getitem("w"), KeyError),
            (root.get_array("w"), ArrayNotFoundError),
            (root.get_array("inner"), NotAnArrayError),
            (root.get_group("x"), NotAGroupError),
        ):
            with pytest.raises(error, match=r"object|bucket|S3"):
                await found
        made = await asynchronous.open_group(store, path="data/made", attributes={"b": 2})
        assert made.attrs == {"b": 2} and zarrcore.open_group(store, path="data/made", mode="r").attrs == {
            "b": 2
        }
        assert (await asynchronous.open_group(store, path="more")).attrs == {}
        assert zarrcore.open_group(store, path="more", mode="r").attrs == {}

    asyncio.run(main())


def test_opening_asks_as_little_as_without_a_loop(server: ObjectServer, store: ObjectStore) -> None:
    tree(store)
    zarrcore.open(store, path="data")  # from now on it is known which formats there are

    async def main() -> None:
        for requests, waves, call in (
            (1, 1, lambda: asynchronous.open_array(store, path="data/x")),
            (1, 1, lambda: zarrcore.AsyncArray.open(StorePath(store, "data/x"))),
            (1, 1, lambda: root.getitem("inner/z")),
            (4, 2, lambda: drawn(root.members())),
        ):
            with server.watch() as seen:
                await call()
            assert (len(seen.requests), seen.waves) == (requests, waves), str(seen)

    async def drawn(members: Any) -> list[Any]:
        return [node async for _, node in members]

    root = asyncio.run(asynchronous.open_group(store, path="data"))
    asyncio.run(main())


def test_an_array_that_shrinks_while_it_is_opened(server: ObjectServer, store: ObjectStore) -> None:
    tree(store)
    server.latency = 0.05

    async def main() -> None:
        for call in (
            lambda: asynchronous.open_array(store, path="data/x"),
            lambda: zarrcore.AsyncArray.open(StorePath(store, "data/x")),
            lambda: root.getitem("x"),
        ):
            zarrcore.open_array(store, path="data/x").resize((10, 100))
            opening = asyncio.ensure_future(call())
            await asyncio.sleep(0.02)  # the document that is on its way is the old one
            zarrcore.open_array(store, path="data/x").resize((5, 100))
            assert (await (await opening).getitem(...)).shape == (5, 100)

    root = asyncio.run(asynchronous.open_group(store, path="data"))
    asyncio.run(main())


def test_a_refusal_of_a_document_is_an_error(server: ObjectServer, store: ObjectStore) -> None:
    tree(store)
    root = asyncio.run(asynchronous.open_group(store, path="data"))
    server.fail(403, r"x/zarr.json")
    for call in (
        lambda: asynchronous.open_array(store, path="data/x"),
        lambda: asynchronous.open_group(store, path="data/x"),
        lambda: root.getitem("x"),
        lambda: root.contains("x"),
    ):
        with pytest.raises(NodeIOError, match="data/x/zarr.json"):
            asyncio.run(call())
    server.mend()
