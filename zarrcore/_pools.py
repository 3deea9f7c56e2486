"""Threads that are kept for calls which wait, most of the time, for something else than this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import current_thread
from typing import Any, TypeAlias, TypeVar

from zarrcore._threads import Thread, start

R = TypeVar("R")

_Task: TypeAlias = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


def _do(task: _Task) -> None:
    future, call, arguments = task
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(call(*arguments))
        except BaseException as error:  # it is the caller's
            future.set_exception(error)


class Pool:
    """Threads that are started as they are needed.  The process may end before them.

    Parameters
    ----------
    name : str
        Beginning of their names.
    most : int
        How many there are at most.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._n = 0
        # One for each thread that waits and for which no task is meant yet.  Once there are as many threads
        # as may be, there can be more: then none is started any more.
        self._idle: SimpleQueue[None] = SimpleQueue()
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._has_ended = False

    def submit(self, call: Callable[..., R], /, *arguments: Any) -> Future[R]:
        """Have a call made in one of the threads; where there are none and can be none, make it here."""
        future: Future[R] = Future()
        if sys.is_finalizing():  # no other thread runs any more
            _do((future, call, arguments))
            return future
        self._tasks.put((future, call, arguments))
        if self._has_ended or (not self._takes_idle() and self._n < self._most):
            try:
                self._start()
            except RuntimeError:  # no more of them, or an end: those that there are do the work
                if self._n == 0:
                    self._do_without()
        return future

    def end(self) -> None:
        """Have the threads end when they have nothing to do any more."""
        self._has_ended = True
        self._tasks.put(None)

    def join(self) -> None:
        """Wait until the threads have ended."""
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        self._n += 1
        try:
            self._threads.append(start(self._work))
        except RuntimeError:
            self._n -= 1
            raise

    def _do_without(self) -> None:
        while (task := self._at_once()) is not None:
            _do(task)

    def _takes_idle(self) -> bool:
        try:
            self._idle.get_nowait()
        except Empty:
            return False
        return True

    def _work(self) -> None:
        current_thread().name = f"{self._name}-{self._n}"
        while (task := self._next()) is not None:
            _do(task)
            del task  # nothing is kept while this thread has nothing to do
            self._idle.put(None)

    def _next(self) -> _Task | None:
        task = self._tasks.get()
        if task is None:  # the end, of all threads
            task = self._at_once()
            self._tasks.put(None)
        return task

    def _at_once(self) -> _Task | None:
        try:
            return self._tasks.get_nowait()
        except Empty:
            return None
