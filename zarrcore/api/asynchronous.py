"""The functions of :mod:`zarrcore.api.synchronous` as coroutines; each runs in a worker thread.

So do `verify`, `repair` and `compact`, which call what they are given in that thread.  Arrays and groups
come back as :class:`~zarrcore.AsyncArray` and :class:`~zarrcore.AsyncGroup`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from zarrcore.api import synchronous
from zarrcore.arrays.array import Array
from zarrcore.arrays.async_array import AsyncArray
from zarrcore.groups.async_group import AsyncGroup, async_node_of
from zarrcore.groups.group import Group, node_of
from zarrcore.inspection.compacting import compact
from zarrcore.inspection.repairing import repair
from zarrcore.inspection.verifying import verify
from zarrcore.node import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    def __getattr__(name: str) -> Callable[..., Awaitable[Any]]: ...


_FUNCTIONS = {name: getattr(synchronous, name) for name in synchronous.__all__ if name != "print_debug_info"}
_FUNCTIONS |= {"compact": compact, "repair": repair, "verify": verify}
__all__ = sorted(_FUNCTIONS)


def _coroutine(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine function that runs `function` in a worker thread."""

    @wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        plain = [_synchronous(value) for value in args]
        named = {name: _synchronous(value) for name, value in kwargs.items()}
        node = await in_thread(function, *plain, **named)
        return async_node_of(node._opened) if isinstance(node, Array | Group) else node

    return run


def _synchronous(value: Any) -> Any:
    return node_of(value._opened) if isinstance(value, AsyncArray | AsyncGroup) else value


globals().update({name: _coroutine(function) for name, function in _FUNCTIONS.items()})


async def create_hierarchy(*args: Any, **kwargs: Any) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
    """Create many nodes from their metadata; see :func:`zarrcore.create_hierarchy`."""
    for path, node in await in_thread(lambda: list(synchronous.create_hierarchy(*args, **kwargs))):
        yield path, async_node_of(node._opened)
