# SPDX-License-Identifier: MIT
"""The compiled modules, for the main interpreter of a process."""

from __future__ import annotations

from typing import Any


def _refuse_subinterpreters() -> None:
    """Before any module is loaded: one that got nowhere in another interpreter is lost for the main one."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # of CPython 3.13, and older
        try:
            interpreters: Any = __import__(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("zarrcore works in the main interpreter only, not in a subinterpreter")
        return


_refuse_subinterpreters()
