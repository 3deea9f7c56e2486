"""Base classes of the extension points, under the names that zarr-python uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from zarrcore.abc import buffer, codec, store  # noqa: F401

_MODULES = ("buffer", "codec", "store")


def _load(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(f"module 'zarrcore.abc' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"zarrcore.abc.{name}")


if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
