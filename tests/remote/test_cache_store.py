# SPDX-License-Identifier: MIT
"""What a directory of copies spares a remote store: requests are counted, and versions are not mixed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer
from own_changes import count_own_changes

import zarrcore
from zarrcore.storage import CacheStore, FsspecStore, make_store

pytest.importorskip("obstore")

VALUES = np.arange(1000 * 1000, dtype="i4").reshape(1000, 1000)
SHARDS: dict[str, Any] = {"chunks": (50, 50), "shards": (500, 500), "compressors": None}


@pytest.fixture(autouse=True)
def own_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    count_own_changes(monkeypatch)


@pytest.fixture
def words(server: ObjectServer) -> dict[str, Any]:
    return {"key": "testing", "secret": "s", "endpoint_url": server.url}


@pytest.fixture
def near(words: dict[str, Any], request: Any, tmp_path: Path) -> Callable[..., CacheStore]:
    """A store over a bucket of its own, as a new process would open it."""
    bucket = f"bucket-{abs(hash(request.node.nodeid))}"

    def make(**options: Any) -> CacheStore:
        store = make_store(f"s3://{bucket}/data", storage_options=words)
        return CacheStore(store, tmp_path / "near", max_bytes=1 << 30, **options)

    return make


def statuses(seen: Any) -> list[int]:
    return [request.status for request in seen.requests]


def test_chunks_are_one_wave_of_conditions(server: ObjectServer, near: Any) -> None:
    zarrcore.create_array(near()._store, data=VALUES, chunks=(100, 500))
    assert np.array_equal(zarrcore.open_array(near(), mode="r")[...], VALUES)
    array = zarrcore.open_array(near(), mode="r")
    with server.watch() as seen:
        assert np.array_equal(array[...], VALUES)
    assert (statuses(seen), seen.waves, seen.nbytes) == ([304] * 20, 1, 0)
    for key in server.objects:
        if key.endswith("c/3/1"):
            fresh = zarrcore.create_array({}, data=np.full((100, 500), -1, "i4"), chunks=(100, 500))
            server.objects[key] = bytes(fresh.store.get("c/0/0"))
    expected = VALUES.copy()
    expected[300:400, 500:] = -1
    with server.watch() as seen:
        assert np.array_equal(array[...], expected)
    assert sorted(statuses(seen)) == [200] + [304] * 19


@pytest.mark.parametrize("options", [{"immutable": True}, {"max_age": 600}], ids=str)
def test_what_is_trusted_is_not_asked_for(server: ObjectServer, near: Any, options: dict[str, Any]) -> None:
    root = zarrcore.create_group(near()._store)
    root.create_array("a", data=VALUES, chunks=(100, 500))
    root.create_array("sparse", shape=(1000, 1000), chunks=(500, 500), dtype="i4")[:10] = 1
    root.create_array("shards", data=VALUES, **SHARDS)
    zarrcore.consolidate_metadata(root.store)

    def read() -> None:
        group = zarrcore.open_group(near(**options), mode="r")
        assert np.array_equal(group["a"][...], VALUES)
        assert group["sparse"][...].sum() == 10_000
        assert np.array_equal(group["shards"][3:5, ::7], VALUES[3:5, ::7])

    read()
    with server.watch() as seen:
        read()
    assert seen.requests == []


def test_a_read_in_a_shard_is_one_condition(server: ObjectServer, near: Any) -> None:
    zarrcore.create_array(near()._store, data=VALUES, **SHARDS)
    array = zarrcore.open_array(near(), mode="r")
    array[:50, :50]
    with server.watch() as seen:
        assert np.array_equal(array[:50, :50], VALUES[:50, :50])
    assert (statuses(seen), seen.nbytes) == ([304], 0)
    with server.watch() as seen:
        assert np.array_equal(array[100:150, :50], VALUES[100:150, :50])
    assert (statuses(seen), seen.waves) == ([304, 206], 2)
    assert seen.nbytes == 50 * 50 * 4


@pytest.mark.parametrize("conditions", [True, False])
def test_a_shard_that_was_replaced_is_read_anew(server: ObjectServer, near: Any, conditions: bool) -> None:
    server.conditions = conditions  # where nobody compares, the answers show their version
    zarrcore.create_array(near()._store, data=VALUES, chunks=(50, 50), shards=(500, 500))
    array = zarrcore.open_array(near(), mode="r")
    assert np.array_equal(array[:200, :50], VALUES[:200, :50])
    expected = -VALUES[::-1] // 7
    other = zarrcore.create_array({}, data=expected, chunks=(50, 50), shards=(500, 500))
    bucket = next(key.partition("/")[0] for key in server.objects)
    for key in [*other.store.list()]:
        if "c/" in key:
            server.objects[f"{bucket}/data/{key}"] = bytes(other.store.get(key))
    assert np.array_equal(array[100:150, :50], expected[100:150, :50])
    assert np.array_equal(array[200:250, :50], expected[200:250, :50])
    assert np.array_equal(array[...], expected)


def test_writes_and_removals_are_seen(near: Any) -> None:
    array = zarrcore.create_array(near(), data=VALUES, **SHARDS)
    for value in range(3):
        assert array[60, 60] == (VALUES[60, 60] if value == 0 else value - 1)
        array[60, 60] = value
    array[...] = 0
    assert not array[...].any()
    assert not zarrcore.open_array(near(), mode="r")[...].any()


def test_another_process_has_what_this_one_kept(server: ObjectServer, near: Any, words: Any) -> None:
    zarrcore.create_array(near()._store, data=VALUES, chunks=(100, 500))
    store = near(immutable=True)
    zarrcore.open_array(store, mode="r")[...]
    before = len(server.log)
    code = f"""if True:
        from zarrcore.storage import CacheStore, make_store
        import zarrcore
        store = make_store({str(store._store)!r}, storage_options={words!r})
        store = CacheStore(store, {store.directory!r}, max_bytes=1 << 30, immutable=True)
        print(zarrcore.open_array(store, mode="r")[...].sum(), store.cache_stats()["misses"])
    """
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert out.stdout.split() == [str(VALUES.sum()), "0"]
    assert len(server.log) == before


def test_servers_with_buckets_of_one_name_are_told_apart(server: ObjectServer, tmp_path: Path) -> None:
    with ObjectServer() as other:
        for number, each in enumerate((server, other)):
            each.objects["bucket/a"] = b"%d" % number
            words = {"key": "testing", "secret": "s", "endpoint_url": each.url}
            store = make_store("s3://bucket", storage_options=words)
            assert CacheStore(store, tmp_path, max_bytes=1 << 20, immutable=True).get("a") == b"%d" % number


@pytest.mark.parametrize("how", ["base_url", "environment", "environment of s3fs"])
def test_servers_that_other_words_name_are_told_apart(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    """Copies of a bucket of one server were read as those of a bucket of another one."""
    with ObjectServer() as other:
        for number, each in enumerate((server, other)):
            each.objects["bucket/a"] = b"%d" % number
            store: Any
            if how == "base_url":
                store = make_store("gs://bucket", storage_options={"token": "anon", "base_url": each.url})
            elif how == "environment":
                monkeypatch.setenv("AWS_ENDPOINT", each.url)
                store = make_store("s3://bucket", storage_options={"anon": True, "use_ssl": False})
            else:
                pytest.importorskip("s3fs")
                monkeypatch.setenv("AWS_ENDPOINT_URL", each.url)
                options = {"anon": True, "skip_instance_cache": True}
                store = FsspecStore.from_url("s3://bucket", options)
            near = CacheStore(store, tmp_path, max_bytes=1 << 20, immutable=True)
            assert near.get("a") == b"%d" % number


def test_accounts_with_containers_of_one_name_are_told_apart() -> None:
    words: list[dict[str, Any]] = [
        {"account_name": "a"},
        {"account_name": "b"},
        {"account_name": "a", "endpoint": "https://a.blob.core.chinacloudapi.cn"},
        {"account_name": "a", "use_fabric_endpoint": True},
    ]
    stores = [make_store("az://data/x", storage_options=given) for given in words]
    assert len({store._lasting_name() for store in stores}) == len(stores)
    assert len({store._scope("") for store in stores}) == len(stores)
    same = make_store("abfs://data@a.dfs.core.windows.net/x")
    assert same._lasting_name() == stores[0]._lasting_name()


def test_faults_are_errors_and_never_kept(server: ObjectServer, near: Any, words: dict[str, Any]) -> None:
    words["retry_config"] = {"max_retries": 0}
    zarrcore.create_array(near()._store, data=VALUES, chunks=(500, 500))
    array = zarrcore.open_array(near(), mode="r")
    array[:500, :500]
    for kind in (403, 500, "reset", "truncated"):
        server.fail(kind, "/c/")
        with pytest.raises(zarrcore.errors.ChunkIOError, match="key 'c/"):
            array[:500] if kind != "truncated" else array[500:]  # an answer of no bytes cannot be cut
        server.mend()
        assert np.array_equal(array[:500], VALUES[:500])
    server.fail("whole", "/c/")
    assert np.array_equal(array[...], VALUES)


def test_filesystems_of_fsspec(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    zarrcore.create_array(tmp_path / "far", data=VALUES, chunks=(500, 500))
    fs = fsspec.filesystem("file")
    with pytest.raises(ValueError, match="no versions"):
        CacheStore(FsspecStore(fs, path=f"{tmp_path}/far"), tmp_path / "near", max_bytes=1 << 30)
    for _ in range(2):
        far = FsspecStore(fs, path=f"{tmp_path}/far")
        store = CacheStore(far, tmp_path / "near", max_bytes=1 << 30, max_age=600)
        assert np.array_equal(zarrcore.open_array(store, mode="r")[...], VALUES)
    assert store.cache_stats()["misses"] == 0


def test_a_chunk_cache_over_it_asks_once(server: ObjectServer, near: Any) -> None:
    zarrcore.create_array(near()._store, data=VALUES, chunks=(500, 500))
    for options, n in (({}, 4), ({"max_age": 600}, 0), ({"immutable": True}, 0)):
        array = zarrcore.open_array(near(**options), mode="r").with_cache(1 << 30)
        for _ in range(2):
            assert np.array_equal(array[...], VALUES)
        with server.watch() as seen:
            assert np.array_equal(array[...], VALUES)
        assert (statuses(seen), seen.nbytes) == ([304] * n, 0), options
        assert array.cache.hits == 8
    array = zarrcore.open_array(near(), mode="r").with_cache(1 << 30)
    for _ in range(2):
        array[...]
    other = zarrcore.create_array({}, data=-VALUES, chunks=(500, 500)).store
    for key in [key for key in server.objects if "/c/" in key]:
        server.objects[key] = bytes(other.get(key.partition("data/")[2]))
    assert np.array_equal(array[...], -VALUES)
