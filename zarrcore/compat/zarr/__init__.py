"""What ``import zarr`` loads while zarrcore is in its place: zarrcore, with stores of coroutines."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import zarrcore

__all__ = [*zarrcore.__all__]  # noqa: PLE0604

__version__ = "3.4.2"
"""The release of zarr-python whose names and ways zarrcore follows, for programs that ask for it."""

_OWN = {"abc", "experimental", "storage"}


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{name}") if name in _OWN else getattr(zarrcore, name)


def __dir__() -> list[str]:
    return dir(zarrcore)
