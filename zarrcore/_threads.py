"""Threads of Python, and a function of many items that several of them compute.

``threading.Thread.start`` waits for the first step of the new thread, which is never taken where memory runs
out before it.  These are started without that wait.
"""

from __future__ import annotations

import _thread
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from itertools import chain, islice
from math import inf
from queue import SimpleQueue
from time import monotonic
from typing import Generic, TypeVar
from weakref import ref

Item = TypeVar("Item")
Result = TypeVar("Result")

_PATIENCE = 0.05  # seconds in which a thread that has something to do begins with it, as a rule


class _End:
    """What any number of threads wait for; no interrupt breaks it, as it may an event of :mod:`threading`."""

    def __init__(self) -> None:
        self.has_come = False
        self._lasts = _thread.allocate_lock()
        self._lasts.acquire()

    def come(self) -> None:
        self.has_come = True
        self._lasts.release()

    def wait(self, most: float = inf) -> bool:
        """Wait a moment, at most `most` seconds; return whether it has come."""
        if not self.has_come and self._lasts.acquire(timeout=min(most, _PATIENCE)):
            self._lasts.release()
        return self.has_come


class Thread:
    """A thread, started by :func:`start`.  The process may end before it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._end = _End()

    def is_alive(self) -> bool:
        """Return whether its work is under way; in the child of a fork it is not."""
        return not self._end.has_come and self._process == os.getpid()

    def join(self, timeout: float | None = None) -> None:
        """Wait, at most `timeout` seconds, for the end of its work."""
        latest = inf if timeout is None else monotonic() + timeout
        while self.is_alive() and not self._end.wait(max(0, latest - monotonic())):
            if monotonic() >= latest:
                return


def start(work: Callable[[], object]) -> Thread:
    """Start a thread that does `work`.

    Raises
    ------
    RuntimeError
        If the system has no more threads, or no memory for this one.
    """
    thread, begins = Thread(), _thread.allocate_lock()
    begins.acquire()

    def run() -> None:
        try:
            begins.release()
            work()
        finally:
            thread._end.come()

    holds = ref(run)  # until the new thread has gone
    try:
        _thread.start_new_thread(run, ())
        del run
        while not begins.acquire(timeout=_PATIENCE):
            if holds() is None and not begins.acquire(blocking=False):
                raise MemoryError
    except (RuntimeError, MemoryError) as error:
        raise RuntimeError("the system has no more threads, or no memory for one") from error
    return thread


class _Task(Generic[Item, Result]):
    """A call that is made once, by whoever takes it first."""

    def __init__(self, function: Callable[[Item], Result], item: Item) -> None:
        self._function, self._item = function, item
        self._taken: dict[None, str] = {}  # by whom; taken in one step, which no interrupt divides
        self._end = _End()
        self._error: BaseException | None = None

    def do(self, who: str) -> None:
        """Make the call, unless somebody else has taken it."""
        if self._taken.setdefault(None, who) != who:
            return
        try:
            self._value = self._function(self._item)
        except BaseException as error:  # it belongs to whoever waits
            self._error = error
        finally:
            self._end.come()

    def result(self) -> Result:
        """Wait for the result; make the call here if no thread begins with it."""
        while not self._end.wait():
            self.do("caller")
        if self._error is None:
            return self._value
        try:
            raise self._error
        finally:
            del self  # no circle of the error, its traceback and this

    def give_up(self) -> BaseException | None:
        """See to it that the call is not under way in a thread, and never will be; return what it raised."""
        if self._taken.setdefault(None, "nobody") == "thread":
            while not self._end.wait():
                pass
        return self._error


def _do_all(tasks: SimpleQueue[_Task[Item, Result] | None]) -> None:
    while (task := tasks.get()) is not None:
        task.do("thread")
        del task  # nothing is kept while this thread has nothing to do
    tasks.put(None)  # for the next one


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Return the function of each item, in order, computed by several threads a few items ahead.

    Where the system has no more threads, those that there are do the work, and this one.  When this ends, for
    whatever reason, the function is not at work any more.  What is raised is the first error in order, unless
    the function has raised one like KeyboardInterrupt for a later item.
    """
    items = iter(items)
    first = [*islice(items, 2)]
    if threads == 1 or len(first) < 2:  # what is one piece needs no other thread
        yield from map(function, chain(first, items))
        return
    tasks = SimpleQueue[_Task[Item, Result] | None]()
    waiting: deque[_Task[Item, Result]] = deque()
    started = 0
    try:
        for item in chain(first, items):
            if started < threads:
                with suppress(RuntimeError, MemoryError):  # there are no more
                    _thread.start_new_thread(_do_all, (tasks,))
                    started += 1
            if not started:
                yield function(item)
                continue
            waiting.append(_Task(function, item))
            tasks.put(waiting[-1])
            if len(waiting) > 2 * threads:
                yield waiting[0].result()
                waiting.popleft()
        while waiting:
            yield waiting[0].result()
            waiting.popleft()
    except Exception:
        for error in [task.give_up() for task in waiting]:
            if error is not None and not isinstance(error, Exception):
                raise error from None
        raise
    finally:
        for task in waiting:
            task.give_up()
        tasks.put(None)
