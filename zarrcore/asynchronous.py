"""Arrays and groups for asynchronous programs: each call runs the synchronous one in a worker thread.

The engine releases the GIL and has its own threads, so it neither needs an event loop nor blocks one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.arrays.array import Array
from zarrcore.arrays.async_array import AsyncArray, in_thread
from zarrcore.groups.group import Group
from zarrcore.node import Node

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from typing import Self, TypeVar, Unpack

    from zarrcore._typing import ArrayLike, FillValueLike, Overwrite, ShapeLike
    from zarrcore.arrays.config import ArrayConfigLike
    from zarrcore.arrays.options import ArrayOptions, FullMemberOptions, MemberOptions, RequireOptions
    from zarrcore.dtypes.parse import DTypeLike
    from zarrcore.metadata import GroupMetadata
    from zarrcore.nodes.documents import Metadata
    from zarrcore.storage import StoreLike, StorePath

    T = TypeVar("T")

__all__ = ["AsyncArray", "AsyncGroup", "in_thread", "wrap_node"]


def wrap_node(node: Any) -> Any:
    """Return the asynchronous face of an array or group; anything else is returned as it is."""
    if isinstance(node, Array):
        return AsyncArray._of(node._opened)
    if isinstance(node, Group):
        return AsyncGroup._wrap(node)
    return node


class _AsyncNode(Node):
    """What asynchronous arrays and groups have in common: a synchronous node, and its plain properties."""

    __slots__ = ("_sync",)

    _sync: Any

    @classmethod
    def _wrap(cls, node: Any) -> Self:
        self = cls.__new__(cls)
        self._sync = node
        return self

    @property
    def _store_path(self) -> StorePath:
        place: StorePath = self._sync._store_path
        return place

    @property
    def metadata(self) -> Any:
        """The metadata document."""
        return self._sync.metadata

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the user attributes; :meth:`update_attributes` changes them."""
        return dict(self._sync.metadata.attributes)

    @property
    def info(self) -> Any:
        """The main properties of the metadata, as an object that prints as a table."""
        return self._sync.info

    async def info_complete(self) -> Any:
        """Return `info` with the properties that need a look into the store."""
        return await in_thread(self._sync.info_complete)

    async def update_attributes(self, new_attributes: Mapping[str, Any]) -> Self:
        """Set attributes, keeping those that are not named."""
        await in_thread(self._sync.update_attributes, new_attributes)
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._sync == other._sync

    __hash__ = None  # type: ignore[assignment]


class AsyncGroup(_AsyncNode):
    """A group whose methods are awaited; see :class:`zarrcore.Group`.

    Parameters
    ----------
    metadata : GroupMetadata
        The group's metadata document.
    store_path : StorePath
        The store and the group's path in it.
    """

    __slots__ = ()

    _sync: Group

    def __init__(self, metadata: GroupMetadata, store_path: StorePath) -> None:
        self._sync = Group(metadata, store_path)

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
        create = Group.from_store
        options = {"attributes": attributes, "overwrite": overwrite, "zarr_format": zarr_format}
        return cls._wrap(await in_thread(create, store, **options))

    @classmethod
    async def open(
        cls, store: StoreLike, zarr_format: int | None = 3, use_consolidated: bool | str | None = None
    ) -> AsyncGroup:
        """Open the group at the root of a store-like."""
        return cls._wrap(await in_thread(Group.open, store, zarr_format, use_consolidated))

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> AsyncGroup:
        """Return a group from its metadata as a dictionary; nothing is written."""
        from zarrcore.metadata import GroupMetadata

        return cls(GroupMetadata.from_dict(data), store_path)

    @property
    def synchronizer(self) -> None:
        """None; kept for compatibility."""
        return None

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    # --- members ---

    async def getitem(self, key: str) -> AsyncArray | AsyncGroup:
        """Return the array or group at a path below this group."""
        return wrap_node(await in_thread(self._sync.__getitem__, key))

    async def setitem(self, key: str, value: ArrayLike) -> None:
        """Store an array-like under a name."""
        await in_thread(self._sync.__setitem__, key, value)

    async def delitem(self, key: str) -> None:
        """Remove a member and everything below it."""
        await in_thread(self._sync.__delitem__, key)

    async def get(self, key: str, default: T | None = None) -> AsyncArray | AsyncGroup | T | None:
        """Return the array or group at a path, or `default`."""
        return wrap_node(await in_thread(self._sync.get, key, default))

    async def get_array(self, path: str) -> AsyncArray:
        """Return the array at a path."""
        return wrap_node(await in_thread(self._sync.get_array, path))

    async def get_group(self, path: str) -> AsyncGroup:
        """Return the group at a path."""
        return wrap_node(await in_thread(self._sync.get_group, path))

    async def contains(self, member: str) -> bool:
        """Return whether there is a member at a path."""
        return await in_thread(self._sync.__contains__, member)

    async def nmembers(self, max_depth: int | None = 0) -> int:
        """Return the number of members."""
        return await in_thread(self._sync.nmembers, max_depth)

    async def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Paths and nodes of the members; see :meth:`zarrcore.Group.members`."""
        found = await in_thread(
            self._sync.members, max_depth, use_consolidated_for_children=use_consolidated_for_children
        )
        for path, node in found:
            yield path, wrap_node(node)

    async def _listed(self, iterate: Callable[[], Iterable[Any]]) -> list[Any]:
        return await in_thread(lambda: list(iterate()))

    async def keys(self) -> AsyncIterator[str]:
        """Yield the names of the direct members."""
        for name in await self._listed(self._sync.keys):
            yield name

    async def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        """Names and arrays among the direct members."""
        for name, node in await self._listed(self._sync.arrays):
            yield name, wrap_node(node)

    async def array_keys(self) -> AsyncIterator[str]:
        """Yield the names of the arrays among the direct members."""
        for name in await self._listed(self._sync.array_keys):
            yield name

    async def array_values(self) -> AsyncIterator[AsyncArray]:
        """Arrays among the direct members."""
        for node in await self._listed(self._sync.array_values):
            yield wrap_node(node)

    async def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        """Names and groups among the direct members."""
        for name, node in await self._listed(self._sync.groups):
            yield name, wrap_node(node)

    async def group_keys(self) -> AsyncIterator[str]:
        """Yield the names of the groups among the direct members."""
        for name in await self._listed(self._sync.group_keys):
            yield name

    async def group_values(self) -> AsyncIterator[AsyncGroup]:
        """Groups among the direct members."""
        for node in await self._listed(self._sync.group_values):
            yield wrap_node(node)

    async def tree(
        self,
        expand: bool | None = None,
        level: int | None = None,
        *,
        max_nodes: int = 500,
        plain: bool = False,
    ) -> Any:
        """Return the hierarchy below the group as an object that prints as a tree."""
        return await in_thread(self._sync.tree, expand, level, max_nodes=max_nodes, plain=plain)

    # --- creating ---

    async def create_group(
        self, name: str, *, overwrite: Overwrite = False, attributes: Mapping[str, Any] | None = None
    ) -> AsyncGroup:
        """Create a group below this one."""
        return wrap_node(
            await in_thread(self._sync.create_group, name, overwrite=overwrite, attributes=attributes)
        )

    async def require_group(self, name: str, overwrite: Overwrite = False) -> AsyncGroup:
        """Return the group of a name; create it if it is missing."""
        return wrap_node(await in_thread(self._sync.require_group, name, overwrite))

    async def require_groups(self, *names: str) -> tuple[AsyncGroup, ...]:
        """Return several groups; create those that are missing."""
        return tuple(map(wrap_node, await in_thread(self._sync.require_groups, *names)))

    async def create_array(self, name: str, **kwargs: Unpack[ArrayOptions]) -> AsyncArray:
        """Create an array below this group; see :meth:`zarrcore.Group.create_array`."""
        return wrap_node(await in_thread(self._sync.create_array, name, **kwargs))

    async def require_array(
        self,
        name: str,
        *,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        exact: bool = False,
        config: ArrayConfigLike | None = None,
        **kwargs: Unpack[RequireOptions],
    ) -> AsyncArray:
        """Return the array of a name; create it if it is missing."""
        options = {"shape": shape, "dtype": dtype, "exact": exact, "config": config, **kwargs}
        return wrap_node(await in_thread(self._sync.require_array, name, **options))

    async def create_hierarchy(
        self, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
    ) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Create many nodes below this group from their metadata by path."""
        for path, node in await self._listed(lambda: self._sync.create_hierarchy(nodes, overwrite=overwrite)):
            yield path, wrap_node(node)

    async def empty(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> AsyncArray:
        """Create an array without values (they are the fill value)."""
        return wrap_node(await in_thread(self._sync.empty, name=name, shape=shape, **kwargs))

    async def zeros(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> AsyncArray:
        """Create an array of zeros."""
        return wrap_node(await in_thread(self._sync.zeros, name=name, shape=shape, **kwargs))

    async def ones(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> AsyncArray:
        """Create an array of ones."""
        return wrap_node(await in_thread(self._sync.ones, name=name, shape=shape, **kwargs))

    async def full(
        self, *, name: str, shape: ShapeLike, fill_value: FillValueLike, **kwargs: Unpack[FullMemberOptions]
    ) -> AsyncArray:
        """Create an array of `fill_value`."""
        options = {"name": name, "shape": shape, "fill_value": fill_value, **kwargs}
        return wrap_node(await in_thread(self._sync.full, **options))

    async def empty_like(
        self, *, name: str, data: ArrayLike | AsyncArray, **kwargs: Unpack[MemberOptions]
    ) -> AsyncArray:
        """Create an array like `data`, without its values."""
        return wrap_node(await in_thread(self._sync.empty_like, name=name, data=_plain(data), **kwargs))

    async def zeros_like(
        self, *, name: str, data: ArrayLike | AsyncArray, **kwargs: Unpack[MemberOptions]
    ) -> AsyncArray:
        """Create an array of zeros like `data`."""
        return wrap_node(await in_thread(self._sync.zeros_like, name=name, data=_plain(data), **kwargs))

    async def ones_like(
        self, *, name: str, data: ArrayLike | AsyncArray, **kwargs: Unpack[MemberOptions]
    ) -> AsyncArray:
        """Create an array of ones like `data`."""
        return wrap_node(await in_thread(self._sync.ones_like, name=name, data=_plain(data), **kwargs))

    async def full_like(
        self, *, name: str, data: ArrayLike | AsyncArray, **kwargs: Unpack[MemberOptions]
    ) -> AsyncArray:
        """Create an array like `data`, filled with the keyword argument `fill_value`."""
        return wrap_node(await in_thread(self._sync.full_like, name=name, data=_plain(data), **kwargs))

    async def move(self, source: str, dest: str) -> None:
        """Move a member to another path in this group."""
        await in_thread(self._sync.move, source, dest)


def _plain(data: Any) -> Any:
    """Return the synchronous array of an asynchronous one."""
    return Array._of(data._opened) if isinstance(data, AsyncArray) else data
