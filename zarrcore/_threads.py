"""A function of many items, computed by several threads that are gone when the caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from itertools import chain, islice
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Calls(Generic[Item, Result]):
    """The calls of a function that are under way; once they have ended, no other one begins."""

    def __init__(self, function: Callable[[Item], Result]) -> None:
        self._function = function
        self._changed = threading.Condition()
        self._n = 0
        self._ended = False

    def __call__(self, item: Item) -> Result:
        with self._changed:
            if self._ended:
                raise RuntimeError("nobody waits for this call any more")
            self._n += 1
        try:
            return self._function(item)
        finally:
            with self._changed:
                self._n -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Wait for those that are under way."""
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: self._n == 0)


class _Task(Generic[Item, Result]):
    """A call that is made once, by whoever comes first."""

    def __init__(self, call: Callable[[Item], Result], item: Item) -> None:
        from concurrent.futures import Future

        self._call, self._item = call, item
        self._begins = threading.Lock()
        self.future: Future[Result] = Future()

    def __call__(self) -> None:
        if self._begins.acquire(blocking=False):
            try:
                self.future.set_result(self._call(self._item))
            except BaseException as error:  # it belongs to whoever waits
                self.future.set_exception(error)


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Return the function of each item, in order, computed by several threads a few items ahead.

    Where the system has no more threads, those that there are do the work, and this one.  When this ends, for
    whatever reason, the function is not at work any more.
    """
    items = iter(items)
    first = [*islice(items, 2)]
    if threads == 1 or len(first) < 2:  # what is one piece needs no other thread
        yield from map(function, chain(first, items))
        return
    from collections import deque
    from concurrent.futures import Future, ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads)
    calls = _Calls(function)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in chain(first, items):
            task = _Task(calls, item)
            waiting.append(task.future)
            try:
                pool.submit(task)
            except RuntimeError:  # no room for one more thread, though the task may be taken by another one
                task()
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # The pool does not know a thread at whose start Ctrl-C was pressed, so would not wait for that one.
        calls.end()
        pool.shutdown(wait=True, cancel_futures=True)
