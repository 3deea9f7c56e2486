# SPDX-License-Identifier: MIT
"""The logger "zarrcore" of the standard library.

Whole operations on stores have level INFO, single nodes and choices DEBUG.  A program in which nobody has
imported :mod:`logging` cannot listen, so nothing is imported for it here.
"""

from __future__ import annotations

import sys
from typing import Any

from zarrcore.errors import shown

_DEBUG, _INFO = 10, 20
_logger: Any = None  # asking logging for it takes a lock, which Ctrl-C may have left held in another thread


def debug(message: str, *parts: object) -> None:
    """Tell about a node, or a choice."""
    _tell(_DEBUG, message, parts)


def info(message: str, *parts: object) -> None:
    """Tell what a whole operation has done."""
    _tell(_INFO, message, parts)


def _tell(level: int, message: str, parts: tuple[object, ...]) -> None:
    global _logger
    if _logger is None:
        # Without a GIL `get` locks this dictionary, which all threads that open nodes ask; `in` does not.
        logging: Any = sys.modules.get("logging") if "logging" in sys.modules else None
        if logging is None or not hasattr(logging, "getLogger"):  # another thread is importing it
            return
        _logger = logging.getLogger("zarrcore")
    if _logger.isEnabledFor(level):  # names and URLs come from elsewhere: no control characters, no passwords
        _logger.log(level, message, *map(shown, parts), stacklevel=3)
