"""The face of an open group for asynchronous programs.

What finding one member, or the direct ones, wants of an object store is awaited, without a thread.  All other
calls run in worker threads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from zarrcore._typing import ArrayLike, Overwrite
from zarrcore.arrays.async_array import AsyncArray
from zarrcore.arrays.opened import OpenArray
from zarrcore.groups import changing, creating, members
from zarrcore.groups.face import GroupFace
from zarrcore.groups.opened import OpenGroup, open_group_at
from zarrcore.groups.tree import Tree, tree_of
from zarrcore.node import AsynchronousNode, in_thread, to_end
from zarrcore.nodes import users
from zarrcore.nodes.copies import KeptCopy
from zarrcore.nodes.documents import Metadata
from zarrcore.nodes.open import open_group_node
from zarrcore.nodes.walk import Found
from zarrcore.storage.arriving import Arrivals, Elsewhere, awaited
from zarrcore.storage.place import StorePath

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
        return AsyncArray._of(await to_end(function, self._opened, *args, **kwargs))

    async def _asked(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function of `members` that opens nothing; it may be called several times."""
        group = self._opened
        store = Arrivals.of(group.place.store)
        if store is not None:
            metadata, copy = group.seen()
            twin = OpenGroup(metadata, StorePath(store, group.path), copy)
            with suppress(Elsewhere):
                return await store.run(partial(function, twin, *args, **kwargs))
        return await in_thread(function, group, *args, **kwargs)

    async def _found(self, function: Callable[..., Found | None], *args: Any) -> Found | None:
        """Find a member by a function of `members`."""
        losses = users.losses  # before it is asked for the first time
        found = await self._asked(function, *args)
        return None if found is None else found._replace(losses=losses)

    async def _all(self, function: Callable[..., Iterator[Any]], *args: Any, **kwargs: Any) -> list[Any]:
        """Return all that a function of `members` finds."""

        def found(group: OpenGroup) -> list[Any]:
            return list(function(group, *args, **kwargs))

        return await self._asked(found)  # type: ignore[no-any-return]

    async def _members(
        self, function: Callable[..., Iterator[Found]], *args: Any, **kwargs: Any
    ) -> AsyncIterator[tuple[str, Any]]:
        """Yield paths and nodes of the members that a function of `members` finds; all are found first."""
        losses = users.losses
        for found in await self._all(function, *args, **kwargs):
            yield found.path, await self._node(found._replace(losses=losses))

    async def _node(self, found: Any) -> Any:
        if getattr(found.metadata, "separator_is_open", False):  # the store is asked for more
            return async_node_of(await in_thread(members.opened, self._opened, found))
        return async_node_of(members.opened(self._opened, found))

    async def _member(self, path: str, kind: type[OpenArray | OpenGroup]) -> AsyncArray | AsyncGroup:
        return await self._node(await self._found(members.find_kind, path, kind))  # type: ignore[no-any-return]

    @classmethod
    async def _made(cls, function: Callable[..., OpenGroup], *args: Any, **kwargs: Any) -> AsyncGroup:
        if function is open_group_at:
            copy = KeptCopy(args[0])  # it sees what changes meanwhile
            with suppress(Elsewhere):
                place, metadata = await awaited(args[0], open_group_node, *args[1:], **kwargs)
                return cls._of(OpenGroup(metadata, place, copy))
        run = in_thread if function is open_group_at else to_end
        return cls._of(await run(function, *args, **kwargs))

    async def info_complete(self) -> NodeInfo:
        """Return `info` with the properties that need a look into the store."""
        from zarrcore.info import group_info

        return await in_thread(group_info, self, complete=True)

    # --- members ---

    async def getitem(self, key: str) -> AsyncArray | AsyncGroup:
        """Return the array or group at the path `key` below this group."""
        found = await self.get(key)
        if found is None:
            raise await in_thread(members.missing, self._opened, key)
        return found

    async def get(self, key: str, default: T | None = None) -> AsyncArray | AsyncGroup | T | None:
        """Return the array or group at the path `key`, or `default`."""
        found = await self._found(members.find, key)
        return default if found is None else await self._node(found)

    async def setitem(self, key: str, value: ArrayLike) -> None:
        """Store `value`, an array-like, under the name `key`."""
        await to_end(creating.set_member, self._opened, key, value)

    async def delitem(self, key: str) -> None:
        """Remove the member `key` and everything below it."""
        await to_end(changing.remove, self._opened, key)

    async def move(self, source: str, dest: str) -> None:
        """Move a member to another path in this group."""
        await to_end(changing.move, self._opened, source, dest)

    async def contains(self, member: str) -> bool:
        """Return whether there is a member at the path `member`."""
        return await self._asked(members.contains, member)  # type: ignore[no-any-return]

    async def nmembers(self, max_depth: int | None = 0) -> int:
        """Return the number of members."""
        return await self._asked(members.count, max_depth)  # type: ignore[no-any-return]

    def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Yield paths and nodes of the members; see :meth:`zarrcore.Group.members`."""
        return self._members(members.usable, max_depth, use_consolidated=use_consolidated_for_children)

    async def keys(self) -> AsyncIterator[str]:
        """Yield the names of the direct members."""
        for name in await self._all(members.names_of):
            yield name

    def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        """Yield names and arrays of the direct members that are arrays."""
        return self._members(members.of_kind, arrays=True)

    def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        """Yield names and groups of the direct members that are groups."""
        return self._members(members.of_kind, arrays=False)

    async def array_keys(self) -> AsyncIterator[str]:
        """Yield the names of the arrays among the direct members."""
        for found in await self._all(members.of_kind, arrays=True):
            yield found.path

    async def group_keys(self) -> AsyncIterator[str]:
        """Yield the names of the groups among the direct members."""
        for found in await self._all(members.of_kind, arrays=False):
            yield found.path

    async def array_values(self) -> AsyncIterator[AsyncArray]:
        """Yield the arrays among the direct members."""
        async for _, array in self.arrays():
            yield array

    async def group_values(self) -> AsyncIterator[AsyncGroup]:
        """Yield the groups among the direct members."""
        async for _, group in self.groups():
            yield group

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
        for path, opened in await to_end(
            lambda: list(creating.create_hierarchy(self._opened, nodes, overwrite=overwrite))
        ):
            yield path, async_node_of(opened)


def async_node_of(opened: OpenArray | OpenGroup) -> AsyncArray | AsyncGroup:
    """Return the array or group for users of coroutines."""
    return AsyncGroup._of(opened) if isinstance(opened, OpenGroup) else AsyncArray._of(opened)
