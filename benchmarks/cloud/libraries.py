# SPDX-License-Identifier: MIT
"""How each library opens, reads and writes an array that lies on the server, in the bucket ``bucket``."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import zarrcore
from benchmarks.cloud import Server

_KEYS = {"access_key_id": "testing", "secret_access_key": "testing", "region": "us-east-1"}
# All sign their requests; tensorstore takes keys from the environment alone.
os.environ.update(AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing")


class Library:
    """zarrcore, with a URL; the others derive from it."""

    name = "zarrcore"
    module = "zarrcore"  # which has functions for groups; empty: none
    packages: tuple[str, ...] = ("obstore",)

    @property
    def reason(self) -> str | None:
        """Why it cannot be measured here; None if it can."""
        missing = [name for name in self.packages if find_spec(name) is None]
        return f"not installed: {', '.join(missing)}" if missing else None

    def open(self, server: Server, path: str, requests: int | None) -> Any:
        """Open an array; `requests` is the most at a time, None: the library's own default."""
        return zarrcore.open_array(f"s3://bucket/{path}", mode="r+", storage_options=server.options)

    def read(self, array: Any, selection: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = array[selection]
        return found

    def write(self, array: Any, values: np.ndarray[Any, Any]) -> None:
        array[...] = values

    @property
    def api(self) -> Any:
        return import_module(self.module)

    def store(self, server: Server, path: str, requests: int | None) -> Any:
        """Return a store that nobody has used before."""
        return zarrcore.storage.make_store(f"s3://bucket/{path}", storage_options=server.options)

    def write_data_set(self, data_set: Any, store: Any) -> None:
        import zarrcore.xarray

        zarrcore.xarray.to_zarr(data_set, store)

    def read_data_set(self, store: Any) -> Any:
        import xarray

        import zarrcore.xarray

        return zarrcore.xarray.load(xarray.open_dataset(store, engine="zarrcore"))


class OverFsspec(Library):
    """zarrcore on the same filesystem as zarr-python over fsspec."""

    name = "zarrcore-fsspec"
    packages = ("s3fs",)

    def open(self, server: Server, path: str, requests: int | None) -> Any:
        store = self.store(server, path, requests)
        return zarrcore.open_array(store, mode="r+", zarr_format=3)

    def store(self, server: Server, path: str, requests: int | None) -> Any:
        return zarrcore.storage.FsspecStore.from_url(f"s3://bucket/{path}", server.options)


def _limit(requests: int | None) -> None:
    import zarr

    if requests is not None:
        zarr.config.set({"async.concurrency": requests})


class ZarrPython(Library):
    """zarr-python; the stores are those of the classes that derive from this one."""

    module = "zarr"

    def write_data_set(self, data_set: Any, store: Any) -> None:
        data_set.to_zarr(store)

    def read_data_set(self, store: Any) -> Any:
        import xarray

        return xarray.open_dataset(store, engine="zarr").load()


class ZarrOverObstore(ZarrPython):
    name = "zarr-obstore"
    packages = ("zarr", "obstore")

    def __init__(self) -> None:
        self._stores: dict[str, Any] = {}

    def open(self, server: Server, path: str, requests: int | None) -> Any:
        import zarr
        from obstore.store import S3Store

        _limit(requests)
        if server.url not in self._stores:
            self._stores[server.url] = S3Store(
                "bucket", endpoint=server.url, client_options={"allow_http": True}, **_KEYS
            )
        store = zarr.storage.ObjectStore(self._stores[server.url])
        return zarr.open_array(store, path=path, mode="r+", zarr_format=3)

    def store(self, server: Server, path: str, requests: int | None) -> Any:
        import zarr
        from obstore.store import S3Store

        _limit(requests)
        client = {"allow_http": True}
        bucket = S3Store("bucket", prefix=path, endpoint=server.url, client_options=client, **_KEYS)
        return zarr.storage.ObjectStore(bucket)


class ZarrOverFsspec(ZarrPython):
    name = "zarr-fsspec"
    packages = ("zarr", "s3fs")

    def open(self, server: Server, path: str, requests: int | None) -> Any:
        import zarr

        _limit(requests)
        url = f"s3://bucket/{path}"
        return zarr.open_array(url, mode="r+", zarr_format=3, storage_options=server.options)

    def store(self, server: Server, path: str, requests: int | None) -> Any:
        import zarr

        _limit(requests)
        return zarr.storage.FsspecStore.from_url(f"s3://bucket/{path}", storage_options=server.options)


class Tensorstore(Library):
    name = "tensorstore"
    module = ""
    packages = ("tensorstore",)

    def __init__(self) -> None:
        self._contexts: dict[int | None, Any] = {}

    def open(self, server: Server, path: str, requests: int | None) -> Any:
        import tensorstore

        if requests not in self._contexts:
            spec = {} if requests is None else {"s3_request_concurrency": {"limit": requests}}
            self._contexts[requests] = tensorstore.Context(spec)
        kvstore = {
            "driver": "s3",
            "bucket": "bucket",
            "endpoint": server.url,
            "aws_region": "us-east-1",
            "aws_credentials": {"type": "environment"},
            "path": f"{path}/",
        }
        spec = {"driver": "zarr3", "kvstore": kvstore}
        return tensorstore.open(spec, open=True, context=self._contexts[requests]).result()

    def read(self, array: Any, selection: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = array[selection].read().result()
        return found

    def write(self, array: Any, values: np.ndarray[Any, Any]) -> None:
        array.write(values).result()


LIBRARIES: list[Library] = [Library(), OverFsspec(), ZarrOverObstore(), ZarrOverFsspec(), Tensorstore()]
PEERS = {
    "zarrcore": ("zarr-obstore", "zarr-fsspec", "tensorstore"),
    "zarrcore-fsspec": ("zarr-fsspec",),
}
