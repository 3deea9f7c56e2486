# SPDX-License-Identifier: MIT
"""Large values of object stores come in parts, over several connections, and all of one version."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import ChunkIOError
from zarrcore.storage import ObjectStore, clients, parts

pytest.importorskip("obstore")

VALUES = np.random.default_rng(0).integers(1, 255, 50_000, dtype="u1")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are small, and a connection brings one in a second."""
    monkeypatch.setattr(parts, "PART", 10_000)
    monkeypatch.setattr(parts, "WORTH_IT", 20_000)
    seconds = itertools.count()
    monkeypatch.setattr(parts, "clock", lambda: next(seconds))


@pytest.fixture(params=["slow", "fast"])
def speed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How soon the beginning of a value is there."""
    if request.param == "fast":
        monkeypatch.setattr(parts, "clock", lambda: 0.0)
    return str(request.param)


def created(store: ObjectStore, values: Any = VALUES, **options: Any) -> zarrcore.Array:
    return zarrcore.create_array(store, data=values, **{"chunks": 50_000, "compressors": None, **options})


LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {},
    "blosc": {"compressors": "auto"},
    "filters in Python": {"filters": [zarrcore.codecs.numcodecs.Delta(dtype="u1")], "compressors": "auto"},
    "format 2": {"zarr_format": 2},
    "strings": {"chunks": 5_000},
}
STRINGS = VALUES[:5_000].astype("U").astype(np.dtypes.StringDType())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_read_is_what_was_written(server: ObjectServer, store: ObjectStore, layout: str) -> None:
    values = STRINGS if layout == "strings" else VALUES
    array = created(store, values, **LAYOUTS[layout])
    size = len(next(data for key, data in server.objects.items() if not key.endswith((".json", ".zarray"))))
    with server.watch() as seen:
        assert np.array_equal(array[...], values)
    assert (len(seen.requests), seen.waves) == (-(-size // 10_000), 2), str(seen)
    assert sum(request.sent for request in seen.requests) == size
    assert all("if-match" in request.headers for request in seen.requests[1:])


def test_where_nothing_limits_a_connection_one_is_enough(
    server: ObjectServer, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = created(store)
    monkeypatch.setattr(parts, "clock", lambda: 0.0)
    with server.watch() as seen:
        assert np.array_equal(array[...], VALUES)
    assert [request.range for request in seen.requests] == ["bytes=0-9999", "bytes=10000-49999"]
    assert "if-match" in seen.requests[1].headers


def test_what_has_come_is_not_copied(store: ObjectStore, speed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of an array may be changed, so that the decoder had bytes made of it."""
    from obstore import Bytes

    array = created(store, VALUES, chunks=25_000)
    monkeypatch.setattr(parts, "LARGE", 10_000)
    for setting in (None, 2):  # several connections, and one for each
        with zarrcore.config.set({"async.concurrency": setting}):
            found = store._get_chunks(["c/0", "c/1"], 25_000)
            assert [type(value) for value in found] == [Bytes, Bytes]
            assert b"".join(map(bytes, found)) == VALUES.tobytes() == array[...].tobytes()


def test_a_large_value_by_one_request(
    server: ObjectServer, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = created(store, np.tile(VALUES, 8))
    monkeypatch.setattr(parts, "LARGE", 10_000)
    with server.watch() as seen:
        assert np.array_equal(array[...], np.tile(VALUES, 8))
    assert [request.range for request in seen.requests] == [None] * 8
    assert store.get("c/3") == VALUES.tobytes()
    assert store.get("c/3", (5, 20_000)) == VALUES[5:20_005].tobytes()
    server.fail("truncated", r"bucket/c/3")
    with pytest.raises(ChunkIOError, match=r"c/3"):
        array[...]


def test_a_value_that_turns_out_to_be_small_is_one_request(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, np.ones(50_000, "u1"), compressors="auto")
    with server.watch() as seen:
        assert array[...].all()
    assert len(seen.requests) == 1


def test_many_values_are_one_request_each(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, np.tile(VALUES, 8))
    with server.watch() as seen:
        assert np.array_equal(array[...], np.tile(VALUES, 8))
    assert [request.range for request in seen.requests] == [None] * 8


def test_no_more_requests_at_once_than_the_setting_allows(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, VALUES[:40_000], chunks=20_000)
    for setting, waves in ((4, 2), (3, 1)):  # of four parts, and of two whole values
        with server.watch() as seen, zarrcore.config.set({"async.concurrency": setting}):
            assert np.array_equal(array[...], VALUES[:40_000])
        assert (len(seen.requests), seen.waves) == (2 * waves, waves), str(seen)


@pytest.mark.parametrize("conditions", [True, False])
@pytest.mark.parametrize("size", [50_000, 30_000])
def test_a_value_that_is_replaced_meanwhile(
    server: ObjectServer,
    store: ObjectStore,
    conditions: bool,
    size: int,
    speed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Never some bytes of the one version and some of the other."""
    array = created(store, VALUES[:size], chunks=size)
    answer, new = server._answer, bytes(reversed(server.objects["bucket/c/0"]))

    def replaced(request: Any) -> Any:
        found = answer(request)
        server.objects["bucket/c/0"] = new
        return found

    server.conditions = conditions
    monkeypatch.setattr(server, "_answer", replaced)
    assert np.array_equal(array[...], VALUES[:size][::-1])


def test_a_store_without_versions(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store)
    server.weak = True
    with server.watch() as seen:
        assert np.array_equal(array[...], VALUES)
    assert [request.range for request in seen.requests] == ["bytes=0-9999", None]


def test_a_server_without_ranges(server: ObjectServer, store: ObjectStore, speed: str) -> None:
    array = created(store)
    server.fail("whole", r"bucket/c/")
    assert np.array_equal(array[...], VALUES)


def test_an_empty_value_is_an_error(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store)
    server.objects["bucket/c/0"] = b""
    with pytest.raises(zarrcore.errors.ChunkDecodeError, match=r"c/0"):
        array[...]


@pytest.mark.parametrize("kind", [403, "reset", "truncated"])
@pytest.mark.parametrize("part", ["bytes=0-", "bytes=30000-"])
def test_a_failure_names_the_chunk(
    server: ObjectServer,
    store: ObjectStore,
    kind: Any,
    part: str,
    speed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    array = created(store, fill_value=9)
    if speed == "fast":
        part = part.replace("3", "1")
    fault = server.fail(kind, r"bucket/c/0")
    monkeypatch.setattr(
        server, "_fault", lambda request: fault if (request.range or "").startswith(part) else None
    )
    with pytest.raises(ChunkIOError, match=r"c/0"):
        array[...]


def test_what_is_larger_than_metadata_justify_is_refused(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store)
    server.objects["bucket/c/0"] = bytes(10 << 20)
    with server.watch() as seen, pytest.raises(ChunkIOError, match=r"c/0"):
        array[...]
    assert len(seen.requests) == 1


def test_absent_values_are_fill_values(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, fill_value=7)
    del server.objects["bucket/c/0"]
    with server.watch() as seen:
        assert (array[...] == 7).all()
    assert len(seen.requests) == 1


def test_in_the_thread_of_an_event_loop(store: ObjectStore) -> None:
    array = created(store, STRINGS)

    async def main() -> Any:
        return array[...]

    found: list[Any] = []
    thread = Thread(target=lambda: found.append(asyncio.run(main())))
    thread.start()
    thread.join()
    assert np.array_equal(found[0], STRINGS)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is handed to obstore to be stored."""
    handed: list[Any] = []
    put = clients.obstore().put

    def noted(store: Any, path: str, data: Any, **options: Any) -> Any:
        if not path.endswith(".json"):
            handed.append(data)
        return put(store, path, data, **options)

    monkeypatch.setattr(clients.obstore(), "put", noted)
    return handed


WRITTEN: dict[str, tuple[Callable[[Any], Any], list[bool]]] = {
    "assigned": (lambda values: values, [True]),
    "seen from behind": (lambda values: values[::-1][::-1], [True]),
    "cast": (lambda values: values.astype("i4"), [False]),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_the_memory_of_the_caller_was_copied_before_it_was_sent(
    server: ObjectServer, store: ObjectStore, sent: list[Any], written: str
) -> None:
    made, shares = WRITTEN[written]
    array, values = created(store), VALUES[::-1].copy()
    del sent[:]
    array[...] = made(values)
    assert [np.shares_memory(data, values) for data in sent] == shares
    del sent[:]
    values.resize(10)  # nobody holds it any more
    assert np.array_equal(array[...], VALUES[::-1])


def test_a_store_that_keeps_what_it_gets_gets_a_copy(sent: list[Any]) -> None:
    from obstore.store import MemoryStore

    values = VALUES.copy()
    array = created(ObjectStore(MemoryStore(), read_only=False), values)
    array[...] = values
    values[:] = 0
    assert np.array_equal(array[...], VALUES)


def test_a_store_of_a_user_gets_bytes(store: ObjectStore) -> None:
    """And it is listed, which never ended where a user had replaced a method."""
    got: list[Any] = []

    class Watched(ObjectStore):
        def set(self, key: str, value: Any) -> None:
            got.append(value)
            super().set(key, value)

    created(Watched(store._client, path="watched"))
    assert {type(value) for value in got} == {bytes}
    assert VALUES.tobytes() in got
