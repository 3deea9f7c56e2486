# SPDX-License-Identifier: MIT
"""The server of the tests serves the clients that zarrcore uses, counts their requests and fails on order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import pytest
from object_server import ObjectServer

from zarrcore.storage import FsspecStore, ObjectStore, Store
from zarrcore.testing.store import StoreTests

obstore = pytest.importorskip("obstore")

DATA = bytes(range(100))


class OnServer(StoreTests):
    @pytest.fixture(autouse=True)
    def _on(self, server: ObjectServer, bucket: Any) -> None:
        self.server, self.bucket = server, bucket


class TestObstore(OnServer):
    picklable = True

    def make_store(self, tmp_path: Any) -> Store:
        return ObjectStore(self.bucket)


@pytest.mark.skipif(find_spec("s3fs") is None, reason="s3fs is not installed: make s3")
class TestFsspec(OnServer):
    def make_store(self, tmp_path: Any) -> Store:
        import s3fs

        files = s3fs.S3FileSystem(key="testing", secret="testing", endpoint_url=self.server.url)
        return FsspecStore(files, path="bucket/inside")


def test_a_web_server_with_ranges(server: ObjectServer) -> None:
    from obstore.store import HTTPStore

    server.objects["site/data/k"] = DATA
    web = HTTPStore.from_url(f"{server.url}/site", client_options={"allow_http": True})
    assert bytes(obstore.get(web, "data/k").bytes()) == DATA
    assert bytes(obstore.get_range(web, "data/k", start=3, end=7)) == DATA[3:7]
    with pytest.raises(FileNotFoundError):
        obstore.get(web, "nothing")
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    files = fsspec.filesystem("http")
    assert files.cat_file(f"{server.url}/site/data/k", start=-4) == DATA[-4:]


def test_requests_that_do_not_wait_for_each_other_are_one_wave(server: ObjectServer, bucket: Any) -> None:
    server.objects |= {f"bucket/{n}": DATA for n in range(20)}
    with server.watch() as seen, ThreadPoolExecutor(20) as threads:
        assert [*threads.map(lambda n: len(obstore.get(bucket, str(n)).bytes()), range(20))] == [100] * 20
    assert (len(seen.requests), seen.waves, seen.nbytes) == (20, 1, 2000)
    with server.watch() as seen:
        for n in range(3):
            obstore.get(bucket, str(n), options={"range": (0, 10)})
    assert (seen.waves, [request.range for request in seen.requests]) == (3, ["bytes=0-9"] * 3)


def test_conditions(server: ObjectServer, bucket: Any) -> None:
    first = obstore.put(bucket, "k", DATA)["e_tag"]
    with pytest.raises(obstore.exceptions.AlreadyExistsError):
        obstore.put(bucket, "k", b"", mode="create")
    second = obstore.put(bucket, "k", b"new", mode={"e_tag": first})["e_tag"]
    with pytest.raises(obstore.exceptions.PreconditionError):
        obstore.put(bucket, "k", b"newer", mode={"e_tag": first})
    with pytest.raises(obstore.exceptions.NotModifiedError):
        obstore.get(bucket, "k", options={"if_none_match": second})
    assert server.objects == {"bucket/k": b"new"}


def test_a_large_value_in_parts(server: ObjectServer, bucket: Any) -> None:
    data = DATA * 200_000
    obstore.put(bucket, "k", data)
    assert server.objects["bucket/k"] == data


def test_listings_in_pages(server: ObjectServer, bucket: Any) -> None:
    server.objects |= {f"bucket/a/{n:04}/x y&z": b"" for n in range(1500)}
    found = [item["path"] for page in obstore.list(bucket, prefix="a/") for item in page]
    assert found == [f"a/{n:04}/x y&z" for n in range(1500)]
    assert len(obstore.list_with_delimiter(bucket, prefix="a/")["common_prefixes"]) == 1500


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (403, obstore.exceptions.PermissionDeniedError),
        (404, FileNotFoundError),
        (429, obstore.exceptions.BaseError),
        (503, obstore.exceptions.BaseError),
        ("reset", obstore.exceptions.BaseError),
        ("whole", obstore.exceptions.BaseError),
        ("truncated", obstore.exceptions.BaseError),
    ],
)
def test_faults(server: ObjectServer, bucket: Any, kind: Any, error: type[Exception]) -> None:
    server.objects["bucket/k"] = DATA
    fault = server.fail(kind, "k$", method="GET", times=1)
    with pytest.raises(error):
        obstore.get(bucket, "k", options={"range": (1, 5)}).bytes()
    assert fault.times == 0
    assert bytes(obstore.get(bucket, "k", options={"range": (1, 5)}).bytes()) == DATA[1:5]


def test_a_body_that_ends_too_soon(server: ObjectServer) -> None:
    from obstore.store import HTTPStore

    server.objects["bucket/k"] = DATA
    server.fail("truncated", times=1)
    web = HTTPStore.from_url(f"{server.url}/bucket", client_options={"allow_http": True})
    with server.watch() as seen:
        assert bytes(obstore.get(web, "k").bytes()) == DATA  # the client asks for the rest
    assert [request.range for request in seen.requests] == [None, "bytes=50-99"]


def test_nothing_for_whom_signs_nothing(server: ObjectServer) -> None:
    from obstore.store import S3Store

    server.private = True
    server.objects["bucket/k"] = DATA
    nobody = S3Store("bucket", endpoint=server.url, skip_signature=True, client_options={"allow_http": True})
    with pytest.raises(obstore.exceptions.BaseError):
        obstore.get(nobody, "k")
