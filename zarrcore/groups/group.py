"""The group: a node that contains arrays and other groups, like a directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from zarrcore._typing import ArrayLike, Overwrite
from zarrcore.arrays.array import Array
from zarrcore.arrays.opened import OpenArray
from zarrcore.groups import changing, creating, members
from zarrcore.groups.face import GroupFace
from zarrcore.groups.opened import OpenGroup
from zarrcore.groups.tree import Tree, tree_of
from zarrcore.node import SynchronousNode, bridge, to_end
from zarrcore.nodes.documents import Metadata
from zarrcore.nodes.walk import Found

if TYPE_CHECKING:
    import zarr

    from zarrcore.groups.async_group import AsyncGroup
    from zarrcore.info import NodeInfo

T = TypeVar("T")

_OLD_NAMES = {"create_dataset": "create_array", "require_dataset": "require_array"}  # of zarr 2 and h5py


class Group(GroupFace["Array", "Group"], SynchronousNode, array="Array", group="Group"):
    """A group of arrays and groups.

    Create groups with :func:`zarrcore.create_group` and open them with :func:`zarrcore.open_group`.
    ``group[path]`` is an array or a group below it.

    Parameters
    ----------
    metadata : GroupMetadata, or AsyncGroup
        The group's metadata document; an asynchronous group, without any place, makes another face of it.
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

    __slots__ = ("__weakref__",)

    @classmethod
    def _made(cls, function: Callable[..., OpenGroup], *args: Any, **kwargs: Any) -> Group:
        return cls._of(function(*args, **kwargs))

    def _array(self, function: Callable[..., OpenArray], *args: Any, **kwargs: Any) -> Array:
        return Array._of(function(self._opened, *args, **kwargs))

    # --- properties ---

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            new = _OLD_NAMES.get(name)
            hint = f"it is called {new!r} here" if new else f"members are found by group[{name!r}]"
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(text if name[:1] == "_" else f"{text}; {hint}", name=name, obj=self)

    @property
    def _async_group(self) -> AsyncGroup:
        from zarrcore.groups.async_group import AsyncGroup

        return AsyncGroup._of(self._opened)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what dask makes a name of; it is another one after a change of the group or its members."""
        from zarrcore.arrays.token import place_token

        metadata = self.metadata
        place = place_token(self._store_path, metadata.zarr_format)
        return *place, repr((metadata.to_dict(), sorted(self)))

    # --- members ---

    def __getitem__(self, path: str) -> Array | Group:
        """Return the array or group at a path below this group.

        Parameters
        ----------
        path : str
            Names of nodes, with slashes between them.

        Raises
        ------
        KeyError
            If there is none; the message names members whose names are like that one.
        MetadataValidationError
            If its metadata document is not valid.

        Examples
        --------
        >>> import zarrcore
        >>> root = zarrcore.create_group({})
        >>> root["ocean/salt"] = np.arange(3)
        >>> root["ocean"]["salt"][:]
        array([0, 1, 2])
        """
        node = self.get(path)
        if node is None:
            raise members.missing(self._opened, path)
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

    def __contains__(self, member: object) -> bool:
        """Return whether there is an array or group at a path below this group."""
        return members.contains(self._opened, member)

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names of the direct members."""
        names = members.Names(self._opened)
        self._opened.listing = ref(names)
        return names

    def __len__(self) -> int:
        """Return the number of direct members."""
        listing = self._opened.listing
        self._opened.listing = None  # good for one answer: the next one may be another
        names = None if listing is None else listing()
        count = None if names is None else names.count()
        return self.nmembers() if count is None else count

    def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> tuple[tuple[str, Array | Group], ...]:
        """Return the paths and nodes of the members.

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
        below = members.usable(self._opened, max_depth, use_consolidated=use_consolidated_for_children)
        return tuple((found.path, self._node(found)) for found in below)

    def nmembers(self, max_depth: int | None = 0) -> int:
        """Return the number of members; `max_depth` is that of :meth:`members`."""
        return members.count(self._opened, max_depth)

    def _node(self, found: Found) -> Array | Group:
        return node_of(members.opened(self._opened, found))

    def _member(self, path: str, kind: type[OpenArray | OpenGroup]) -> Array | Group:
        return self._node(members.find_kind(self._opened, path, kind))

    def keys(self) -> Iterator[str]:
        """Return the names of the direct members."""
        return members.names_of(self._opened)

    def values(self) -> Iterator[Array | Group]:
        """Return the direct members."""
        return (node for _, node in self.members())

    def items(self) -> Iterator[tuple[str, Array | Group]]:
        """Return the names of the direct members with the members."""
        return iter(self.members())

    def _of_kind(self, *, arrays: bool) -> Iterator[tuple[str, Any]]:
        return ((found.path, self._node(found)) for found in members.of_kind(self._opened, arrays=arrays))

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
    ) -> Tree:
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

    def info_complete(self) -> NodeInfo:
        """Return :attr:`info` with the number of members and their stored size in bytes."""
        from zarrcore.info import group_info

        return group_info(self, complete=True)

    def as_zarr(self) -> zarr.Group:
        """Return the group as a ``zarr.Group`` of zarr-python, for libraries that ask for that class.

        It is in the same store, and its arrays are read and written by the engine of zarrcore, see
        :meth:`zarrcore.Array.as_zarr`.  :func:`zarrcore.from_zarr` goes the other way.

        Raises
        ------
        ImportError
            If zarr-python 3 is not installed.
        ValueError
            If the group is of format 1, which zarr-python 3 does not have.

        Examples
        --------
        >>> import zarrcore
        >>> root = zarrcore.create_group({})
        >>> root["lat"] = np.arange(3)
        >>> root.as_zarr()["lat"][1:]
        array([1, 2])
        """
        return bridge("as_zarr")(self)  # type: ignore[no-any-return]

    def require_groups(self, *names: str) -> tuple[Group, ...]:
        """Return the groups of these `names`; create those that are missing."""
        return tuple(self.require_group(name) for name in names)

    create = GroupFace.create_array

    def create_hierarchy(
        self, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
    ) -> Iterator[tuple[str, Array | Group]]:
        """Create many nodes below this group; see :func:`zarrcore.create_hierarchy`."""
        created = creating.create_hierarchy(self._opened, nodes, overwrite=overwrite)
        return ((path, node_of(opened)) for path, opened in created)

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
        """Remove a member, with everything below it.

        Raises
        ------
        KeyError
            If there is no member at the path.
        """
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
        """Change the attributes like :meth:`update_attributes`, as a coroutine."""
        return await to_end(self.update_attributes, new_attributes)


def node_of(opened: OpenArray | OpenGroup) -> Array | Group:
    """Return the array or group for users."""
    return Group._of(opened) if isinstance(opened, OpenGroup) else Array._of(opened)
