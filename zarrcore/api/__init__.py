"""The functions that users call: :mod:`zarrcore.api.synchronous`, and the same as coroutines in
:mod:`zarrcore.api.asynchronous`.
"""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES: dict[str, str] = {}
MODULES = "asynchronous synchronous"

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
