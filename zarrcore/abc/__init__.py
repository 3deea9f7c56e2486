"""Base classes of the extension points, under the names that zarr-python uses."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES: dict[str, str] = {}
MODULES = "buffer codec metadata numcodec store"

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
