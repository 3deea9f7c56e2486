# SPDX-License-Identifier: MIT
"""What keeps a server from answering is an error that tells all, or is tried again; never absence."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import ChunkIOError, StoreError
from zarrcore.storage import ObjectStore, RangeByteRequest, make_store

pytest.importorskip("obstore")

VALUES = np.arange(400 * 400, dtype="i4").reshape(400, 400)


def words(server: ObjectServer, tries: int) -> dict[str, Any]:
    backoff = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2), "base": 2}
    return {
        "key": "testing",
        "secret": "hidden words",
        "endpoint_url": server.url,
        "retry_config": {"max_retries": tries, "backoff": backoff, "retry_timeout": timedelta(seconds=10)},
        "client_options": {"timeout": timedelta(seconds=1)},
    }


def make(server: ObjectServer, tries: int, **layout: Any) -> zarrcore.Array:
    store = make_store("s3://bucket/data", storage_options=words(server, tries))
    return zarrcore.create_array(store, name="a", data=VALUES, **layout)


LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (100, 100)},
    "shards": {"chunks": (50, 50), "shards": (400, 400), "compressors": None},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [401, 403, 429, 500, 503, "reset", "truncated", "hang"])
def test_what_cannot_be_read_is_an_error(server: ObjectServer, layout: str, kind: Any) -> None:
    array = make(server, 0, **LAYOUTS[layout])
    server.fail(kind, "/c/0/0$")
    for selection in (np.s_[...], np.s_[60, 60], np.s_[60:70, 60:70]):
        with pytest.raises(ChunkIOError, match="key 'a/c/0/0'") as caught:
            array[selection]
        assert "hidden" not in str(caught.value)
        assert "s3://bucket/data" in str(caught.value)
        if isinstance(kind, int):
            assert f"{kind}" in str(caught.value)
    server.mend()
    assert np.array_equal(array[...], VALUES)


@pytest.mark.parametrize("kind", [403, 503, "reset"])
def test_what_cannot_be_opened_or_written_is_an_error(server: ObjectServer, kind: Any) -> None:
    array = make(server, 0, chunks=(100, 100))
    before = dict(server.objects)
    server.fail(kind)
    with pytest.raises(StoreError):
        zarrcore.open_array(array.store, path="a", mode="r")
    with pytest.raises(StoreError):
        zarrcore.create_array(array.store, name="b", shape=(4,), dtype="i4")
    with pytest.raises(ChunkIOError, match="key 'a/c/"):
        array[...] = 0
    with pytest.raises(StoreError):
        [*array.store.list()]
    assert server.objects == before


def test_only_404_is_absence(server: ObjectServer) -> None:
    array = make(server, 0, chunks=(100, 100))
    server.fail(404, "/c/0/0$")
    assert (array[:100, :100] == 0).all()
    assert np.array_equal(array[100:], VALUES[100:])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [429, 500, 503, "reset"])
def test_what_passes_is_tried_again(server: ObjectServer, layout: str, kind: Any) -> None:
    array = make(server, 5, **LAYOUTS[layout])
    for selection in (np.s_[...], np.s_[60, 60]):
        server.fail(kind, "/c/0/0$", times=2)
        assert np.array_equal(array[selection], VALUES[selection])
        assert server._faults[-1].times == 0


def test_tries_are_bounded(server: ObjectServer) -> None:
    array = make(server, 3, chunks=(400, 400))
    server.fail(503, "/c/0/0$")
    server.log.clear()
    with pytest.raises(ChunkIOError, match=r"503.*3 retries|3 retries.*503"):
        array[...]
    assert len(server.log) <= 8  # in a batch, and once more to find out why


def test_all_of_a_value_in_place_of_a_range(server: ObjectServer) -> None:
    array = make(server, 0, **LAYOUTS["shards"])
    server.fail("whole", "/c/0/0$")
    with pytest.raises(ChunkIOError, match="key 'a/c/0/0'.*range"):
        array[60, 60]
    with pytest.raises(StoreError, match=r"key 'a/c/0/0'.*bytes 3 to 9.*range"):
        array.store.get("a/c/0/0", RangeByteRequest(3, 9))


WAITING = """
import os, signal, sys, threading
import zarrcore
signal.signal(signal.SIGINT, signal.default_int_handler)  # who started us may have ignored it
words = {{"anon": True, "endpoint_url": {url!r}}}
store = zarrcore.storage.make_store("s3://bucket/data", storage_options=words)
array = zarrcore.open_array(store, path="a", mode="r")
threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "call", ["array[...]", "array[0, 0]", "store.get('a/c/0/0')", "store.exists('a/c/1/1')"]
)
def test_ctrl_c_while_a_server_is_silent(server: ObjectServer, call: str) -> None:
    make(server, 0, chunks=(100, 100))
    server.fail("hang", "/c/")
    program = WAITING.format(url=server.url, call=call)
    root = Path(zarrcore.__file__).parents[1]  # its threads still wait, which keeps it from ending no longer
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=25, cwd=root, check=True
    )
    assert done.stdout == "interrupted\n"


@pytest.mark.parametrize("name", [None, "group/array"])
def test_a_bucket_that_is_not_there_is_an_error_that_names_the_reason(
    server: ObjectServer, name: str | None
) -> None:
    server.fail(404, "^bucket")
    for mode in (None, "create"):
        store = make_store("s3://bucket/data", storage_options=words(server, 0))
        with pytest.raises(StoreError, match="key 'c/0': FileNotFoundError: .*NoSuchKey$"):
            store.set("c/0", b"1") if mode is None else store.set_if_not_exists("c/0", b"1")
    with pytest.raises(StoreError, match="404 Not Found: NoSuchKey") as caught:
        zarrcore.create_array(store, name=name, data=VALUES)
    assert "\n" not in str(caught.value)


def test_a_bucket_that_is_gone_is_no_array_of_fill_values(server: ObjectServer) -> None:
    """The server answers 404 for it, as for an absent chunk, and names the reason."""
    array = make(server, 0)
    assert (array[...] == VALUES).all()
    server.fail("no bucket")
    for read in (lambda: array[...], lambda: array[0, 0], lambda: array.read_many([0, 1])):
        with pytest.raises(ChunkIOError, match="NoSuchBucket"):
            read()
    for look in (
        lambda: zarrcore.open(array.store, path="a", mode="r"),
        lambda: zarrcore.open_array(array.store, path="a", mode="r"),
        lambda: zarrcore.open_group(array.store, mode="r"),
        lambda: array.store.get("a/c/0/0"),
        lambda: array.store.get("a/c/0/0", RangeByteRequest(0, 2)),
    ):
        with pytest.raises(StoreError, match="NoSuchBucket"):
            look()
    with pytest.raises(StoreError, match=r" NoBucketError: there is no such bucket: "):  # first, and in words
        zarrcore.open(array.store, path="a", mode="r")
    with pytest.raises(StoreError, match="NoSuchBucket"):
        asyncio.run(zarrcore.api.asynchronous.open_array(store=array.store, path="a", mode="r"))


def test_no_document_of_a_server_that_is_not_there_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` tried each document as often as the listing: 25 seconds for a refused connection."""
    options = {"retry_config": {"max_retries": 0}}
    store = make_store("http://127.0.0.1:9/data.zarr", storage_options=options)
    asked = []
    monkeypatch.setattr(type(store), "get", lambda self, key, *_: asked.append(key))
    report = zarrcore.verify(store)
    assert not report.ok and asked == []
    assert "cannot be listed" in str(report) and "http://127.0.0.1:9" in str(report)


def test_no_removal_goes_on_after_the_error_of_another(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was written again after the error was removed by what was still under way."""
    ask = ObjectStore._ask

    def slowly(store: ObjectStore, request: str, *args: Any, **options: Any) -> Any:
        if request == "delete":
            if isinstance(args[0], list) or args[0] == "key0":
                raise PermissionError("no removals")
            time.sleep(0.1)
        return ask(store, request, *args, **options)

    monkeypatch.setattr(ObjectStore, "_ask", slowly)
    store, names = ObjectStore(bucket), [f"key{number}" for number in range(20)]
    with pytest.raises(StoreError, match=r"key0.*no removals"):
        store.erase_values(names)
    for name in names:
        store.set(name, b"new")
    time.sleep(0.3)
    assert [bytes(store.get(name) or b"") for name in names] == [b"new"] * 20
