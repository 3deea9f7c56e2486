# SPDX-License-Identifier: MIT
"""One place in a cloud is the same through fsspec and obstore: for locks, and for copies onto itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.storage import FsspecStore, LocalStore, ObjectStore, StorePath, make_store
from zarrcore.storage.servers import place_of_files
from zarrcore.testing.threads import in_threads

pytest.importorskip("obstore")
fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no config"))


@pytest.fixture
def words(server: ObjectServer) -> dict[str, Any]:
    return {"key": "testing", "secret": "hidden words", "endpoint_url": server.url}


@pytest.mark.threads
def test_no_update_of_a_chunk_is_lost_between_fsspec_and_obstore(
    server: ObjectServer, words: dict[str, Any]
) -> None:
    """Each had a lock of its own, and what the other one had written to the chunk was replaced."""
    pytest.importorskip("s3fs")
    theirs = FsspecStore.from_url("s3://bucket/data", words)
    one = zarrcore.create_array(theirs, name="a", shape=8, chunks=8, dtype="i4", compressors=None)
    other = zarrcore.open_array(make_store("s3://bucket/data", storage_options=words), path="a", mode="r+")
    server.latency = 0.02
    in_threads(*(lambda at=at: (one, other)[at % 2].__setitem__(at, at + 1) for at in range(8)))
    assert one[:].tolist() == [*range(1, 9)]


def test_places_of_filesystems_are_those_of_urls(server: ObjectServer, words: dict[str, Any]) -> None:
    s3 = pytest.importorskip("s3fs").S3FileSystem(
        key="k", secret="s", client_kwargs={"endpoint_url": f"{server.url}/"}
    )
    virtual = {**words, "config_kwargs": {"s3": {"addressing_style": "virtual"}}}
    stores = [
        make_store("s3://bucket/data", storage_options=words),
        make_store("s3://bucket/data", storage_options=virtual),
        FsspecStore(s3, path="bucket/data"),
        FsspecStore.from_url("simplecache::s3://bucket/data", {"s3": words}),
        FsspecStore(fsspec.filesystem("dir", path="bucket", fs=s3), path="data"),
    ]
    assert {store._scope("a") for store in stores} == {stores[0]._address("a")}
    assert StorePath(stores[0], "a")._overlaps(StorePath(stores[2]))
    with pytest.raises(ValueError, match="which lies in it"):
        zarrcore.copy_store(stores[0], stores[2])


def test_a_directory_of_this_machine_below_another_filesystem(tmp_path: Path) -> None:
    below = FsspecStore(fsspec.filesystem("dir", path=str(tmp_path), fs=fsspec.filesystem("file")), path="a")
    assert below._scope("b") == LocalStore(tmp_path)._scope("a/b")


AZURE = "abfs", "az"


@pytest.mark.parametrize(
    ("protocols", "options", "url", "words"),
    [
        (("s3", "s3a"), {}, "s3://b/p", {"anon": True}),
        (("s3", "s3a"), {"endpoint_url": "https://s3.eu-north-1.amazonaws.com"}, "s3a://b/p", {"anon": True}),
        (("s3",), {"client_kwargs": {"endpoint_url": "http://h"}}, "s3://b/p", {"aws_endpoint": "http://h/"}),
        (("gs", "gcs"), {"token": "browser"}, "gcs://b/p", {"token": "anon"}),
        (("gs",), {"endpoint_url": "http://h"}, "gs://b/p", {"token": "anon", "base_url": "http://h"}),
        (AZURE, {"account_name": "a", "credential": object()}, "abfs://b@a.dfs.core.windows.net/p", {}),
        (
            AZURE,
            {"account_name": "a", "account_host": "a.blob.core.windows.net"},
            "az://b/p",
            {"account_name": "a"},
        ),
        (AZURE, {"connection_string": "AccountName=a;AccountKey=aGk="}, "az://b/p", {"account_name": "a"}),
        (
            AZURE,
            {"account_name": "a", "account_host": "a.blob.core.chinacloudapi.cn"},
            "abfs://b@a.dfs.core.chinacloudapi.cn/p",
            {},
        ),
    ],
)
def test_servers_in_the_words_of_either(
    protocols: tuple[str, ...], options: dict[str, Any], url: str, words: dict[str, Any]
) -> None:
    store = make_store(url, storage_options=words)
    assert isinstance(store, ObjectStore)
    assert f"{place_of_files(protocols, options, 'b/p')}/" == store._address("")


def test_web_servers(server: ObjectServer) -> None:
    pytest.importorskip("aiohttp")
    url = f"{server.url}/a%20b"
    assert FsspecStore.from_url(url)._address("c") == make_store(url)._address("c")


def test_other_accounts_and_servers_are_other_places(words: dict[str, Any]) -> None:
    other = {**words, "endpoint_url": "http://127.0.0.1:9"}
    one, two = (make_store("s3://bucket", storage_options=each) for each in (words, other))
    assert one._scope("") != two._scope("")
    accounts = {place_of_files(AZURE, {"account_name": name}, "b/p") for name in "ab"}
    assert len(accounts) == 2


def test_keys_are_sent_to_the_server_of_the_profile(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those in the options went to Amazon, and s3fs sent them elsewhere."""
    file = tmp_path / "config"
    file.write_text(f"[default]\nendpoint_url = {server.url}\nregion = eu-north-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    server.objects["bucket/data/k"] = b"value"
    for keys in ({"key": "testing", "secret": "s"}, {"anon": True}):
        store = make_store("s3://bucket/data", storage_options=keys)
        assert store.get("k") == b"value"
        assert f"{place_of_files(('s3',), keys, 'bucket/data')}/" == store._address("")
        assert ("region" in store.store.config) == ("key" in keys)  # what is public is in any region
