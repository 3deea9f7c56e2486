"""The names of ``zarr.abc.codec``."""

from zarrcore.compat.codecs import *  # noqa: F403
from zarrcore.compat.codecs import __all__ as __all__
