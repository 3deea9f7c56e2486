"""Zarr arrays and groups: formats 1 (read), 2 and 3, with chunk work in C, in parallel and without the GIL.

Nothing heavy is imported before it is used: names are loaded from their modules on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore._version import __version__
from zarrcore.config import config

if TYPE_CHECKING:
    from zarrcore import abc, api, codecs, dtype, errors, kernels, registry, storage, testing  # noqa: F401
    from zarrcore._core.engine import ChunkCache
    from zarrcore.api import (
        array,
        check_consolidated,
        consolidate_metadata,
        copy,
        copy_all,
        copy_store,
        create,
        create_array,
        create_group,
        create_hierarchy,
        empty,
        empty_like,
        from_array,
        full,
        full_like,
        group,
        load,
        ones,
        ones_like,
        open,
        open_array,
        open_consolidated,
        open_group,
        open_like,
        print_debug_info,
        save,
        save_array,
        save_group,
        tree,
        zeros,
        zeros_like,
    )
    from zarrcore.arrays.array import Array
    from zarrcore.arrays.batches import read_many
    from zarrcore.asynchronous import AsyncArray, AsyncGroup
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

_HOMES = {
    **dict.fromkeys(("open", "open_array", "open_group", "create_group", "group"), "zarrcore.api.nodes"),
    **dict.fromkeys(("array", "create", "create_array", "from_array", "save"), "zarrcore.api.creating"),
    "Array": "zarrcore.arrays.array",
    "ChunkCache": "zarrcore._core.engine",
    "AsyncArray": "zarrcore.asynchronous",
    "AsyncGroup": "zarrcore.asynchronous",
    "Group": "zarrcore.groups.group",
    "get_include": "zarrcore.include_dir",
    "migrate": "zarrcore.migration",
    "read_many": "zarrcore.arrays.batches",
    "show_config": "zarrcore.show",
}
_MODULES = frozenset(("abc", "api", "codecs", "dtype", "errors", "kernels", "registry", "storage", "testing"))


def _load(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"zarrcore.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'zarrcore' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES.get(name, "zarrcore.api.synchronous")), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


if not TYPE_CHECKING:  # it would take any name for a good one
    __getattr__ = _load
