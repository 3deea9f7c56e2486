# SPDX-License-Identifier: MIT
"""A shard that another process replaces while it is read is seen as it was, or as it is, never as both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer, Request

import zarrcore
from zarrcore.storage import (
    CacheStore,
    LoggingStore,
    MemoryStore,
    ObjectStore,
    Store,
    SuffixByteRequest,
    caching,
)

clients: Any = pytest.importorskip("obstore.store")

WORDS: Any = {"client_options": {"allow_http": True}, "retry_config": {"max_retries": 0}}
KEYS: Any = {"access_key_id": "testing", "secret_access_key": "testing", "region": "us-east-1"}
N = 1 << 17  # items of an inner chunk; so that no shard is small enough to be fetched as a whole

LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"compressors": None},
    "large and raw": {"compressors": None, "dtype": "i8"},
    "zstd": {},
    "index at the start": {"shards": {"shape": (8 * N,), "index_location": "start"}},
    "raw, index at the start": {
        "compressors": None,
        "shards": {"shape": (8 * N,), "index_location": "start"},
    },
    "big-endian, filtered": {"dtype": ">i4", "filters": zarrcore.codecs.Delta(), "compressors": None},
}
SELECTIONS: dict[str, Any] = {
    "one item": slice(5, 6),
    "an inner chunk": slice(0, N),
    "across inner chunks": slice(N - 5, 2 * N + 5),
    "first and last": slice(0, 8 * N, 8 * N - 1),
}


@cache
def values_of(version: int) -> np.ndarray:
    """Return values that all differ between versions; the second one has no first inner chunk."""
    values = np.random.default_rng(version).integers(1, 50, 8 * N) + 50 * version
    if version == 1:
        values[:N] = 0
    values.flags.writeable = False
    return values


@cache
def stored(version: int, layout: str) -> dict[str, bytes]:
    store: dict[str, Any] = {}
    given: dict[str, Any] = {"chunks": N, "shards": 8 * N, "dtype": "u1", "fill_value": 0, **LAYOUTS[layout]}
    array = zarrcore.create_array(store, shape=(8 * N,), **given)
    array[...] = values_of(version).astype(array.dtype)
    return {key: bytes(value) for key, value in store.items()}


@pytest.fixture(params=["s3", "az"])
def remote(request: Any, server: ObjectServer) -> ObjectStore:
    if request.param == "s3":
        return ObjectStore(clients.S3Store("bucket", endpoint=server.url, **KEYS, **WORDS))
    client = clients.AzureStore("bucket", account_name="a", skip_signature=True, endpoint=server.url, **WORDS)
    return ObjectStore(client)


def replace_at(server: ObjectServer, number: int, objects: dict[str, bytes]) -> None:
    """Put other objects into the bucket before a request for a chunk, counted from 0, is answered."""
    seen = [0]

    def intervene(request: Request) -> None:
        if "/c/" in request.key:
            if seen[0] == number:
                server.objects |= {f"bucket/{key}": value for key, value in objects.items()}
            seen[0] += 1

    server.before_get = intervene


def check_reads(
    server: ObjectServer, layout: str, read: Callable[[], np.ndarray], versions: list[np.ndarray]
) -> None:
    """Replace the shard at each request of a read: that is of one version, the next one of the new one."""
    old, new = stored(0, layout), stored(1, layout)
    server.objects |= {f"bucket/{key}": value for key, value in old.items()}
    assert np.array_equal(read(), versions[0])
    for number in range(6):
        server.before_get = None
        server.objects |= {f"bucket/{key}": value for key, value in old.items()}
        assert np.array_equal(read(), versions[0])
        replace_at(server, number, new)
        for _ in range(2):
            found = read()
            assert any(np.array_equal(found, version) for version in versions), (number, found[:5])
        server.before_get = None
        server.objects |= {f"bucket/{key}": value for key, value in new.items()}
        assert np.array_equal(read(), versions[1]), number


@pytest.mark.parametrize(  # each two of the three come together
    ("remote", "layout", "selection"),
    [
        pytest.param(("s3", "az")[(row + column) % 2], layout, selection, id=f"{layout}-{name}")
        for row, layout in enumerate(LAYOUTS)
        for column, (name, selection) in enumerate(SELECTIONS.items())
    ],
    indirect=["remote"],
)
def test_a_read_is_of_one_version(
    server: ObjectServer, remote: ObjectStore, layout: str, selection: Any
) -> None:
    versions = [values_of(version)[selection] for version in (0, 1)]
    check_reads(server, layout, lambda: zarrcore.open_array(remote, mode="r")[selection], versions)
    server.reset()
    server.objects |= {f"bucket/{key}": value for key, value in stored(0, layout).items()}
    array = zarrcore.open_array(remote, mode="r")
    check_reads(server, layout, lambda: np.asarray(array[selection]), versions)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_points_are_of_one_version(server: ObjectServer, remote: ObjectStore, layout: str) -> None:
    at = np.random.default_rng(0).integers(0, 8 * N, 50)
    server.objects |= {f"bucket/{key}": value for key, value in stored(0, layout).items()}
    array = zarrcore.open_array(remote, mode="r")
    check_reads(server, layout, lambda: array.vindex[at], [values_of(version)[at] for version in (0, 1)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_read_through_a_cache_of_chunks_is_of_one_version(
    server: ObjectServer, remote: ObjectStore, layout: str
) -> None:
    server.objects |= {f"bucket/{key}": value for key, value in stored(0, layout).items()}
    array = zarrcore.open_array(remote, mode="r").with_cache(zarrcore.ChunkCache(1 << 26))
    for selection in (slice(0, 10), slice(N - 5, 2 * N + 5)):
        versions = [values_of(version)[selection] for version in (0, 1)]
        check_reads(server, layout, lambda s=selection: array[s], versions)  # type: ignore[misc]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_awaited_read_is_of_one_version(server: ObjectServer, remote: ObjectStore, layout: str) -> None:
    selection = slice(N - 5, 2 * N + 5)

    async def read() -> Any:
        array = await zarrcore.api.asynchronous.open_array(store=remote, mode="r")
        return await array.getitem(selection)

    versions = [values_of(version)[selection] for version in (0, 1)]
    check_reads(server, layout, lambda: asyncio.run(read()), versions)


@pytest.mark.parametrize("kind", ["logging", "cached"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_read_through_a_wrapper_is_of_one_version(
    server: ObjectServer, remote: ObjectStore, tmp_path: Path, layout: str, kind: str
) -> None:
    store: Store = LoggingStore(remote, log_level="ERROR")
    if kind == "cached":
        store = CacheStore(remote, tmp_path, max_bytes=1 << 28)
    selection = slice(N - 5, 2 * N + 5)
    server.objects |= {f"bucket/{key}": value for key, value in stored(0, layout).items()}
    array = zarrcore.open_array(store, mode="r")
    versions = [values_of(version)[selection] for version in (0, 1)]
    check_reads(server, layout, lambda: array[selection], versions)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_that_are_kept_are_of_one_version(
    server: ObjectServer, remote: ObjectStore, layout: str
) -> None:
    """What others have changed since may not be seen, but is not mixed with what is kept."""
    old, new = ({f"bucket/{k}": v for k, v in stored(version, layout).items()} for version in (0, 1))
    for first, then in ((slice(0, 5), slice(3 * N, 3 * N + 5)), (slice(3 * N, 4 * N), slice(N - 5, N + 5))):
        server.objects |= old
        store = caching.CacheStore(remote, cache_store=MemoryStore())
        array = zarrcore.open_array(store, mode="r")
        assert np.array_equal(array[first], values_of(0)[first])
        server.objects |= new
        for _ in range(2):
            found = array[then]
            assert any(np.array_equal(found, values_of(version)[then]) for version in (0, 1)), found[:5]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_encoded_inner_chunk_is_of_one_version(
    server: ObjectServer, remote: ObjectStore, layout: str
) -> None:
    encoded = []
    for version in (0, 1):
        objects = stored(version, layout)
        encoded.append(zarrcore.open_array(objects, mode="r").encoded((0,), inner=(1,)).get())
    for number in range(4):
        server.before_get = None
        server.objects |= {f"bucket/{key}": value for key, value in stored(0, layout).items()}
        array = zarrcore.open_array(remote, mode="r")
        replace_at(server, number, stored(1, layout))
        found = array.encoded((0,), inner=(1,)).get()
        assert found is not None
        assert bytes(found) in [bytes(data) for data in encoded if data is not None]


@pytest.mark.parametrize("change", ["compact", "put", "erase"])
def test_what_others_write_beside_changes_of_encoded_chunks_stays(server: ObjectServer, change: str) -> None:
    """These replace a shard on condition as other changes of a part of it do."""
    remote = ObjectStore(clients.S3Store("bucket", endpoint=server.url, **KEYS, **WORDS))
    array = zarrcore.create_array(remote, data=np.arange(40), chunks=10, shards=40, compressors=None)
    if change == "compact":  # some bytes that nothing uses
        shard = server.objects["bucket/c/0"]
        index = np.frombuffer(shard[-68:-4], "<u8") + np.tile(np.array([5, 0], "<u8"), 4)
        checksum = int(zarrcore.kernels.crc32c(index.view("u1")))
        server.objects["bucket/c/0"] = (
            b"spare" + shard[:-68] + index.tobytes() + checksum.to_bytes(4, "little")
        )
        assert np.array_equal(array[...], np.arange(40))
    done: list[Request] = []

    def intervene(request: Request) -> None:
        if request.key == "bucket/c/0" and not done:
            done.append(request)
            copy = {key.partition("/")[2]: value for key, value in server.objects.items()}
            zarrcore.open_array(copy, mode="r+")[5] = 77
            server.objects["bucket/c/0"] = bytes(copy["c/0"])

    server.before_put = intervene
    expected = np.arange(40)
    expected[5] = 77
    chunk = array.encoded((0,), inner=(2,))
    if change == "compact":
        zarrcore.compact(array)
    elif change == "put":
        chunk.put(np.full(10, 9, array.dtype).tobytes())
        expected[20:30] = 9
    else:
        chunk.erase()
        expected[20:30] = 0
    assert done
    assert np.array_equal(array[...], expected)


def test_a_shard_of_strings_is_read_in_one_version(server: ObjectServer, remote: ObjectStore) -> None:
    def text_of(version: int) -> np.ndarray:
        values = [f"{version}{n}" * 40 for n in range(400)]
        if version == 1:
            values[:100] = [""] * 100
        return np.array(values)

    def stored_text(version: int) -> dict[str, bytes]:
        store: dict[str, Any] = {}
        array = zarrcore.create_array(
            store, shape=400, chunks=100, shards=400, dtype=str, fill_value="", compressors=None
        )
        array[...] = text_of(version)
        return {f"bucket/{key}": bytes(value) for key, value in store.items()}

    old, new = stored_text(0), stored_text(1)
    versions = [text_of(version)[:10] for version in (0, 1)]
    for number in range(5):
        server.before_get = None
        server.objects |= old
        array = zarrcore.open_array(remote, mode="r")
        replace_at(server, number, {key.partition("/")[2]: value for key, value in new.items()})
        found = np.asarray(array[:10])
        assert any(np.array_equal(found, version) for version in versions), (number, found[:2])


@pytest.mark.parametrize("writer", [{}, {"immutable": True}, {"retry_config": {"max_retries": 1}}], ids=str)
def test_what_this_process_replaces_is_seen_by_clients_with_other_options(
    server: ObjectServer, writer: dict[str, Any]
) -> None:
    """The index that an immutable store kept was that of a client, and was forgotten by that client alone."""
    server.objects |= {f"bucket/{key}": value for key, value in stored(1, "zstd").items()}
    words = {"key": "me", "secret": "s", "endpoint_url": server.url}
    reader = zarrcore.open_array("s3://bucket", mode="r", storage_options={**words, "immutable": True})
    assert reader[:5].tolist() == [0] * 5
    zarrcore.open_array("s3://bucket", storage_options={**words, **writer})[...] = values_of(2)
    assert np.array_equal(reader[:5], values_of(2)[:5])
    assert np.array_equal(reader[...], values_of(2))


@pytest.mark.parametrize("read", ["waiting", "awaiting"])
def test_an_index_that_arrives_while_it_is_replaced_is_not_kept(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    client = clients.S3Store("bucket", endpoint=server.url, **KEYS, **WORDS)
    store = ObjectStore(client, immutable=True)
    server.objects["bucket/c/0"] = b"old."

    def ask() -> bytes:
        if read == "waiting":
            return bytes(store._get_parts([("c/0", SuffixByteRequest(4))], {})[0] or b"")
        return bytes(asyncio.run(store._awaiting("c/0", SuffixByteRequest(4), None, {})))

    def in_between(*args: Any) -> Any:
        monkeypatch.undo()
        store.set("c/0", b"new.")
        return ObjectStore._is_one(store, *args)

    monkeypatch.setattr(store, "_is_one", in_between)
    assert ask() == b"old."
    assert ask() == b"new."
