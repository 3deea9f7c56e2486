"""Coroutines of other packages that are run to their end, on event loops in other threads."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from time import monotonic
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakSet

from zarrcore._awaited import WAITER
from zarrcore._locks import fresh_in_child, one_at_a_time
from zarrcore._threads import start
from zarrcore.storage.announced import ENGINE

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]

_PATIENCE = 0.05  # seconds until a call that waits for a coroutine looks whether it waits in vain
_ENDING = 5.0  # seconds that a call which has failed or was interrupted waits for coroutines
_STARTING = 5.0  # seconds that a thread may take until its loop runs; if it does not then, it has ended
#: Modules whose coroutines run on the loops, and wait for nothing; others are called by what waits.
_AWAITED = frozenset({__name__, "zarrcore.storage.zarr_python"})
_own: dict[asyncio.AbstractEventLoop, None] = {}  # those that run in threads of this process
fresh_in_child(globals(), "_own")
_ended: WeakSet[asyncio.AbstractEventLoop] = WeakSet()  # loops of others whose threads have ended


class EndsLoopError(Exception):
    """What would end an event loop, and whoever waits for it would wait for ever: on its way to who waits."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Unawaited(Exception):
    """Nobody waits for a coroutine any more, or none can be run."""


def own_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that runs in a thread of its own; after a fork the child makes another one."""
    return _found(lambda _: True)


def free_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that runs in a thread of its own, which does not wait for a call of this package.

    There are as many as there are coroutines in which others are waited for: with most stores one.
    """
    return _found(lambda loop: _own_call(loop) is None)


def _found(suits: Callable[[asyncio.AbstractEventLoop], bool]) -> asyncio.AbstractEventLoop:
    """Return a loop of this process that suits, a new one if there is none."""
    if (found := next(filter(suits, _running()), None)) is None:
        with one_at_a_time(__name__, None):  # two would do no harm
            found = next(filter(suits, _running()), None) or _started()
    return found


def _running() -> list[asyncio.AbstractEventLoop]:
    for loop in [*_own]:
        if not loop.is_running():  # it has ended
            _own.pop(loop, None)
    return [*_own]


def _started() -> asyncio.AbstractEventLoop:
    loop, runs = asyncio.new_event_loop(), threading.Event()
    loop.call_soon(runs.set)
    try:
        thread = start(loop.run_forever)
        while not runs.wait(_PATIENCE):
            if not thread.is_alive():
                raise RuntimeError("an event loop has ended where it began")
    except RuntimeError:
        loop.close()
        raise
    _own[loop] = None
    return loop


def run_to_end(
    work: Work[T],
    loop: asyncio.AbstractEventLoop,
    *,
    is_needed: bool = False,
    timeout: float | None = None,
) -> T:
    """Run a coroutine to its end on `loop`, or on one of ours where that has ended or waits for this call.

    Parameters
    ----------
    work : callable
        Makes the coroutine.
    loop : asyncio.AbstractEventLoop
        A loop that runs, in another thread or in this one.
    is_needed : bool
        Whether it is an error that the loop stops.
    timeout : float, optional
        Seconds to wait.

    Raises
    ------
    Unawaited
        If the task that waits for this has been cancelled, or the loop has ended before the coroutine.
    TimeoutError
        After `timeout`.
    """
    latest = None if timeout is None else monotonic() + timeout
    needed = loop if is_needed else None
    if loop.is_closed() or loop in _ended or asyncio._get_running_loop() is loop:
        loop = free_loop()
    while True:
        turn, done = threading.Lock(), threading.Event()  # whoever takes the turn decides where it runs
        future = asyncio.run_coroutine_threadsafe(_in_turn(work, turn), loop)
        future.add_done_callback(lambda _, done=done: done.set())  # type: ignore[misc]
        try:
            if not _is_left(loop, turn, done, needed, latest):
                return _result(future)
            future.cancel()
            loop = free_loop()
        except BaseException:  # such as KeyboardInterrupt, while waiting
            future.cancel()
            raise


async def _in_turn(work: Work[T], turn: threading.Lock) -> T:
    if not turn.acquire(blocking=False):
        raise asyncio.CancelledError
    return await harmless(work())


async def harmless(work: Awaitable[T]) -> T:
    """Await what may raise what would end the loop."""
    try:
        return await work
    except (KeyboardInterrupt, SystemExit) as error:
        raise EndsLoopError(error) from None


def _result(future: Future[T]) -> T:
    try:
        return future.result()
    except EndsLoopError as ends:
        raise ends.error from None


def _is_left(
    loop: asyncio.AbstractEventLoop,
    turn: threading.Lock,
    done: threading.Event,
    needed: asyncio.AbstractEventLoop | None,
    latest: float | None,
) -> bool:
    """Wait until a coroutine has ended; return True if its loop cannot begin it."""
    has_run, asked = loop.is_running(), monotonic()
    going_on, call = asked, None
    while not done.wait(_PATIENCE if latest is None else min(_PATIENCE, max(0.0, latest - monotonic()))):
        runs = loop.is_running()
        if not runs and loop is not needed and (has_run or monotonic() - asked > _STARTING):
            _ended.add(loop)
        has_run |= runs
        before, call = call, None if turn.locked() else _own_call(loop)
        waits = call is not None and call is before  # it may be busy with many short ones
        if not turn.locked() and (waits or loop in _ended) and turn.acquire(blocking=False):
            return True
        if (waiter := WAITER.get()) is not None and waiter.cancelled:
            raise Unawaited("who asked for this has been cancelled")
        going_on = going_on if _is_ending() else monotonic()
        if monotonic() - going_on > _ENDING:
            raise Unawaited("the call that waits for this has failed or was interrupted")
        if not done.is_set() and (loop in _ended or (loop is needed and not runs)):
            raise Unawaited("the event loop that this waits for does not run any more")
        if latest is not None and monotonic() > latest:
            raise TimeoutError
    return False


def _is_ending() -> bool:
    """Return whether this thread works for a call of the engine that has failed or was interrupted."""
    engine: Any = sys.modules.get(ENGINE)
    return engine is not None and engine.is_ending()


def _own_call(loop: asyncio.AbstractEventLoop) -> FrameType | None:
    """Return the frame of a call of this package in the thread of a loop, which may wait for the loop."""
    frame = sys._current_frames().get(getattr(loop, "_thread_id", None) or 0)
    while frame is not None:
        name, caller = frame.f_globals.get("__name__", ""), frame.f_back
        makes = caller is not None and caller.f_code is _in_turn.__code__  # a coroutine, without waiting
        if name.startswith("zarrcore.") and (
            frame.f_code is run_to_end.__code__ or (name not in _AWAITED and not makes)
        ):
            return frame
        if frame.f_code.co_name == "run_forever":  # who started the loop is of no interest
            return None
        frame = caller
    return None
