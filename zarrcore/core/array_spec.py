"""Settings of arrays and what codecs know of a chunk, under the names of ``zarr.core.array_spec``."""

from __future__ import annotations

from zarrcore.arrays.config import ArrayConfig, ArrayConfigLike, parse_array_config
from zarrcore.codecs.base import ArraySpec

__all__ = ["ArrayConfig", "ArrayConfigLike", "ArraySpec", "parse_array_config"]
