"""Types and names of documents, under the names of ``zarr.core.common``."""

from __future__ import annotations

from zarrcore.compat.common import *  # noqa: F403
from zarrcore.compat.common import __all__ as __all__
