"""The face of an open group for asynchronous programs: each call runs in a worker thread."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from zarrcore.arrays.async_array import AsyncArray
from zarrcore.groups import changing, creating, members
from zarrcore.groups.face import GroupFace
from zarrcore.groups.opened import OpenGroup, open_group_at
from zarrcore.groups.tree import Tree, tree_of
from zarrcore.node import AsynchronousNode, in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from typing import TypeVar

    from zarrcore._typing import ArrayLike, Overwrite
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.info import NodeInfo
    from zarrcore.nodes.documents import Metadata
    from zarrcore.nodes.walk import Found
    from zarrcore.storage import StoreLike

    T = TypeVar("T")


class AsyncGroup(
    GroupFace[Coroutine[Any, Any, AsyncArray], "Coroutine[Any, Any, AsyncGroup]"], AsynchronousNode
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

    async def _group(self, function: Callable[..., OpenGroup], *args: Any, **kwargs: Any) -> AsyncGroup:
        return AsyncGroup._of(await in_thread(function, self._opened, *args, **kwargs))

    async def _each(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield what a function of the group finds; all of it is found in one call in a worker thread."""
        for found in await in_thread(lambda: list(function(self._opened, *args, **kwargs))):
            yield found

    def _node(self, found: Found) -> AsyncArray | AsyncGroup:
        """Return the face of a member."""
        return async_node_of(members.opened(self._opened, found))

    @classmethod
    async def from_store(
        cls,
        store: StoreLike,
        *,
        attributes: Mapping[str, Any] | None = None,
        overwrite: Overwrite = False,
        zarr_format: int = 3,
    ) -> AsyncGroup:
        """Create a group at the root of a store-like."""
        from zarrcore.storage import make_store_path

        create, place = creating.create_group_at, make_store_path(store)
        return cls._of(await in_thread(create, place, zarr_format, attributes, overwrite=overwrite))

    @classmethod
    async def open(
        cls, store: StoreLike, zarr_format: int | None = 3, use_consolidated: bool | str | None = None
    ) -> AsyncGroup:
        """Open the group at the root of a store-like."""
        from zarrcore.storage import make_store_path

        place = make_store_path(store)
        return cls._of(await in_thread(open_group_at, place, zarr_format, use_consolidated=use_consolidated))

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
        async for found in self._each(members.usable, max_depth, use_consolidated=trusted):
            yield found.path, self._node(found)

    async def keys(self) -> AsyncIterator[str]:
        """Yield the names of the direct members."""
        async for name in self._each(members.names_of):
            yield name

    async def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        """Yield names and arrays of the direct members that are arrays."""
        async for found in self._each(members.of_kind, arrays=True):
            yield found.path, self._node(found)  # type: ignore[misc]

    async def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        """Yield names and groups of the direct members that are groups."""
        async for found in self._each(members.of_kind, arrays=False):
            yield found.path, self._node(found)  # type: ignore[misc]

    async def array_keys(self) -> AsyncIterator[str]:
        """Yield the names of the arrays among the direct members."""
        async for found in self._each(members.of_kind, arrays=True):
            yield found.path

    async def group_keys(self) -> AsyncIterator[str]:
        """Yield the names of the groups among the direct members."""
        async for found in self._each(members.of_kind, arrays=False):
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
        async for path, opened in self._each(creating.create_hierarchy, nodes, overwrite=overwrite):
            yield path, async_node_of(opened)


def async_node_of(opened: OpenArray | OpenGroup) -> AsyncArray | AsyncGroup:
    """Return the array or group for users of coroutines."""
    return AsyncGroup._of(opened) if isinstance(opened, OpenGroup) else AsyncArray._of(opened)
