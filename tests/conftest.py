"""For all tests."""

import signal
from pathlib import Path

import pytest

from zarrcore.storage import LocalStore, MemoryStore, Store, WrapperStore


def pytest_configure() -> None:
    """Have Ctrl-C work, which tests send, where a shell that runs them in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["memory", "local", "python"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The engine's own two stores, and one that it knows through Python alone."""
    if request.param == "local":
        return LocalStore(tmp_path)
    return MemoryStore() if request.param == "memory" else WrapperStore(MemoryStore())
