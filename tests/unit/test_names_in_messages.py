# SPDX-License-Identifier: MIT
"""Names from stores reach no terminal as they are, and credentials in URLs reach no message."""

from __future__ import annotations

import json
from typing import Any

import pytest

import zarrcore
from zarrcore.errors import StoreError, masked
from zarrcore.storage import FsspecStore, LoggingStore, MemoryStore

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
        ("abfs://container@account.dfs/a", "abfs://container@account.dfs/a"),
    ],
)
def test_credentials_in_urls_are_masked(url: str, shown: str) -> None:
    assert masked(url) == shown


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
    assert "hunter2" not in "".join([str(caught.value), *caught.value.__notes__])
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
    with pytest.raises(OSError, match="no answer") as caught:
        group.members()
    assert any("memory://" in note and "path 'a'" in note for note in caught.value.__notes__)
