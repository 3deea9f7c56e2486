# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.api.consolidated import (
    check_consolidated as check_consolidated, consolidate_metadata as consolidate_metadata,
)
from zarrcore.api.copying import copy as copy, copy_all as copy_all, copy_store as copy_store
from zarrcore.api.creating import (
    array as array, create as create, create_array as create_array, empty as empty,
    empty_like as empty_like, from_array as from_array, full as full, full_like as full_like, load as load,
    ones as ones, ones_like as ones_like, save as save, save_array as save_array, save_group as save_group,
    zeros as zeros, zeros_like as zeros_like,
)
from zarrcore.api.debug import print_debug_info as print_debug_info
from zarrcore.api.nodes import (
    create_group as create_group, create_hierarchy as create_hierarchy, group as group, open as open,
    open_array as open_array, open_consolidated as open_consolidated, open_group as open_group,
    open_like as open_like, tree as tree,
)

__all__: list[str]
