"""What users hold of an open group, synchronous or not: what both do by the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from inspect import signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack

from zarrcore._typing import ArrayLike, FillValueLike, Overwrite, ShapeLike
from zarrcore.arrays.config import ArrayConfigLike
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.options import ArrayOptions, FullMemberOptions, MemberOptions, RequireOptions, takes
from zarrcore.codecs.base import CodecLike
from zarrcore.dtypes.parse import DTypeLike
from zarrcore.groups import changing, creating
from zarrcore.groups.opened import OpenGroup, open_group_at
from zarrcore.metadata import GroupMetadata
from zarrcore.node import Node
from zarrcore.nodes import users
from zarrcore.nodes.copies import look_back
from zarrcore.storage.path import StoreLike, StorePath, make_store_path

if TYPE_CHECKING:
    from zarrcore.info import NodeInfo


ArrayT = TypeVar("ArrayT")
GroupT = TypeVar("GroupT")


def _returning(function: Any, result: str) -> Any:
    """Return a copy of a function whose annotations name another result."""
    code, variables, name = function.__code__, function.__globals__, function.__name__
    copy: Any = FunctionType(code, variables, name, function.__defaults__, function.__closure__)
    update_wrapper(copy, function)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = {**function.__annotations__, "return": result}
    copy.__signature__ = signature(function).replace(return_annotation=result)
    return copy


class GroupFace(Node, Generic[ArrayT, GroupT]):
    """A face of an open group: it holds the group, and calls functions that take it.

    `ArrayT` and `GroupT` are what methods return: an array and a group, or coroutines that return them.
    """

    __slots__ = ("_opened",)

    def __init_subclass__(cls, *, array: str = "", group: str = "") -> None:
        """Have the signatures of the class say what its methods return, in place of type variables."""
        super().__init_subclass__()
        if not array:
            return  # a class of a user
        results = {"ArrayT": array, "GroupT": group}
        for name, member in {**vars(GroupFace), **vars(cls)}.items():
            function = getattr(member, "__func__", member)
            result = getattr(function, "__annotations__", {}).get("return")
            if name[0] != "_" and result in results:
                own = _returning(function, results[result])
                setattr(cls, name, classmethod(own) if isinstance(member, classmethod) else own)

    def __init__(
        self,
        metadata: GroupMetadata | GroupFace[object, object],
        store_path: StorePath = None,  # type: ignore[assignment]
    ) -> None:
        if isinstance(metadata, GroupFace):
            self._opened: OpenGroup = metadata._opened
            return
        if store_path is None:
            raise TypeError(
                f"{type(self).__name__}: expected metadata and a StorePath, got {metadata!r:.100} alone; "
                "open_group opens a group that is stored, create_group makes a new one"
            )
        self._opened = OpenGroup(metadata, store_path)

    @classmethod
    def _of(cls, opened: OpenGroup) -> Self:
        """Return the face of a group that is open."""
        group = cls.__new__(cls)
        group._opened = opened
        return group

    def __reduce__(self) -> tuple[Any, ...]:
        known = users.changes_known()  # before the metadata, which know of at least these
        metadata = self.metadata
        taken = type(self), (metadata, self._store_path)
        return taken if metadata.consolidated_metadata is None else (*taken, known)

    def __setstate__(self, known: tuple[bytes, int]) -> None:
        """Take over from a pickle what the consolidated metadata in it know of."""
        copy = self._opened.copy
        if copy is not None:
            look_back(copy, known)

    if TYPE_CHECKING:

        @classmethod
        def _made(cls, function: Callable[..., OpenGroup], *args: Any, **kwargs: Any) -> GroupT:
            """Call a function that returns an open group, and return its face."""
            ...

        def _array(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> ArrayT:
            """Call a function that takes the open group and returns an array."""
            ...

        def _member(self, path: str, kind: type[OpenArray | OpenGroup]) -> Any:
            """Return the face of the member at a path, which must be of a kind."""

    def _group(self, function: Callable[..., OpenGroup], *args: Any, **kwargs: Any) -> GroupT:
        """Call a function that takes the open group and returns a group."""
        return self._made(function, self._opened, *args, **kwargs)

    # --- opening ---

    @classmethod
    def from_store(
        cls,
        store: StoreLike,
        *,
        attributes: Mapping[str, Any] | None = None,
        zarr_format: int = 3,
        overwrite: Overwrite = False,
        storage_options: dict[str, Any] | None = None,
    ) -> GroupT:
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
        storage_options : dict, optional
            Options of a remote store.

        Raises
        ------
        ContainsArrayError, ContainsGroupError
            If there is a node already.
        """
        place = make_store_path(store, storage_options=storage_options)
        return cls._made(creating.create_group_at, place, zarr_format, attributes, overwrite=overwrite)

    @classmethod
    def open(
        cls,
        store: StoreLike,
        zarr_format: int | None = 3,
        use_consolidated: bool | str | None = None,
        *,
        storage_options: dict[str, Any] | None = None,
    ) -> GroupT:
        """Open the group at the root of a store-like; see :func:`zarrcore.open_group`.

        Raises
        ------
        GroupNotFoundError
            If there is none.
        NodeTypeValidationError
            If there is an array.
        """
        place = make_store_path(store, storage_options=storage_options)
        return cls._made(open_group_at, place, zarr_format, use_consolidated=use_consolidated)

    @classmethod
    def from_dict(cls, store_path: StorePath, data: dict[str, Any]) -> Self:
        """Return a group from its metadata as a dictionary; nothing is written."""
        return cls(GroupMetadata.from_dict(data), store_path)

    @property
    def _store_path(self) -> StorePath:
        return self._opened.place

    @property
    def metadata(self) -> GroupMetadata:
        """The metadata document; without consolidated metadata if this process has changed nodes in them."""
        return self._opened.current()

    @property
    def synchronizer(self) -> None:
        """None; kept for compatibility."""
        return None

    @property
    def info(self) -> NodeInfo:
        """The main properties of the metadata, as an object that prints as a table."""
        from zarrcore.info import group_info

        return group_info(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._store_path}>"

    def _repr_html_(self) -> str:
        from zarrcore.display.groups import group_html

        return group_html(self._store_path, self.metadata, type(self).__name__)

    def _ipython_key_completions_(self) -> list[str]:
        from zarrcore.groups.members import completions

        return completions(self._opened)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return (self._store_path, self.metadata) == (other._store_path, other.metadata)

    __hash__ = None  # type: ignore[assignment]

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Store the result of `change`, called with the attributes that are stored now."""
        changing.change_attributes(self._opened, change)

    # --- members ---

    def get_array(self, path: str) -> ArrayT:
        """Return the array at a `path`.

        Raises
        ------
        ArrayNotFoundError
            If there is nothing.
        NotAnArrayError
            If there is a group.
        """
        return self._member(path, OpenArray)  # type: ignore[no-any-return]

    def get_group(self, path: str) -> GroupT:
        """Return the group at a `path`.

        Raises
        ------
        GroupNotFoundError
            If there is nothing.
        NotAGroupError
            If there is an array.
        """
        return self._member(path, OpenGroup)  # type: ignore[no-any-return]

    # --- creating ---

    def create_group(
        self, name: str, *, overwrite: Overwrite = False, attributes: Mapping[str, Any] | None = None
    ) -> GroupT:
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
        return self._group(creating.create_group, name, attributes, overwrite=overwrite)

    def require_group(
        self, name: str, overwrite: Overwrite = False, *, attributes: Mapping[str, Any] | None = None
    ) -> GroupT:
        """Return the group of a name; create it if it is missing.

        Parameters
        ----------
        name : str
            Path below this group; ``"/"`` is the group itself.
        overwrite : bool or "all"
            Remove what is there, and create the group again.
        attributes : mapping, optional
            User attributes of a group that is created.

        Raises
        ------
        ContainsArrayError
            If there is an array.
        """
        return self._group(creating.require_group, name, attributes, overwrite=overwrite)

    @takes(ArrayOptions)
    def create_array(
        self,
        name: str,
        *,
        compressor: CodecLike | None = "auto",
        storage_options: dict[str, Any] | None = None,
        **options: Unpack[ArrayOptions],
    ) -> ArrayT:
        """Create an array below this group; the parameters are those of :func:`zarrcore.create_array`."""
        if storage_options is not None:
            raise TypeError(
                "Group.create_array: storage_options open a store, and a group has its store already"
            )
        return self._array(creating.create_array, name, options, compressor)

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
    ) -> ArrayT:
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
        options = {"exact": exact, "config": config, "options": {**kwargs}}
        return self._array(creating.require_array, name, shape, dtype, **options)

    @takes(MemberOptions)
    def empty(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array without values (they are the fill value); see :func:`zarrcore.create`."""
        return self._array(creating.filled, name, shape, ..., {**kwargs})

    @takes(MemberOptions)
    def zeros(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array of zeros; see :func:`zarrcore.create`."""
        return self._array(creating.filled, name, shape, 0, {**kwargs})

    @takes(MemberOptions)
    def ones(self, *, name: str, shape: ShapeLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array of ones; see :func:`zarrcore.create`."""
        return self._array(creating.filled, name, shape, 1, {**kwargs})

    @takes(FullMemberOptions)
    def full(
        self, *, name: str, shape: ShapeLike, fill_value: FillValueLike, **kwargs: Unpack[FullMemberOptions]
    ) -> ArrayT:
        """Create an array of `fill_value`; see :func:`zarrcore.create`."""
        return self._array(creating.filled, name, shape, fill_value, {**kwargs})

    @takes(MemberOptions)
    def empty_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array like `data`, without its values; see :func:`zarrcore.empty_like`."""
        return self._array(creating.like, name, data, ..., {**kwargs})

    @takes(MemberOptions)
    def zeros_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array of zeros like `data`; see :func:`zarrcore.zeros_like`."""
        return self._array(creating.like, name, data, 0, {**kwargs})

    @takes(MemberOptions)
    def ones_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array of ones like `data`; see :func:`zarrcore.ones_like`."""
        return self._array(creating.like, name, data, 1, {**kwargs})

    @takes(MemberOptions)
    def full_like(self, *, name: str, data: ArrayLike, **kwargs: Unpack[MemberOptions]) -> ArrayT:
        """Create an array like `data` that is full of `fill_value`; see :func:`zarrcore.full_like`."""
        return self._array(creating.like, name, data, ..., {**kwargs})
