"""The names of ``zarr.abc.numcodec``."""

from zarrcore.compat.codecs import Numcodec, _is_numcodec, _is_numcodec_cls

__all__ = ["Numcodec", "_is_numcodec", "_is_numcodec_cls"]
