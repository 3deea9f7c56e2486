# SPDX-License-Identifier: MIT
"""The server in C that the benchmarks measure with: it stores, waits, fails and counts as it should."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import FsspecStore, ObjectStore, make_store

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("obstore")
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("only the package is here, not its source tree", allow_module_level=True)
if shutil.which("cc") is None or sys.platform != "linux":
    pytest.skip("the server needs a compiler, and Linux", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.cloud import Server  # noqa: E402

KEYS: dict[str, Any] = {"access_key_id": "testing", "secret_access_key": "testing", "region": "us-east-1"}


@pytest.fixture(scope="module")
def _measuring() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def measuring(_measuring: Server) -> Server:
    _measuring.begin()
    return _measuring


@pytest.fixture(params=["obstore", "fsspec", "http"])
def store(measuring: Server, request: Any) -> Any:
    url = f"s3://{request.node.name.replace('[', '-').strip(']')}/data"
    if request.param == "fsspec":
        pytest.importorskip("s3fs")
        return FsspecStore.from_url(url, storage_options=measuring.options)
    if request.param == "http":
        store = ObjectStore.from_url(url, measuring.options)
        store.set("k", b"0123456789")
        return ObjectStore.from_url(f"{measuring.url}/{url.removeprefix('s3://')}")
    return make_store(url, storage_options=measuring.options)


def test_values_and_ranges(store: Any) -> None:
    if not store.read_only:
        store.set("k", b"0123456789")
    assert store.get("k") == b"0123456789"
    assert store.get("k", (2, 3)) == b"234"
    assert store.get("k", zarrcore.storage.SuffixByteRequest(4)) == b"6789"
    assert store.get("k", zarrcore.storage.OffsetByteRequest(7)) == b"789"
    assert store.get("k", (20, 3)) == b""
    assert store.get("other") is None


@pytest.mark.parametrize("store", ["obstore", "fsspec"], indirect=True)
def test_lists_of_more_than_a_page_and_deleting(store: Any) -> None:
    keys = {f"a/{n}/x" for n in range(1500)} | {"b", "a/y"}
    for key in keys:
        store.set(key, b"1")
    assert set(store.list()) == keys
    assert set(store.list_dir("")) == {"a", "b"}
    assert set(store.list_dir("a/")) == {*map(str, range(1500)), "y"}
    store.erase_values(sorted(keys - {"b"}))
    assert [*store.list()] == ["b"]


def test_conditions_and_uploads_in_parts(measuring: Server) -> None:
    from obstore.store import S3Store

    bucket = S3Store("parts", endpoint=measuring.url, client_options={"allow_http": True}, **KEYS)
    store = ObjectStore(bucket)
    assert store.set_if_not_exists("k", b"1")
    assert not store.set_if_not_exists("k", b"2")
    data = np.random.default_rng(0).bytes(21 << 20)
    store.set("large", data)
    assert store.get("large") == data
    before = bucket.head("k")["e_tag"]
    bucket.put("k", b"3", mode={"e_tag": before})
    with pytest.raises(Exception, match="412|Precondition"):
        bucket.put("k", b"4", mode={"e_tag": before})
    assert store.get("k") == b"3"


def test_latency_bandwidth_and_faults(measuring: Server) -> None:
    store = make_store("s3://slow/data", storage_options=measuring.options)
    array = zarrcore.create_array(
        store, data=np.arange(1 << 20, dtype="i4"), chunks=1 << 16, compressors=None
    )
    for limits in ({"latency": 0.2}, {"total_rate": 20e6}, {"connection_rate": 5e5}):
        measuring.begin(**limits)
        start = time.monotonic()
        assert (
            array[-1] == (1 << 20) - 1
            if "latency" in limits
            else np.array_equal(array[...], np.arange(1 << 20))
        )
        assert time.monotonic() - start >= 0.19
    measuring.begin(fail_every=5)
    assert np.array_equal(array[...], np.arange(1 << 20))
    counts = measuring.counts()
    assert counts.failed > 0
    assert counts.requests == 16 + counts.failed
    assert counts.sent == 4 << 20


def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zarr")
    from benchmarks.cloud import __main__ as program

    arguments = [
        "cloud",
        "--rounds",
        "1",
        "--latencies",
        "0",
        "--requests",
        "8",
        "read/one",
        "shard/again",
        "write/large",
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    program.main()
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if "|" in line] == arguments[-3:]
    assert "zarrcore" in out
