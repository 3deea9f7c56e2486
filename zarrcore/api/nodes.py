"""Opening and creating nodes: the functions that take a mode, and those for groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from zarrcore._typing import ArrayLike, Overwrite
from zarrcore.arrays.array import Array
from zarrcore.arrays.config import ArrayConfigLike
from zarrcore.arrays.opened import array_read, open_array_at
from zarrcore.arrays.options import (
    IgnoredOptions,
    OpenGroupOptions,
    OpenLikeOptions,
    OpenNodeOptions,
    OpenOptions,
    takes,
)
from zarrcore.errors import ArrayNotFoundError, GroupNotFoundError, ZarrRuntimeWarning
from zarrcore.nodes import users
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.open import open_node
from zarrcore.storage import Store, StorePath, make_store_path
from zarrcore.storage.path import StoreLike

if TYPE_CHECKING:
    from zarrcore.groups.group import Group
    from zarrcore.groups.tree import Tree
    from zarrcore.metadata import GroupMetadata


_READ_MODES = ("r", "r+", "a")
_CREATE_MODES = ("a", "w", "w-")
_GROUP_ARGUMENTS = {"attributes", "use_consolidated", "overwrite"}


def drop_unused(arguments: dict[str, Any]) -> None:
    """Take arguments that have no effect out of `arguments`, with a warning for each that was given."""
    if not arguments:
        return
    import warnings

    from zarrcore.metadata.departures import level_of_caller

    for name in IgnoredOptions.__annotations__:
        if arguments.pop(name, None) is not None:
            text = f"the argument {name} has no effect"
            warnings.warn(text, ZarrRuntimeWarning, stacklevel=level_of_caller())


@takes(OpenNodeOptions)
def open(
    store: StoreLike = None,
    *,
    mode: str | None = None,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    config: ArrayConfigLike | None = None,
    **kwargs: Unpack[OpenNodeOptions],
) -> Array | Group:
    """Open the array or group at a path, or create one.

    Parameters
    ----------
    store, zarr_format, path, storage_options, config
        As for :func:`open_array`.
    mode : {"r", "r+", "a", "w", "w-"}, optional
        As for :func:`open_array`.  Default: ``r`` for a read-only store, else ``a``.
    **kwargs
        For what is created: with mode ``w``, ``overwrite="all"`` also removes entries that belong to no Zarr
        node; further arguments are as for :func:`open_array` if there is a `shape`, else :func:`open_group`.

    Raises
    ------
    NodeNotFoundError
        If there is nothing and the mode does not create.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.save(store, np.arange(3))
    >>> zarrcore.open(store, mode="r")[1:]
    array([1, 2])
    """
    arguments: dict[str, Any] = {**kwargs}
    drop_unused(arguments)
    if mode is None:
        mode = "r" if isinstance(store, (Store, StorePath)) and store.read_only else "a"
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    if "shape" in arguments:
        return _open_array_at(place, mode, zarr_format, config, arguments, {**arguments})
    opened = None
    if mode in _READ_MODES:
        losses, changes = users.losses, users.changes_known()
        try:
            found, metadata = open_node(place, zarr_format)
        except GroupNotFoundError:
            if mode not in _CREATE_MODES:
                raise
            mode = "w-"  # there is nothing: it is not looked for again
        else:
            if is_array_metadata(metadata):
                return Array._of(array_read(metadata, found, config, losses=losses))
            opened = found, metadata, changes
    if config is not None:
        raise TypeError("open: config is for arrays; groups have no run-time settings")
    for name in arguments.keys() - _GROUP_ARGUMENTS:
        raise TypeError(f"open: {name} is for arrays; to create one where nothing is, give its shape as well")
    return _open_group_at(place, mode, zarr_format, opened, **arguments)


@takes(OpenOptions)
def open_array(
    store: StoreLike = None,
    *,
    zarr_format: int | None = None,
    path: str = "",
    storage_options: dict[str, Any] | None = None,
    config: ArrayConfigLike | None = None,
    cache_bytes: int | None = None,
    **kwargs: Unpack[OpenOptions],
) -> Array:
    """Open an array, or create it.

    Parameters
    ----------
    store : store-like, optional
        A store, a path, a URL or a dictionary.  Default: a new store in memory.
    mode : {"r", "r+", "a", "w", "w-"}, optional
        ``r`` reads; ``r+`` reads and writes; ``a`` also creates what is missing; ``w`` replaces what is
        there; ``w-`` creates, and fails if the path is in use.  Default: read and write what is there.
    zarr_format : {2, 3}, optional
        Look for this format only, and create in it.
    path : str, optional
        Path in the store.  Default: the root.
    storage_options : dict, optional
        Options of a remote store.
    config : ArrayConfig or mapping, optional
        Run-time settings of the array.
    cache_bytes : int, optional
        Size of a cache of decoded chunks in bytes, see :meth:`zarrcore.Array.with_cache`.  Default: no cache.
    **kwargs
        The arguments of :func:`create`, for an array that is created.  An array that is there must have the
        `shape` and the `dtype` that are given.

    Returns
    -------
    Array

    Raises
    ------
    ArrayNotFoundError
        If there is none and the mode does not create.
    NotAnArrayError
        If there is a group.
    TypeError
        If the array that is there has another shape or data type.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.open_array(store, mode="w", shape=3, dtype="i4")[...] = 5
    >>> zarrcore.open_array(store, mode="r")[...]
    array([5, 5, 5], dtype=int32)
    """
    mode = kwargs.pop("mode", None)
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    array = _open_array_at(place, mode, zarr_format, config, {**kwargs}, {**kwargs})
    return array if cache_bytes is None else array.with_cache(cache_bytes)


def _open_array_at(
    place: StorePath,
    mode: str | None,
    zarr_format: int | None,
    config: Any,
    described: dict[str, Any],
    required: dict[str, Any],
) -> Array:
    """Open an array, or create it as it is described; one that is there must have what is required."""
    drop_unused(described)
    # In mode "w-" it has been seen already that nothing is there.
    if mode != "w" and (mode != "w-" or place.read_only):
        try:
            array = Array._of(open_array_at(place, zarr_format, config=config))
        except ArrayNotFoundError:
            if mode not in _CREATE_MODES or place.read_only:
                raise
        else:
            shape, dtype = required.get("shape"), required.get("dtype")
            if shape is not None or dtype is not None:
                from zarrcore.arrays.creation import check_existing

                check_existing(array, shape, dtype)
            return array
    if "shape" not in described:
        replaces = mode in ("w", "w-")
        why = f"mode {mode!r} makes a new array" if replaces else f"no array found {place._located}"
        raise TypeError(f"open_array: {why}, and there is no shape to create one")
    from zarrcore.arrays.legacy import create_at

    overwrite = _insists(mode, described.pop("overwrite", False))
    created = create_at(place, zarr_format=zarr_format, overwrite=overwrite, config=config, **described)
    return Array._of(created)


def _insists(mode: str | None, overwrite: Overwrite) -> Overwrite:
    """Return what the mode ``w`` removes; other modes remove nothing."""
    return (overwrite or True) if mode == "w" else False


def open_group(
    store: StoreLike = None,
    *,
    mode: str = "a",
    cache_attrs: bool | None = None,
    synchronizer: object = None,
    path: str | None = None,
    chunk_store: object = None,
    storage_options: dict[str, Any] | None = None,
    zarr_format: int | None = None,
    meta_array: object = None,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | str | None = None,
    overwrite: Overwrite = False,
) -> Group:
    """Open a group, or create it.

    Parameters
    ----------
    store, mode, path, storage_options, zarr_format
        As for :func:`open_array`; the default mode is ``a``.
    attributes : mapping, optional
        User attributes of a group that is created.
    use_consolidated : bool or str, optional
        Whether to use consolidated metadata: None if it is there, True requires it, False ignores it; a
        string names its key in a format 2 group.  Changes by this process are seen at once.  In directories
        and in memory, a member that is opened is compared with its own documents; if they differ, a warning
        is issued and these are used.  The setting ``metadata.check_consolidated`` ("off", "warn", "raise")
        changes that.
    overwrite : bool or "all"
        With mode ``w``, ``"all"`` also removes entries that belong to no Zarr node.
    cache_attrs, synchronizer, chunk_store, meta_array
        Accepted for compatibility, without effect.

    Raises
    ------
    GroupNotFoundError
        If there is none and the mode does not create.
    NotAGroupError
        If there is an array.

    Examples
    --------
    >>> import zarrcore
    >>> root = zarrcore.open_group({}, attributes={"title": "sea"})
    >>> root["lat"] = np.arange(3)
    >>> root.attrs["title"], sorted(root)
    ('sea', ['lat'])
    """
    drop_unused(
        {
            "cache_attrs": cache_attrs,
            "synchronizer": synchronizer,
            "chunk_store": chunk_store,
            "meta_array": meta_array,
        }
    )
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    options: Any = {"attributes": attributes, "use_consolidated": use_consolidated, "overwrite": overwrite}
    return _open_group_at(place, mode, zarr_format, **options)


def _open_group_at(
    place: StorePath,
    mode: str,
    zarr_format: int | None,
    opened: tuple[StorePath, GroupMetadata, Any] | None = None,
    *,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | str | None = None,
    overwrite: Overwrite = False,
) -> Group:
    """Open or create the group; `opened`: place, metadata, :func:`changes_known` of one that is there."""
    if mode in _READ_MODES:
        from zarrcore.groups.group import Group
        from zarrcore.groups.opened import group_of, open_group_at

        if opened is not None:
            return Group._of(group_of(*opened, use_consolidated=use_consolidated))
        try:
            return Group._of(open_group_at(place, zarr_format, use_consolidated=use_consolidated))
        except GroupNotFoundError:
            if mode not in _CREATE_MODES:
                raise
    return create_group_in(place, zarr_format, attributes, overwrite=_insists(mode, overwrite))


@takes(OpenGroupOptions)
def open_consolidated(
    store: StoreLike = None, *, use_consolidated: bool | str = True, **kwargs: Unpack[OpenGroupOptions]
) -> Group:
    """Open a group that has consolidated metadata; like :func:`open_group` with ``use_consolidated=True``.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.open_group(store)["lat"] = np.arange(3)
    >>> group = zarrcore.consolidate_metadata(store)
    >>> sorted(zarrcore.open_consolidated(store))
    ['lat']
    """
    if use_consolidated is not True and not isinstance(use_consolidated, str):
        raise TypeError(f"open_consolidated: use_consolidated must be True, got {use_consolidated!r}")
    return open_group(store, use_consolidated=use_consolidated, **kwargs)


@takes(OpenLikeOptions)
def open_like(
    a: ArrayLike, path: str, *, zarr_format: int | None = None, **kwargs: Unpack[OpenLikeOptions]
) -> Array:
    """Open the array at `path`, or create one like `a`; see :func:`open_array` for the other arguments.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.open_like(np.ones((2, 3)), "a", store=store).shape
    (2, 3)
    """
    from zarrcore.arrays.creation import default_format
    from zarrcore.arrays.derived import like_arguments

    asked: dict[str, Any] = {**kwargs}
    mode = asked.pop("mode", None) or "a"
    place = make_store_path(
        asked.pop("store", None), path=path, mode=mode, storage_options=asked.pop("storage_options", None)
    )
    cache_bytes, config = asked.pop("cache_bytes", None), asked.pop("config", None)
    described = like_arguments(a, default_format(zarr_format), asked)
    described.pop("zarr_format", None)
    array = _open_array_at(place, mode, zarr_format, config, described, asked)
    return array if cache_bytes is None else array.with_cache(cache_bytes)


def create_group(
    store: StoreLike,
    *,
    path: str | None = None,
    zarr_format: int | None = None,
    overwrite: Overwrite = False,
    attributes: Mapping[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Create a group, and the groups above it that are missing.

    Parameters
    ----------
    store, path, storage_options
        As for :func:`open_array`.
    zarr_format : {2, 3}, optional
        Default: as configured.
    overwrite : bool or "all"
        Remove what is at the path first; ``"all"``: even if it belongs to no Zarr node.
    attributes : mapping, optional
        User attributes.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.create_group(store, path="model/run", attributes={"seed": 1}).path
    'model/run'
    """
    place = make_store_path(store, path=path, mode="a", storage_options=storage_options)
    return create_group_in(place, zarr_format, attributes, overwrite=overwrite)


def create_group_in(
    place: StorePath, zarr_format: int | None, attributes: Mapping[str, Any] | None, *, overwrite: Overwrite
) -> Group:
    """Create a group at a place."""
    from zarrcore.arrays.creation import default_format
    from zarrcore.groups.creating import create_group_at
    from zarrcore.groups.group import Group

    return Group._of(create_group_at(place, default_format(zarr_format), attributes, overwrite=overwrite))


def group(
    store: StoreLike = None,
    *,
    overwrite: Overwrite = False,
    chunk_store: object = None,
    cache_attrs: bool | None = None,
    synchronizer: object = None,
    path: str | None = None,
    zarr_format: int | None = None,
    meta_array: object = None,
    attributes: Mapping[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Open a group, created if it is missing or if `overwrite` is true; see :func:`open_group`.

    Examples
    --------
    >>> import zarrcore
    >>> sorted(zarrcore.group({}))
    []
    """
    return open_group(
        store,
        mode="w" if overwrite else "a",
        overwrite=overwrite,
        chunk_store=chunk_store,
        cache_attrs=cache_attrs,
        synchronizer=synchronizer,
        path=path,
        zarr_format=zarr_format,
        meta_array=meta_array,
        attributes=attributes,
        storage_options=storage_options,
    )


def create_hierarchy(
    *,
    store: StoreLike,
    nodes: Mapping[str, Metadata],
    overwrite: Overwrite = False,
    storage_options: dict[str, Any] | None = None,
) -> Iterator[tuple[str, Array | Group]]:
    """Create many nodes from their metadata.

    Parameters
    ----------
    store : store-like
        The store.
    nodes : mapping of str to metadata
        Metadata by path; the root is ``""``.  Missing groups between them are created as well.
    overwrite : bool or "all"
        Replace nodes that are there.
    storage_options : dict, optional
        Options of a remote store.

    Yields
    ------
    tuple of str and Array or Group
        Each path with its node, parents first; also of the groups that were missing above them.

    Examples
    --------
    >>> import zarrcore
    >>> from zarrcore.metadata import GroupMetadata
    >>> from zarrcore.storage import MemoryStore
    >>> nodes = {"": GroupMetadata(), "model": GroupMetadata(attributes={"seed": 1})}
    >>> [path for path, _ in zarrcore.create_hierarchy(store=MemoryStore(), nodes=nodes)]
    ['', 'model']
    """
    from zarrcore.groups.creating import hierarchy_at
    from zarrcore.groups.group import node_of

    place = make_store_path(store, mode="a", storage_options=storage_options)
    created = hierarchy_at(place, nodes, overwrite=overwrite)
    return ((path, node_of(opened)) for path, opened in created)


def tree(
    grp: Group | StoreLike,
    expand: bool | None = None,
    level: int | None = None,
    *,
    storage_options: dict[str, Any] | None = None,
) -> Tree:
    """Return the hierarchy below a group as an object that prints as a tree; see :meth:`Group.tree`.

    Parameters
    ----------
    grp : Group or store-like
        A group, or what :func:`open_group` opens.
    expand
        Accepted for compatibility.
    level : int, optional
        Number of levels to show.
    storage_options : dict, optional
        Options of a remote store.

    Examples
    --------
    >>> import zarrcore
    >>> root = zarrcore.open_group({})
    >>> root["lat"] = np.arange(3)
    >>> zarrcore.tree(root)
    /
    └── lat (3,) int64
    """
    group: Any = grp
    if hasattr(grp, "tree"):
        refuse_options("tree", storage_options)
    else:
        group = open_group(grp, mode="r", storage_options=storage_options)  # pyright: ignore[reportArgumentType]
    shown: Tree = group.tree(expand=expand, level=level)
    return shown


def refuse_options(function: str, storage_options: object) -> None:
    """Refuse options of a store that is open already."""
    if storage_options:
        raise TypeError(f"{function}: storage_options are for a URL; a group has its store already")
