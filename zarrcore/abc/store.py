"""The names of ``zarr.abc.store``."""

from zarrcore.compat.stores import *  # noqa: F403
from zarrcore.compat.stores import __all__ as __all__
