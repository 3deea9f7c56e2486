# SPDX-License-Identifier: MIT
"""Regions of Zarr arrays, read by Cython code that holds no GIL."""

from cython_region.region import chunk_sizes, has_openmp, read_region, sum_of_chunks

__all__ = ["has_openmp", "chunk_sizes", "read_region", "sum_of_chunks"]
