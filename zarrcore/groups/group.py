"""The group: a node that contains arrays and other groups, like a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from zarrcore.arrays.array import Array
from zarrcore.arrays.options import (
    ArrayOptions,
    FullMemberOptions,
    MemberOptions,
    RequireOptions,
    takes,
)
from zarrcore.groups import changing, creating, members
from zarrcore.groups.opened import OpenGroup
from zarrcore.groups.tree import tree_of
from zarrcore.node import SynchronousNode
from zarrcore.nodes.create_many import create_nodes
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import readable
from zarrcore.nodes.open import open_group_node
from zarrcore.storage.path import StorePath, make_store_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeVar, Unpack

    from zarrcore._typing import ArrayLike, FillValueLike, Overwrite, ShapeLike
    from zarrcore.arrays.config import ArrayConfigLike
    from zarrcore.codecs.base import CodecLike
    from zarrcore.dtypes.parse import DTypeLike
    from zarrcore.info import NodeInfo
    from zarrcore.metadata import GroupMetadata
    from zarrcore.nodes.changes import KeptCopy
    from zarrcore.nodes.documents import Metadata
    from zarrcore.nodes.walk import Found
    from zarrcore.storage.path import StoreLike

    T = TypeVar("T")

__all__ = ["Group", "node_of", "open_group_at"]


class Group(SynchronousNode):
    """A group of arrays and groups.

    Create groups with :func:`zarrcore.create_group` and open them with :func:`zarrcore.open_group`.
    ``group[path]`` is an array or a group below it.

    Parameters
    ----------
    metadata : GroupMetadata
        The group's metadata document.
    store_path : StorePath
        The store and the group's path in it.

    Examples
    --------
    >>> import zarrcore
    >>> root = zarrcore.create_group({})
    >>> temperature = root.create_array("weather/temperature", shape=(3, 4), dtype="f4")
    >>> [name for name, _ in root.members(max_depth=None)]
    ['weather', 'weather/temperature']
    """

    __slots__ = ("__weakref__", "_listing", "_opened")

    def __init__(self, metadata: GroupMetadata, store_path: StorePath) -> None:
        self._take(OpenGroup(metadata, store_path))

    def _take(self, opened: OpenGroup) -> None:
        self._opened = opened
        self._listing: ref[members.Names] | None = None  # the last iterator that was made, see `Names`

    @classmethod
    def _of(cls, opened: OpenGroup) -> Group:
        """Return the face of a group that is open."""
        group = cls.__new__(cls)
        group._take(opened)
        return group

    def _node(self, found: Found) -> Array | Group:
        """Return the face of a member."""
        return node_of(self._opened.place._child(found.path), found.metadata, copy=found.copy)

    @property
    def _store_path(self) -> StorePath:
        return self._opened.place

    # --- opening ---

    @classmethod
    def from_store(
        cls,
        store: StoreLike,
        *,
        attributes: Mapping[str, Any] | None = None,
        zarr_format: int = 3,
        overwrite: Overwrite = False,
    ) -> Group:
        """Create a group at the root of a store-like.

        Parameters
        ----------
        store : store-like
            A store, a place in one, a path, a URL or a dictionary.
        attributes : mapping, optional
            User attributes.
        zarr_format : {2, 3}
            The format of the new group.
        overwrite : bool or "all"
            Remove what is there first; ``"all"``: even if it belongs to no Zarr node.

        Raises
        ------
        ContainsArrayError, ContainsGroupError
            If there is a node already.
        """
        place = make_store_path(store)
        return cls._of(creating.create_group_at(place, zarr_format, attributes, overwrite=overwrite))

    @classmethod
    def open(
        cls, store: StoreLike, zarr_format: int | None = 3, use_consolidated: bool | str | None = None
    ) -> Group:
        """Open the group at the root of a store-like; see :func:`zarrcore.open_group`.

        Raises
        ------
        GroupNotFoundError
            If there is none.
        NodeTypeValidationError
            If there is an array.
        """
        return open_group_at(make_store_path(store), zarr_format, use_consolidated=use_consolidated)

    # --- properties ---

    @property
    def metadata(self) -> GroupMetadata:
        """The metadata document; without consolidated metadata if this process has changed nodes in them."""
        return self._opened.current()

    @property
    def synchronizer(self) -> None:
        """None; kept for compatibility."""
        return None

    @property
    def _async_group(self) -> Any:
        from zarrcore.asynchronous import AsyncGroup

        return AsyncGroup._wrap(self)

    def __repr__(self) -> str:
        return f"<Group {self._store_path}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return (self._store_path, self.metadata) == (other._store_path, other.metadata)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.metadata, self._store_path)

    # --- members ---

    def __getitem__(self, path: str) -> Array | Group:
        node = self.get(path)
        if node is None:
            raise KeyError(path)
        return node

    def get(self, path: str, default: T | None = None) -> Array | Group | T | None:
        """Return the array or group at a path below this group.

        Parameters
        ----------
        path : str
            Names of nodes, with slashes between them.
        default
            What to return if there is no node, or the path is none that a node can have.

        Raises
        ------
        MetadataValidationError
            If there is a node whose metadata document is not valid.
        """
        found = members.find(self._opened, path)
        return default if found is None else self._node(found)

    def get_array(self, path: str) -> Array:
        """Return the array at a path.

        Raises
        ------
        ArrayNotFoundError
            If there is nothing.
        NotAnArrayError
            If there is a group.
        """
        found = members.find_array(self._opened, path)
        return Array(found.metadata, self._store_path / found.path)

    def get_group(self, path: str) -> Group:
        """Return the group at a path.

        Raises
        ------
        GroupNotFoundError
            If there is nothing.
        NotAGroupError
            If there is an array.
        """
        found = members.find_group(self._opened, path)
        return Group._of(OpenGroup(found.metadata, self._store_path / found.path, found.copy))

    def __contains__(self, member: object) -> bool:
        return members.contains(self._opened, member)

    def __iter__(self) -> Iterator[str]:
        names = members.Names(self._opened)
        self._listing = ref(names)
        return names

    def __len__(self) -> int:
        listing, self._listing = self._listing, None  # good for one answer: the next one may be another
        names = None if listing is None else listing()
        count = None if names is None else names.count()
        return self.nmembers() if count is None else count

    def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> tuple[tuple[str, Array | Group], ...]:
        """Yield paths and nodes of the members.

        Parameters
        ----------
        max_depth : int, optional
            0 for the direct members, 1 for those of the groups among them as well, None for all.
        use_consolidated_for_children : bool
            Trust the consolidated metadata of groups below this one.

        Raises
        ------
        BaseZarrError
            If the metadata document of a member cannot be used.  :meth:`keys` and :meth:`tree` name that
            member all the same, ``group[name]`` opens any other, and ``del group[name]`` removes it.
        """
        below = members.walk(self._opened, max_depth, use_consolidated=use_consolidated_for_children)
        found = ((item, readable(item.metadata)) for item in below)
        return tuple((item.path, self._node(item)) for item, _ in found)

    def nmembers(self, max_depth: int | None = 0) -> int:
        """Return the number of members; `max_depth` is that of :meth:`members`."""
        if max_depth == 0:
            return sum(1 for _ in members.names_of(self._opened))
        return sum(1 for _ in members.walk(self._opened, max_depth))

    def _of_kind(self, *, arrays: bool) -> Iterator[tuple[str, Any]]:
        return ((found.path, self._node(found)) for found in members.of_kind(self._opened, arrays=arrays))

    def keys(self) -> Iterator[str]:
        """Return the names of the direct members."""
        return members.names_of(self._opened)

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield names and arrays of the direct members that are arrays."""
        return self._of_kind(arrays=True)

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Yield names and groups of the direct members that are groups."""
        return self._of_kind(arrays=False)

    def array_keys(self) -> Iterator[str]:
        """Return the names of the arrays among the direct members."""
        return (name for name, _ in self.arrays())

    def group_keys(self) -> Iterator[str]:
        """Return the names of the groups among the direct members."""
        return (name for name, _ in self.groups())

    def array_values(self) -> Iterator[Array]:
        """Yield the arrays among the direct members."""
        return (array for _, array in self.arrays())

    def group_values(self) -> Iterator[Group]:
        """Yield the groups among the direct members."""
        return (group for _, group in self.groups())

    def tree(
        self,
        expand: bool | None = None,
        level: int | None = None,
        *,
        max_nodes: int = 500,
        plain: bool = False,
    ) -> Any:
        """Return the hierarchy below the group as an object that prints as a tree.

        Parameters
        ----------
        expand
            Accepted for compatibility.
        level : int, optional
            Number of levels to show.
        max_nodes : int
            Stop after so many nodes.
        plain : bool
            Accepted for compatibility; the text is always plain.
        """
        return tree_of(self._store_path, self.metadata, level=level, max_nodes=max_nodes)

    # --- creating ---

    @property
    def info(self) -> NodeInfo:
        """What the metadata says, as an object that prints as a table."""
        from zarrcore.info import group_info

        return group_info(self)

    def info_complete(self) -> NodeInfo:
        """Return the same as `info`, with what only a look into the store tells."""
        from zarrcore.info import group_info

        return group_info(self, complete=True)

    def create_group(
        self, name: str, *, overwrite: Overwrite = False, attributes: Mapping[str, Any] | None = None
    ) -> Group:
        """Create a group below this one, and the groups between them.

        Parameters
        ----------
        name : str
            Path below this group.
        overwrite : bool or "all"
            Remove what is there first; ``"all"``: even if it belongs to no Zarr node.
        attributes : mapping, optional
            User attributes.

        Raises
        ------
        ContainsArrayError, ContainsGroupError
            If there is a node already, or an array above it.
        """
        return Group._of(creating.create_group(self._opened, name, attributes, overwrite=overwrite))

    def require_group(
        self, name: str, overwrite: Overwrite = False, *, attributes: Mapping[str, Any] | None = None
    ) -> Group:
        """Return the group of a name; create it if it is missing.

        Parameters
        ----------
        name : str
            Path below this group.
        overwrite : bool or "all"
            Remove what is there, and create the group again.
        attributes : mapping, optional
            User attributes of a group that is created.

        Raises
        ------
        ContainsArrayError
            If there is an array.
        """
        return Group._of(creating.require_group(self._opened, name, attributes, overwrite=overwrite))

    def require_groups(self, *names: str) -> tuple[Group, ...]:
        """Return several groups; create those that are missing."""
        return tuple(self.require_group(name) for name in names)

    @takes(ArrayOptions)
    def create_array(
        self,
        name: str,
        *,
        compressor: CodecLike | None = "auto",
        storage_options: dict[str, Any] | None = None,
        **options: Unpack[ArrayOptions],
    ) -> Array:
        """Create an array below this group; the parameters are those of :func:`zarrcore.create_array`."""
        if storage_options is not None:
            raise TypeError(
                "Group.create_array: storage_options open a store, and a group has its store already"
            )
        return Array._of(creating.create_array(self._opened, name, options, compressor))

    create = create_array

    @takes(RequireOptions)
    def require_array(
        self,
        name: str,
        *,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        exact: bool = False,
        config: ArrayConfigLike | None = None,
        **kwargs: Unpack[RequireOptions],
    ) -> Array:
        """Return the array of a name; create it if it is missing.

        Parameters
        ----------
        shape, dtype
            What an existing array must have; `dtype` is ``float64`` by default.
        exact : bool
            Ask for the very data type, rather than one that can be cast to it safely.
        **kwargs
            As for :meth:`create_array`.

        Raises
        ------
        ContainsGroupError
            If there is a group.
        TypeError
            If the shape or the data type of an existing array does not fit.
        """
        return Array._of(
            creating.require_array(
                self._opened, name, shape, dtype, exact=exact, config=config, options={**kwargs}
            )
        )

    def create_hierarchy(
        self, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
    ) -> Iterator[tuple[str, Array | Group]]:
        """Create many nodes below this group; see :func:`zarrcore.create_hierarchy`."""
        self._opened.look_in_store()
        created = create_nodes(self._store_path, nodes, overwrite=overwrite)
        return ((path, node_of(place, metadata)) for path, place, metadata in created)

    @takes(MemberOptions)
    def empty(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array without values (they are the fill value); see :func:`zarrcore.create`."""
        return Array._of(creating.filled(self._opened, name, shape, ..., {**kwargs}))

    @takes(MemberOptions)
    def zeros(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of zeros; see :func:`zarrcore.create`."""
        return Array._of(creating.filled(self._opened, name, shape, 0, {**kwargs}))

    @takes(MemberOptions)
    def ones(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of ones; see :func:`zarrcore.create`."""
        return Array._of(creating.filled(self._opened, name, shape, 1, {**kwargs}))

    @takes(FullMemberOptions)
    def full(
        self, *, name: str, shape: ShapeLike, fill_value: FillValueLike, **kwargs: Unpack[FullMemberOptions]
    ) -> Array:
        """Create an array of `fill_value`; see :func:`zarrcore.create`."""
        return Array._of(creating.filled(self._opened, name, shape, fill_value, {**kwargs}))

    @takes(MemberOptions)
    def empty_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array like `data`, without its values."""
        return Array._of(creating.like(self._opened, name, data, ..., {**kwargs}))

    @takes(MemberOptions)
    def zeros_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of zeros like `data`."""
        return Array._of(creating.like(self._opened, name, data, 0, {**kwargs}))

    @takes(MemberOptions)
    def ones_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of ones like `data`."""
        return Array._of(creating.like(self._opened, name, data, 1, {**kwargs}))

    @takes(MemberOptions)
    def full_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array like `data`, filled with the keyword argument `fill_value`."""
        return Array._of(creating.like(self._opened, name, data, ..., {**kwargs}))

    # --- changing ---

    def __setitem__(self, key: str, value: ArrayLike) -> None:
        """Store an array-like under a name, in place of the array of that name.

        Raises
        ------
        ContainsGroupError
            If there is a group of that name.
        """
        creating.set_member(self._opened, key, value)

    def __delitem__(self, key: str) -> None:
        changing.remove(self._opened, key)

    def move(self, source: str, dest: str) -> None:
        """Move a member, with everything below it, to another path in this group.

        A store that can rename does so, in one step; in others everything is copied and then removed.

        Parameters
        ----------
        source, dest : str
            Paths below this group.

        Raises
        ------
        KeyError
            If there is no member at `source`.
        ContainsArrayError, ContainsGroupError
            If there is one at `dest`.
        """
        changing.move(self._opened, source, dest)

    async def update_attributes_async(self, new_attributes: Mapping[str, Any]) -> Group:
        """The same as :meth:`update_attributes`, as a coroutine."""
        from zarrcore.asynchronous import in_thread

        return await in_thread(self.update_attributes, new_attributes)

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Store the result of `change`, called with the attributes that are stored now."""
        changing.change_attributes(self._opened, change)


def node_of(
    place: StorePath, metadata: Metadata, *, config: Any = None, copy: KeptCopy | None = None
) -> Array | Group:
    """Return the array or group that metadata describe; `copy` is the one that they come from, if any."""
    if is_array_metadata(metadata):
        return Array(metadata, place, config)
    return Group._of(OpenGroup(metadata, place, copy))


def open_group_at(
    place: StorePath, zarr_format: int | None = None, *, use_consolidated: bool | str | None = None
) -> Group:
    """Open the group at a place; parameters and errors are those of `open_group_node`."""
    place, metadata = open_group_node(place, zarr_format, use_consolidated=use_consolidated)
    return Group(metadata, place)
