# SPDX-License-Identifier: MIT
"""A server that speaks S3, in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

NEEDED = ("moto", "s3fs", "obstore", "zarr")
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}


def pytest_ignore_collect(collection_path: Any) -> bool | None:
    """Without the packages there is nothing to collect, unless they are said to be there."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("ZARRCORE_NEED_S3"):
        raise pytest.UsageError(f"tests/s3 needs {', '.join(missing)}: see `make s3`")
    return True if missing and collection_path.name.startswith("test_") else None


@dataclass(frozen=True)
class Server:
    """Where the server listens, and clients for it."""

    url: str
    bucket: str = "bucket"

    def filesystem(self, **options: Any) -> Any:
        import s3fs

        return s3fs.S3FileSystem(
            key="testing", secret="testing", client_kwargs={"endpoint_url": self.url, **options}
        )

    def objects(self, prefix: str | None = None) -> Any:
        from obstore.store import S3Store

        return S3Store(
            self.bucket,
            prefix=prefix,
            endpoint=self.url,
            access_key_id="testing",
            secret_access_key="testing",
            region="us-east-1",
            client_options={"allow_http": True},
            # This server answers 500 now and then where one value is read and replaced by many.
            retry_config={"max_retries": 5},
        )

    def fresh(self) -> str:
        """A prefix that nobody has used."""
        return uuid.uuid4().hex


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(
        command, env={**os.environ, **KEYS}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, process)
        server = Server(f"http://127.0.0.1:{port}")
        server.filesystem().mkdir(server.bucket)
        yield server
    finally:
        process.terminate()
        process.wait(10)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return as soon as somebody listens there."""
    deadline = time.monotonic() + 90  # a busy machine starts it slowly
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the server does not listen")
