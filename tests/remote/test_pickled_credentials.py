# SPDX-License-Identifier: MIT
"""Credentials are in a pickle only if it is asked for; who finds them in the environment needs none."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.errors import StoreError
from zarrcore.storage import CacheStore, FsspecStore, ObjectStore, ReferenceStore, make_store
from zarrcore.storage.credentials import has_credentials, without_credentials

VALUES = np.arange(20, dtype="i4")
HIDDEN = b"hidden words"

needs_obstore = pytest.mark.skipif(
    not zarrcore.storage.clients.is_installed(), reason="obstore is not installed"
)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in os.environ:
        if name.startswith(("AWS_", "ZARRCORE_PICKLE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with zarrcore.config.set({"pickle.credentials": False}):
        yield


def words(server: ObjectServer, **more: Any) -> dict[str, Any]:
    return {"key": "me", "secret": HIDDEN.decode(), "endpoint_url": server.url, **more}


@pytest.fixture(params=["URL", "obstore", "fsspec", "cache"])
def array(request: pytest.FixtureRequest, server: ObjectServer, tmp_path: Path) -> zarrcore.Array:
    pytest.importorskip("obstore" if request.param in ("URL", "obstore", "cache") else "s3fs")
    store: Any
    if request.param == "fsspec":
        store = FsspecStore.from_url("s3://bucket", words(server))
    elif request.param == "obstore":
        from obstore.store import S3Store

        keys = {"access_key_id": "me", "secret_access_key": HIDDEN.decode(), "region": "us-east-1"}
        store = ObjectStore(
            S3Store("bucket", endpoint=server.url, config=keys, client_options={"allow_http": True})
        )
    else:
        store = make_store("s3://bucket", storage_options=words(server))
        store = CacheStore(store, tmp_path / "near", max_bytes=1 << 20) if request.param == "cache" else store
    return zarrcore.create_array(store, name="a", data=VALUES)


def test_a_pickle_has_no_credentials_and_says_so_at_the_first_request(array: zarrcore.Array) -> None:
    data = pickle.dumps(array)
    assert HIDDEN not in data
    found = pickle.loads(data)
    assert found.shape == (20,) and "bucket" in repr(found) and hash(found.store) is not None
    assert HIDDEN not in pickle.dumps(found)
    for request in (
        lambda: found[...],
        lambda: found.store.get("a/zarr.json"),
        lambda: [*found.store.list()],
        lambda: pickle.loads(pickle.dumps(found))[0],
    ):
        with pytest.raises(ValueError, match=r"without the credentials.*pickle\.credentials"):  # a StoreError
            request()


def test_a_chain_of_filesystems(server: ObjectServer) -> None:
    pytest.importorskip("s3fs")
    data = pickle.dumps(FsspecStore.from_url("simplecache::s3://bucket", {"s3": words(server)}))
    assert HIDDEN not in data
    with pytest.raises(StoreError, match="without the credentials"):
        pickle.loads(data).get("a")


def test_a_pickle_has_credentials_if_it_is_asked_for(array: zarrcore.Array) -> None:
    with zarrcore.config.set({"pickle.credentials": True}):
        data = pickle.dumps(array)
    assert HIDDEN in data
    assert np.array_equal(pickle.loads(data)[...], VALUES)


def test_a_copy_in_memory_keeps_them(array: zarrcore.Array) -> None:
    for found in (copy.copy(array), copy.deepcopy(array)):
        assert np.array_equal(found[...], VALUES)
        assert found.store == array.store


def total(array: zarrcore.Array) -> int:
    return int(array[...].sum())


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_of_this_one_get_them(array: zarrcore.Array, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(total, array).result(120) == VALUES.sum()


@needs_obstore
def test_dask_needs_one_line(server: ObjectServer) -> None:
    dask = pytest.importorskip("dask")
    array = zarrcore.create_array("s3://bucket/a", data=VALUES, storage_options=words(server))
    lazy = dask.delayed(total)(array)
    with pytest.raises(ValueError, match="without the credentials"):
        lazy.compute(scheduler="processes", num_workers=1)
    with zarrcore.config.set({"pickle.credentials": True}):
        assert lazy.compute(scheduler="processes", num_workers=1) == VALUES.sum()


def elsewhere(data: bytes, tmp_path: Path, **environ: str) -> str:
    """Read an array out of a pickle in a process that knows nothing else."""
    (tmp_path / "array.pickle").write_bytes(data)
    code = "import pickle, sys; print(int(pickle.load(open(sys.argv[1], 'rb'))[...].sum()))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "array.pickle")],
        env={**os.environ, **environ}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or done.stderr


@needs_obstore
def test_credentials_of_the_environment_are_looked_up_there(
    server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", HIDDEN.decode())
    array = zarrcore.create_array(
        "s3://bucket/a", data=VALUES, storage_options={"endpoint_url": server.url, "region": "pickled"}
    )
    data = pickle.dumps(array)
    assert HIDDEN not in data
    assert elsewhere(data, tmp_path) == str(VALUES.sum())


@needs_obstore
@pytest.mark.parametrize("name", [None, "work"])
def test_a_profile_is_looked_up_there(server: ObjectServer, tmp_path: Path, name: str | None) -> None:
    section = name or "default"
    file = tmp_path / "credentials"
    file.write_text(f"[{section}]\naws_access_key_id = me\naws_secret_access_key = {HIDDEN.decode()}\n")
    options = {"endpoint_url": server.url, **({} if name is None else {"profile": name})}
    array = zarrcore.create_array("s3://bucket/a", data=VALUES, storage_options=options)
    data = pickle.dumps(array)
    assert HIDDEN not in data
    assert elsewhere(data, tmp_path) == str(VALUES.sum())
    file.unlink()
    keys = {"AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "other"}
    if name is None:
        assert elsewhere(data, tmp_path, **keys) == str(VALUES.sum())
    else:
        assert "there is no profile 'work'" in elsewhere(data, tmp_path, **keys)


@needs_obstore
def test_references_and_web_servers(server: ObjectServer, tmp_path: Path) -> None:
    array = zarrcore.create_array(
        "s3://bucket/a", data=VALUES, compressors=None, storage_options=words(server)
    )
    (tmp_path / "refs.json").write_text('{"a": ["s3://bucket/a/c/0", 0, 8]}')
    store = ReferenceStore(str(tmp_path / "refs.json"), storage_options=words(server))
    headers = {"headers": {"Authorization": HIDDEN.decode()}}
    url = server.url.replace("://", "://me:hidden@") + "/bucket"
    for one, request in (
        (store, lambda found: found.get("a")),
        (make_store(f"{server.url}/bucket", storage_options=headers), lambda found: found.get("a/zarr.json")),
        (make_store(url), lambda found: found.get("a/zarr.json")),
    ):
        data = pickle.dumps(one)
        assert HIDDEN not in data and b"hidden" not in data
        with pytest.raises(StoreError, match="without the credentials"):
            request(pickle.loads(data))
        with zarrcore.config.set({"pickle.credentials": True}):
            data = pickle.dumps(one)
        assert request(pickle.loads(data)) is not None
    assert array.shape == (20,)


@pytest.mark.parametrize(
    "options",
    [
        {"secret": "x"}, {"client_kwargs": {"aws_secret_access_key": "x"}},
        {"headers": {"Authorization": "x"}},
        {"account_key": "x"}, {"sas_token": "x"}, {"token": {"private_key": "x"}}, {"connection_string": "x"},
        {"client_options": {"proxy_url": "http://me:pw@h"}},
        {"password": "x"}, {"auth": ("me", "x")}, {"service_account_key": "x"},
        {"sse_customer_encryption_key": "x"}, {"s3": {"key": "x", "endpoint_url": "http://h"}},
        {"client_options": {"default_headers": {"X-Api-Key": "x"}}}, {"target_options": {"username": "x"}},
        {"headers": {"Ocp-Apim-Subscription-Key": "x"}}, {"headers": {"X-Auth": "x"}},
        {"headers": {"X-Goog-Encryption-Key": "x"}}, {"sse_customer_key_base64": "x"},
        {"s3_additional_kwargs": {"SSECustomerKey": "x"}}, {"private_key": "x"}, {"basic_auth": ("me", "x")},
    ],
)  # fmt: skip
def test_options_with_credentials(options: dict[str, Any]) -> None:
    assert has_credentials(options)
    left = without_credentials(options)
    assert not has_credentials(left) and "pw" not in repr(left)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"anon": True}, {"token": "anon"}, {"token": "google_default"}, {"token": "/home/me/key.json"},
        {"key": None}, {"endpoint_url": "http://h", "region": "r"}, {"skip_signature": True},
        {"federated_token_file": "/a"}, {"client_kwargs": {"endpoint_url": "https://h:9000"}},
        {"web_identity_token_file": "/a"}, {"auto_mkdir": True}, {"credential_provider": print},
        {"client_options": {"default_headers": {"User-Agent": "x"}}}, {"profile": "p"},
        {"sse_kms_key_id": "arn"}, {"author": "me"}, {"key_filename": "/a"}, {"headers": {"X-Author": "me"}},
    ],
)  # fmt: skip
def test_options_without_credentials(options: dict[str, Any]) -> None:
    assert not has_credentials(options)
    assert without_credentials(options) == options
