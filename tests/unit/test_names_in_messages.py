# SPDX-License-Identifier: MIT
"""Names from stores reach no terminal as they are, and credentials in URLs reach no message."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, NodeIOError, StoreError, ZarrUserWarning, masked
from zarrcore.storage import FsspecStore, LocalStore, LoggingStore, MemoryStore, WrapperStore, ZipStore

BAD = "x\x1b[31mRED\ny"
SHOWN = r"x\x1b[31mRED\ny"


@pytest.fixture
def group() -> zarrcore.Group:
    root = zarrcore.create_group(MemoryStore())
    root.create_array(BAD, shape=4, chunks=2, dtype="i4", attributes={BAD: 1}, dimension_names=[BAD])
    root.create_group(f"{BAD}2").create_group(BAD)
    return root


def test_names_in_what_is_printed(group: zarrcore.Group) -> None:
    array, below = group[BAD], group[f"{BAD}2"]
    with array.writer() as writer:
        texts = [array, array.info, below, below.info, array.store_path, writer, below.tree()]
        texts += [group.tree(), group.tree()._repr_html_(), group.info, array.attrs]
        for text in map(str, texts):
            assert "\x1b" not in text and "RED\ny" not in text, text
    assert str(group.tree()).splitlines()[1] == f"├── {SHOWN} (4,) int32"


@pytest.mark.parametrize(
    "change",
    [
        {BAD: 1}, {"data_type": BAD}, {"codecs": [{"name": BAD}]}, {"chunk_grid": {"name": BAD}},
        {"chunk_key_encoding": {"name": BAD}}, {"fill_value": BAD}, {"node_type": BAD},
        {"dimension_names": [1, BAD]},
        {"codecs": [{"name": "bytes", "configuration": {BAD: 1}}]}, {"storage_transformers": [{"name": BAD}]},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_names_in_errors(group: zarrcore.Group, change: dict[str, Any]) -> None:
    key = f"{BAD}/zarr.json"
    document = json.loads(group.store.get(key))  # type: ignore[arg-type]
    group.store.set(key, json.dumps({**document, **change}).encode())
    with pytest.raises(ValueError, match="RED") as caught:
        zarrcore.open_array(group.store, path=BAD)[...]
    for text in (str(caught.value), str(group.tree())):
        assert "\x1b" not in text and "RED\ny" not in text, text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://key:secret@bucket/a", "s3://***@bucket/a"),
        ("https://token@host/a b", "https://***@host/a b"),
        ("https://host/a?X-Amz-Signature=ab1&v=2", "https://host/a?X-Amz-Signature=***&v=2"),
        ("https://a.blob/c?sv=1&sig=x%2B", "https://a.blob/c?sv=1&sig=***"),
        ("http://h/?access_token=q 'http://h/?key=1'", "http://h/?access_token=*** 'http://h/?key=***'"),
        ("https://host/a#access_token=q", "https://host/a#access_token=***"),
        ("https://host/a;jsessionid=q/b", "https://host/a;jsessionid=***"),
        ("abfs://container@account.dfs/a", "abfs://container@account.dfs/a"),
    ],
)
def test_credentials_in_urls_are_masked(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_what_a_server_sends_is_masked_in_one_pass() -> None:
    """Each colon after "://" was tried as the one before a password, to the end of the text."""
    text = "://" + ":" * 2_000_000
    assert masked(text) == text


def test_a_page_of_a_server_is_no_message() -> None:
    """A page of a megabyte was a message of a megabyte, in every log."""

    class Refusing(type(fsspec_of_memory())):  # type: ignore[misc]
        def cat_ranges(self, paths: Any, *args: Any, **options: Any) -> Any:
            return [RuntimeError("<html>" * 1_000_000) for _ in paths]

    store = FsspecStore(Refusing(), path="/x")
    with pytest.raises(StoreError, match="key 'c/0': RuntimeError: <html>") as caught:
        store.get("c/0")
    assert len(str(caught.value)) < 3000


def fsspec_of_memory() -> Any:
    return pytest.importorskip("fsspec").filesystem("memory")


def test_a_store_of_a_url_with_credentials_shows_none() -> None:
    fsspec = pytest.importorskip("fsspec")

    class Failing(fsspec.AbstractFileSystem):  # type: ignore[name-defined, misc]
        protocol = "https"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return path

        def info(self, path: str, **_: Any) -> Any:
            raise OSError(f"403: {path}")

        cat_file = _open = info

    store = FsspecStore(Failing(), path="https://me:hunter2@host/a?sig=hunter2")
    logged = LoggingStore(store)
    for text in (str(store), repr(store), repr(logged), logged.logger.name):
        assert "hunter2" not in text and "***" in text
    with pytest.raises(StoreError) as caught:
        zarrcore.open_array(store)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(StoreError) as caught:
        FsspecStore.from_url("unknown://me:hunter2@host/a")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("method", ["get_many", "list_dir"])
def test_an_error_of_a_store_for_the_members_of_a_group_names_the_group(method: str) -> None:
    class Failing(MemoryStore):
        fails = ""

        def get_many(self, keys: Any) -> Any:
            if self.fails == "get_many":
                raise OSError("no answer")
            return super().get_many(keys)

        def list_dir(self, prefix: str) -> Any:
            if self.fails == "list_dir":
                raise OSError("no answer")
            return super().list_dir(prefix)

    store = Failing()
    group = zarrcore.create_group(store, path="a")
    group.create_group("b")
    store.fails = method
    with pytest.raises(NodeIOError, match=r"node 'a' in memory://.*no answer"):
        group.members()


class Failing(WrapperStore):
    """Fails for keys that contain a word, with an error that a client of a store might raise."""

    def __init__(self, store: Any, word: str) -> None:
        super().__init__(store)
        self.word = word

    def _fail(self, key: str) -> None:
        if self.word in key:
            raise OSError(f"403: https://me:hunter2@host/ {BAD}")

    def get(self, key: str, byte_range: Any = None) -> Any:
        self._fail(key)
        return super().get(key, byte_range)

    def set(self, key: str, value: Any) -> None:
        self._fail(key)
        super().set(key, value)


def is_clean(text: object) -> bool:
    return not any(part in str(text) for part in ("\x1b", "RED\ny", "hunter2"))


def test_what_stores_say_in_errors_and_warnings(group: zarrcore.Group) -> None:
    """Also what a client of a store has put into its own error: URLs with credentials, names as they are."""
    group[BAD][...] = 1
    zarrcore.consolidate_metadata(group.store)
    for word, call in (
        ("/c/", lambda root: root[BAD][...]),
        ("/c/", lambda root: root[BAD].set_basic_selection(..., 2)),
        ("RED", lambda root: root[BAD]),
    ):
        store = Failing(group.store, word)
        with pytest.raises(OSError, match="403") as caught:
            call(zarrcore.open_group(store, mode="r+", use_consolidated=False))
        assert is_clean(caught.value)
    array = zarrcore.open_array(Failing(group.store, "/c/"), path=BAD)
    with pytest.warns(ZarrUserWarning, match="403") as warned:
        array.read(on_error="fill")
    report = zarrcore.verify(Failing(group.store, "/c/"), level="data")
    texts = [report, *report.findings, *(warning.message for warning in warned)]
    assert [text for text in texts if not is_clean(text)] == []


def test_names_in_reports_of_migration() -> None:
    store = MemoryStore()
    root = zarrcore.create_group(store, zarr_format=2)
    root.create_group(BAD)
    store.set(f"a{BAD}/.zarray", b"{")
    store.set(f"g{BAD}/.zgroup", json.dumps({"zarr_format": 2, BAD: 1}).encode())
    report = zarrcore.migrate(store, dry_run=True)
    with pytest.raises(ValueError, match="nothing was written") as caught:
        zarrcore.migrate(store)
    for text in (report, *report.nodes, caught.value):
        assert is_clean(text)


@pytest.mark.parametrize("options", [{}, {"storage_options": {"auto_mkdir": True, "password": "hunter2"}}])
def test_a_pickle_has_what_the_store_was_opened_with(options: dict[str, Any], tmp_path: Path) -> None:
    """Credentials alone have to be asked for, as the page on processes has it."""
    pytest.importorskip("fsspec")
    array = zarrcore.create_array(f"local://{tmp_path}", shape=2, dtype="i4", **options)
    array[...] = 7
    with zarrcore.config.set({"pickle.credentials": True}):
        data = pickle.dumps(array)
    assert pickle.loads(data)[...].tolist() == [7, 7]
    assert (b"hunter2" in data) == bool(options)
    data = pickle.dumps(array)
    assert b"hunter2" not in data
    if options:
        with pytest.raises(ValueError, match="without the credentials"):
            pickle.loads(data)[...]
    assert b"\7\0\0\0" not in data and (tmp_path / "zarr.json").read_bytes() not in data


def test_what_stores_say_while_values_are_copied_is_masked(group: zarrcore.Group) -> None:
    """An error of a store went through as it was, with the password in its URL."""
    url = "https://me:hunter2@host/a?sig=hunter2"

    class Failing(WrapperStore):
        fails: str = ""

        def get(self, key: str, byte_range: Any = None) -> Any:
            if self.fails == "get" and "c/" in key:
                raise RuntimeError(f"403: {url}")
            return super().get(key, byte_range)

        def set(self, key: str, value: Any) -> None:
            if self.fails == "set" and "c/" in key:
                raise RuntimeError(f"403: {url}")
            super().set(key, value)

    for fails in ("get", "set"):
        source = zarrcore.create_group(Failing(MemoryStore()))
        source["x"] = np.arange(4)
        target = zarrcore.create_group(Failing(MemoryStore()))
        source.store.fails = target.store.fails = fails
        for copy in (
            lambda: zarrcore.copy_store(source.store, target.store, if_exists="replace"),  # noqa: B023
            lambda: zarrcore.copy(source["x"], target, "y"),  # noqa: B023
            lambda: source.move("x", "moved"),  # noqa: B023
        ):
            with pytest.raises(BaseZarrError) as caught:
                copy()
            text = "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
            assert "hunter2" not in text and "403: https://***@host/a?sig=***" in text


def test_paths_of_stores_that_are_not_there_or_damaged(tmp_path: Path) -> None:
    """The path of a store is a name that others have chosen too."""
    archive = tmp_path / f"{BAD}.zip"
    archive.write_bytes(b"no archive")
    for call in (
        lambda: zarrcore.open(tmp_path / BAD, mode="r"),
        lambda: zarrcore.open_array(archive / "a", mode="r"),
        lambda: LocalStore.open(tmp_path / BAD, mode="r"),
        lambda: zarrcore.open(archive, mode="r"),
        lambda: ZipStore(archive, mode="a").set("a", b""),
    ):
        with pytest.raises((OSError, ValueError), match=r"x\\x1b\[31mRED\\ny") as caught:
            call()
        assert is_clean(caught.value)
    assert all(is_clean(text) for text in (ZipStore(archive), repr(ZipStore(archive))))


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, {BAD: math.nan}, {BAD: [1j]}],
    ids=["an object", "a number as name", "not a number", "complex"],
)
def test_names_of_attributes_that_cannot_be_stored(value: Any) -> None:
    for call in (
        lambda: zarrcore.create_group({}, attributes={BAD: value}),
        lambda: zarrcore.create_group({}).attrs.__setitem__(BAD, value),
    ):
        with pytest.raises((TypeError, ValueError), match=r"attributes.*x\\x1b\[31mRED\\ny") as caught:
            call()
        assert is_clean(caught.value)
