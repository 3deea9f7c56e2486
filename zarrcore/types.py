"""The names of ``zarr.types``."""

from zarrcore.compat.types import *  # noqa: F403
from zarrcore.compat.types import __all__ as __all__
