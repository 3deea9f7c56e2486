"""The functions that users call: :mod:`zarrcore.api.synchronous`, and the same to be awaited in
:mod:`zarrcore.api.asynchronous`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zarrcore.api import asynchronous as asynchronous
    from zarrcore.api import synchronous as synchronous
    from zarrcore.api.synchronous import *  # noqa: F403
    from zarrcore.api.synchronous import __all__ as __all__


def _load(name: str) -> Any:
    """A name of :mod:`zarrcore.api.synchronous`, which is loaded when the first one is asked for."""
    from importlib import import_module

    synchronous = import_module("zarrcore.api.synchronous")
    if name == "synchronous":
        return synchronous
    if name != "__all__" and name not in synchronous.__all__:
        raise AttributeError(f"module 'zarrcore.api' has no attribute {name!r}")
    return getattr(synchronous, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_load("__all__")})


if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
