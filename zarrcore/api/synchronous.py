"""The functions at the top of the package, with the names, parameters and defaults of zarr-python 3."""

from __future__ import annotations

from zarrcore.api.copying import copy, copy_all, copy_store
from zarrcore.api.creating import (
    array,
    create,
    create_array,
    empty,
    empty_like,
    from_array,
    full,
    full_like,
    load,
    ones,
    ones_like,
    save,
    save_array,
    save_group,
    zeros,
    zeros_like,
)
from zarrcore.api.debug import print_debug_info
from zarrcore.api.nodes import (
    consolidate_metadata,
    create_group,
    create_hierarchy,
    group,
    open,
    open_array,
    open_consolidated,
    open_group,
    open_like,
    tree,
)

__all__ = [
    "array",
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "empty",
    "empty_like",
    "from_array",
    "full",
    "full_like",
    "group",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "print_debug_info",
    "save",
    "save_array",
    "save_group",
    "tree",
    "zeros",
    "zeros_like",
]
