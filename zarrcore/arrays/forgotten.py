"""Writers that nobody closed: what is pending in them is written, from a thread of its own or at exit."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from typing import Any

from zarrcore._threads import Thread, start
from zarrcore._weak import WeakSet
from zarrcore.errors import ZarrUserWarning

__all__ = ["finish_later", "watch"]

_writers: WeakSet[Any] = WeakSet()
"""Every :class:`zarrcore.ArrayWriter` of the process."""
_kept: list[Any] = []
"""Those that were about to be collected when there was no thread for them."""
_at_work: WeakSet[Thread] = WeakSet()
"""Threads in which they are finished."""
_has_ended = False
_AT_END = "written at the end of the program"


def watch(writer: Any) -> None:
    """Have what is pending in a writer written when the interpreter ends, unless it was closed."""
    _writers.add(writer)


def finish_later(writer: Any) -> None:
    """Write what is pending in a writer that is about to be collected.

    Collection begins anywhere, also while its thread holds locks, so another thread takes them.
    """
    if writer._process != os.getpid():
        return  # the parent of this process has it too
    _warn(repr(writer), _begin(writer))


def _begin(writer: Any) -> str:
    """Have a writer finished in another thread; return what becomes of its values."""
    if sys.is_finalizing():
        return "lost"
    try:
        _at_work.add(start(writer._finish))
    except RuntimeError:  # the system has no more threads, or the process ends
        if _has_ended:
            return "lost"
        _kept.append(writer)
        return _AT_END
    return "written now"


@atexit.register
def _finish_all() -> None:
    global _has_ended
    _has_ended = True
    for thread in _at_work:
        thread.join()
    unclosed = [w for w in {*_writers, *_kept} if w._process == os.getpid() and w._is_unfinished]
    names = [repr(writer) for writer in unclosed]
    failures = []
    for writer in unclosed:
        try:
            writer._finish()
        except Exception as error:
            failures.append(error)
    try:
        for name in names:
            _warn(name, _AT_END)
    finally:
        if failures:
            raise ExceptionGroup("values of writers that were not closed are lost", failures)


def _warn(name: str, done: str) -> None:
    message = f"{name} was not closed: its pending values are {done}; call close() or use a with statement"
    warnings.warn(message, ZarrUserWarning, stacklevel=4)
