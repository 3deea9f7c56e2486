"""Threads that start at once."""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["in_threads"]


def in_threads(*calls: Callable[[], object]) -> None:
    """Start all calls at once, each in its own thread; raise the first exception of any of them.

    Parameters
    ----------
    *calls : callable
        What to run, without arguments.

    Examples
    --------
    >>> array = zarrcore.zeros(4, chunks=2)
    >>> in_threads(lambda: array.__setitem__(0, 1), lambda: array.__setitem__(3, 2))
    >>> array[:]
    array([1., 0., 0., 2.])
    """
    barrier = threading.Barrier(len(calls))
    errors: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            barrier.wait(30)
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
