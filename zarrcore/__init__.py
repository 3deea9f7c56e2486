"""Zarr arrays and groups: formats 1 (read), 2 and 3, with chunk work in C, in parallel and without the GIL.

Nothing heavy is imported before it is used: names are loaded from their modules on first access.
"""

from __future__ import annotations

from zarrcore._lazy import attach
from zarrcore._version import __version__
from zarrcore.config import config

HOMES = {
    "_core.engine": "ChunkCache",
    "api.copying": "copy copy_all copy_store",
    "api.creating": (
        "array create create_array empty empty_like from_array full full_like load ones ones_like "
        "save save_array save_group zeros zeros_like"
    ),
    "api.debug": "print_debug_info",
    "api.nodes": (
        "check_consolidated consolidate_metadata create_group create_hierarchy group open open_array "
        "open_consolidated open_group open_like tree"
    ),
    "arrays.array": "Array",
    "arrays.async_array": "AsyncArray",
    "arrays.batches": "read_many",
    "groups.async_group": "AsyncGroup",
    "groups.group": "Group",
    "include_dir": "get_include",
    "migration": "migrate",
    "show": "show_config",
}
MODULES = "abc api codecs dtype errors kernels registry storage testing"

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
__all__ += ["__version__", "config"]
