"""Creating arrays, and storing whole values."""

from __future__ import annotations

from os import PathLike
from typing import Any, Unpack

from zarrcore._typing import ArrayLike, FillValueLike, Overwrite, ShapedArray, ShapeLike
from zarrcore.api.nodes import create_group_in, drop_unused, open
from zarrcore.arrays.array import Array
from zarrcore.arrays.creation import create_array_at, default_format, refuse_own_source
from zarrcore.arrays.derived import from_array_at, like_arguments
from zarrcore.arrays.legacy import array_at, create_at
from zarrcore.arrays.options import (
    ArrayOptions,
    CreateOptions,
    EmptyOptions,
    FromArrayOptions,
    FullOptions,
    LikeOptions,
    OfValuesOptions,
    SaveOptions,
    takes,
)
from zarrcore.nodes.reading import several_at_once
from zarrcore.storage import make_store_path
from zarrcore.storage.path import StoreLike


@takes(ArrayOptions)
def create_array(
    store: StoreLike,
    *,
    name: str | None = None,
    zarr_format: int | None = 3,
    storage_options: dict[str, Any] | None = None,
    **options: Unpack[ArrayOptions],
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
        Shape of a chunk (with `shards`: of an inner chunk).  A tuple of lengths for a dimension makes uneven
        chunks.
    shards : tuple, dict or "auto", optional
        Shape of a shard, a multiple of `chunks`; in the long form a dictionary with ``"shape"`` and
        ``"index_location"``.
    filters, serializer, compressors
        Codecs: array to array, array to bytes, bytes to bytes; ``"auto"`` for the defaults, None for none.
    fill_value : scalar, optional
        Value of elements that are never written.  Default: the data type's zero.
    order : {"C", "F"}, optional
        Memory layout of the arrays that a read returns; in format 2 also of the stored chunks.
    zarr_format : {2, 3}
        Zarr format.
    attributes : mapping, optional
        User attributes.
    chunk_grid : ChunkGrid or mapping, optional
        A chunk grid of your own, in place of `chunks` and `shards`.
    chunk_key_encoding : optional
        How chunks are named.
    storage_transformers : StorageTransformer or sequence, optional
        Storage transformers, the first one next to the array.
    dimension_names : sequence of str or None, optional
        Names of the dimensions.
    storage_options : dict, optional
        Options of a remote store.
    overwrite : bool or "all"
        Remove what is at the path first; ``"all"``: even if it belongs to no Zarr node.  Arguments, codecs,
        and values that have to be converted are checked before.  If the store fails after that, what was
        there is lost: no node may be left, or chunks without one.
    config : ArrayConfig or mapping, optional
        Run-time settings.
    write_data : bool
        Write `data`; False only takes its shape and data type.

    Raises
    ------
    ContainsArrayError, ContainsGroupError
        If there is something at the path already.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> array = zarrcore.create_array(store, name="a", shape=(4, 6), chunks=(2, 3), dtype="i4")
    >>> array[0] = 1
    >>> array[:2, 0], sorted(store)
    (array([1, 0], dtype=int32), ['a/c/0/0', 'a/c/0/1', 'a/zarr.json', 'zarr.json'])
    """
    place = make_store_path(store, path=name, mode="a", storage_options=storage_options)
    return Array._of(create_array_at(place, options, zarr_format=zarr_format))


@takes(FromArrayOptions)
def from_array(
    store: StoreLike,
    *,
    data: ArrayLike,
    name: str | None = None,
    zarr_format: int | None = None,
    storage_options: dict[str, Any] | None = None,
    **options: Unpack[FromArrayOptions],
) -> Array:
    """Create an array from another one, or from anything like an array.

    If both arrays store their chunks in the same form (the same grid, codecs and fill value; keys, stores and
    the Zarr format may differ), the encoded chunks are copied as they are.  Otherwise values are decoded and
    encoded in regions of whole chunks, which take 16 MiB of memory or, if that is more, one stored chunk
    (shard) of the larger kind for each thread.  Absent chunks stay absent, unless the fill values differ.
    The array appears only once all its chunks have been copied: a copy that fails leaves no array.

    Parameters
    ----------
    store, name, fill_value, order, zarr_format, attributes, dimension_names
        As for :func:`create_array`; by default those of `data`, if it is an :class:`Array`.  Of arrays of
        zarr-python, h5py and xarray, fill value, attributes and dimension names are kept.
    chunk_key_encoding, storage_transformers
        As for :func:`create_array`; by default those of `data`, if it is an :class:`Array`.
    storage_options, overwrite, config, chunk_grid
        As for :func:`create_array`.
    data : Array or array_like
        Values; an :class:`Array` also has the layout that ``"keep"`` keeps.  Of other arrays it keeps the
        shapes of chunks and shards.
    write_data : bool
        Copy the values.
    chunks, shards, filters, compressors, serializer
        As for :func:`create_array`, or ``"keep"``.
    threads : int
        Number of threads; 0 for the configured number.
    progress : callable or True, optional
        Called as ``progress(done, total)`` after each step, with numbers of bytes of values.  An exception
        that it raises ends the copy.  True shows a bar, which takes rich or tqdm.

    Examples
    --------
    >>> import numpy as np
    >>> import zarrcore
    >>> source = zarrcore.create_array({}, data=np.arange(12).reshape(3, 4), chunks=(1, 4))
    >>> zarrcore.from_array({}, data=source, chunks=(3, 1)).chunks
    (3, 1)
    """
    place = make_store_path(store, path=name, mode="a", storage_options=storage_options)
    return Array._of(from_array_at(place, data=data, zarr_format=zarr_format, **options))


@takes(CreateOptions)
def create(
    shape: ShapeLike,
    *,
    store: StoreLike = None,
    path: str | None = None,
    mode: str | None = None,
    zarr_format: int | None = None,
    storage_options: dict[str, Any] | None = None,
    overwrite: Overwrite = False,
    data: ArrayLike | None = None,
    **options: Unpack[CreateOptions],
) -> Array:
    """Create an array; :func:`create_array` is the newer way.

    Parameters
    ----------
    shape, dtype, fill_value, order, overwrite, attributes
        As for :func:`create_array`; `dtype` is ``float64`` by default.
    chunk_grid, chunk_key_encoding, storage_transformers, dimension_names, storage_options, config
        As for :func:`create_array`.
    chunks, chunk_shape : int, tuple or False, optional
        Shape of a chunk; False for a single chunk.
    compressor, filters, dimension_separator, object_codec
        Of a format 2 array.
    codecs : sequence, optional
        Of a format 3 array: all codecs in order.
    store, path, mode
        As for :func:`open_array`.
    write_empty_chunks : bool, optional
        The same setting in `config`.
    data : array_like, optional
        Values to write.
    synchronizer, chunk_store, cache_metadata, cache_attrs, read_only, meta_array
        Accepted for compatibility, without effect.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.create(shape=(2, 3), chunks=(1, 3), dtype="i2", fill_value=7)[1]
    array([7, 7, 7], dtype=int16)
    """
    arguments: dict[str, Any] = {**options}
    drop_unused(arguments)
    place = make_store_path(store, path=path, mode=mode or "a", storage_options=storage_options)
    overwrite = overwrite or mode == "w"
    created = create_at(place, shape, zarr_format=zarr_format, overwrite=overwrite, data=data, **arguments)
    return Array._of(created)


@takes(OfValuesOptions)
def array(data: ArrayLike, **kwargs: Unpack[OfValuesOptions]) -> Array:
    """Create an array with the values of `data`.

    Parameters
    ----------
    data : array_like or Array
        Values.
    **kwargs
        As for :func:`create`; if `data` is an :class:`Array`, as for :func:`from_array`.  Fill value,
        attributes and dimension names of other arrays are kept as there.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.array([[1, 2], [3, 4]], chunks=(1, 2))[1]
    array([3, 4])
    """
    arguments: dict[str, Any] = {**kwargs}
    place = make_store_path(
        arguments.pop("store", None),
        path=arguments.pop("path", None),
        mode=arguments.pop("mode", None) or "a",
        storage_options=arguments.pop("storage_options", None),
    )
    if arguments.pop("read_only", False):
        raise ValueError("read_only=True: a new array is written, so its store cannot be read-only")
    drop_unused(arguments)
    return Array._of(array_at(place, data, **arguments))


@takes(EmptyOptions)
def empty(shape: ShapeLike, **kwargs: Unpack[EmptyOptions]) -> Array:
    """Create an array without values (they are the fill value); see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.empty(4, dtype="i4").shape
    (4,)
    """
    return create(shape, **kwargs)


@takes(EmptyOptions)
def zeros(shape: ShapeLike, **kwargs: Unpack[EmptyOptions]) -> Array:
    """Create an array of zeros; see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.zeros(3, dtype="i4")[...]
    array([0, 0, 0], dtype=int32)
    """
    kwargs.setdefault("fill_value", 0)
    return create(shape, **kwargs)


@takes(EmptyOptions)
def ones(shape: ShapeLike, **kwargs: Unpack[EmptyOptions]) -> Array:
    """Create an array of ones; see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.ones(3, dtype="i4")[...]
    array([1, 1, 1], dtype=int32)
    """
    kwargs.setdefault("fill_value", 1)
    return create(shape, **kwargs)


@takes(FullOptions)
def full(shape: ShapeLike, fill_value: FillValueLike, **kwargs: Unpack[FullOptions]) -> Array:
    """Create an array of `fill_value`; see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.full(3, fill_value=7, dtype="i4")[...]
    array([7, 7, 7], dtype=int32)
    """
    return create(shape, fill_value=fill_value, **kwargs)


@takes(LikeOptions)
def empty_like(a: ArrayLike, **kwargs: Unpack[LikeOptions]) -> Array:
    """Create an array like `a`, without its values; see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.empty_like(zarrcore.ones((2, 3), dtype="i4")).dtype
    dtype('int32')
    """
    return create(**_like(a, kwargs))


@takes(LikeOptions)
def zeros_like(a: ArrayLike, **kwargs: Unpack[LikeOptions]) -> Array:
    """Create an array of zeros like `a`; see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.zeros_like(zarrcore.ones(3, dtype="i4"))[...]
    array([0, 0, 0], dtype=int32)
    """
    return create(**_like(a, kwargs, fill_value=0))


@takes(LikeOptions)
def ones_like(a: ArrayLike, **kwargs: Unpack[LikeOptions]) -> Array:
    """Create an array of ones like `a`; see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.ones_like(zarrcore.zeros(3, dtype="i4"))[...]
    array([1, 1, 1], dtype=int32)
    """
    return create(**_like(a, kwargs, fill_value=1))


@takes(LikeOptions)
def full_like(a: ArrayLike, **kwargs: Unpack[LikeOptions]) -> Array:
    """Create an array like `a`, filled with `fill_value` (default: that of `a`); see :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> zarrcore.full_like(zarrcore.zeros(3, dtype="i4"), fill_value=7)[...]
    array([7, 7, 7], dtype=int32)
    """
    arguments = _like(a, kwargs)
    if "fill_value" not in arguments:
        raise TypeError("full_like: fill_value is missing")
    return create(**arguments)


def _like(a: ArrayLike, given: LikeOptions, **default: FillValueLike) -> dict[str, Any]:
    """Return the arguments for an array like `a`, except for what is given."""
    return like_arguments(a, given.get("zarr_format"), {**default, **given})


def save(
    store: StoreLike,
    *args: ShapedArray,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: ShapedArray,
) -> None:
    """Store one array, or several in a group (positional ones as ``arr_0``, ``arr_1``, ...).

    Parameters
    ----------
    store : store-like
        The store.  A path that ends with ``.zip`` is a ZIP archive, which is complete afterwards.
    *args, **kwargs : array
        The arrays.  One without a name is stored at the path itself, all others in a group there.  They
        replace what is there, an array or a group with all its members.  ``overwrite=False`` refuses that;
        ``overwrite="all"`` also removes files that belong to no Zarr node.
    zarr_format : {2, 3}, optional
        Default: the configuration ``default_zarr_format``.
    path : str, optional
        Path in the store.  Default: the root.
    storage_options : dict, optional
        Options of a remote store.

    Raises
    ------
    ForeignDataError
        If files that belong to no Zarr node would be removed.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.save(store, np.arange(3), np.ones(2))
    >>> sorted(zarrcore.load(store))
    ['arr_0', 'arr_1']
    """
    overwrite = _overwrite_in(kwargs)
    if not args and not kwargs:
        raise ValueError("save: at least one array must be given")
    place = make_store_path(store, path=path, mode="a", storage_options=storage_options)
    if len(args) == 1 and not kwargs:
        save_array(place, args[0], zarr_format=zarr_format, overwrite=overwrite)
    else:
        named: dict[str, Any] = {**kwargs, "overwrite": kwargs.get("overwrite", overwrite)}
        save_group(place, *args, zarr_format=zarr_format, **named)
    if isinstance(store, (str, PathLike)):
        place.store.close()


def _overwrite_in(arrays: dict[str, Any]) -> Overwrite:
    """Take ``overwrite`` out of the arrays, unless it is one of them."""
    is_option = isinstance(arrays.get("overwrite"), (bool, str))
    return arrays.pop("overwrite") if is_option else True


@takes(SaveOptions)
def save_array(
    store: StoreLike,
    arr: ShapedArray,
    *,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: Unpack[SaveOptions],
) -> None:
    """Store one array; further arguments as for :func:`create`.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.save_array(store, np.arange(3))
    >>> zarrcore.load(store)
    array([0, 1, 2])
    """
    _require_array(arr, "arr")
    mode = kwargs.pop("mode", "a")
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    kwargs["overwrite"] = kwargs.get("overwrite") or mode == "w"
    array_at(place, arr, zarr_format=default_format(zarr_format), **kwargs)


def _require_array(value: Any, name: str) -> None:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        hint = "; numpy.asarray(...) makes one of it" if isinstance(value, list | tuple | int | float) else ""
        raise TypeError(f"{name}: expected an array, got {type(value).__name__}{hint}")


def save_group(
    store: StoreLike,
    *args: ShapedArray,
    zarr_format: int | None = None,
    path: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **kwargs: ShapedArray,
) -> None:
    """Store several arrays in a group, which replaces what is there.

    Parameters
    ----------
    store : store-like
        The store.
    *args : array
        Arrays that are called ``arr_0``, ``arr_1``, ...
    zarr_format : {2, 3}, optional
        Default: the configuration ``default_zarr_format``.
    path : str, optional
        Path of the group.  Default: the root.
    storage_options : dict, optional
        Options of a remote store.
    **kwargs : array
        Arrays by their names.  ``overwrite="all"`` also removes files that belong to no Zarr node.

    Raises
    ------
    ForeignDataError
        If files that belong to no Zarr node would be removed.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.save_group(store, lat=np.arange(3), lon=np.ones(2))
    >>> sorted(zarrcore.load(store))
    ['lat', 'lon']
    """
    from zarrcore.dtypes import parse_dtype

    overwrite = _overwrite_in(kwargs)
    named = {**{f"arr_{position}": arr for position, arr in enumerate(args)}, **kwargs}
    if not named:
        raise ValueError("save_group: at least one array must be given")
    zarr_format = default_format(zarr_format)
    for name, arr in named.items():
        _require_array(arr, name)
        parse_dtype(arr.dtype, zarr_format=zarr_format)  # type: ignore[arg-type]  # before anything is removed
    place = make_store_path(store, path=path, mode="w" if overwrite else "a", storage_options=storage_options)
    for arr in named.values():
        refuse_own_source(place, arr)
    create_group_in(place, zarr_format, None, overwrite=overwrite)

    def save(item: tuple[str, ShapedArray]) -> None:
        save_array(place / item[0], item[1], zarr_format=zarr_format)

    several_at_once(place.store, save, named.items())


def load(
    store: StoreLike,
    path: str | None = None,
    zarr_format: int | None = None,
    *,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """Read a whole array, or all arrays below a group.

    Parameters
    ----------
    store : store-like
        The store.
    path : str, optional
        Path of the array or group.  Default: the root.
    zarr_format : {1, 2, 3}, optional
        Default: the format that is found.
    storage_options : dict, optional
        Options of a remote store.

    Returns
    -------
    ndarray, scalar or dict
        The values; those of a group by the paths of its arrays, such as ``"a"`` and ``"b/c"``.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.save(store, np.arange(3))
    >>> zarrcore.load(store)
    array([0, 1, 2])
    """
    node = open(store, path=path, zarr_format=zarr_format, mode="r", storage_options=storage_options)
    if isinstance(node, Array):
        return node[...]
    found = node.members(max_depth=None)
    return _values({path: member for path, member in found if isinstance(member, Array)})


def _values(arrays: dict[str, Array]) -> dict[str, Any]:
    """Return the values of arrays of one store; one that is slow is asked for all of them together."""
    from zarrcore.arrays.batches import read_many  # which needs the engine

    some = [
        array
        for array in arrays.values()
        if array._store_path.store._concurrent_requests() and array.order == "C"
    ]
    together = dict(zip(map(id, some), read_many((array, ...) for array in some), strict=True))
    return {
        path: together[id(array)][()] if id(array) in together else array[...]
        for path, array in arrays.items()
    }
