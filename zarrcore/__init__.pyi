# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore import abc as abc
from zarrcore import api as api
from zarrcore import codecs as codecs
from zarrcore import dtype as dtype
from zarrcore import errors as errors
from zarrcore import kernels as kernels
from zarrcore import registry as registry
from zarrcore import storage as storage
from zarrcore import testing as testing
from zarrcore._core.engine import ChunkCache
from zarrcore._version import __version__
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
from zarrcore.arrays.array import Array
from zarrcore.arrays.async_array import AsyncArray
from zarrcore.arrays.batches import read_many
from zarrcore.config import config
from zarrcore.groups.async_group import AsyncGroup
from zarrcore.groups.group import Group
from zarrcore.include_dir import get_include
from zarrcore.migration import migrate
from zarrcore.show import show_config

__all__ = [
    "Array",
    "AsyncArray",
    "AsyncGroup",
    "ChunkCache",
    "Group",
    "__version__",
    "array",
    "check_consolidated",
    "config",
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
    "get_include",
    "group",
    "load",
    "migrate",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "print_debug_info",
    "read_many",
    "save",
    "save_array",
    "save_group",
    "show_config",
    "tree",
    "zeros",
    "zeros_like",
]
