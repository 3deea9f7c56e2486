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
from zarrcore.errors import StoreError, masked
from zarrcore.storage import (
    FsspecStore,
    ObjectStore,
    StorePath,
    ZipStore,
    clients,
    make_store,
    profiles,
    urls,
)
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


@pytest.mark.parametrize(
    ("url", "words", "environment", "expected"),
    [
        (
            "gs://b",
            {"base_url": "http://mine", "anon": True},
            {"STORAGE_EMULATOR_HOST": "other:1"},
            {"base_url": "http://mine"},
        ),
        (
            "s3://b",
            {"aws_endpoint": "http://mine"},
            {"AWS_ENDPOINT_URL": "http://other"},
            {"endpoint": "http://mine"},
        ),
        (
            "s3://b",
            {"config": {"AWS_ENDPOINT_URL": "http://mine"}},
            {"AWS_ENDPOINT_URL_S3": "http://other"},
            {"endpoint": "http://mine"},
        ),
        ("s3://b", {"anon": False}, {"AWS_SKIP_SIGNATURE": "true"}, {"skip_signature": "false"}),
        (
            "gs://b",
            {"token": "anon"},
            {"GOOGLE_APPLICATION_CREDENTIALS": "/there/is/no.json"},
            {"skip_signature": "true"},
        ),
        (
            "gs://b",
            {"skip_signature": "1"},
            {"GOOGLE_APPLICATION_CREDENTIALS": "/there/is/no.json"},
            {"skip_signature": "1"},
        ),
        (
            "az://c",
            {"account_name": "mine", "account_key": "aGVsbG8="},
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=other;AccountKey=b3RoZXI="},
            {"account_name": "mine", "account_key": "aGVsbG8="},
        ),
        (
            "abfs://c@mine.dfs.core.windows.net",
            {},
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=other;AccountKey=b3RoZXI="},
            {"account_name": "mine", "skip_signature": "true"},
        ),
        (
            "abfs://c@mine.dfs.core.windows.net",
            {},
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=mine;AccountKey=aGVsbG8="},
            {"account_name": "mine", "account_key": "aGVsbG8="},
        ),
        (
            "az://c",
            {"sas_token": "sv=1&sig=2"},
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=mine;AccountKey=aGVsbG8="},
            {"account_name": "mine", "sas_key": "sv=1&sig=2"},
        ),
        (
            "az://c",
            {"account_name": "a"},
            {"TOKEN": "of something else", "CLIENT_ID": "x"},
            {"account_name": "a", "skip_signature": "true"},
        ),
    ],
)
def test_the_environment_does_not_count_where_it_is_said_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    words: dict[str, Any],
    environment: dict[str, str],
    expected: dict[str, Any],
) -> None:
    """The endpoint of an emulator, or the account of a connection string, was taken for the one asked for."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    store = make_store(url, storage_options=words)
    assert isinstance(store, ObjectStore)
    assert dict(store.store.config).items() >= expected.items()
    assert "b3RoZXI=" not in store.store.config.values()


AT_A = {"container_name": "c", "account_name": "a"}
IN_CHINA = {**AT_A, "endpoint": "https://a.blob.core.chinacloudapi.cn"}


@pytest.mark.parametrize(
    ("url", "words", "expected"),
    [
        ("abfs://c@a.dfs.core.chinacloudapi.cn", {"sas_token": "sig=2"}, {**IN_CHINA, "sas_key": "sig=2"}),
        ("abfss://c@a.blob.core.chinacloudapi.cn", {"anon": True}, {**IN_CHINA, "skip_signature": "true"}),
        (
            "abfs://c@a.dfs.core.chinacloudapi.cn",
            {"account_host": "proxy", "token": "t"},
            {**AT_A, "endpoint": "https://proxy", "token": "t"},
        ),
        (
            "abfss://c@a.dfs.fabric.microsoft.com",
            {"token": "t"},
            {**AT_A, "use_fabric_endpoint": "true", "token": "t"},
        ),
        (
            "az://c",
            {"connection_string": "AccountName=a;AccountKey=aGVsbG8=;EndpointSuffix=core.chinacloudapi.cn"},
            {**IN_CHINA, "account_key": "aGVsbG8="},
        ),
        (
            "az://c",
            {"connection_string": "defaultendpointsprotocol=http; accountname=a; accountkey=aGVsbG8=;"},
            {**AT_A, "endpoint": "http://a.blob.core.windows.net", "account_key": "aGVsbG8="},
        ),
        (
            "az://c",
            {"connection_string": "UseDevelopmentStorage=true"},
            {"container_name": "c", "use_emulator": "true"},
        ),
        (
            "az://c",
            {"account_name": "a", "AZURE_STORAGE_ACCOUNT_KEY": "aGVsbG8="},
            {**AT_A, "account_key": "aGVsbG8="},
        ),
        ("az://c", {"account_name": "a", "access_key": "aGVsbG8="}, {**AT_A, "account_key": "aGVsbG8="}),
        ("az://c", {"account_name": "a", "bearer_token": "t"}, {**AT_A, "token": "t"}),
        (
            "az://c",
            {"config": {"azure_storage_account_name": "a", "sas_token": "sig=2"}},
            {**AT_A, "sas_key": "sig=2"},
        ),
    ],
)
def test_accounts_of_azure(url: str, words: dict[str, Any], expected: dict[str, Any]) -> None:
    """The host of another cloud was left out, and requests with keys by other names were not signed."""
    assert dict(make_store(url, storage_options=words).store.config) == expected


def test_an_account_in_the_url_and_another_one_in_the_options() -> None:
    for words in ({"account_name": "b"}, {"connection_string": "AccountName=b;AccountKey=aGVsbG8="}):
        with pytest.raises(StoreError, match="of the account 'b'"):
            make_store("abfs://c@a.dfs.core.windows.net/p", storage_options=words)


def test_keys_that_change_in_the_environment(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of a bucket was shared by all who gave the same options, with the keys of the first one."""
    server.private = True
    server.objects["bucket/k"] = b"value"
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    for key in ("one", "another"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        assert make_store("s3://bucket").get("k") == b"value"
        assert f"Credential={key}/" in server.log[-1].headers["authorization"]


@pytest.mark.parametrize("how", ["options", "profile"])
def test_the_token_of_the_environment_is_not_that_of_other_keys(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    server.objects["bucket/k"] = b"value"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "of others")
    given = options(server)
    if how == "profile":
        file = tmp_path / "credentials"
        file.write_text("[mine]\naws_access_key_id = testing\naws_secret_access_key = s\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
        given = {"profile": "mine", "endpoint_url": server.url}
    store = make_store("s3://bucket", storage_options=given)
    with zarrcore.config.set({"pickle.credentials": True}):
        copy = pickle.loads(pickle.dumps(store))
    assert copy == store
    for one in (store, copy):
        assert one.get("k") == b"value"
        assert "Credential=testing/" in server.log[-1].headers["authorization"]
        assert "x-amz-security-token" not in server.log[-1].headers
    assert "hidden words" not in str(pickle.dumps(store))


PLACES = {
    "profile": "endpoint_url = URL\n",
    "services": "services = ours\n[services ours]\ns3 =\n  endpoint_url = URL\nec2 =\n  endpoint_url = http://x\n",
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("keys", ["profile", "options", "environment"])
def test_a_server_in_a_profile(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str, keys: str
) -> None:
    """Keys for a server of one's own were sent to that of Amazon."""
    server.objects["bucket/k"] = b"value"
    server.region = "there"
    file = tmp_path / "config"
    words = {"access_key_id": keys, "secret_access_key": "s"}
    in_file = "".join(f"aws_{name} = {value}\n" for name, value in words.items() if keys == "profile")
    file.write_text(f"[profile mine]\nregion = there\n{in_file}{PLACES[where].replace('URL', server.url)}")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "mine")
    given: dict[str, Any] = {}
    if keys == "environment":
        for name, value in words.items():
            monkeypatch.setenv(f"AWS_{name.upper()}", value)
    elif keys == "options":
        given = {**words, "profile": "mine"}
    store = make_store("s3://bucket", storage_options=given)
    assert store.get("k") == b"value"
    assert f"Credential={keys}/" in server.log[-1].headers["authorization"]
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert "endpoint" not in make_store("s3://bucket", storage_options=given).store.config


def test_a_profile_with_keys_for_a_role(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its own keys, which may do nothing but take the role, were used."""
    pytest.importorskip("botocore")
    file = tmp_path / "config"
    text = "[profile mine]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = mine\naws_access_key_id = k\n"
    file.write_text(f"{text}aws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    store = make_store("s3://bucket", storage_options={"profile": "mine"})
    assert isinstance(store.store.credential_provider, profiles.BotoKeys)


def test_a_profile_with_no_key(server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error was that None has no credentials."""
    pytest.importorskip("botocore")
    file = tmp_path / "config"
    file.write_text("[profile mine]\nregion = there\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    store = make_store("s3://bucket", storage_options={"profile": "mine", "endpoint_url": server.url})
    with pytest.raises(StoreError, match="botocore finds no keys for the profile 'mine'"):
        store.get("k")


@pytest.mark.parametrize(
    ("retries", "expected"),
    [
        ({"mode": "standard"}, None),
        ({"max_attempts": 0}, 0),
        ({"total_max_attempts": 3, "mode": "legacy"}, 2),
    ],
)
def test_retries_in_the_words_of_botocore(retries: dict[str, Any], expected: int | None) -> None:
    """Without ``max_attempts`` they were a `KeyError`."""
    made = make_store("s3://bucket", storage_options={"anon": True, "config_kwargs": {"retries": retries}})
    assert (made.store.retry_config or {}).get("max_retries") == expected


@pytest.mark.parametrize(
    "words",
    [
        {"client_kwargs": {"verify": "/etc/certificates.pem"}},
        {"config_kwargs": {"s3": {"addressing_style": "path", "use_accelerate_endpoint": True}}},
    ],
)
def test_options_that_obstore_has_no_form_for_are_not_dropped(words: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="verify|use_accelerate_endpoint"):
        ObjectStore.from_url("s3://bucket", words)


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


def test_options_that_no_package_knows_all_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filesystems of fsspec left out what they do not know: a server, or that nobody signs."""
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    class Gcs(MemoryFileSystem):  # type: ignore[misc]
        def __init__(self, token: Any = None, requests_timeout: Any = None, **rest: Any) -> None:
            super().__init__(**rest)

    monkeypatch.setattr(urls, "find_spec", lambda name: name)
    monkeypatch.setattr(fsspec, "get_filesystem_class", lambda protocol: Gcs)
    monkeypatch.setattr(FsspecStore, "from_url", lambda url, options: FsspecStore(Gcs(**options)))
    for words in ({"base_url": "http://h"}, {"skip_signature": True}, {"google_base_url": "http://h"}):
        for more in ({"token": "anon", "requests_timeout": 3}, {"client_options": {}, "requests_timeout": 3}):
            with pytest.raises(
                StoreError, match="gcsfs does not know '(base_url|skip_sig|google|client_opt)"
            ):
                make_store("gs://bucket", storage_options={**words, **more})
    assert isinstance(make_store("gs://bucket", storage_options={"requests_timeout": 3}), FsspecStore)


def test_words_of_obstore_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    monkeypatch.setattr(clients, "is_installed", lambda: False)
    for words in ({"anon": True, "use_listings_cache": False}, {"s3": {"anon": True}}):
        assert isinstance(make_store("s3://bucket", storage_options=words), FsspecStore)
    with pytest.raises(StoreError, match=r"does not know 'skip_signature'.*zarrcore\[remote\]"):
        make_store("s3://bucket", storage_options={"skip_signature": True})


@pytest.mark.parametrize("host", ["127.0.0.1:9", "[::1]:9"])
def test_an_archive_on_a_web_server(host: str) -> None:
    """The address of IPv6 was taken for a chain of filesystems, and the archive for a directory."""
    assert isinstance(make_store(f"http://{host}/data.zip"), ZipStore)


def test_what_only_fsspec_opens() -> None:
    for url in ("memory://x/a", "simplecache::memory://x/a"):
        assert isinstance(make_store(url), FsspecStore)
    with pytest.raises(StoreError, match="obstore has no store"):
        ObjectStore.from_url("memory://x/a")


def test_without_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "is_installed", lambda: False)
    with pytest.raises(StoreError, match=r"pip install 'zarrcore\[remote\]'"):
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
    assert "hidden" not in str(make_store("https://me:all@hidden@host/a"))  # the last sign ends it
    assert "hidden" not in str(StoreError(masked("sftp://me:all@hidden@host/a")))
