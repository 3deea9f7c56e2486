"""The names of ``zarr.abc.metadata``."""

from zarrcore.compat.json import Metadata

__all__ = ["Metadata"]
