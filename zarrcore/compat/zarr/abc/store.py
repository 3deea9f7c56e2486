"""The names of ``zarr.abc.store``."""

from zarrcore.compat.coroutines import *  # noqa: F403
from zarrcore.compat.coroutines import __all__ as __all__
