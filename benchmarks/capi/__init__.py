# SPDX-License-Identifier: MIT
"""libzarrcore against HDF5, netCDF-C and Python: ``python -m benchmarks.capi``."""
