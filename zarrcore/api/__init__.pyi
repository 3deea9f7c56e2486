# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.api import asynchronous as asynchronous
from zarrcore.api import synchronous as synchronous
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
    check_consolidated,
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
    "check_consolidated",
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
