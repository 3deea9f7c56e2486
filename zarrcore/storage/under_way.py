"""Requests of obstore that event loops await, and the end of the process."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

_LONGEST = 2.0  # seconds that the end of the process waits

is_ending = False  # whether no more are to be made
_loops: dict[object, asyncio.AbstractEventLoop] = {}  # of each request


@contextmanager
def request() -> Iterator[None]:
    """One or several requests that the running event loop awaits."""
    mark = object()
    _loops[mark] = asyncio.get_running_loop()
    try:
        yield
    finally:
        _loops.pop(mark, None)


@atexit.register
def _wait() -> None:
    """Let those end that loops of other threads await.

    An answer for which there is no interpreter any more ends the process by SIGABRT.
    """
    global is_ending
    is_ending = True
    latest = monotonic() + _LONGEST
    while any(loop.is_running() for loop in [*_loops.values()]) and monotonic() < latest:
        sleep(0.005)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loops.clear)
