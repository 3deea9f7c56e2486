# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore import (
    abc as abc, api as api, codecs as codecs, compat as compat, core as core, dask as dask, dtype as dtype,
    errors as errors, kernels as kernels, registry as registry, storage as storage, testing as testing,
    torch as torch, xarray as xarray,
)
from zarrcore._core.engine import ChunkCache as ChunkCache
from zarrcore._version import __version__ as __version__
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
from zarrcore.arrays.array import Array as Array
from zarrcore.arrays.async_array import AsyncArray as AsyncArray
from zarrcore.arrays.batches import read_many as read_many
from zarrcore.config import config as config
from zarrcore.counting import metrics as metrics
from zarrcore.groups.async_group import AsyncGroup as AsyncGroup
from zarrcore.groups.group import Group as Group
from zarrcore.include_dir import get_include as get_include
from zarrcore.inspection.compacting import compact as compact
from zarrcore.inspection.repairing import repair as repair
from zarrcore.inspection.verifying import verify as verify
from zarrcore.integrations.bridge import accelerate as accelerate, from_zarr as from_zarr
from zarrcore.migration import migrate as migrate
from zarrcore.show import show_config as show_config

__all__: list[str]
