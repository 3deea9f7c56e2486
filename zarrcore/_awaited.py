"""Calls in threads that tasks of event loops await.

Not in the threads of the loop's own executor: a coroutine that such a call waits for may need one of them,
as every file of zarr-python's LocalStore does, and none might be left.
"""

from __future__ import annotations

import asyncio
import atexit
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from os import cpu_count, getpid
from threading import Event, Lock, RLock
from time import monotonic, sleep
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from zarrcore._pools import Pool
from zarrcore._threads import start

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST = 2.0  # seconds that the end of the process waits for threads of other packages
_PATIENCE = 0.05  # seconds in which no call ends, until there are more threads, or an end is asked for


class Waiter:
    """Who waits for calls: a task that may be cancelled meanwhile."""

    cancelled = False


#: Who waits for the calls of this thread, if that is known.
WAITER: ContextVar[Waiter | None] = ContextVar("WAITER", default=None)


class _Pool(Pool):
    """A pool that has more threads than `most` while calls wait and none ends.

    Those that are under way may all wait for coroutines that await calls which have not begun.
    """

    def __init__(self, name: str, most: int) -> None:
        super().__init__(name, most)
        self._lock = RLock()
        self._under_way = self._ended = 0  # calls
        self._is_watched = False

    def submit(self, call: Callable[..., T], /, *arguments: Any) -> Future[T]:
        future = super().submit(call, *arguments)
        with self._lock:
            self._under_way += 1
            starts = not self._is_watched and self._under_way > self._n
            self._is_watched |= starts
        future.add_done_callback(self._note_end)
        if starts:
            self._start_watching()
        return future

    def _do_without(self) -> None:
        """Fail: what a call waits for may need the thread of the loop."""
        while (task := self._at_once()) is not None:
            if task[0].set_running_or_notify_cancel():
                task[0].set_exception(RuntimeError("the system has no thread, or no memory for one"))

    def _note_end(self, _: Future[Any]) -> None:
        with self._lock:
            self._under_way -= 1
            self._ended += 1

    def _start_watching(self) -> None:
        try:
            start(self._watch)
        except BaseException as error:
            self._is_watched = False
            if not isinstance(error, RuntimeError):  # no thread is left: there cannot be more of the others
                raise

    def _watch(self) -> None:
        while True:
            ended = self._ended
            sleep(_PATIENCE)
            with self._lock:
                if self._under_way <= self._n:
                    self._is_watched = False
                    return
                more = max(1, self._most // 4) if ended == self._ended else 0
                self._most += more
            with suppress(RuntimeError):  # no thread is left, or the process ends
                for _ in range(more):
                    self._start()


class Threads:
    """Threads for calls that tasks of event loops await.

    Parameters
    ----------
    name : str
        Beginning of their names.
    most : int
        Threads at work at the same time.  There are more while none of the calls ends.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._pools: dict[int, _Pool] = {}  # by process: none of the parent's threads are in a child

    async def run(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Make a call that changes nothing in one of the threads.

        A task that is cancelled ends at once, and leaves the thread alone.
        """
        return await self._begin(call, *args, **options)

    async def run_until_cancelled(self, call: Callable[..., T], *args: Any) -> T:
        """Make a call that ends early when the token, its last argument, is cancelled, as the task may be."""
        token = Waiter()
        outer = WAITER.set(token)
        try:
            future = self._begin(call, *args, token)
        finally:
            WAITER.reset(outer)
        try:
            return await future
        except asyncio.CancelledError:
            token.cancelled = True
            raise

    async def run_to_end(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Make a call that changes something in one of the threads.

        A task that is cancelled ends when the call has ended, or at once if it has not begun and never will:
        what was stored after that would replace what the program has stored since.
        """
        turn = Lock()  # whoever takes it decides whether the call is made
        context, ended = copy_context(), Event()

        def made() -> T | None:
            try:
                return context.run(call, *args, **options) if turn.acquire(blocking=False) else None
            finally:
                ended.set()

        try:
            future = asyncio.wrap_future(self._pool().submit(made))
        except BaseException:  # such as Ctrl-C at the start of a thread, which nobody then knows
            if not turn.acquire(blocking=False):
                ended.wait()
            raise
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as cancelled:
            if turn.acquire(blocking=False):
                future.cancel()
            has_ended = False
            while not future.done() and not has_ended:
                has_ended = ended.is_set()  # if the future does not know: an interrupt has lost that
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([future], timeout=_PATIENCE)
            is_known = future.done() and not future.cancelled()
            raise cancelled from future.exception() if is_known else None
        return future.result()  # type: ignore[return-value]

    def _begin(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> asyncio.Future[T]:
        return asyncio.wrap_future(self._pool().submit(partial(copy_context().run, call, *args, **options)))

    def _pool(self) -> _Pool:
        process = getpid()
        pool = self._pools.get(process)
        if pool is None:  # of two that are made at once, one is dropped, without a thread
            pool = self._pools.setdefault(process, _Pool(self._name, self._most))
        return pool


NODES = Threads("zarrcore-nodes", min(32, (cpu_count() or 1) + 4))
"""For calls of arrays and groups: as many as an event loop has for what is not awaited."""

BATCHES = Threads("zarrcore-batches", 64)
"""For calls of the engine under zarr-python, which wait for its stores."""

STORES = Threads("zarrcore-stores", 64)
"""For calls of stores."""


@atexit.register
def _finish_calls() -> None:
    """Wait for the calls that are under way, as a program does for those of an executor of Python's.

    And for threads that brought the answers of the last requests, such as those of icechunk, to come back:
    CPython before 3.14 ends them, and frames of Rust then drop objects of Python without the GIL.
    """
    pools = [threads._pools.get(getpid()) for threads in (NODES, BATCHES, STORES)]
    for pool in filter(None, pools):
        pool.end()
        pool.join()
    latest = monotonic() + _LONGEST
    while _hands_over() and monotonic() < latest:
        sleep(0.001)


def _hands_over() -> bool:
    """Return whether a thread that is not one of Python's hands something to an event loop.

    A loop may see the answer, and end the request, before the thread that brought it has come back.
    """
    known = {thread.ident for thread in threading.enumerate()}
    frames = sys._current_frames().items()
    return any(_is_in("call_soon_threadsafe", frame) for ident, frame in frames if ident not in known)


def _is_in(function: str, frame: FrameType | None) -> bool:
    """Return whether a thread is in a function, or in something that it calls."""
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None
