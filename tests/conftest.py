"""For all tests."""

import gc
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from zarrcore.storage import LocalStore, MemoryStore, Store, WrapperStore


def pytest_configure() -> None:
    """Have Ctrl-C work, which tests send, where a shell that runs them in the background has it ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Have the garbage collector not look at tests, neither while they are collected nor later: they stay."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: Any) -> Generator[None, dict[str, Any], dict[str, Any]]:
    """Leave out the words that choose tests where processes tell of results: nobody asks for them there."""
    data = yield
    if isinstance(report, pytest.TestReport) and report.passed:
        data["keywords"] = {}
    return data


@pytest.fixture(params=["memory", "local", "python"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The engine's own two stores, and one that it knows through Python alone."""
    if request.param == "local":
        return LocalStore(tmp_path)
    return MemoryStore() if request.param == "memory" else WrapperStore(MemoryStore())
