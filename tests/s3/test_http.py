# SPDX-License-Identifier: MIT
"""Hierarchies behind a web server that answers ranges and lists nothing."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pytest
from obstore.store import HTTPStore

import zarrcore
from zarrcore.errors import (
    ArrayNotFoundError,
    ChunkIOError,
    GroupNotFoundError,
    NodeIOError,
    ReadOnlyError,
    StoreError,
)
from zarrcore.storage import FsspecStore, ObjectStore, make_store
from zarrcore.storage.options import _UNITS, for_pages

VALUES = np.arange(40 * 30, dtype="i4").reshape(40, 30)
LARGE = np.arange(400 * 300, dtype="i4").reshape(400, 300)  # a shard of this size is not fetched whole


class Files(BaseHTTPRequestHandler):
    """The files below a directory, whole or in part."""

    root: Path
    asked: list[tuple[str, str | None]]
    broken: set[str]
    page: Callable[[Path, str], bytes | None] = staticmethod(lambda path, name: None)  # of a directory
    status = 404  # of a directory without a page
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.asked.append((self.path, asked))
        path = self.root / unquote(self.path).lstrip("/")
        if self.path in self.broken:
            self._answer(503, b"")
        elif path.is_dir():
            page = self.page(path, f"{unquote(self.path).rstrip('/')}/")
            self._answer(self.status if page is None else 200, page or b"", {"Content-Type": "text/html"})
        elif not path.is_file():
            self._answer(404, b"")
        elif asked is None:
            self._answer(200, path.read_bytes())
        else:
            self._answer_part(asked, path.read_bytes())

    do_HEAD = do_GET

    def _answer_part(self, asked: str, data: bytes) -> None:
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start = int(first) if first else max(0, len(data) - int(last))
        stop = min(int(last) + 1, len(data)) if first and last else len(data)
        if start >= len(data):
            self._answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        self._answer(206, data[start:stop], {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"})

    def _answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Accept-Ranges": "bytes", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[type[Files], str]]:
    handler = type("Handler", (Files,), {"root": tmp_path, "asked": [], "broken": set()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["fsspec", "obstore"])
def open_store(request: Any, files: Any) -> Any:
    url = files[1]
    if request.param == "fsspec":
        return lambda: f"{url}/"
    return lambda: ObjectStore(
        HTTPStore.from_url(url, client_options={"allow_http": True}, retry_config={"max_retries": 0})
    )


@pytest.fixture
def root(tmp_path: Path) -> zarrcore.Group:
    root = zarrcore.create_group(tmp_path, attributes={"title": "on the web"})
    root.create_array("shards", data=VALUES, chunks=(5, 5), shards=(20, 10))
    root.create_array("large", data=LARGE, chunks=(50, 50), shards=(400, 300))
    root.create_array("sparse", shape=(40, 30), chunks=(10, 10), dtype="i4", fill_value=-1)[:10, :10] = 4
    zarrcore.consolidate_metadata(tmp_path)
    return root


@pytest.mark.usefixtures("root")
def test_reading(files: Any, open_store: Any) -> None:
    handler, _ = files
    group = zarrcore.open_group(open_store(), mode="r")
    assert group.attrs["title"] == "on the web"
    assert list(group) == ["large", "shards", "sparse"]
    assert np.array_equal(group["shards"][...], VALUES)
    assert np.array_equal(group["shards"][3:5, ::11], VALUES[3:5, ::11])
    handler.asked.clear()
    assert np.array_equal(group["large"][3:5, ::11], LARGE[3:5, ::11])
    assert {path for path, _ in handler.asked} >= {"/large/c/0/0"}
    assert all(asked is not None for path, asked in handler.asked if "/c/" in path), "ranges of a large shard"
    assert (group["sparse"][5:15, 5] == np.repeat([4, -1], 5)).all()
    assert np.array_equal(zarrcore.open_array(open_store(), path="shards", mode="r")[7], VALUES[7])
    with pytest.raises((ReadOnlyError, ValueError)):
        group.create_group("new")


@pytest.mark.usefixtures("root")
def test_a_server_that_fails_is_not_taken_for_an_absent_chunk(files: Any, open_store: Any) -> None:
    handler, _ = files
    group = zarrcore.open_group(open_store(), mode="r")
    handler.broken |= {"/sparse/c/3/2", "/shards/c/1/1"}
    with pytest.raises(ChunkIOError, match="key 'sparse/c/3/2'"):
        group["sparse"][...]
    for selection in (np.s_[...], np.s_[25, 15]):
        with pytest.raises(ChunkIOError, match=r"chunk \(1, 1\)"):
            group["shards"][selection]
    assert np.array_equal(group["shards"][:20], VALUES[:20])


@pytest.mark.usefixtures("root")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of fsspec's blockcache
@pytest.mark.parametrize("cache", ["", "simplecache", "filecache", "blockcache"])
def test_a_failure_behind_a_cache_was_taken_for_absence(
    files: Any, tmp_path_factory: Any, cache: str
) -> None:
    """fsspec's web filesystem, and some caches, say of whatever goes wrong that the file is not found."""
    handler, url = files

    def opened() -> FsspecStore:
        options = {cache: {"cache_storage": str(tmp_path_factory.mktemp("cache"))}} if cache else {}
        return FsspecStore.from_url(f"{cache}::{url}" if cache else url, options)

    store = opened()
    array = zarrcore.open_array(store, path="sparse", mode="r")
    assert (array[5:15, 5] == np.repeat([4, -1], 5)).all()
    handler.broken |= {"/sparse/c/3/2", "/large/zarr.json"}
    with pytest.raises(ChunkIOError, match="key 'sparse/c/3/2'"):
        array[...]
    with pytest.raises(StoreError, match="503"):
        store.get("sparse/c/3/2")
    with pytest.raises(StoreError, match="503"):
        store.get_many(["sparse/c/3/0", "sparse/c/3/2"])
    with pytest.raises(StoreError, match="503"):
        store.exists("sparse/c/3/2")
    assert store.exists("sparse/c/0/0")
    assert not store.exists("sparse/c/3/0")
    for at in (store, opened()):
        with pytest.raises(NodeIOError):
            zarrcore.open_array(at, path="large", mode="r")


def test_nothing_there(open_store: Any) -> None:
    with pytest.raises(ArrayNotFoundError):
        zarrcore.open_array(open_store(), path="nothing", mode="r")


@pytest.mark.parametrize("open_it", [zarrcore.open, zarrcore.open_group])
def test_a_node_that_is_not_there_is_not_found_though_nothing_is_listed(
    open_store: Any, open_it: Any
) -> None:
    with pytest.raises(GroupNotFoundError):
        open_it(open_store(), path="nothing", mode="r")


def test_arrays_are_copied_from_a_server_that_lists_nothing(open_store: Any, root: zarrcore.Group) -> None:
    group = zarrcore.open_group(open_store(), mode="r")
    copied = zarrcore.create_group({})
    zarrcore.copy_all(group, copied)
    for name in root:
        assert np.array_equal(copied[name][...], root[name][...])
    assert copied["sparse"].nchunks_initialized == 1
    assert np.array_equal(zarrcore.from_array({}, data=group["shards"], chunks=(10, 10))[...], VALUES)


# --- what pages list ---

NAMES = ["plain", "é ü", "100%20", "a&b"]


@pytest.fixture
def tree(tmp_path: Path) -> zarrcore.Group:
    tree = zarrcore.create_group(tmp_path, attributes={"title": "not consolidated"})
    for number, name in enumerate(NAMES):
        tree[name] = np.arange(number + 1)
    return tree


@pytest.fixture(params=["URL", "FsspecStore", "filecache"])
def listed(request: Any, files: Any, tmp_path_factory: Any) -> Any:
    """Open the root of the server, in the ways that list by pages."""
    pytest.importorskip("aiohttp")
    kind, url = request.param, files[1]
    if kind == "filecache":
        options = {"filecache": {"cache_storage": str(tmp_path_factory.mktemp("cache"))}}
        return lambda: FsspecStore.from_url(f"filecache::{url}", options)
    return lambda: f"{url}/" if kind == "URL" else FsspecStore.from_url(url)


def page_of(path: Path, *, absolute: str | None = None) -> bytes:
    """Return a page as Apache has it: links that sort it, one out of the directory, and names as in URLs."""
    names = sorted(name + "/" * (path / name).is_dir() for name in os.listdir(path))
    links = [quote(name) if absolute is None else quote(f"{absolute}{name}") for name in names]
    links = ["?C=N;O=D", "?C=M;O=A", "/", "https://example.com/", "#top", *links]
    return "".join(f'<a href="{link}">x</a>\n' for link in links).encode()


@pytest.mark.parametrize("page", [None, b"<a href='/login'>Log in</a>", b"<p>Welcome</p>"])
@pytest.mark.usefixtures("tree")
def test_a_server_that_does_not_list_has_no_empty_groups(files: Any, listed: Any, page: bytes | None) -> None:
    handler, _ = files
    handler.page = staticmethod(lambda path, name: page)
    group = zarrcore.open_group(listed(), mode="r")
    assert group["plain"][...] == 0
    target = zarrcore.create_group({})
    for look in (
        lambda: list(group),
        lambda: list(group.members()),
        lambda: group.tree(),
        lambda: zarrcore.copy_all(group, target),
        lambda: zarrcore.copy_store(listed(), {}),
        lambda: group["plain"].chunk_info(),
        lambda: list(group["plain"].store.list_prefix("plain/c/")),
    ):
        with pytest.raises(StoreError, match="does not list"):
            look()
    assert not zarrcore.verify(listed()).ok
    assert not list(target)


@pytest.mark.parametrize("absolute", [False, True])
def test_pages_are_listed_with_the_names_that_they_mean(
    files: Any, listed: Any, tree: zarrcore.Group, absolute: bool
) -> None:
    handler, _ = files
    handler.page = staticmethod(lambda path, name: page_of(path, absolute=name if absolute else None))
    group = zarrcore.open_group(listed(), mode="r")
    assert sorted(group) == sorted(NAMES)
    assert sorted(group.store.list()) == sorted(tree.store.list())
    assert sorted(group.store.list_dir("é ü/")) == ["c", "zarr.json"]
    assert sorted(group.store.list_prefix("é ü/c/")) == ["é ü/c/0"]
    assert group["plain"].nchunks_initialized == 0, "a chunk of the fill value alone is not stored"
    assert group["a&b"].nchunks_initialized == 1
    copied = zarrcore.create_group({})
    assert zarrcore.copy_all(group, copied)[0] == len(NAMES)
    if isinstance(listed(), str):  # keys with a percent sign are asked for by the names that pages quote
        for name in NAMES:
            assert np.array_equal(copied[name][...], tree[name][...])
    assert zarrcore.verify(listed()).ok


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_directory_that_cannot_be_listed_is_no_empty_one(
    files: Any, listed: Any, tree: zarrcore.Group, status: int
) -> None:
    handler, _ = files
    hidden = "/a%26b/"
    handler.page = staticmethod(lambda path, name: None if quote(name) == hidden else page_of(path))
    handler.status = status
    store = zarrcore.open_group(listed(), mode="r").store
    with pytest.raises(StoreError):
        list(store.list())
    with pytest.raises(StoreError):
        zarrcore.copy_store(listed(), {})


def test_what_is_not_there_is_not_there_on_a_server_that_lists(
    files: Any, listed: Any, tree: zarrcore.Group
) -> None:
    handler, _ = files
    handler.page = staticmethod(lambda path, name: page_of(path))
    assert list(zarrcore.open_group(listed(), mode="r").store.list_prefix("plain/c/")) == []
    with pytest.raises(GroupNotFoundError):
        zarrcore.open(listed(), path="nothing", mode="r")


OPTIONS: list[dict[str, Any]] = [
    {"retry_config": {"max_retries": 0}, "client_options": {"default_headers": {"X-Token": "me"}}},
    {"client_options": {"default_headers": {"X-Token": b"me"}, "timeout": timedelta(seconds=20)}},
    {"client_options": {"default_headers": {"X-Token": "me"}, "connect_timeout": "5s", "user_agent": "us"}},
    {"client_kwargs": {"headers": {"X-Token": "me"}, "trust_env": True, "connect_timeout": 5}},
    {"headers": {"X-Token": "me"}, "block_size": 4096},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.usefixtures("tree")
def test_what_lists_is_given_the_options_of_what_reads(files: Any, options: dict[str, Any]) -> None:
    """Options in the words of obstore were handed to aiohttp, and listing was a TypeError."""
    pytest.importorskip("aiohttp")
    handler, url = files
    handler.page = staticmethod(lambda path, name: page_of(path))
    handler.parse_request = only_with_a_token
    with zarrcore.config.set({"pickle.credentials": True}):
        store = pickle.loads(pickle.dumps(make_store(f"{url}/", storage_options=options)))
    group = zarrcore.open_group(store, mode="r")
    assert sorted(group) == sorted(NAMES)
    assert group["plain"][...] == 0


def test_what_lists_waits_as_long_as_the_options_say() -> None:
    """A time in text was left out, and a page waited for up to 5 minutes."""
    aiohttp = pytest.importorskip("aiohttp")
    times = {"timeout": "1m 30s", "connect_timeout": "500 millis", "read_timeout": timedelta(seconds=7)}
    expected = aiohttp.ClientTimeout(total=90, connect=0.5, sock_read=7)
    assert for_pages({"client_options": times})["timeout"] == expected
    for unit in _UNITS:  # which obstore has as well
        make_store("http://127.0.0.1:9/", storage_options={"client_options": {"timeout": f"2{unit}"}})


def only_with_a_token(self: Files) -> bool:
    """Read a request, which has an answer only with the header that the options have."""
    if not BaseHTTPRequestHandler.parse_request(self):
        return False
    if self.headers.get("X-Token") == "me":
        return True
    self._answer(401, b"")
    return False
