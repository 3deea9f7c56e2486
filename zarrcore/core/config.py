"""The configuration, under the name of ``zarr.core.config``."""

from __future__ import annotations

from zarrcore.config import config

__all__ = ["config"]
