"""What ``zarr.abc`` is while zarrcore is in zarr-python's place."""

from zarrcore.abc import buffer, codec, metadata, numcodec
from zarrcore.compat.zarr.abc import store

__all__ = ["buffer", "codec", "metadata", "numcodec", "store"]
