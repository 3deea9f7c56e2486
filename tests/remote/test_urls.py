# SPDX-License-Identifier: MIT
"""URLs of buckets and web servers are opened by obstore, with the options of fsspec or of obstore."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import StoreError
from zarrcore.storage import FsspecStore, ObjectStore, StorePath, clients, make_store
from zarrcore.testing.store import StoreTests

pytest.importorskip("obstore")

VALUES = np.arange(40 * 30, dtype="f8").reshape(40, 30)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What somebody has configured for clouds is not seen here."""
    import os

    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "STORAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def options(server: ObjectServer, **more: Any) -> dict[str, Any]:
    return {"key": "testing", "secret": "hidden words", "endpoint_url": server.url, **more}


class TestUrl(StoreTests):
    @pytest.fixture(autouse=True)
    def _on(self, server: ObjectServer) -> Iterator[None]:
        self.server = server
        with zarrcore.config.set({"pickle.credentials": True}):
            yield

    def make_store(self, tmp_path: Any) -> Any:
        return make_store("s3://bucket/some/path", storage_options=options(self.server))


def test_an_array(server: ObjectServer) -> None:
    url = "s3://bucket/data.zarr"
    zarrcore.create_array(url, data=VALUES, chunks=(10, 10), storage_options=options(server))
    array = zarrcore.open_array(url, mode="r", storage_options=options(server))
    assert isinstance(array.store, ObjectStore)
    assert np.array_equal(array[...], VALUES)
    assert {key.partition("/c/")[0] for key in server.objects} == {
        "bucket/data.zarr/zarr.json",
        "bucket/data.zarr",
    }
    assert str(array.store) == url


def test_a_web_server(server: ObjectServer) -> None:
    zarrcore.create_array("s3://site/my data", data=VALUES, storage_options=options(server))
    array = zarrcore.open_array(f"{server.url}/site/my%20data", mode="r")
    assert isinstance(array.store, ObjectStore)
    assert np.array_equal(array[...], VALUES)
    headers = {"client_kwargs": {"headers": {"X-Token": "hidden"}}}
    zarrcore.open_array(f"{server.url}/site/my%20data", mode="r", storage_options=headers)
    assert server.log[-1].headers["x-token"] == "hidden"


@pytest.mark.parametrize(
    "words",
    [
        {"key": "me", "secret": "s", "token": "t", "client_kwargs": {"endpoint_url": "URL"}},
        {"username": "me", "password": "s", "token": "t", "endpoint_url": "URL", "use_listings_cache": False},
        {
            "client_kwargs": {
                "aws_access_key_id": "me",
                "aws_secret_access_key": "s",
                "aws_session_token": "t",
            }
        },
        {"access_key_id": "me", "secret_access_key": "s", "session_token": "t", "endpoint": "URL"},
        {
            "config": {"access_key_id": "me", "secret_access_key": "s", "session_token": "t"},
            "endpoint": "URL",
        },
        {"aws_access_key_id": "me", "aws_secret_access_key": "s", "aws_session_token": "t"},
    ],
)
def test_keys_in_the_words_of_both(
    server: ObjectServer, words: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "URL" not in str(words):
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    put_in = {"URL": server.url}
    given = {
        name: {word: put_in.get(value, value) for word, value in item.items()}
        if isinstance(item, dict)
        else put_in.get(item, item)
        for name, item in words.items()
    }
    server.private = True
    server.objects["bucket/k"] = b"value"
    store = make_store("s3://bucket", storage_options=given)
    assert isinstance(store, ObjectStore)
    assert store.get("k") == b"value"
    assert "Credential=me/" in server.log[-1].headers["authorization"]
    assert server.log[-1].headers["x-amz-security-token"] == "t"


def test_keys_in_the_environment(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.private = True
    server.objects["bucket/k"] = b"value"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from outside")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    assert make_store("s3://bucket").get("k") == b"value"
    assert "Credential=from outside/" in server.log[-1].headers["authorization"]


@pytest.mark.parametrize("how", ["profile=", "AWS_PROFILE"])
def test_keys_in_a_profile(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[{how}]\naws_access_key_id = from {how}\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    given: dict[str, Any] = {"endpoint_url": server.url}
    if how == "profile=":
        given["profile"] = how
    else:
        monkeypatch.setenv(how, how)
    server.objects["bucket/k"] = b"value"
    assert make_store("s3://bucket", storage_options=given).get("k") == b"value"
    assert f"Credential=from {how}/" in server.log[-1].headers["authorization"]
    with pytest.raises(StoreError, match="no profile 'nobody'"):
        make_store("s3://bucket", storage_options={"profile": "nobody"})


def test_nobody_signs_for_anonymous_access(server: ObjectServer) -> None:
    server.objects["bucket/k"] = b"value"
    for words in ({"anon": True}, {"skip_signature": True}):
        store = make_store("s3://bucket", storage_options={"endpoint_url": server.url, **words})
        assert store.get("k") == b"value"
        assert "authorization" not in server.log[-1].headers
    server.private = True
    with pytest.raises(StoreError, match="key 'k'.*PermissionDenied"):
        store.get("k")


def test_a_bucket_in_another_region(server: ObjectServer) -> None:
    server.region = "eu-north-1"
    server.objects["bucket/k"] = b"value"
    assert [*make_store("s3://bucket", storage_options=options(server)).list()] == ["k"]
    store = make_store("s3://bucket", storage_options=options(server, anon=False, requester_pays=True))
    assert store.get("k") == b"value"
    with server.watch() as seen:
        assert store.get("k") == b"value"
    assert len(seen.requests) == 1  # the region is remembered


@pytest.mark.threads
def test_threads_that_learn_of_another_region_at_once(server: ObjectServer) -> None:
    """The first one learned it; the others, whose requests were on their way by then, failed."""
    server.region = "eu-north-1"
    server.objects["bucket/k"] = b"value"
    for trial in range(5):
        store = make_store("s3://bucket", storage_options=options(server, key=f"{trial}"))
        assert store.get_partial_values([("k", None)] * 8) == [b"value"] * 8


@pytest.mark.parametrize(
    ("url", "words", "expected"),
    [
        ("gs://b/p", {"token": "anon", "project": "x"}, {"bucket": "b", "skip_signature": "true"}),
        (
            "gcs://b",
            {"token": "anon", "endpoint_url": "http://host"},
            {"bucket": "b", "skip_signature": "true", "base_url": "http://host"},
        ),
        (
            "az://c/p",
            {"account_name": "a", "account_key": "aGVsbG8="},
            {"container_name": "c", "account_name": "a", "account_key": "aGVsbG8="},
        ),
        (
            "abfs://c@a.dfs.core.windows.net/p",
            {"sas_token": "sv=1&sig=2"},
            {"container_name": "c", "account_name": "a", "sas_key": "sv=1&sig=2"},
        ),
        (
            "abfs://c/p",
            {"account_name": "a"},
            {"container_name": "c", "account_name": "a", "skip_signature": "true"},
        ),
        (
            "az://c",
            {"connection_string": "AccountName=a;AccountKey=aGVsbG8=;BlobEndpoint=http://h/a"},
            {
                "container_name": "c",
                "account_name": "a",
                "account_key": "aGVsbG8=",
                "endpoint": "http://h/a",
            },
        ),
    ],
)
def test_other_clouds(url: str, words: dict[str, Any], expected: dict[str, Any]) -> None:
    store = make_store(url, storage_options=words)
    assert isinstance(store, ObjectStore)
    assert store.path == ("p" if url.endswith("/p") else "")
    assert dict(store.store.config) == expected


def test_a_bucket_has_one_client(server: ObjectServer) -> None:
    stores = [make_store(f"s3://bucket/{n}", storage_options=options(server)) for n in range(3)]
    assert len({id(store.store) for store in stores}) == 1
    for store in stores:
        store.set("k", b"")
    other = make_store("s3://bucket/0", storage_options=options(server, token="t"))
    assert other.store is not stores[0].store
    assert other != stores[0] != stores[1]
    assert stores[0] == make_store("s3://bucket/0", storage_options=options(server))


def test_places_are_known_whoever_opens_them(server: ObjectServer, bucket: Any) -> None:
    url = StorePath(make_store("s3://bucket/a", storage_options=options(server)), "b")
    assert url._overlaps(StorePath(ObjectStore(bucket), "a"))
    assert StorePath(ObjectStore(bucket), "a/b/c").store._scope("a/b") == url.store._scope("b")
    elsewhere = make_store(
        "s3://bucket/a", storage_options=options(server, endpoint_url="http://127.0.0.1:9")
    )
    assert not url._overlaps(StorePath(elsewhere, "b"))


def test_a_store_goes_to_other_processes(server: ObjectServer) -> None:
    store = make_store("s3://bucket/a", storage_options=options(server))
    store.set("k", b"value")
    with zarrcore.config.set({"pickle.credentials": True}):
        copy = pickle.loads(pickle.dumps(store))
    assert copy == store
    assert copy.store is store.store
    assert copy.get("k") == b"value"


@pytest.mark.parametrize("words", [{"version_aware": True}, {"anno": True}, {"client_kwargs": {"x": 1}}])
def test_options_that_obstore_does_not_know(words: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="version_aware|anno|client_kwargs"):
        ObjectStore.from_url("s3://bucket", words)
    if find_spec("s3fs") is None:
        with pytest.raises(StoreError, match="version_aware|anno|client_kwargs") as caught:
            make_store("s3://bucket", storage_options=words)
        assert "pip install s3fs" in caught.value.__notes__[0]
    elif "version_aware" in words:
        assert isinstance(make_store("s3://bucket", storage_options=words), FsspecStore)


def test_what_only_fsspec_opens() -> None:
    for url in ("memory://x/a", "simplecache::memory://x/a"):
        assert isinstance(make_store(url), FsspecStore)
    with pytest.raises(StoreError, match="obstore has no store"):
        ObjectStore.from_url("memory://x/a")


def test_without_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "is_installed", lambda: False)
    with pytest.raises(StoreError, match=r"pip install zarrcore\[remote\]"):
        ObjectStore.from_url("s3://bucket")
    if find_spec("s3fs") is None:
        with pytest.raises(StoreError, match="s3fs"):
            make_store("s3://bucket")
    else:
        assert isinstance(make_store("s3://bucket"), FsspecStore)


def test_no_text_has_the_keys(server: ObjectServer) -> None:
    store = make_store("s3://bucket/a", storage_options=options(server, token="hidden token"))
    server.fail(403)
    with pytest.raises(StoreError) as caught:
        store.get("k")
    for text in (str(store), repr(store), str(caught.value), repr(caught.value.__cause__)):
        assert "hidden" not in text
    with pytest.raises(StoreError) as caught:
        make_store("gs://bucket", storage_options={"service_account_key": "hidden key"})
    assert "hidden" not in str(caught.value)
    assert "hidden" not in str(make_store("https://me:hidden@host/a"))
