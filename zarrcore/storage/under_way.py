"""Requests of obstore that event loops await, and the end of the process."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

import zarrcore._awaited  # noqa: F401  its end comes after this one, and waits for answers on their way
from zarrcore._locks import fresh_in_child

_LONGEST = 2.0  # seconds that the end of the process waits for answers, and then for what it cancelled
_AFTER_CANCELLING = 0.05  # seconds in which obstore's threads learn of it

_is_ending = False  # whether no more are to be made
_tasks: dict[object, tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = {}  # of each request
fresh_in_child(globals(), "_tasks")
_last_cancelled = 0.0


class Ending(Exception):
    """The process ends: no event loop makes a request any more."""


@contextmanager
def request() -> Iterator[None]:
    """One or several requests that the running loop awaits; raise Ending where it is too late."""
    global _last_cancelled
    mark, task, own = object(), asyncio.current_task(), _tasks
    assert task is not None  # else nothing could await
    own[mark] = asyncio.get_running_loop(), task  # before the question: either side sees the other one
    try:
        if _is_ending:
            raise Ending
        yield
    except asyncio.CancelledError:
        _last_cancelled = monotonic()
        raise
    finally:
        own.pop(mark, None)


@atexit.register
def _wait() -> None:
    """Let those end that loops of other threads await.

    A thread of obstore that hands over an answer when there is no interpreter any more ends the process by
    SIGABRT: CPython before 3.14 ends such threads, and frames of Rust do not let that pass.
    """
    global _is_ending
    _is_ending = True
    if not _has_ended(_LONGEST):
        for loop, task in [*_tasks.values()]:
            if loop.is_running():
                loop.call_soon_threadsafe(task.cancel)
        _has_ended(_LONGEST)


def _has_ended(seconds: float) -> bool:
    """Wait until no request is under way; return whether that is so."""
    latest = monotonic() + seconds
    while monotonic() < latest:
        is_quiet = not any(loop.is_running() for loop, _ in [*_tasks.values()])
        if is_quiet and monotonic() > _last_cancelled + _AFTER_CANCELLING:
            return True
        sleep(0.005)
    return False
