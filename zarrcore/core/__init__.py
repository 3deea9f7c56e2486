"""Names that programs import from ``zarr.core``; in zarrcore they have better places."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES: dict[str, str] = {}
MODULES = "array buffer dtype group indexing sync"

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
