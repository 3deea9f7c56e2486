"""The face of an open group for asynchronous programs: each call runs in a worker thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from zarrcore._typing import ArrayLike, Overwrite
from zarrcore.arrays.async_array import AsyncArray
from zarrcore.arrays.opened import OpenArray
from zarrcore.groups import changing, creating, members
from zarrcore.groups.face import GroupFace
from zarrcore.groups.opened import OpenGroup
from zarrcore.groups.tree import Tree, tree_of
from zarrcore.node import AsynchronousNode, in_thread
from zarrcore.nodes.documents import Metadata
from zarrcore.nodes.walk import Found

if TYPE_CHECKING:
    from zarrcore.info import NodeInfo

T = TypeVar("T")


class AsyncGroup(
    GroupFace[Coroutine[Any, Any, AsyncArray], "Coroutine[Any, Any, AsyncGroup]"],
    AsynchronousNode,
    array="Awaitable[AsyncArray]",
    group="Awaitable[AsyncGroup]",
):
    """A group whose methods are coroutines; see :class:`zarrcore.Group`.

    Parameters
    ----------
    metadata : GroupMetadata
        The group's metadata document.
    store_path : StorePath
        The store and the group's path in it.

    Examples
    --------
    >>> import asyncio
    >>> import zarrcore
    >>> async def names(store):
    ...     group = await zarrcore.AsyncGroup.from_store(store)
    ...     await group.create_array("lat", shape=3, dtype="f4")
    ...     return [name async for name in group.keys()]
    >>> asyncio.run(names({}))
    ['lat']
    """

    __slots__ = ()

    async def _array(self, function: Callable[..., OpenArray], *args: Any, **kwargs: Any) -> AsyncArray:
        return AsyncArray._of(await in_thread(function, self._opened, *args, **kwargs))

    async def _each(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield what a function finds; all of it is found in one call in a worker thread."""
        for found in await in_thread(lambda: list(function(*args, **kwargs))):
            yield found

    def _node(self, found: Found) -> AsyncArray | AsyncGroup:
        return async_node_of(members.opened(self._opened, found))

    @classmethod
    async def _made(cls, function: Callable[..., OpenGroup], *args: Any, **kwargs: Any) -> AsyncGroup:
        return cls._of(await in_thread(function, *args, **kwargs))

    async def info_complete(self) -> NodeInfo:
        """Return `info` with the properties that need a look into the store."""
        from zarrcore.info import group_info

        return await in_thread(group_info, self, complete=True)  # type: ignore[no-any-return]

    # --- members ---

    async def getitem(self, key: str) -> AsyncArray | AsyncGroup:
        """Return the array or group at the path `key` below this group."""
        found = await self.get(key)
        if found is None:
            raise await in_thread(members.missing, self._opened, key)
        return found

    async def get(self, key: str, default: T | None = None) -> AsyncArray | AsyncGroup | T | None:
        """Return the array or group at the path `key`, or `default`."""
        found = await in_thread(members.find, self._opened, key)
        return default if found is None else self._node(found)

    async def setitem(self, key: str, value: ArrayLike) -> None:
        """Store `value`, an array-like, under the name `key`."""
        await in_thread(creating.set_member, self._opened, key, value)

    async def delitem(self, key: str) -> None:
        """Remove the member `key` and everything below it."""
        await in_thread(changing.remove, self._opened, key)

    async def move(self, source: str, dest: str) -> None:
        """Move a member to another path in this group."""
        await in_thread(changing.move, self._opened, source, dest)

    async def contains(self, member: str) -> bool:
        """Return whether there is a member at the path `member`."""
        return await in_thread(members.contains, self._opened, member)  # type: ignore[no-any-return]

    async def nmembers(self, max_depth: int | None = 0) -> int:
        """Return the number of members."""
        return await in_thread(members.count, self._opened, max_depth)  # type: ignore[no-any-return]

    async def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Yield paths and nodes of the members; see :meth:`zarrcore.Group.members`."""
        trusted = use_consolidated_for_children
        async for found in self._each(members.usable, self._opened, max_depth, use_consolidated=trusted):
            yield found.path, self._node(found)

    def keys(self) -> AsyncIterator[str]:
        """Yield the names of the direct members."""
        return self._each(members.names_of, self._opened)

    def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        """Yield names and arrays of the direct members that are arrays."""
        return self._each(self._of_kind, arrays=True)

    def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        """Yield names and groups of the direct members that are groups."""
        return self._each(self._of_kind, arrays=False)

    def array_keys(self) -> AsyncIterator[str]:
        """Yield the names of the arrays among the direct members."""
        return self._each(lambda: dict(self._of_kind(arrays=True)))

    def group_keys(self) -> AsyncIterator[str]:
        """Yield the names of the groups among the direct members."""
        return self._each(lambda: dict(self._of_kind(arrays=False)))

    def array_values(self) -> AsyncIterator[AsyncArray]:
        """Yield the arrays among the direct members."""
        return self._each(lambda: dict(self._of_kind(arrays=True)).values())

    def group_values(self) -> AsyncIterator[AsyncGroup]:
        """Yield the groups among the direct members."""
        return self._each(lambda: dict(self._of_kind(arrays=False)).values())

    async def tree(
        self,
        expand: bool | None = None,
        level: int | None = None,
        *,
        max_nodes: int = 500,
        plain: bool = False,
    ) -> Tree:
        """Return the hierarchy below the group as an object that prints as a tree."""
        tree: Tree = await in_thread(
            tree_of, self.store_path, self.metadata, level=level, max_nodes=max_nodes
        )
        return tree

    async def require_groups(self, *names: str) -> tuple[AsyncGroup, ...]:
        """Return the groups of these `names`; create those that are missing."""
        return tuple([await self.require_group(name) for name in names])

    async def create_hierarchy(
        self, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Create many nodes below this group; see :func:`zarrcore.create_hierarchy`."""
        create = partial(creating.create_hierarchy, self._opened, overwrite=overwrite)
        async for path, opened in self._each(create, nodes):
            yield path, async_node_of(opened)


def async_node_of(opened: OpenArray | OpenGroup) -> AsyncArray | AsyncGroup:
    """Return the array or group for users of coroutines."""
    return AsyncGroup._of(opened) if isinstance(opened, OpenGroup) else AsyncArray._of(opened)
