"""The group: a node that contains arrays and other groups, like a directory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from zarrcore.arrays.options import (
    ArrayOptions,
    FullMemberOptions,
    MemberOptions,
    RequireOptions,
    takes,
)
from zarrcore.errors import (
    ArrayNotFoundError,
    DataTypeValidationError,
    GroupNotFoundError,
    InvalidKeyError,
    MetadataValidationError,
    NotAGroupError,
    NotAnArrayError,
    PickleCodecDisabledError,
    UnknownCodecError,
)
from zarrcore.groups.members import Names, names_of, of_kind, walk
from zarrcore.groups.nodes import create_nodes, member_path, node_of, open_group_at
from zarrcore.metadata import GroupMetadata
from zarrcore.node import SynchronousNode
from zarrcore.nodes.changes import KeptCopy
from zarrcore.nodes.create import create_node
from zarrcore.nodes.find import find_member, readable
from zarrcore.storage.path import StorePath, make_store_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeVar, Unpack

    from zarrcore._typing import ArrayLike, FillValueLike, Overwrite, ShapeLike
    from zarrcore.arrays.array import Array
    from zarrcore.arrays.config import ArrayConfigLike
    from zarrcore.codecs.base import CodecLike
    from zarrcore.dtypes.parse import DTypeLike
    from zarrcore.nodes.documents import Metadata
    from zarrcore.storage.path import StoreLike

    T = TypeVar("T")

__all__ = ["Group"]


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

    __slots__ = ("__weakref__", "_copy", "_listing", "_metadata", "_store_path")

    _store_path: StorePath

    def __init__(
        self, metadata: GroupMetadata, store_path: StorePath, *, _copy: KeptCopy | None = None
    ) -> None:
        self._metadata = metadata
        self._store_path = store_path
        if _copy is None and metadata.consolidated_metadata is not None:
            _copy = KeptCopy(store_path)
        self._copy = _copy
        self._listing: ref[Names] | None = None  # the last iterator that was made, see `Names`

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
        metadata = GroupMetadata(attributes=dict(attributes or {}), zarr_format=zarr_format)
        create_node(place, metadata, overwrite=overwrite)
        return cls(metadata, place)

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
        if self._copy is not None and self._copy.is_stale:
            self._look_in_store()
        return self._metadata

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
        try:
            name = member_path(path)
        except (KeyError, InvalidKeyError):
            return default
        place = self._store_path / name
        consolidated = self.metadata.consolidated_metadata
        if consolidated is not None:
            from zarrcore.nodes.consolidated import checked_lookup

            metadata = checked_lookup(consolidated, place, name, self._metadata.zarr_format)
        else:
            try:
                metadata = find_member(place, self._metadata.zarr_format)
            except InvalidKeyError:  # no name that the store can have
                return default
        return default if metadata is None else node_of(place, metadata, copy=self._copy)

    def get_array(self, path: str) -> Array:
        """Return the array at a path.

        Raises
        ------
        ArrayNotFoundError
            If there is nothing.
        NotAnArrayError
            If there is a group.
        """
        node = self.get(path)
        if node is None:
            raise ArrayNotFoundError(f"no array found in {self!r} at path {path!r}")
        if isinstance(node, Group):
            raise NotAnArrayError(f"expected an array at path {path!r} in {self!r}, found {node!r}")
        return node

    def get_group(self, path: str) -> Group:
        """Return the group at a path.

        Raises
        ------
        GroupNotFoundError
            If there is nothing.
        NotAGroupError
            If there is an array.
        """
        node = self.get(path)
        if node is None:
            raise GroupNotFoundError(f"no group found in {self!r} at path {path!r}")
        if not isinstance(node, Group):
            raise NotAGroupError(f"expected a group at path {path!r} in {self!r}, found {node!r}")
        return node

    def __contains__(self, member: object) -> bool:
        try:
            return isinstance(member, str) and self.get(member) is not None
        except (
            MetadataValidationError,
            DataTypeValidationError,
            UnknownCodecError,
            PickleCodecDisabledError,
        ):
            # It is there, and keys() names it.
            return True

    def __iter__(self) -> Iterator[str]:
        names = Names(self)
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
        found = walk(self, max_depth, use_consolidated_for_children)
        return tuple((path, readable(node)) for path, node in found)

    def nmembers(self, max_depth: int | None = 0) -> int:
        """Return the number of members; `max_depth` is that of :meth:`members`."""
        if max_depth == 0:
            return sum(1 for _ in names_of(self))
        return sum(1 for _ in self._walk(max_depth))

    def _walk(self, max_depth: int | None = None) -> Iterator[tuple[str, Any]]:
        """Return the members, including those with unusable documents."""
        return walk(self, max_depth, use_consolidated=True)

    def keys(self) -> Iterator[str]:
        """Return the names of the direct members."""
        return names_of(self)

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield names and arrays of the direct members that are arrays."""
        return of_kind(self, arrays=True)

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Yield names and groups of the direct members that are groups."""
        return of_kind(self, arrays=False)

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
        from zarrcore.groups.tree import tree_of

        return tree_of(self._store_path, self.metadata, level=level, max_nodes=max_nodes)

    # --- creating ---

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
        self._look_in_store()
        place = self._store_path / member_path(name)
        metadata = GroupMetadata(attributes=dict(attributes or {}), zarr_format=self._metadata.zarr_format)
        create_node(place, metadata, overwrite=overwrite, group=self._store_path)
        return Group(metadata, place)

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
        from zarrcore.groups.creating import require_group

        return require_group(self, name, overwrite=overwrite, options={"attributes": attributes})

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
        self._look_in_store()
        from zarrcore.arrays.creation import create_array_at

        return create_array_at(
            self._store_path / member_path(name),
            options,
            zarr_format=self._metadata.zarr_format,
            compressor=compressor,
            group=self._store_path,
        )

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
        from zarrcore.groups.creating import require_array

        return require_array(self, name, shape, dtype, exact=exact, config=config, options={**kwargs})

    def create_hierarchy(
        self, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
    ) -> Iterator[tuple[str, Array | Group]]:
        """Create many nodes below this group; see :func:`zarrcore.create_hierarchy`."""
        self._look_in_store()
        return create_nodes(self._store_path, nodes, overwrite=overwrite)

    @takes(MemberOptions)
    def empty(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array without values (they are the fill value); see :func:`zarrcore.create`."""
        from zarrcore.groups.creating import filled

        return filled(self, name, shape, ..., {**kwargs})

    @takes(MemberOptions)
    def zeros(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of zeros; see :func:`zarrcore.create`."""
        from zarrcore.groups.creating import filled

        return filled(self, name, shape, 0, {**kwargs})

    @takes(MemberOptions)
    def ones(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of ones; see :func:`zarrcore.create`."""
        from zarrcore.groups.creating import filled

        return filled(self, name, shape, 1, {**kwargs})

    @takes(FullMemberOptions)
    def full(
        self, *, name: str, shape: ShapeLike, fill_value: FillValueLike, **kwargs: Unpack[FullMemberOptions]
    ) -> Array:
        """Create an array of `fill_value`; see :func:`zarrcore.create`."""
        from zarrcore.groups.creating import filled

        return filled(self, name, shape, fill_value, {**kwargs})

    @takes(MemberOptions)
    def empty_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array like `data`, without its values."""
        from zarrcore.groups.creating import like

        return like(self, name, data, ..., {**kwargs})

    @takes(MemberOptions)
    def zeros_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of zeros like `data`."""
        from zarrcore.groups.creating import like

        return like(self, name, data, 0, {**kwargs})

    @takes(MemberOptions)
    def ones_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array of ones like `data`."""
        from zarrcore.groups.creating import like

        return like(self, name, data, 1, {**kwargs})

    @takes(MemberOptions)
    def full_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> Array:
        """Create an array like `data`, filled with the keyword argument `fill_value`."""
        from zarrcore.groups.creating import like

        return like(self, name, data, ..., {**kwargs})

    # --- changing ---

    def __setitem__(self, key: str, value: ArrayLike) -> None:
        """Store an array-like under a name, in place of the array of that name.

        Raises
        ------
        ContainsGroupError
            If there is a group of that name.
        """
        from zarrcore.arrays.legacy import array_at

        self._look_in_store()
        name = member_path(key)
        found = self.get(name)
        overwrite = found is not None and not isinstance(found, Group)
        array_at(self._store_path / name, value, zarr_format=self._metadata.zarr_format, overwrite=overwrite)

    def __delitem__(self, key: str) -> None:
        from zarrcore.groups.changing import remove

        remove(self, key)

    def _look_in_store(self) -> None:
        """Stop using consolidated metadata in this object, before it changes nodes that are in them.

        Those in the store stay as they are; call :func:`zarrcore.consolidate_metadata` to refresh them, and
        the change that follows makes them known as stale.
        """
        if self._copy is not None and self._copy.is_stale:
            self._copy = None
        if self._metadata.consolidated_metadata is not None:
            self._metadata = replace(self._metadata, consolidated_metadata=None)

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
        from zarrcore.groups.changing import move

        move(self, source, dest)

    async def update_attributes_async(self, new_attributes: Mapping[str, Any]) -> Group:
        """The same as :meth:`update_attributes`, as a coroutine."""
        from zarrcore.asynchronous import in_thread

        return await in_thread(self.update_attributes, new_attributes)

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Store the result of `change`, called with the attributes that are stored now."""
        from zarrcore.groups.changing import change_attributes

        change_attributes(self, change)
