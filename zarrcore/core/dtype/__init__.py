"""Data types, under the names of ``zarr.core.dtype``."""

from __future__ import annotations

from zarrcore.dtypes import *  # noqa: F403
from zarrcore.dtypes import __all__ as __all__
