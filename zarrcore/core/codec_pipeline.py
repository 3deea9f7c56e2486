"""The codecs of an array by their kinds, under the name of ``zarr.core.codec_pipeline``."""

from __future__ import annotations

from zarrcore.compat.codecs import BatchedCodecPipeline

__all__ = ["BatchedCodecPipeline"]
