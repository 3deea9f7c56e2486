# SPDX-License-Identifier: MIT
"""A server of objects that counts, and clients for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from object_server import ObjectServer

from zarrcore.storage import ObjectStore

KEYS = {"access_key_id": "testing", "secret_access_key": "testing", "region": "us-east-1"}


@pytest.fixture(scope="session")
def _running() -> Iterator[ObjectServer]:
    with ObjectServer() as server:
        yield server


@pytest.fixture
def server(_running: ObjectServer) -> ObjectServer:
    """A server that is as new."""
    _running.reset()
    return _running


@pytest.fixture
def bucket(server: ObjectServer) -> Any:
    """The bucket ``bucket`` of the server, as obstore sees it; it tries nothing again."""
    store = pytest.importorskip("obstore.store")
    return store.S3Store(
        "bucket",
        endpoint=server.url,
        **KEYS,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )


@pytest.fixture
def store(bucket: Any) -> ObjectStore:
    return ObjectStore(bucket)
