# SPDX-License-Identifier: MIT
"""What the tests of concurrency share: stores of each kind, and threads that change often."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zarrcore.storage import LocalStore, MemoryStore, Store, WrapperStore


@pytest.fixture(params=["memory", "local", "python"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The engine's own two stores, and one that it knows through Python alone."""
    if request.param == "local":
        return LocalStore(tmp_path)
    return MemoryStore() if request.param == "memory" else WrapperStore(MemoryStore())


@pytest.fixture
def hasty_switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
