"""The functions at the top of the package, with the names, parameters and defaults of zarr-python 3."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "consolidated": "check_consolidated consolidate_metadata",
    "copying": "copy copy_all copy_store",
    "creating": (
        "array create create_array empty empty_like from_array full full_like load ones ones_like "
        "save save_array save_group zeros zeros_like"
    ),
    "debug": "print_debug_info",
    "nodes": (
        "create_group create_hierarchy group open open_array open_consolidated open_group open_like tree"
    ),
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES, package="zarrcore.api")
