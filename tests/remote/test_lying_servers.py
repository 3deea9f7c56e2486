# SPDX-License-Identifier: MIT
"""Web servers whose answers are not what their headers claim."""

from __future__ import annotations

import asyncio
import gzip
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, ChunkIOError, StoreError
from zarrcore.nodes.move import copy_value
from zarrcore.storage import (
    CacheStore,
    LocalStore,
    MemoryStore,
    ObjectStore,
    OffsetByteRequest,
    ReferenceStore,
    Store,
    StorePath,
    SuffixByteRequest,
    ZipStore,
    make_store,
)

pytest.importorskip("obstore")

HUGE = 2**62
WORDS = {
    "client_options": {"timeout": "20s", "allow_http": True},
    "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=8)},
}


@contextmanager
def serving(
    answer: Callable[[str, str, str | None], Iterator[bytes]], authorizations: list[str | None] | None = None
) -> Iterator[str]:
    """The URL of a server: each connection has one request, `answer(method, path, range)` has its answer.

    What requests have as authorization is noted in a list.
    """
    noted = [] if authorizations is None else authorizations

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as lines:
            method, path, _ = lines.readline().decode().split(" ", 2)
            headers = {}
            while line := lines.readline().decode().strip():
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            noted.append(headers.get("authorization"))
            for part in answer(method, path, headers.get("range")):
                connection.sendall(part)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/data"
    finally:
        listener.close()


def head(status: str, **headers: object) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *lines, "", ""]).encode()


def claims_much(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
    """A size that no memory has, and some bytes of it, in several pieces."""
    first = re.match(r"bytes=(\d+)-$", wanted or "")
    if first:
        spans = {
            "Content_Range": f"bytes {first[1]}-{HUGE - 1}/{HUGE}",
            "Content_Length": HUGE - int(first[1]),
        }
        yield head("206 Partial Content", ETag='"a"', **spans)
    else:
        yield head("200 OK", ETag='"a"', Content_Length=HUGE)
    if method == "GET":
        for _ in range(40):
            yield b"x" * (1 << 18)


READS: dict[str, Callable[[Store, str, Path], Any]] = {
    "value": lambda store, url, path: store.get("k"),
    "from an offset": lambda store, url, path: store.get("k", OffsetByteRequest(100)),
    "end": lambda store, url, path: store.get("k", SuffixByteRequest(100)),
    "document": lambda store, url, path: store.get("zarr.json"),
    "cache": lambda store, url, path: CacheStore(store, path, max_bytes=1 << 20).get("k"),
    "end by a cache": lambda store, url, path: CacheStore(store, path, max_bytes=1 << 20).get(
        "k", SuffixByteRequest(100)
    ),
    "archive": lambda store, url, path: [*ZipStore(StorePath(store, "k.zip")).list()],
    "reference": lambda store, url, path: ReferenceStore({"k": [f"{url}/k"]}, storage_options=WORDS).get("k"),
    "references": lambda store, url, path: ReferenceStore(f"{url}/k.json", target_options=WORDS),
    "copy": lambda store, url, path: zarrcore.copy_store(ReferenceStore({"k": [f"{url}/k"]}), {}),
}


@pytest.mark.parametrize("read", READS)
def test_a_size_that_no_memory_has_is_an_error(tmp_path: Path, read: str) -> None:
    """The process ended: obstore makes room for what a server claims, and aborts if there is none."""
    with serving(claims_much) as url, pytest.raises(BaseZarrError) as caught:
        READS[read](make_store(url, storage_options=WORDS), url, tmp_path / "cache")
    assert "recursion" not in str(
        caught.value
    )  # where ranges are ignored, sizes were asked for again and again


VALUES = np.arange(1, 65, dtype="i4").reshape(8, 8)


def test_references_to_whole_files_are_read_as_far_as_metadata_go() -> None:
    """The size was asked for by HEAD, and GET was trusted to have as much."""
    source = MemoryStore()
    zarrcore.create_array(source, data=VALUES, chunks=(4, 4))

    def two_sizes(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        return (
            claims_much(method, path, None) if method == "GET" else iter([head("200 OK", Content_Length=50)])
        )

    with serving(two_sizes) as url:
        refs = {"zarr.json": bytes(source.get("zarr.json") or b"")}
        refs |= {key: [f"{url}/{key}"] for key in source.list() if key != "zarr.json"}  # type: ignore[misc]
        array = zarrcore.open_array(ReferenceStore(refs, storage_options=WORDS), mode="r")
        with pytest.raises(ChunkIOError, match=f"the value has {HUGE} bytes, at most"):
            array[...]
        refs = {"a/zarr.json": [f"{url}/x"]}  # type: ignore[dict-item]
        with pytest.raises(StoreError, match=f"the value has {HUGE} bytes, at most"):
            ReferenceStore(refs, storage_options=WORDS).get("a/zarr.json")


def test_a_large_value_comes_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrcore.storage.object_reads._MOST_ROOM", 1000)
    value = bytes(range(256)) * 40

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        yield head("200 OK", Content_Length=len(value) + 5 * path.endswith("short"))
        yield value[:3000]
        yield value[3000:]

    with serving(answer) as url:
        store = make_store(url, storage_options=WORDS)
        assert store.get("k") == value
        with pytest.raises(StoreError, match="key 'short'"):
            store.get("short")


def test_a_listing_that_never_ends_is_an_error() -> None:
    """A server that returns the same token again and again was asked for ever."""
    page = (
        b'<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><IsTruncated>true</IsTruncated>'
        b"<NextContinuationToken>same</NextContinuationToken><Contents><Key>data/a/c/0</Key><Size>5</Size>"
        b"<LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>a</ETag></Contents></ListBucketResult>"
    )

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        yield head("200 OK", Content_Length=len(page))
        yield page

    with serving(answer) as url:
        words = {"key": "k", "secret": "s", "endpoint_url": url.rpartition("/")[0], **WORDS}
        store = make_store("s3://bucket/data", storage_options=words)
        for call in (store.list, lambda: store.list_prefix("a"), lambda: zarrcore.copy_store(store, {})):
            with pytest.raises(StoreError, match="the server lists the same again and again"):
                [*call()]


def test_not_modified_without_a_condition_is_no_absence(tmp_path: Path) -> None:
    """A cache took it for "there is nothing": chunks were read as fill values."""
    with serving(lambda *_: iter([head("304 Not Modified", ETag='"a"')])) as url:
        store = CacheStore(make_store(url, storage_options=WORDS), tmp_path / "cache", max_bytes=1 << 20)
        for part in (None, SuffixByteRequest(4), (0, 4)):
            with pytest.raises(StoreError, match="304"):
                store.get("c/0", part)


PAGE = b"<!DOCTYPE html><html><head><title>Console</title></head><body>Please sign in.</body></html>"


def shows_a_page(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
    """A page for whatever is asked, as a login, a proxy or a console has it."""
    yield head("200 OK", Content_Type="text/html", Content_Length=len(PAGE), ETag='"a"')
    if method != "HEAD":
        yield PAGE


@pytest.mark.parametrize("kind", ["s3", "gs", "az"])
def test_a_page_is_no_empty_listing(kind: str) -> None:
    """It has no keys: copies were empty, groups without members."""
    with serving(shows_a_page) as url:
        store = in_bucket(kind, url.rpartition("/")[0])
        for call in (
            lambda: zarrcore.copy_store(store, {}),
            lambda: [*store.list()],
            lambda: [*store.list_dir("")],
            lambda: store.is_empty("a"),
            lambda: store.getsize_prefix(""),
        ):
            with pytest.raises((StoreError, OSError)):
                call()


def in_bucket(kind: str, endpoint: str) -> Store:
    made = pytest.importorskip("obstore.store")
    if kind == "s3":
        return ObjectStore(
            made.S3Store(
                "bucket",
                access_key_id="k",
                secret_access_key="s",
                endpoint=endpoint,
                region="us-east-1",
                **WORDS,
            ),
            path="data",
        )
    if kind == "gs":
        return ObjectStore(
            made.GCSStore("bucket", skip_signature=True, base_url=endpoint, **WORDS), path="data"
        )
    return ObjectStore(
        made.AzureStore("bucket", account_name="a", skip_signature=True, endpoint=endpoint, **WORDS),
        path="data",
    )


def test_an_empty_bucket_is_empty() -> None:
    """What nobody can have stored is asked for once."""
    empty = b'<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>'
    empty += b"</ListBucketResult>"
    seen: list[str] = []

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        seen.append(path)
        if "list-type" in path:
            yield head("200 OK", Content_Length=len(empty))
            yield empty
        else:
            yield head("404 Not Found", Content_Length=0)

    with serving(answer) as url:
        store = in_bucket("s3", url.rpartition("/")[0])
        for _ in range(3):
            assert [*store.list()] == [*store.list_dir("")] == []
        assert zarrcore.copy_store(store, {}) == (0, 0, 0)
    assert sum("list-type" not in path for path in seen) == 1


def test_a_copy_to_a_directory_of_a_size_that_no_disk_has_is_an_error(tmp_path: Path) -> None:
    """No room is made for what a server claims, and nothing is left of what came."""
    with serving(claims_much) as url:
        source = make_store(url, storage_options=WORDS)
        with pytest.raises(StoreError, match="key 'k'"):
            copy_value(source, "k", LocalStore(tmp_path), "k")
    assert [*tmp_path.iterdir()] == []


def test_a_value_of_a_server_is_copied_to_a_directory_in_parts(tmp_path: Path) -> None:
    value = np.random.default_rng(7).bytes((21 << 20) + 5)

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        yield head("200 OK", ETag='"a"', Content_Length=len(value))
        yield value

    with serving(answer) as url:
        source = make_store(url, storage_options=WORDS)
        assert copy_value(source, "k", LocalStore(tmp_path), "k") == len(value)
    assert (tmp_path / "k").read_bytes() == value


def span_of(wanted: str | None, size: int) -> tuple[int, int]:
    first, _, last = (wanted or "bytes=0-").removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, size - int(last))
    return start, min(int(last) + 1, size) if first and last else size


def part(status: str, data: bytes, span: tuple[int, int], size: int, **headers: object) -> Iterator[bytes]:
    told = {"Content_Range": f"bytes {span[0]}-{span[1] - 1}/{size}"} if status.startswith("206") else {}
    yield head(status, **{"ETag": '"a"', "Content_Length": len(data), **told, **headers})
    yield data


def truth(status: str, value: bytes, start: int, stop: int) -> Iterator[bytes]:
    return part(status, value[start:stop], (start, stop), len(value))


Lie = Callable[[str, bytes, int, int], Iterator[bytes]]
LIES: dict[str, Lie] = {  # of a status, a value, and the start and stop of the part that is asked for
    "less": lambda status, v, i, j: part(status, v[i : i + 1], (i, i + 1), len(v)),
    "less than it says": lambda status, v, i, j: part(status, v[i : j - 1], (i, j), len(v)),
    "more than it says": lambda status, v, i, j: part(status, v[i:j] + b"more", (i, j), len(v)),
    "another part": lambda status, v, i, j: part(
        status, v[max(0, i - 1) : max(0, i - 1) + j - i], (max(0, i - 1), max(0, i - 1) + j - i), len(v)
    ),
    "nothing": lambda status, v, i, j: part(status, b"", (i, j), len(v)),
    "no content": lambda status, v, i, j: iter([head("204 No Content", ETag='"a"')]),
    "no size": lambda status, v, i, j: part(status, v[i:j], (i, j), len(v), Content_Range=f"bytes {i}-{j}/*"),
    "no such range": lambda status, v, i, j: part("416 Not Satisfiable", b"", (i, j), len(v)),
    "compressed": lambda status, v, i, j: part(
        status, gzip.compress(v[i:j]), (i, j), len(v), Content_Encoding="gzip"
    ),
    "pieces that end early": lambda status, v, i, j: iter(
        [head(status, ETag='"a"', Transfer_Encoding="chunked"), b"1\r\n" + v[i : i + 1] + b"\r\n"]
    ),
    "another page": lambda status, v, i, j: part("200 OK", PAGE, (0, len(PAGE)), len(PAGE)),
    "in circles": lambda status, v, i, j: iter(
        [head("302 Found", Location="/data/a/c/0/0", Content_Length=0)]
    ),
    "half": lambda status, v, i, j: part(
        "206 Partial Content", v[i : (i + j) // 2], (i, (i + j) // 2), len(v)
    ),  # of a whole value, too
    "another size": lambda status, v, i, j: part(status, v[i:j], (i, j), len(v) + 1000),
    "a part without its place": lambda status, v, i, j: part(
        status, v[i:j], (i, j), len(v), Content_Range="", Content_Type="application/octet-stream"
    ),
    "parts of a message": lambda status, v, i, j: in_a_message(v[i:j], i, j, len(v)),
    "all of it": lambda status, v, i, j: part("200 OK", v, (0, len(v)), len(v)),
    "nothing, and no error": lambda status, v, i, j: part("200 OK", b"", (0, 0), 0),
    "a connection that ends": lambda status, v, i, j: iter(
        [head("200 OK", ETag='"a"'), v[: max(1, len(v) // 2)]]
    ),  # without a length, so that nothing shows how much is missing
}


def in_a_message(data: bytes, start: int, stop: int, size: int) -> Iterator[bytes]:
    place = f"Content-Range: bytes {start}-{stop - 1}/{size}"
    body = f"--x\r\n{place}\r\n\r\n".encode() + data + b"\r\n--x--\r\n"
    kind = "multipart/byteranges; boundary=x"
    yield head("206 Partial Content", ETag='"a"', Content_Type=kind, Content_Length=len(body))
    yield body


LAYOUTS: dict[str, dict[str, Any]] = {  # small shards are fetched as a whole, of others indexes and ranges
    "chunks": {"chunks": (100, 100)},
    "small shards": {"chunks": (10, 10), "shards": (40, 40)},
    "shards": {"chunks": (100, 100), "shards": (400, 400)},
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_what_was_asked_for_is_never_taken_for_values(lie: str, layout: str) -> None:
    values: dict[str, Any] = {}
    size = 40 if layout == "small shards" else 400
    expected = np.arange(1, size * size + 1).reshape(size, size)
    zarrcore.create_array(values, name="a", data=expected, compressors=None, **LAYOUTS[layout])

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        value = values.get(path.removeprefix("/data/"))
        if value is None:
            yield head("404 Not Found", Content_Length=0)
            return
        tell = LIES[lie] if "/c/0/0" in path else truth
        status = "206 Partial Content" if wanted else "200 OK"
        yield from tell(status, bytes(value), *span_of(wanted, len(value)))

    with serving(answer) as url:
        array = zarrcore.open_array(make_store(url, storage_options=WORDS), path="a", mode="r")
        reads: list[Callable[[Any], Any]] = [
            array.__getitem__,
            lambda selection: asyncio.run(array._async_array.getitem(selection)),
        ]
        for selection in (..., (3, 3), (size // 3, size // 3), (slice(0, 40, 7), 5)):
            for read in reads:
                try:
                    found = read(selection)
                except BaseZarrError as error:
                    assert "key 'a/c/0/0'" in str(error)
                else:  # it was no lie, as where the whole value is asked for
                    assert np.array_equal(found, expected[selection])


def served(values: dict[str, Any], path: str, wanted: str | None) -> Iterator[bytes]:
    value = values.get(path.removeprefix("/data/"))
    if value is None:
        return iter([head("404 Not Found", Content_Length=0)])
    data = bytes(value)
    return truth("206 Partial Content" if wanted else "200 OK", data, *span_of(wanted, len(data)))


def test_another_server_has_the_values_and_not_the_password() -> None:
    """A web server sends on to where the files are, which may belong to somebody else."""
    values: dict[str, Any] = {}
    expected = np.arange(400 * 400).reshape(400, 400)
    zarrcore.create_array(values, name="a", data=expected, **LAYOUTS["shards"])
    near: list[str | None] = []
    far: list[str | None] = []

    def sends_on(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        yield head(
            "307 Temporary Redirect", Location=f"{there.removesuffix('/data')}{path}", Content_Length=0
        )

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        return served(values, path, wanted)

    with serving(answer, far) as there, serving(sends_on, near) as url:
        client = {**WORDS["client_options"], "default_headers": {"authorization": "Bearer secret"}}
        store = make_store(url, storage_options={**WORDS, "client_options": client})
        array = zarrcore.open_array(store, path="a", mode="r")
        assert array[150, 150] == expected[150, 150]
        assert np.array_equal(array[...], expected)
    assert set(near) == {"Bearer secret"} and set(far) == {None}


@pytest.mark.parametrize("wait", ["0", "3600", "Fri, 31 Dec 2100 23:59:59 GMT", "soon"])
def test_a_server_that_is_busy_is_asked_again_in_good_time(wait: str) -> None:
    """Whatever time it names; one that stays busy is an error."""
    values: dict[str, Any] = {}
    zarrcore.create_array(values, name="a", data=VALUES, chunks=(4, 4))
    busy = {"/data/a/c/0/0": 2, "/data/a/c/1/1": 1_000_000}

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        if busy.get(path, 0) > 0:
            busy[path] -= 1
            return iter([head("503 Slow Down", Retry_After=wait, Content_Length=0)])
        return served(values, path, wanted)

    backoff = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=2), "base": 2}
    again = {"max_retries": 5, "backoff": backoff, "retry_timeout": timedelta(seconds=5)}
    with serving(answer) as url:
        store = make_store(url, storage_options={**WORDS, "retry_config": again})
        array = zarrcore.open_array(store, path="a", mode="r")
        assert np.array_equal(array[:4, :4], VALUES[:4, :4])
        with pytest.raises(ChunkIOError, match=r"key 'a/c/1/1'.*503"):
            array[...]


@pytest.mark.parametrize("layout", ["chunks", "small shards", "shards"])
def test_a_value_that_comes_a_byte_at_a_time_is_an_error_in_time(layout: str) -> None:
    """Something always arrives, so what counts is how long all of it takes."""
    values: dict[str, Any] = {}
    size = 40 if layout == "small shards" else 400
    expected = np.arange(size * size).reshape(size, size)
    zarrcore.create_array(values, name="a", data=expected, compressors=None, **LAYOUTS[layout])
    ended = threading.Event()

    def answer(method: str, path: str, wanted: str | None) -> Iterator[bytes]:
        parts = served(values, path, wanted)
        yield next(parts)
        data = b"".join(parts)
        if "/c/" in path:
            for number in range(len(data) - 1):
                yield data[number : number + 1]
                if ended.wait(0.02):
                    return
        yield data

    client = {**WORDS["client_options"], "timeout": "500ms"}
    with serving(answer) as url:
        store = make_store(url, storage_options={**WORDS, "client_options": client})
        array = zarrcore.open_array(store, path="a", mode="r")
        for read in (
            lambda: array[...],
            lambda: array[size // 3, size // 3],
            lambda: asyncio.run(array._async_array.getitem((0, 0))),
        ):
            with pytest.raises(ChunkIOError, match="key 'a/c/"):
                read()
        ended.set()


ENDLESS = """
import itertools, socket, sys, threading
import zarrcore
from zarrcore.storage import make_store

def serve(connection, pages):
    with connection, connection.makefile("rb") as lines:
        while line := lines.readline().strip():
            n = next(pages)
            while lines.readline().strip():
                pass
            page = '<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><IsTruncated>true</IsTruncated>'
            page += f"<NextContinuationToken>{n}</NextContinuationToken><Contents><Key>data/a/c/{n}</Key>"
            page += "<Size>5</Size><LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>a</ETag>"
            page += "</Contents></ListBucketResult>"
            connection.sendall(f"HTTP/1.1 200 OK\\r\\nContent-Length: {len(page)}\\r\\n\\r\\n{page}".encode())
            if n == 20:
                print("listing", flush=True)

def accept(listener, pages):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], pages), daemon=True).start()

listener = socket.create_server(("127.0.0.1", 0), backlog=64)
threading.Thread(target=accept, args=(listener, itertools.count()), daemon=True).start()
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
options = {"key": "k", "secret": "s", "endpoint_url": url, "client_options": {"allow_http": True}}
store = make_store("s3://bucket/data", storage_options=options)
try:
    CALL
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    ["[*store.list()]", "[*store.list_dir('a')]", "zarrcore.copy_store(store, {})", "store.is_empty('b')"],
)
def test_ctrl_c_ends_a_listing_that_has_no_end(call: str) -> None:
    """Nobody knows how many keys a store may have, so that no number of pages is an error."""
    program = [sys.executable, "-c", ENDLESS.replace("CALL", call)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listing\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n"
