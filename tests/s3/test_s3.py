# SPDX-License-Identifier: MIT
"""Stores on S3, by s3fs and by obstore: the conformance suite, and what zarr-python reads and writes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import obstore
import pytest
import zarr
from zarr.storage import FsspecStore as TheirFsspecStore
from zarr.storage import ObjectStore as TheirObjectStore

import zarrcore
from zarrcore.errors import ChunkIOError, StoreError
from zarrcore.storage import FsspecStore, ObjectStore, Store
from zarrcore.testing.store import StoreTests

VALUES = np.arange(40 * 30, dtype="f8").reshape(40, 30)
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (10, 10)},
    "shards": {"chunks": (5, 5), "shards": (20, 10)},
    "format 2": {"chunks": (10, 10), "zarr_format": 2},
}


def by_fsspec(server: Any, prefix: str) -> Store:
    return FsspecStore(server.filesystem(), path=f"{server.bucket}/{prefix}")


def by_obstore(server: Any, prefix: str) -> Store:
    return ObjectStore(server.objects(prefix))


OURS = {"fsspec": by_fsspec, "obstore": by_obstore}


class OnServer:
    @pytest.fixture(autouse=True)
    def _on(self, server: Any) -> None:
        self.server = server


class TestFsspec(OnServer, StoreTests):
    atomic_create = False  # the server does not look at If-None-Match of s3fs

    def make_store(self, tmp_path: Any) -> Store:
        return by_fsspec(self.server, self.server.fresh())


class TestObstore(OnServer, StoreTests):
    picklable = False

    def make_store(self, tmp_path: Any) -> Store:
        return by_obstore(self.server, self.server.fresh())


@pytest.fixture(params=OURS)
def kind(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def place(server: Any) -> str:
    return server.fresh()


def theirs(kind: str, server: Any, prefix: str, *, read_only: bool = False) -> Any:
    if kind == "obstore":
        return TheirObjectStore(server.objects(prefix), read_only=read_only)
    import s3fs

    filesystem = s3fs.S3FileSystem(
        key="testing",
        secret="testing",
        client_kwargs={"endpoint_url": server.url},
        asynchronous=True,
        skip_instance_cache=True,
    )
    return TheirFsspecStore(filesystem, path=f"{server.bucket}/{prefix}", read_only=read_only)


def build(package: Any, store: Any, layout: str) -> None:
    """The same hierarchy by either package."""
    zarr_format = LAYOUTS[layout].get("zarr_format", 3)
    root = package.create_group(store, zarr_format=zarr_format, attributes={"title": "on a server"})
    options = {name: value for name, value in LAYOUTS[layout].items() if name != "zarr_format"}
    array = root.create_group("g").create_array("a", shape=VALUES.shape, dtype=VALUES.dtype, **options)
    array[...] = VALUES
    array[3:7, 2:4] = -1
    array.attrs["units"] = "m"


def check(package: Any, store: Any) -> None:
    expected = VALUES.copy()
    expected[3:7, 2:4] = -1
    root = package.open_group(store, mode="r")
    assert root.attrs["title"] == "on a server"
    array = root["g/a"]
    assert array.attrs["units"] == "m"
    assert np.array_equal(array[...], expected)
    assert np.array_equal(array[5:35:10, 7], expected[5:35:10, 7])
    assert [name for name, _ in root.members(max_depth=None)] == ["g", "g/a"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_zarr_python_reads_ours(server: Any, place: str, kind: str, layout: str) -> None:
    build(zarrcore, OURS[kind](server, place), layout)
    check(zarr, theirs(kind, server, place, read_only=True))
    check(zarrcore, OURS[kind](server, place))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ours_reads_those_of_zarr_python(server: Any, place: str, kind: str, layout: str) -> None:
    build(zarr, theirs(kind, server, place), layout)
    check(zarrcore, OURS[kind](server, place))


def test_a_url(server: Any, place: str) -> None:
    options = {"key": "testing", "secret": "testing", "client_kwargs": {"endpoint_url": server.url}}
    url = f"s3://{server.bucket}/{place}"
    zarrcore.create_array(url, data=VALUES, chunks=(10, 10), storage_options=options)
    assert np.array_equal(zarrcore.open_array(url, storage_options=options, mode="r")[...], VALUES)


def test_everything_else(server: Any, place: str, kind: str) -> None:
    """Appending, gathered writing, many reads, consolidation, copies and removal."""
    store = OURS[kind](server, place)
    root = zarrcore.create_group(store)
    array = root.create_array("a", shape=(0, 30), dtype="f8", chunks=(5, 10), shards=(10, 30))
    for start in range(0, 40, 8):
        array.append(VALUES[start : start + 8])
    assert np.array_equal(array[...], VALUES)
    with array.writer() as writer:
        for row in range(0, 40, 3):
            writer[row] = -1.0
    expected = VALUES.copy()
    expected[::3] = -1
    crops = [np.s_[k : k + 6, 3:9] for k in range(0, 30, 7)]
    for found, crop in zip(array.read_many(crops), crops, strict=True):
        assert np.array_equal(found, expected[crop])
    root.create_group("empty/inside")
    zarrcore.consolidate_metadata(store)
    assert np.array_equal(zarrcore.open_consolidated(store)["a"][...], expected)
    copy = OURS[kind](server, server.fresh())
    zarrcore.copy_store(store, copy)
    assert np.array_equal(zarrcore.open_group(copy, mode="r")["a"][...], expected)
    del root["a"]
    assert [name for name, _ in zarrcore.open_group(store, use_consolidated=False).members()] == ["empty"]


def test_what_cannot_be_read_is_not_taken_for_absent(server: Any, place: str) -> None:
    zarrcore.create_array(by_fsspec(server, place), data=VALUES, chunks=(5, 5), shards=(20, 10))
    array = zarrcore.open_array(by_fsspec(server, place), mode="r")
    away = replace(server, url="http://127.0.0.1:9")  # where nobody listens
    with pytest.raises(StoreError):
        by_obstore(away, place).get("zarr.json")
    broken = zarrcore.Array(array.metadata, zarrcore.storage.StorePath(by_obstore(away, place)))
    for read in (
        lambda: broken[...],
        lambda: broken[3, 4],
        lambda: broken.read_many([np.s_[0], np.s_[7, 2:]]),
    ):
        with pytest.raises(ChunkIOError, match="key 'c/"):
            read()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_there", [True, False])
def test_what_another_client_writes_to_a_chunk_stays(
    server: Any, place: str, layout: str, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"shape": VALUES.shape, "dtype": "f8", **LAYOUTS[layout]}
    array = zarrcore.create_array(by_obstore(server, place), **options)
    copy = zarrcore.create_array({}, **options)
    copy[0, 0] = 7
    if is_there:
        array[0, 1] = copy[0, 1] = 8
    client, replace_version = server.objects(place), ObjectStore._replace_version
    seen: list[bool] = []

    def overtaken(self: ObjectStore, key: str, *args: Any) -> bool:
        if not seen:
            obstore.put(client, key, bytes(copy.store.get(key)))
        seen.append(replace_version(self, key, *args))
        return seen[-1]

    monkeypatch.setattr(ObjectStore, "_replace_version", overtaken)
    array[1, 1] = 9
    assert seen == [False, True]
    assert array[:2, :2].tolist() == [[7, 8 if is_there else 0], [0, 9]]
    seen.clear()
    array.update_attributes({"ours": 1})
    assert seen == [True]


PROGRAM = """
import sys
import obstore.store
import zarrcore
from zarrcore.storage import ObjectStore

url, prefix, number, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = ObjectStore(obstore.store.S3Store(
    "bucket", prefix=prefix, endpoint=url, access_key_id="testing", secret_access_key="testing",
    region="us-east-1", client_options={"allow_http": True}, retry_config={"max_retries": 5},
))
array = zarrcore.open_array(store, mode="r+")
for at in range(number, 40, count):
    array[at] = at + 1
    array.update_attributes({str(at): at})
"""


def test_processes_that_write_to_one_chunk(server: Any, place: str) -> None:
    zarrcore.create_array(by_obstore(server, place), shape=(40,), dtype="i4", chunks=(40,))
    command = [sys.executable, "-c", PROGRAM, server.url, place]
    running = [subprocess.Popen([*command, f"{number}", "3"], stderr=subprocess.PIPE) for number in range(3)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
    array = zarrcore.open_array(by_obstore(server, place))
    assert array[...].tolist() == [*range(1, 41)]
    assert dict(array.attrs) == {str(at): at for at in range(40)}
