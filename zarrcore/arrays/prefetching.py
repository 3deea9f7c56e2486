"""Reading ahead: a thread that decodes chunks into a cache while the program goes on."""

from __future__ import annotations

import atexit
import threading
from typing import Any

import numpy as np

from zarrcore._core import engine
from zarrcore._threads import Thread, start
from zarrcore._weak import WeakSet
from zarrcore.arrays.opened import OpenArray
from zarrcore.indexing import Selection

_at_work: WeakSet[Thread] = WeakSet()


@atexit.register
def _wait_for_all() -> None:
    for thread in _at_work:
        thread.join()


class Prefetch:
    """Chunks on their way into the cache of an array; made by :meth:`zarrcore.Array.prefetch`.

    Reads of the array need not wait for it: they decode what is not there yet.  Errors are raised by
    :meth:`wait` alone.

    Notes
    -----
    The end of the main thread cancels it, so that a program that is done ends.  In the child of a fork it is
    done, and the cache is empty.
    """

    def __init__(self, array: OpenArray, selection: Selection, threads: int = 0) -> None:
        if array.cache is None:
            raise ValueError(f"array {array.path or '/'!r}: prefetching needs a cache, see Array.with_cache")
        self._array = array
        # The caller may change a mask, whose indices are made when asked for, or an array of indices.
        dims = tuple(dim.copy() if isinstance(dim, np.ndarray) else dim for dim in selection.dims)
        self._selection = selection._replace(dims=dims)
        self._threads = engine.thread_number(threads)
        self._stopped = False
        self._error: BaseException | None = None
        self._thread = start(self._run)
        _at_work.add(self._thread)

    def _run(self) -> None:
        selection = self._selection
        compiled: Any = self._array.engine()  # native: no other engine has a cache
        what = selection.dims, selection.block, selection.points
        try:
            engine.prefetch(compiled, *what, self._threads, self)
        except BaseException as error:  # it belongs to whoever waits
            self._error = error

    @property
    def cancelled(self) -> bool:
        """True after :meth:`cancel`, or when the main thread has ended."""
        return self._stopped or not threading.main_thread().is_alive()

    @property
    def done(self) -> bool:
        """True when nothing is being read any more."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Stop after the chunks that are being decoded; what has been decoded stays in the cache."""
        self._stopped = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all is read or cancelled.

        Parameters
        ----------
        timeout : float, optional
            Most seconds to wait.

        Returns
        -------
        bool
            :attr:`done`.

        Raises
        ------
        ChunkError
            What reading would have raised.
        """
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        return self.done

    def __repr__(self) -> str:
        state = "done" if self.done else "cancelled" if self._stopped else "running"
        return f"<Prefetch {self._array.store_path} {state}>"
