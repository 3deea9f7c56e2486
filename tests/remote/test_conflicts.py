# SPDX-License-Identifier: MIT
"""What several processes change in an object store at the same time is not lost, nor asked for twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer, Request

import zarrcore
from zarrcore.errors import ConflictError, ContainsArrayError, ZarrUserWarning
from zarrcore.storage import ObjectStore

clients: Any = pytest.importorskip("obstore.store")

VALUES = np.arange(1, 101, dtype="i4")
KEYS: Any = {"access_key_id": "testing", "secret_access_key": "testing", "region": "us-east-1"}
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunk": {"chunks": (100,)},
    "shard": {"chunks": (10,), "shards": (100,)},
    "format 2": {"chunks": (100,), "zarr_format": 2},
    "strings": {"chunks": (100,), "dtype": "str"},
    "shard of strings": {"chunks": (10,), "shards": (100,), "dtype": "str"},
}


@pytest.fixture(params=LAYOUTS)
def layout(request: Any) -> dict[str, Any]:
    return LAYOUTS[request.param]


def created(store: Any, layout: dict[str, Any], **options: Any) -> zarrcore.Array:
    given: dict[str, Any] = {"shape": (100,), "dtype": "i4", **layout, **options}
    return zarrcore.create_array(store, **given)


def elsewhere(
    server: ObjectServer, key: str, change: Callable[[zarrcore.Array], object], times: int = 1
) -> None:
    """Have another process change an array each time before this one stores a key, for so many times."""
    left = [times]

    def intervene(request: Request) -> None:
        if not request.key.endswith(key) or not left[0]:
            return
        left[0] -= 1
        bucket = request.key.partition("/")[0]
        copy = {name.partition("/")[2]: data for name, data in server.objects.items()}
        change(zarrcore.open_array(copy, mode="r+"))
        server.objects.clear()
        server.objects |= {f"{bucket}/{name}": bytes(data) for name, data in copy.items()}

    server.before_put = intervene


def key_of(array: zarrcore.Array) -> str:
    return "0" if array.metadata.zarr_format == 2 else "c/0"


def test_a_part_of_a_chunk_is_two_requests(
    server: ObjectServer, store: ObjectStore, layout: dict[str, Any]
) -> None:
    array = created(store, layout)
    for methods in (["GET", "PUT"], ["GET", "PUT"]):  # the first one is new
        with server.watch() as seen:
            array[10:20] = VALUES[10:20].astype(array.dtype)
        assert [request.method for request in seen.requests] == methods, str(seen)
    assert server.log[-1].headers["if-match"]


def test_a_whole_chunk_is_one_request(
    server: ObjectServer, store: ObjectStore, layout: dict[str, Any]
) -> None:
    array = created(store, layout)
    with server.watch() as seen:
        array[...] = VALUES.astype(array.dtype)
    assert [request.method for request in seen.requests] == ["PUT"], str(seen)


@pytest.mark.parametrize("is_there", [True, False])
def test_what_another_process_writes_to_the_chunk_stays(
    server: ObjectServer, store: ObjectStore, layout: dict[str, Any], is_there: bool
) -> None:
    array = created(store, layout)
    values = VALUES.astype(array.dtype)
    if is_there:
        array[50:60] = values[50:60]

    def write(other: zarrcore.Array) -> None:
        other[10:20] = values[10:20]

    elsewhere(server, key_of(array), write)
    with server.watch() as seen:
        array[30:40] = values[30:40]
    assert [request.method for request in seen.requests] == ["GET", "PUT", "GET", "PUT"], str(seen)
    for part in (slice(10, 20), slice(30, 40), *([slice(50, 60)] if is_there else [])):
        assert np.array_equal(array[part], values[part])


def test_a_chunk_that_another_process_removes_meanwhile(
    server: ObjectServer, store: ObjectStore, layout: dict[str, Any]
) -> None:
    array = created(store, layout)
    values = VALUES.astype(array.dtype)
    array[50:60] = values[50:60]

    def clear(other: zarrcore.Array) -> None:
        other[...] = other.fill_value

    elsewhere(server, key_of(array), clear)
    array[30:40] = values[30:40]
    expected = np.full(100, array.fill_value, values.dtype)
    expected[30:40] = values[30:40]
    assert np.array_equal(array[...], expected)


def test_a_chunk_that_becomes_empty_loses_nothing(
    server: ObjectServer, store: ObjectStore, layout: dict[str, Any]
) -> None:
    array = created(store, layout)
    values = VALUES.astype(array.dtype)
    array[30:40] = values[30:40]

    def write(other: zarrcore.Array) -> None:
        other[10:20] = values[10:20]

    elsewhere(server, key_of(array), write)
    array[30:40] = array.fill_value
    assert np.array_equal(array[10:20], values[10:20])
    assert (array[30:40] == array.fill_value).all()


def test_a_new_chunk_that_stays_empty_is_not_stored(
    server: ObjectServer, store: ObjectStore, layout: dict[str, Any]
) -> None:
    array = created(store, layout)
    with server.watch() as seen:
        array[30:40] = array.fill_value
    assert [request.method for request in seen.requests] == ["GET"]


def test_conflicts_end(server: ObjectServer, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrcore.storage.obstore._LONGEST_WAIT", 0.0)
    array = created(store, LAYOUTS["chunk"])
    array[...] = VALUES

    def write(other: zarrcore.Array) -> None:
        other[0] = int(other[0]) + 1

    elsewhere(server, "c/0", write, times=1000)
    with pytest.raises(zarrcore.errors.ChunkIOError, match=r"c/0.*others have replaced the chunk 100 times"):
        array[50] = 7
    assert array[50] == VALUES[50]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("status", [409, 412])
def test_a_server_that_refuses_one_of_two_changes(
    server: ObjectServer, store: ObjectStore, status: int, is_there: bool
) -> None:
    array = created(store, LAYOUTS["chunk"])
    if is_there:
        array[...] = VALUES
    server.fail(status, r"c/0$", method="PUT", times=2)
    array[50] = 7
    assert array[49:51].tolist() == [50 if is_there else 0, 7]


def test_a_server_without_conditions(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, LAYOUTS["chunk"])
    array[...] = VALUES
    server.fail(501, r"c/0$", method="PUT", times=1)
    with pytest.warns(ZarrUserWarning, match="does not compare versions"):
        array[50] = 7
    array[51] = 8
    assert array[50:52].tolist() == [7, 8]


# --- documents ---


def test_attributes_of_two_processes(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, LAYOUTS["chunk"])
    elsewhere(server, "zarr.json", lambda other: other.update_attributes({"theirs": 1}))
    with server.watch() as seen:
        array.update_attributes({"ours": 2})
    methods = ["PUT", "HEAD", "GET", "PUT"]  # the HEAD asks whether it was this process after all
    assert [request.method for request in seen.requests] == methods, str(seen)
    assert dict(array.attrs) == dict(zarrcore.open_array(store).attrs) == {"theirs": 1, "ours": 2}
    with server.watch() as seen:
        array.update_attributes({"ours": 3})
    assert [request.method for request in seen.requests] == ["PUT"], str(seen)


def test_attributes_of_a_group_of_two_processes(server: ObjectServer, store: ObjectStore) -> None:
    group = zarrcore.create_group(store)
    left = [1]

    def intervene(request: Request) -> None:
        if left:
            left.clear()
            document = json.loads(server.objects[request.key])
            document["attributes"]["theirs"] = 1
            server.objects[request.key] = json.dumps(document).encode()

    server.before_put = intervene
    group.update_attributes({"ours": 2})
    assert dict(group.attrs) == dict(zarrcore.open_group(store).attrs) == {"theirs": 1, "ours": 2}


def test_a_resize_keeps_attributes_of_another_process(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, LAYOUTS["chunk"])
    array[...] = VALUES
    elsewhere(server, "zarr.json", lambda other: other.update_attributes({"theirs": 1}))
    array.resize((50,))
    found = zarrcore.open_array(store)
    assert (found.shape, dict(found.attrs)) == ((50,), {"theirs": 1})
    assert np.array_equal(found[...], VALUES[:50])


def test_an_append_keeps_attributes_of_another_process(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, LAYOUTS["chunk"])
    array[...] = VALUES
    elsewhere(server, "zarr.json", lambda other: other.update_attributes({"theirs": 1}))
    array.append(VALUES)
    with array.writer() as writer:
        elsewhere(server, "zarr.json", lambda other: other.update_attributes({"more": 1}))
        writer.append(VALUES)
    found = zarrcore.open_array(store)
    assert (found.shape, dict(found.attrs)) == ((300,), {"theirs": 1, "more": 1})
    assert np.array_equal(found[...], np.tile(VALUES, 3))


def test_two_processes_that_append_at_the_same_time(server: ObjectServer, store: ObjectStore) -> None:
    array = created(store, LAYOUTS["chunk"])
    array[...] = VALUES
    elsewhere(server, "zarr.json", lambda other: other.append(-VALUES))
    with pytest.raises(ConflictError, match=r"shape \(200,\) by another process"):
        array.append(VALUES)
    assert zarrcore.open_array(store).shape == array.shape == (200,)
    assert np.array_equal(array[100:], -VALUES)


@pytest.fixture
def patient(server: ObjectServer) -> ObjectStore:
    """A store whose client asks again where it gets no answer."""
    soon = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=5), "base": 2}
    retry = {"max_retries": 5, "backoff": soon, "retry_timeout": timedelta(seconds=60)}
    options: Any = {"client_options": {"allow_http": True}, "retry_config": retry}
    return ObjectStore(clients.S3Store("bucket", endpoint=server.url, **KEYS, **options))


def test_an_append_that_is_stored_but_whose_answer_is_lost(
    server: ObjectServer, patient: ObjectStore
) -> None:
    """The client stores once more on the same condition, which its own document does not meet any more."""
    array = created(patient, LAYOUTS["chunk"])
    array[...] = VALUES
    server.fail("lost", r"zarr\.json$", method="PUT", times=1)
    assert array.append(-VALUES) == (200,)
    assert zarrcore.open_array(patient).shape == array.shape == (200,)
    assert np.array_equal(array[100:], -VALUES)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_creation_whose_answer_is_lost(
    server: ObjectServer, patient: ObjectStore, zarr_format: Any
) -> None:
    server.fail("lost", r"(zarr\.json|\.zarray)$", method="PUT", times=1)
    array = created(patient, LAYOUTS["chunk"], zarr_format=zarr_format)
    array[...] = VALUES
    assert np.array_equal(zarrcore.open_array(patient)[...], VALUES)
    with pytest.raises(ContainsArrayError):
        created(patient, LAYOUTS["chunk"], zarr_format=zarr_format)


def test_the_same_document_of_another_process_is_not_taken_for_the_own(
    server: ObjectServer, patient: ObjectStore
) -> None:
    """Two that append as many rows store the same document: only one of them may take it for the own."""
    array = created(patient, LAYOUTS["chunk"])
    array[...] = VALUES
    elsewhere(server, "zarr.json", lambda other: other.append(-VALUES))
    with server.watch() as seen, pytest.raises(ConflictError, match=r"shape \(200,\) by another process"):
        array.append(VALUES)
    assert [request.status for request in seen.requests if request.method == "HEAD"] == [200]


@pytest.mark.parametrize("status", [403, 500])
def test_who_may_not_ask_whose_document_it_is(server: ObjectServer, store: ObjectStore, status: int) -> None:
    created(store, LAYOUTS["chunk"])
    server.fail(status, r"zarr\.json$", method="HEAD")
    assert not store.set_if_not_exists("zarr.json", b"{}")


def test_consolidated_metadata_of_two_processes(server: ObjectServer, store: ObjectStore) -> None:
    root = zarrcore.create_group(store)
    a, b = (root.create_array(name, shape=(10,), dtype="i4") for name in "ab")
    zarrcore.consolidate_metadata(store)
    left = [1]

    def intervene(request: Request) -> None:
        if request.key == "bucket/zarr.json" and left:
            left.clear()
            document = json.loads(server.objects[request.key])
            document["consolidated_metadata"]["metadata"]["b"]["attributes"] = {"theirs": 1}
            server.objects[request.key] = json.dumps(document).encode()

    server.before_put = intervene
    a.update_attributes({"ours": 2})
    found = zarrcore.open_group(store)
    assert dict(found["a"].attrs) == {"ours": 2}
    assert dict(found["b"].attrs) == {"theirs": 1}


def test_consolidating_while_another_process_changes_a_node(server: ObjectServer, store: ObjectStore) -> None:
    root = zarrcore.create_group(store)
    root.create_array("a", shape=(10,), dtype="i4")
    zarrcore.consolidate_metadata(store)
    left = [1]

    def intervene(request: Request) -> None:
        if request.key == "bucket/zarr.json" and left:  # the node, then the copy of it
            left.clear()
            for key in ("bucket/a/zarr.json", "bucket/zarr.json"):
                document = json.loads(server.objects[key])
                copy = document.get("consolidated_metadata", {"metadata": {"a": document}})["metadata"]["a"]
                copy["attributes"] = {"theirs": 1}
                server.objects[key] = json.dumps(document).encode()

    server.before_put = intervene
    zarrcore.consolidate_metadata(store)
    assert dict(zarrcore.open_group(store)["a"].attrs) == {"theirs": 1}


# --- processes ---

PROGRAM = """
import sys
import obstore.store
import zarrcore
from zarrcore.storage import ObjectStore

url, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = ObjectStore(obstore.store.S3Store(
    "bucket", endpoint=url, access_key_id="testing", secret_access_key="testing", region="us-east-1",
    client_options={"allow_http": True},
))
array = zarrcore.open_array(store, mode="r+")
for at in range(number, array.shape[0], count):
    array[at] = at + 1
    if array.shape[0] == 100:
        array.update_attributes({str(at): at})
"""
SOAK = int(os.environ.get("ZC_SOAK", "1"))


def run_processes(server: ObjectServer, program: Path, count: int) -> None:
    """Have so many processes change one array, each of them every `count`-th element."""
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), server.url]
    running = [
        subprocess.Popen([*command, f"{number}", f"{count}"], stderr=subprocess.PIPE)
        for number in range(count)
    ]
    for process in running:
        _, errors = process.communicate(timeout=120 * SOAK)
        assert process.returncode == 0, errors.decode()


@pytest.mark.parametrize("kind", ["chunk", "shard"])
def test_processes_that_write_to_one_chunk(
    server: ObjectServer, store: ObjectStore, tmp_path: Path, kind: str
) -> None:
    created(store, LAYOUTS[kind])
    run_processes(server, tmp_path / "program.py", 3)
    array = zarrcore.open_array(store)
    assert np.array_equal(array[...], VALUES)
    assert dict(array.attrs) == {str(at): at for at in range(100)}


def test_no_overlapping_update_of_four_processes_is_lost(
    server: ObjectServer, store: ObjectStore, tmp_path: Path
) -> None:
    """As test_process_locks.py has it for files: 10,000 updates of each process with ZC_SOAK=200."""
    n = 4 * 50 * SOAK
    zarrcore.create_array(store, shape=(n,), chunks=(10,), shards=(100,), dtype="i4")
    server.keeps_log = False
    run_processes(server, tmp_path / "program.py", 4)
    assert np.array_equal(zarrcore.open_array(store)[...], np.arange(1, n + 1))
