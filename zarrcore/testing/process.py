"""Run a check in a forked child process."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable

__all__ = ["in_child"]


def in_child(check: Callable[[], object]) -> bool:
    """Run `check` in a forked child.

    Parameters
    ----------
    check : callable
        What to run there; an exception is printed and counts as false.

    Returns
    -------
    bool
        Whether it returned something true.

    Examples
    --------
    >>> array = zarrcore.ones(4)
    >>> in_child(lambda: array[:].sum() == 4)
    True
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns where other threads exist
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if check() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
