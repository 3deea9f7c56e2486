"""Zarr arrays and groups: formats 1 (read), 2 and 3, with chunk work in C, in parallel and without the GIL.

Nothing heavy is imported before it is used: names are loaded from their modules on first access.
"""

from __future__ import annotations

import sys

from zarrcore._alias import InZarrsPlace
from zarrcore._lazy import attach
from zarrcore._version import __version__
from zarrcore.api.synchronous import HOMES as FUNCTIONS  # pyright: ignore[reportAttributeAccessIssue]
from zarrcore.config import config

HOMES = {
    "_core.engine": "ChunkCache",
    **{f"api.{home}": names for home, names in FUNCTIONS.items()},
    "arrays.array": "Array",
    "arrays.async_array": "AsyncArray",
    "arrays.batches": "read_many",
    "counting": "metrics",
    "groups.async_group": "AsyncGroup",
    "groups.group": "Group",
    "include_dir": "get_include",
    "inspection.compacting": "compact",
    "inspection.repairing": "repair",
    "inspection.verifying": "verify",
    "integrations.bridge": "accelerate from_zarr",
    "migration": "migrate",
    "show": "show_config",
}
MODULES = "abc api codecs compat core dask dtype errors kernels registry storage testing torch xarray"

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
__all__ += ["__version__", "config"]

if not any(isinstance(finder, InZarrsPlace) for finder in sys.meta_path):
    sys.meta_path.insert(0, InZarrsPlace(sys.modules[__name__]))  # type: ignore[arg-type]
