"""The functions at the top of the package, with the names, parameters and defaults of zarr-python 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore import hierarchy
from zarrcore.array import Array
from zarrcore.array_creation import (
    create_array_at,
    default_format,
    from_array_at,
    like_arguments,
    make_metadata,
    store_array,
)
from zarrcore.errors import (
    ArrayNotFoundError,
    GroupNotFoundError,
    NodeNotFoundError,
    NodeTypeValidationError,
    ZarrRuntimeWarning,
)
from zarrcore.group import Group
from zarrcore.metadata import GroupMetadata
from zarrcore.storage import Store, StorePath, make_store_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TextIO

    from zarrcore.hierarchy import Metadata

__all__ = [
    "array",
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "create",
    "create_array",
    "create_group",
    "create_hierarchy",
    "empty",
    "empty_like",
    "from_array",
    "full",
    "full_like",
    "group",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_consolidated",
    "open_group",
    "open_like",
    "print_debug_info",
    "save",
    "save_array",
    "save_group",
    "tree",
    "zeros",
    "zeros_like",
]

_READ_MODES = ("r", "r+", "a")
_CREATE_MODES = ("a", "w", "w-")


def _warn_unused(**arguments: Any) -> None:
    import warnings

    for name, value in arguments.items():
        if value is not None:
            warnings.warn(f"the argument {name} has no effect", ZarrRuntimeWarning, stacklevel=3)


# ---------------------------------------------------------------------------------------------- opening


def open(
    store: Any = None,
    *,
    mode: str | None = None,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    config: Any = None,
    **kwargs: Any,
) -> Array | Group:
    """Open an array or a group, whichever is there.

    Parameters
    ----------
    store : store-like, optional
        A store, a path, a URL or a dictionary.
    mode : {"r", "r+", "a", "w", "w-"}, optional
        ``r`` reads; ``r+`` reads and writes; ``a`` also creates what is missing; ``w`` replaces what is there; ``w-``
        creates, and fails if something is there.  Default: ``r`` for a read-only store, else ``a``.
    zarr_format : {2, 3}, optional
        Look for this format only, and create nodes in it.
    path : str, optional
        Path of the node in the store.
    storage_options : dict, optional
        Options of a remote store.
    config : ArrayConfig or mapping, optional
        Run-time settings of an array.
    **kwargs
        For what is created: as for :func:`open_array` if there is a `shape`, else :func:`open_group`.
    """
    if mode is None:
        mode = "r" if isinstance(store, (Store, StorePath)) and store.read_only else "a"
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    if "shape" in kwargs:
        return _open_array_at(place, mode, zarr_format, config, kwargs)
    if mode in _READ_MODES:
        metadata = hierarchy.read_node(place, zarr_format)
        if metadata is not None and hierarchy.is_array_metadata(metadata):
            return hierarchy.node_of(place, metadata, config=config)
        if metadata is None and mode not in _CREATE_MODES:
            raise NodeNotFoundError(f"no array or group found in {place.store} at path {place.path!r}")
    if config is not None:
        raise TypeError("config is for arrays; groups have no run-time settings")
    return _open_group_at(place, mode, zarr_format, **kwargs)


def open_array(
    store: Any = None,
    *,
    zarr_format: int | None = None,
    path: str = "",
    storage_options: dict[str, Any] | None = None,
    config: Any = None,
    **kwargs: Any,
) -> Array:
    """Open an array, or create it.

    Parameters
    ----------
    store, zarr_format, path, storage_options, config
        As for :func:`open`.
    **kwargs
        ``mode`` as for :func:`open` (default: open what is there), and the arguments of :func:`create`.

    Raises
    ------
    ArrayNotFoundError
        If there is none and the mode does not create.
    NodeTypeValidationError
        If there is a group.
    """
    mode = kwargs.pop("mode", None)
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    return _open_array_at(place, mode, zarr_format, config, kwargs)


def _open_array_at(
    place: StorePath, mode: str | None, zarr_format: int | None, config: Any, kwargs: dict[str, Any]
) -> Array:
    if mode != "w":
        try:
            return hierarchy.open_array_node(place, zarr_format, config=config)
        except ArrayNotFoundError:
            if mode not in _CREATE_MODES or place.read_only:
                raise
    return create(
        store=place, zarr_format=default_format(zarr_format), overwrite=mode == "w", config=config, **kwargs
    )


def open_group(
    store: Any = None,
    *,
    mode: str = "a",
    cache_attrs: bool | None = None,
    synchronizer: Any = None,
    path: str | None = None,
    chunk_store: Any = None,
    storage_options: dict[str, Any] | None = None,
    zarr_format: int | None = None,
    meta_array: Any = None,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | str | None = None,
) -> Group:
    """Open a group, or create it.

    Parameters
    ----------
    store, mode, path, storage_options, zarr_format
        As for :func:`open`.
    attributes : mapping, optional
        User attributes of a group that is created.
    use_consolidated : bool or str, optional
        Whether to use consolidated metadata: None if it is there, True requires it, False ignores it; a string names
        its key in a format 2 group.
    cache_attrs, synchronizer, chunk_store, meta_array
        Accepted for compatibility, without effect.

    Raises
    ------
    GroupNotFoundError
        If there is none and the mode does not create.
    NodeTypeValidationError
        If there is an array.
    """
    _warn_unused(
        cache_attrs=cache_attrs, synchronizer=synchronizer, chunk_store=chunk_store, meta_array=meta_array
    )
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    return _open_group_at(place, mode, zarr_format, attributes=attributes, use_consolidated=use_consolidated)


def _open_group_at(
    place: StorePath,
    mode: str,
    zarr_format: int | None,
    *,
    attributes: Mapping[str, Any] | None = None,
    use_consolidated: bool | str | None = None,
) -> Group:
    if mode in _READ_MODES:
        try:
            return hierarchy.open_group_node(place, zarr_format, use_consolidated=use_consolidated)
        except GroupNotFoundError:
            if mode not in _CREATE_MODES:
                raise
    return _create_group_at(place, zarr_format, attributes, overwrite=mode == "w")


def open_consolidated(*args: Any, use_consolidated: Any = True, **kwargs: Any) -> Group:
    """Open a group that has consolidated metadata; like :func:`open_group` with ``use_consolidated=True``."""
    if use_consolidated is not True and not isinstance(use_consolidated, str):
        raise TypeError(f"open_consolidated: use_consolidated must be True, got {use_consolidated!r}")
    return open_group(*args, use_consolidated=use_consolidated, **kwargs)


def open_like(a: Any, path: str, *, zarr_format: int | None = None, **kwargs: Any) -> Array:
    """Open an array, or create one like `a`; the format of `a` is not taken over."""
    arguments = {**like_arguments(a, default_format(zarr_format)), **kwargs}
    arguments.pop("zarr_format", None)
    if arguments.get("mode") is None:
        arguments["mode"] = "a"
    return open_array(path=path, zarr_format=zarr_format, **arguments)


# ---------------------------------------------------------------------------------------------- groups


def create_group(
    store: Any,
    *,
    path: str | None = None,
    zarr_format: int | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Create a group, and the groups above it that are missing.

    Parameters
    ----------
    store, path, storage_options
        As for :func:`open`.
    zarr_format : {2, 3}, optional
        Default: as configured.
    overwrite : bool
        Remove what is at the path first.
    attributes : mapping, optional
        User attributes.
    """
    place = make_store_path(store, path=path, mode="a", storage_options=storage_options)
    return _create_group_at(place, zarr_format, attributes, overwrite=overwrite)


def _create_group_at(
    place: StorePath, zarr_format: int | None, attributes: Mapping[str, Any] | None, *, overwrite: bool
) -> Group:
    metadata = GroupMetadata(attributes=dict(attributes or {}), zarr_format=default_format(zarr_format))
    hierarchy.create_node(place, metadata, overwrite=overwrite)
    return Group(metadata, place)


def group(
    store: Any = None,
    *,
    overwrite: bool = False,
    chunk_store: Any = None,
    cache_attrs: bool | None = None,
    synchronizer: Any = None,
    path: str | None = None,
    zarr_format: int | None = None,
    meta_array: Any = None,
    attributes: Mapping[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Open a group, created if it is missing or if `overwrite` is true; see :func:`open_group`."""
    return open_group(
        store,
        mode="w" if overwrite else "a",
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
    *, store: Store, nodes: Mapping[str, Metadata], overwrite: bool = False
) -> Iterator[tuple[str, Array | Group]]:
    """Create many nodes from their metadata.

    Parameters
    ----------
    store : Store
        The store.
    nodes : mapping of str to metadata
        Metadata by path; the root is ``""``.  Missing groups between them are created as well.
    overwrite : bool
        Replace nodes that are there.

    Yields
    ------
    tuple of str and Array or Group
        Each path with its node, parents first.
    """
    return hierarchy.create_nodes(make_store_path(store), nodes, overwrite=overwrite)


def consolidate_metadata(store: Any, path: str | None = None, zarr_format: int | None = None) -> Group:
    """Collect the metadata of all nodes below a group in the group, so that it opens with one read.

    Returns
    -------
    Group
        The group, with its consolidated metadata.
    """
    from zarrcore.consolidated import consolidate

    return consolidate(make_store_path(store, path=path), zarr_format)


def tree(grp: Group, expand: bool | None = None, level: int | None = None) -> Any:
    """The hierarchy below a group as an object that prints as a tree; see :meth:`Group.tree`."""
    return grp.tree(expand=expand, level=level)


# ---------------------------------------------------------------------------------------------- arrays


def create_array(
    store: Any,
    *,
    name: str | None = None,
    shape: Any = None,
    dtype: Any = None,
    data: Any = None,
    chunks: Any = "auto",
    shards: Any = None,
    filters: Any = "auto",
    compressors: Any = "auto",
    serializer: Any = "auto",
    fill_value: Any = ...,
    order: str | None = None,
    zarr_format: int | None = 3,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Any = None,
    storage_options: dict[str, Any] | None = None,
    overwrite: bool = False,
    config: Any = None,
    write_data: bool = True,
) -> Array:
    """Create an array.

    Parameters
    ----------
    store : store-like
        A store, a path, a URL or a dictionary.
    name : str, optional
        Path of the array in the store.
    shape : int or tuple of int
        Length of each dimension.
    dtype : data-type-like
        A numpy data type or a Zarr one.
    data : array_like, optional
        Values; in place of `shape` and `dtype`.
    chunks : int, tuple or "auto"
        Shape of a chunk (with `shards`: of an inner chunk).  A tuple of lengths for a dimension gives uneven chunks.
    shards : tuple, dict or "auto", optional
        Shape of a shard, a multiple of `chunks`; ``{"shape": ..., "index_location": "start"}`` in the long form.
    filters, serializer, compressors
        Codecs: array to array, array to bytes, bytes to bytes; ``"auto"`` for the defaults, None for none.
    fill_value : scalar, optional
        Value of what is never written.  Default: the data type's zero.
    order : {"C", "F"}, optional
        Memory layout of what a read returns; in format 2 also of the stored chunks.
    zarr_format : {2, 3}
        Zarr format.
    attributes : mapping, optional
        User attributes.
    chunk_key_encoding : optional
        How chunks are named.
    dimension_names : sequence of str or None, optional
        Names of the dimensions.
    storage_options : dict, optional
        Options of a remote store.
    overwrite : bool
        Remove what is at the path first.
    config : ArrayConfig or mapping, optional
        Run-time settings.
    write_data : bool
        Write `data`; False only takes its shape and data type.

    Raises
    ------
    ContainsArrayError, ContainsGroupError
        If there is something at the path already.
    """
    place = make_store_path(store, path=name, mode="a", storage_options=storage_options)
    return create_array_at(
        place,
        shape=shape,
        dtype=dtype,
        data=data,
        chunks=chunks,
        shards=shards,
        filters=filters,
        compressors=compressors,
        serializer=serializer,
        fill_value=fill_value,
        order=order,
        zarr_format=zarr_format,
        attributes=attributes,
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        overwrite=overwrite,
        config=config,
        write_data=write_data,
    )


def from_array(
    store: Any,
    *,
    data: Any,
    write_data: bool = True,
    name: str | None = None,
    chunks: Any = "keep",
    shards: Any = "keep",
    filters: Any = "keep",
    compressors: Any = "keep",
    serializer: Any = "keep",
    fill_value: Any = ...,
    order: str | None = None,
    zarr_format: int | None = None,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: Any = None,
    dimension_names: Any = None,
    storage_options: dict[str, Any] | None = None,
    overwrite: bool = False,
    config: Any = None,
) -> Array:
    """Create an array from another one, or from anything like an array.

    Parameters
    ----------
    data : Array or array_like
        Values; from an :class:`Array` also what is ``"keep"``.
    chunks, shards, filters, compressors, serializer
        As for :func:`create_array`, or ``"keep"``.
    """
    place = make_store_path(store, path=name, mode="a", storage_options=storage_options)
    return from_array_at(
        place,
        data=data,
        write_data=write_data,
        chunks=chunks,
        shards=shards,
        filters=filters,
        compressors=compressors,
        serializer=serializer,
        fill_value=fill_value,
        order=order,
        zarr_format=zarr_format,
        attributes=attributes,
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        overwrite=overwrite,
        config=config,
    )


def create(
    shape: Any,
    *,
    chunks: Any = None,
    dtype: Any = None,
    compressor: Any = "auto",
    fill_value: Any = ...,
    order: str | None = None,
    store: Any = None,
    synchronizer: Any = None,
    overwrite: bool = False,
    path: str | None = None,
    chunk_store: Any = None,
    filters: Any = None,
    cache_metadata: bool | None = None,
    cache_attrs: bool | None = None,
    read_only: bool | None = None,
    object_codec: Any = None,
    dimension_separator: str | None = None,
    write_empty_chunks: bool | None = None,
    zarr_format: int | None = None,
    meta_array: Any = None,
    attributes: Mapping[str, Any] | None = None,
    chunk_shape: Any = None,
    chunk_key_encoding: Any = None,
    codecs: Any = None,
    dimension_names: Any = None,
    storage_options: dict[str, Any] | None = None,
    config: Any = None,
    mode: str | None = None,
    data: Any = None,
) -> Array:
    """Create an array; :func:`create_array` is the newer way.

    Parameters
    ----------
    shape, dtype, fill_value, order, overwrite, attributes, chunk_key_encoding, dimension_names, storage_options, config
        As for :func:`create_array`; `dtype` is ``float64`` by default.
    chunks, chunk_shape : int, tuple or False, optional
        Shape of a chunk; False for a single chunk.
    compressor, filters, dimension_separator, object_codec
        Of a format 2 array.
    codecs : sequence, optional
        Of a format 3 array: all codecs in order.
    store, path, mode
        As for :func:`open`.
    write_empty_chunks : bool, optional
        The same setting in `config`.
    data : array_like, optional
        Values to write.
    synchronizer, chunk_store, cache_metadata, cache_attrs, read_only, meta_array
        Accepted for compatibility, without effect.
    """
    _warn_unused(
        synchronizer=synchronizer,
        chunk_store=chunk_store,
        cache_metadata=cache_metadata,
        cache_attrs=cache_attrs,
        read_only=read_only,
        meta_array=meta_array,
    )
    from zarrcore.array_creation import legacy_arguments

    zarr_format = default_format(zarr_format)
    metadata, settings = legacy_arguments(
        zarr_format,
        shape=shape,
        chunks=chunks,
        chunk_shape=chunk_shape,
        dtype="float64" if dtype is None else dtype,
        compressor=compressor,
        filters=filters,
        object_codec=object_codec,
        dimension_separator=dimension_separator,
        chunk_key_encoding=chunk_key_encoding,
        codecs=codecs,
        fill_value=fill_value,
        order=order,
        attributes=attributes,
        dimension_names=dimension_names,
        config=config,
        write_empty_chunks=write_empty_chunks,
    )
    overwrite = overwrite or mode == "w"
    place = make_store_path(store, path=path, mode=mode or "a", storage_options=storage_options)
    result = store_array(place, metadata, overwrite=overwrite, config=settings)
    if data is not None:
        result[...] = data
    return result


def array(data: Any, **kwargs: Any) -> Array:
    """Create an array with the values of `data`; further arguments as for :func:`create`."""
    if isinstance(data, Array):
        store, path = kwargs.pop("store", None), kwargs.pop("path", None)
        return from_array(store, data=data, name=path, **kwargs)
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    if kwargs.get("dtype") is None:
        kwargs["dtype"] = data.dtype
    if kwargs.get("chunks") is None and "chunk_shape" not in kwargs:
        kwargs["chunks"] = like_arguments(data, None).get("chunks")
    if kwargs.pop("read_only", False):
        raise ValueError("read_only=True: a new array is written, so its store cannot be read-only")
    result = create(tuple(data.shape), **kwargs)
    result[...] = data
    return result


def empty(shape: Any, **kwargs: Any) -> Array:
    """Create an array whose values do not matter yet (they are the fill value); see :func:`create`."""
    return create(shape, **kwargs)


def zeros(shape: Any, **kwargs: Any) -> Array:
    """Create an array of zeros; see :func:`create`."""
    return create(shape, **{"fill_value": 0, **kwargs})


def ones(shape: Any, **kwargs: Any) -> Array:
    """Create an array of ones; see :func:`create`."""
    return create(shape, **{"fill_value": 1, **kwargs})


def full(shape: Any, fill_value: Any, **kwargs: Any) -> Array:
    """Create an array of `fill_value`; see :func:`create`."""
    return create(shape, fill_value=fill_value, **kwargs)


def empty_like(a: Any, *, zarr_format: int | None = None, **kwargs: Any) -> Array:
    """Create an array like `a`, whose values do not matter yet; see :func:`create`."""
    return create(**{**like_arguments(a, zarr_format), **kwargs})


def zeros_like(a: Any, *, zarr_format: int | None = None, **kwargs: Any) -> Array:
    """Create an array of zeros like `a`; see :func:`create`."""
    return create(**{**like_arguments(a, zarr_format), "fill_value": 0, **kwargs})


def ones_like(a: Any, *, zarr_format: int | None = None, **kwargs: Any) -> Array:
    """Create an array of ones like `a`; see :func:`create`."""
    return create(**{**like_arguments(a, zarr_format), "fill_value": 1, **kwargs})


def full_like(a: Any, *, zarr_format: int | None = None, **kwargs: Any) -> Array:
    """Create an array like `a`, filled with `fill_value` (default: that of `a`); see :func:`create`."""
    arguments = {**like_arguments(a, zarr_format), **kwargs}
    if "fill_value" not in arguments:
        raise TypeError("full_like: fill_value is missing")
    return create(**arguments)


# ---------------------------------------------------------------------------------------------- whole values


def save(
    store: Any,
    *args: Any,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Store one array, or several in a group (positional ones as ``arr_0``, ``arr_1``, ...)."""
    if not args and not kwargs:
        raise ValueError("save: at least one array must be given")
    options = {"zarr_format": zarr_format, "path": path, "storage_options": storage_options}
    if len(args) == 1 and not kwargs:
        save_array(store, args[0], **options)
    else:
        save_group(store, *args, **options, **kwargs)


def save_array(
    store: Any,
    arr: Any,
    *,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Store one array; further arguments as for :func:`create`."""
    _require_array(arr, "arr")
    mode = kwargs.pop("mode", "a")
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    kwargs["overwrite"] = bool(kwargs.get("overwrite")) or mode == "w"
    array(arr, store=place, zarr_format=default_format(zarr_format), **kwargs)


def _require_array(value: Any, name: str) -> None:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise TypeError(f"{name}: expected an array, got {type(value).__name__}")


def save_group(
    store: Any,
    *args: Any,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Store several arrays in a group, which replaces what is there."""
    from zarrcore.dtypes import parse_dtype

    named = {**{f"arr_{position}": arr for position, arr in enumerate(args)}, **kwargs}
    if not named:
        raise ValueError("save_group: at least one array must be given")
    zarr_format = default_format(zarr_format)
    for name, arr in named.items():
        _require_array(arr, name)
        parse_dtype(arr.dtype, zarr_format=zarr_format)  # before anything is removed
    place = make_store_path(store, path=path, mode="w", storage_options=storage_options)
    _create_group_at(place, zarr_format, None, overwrite=True)
    for name, arr in named.items():
        save_array(place / name, arr, zarr_format=zarr_format)


def load(store: Any, path: str | None = None, zarr_format: int | None = None) -> Any:
    """Read a whole array, or all arrays of a group as a dictionary by name.

    Returns
    -------
    ndarray, scalar or dict
    """
    node = open(store, path=path, zarr_format=zarr_format, mode="r")
    if isinstance(node, Array):
        return node[...]
    return {name: member[...] for name, member in node.arrays()}


# ---------------------------------------------------------------------------------------------- copying


def copy(
    source: Any,
    dest: Group,
    name: str | None = None,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Callable[[str], None] | TextIO | None = None,
    if_exists: str = "raise",
    dry_run: bool = False,
    **create_kws: Any,
) -> tuple[int, int, int]:
    """Copy an array or a group into a group.

    Parameters
    ----------
    source : Array or Group
        What to copy; objects of h5py with the same members will do.
    dest : Group
        The group to copy into.
    name : str, optional
        Name in `dest`; default: that of `source`.
    shallow : bool
        Copy a group without its members.
    without_attrs : bool
        Leave user attributes out.
    log : callable or file, optional
        Told about each node.
    if_exists : {"raise", "replace", "skip"}
        What to do with arrays that exist.
    dry_run : bool
        Only count.
    **create_kws
        As for :func:`from_array`.

    Returns
    -------
    tuple of int
        Number of nodes copied, of nodes skipped, and of bytes copied.
    """
    from zarrcore.copying import copy_node

    name = name or str(source.name).rpartition("/")[2]
    if not name:
        raise ValueError("copy: the root has no name, so name must be given")
    return copy_node(
        source,
        dest,
        name,
        shallow=shallow,
        without_attrs=without_attrs,
        log=_logger(log),
        if_exists=if_exists,
        dry_run=dry_run,
        **create_kws,
    )


def copy_all(
    source: Group,
    dest: Group,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Callable[[str], None] | TextIO | None = None,
    if_exists: str = "raise",
    dry_run: bool = False,
    **create_kws: Any,
) -> tuple[int, int, int]:
    """Copy all members of a group, and its attributes, into another group; see :func:`copy`."""
    counts = [0, 0, 0]
    for name, node in source.members():
        for position, count in enumerate(
            copy(
                node,
                dest,
                name,
                shallow=shallow,
                without_attrs=without_attrs,
                log=log,
                if_exists=if_exists,
                dry_run=dry_run,
                **create_kws,
            )
        ):
            counts[position] += count
    if not without_attrs and not dry_run:
        dest.attrs.update(dict(source.attrs))
    return counts[0], counts[1], counts[2]


def copy_store(
    source: Any,
    dest: Any,
    source_path: str = "",
    dest_path: str = "",
    excludes: Any = None,
    includes: Any = None,
    flags: int = 0,
    if_exists: str = "raise",
    dry_run: bool = False,
    log: Callable[[str], None] | TextIO | None = None,
) -> tuple[int, int, int]:
    """Copy keys and values from one store to another as they are.

    Parameters
    ----------
    source, dest : store-like
        Stores.
    source_path, dest_path : str
        Prefixes in them.
    excludes, includes : str or sequence of str, optional
        Regular expressions that keys (below `source_path`) must not, or must, contain; `flags` are those of :mod:`re`.
    if_exists : {"raise", "replace", "skip"}
        What to do with keys that exist.
    dry_run : bool
        Only count.
    log : callable or file, optional
        Told about each key.

    Returns
    -------
    tuple of int
        Number of keys copied, of keys skipped, and of bytes copied.
    """
    import re

    from zarrcore.copying import copy_keys

    def patterns(value: Any) -> tuple[Any, ...]:
        items = (value,) if isinstance(value, str) else tuple(value or ())
        return tuple(re.compile(item, flags) for item in items)

    start, end = make_store_path(source, path=source_path), make_store_path(dest, path=dest_path)
    return copy_keys(
        start.store,
        end.store,
        source_path=start.path,
        dest_path=end.path,
        excludes=patterns(excludes),
        includes=patterns(includes),
        if_exists=if_exists,
        dry_run=dry_run,
        log=_logger(log),
    )


def _logger(log: Any) -> Callable[[str], None] | None:
    """A function that takes lines, from a function or a file."""
    if log is None or callable(log):
        return log
    return lambda line: print(line, file=log)


def print_debug_info() -> None:
    """Print versions of the interpreter, of this package and of what it works with."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from zarrcore._version import __version__

    print(f"platform: {platform.platform()}")
    print(f"python: {platform.python_version()}")
    print(f"zarrcore: {__version__}")
    for name in ("numpy", "numcodecs", "fsspec", "obstore", "xarray", "dask"):
        try:
            print(f"{name}: {version(name)}")
        except PackageNotFoundError:
            print(f"{name}: not installed")
