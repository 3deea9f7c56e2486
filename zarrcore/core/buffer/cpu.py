"""The names of ``zarr.core.buffer.cpu``."""

from zarrcore.buffer.cpu import *  # noqa: F403
from zarrcore.buffer.cpu import __all__ as __all__
