"""The functions of :mod:`zarrcore.api.synchronous` as coroutines; each runs in a worker thread.

Arrays and groups come back as :class:`~zarrcore.AsyncArray` and :class:`~zarrcore.AsyncGroup`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from zarrcore.api import synchronous
from zarrcore.arrays.array import Array
from zarrcore.asynchronous import AsyncArray, AsyncGroup, in_thread, wrap_node

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

__all__ = [
    "AsyncArray",
    "AsyncGroup",
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
    "save",
    "save_array",
    "save_group",
    "tree",
    "zeros",
    "zeros_like",
]


def _awaitable(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine function that runs `function` in a worker thread."""

    @wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        plain = [_synchronous(value) for value in args]
        named = {name: _synchronous(value) for name, value in kwargs.items()}
        return wrap_node(await in_thread(function, *plain, **named))

    return run


def _synchronous(value: Any) -> Any:
    if isinstance(value, AsyncArray):
        return Array._of(value._opened)
    return value._sync if isinstance(value, AsyncGroup) else value


async def create_hierarchy(*args: Any, **kwargs: Any) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
    """Create many nodes from their metadata; see :func:`zarrcore.create_hierarchy`."""
    for path, node in await in_thread(lambda: list(synchronous.create_hierarchy(*args, **kwargs))):
        yield path, wrap_node(node)


array = _awaitable(synchronous.array)
check_consolidated = _awaitable(synchronous.check_consolidated)
consolidate_metadata = _awaitable(synchronous.consolidate_metadata)
copy = _awaitable(synchronous.copy)
copy_all = _awaitable(synchronous.copy_all)
copy_store = _awaitable(synchronous.copy_store)
create = _awaitable(synchronous.create)
create_array = _awaitable(synchronous.create_array)
create_group = _awaitable(synchronous.create_group)
empty = _awaitable(synchronous.empty)
empty_like = _awaitable(synchronous.empty_like)
from_array = _awaitable(synchronous.from_array)
full = _awaitable(synchronous.full)
full_like = _awaitable(synchronous.full_like)
group = _awaitable(synchronous.group)
load = _awaitable(synchronous.load)
ones = _awaitable(synchronous.ones)
ones_like = _awaitable(synchronous.ones_like)
open = _awaitable(synchronous.open)
open_array = _awaitable(synchronous.open_array)
open_consolidated = _awaitable(synchronous.open_consolidated)
open_group = _awaitable(synchronous.open_group)
open_like = _awaitable(synchronous.open_like)
save = _awaitable(synchronous.save)
save_array = _awaitable(synchronous.save_array)
save_group = _awaitable(synchronous.save_group)
tree = _awaitable(synchronous.tree)
zeros = _awaitable(synchronous.zeros)
zeros_like = _awaitable(synchronous.zeros_like)
