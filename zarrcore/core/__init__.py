"""Names that programs import from ``zarr.core``; in zarrcore they have better places."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES: dict[str, str] = {}
MODULES = (
    "array array_spec buffer chunk_grids chunk_key_encodings codec_pipeline common config dtype group "
    "indexing metadata sync sync_group"
)

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
