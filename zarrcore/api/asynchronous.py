"""The functions of :mod:`zarrcore.api.synchronous` as coroutines; each runs in a worker thread.

So do `verify`, `repair` and `compact`, which call what they are given in that thread.  What opening a node
wants of an object store is awaited, without a thread, where nothing is to be created.  Arrays and groups come
back as :class:`~zarrcore.AsyncArray` and :class:`~zarrcore.AsyncGroup`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

from zarrcore.api import synchronous
from zarrcore.arrays.array import Array
from zarrcore.arrays.async_array import AsyncArray
from zarrcore.arrays.opened import OpenArray
from zarrcore.errors import NodeNotFoundError
from zarrcore.groups.async_group import AsyncGroup, async_node_of
from zarrcore.groups.group import Group, node_of
from zarrcore.groups.opened import OpenGroup
from zarrcore.inspection.compacting import compact
from zarrcore.inspection.repairing import repair
from zarrcore.inspection.verifying import verify
from zarrcore.node import in_thread, to_end
from zarrcore.nodes import users
from zarrcore.nodes.copies import KeptCopy
from zarrcore.storage import Store, StorePath, make_store_path
from zarrcore.storage.arriving import Elsewhere, awaited
from zarrcore.storage.buckets import kind_of
from zarrcore.storage.place import is_archive

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    def __getattr__(name: str) -> Callable[..., Awaitable[Any]]: ...


_FUNCTIONS = {name: getattr(synchronous, name) for name in synchronous.__all__ if name != "print_debug_info"}
_FUNCTIONS |= {"compact": compact, "repair": repair, "verify": verify}
_READING = {"check_consolidated", "load", "tree", "verify"}
__all__ = sorted(_FUNCTIONS)


def _coroutine(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine function that runs `function` in a worker thread."""

    @wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        plain = [_synchronous(value) for value in args]
        named = {name: _synchronous(value) for name, value in kwargs.items()}
        changes_nothing = function.__name__ in _READING or kwargs.get("mode") in ("r", "r+")
        node = await (in_thread if changes_nothing else to_end)(function, *plain, **named)
        return async_node_of(node._opened) if isinstance(node, Array | Group) else node

    return run


def _opening(function: Callable[..., Any], mode: str | None) -> Callable[..., Awaitable[Any]]:
    """Return the same for a function that opens nodes, by default in a mode."""
    in_a_thread = _coroutine(function)

    @wraps(function)
    async def run(store: Any = None, **kwargs: Any) -> Any:
        if _is_awaited(store, kwargs):
            # A thread finds out what is there instead, or creates.
            with suppress(Elsewhere, NodeNotFoundError):
                return await _opened(function, store, **{"mode": mode, **kwargs})
        return await in_a_thread(store, **kwargs)

    return run


def _is_awaited(store: Any, arguments: dict[str, Any]) -> bool:
    """Return whether it takes no time to make the store, and nothing but opening is asked of it."""
    if arguments.get("mode") in ("w", "w-") or not arguments.keys() <= _OPEN:
        return False
    is_url = isinstance(store, str) and kind_of(store) is not None and not is_archive(store)
    return is_url or isinstance(store, Store | StorePath)


async def _opened(
    function: Callable[..., Any],
    store: Any,
    *,
    mode: str | None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **arguments: Any,
) -> AsyncArray | AsyncGroup:
    """Open what is there by a function that finds no store but one of what has arrived."""
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    copy, losses = KeptCopy(place), users.losses  # from before what is read, which may change meanwhile

    def find(there: StorePath) -> tuple[StorePath, Any]:
        node = function(there, mode="r", **arguments)
        return node._store_path, node._opened

    place, found = await awaited(place, find)
    if isinstance(found, OpenGroup):
        return AsyncGroup._of(OpenGroup(found.metadata, place, copy))
    if found.metadata.separator_is_open:  # the store is asked for more
        raise Elsewhere
    documented = found.documented
    return AsyncArray._of(
        OpenArray(found.metadata, place, found.config, losses=losses, documented=documented)
    )


def _synchronous(value: Any) -> Any:
    return node_of(value._opened) if isinstance(value, AsyncArray | AsyncGroup) else value


_OPEN = {"mode", "path", "zarr_format", "storage_options", "config", "use_consolidated"}
_MODES = {"open": None, "open_array": None, "open_consolidated": "a", "open_group": "a"}

globals().update({name: _coroutine(function) for name, function in _FUNCTIONS.items()})
globals().update({name: _opening(_FUNCTIONS[name], mode) for name, mode in _MODES.items()})


async def create_hierarchy(*args: Any, **kwargs: Any) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
    """Create many nodes from their metadata; see :func:`zarrcore.create_hierarchy`."""
    for path, node in await to_end(lambda: list(synchronous.create_hierarchy(*args, **kwargs))):
        yield path, async_node_of(node._opened)
