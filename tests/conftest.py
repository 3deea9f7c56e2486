"""For all tests."""

import gc
import signal
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from zarrcore.storage import LocalStore, MemoryStore, Store, WrapperStore


def pytest_configure(config: pytest.Config) -> None:
    """Have Ctrl-C work, which tests send, where a shell that runs them in the background has it ignored."""
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):  # of xdist, in the processes that run tests
            plugin.sendevent = partial(_send, plugin.sendevent)
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


def _send(send: Callable[..., None], name: str, **event: Any) -> None:
    """Send what the process that shows results does something with: of a passed test, that it has passed.

    With several processes ``--durations`` shows fixtures only of tests that have not.
    """
    report = event["data"] if name == "testreport" else {}
    has_passed = report.get("outcome") == "passed"
    if name == "logstart" or (has_passed and report["when"] != "call"):
        return
    if has_passed:
        report["keywords"] = {}
    send(name, **event)


@pytest.fixture(params=["memory", "local", "python"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The engine's own two stores, and one that it knows through Python alone."""
    if request.param == "local":
        return LocalStore(tmp_path)
    return MemoryStore() if request.param == "memory" else WrapperStore(MemoryStore())
