"""xarray on zarrcore: ``engine="zarrcore"`` to read, :func:`to_zarr` to write, :func:`install` for both.

The Zarr backend of xarray knows zarr-python by name in eight places and needs nothing else of it.  The
classes here derive from that backend and open nodes with zarrcore in these places; how data sets are encoded
and decoded stays xarray's.  Two things differ: the index variables of a group are read in one call when the
first of them is needed, and slices with negative steps are read as they are.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from xarray import DataArray, Dataset, DataTree, Variable, backends
from xarray.backends import writers
from xarray.backends import zarr as theirs
from xarray.backends.api import DATAARRAY_NAME, DATAARRAY_VARIABLE
from xarray.backends.common import (
    BACKEND_ENTRYPOINTS,
    _normalize_path,
    datatree_from_dict_with_io_cleanup,
)
from xarray.backends.plugins import detect_parameters, refresh_engines
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing
from xarray.core.treenode import NodePath
from xarray.core.utils import close_on_error

import zarrcore
from zarrcore import Array, AsyncArray, Group
from zarrcore.errors import BaseZarrError

__all__ = ["ZarrcoreBackendEntrypoint", "ZarrcoreStore", "install", "to_zarr"]

_LARGEST_INDEX = 16 << 20  # bytes; a larger index variable is read on its own


class _IndexVariables:
    """The index variables of a group, which are read in one call when the first of them is needed."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._waiting = {
            name: array
            for name, array in arrays.items()
            if _dimensions(array) == (name,) and array.nbytes <= _LARGEST_INDEX
        }
        self._read: dict[str, np.ndarray] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ({},)  # in another process each is read on its own

    def take(self, name: str) -> np.ndarray | None:
        """Return the values of the variable `name`, once; None if it is to be read on its own."""
        with self._lock:
            if name in self._waiting:
                waiting, self._waiting = self._waiting, {}
                try:
                    values = zarrcore.read_many([(array, ...) for array in waiting.values()])
                except BaseZarrError:
                    return None  # each is read on its own, and the one that cannot be read is named
                self._read = dict(zip(waiting, values, strict=True))
            return self._read.pop(name, None)


class _Values(theirs.ZarrArrayWrapper):
    """The values of an array, read when xarray asks for them."""

    __slots__ = ("_indexes", "_name")

    def __init__(self, array: Array, name: str, indexes: _IndexVariables) -> None:
        self._array, self._name, self._indexes = array, name, indexes
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if isinstance(key, indexing.VectorizedIndexer):
            return self._with_dtype(self._array.vindex[key.tuple])
        if isinstance(key, indexing.OuterIndexer):
            return self._with_dtype(self._array.oindex[key.tuple])
        if all(
            item == slice(None) or item == slice(0, n, 1)
            for item, n in zip(key.tuple, self.shape, strict=True)
        ):
            values = self._indexes.take(self._name)
            if values is not None:
                return values
        return self._with_dtype(self._array[key.tuple])

    def _with_dtype(self, values: Any) -> Any:
        return np.asarray(values, self.dtype) if isinstance(values, str) else values

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        array: AsyncArray = self._array.async_array
        if isinstance(key, indexing.VectorizedIndexer):
            values = await array.vindex.getitem(key.tuple)
        elif isinstance(key, indexing.OuterIndexer):
            values = await array.oindex.getitem(key.tuple)
        else:
            values = await array.getitem(key.tuple)
        return self._with_dtype(values)


def _dimensions(array: Array) -> tuple[str, ...] | None:
    """Return the names of an array's dimensions; None if one has no name."""
    names = array.dimension_names if array.ndim else ()
    return None if names is None or None in names else names  # type: ignore[return-value]


def _nczarr_dimensions(array: Array) -> tuple[str, ...] | None:
    """Return the names that NCZarr keeps beside the members of .zarray, or None."""
    stored = array.store.get(f"{array.path}/.zarray".lstrip("/"))
    names = json.loads(bytes(stored or b"{}")).get("_NCZARR_ARRAY", {}).get("dimrefs")
    return None if names is None else tuple(name.rsplit("/", 1)[-1] for name in names)


def _rebound(function: Any, **names: Any) -> Any:
    """Return a copy of a function of xarray in which `names` stand for other objects."""
    ours = FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__, closure=function.__closure__
    )
    ours.__defaults__, ours.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return ours


_opened = _rebound(theirs._get_open_params, attempt_import=lambda _: zarrcore)


def _with_groups_below(group: Group, path: NodePath) -> Iterator[tuple[str, Group]]:
    yield str(path), group
    for name, node in group.members(max_depth=None):
        if isinstance(node, Group):
            yield str(path / name), node


def _opening(store: Any, mode: str, options: dict[str, Any]) -> Group:
    """Open the group that xarray asks for; leave in `options` what goes to the data store."""
    names = [name for name in detect_parameters(_opened) if name not in ("store", "mode")]
    asked = {name: options.pop(name, None) for name in names}
    group, consolidate, close, mask = _opened(store, mode, **asked)
    options.update(
        consolidate_on_close=consolidate, close_store_on_close=close, use_zarr_fill_value_as_mask=mask
    )
    return group  # type: ignore[no-any-return]


class ZarrcoreStore(theirs.ZarrStore):
    """The data store of xarray over zarrcore's groups and arrays; its methods are those of ``ZarrStore``."""

    store = _rebound(theirs.ZarrStore.store, attempt_import=lambda _: zarrcore)

    @classmethod
    def open_group(cls, store: Any, mode: str = "r", **options: Any) -> ZarrcoreStore:
        """Open a group as a data store; the arguments are those of ``ZarrStore.open_group``."""
        return cls(_opening(store, mode, options), mode, **options)

    @classmethod
    def open_store(cls, store: Any, mode: str = "r", **options: Any) -> dict[str, ZarrcoreStore]:
        """Open a group and all groups below it; the arguments are those of ``ZarrStore.open_store``."""
        parent = NodePath(options.get("group") or "/")
        opened = _opening(store, mode, options)
        return {path: cls(group, mode, **options) for path, group in _with_groups_below(opened, parent)}

    def array_keys(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.arrays())

    def arrays(self) -> Any:
        return tuple((name, node) for name, node in self.members.items() if isinstance(node, Array))

    def get_variables(self) -> dict[str, Variable]:
        arrays = dict(self.arrays())
        indexes = _IndexVariables(arrays)
        return {name: self._variable(name, array, indexes) for name, array in arrays.items()}

    def open_store_variable(self, name: str) -> Variable:
        array: Any = self.members[name]
        return self._variable(name, array, _IndexVariables({}))

    def get_dimensions(self) -> dict[str, int]:
        lengths: dict[str, int] = {}
        for name, array in self.arrays():
            for dimension, length in zip(self._dimensions(name, array), array.shape, strict=True):
                if lengths.setdefault(dimension, length) != length:
                    conflict = f"{dimension} ({length} != {lengths[dimension]})"
                    raise ValueError(f"found conflicting lengths for dimension {conflict}")
        return lengths

    def _open_existing_array(self, *, name: str) -> Array:
        array: Array = self.zarr_group[name]
        return (
            array
            if self._write_empty is None
            else array.with_config({"write_empty_chunks": self._write_empty})
        )

    @staticmethod
    def _spelled(codec: Any) -> Any:
        """Return a codec as other Zarr libraries take it, too, in the encoding of a variable."""
        written = None if codec is None else codec.to_dict()
        return _of_numcodecs(codec, written) if written and "id" in written else written

    def _dimensions(self, name: str, array: Array) -> tuple[str, ...]:
        found = _dimensions(array)
        if found is None and array.metadata.zarr_format == 2 and self._mode == "r":
            found = _nczarr_dimensions(array)
        if found is None:
            missing = "`dimension_names`" if array.metadata.zarr_format == 3 else f"`{theirs.DIMENSION_KEY}`"
            raise KeyError(
                f"array {array.path!r} has no {missing}, which is required for xarray to determine variable "
                f"dimensions (drop_variables={name!r} leaves it out)"
            )
        return found

    def _variable(self, name: str, array: Array, indexes: _IndexVariables) -> Variable:
        metadata, dimensions = array.metadata, self._dimensions(name, array)
        attributes = array.attrs.asdict()
        if metadata.zarr_format == 2:
            hidden = {theirs.DIMENSION_KEY, *(key for key in attributes if key.lower().startswith("_nc"))}
            attributes = {key: value for key, value in attributes.items() if key not in hidden}
        values = _Values(array, name, indexes)
        chunks = _lengths(array, "chunks", "read_chunk_sizes")
        encoding: dict[str, Any] = {
            "chunks": chunks,
            "preferred_chunks": dict(zip(dimensions, chunks, strict=True)),
            "compressors": tuple(map(self._spelled, array.compressors)),
            "filters": tuple(map(self._spelled, array.filters)),
            "shards": _lengths(array, "shards", "write_chunk_sizes"),
        }
        if values.dtype.kind == "T":
            encoding["dtype"] = values.dtype
        if self.zarr_group.metadata.zarr_format == 3:
            encoding["serializer"] = self._spelled(array.serializer)
        if self._use_zarr_fill_value_as_mask:
            if array.fill_value is not None:
                attributes["_FillValue"] = array.fill_value
        else:
            if self.zarr_group.metadata.zarr_format == 3:
                encoding["fill_value"] = array.fill_value
            if "_FillValue" in attributes:
                attributes["_FillValue"] = theirs.FillValueCoder.decode(attributes["_FillValue"], array.dtype)
        return Variable(dimensions, indexing.LazilyIndexedArray(values), attributes, encoding)


def _lengths(array: Array, regular: str, each: str) -> Any:
    """Return chunk lengths as xarray keeps them: an int where a dimension is regular, else all lengths."""
    try:
        return getattr(array, regular)
    except NotImplementedError:
        return theirs._compact_chunk_sizes(getattr(array, each))


class ZarrcoreBackendEntrypoint(theirs.ZarrBackendEntrypoint):
    """Open Zarr data in xarray by ``engine="zarrcore"``; the options are those of ``engine="zarr"``."""

    description = "Open Zarr data (formats 1, 2 and 3, N5) using zarrcore in xarray"
    url = ""
    data_store = ZarrcoreStore
    open_dataset_parameters = detect_parameters(theirs.ZarrBackendEntrypoint.open_dataset)

    def open_dataset(self, filename_or_obj: Any, **options: Any) -> Dataset:
        """Open a data set; see :func:`xarray.open_dataset` and :func:`xarray.open_zarr` for the options."""
        decoding, where = _split(options)
        store = options.pop("store", None) or self.data_store.open_group(_address(filename_or_obj), **where)
        with close_on_error(store):
            return StoreBackendEntrypoint().open_dataset(store, **decoding)

    def open_groups_as_dict(self, filename_or_obj: Any, **options: Any) -> dict[str, Dataset]:
        """Open each group as a data set; see :func:`xarray.open_groups` for the options."""
        decoding, where = _split(options)
        where["group"] = parent = str(NodePath("/") / NodePath(where.get("group") or "/"))
        found = {}
        for path, store in self.data_store.open_store(_address(filename_or_obj), **where).items():
            name = str(NodePath(path).relative_to(parent)) if options.get("group") else path
            with close_on_error(store):
                found[name] = StoreBackendEntrypoint().open_dataset(store, **decoding)
        return found

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        """Open all groups as a tree; see :func:`xarray.open_datatree` for the options."""
        return datatree_from_dict_with_io_cleanup(self.open_groups_as_dict(filename_or_obj, **options))


_DECODING = detect_parameters(StoreBackendEntrypoint.open_dataset)


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part the options of an opening function into those of decoding and those of the store."""
    known = set(ZarrcoreBackendEntrypoint.open_dataset_parameters)
    if unknown := sorted(options.keys() - known):
        raise TypeError(f"engine 'zarrcore' got unexpected options {unknown}; it knows {sorted(known)}")
    decoding = {name: value for name, value in options.items() if name in _DECODING}
    elsewhere = {*decoding, "store", "engine", "use_zarr_fill_value_as_mask"}
    return decoding, {name: value for name, value in options.items() if name not in elsewhere}


def _address(filename_or_obj: Any) -> Any:
    path = _normalize_path(filename_or_obj)
    return os.fspath(path) if isinstance(path, os.PathLike) else path


def to_zarr(data: Dataset | DataArray | DataTree, store: Any, **options: Any) -> Any:
    """Write a data set, an array or a tree with zarrcore.

    Parameters
    ----------
    data : Dataset, DataArray or DataTree
        What is written.
    store : store-like
        Where to; any store of zarrcore, a path, or a URL.
    **options
        Those of :meth:`xarray.Dataset.to_zarr` or :meth:`xarray.DataTree.to_zarr`: mode, group, encoding,
        append_dim, region, safe_chunks, compute and others.

    Returns
    -------
    ZarrcoreStore or dask.delayed.Delayed
        As the methods of xarray.

    Examples
    --------
    >>> import xarray, zarrcore.xarray
    >>> store = {}
    >>> ds = xarray.Dataset({"t": ("x", [1.0, 2.0])}, coords={"x": [10, 20]})
    >>> _ = zarrcore.xarray.to_zarr(ds, store)
    >>> xarray.open_dataset(store, engine="zarrcore").t.sel(x=20).item()
    2.0
    """
    if isinstance(data, DataTree):
        return _write_tree(data, store, **options)
    return _write(_as_dataset(data) if isinstance(data, DataArray) else data, store, **options)


def _as_dataset(array: DataArray) -> Dataset:
    """Return a data set that holds `array` under a name that no coordinate has, as xarray's method does."""
    if array.name is not None and array.name not in array.coords and array.name not in array.dims:
        return array.to_dataset()
    dataset = array.to_dataset(name=DATAARRAY_VARIABLE)
    if array.name is not None:
        dataset.attrs[DATAARRAY_NAME] = array.name
    return dataset


_writable = _rebound(writers.get_writable_zarr_store, backends=SimpleNamespace(ZarrStore=ZarrcoreStore))
_write = _rebound(writers.to_zarr, get_writable_zarr_store=_writable)
_write_tree = _rebound(writers._datatree_to_zarr, get_writable_zarr_store=_writable)


def _of_numcodecs(codec: Any, written: dict[str, Any]) -> Any:
    """Return the codec of numcodecs, which zarr-python wants in format 2; `codec` if numcodecs lacks it."""
    try:
        return importlib.import_module("numcodecs").get_codec(written)
    except (ImportError, ValueError):
        return codec


class _InZarrsPlace(ZarrcoreStore):
    """The data store after :func:`install`: with the default format and codecs of a loaded zarr-python."""

    @classmethod
    def open_group(cls, store: Any, mode: str = "r", **options: Any) -> ZarrcoreStore:
        zarr = sys.modules.get("zarr")
        if zarr is not None and options.get("zarr_format") is None and _is_new(store, mode, options):
            options["zarr_format"] = zarr.config.get("default_zarr_format")
        return super().open_group(store, mode, **options)

    @staticmethod
    def _spelled(codec: Any) -> Any:
        if codec is None or "zarr" not in sys.modules:
            return codec
        written = codec.to_dict()
        if "id" in written:
            return _of_numcodecs(codec, written)
        return sys.modules["zarr.registry"].get_codec_class(written["name"]).from_dict(written)


def _is_new(store: Any, mode: str, options: dict[str, Any]) -> bool:
    """Return whether opening with `mode` creates the group."""
    if mode[0] != "a":
        return mode[0] == "w"
    try:
        zarrcore.open_group(
            store, mode="r", path=options.get("group"), storage_options=options.get("storage_options")
        )
    except FileNotFoundError:
        return True
    return False


class _EntryPointInZarrsPlace(ZarrcoreBackendEntrypoint):
    data_store = _InZarrsPlace


def install() -> ExitStack:
    """Let xarray read and write all Zarr data with zarrcore: ``engine="zarr"``, ``open_zarr``, ``to_zarr``.

    Returns
    -------
    contextlib.ExitStack
        In a ``with`` statement, or by its method ``close``, xarray gets its own backend back.

    Examples
    --------
    >>> import xarray, zarrcore.xarray
    >>> with zarrcore.xarray.install():
    ...     _ = xarray.Dataset({"t": ("x", [1.0, 2.0])}).to_zarr(store := {})
    ...     float(xarray.open_zarr(store).t.sum())
    3.0
    """
    before = backends.ZarrStore, BACKEND_ENTRYPOINTS["zarr"]
    _use(_InZarrsPlace, (None, _EntryPointInZarrsPlace))
    done = ExitStack()
    done.callback(_use, *before)
    return done


def _use(store: Any, entry_point: Any) -> None:
    backends.ZarrStore = store  # type: ignore[misc]
    BACKEND_ENTRYPOINTS["zarr"] = entry_point
    refresh_engines()
