"""xarray on zarrcore: ``engine="zarrcore"`` to read, :func:`to_zarr` to write, :func:`install` for both.

The Zarr backend of xarray knows zarr-python by name in eight places and needs nothing else of it.  The
classes here derive from that backend and open nodes with zarrcore in these places; how data sets are encoded
and decoded stays xarray's.  Three things differ: the indexes and small coordinates of all groups are read in
one call when the first of them is needed, only variables that CF conventions apply to are decoded, and slices
with negative steps are read as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Set
from contextlib import ExitStack
from functools import partial, wraps
from inspect import signature
from types import FunctionType, SimpleNamespace
from typing import Any

from xarray import DataArray, Dataset, DataTree, Variable, backends
from xarray.backends import writers
from xarray.backends import zarr as theirs
from xarray.backends.api import DATAARRAY_NAME, DATAARRAY_VARIABLE
from xarray.backends.common import BACKEND_ENTRYPOINTS, _normalize_path, datatree_from_dict_with_io_cleanup
from xarray.backends.plugins import detect_parameters, refresh_engines
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core.treenode import NodePath
from xarray.core.utils import close_on_error

import zarrcore
from zarrcore import Array, Group
from zarrcore.arrays.creation import refuse_own_source
from zarrcore.attributes import copied_attributes
from zarrcore.integrations.xarray_decoding import decode, dropped_names
from zarrcore.integrations.xarray_encodings import Encodings, fill_value_of, of_numcodecs, with_nan
from zarrcore.integrations.xarray_groups import look_above, note_made, taking_back
from zarrcore.integrations.xarray_values import Members, Together, Values, fetch, lazy_variable, load
from zarrcore.integrations.xarray_writing import OneByOne, store_together
from zarrcore.metadata import layout
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.copies import followed_at_once
from zarrcore.storage import make_store_path

__all__ = ["ZarrcoreBackendEntrypoint", "ZarrcoreStore", "install", "load", "to_zarr"]

# Bytes; larger ones are read on their own.
_LARGEST_INDEX = 16 << 20
_LARGEST_COORDINATE = 64 << 10


def _dimensions(metadata: ArrayMetadata) -> tuple[str, ...] | None:
    """Return the names of an array's dimensions; None if one has no name."""
    names = layout.dimension_names(metadata) if metadata.shape else ()
    return None if names is None or None in names else names  # type: ignore[return-value]


def _nczarr_dimensions(array: Array) -> tuple[str, ...] | None:
    """Return the names that NCZarr keeps beside the members of .zarray, or None if they are no such names."""
    own = zarrcore.open_array(array._store_path, mode="r", zarr_format=2)  # copies may lack them
    kept = own.metadata.extra_fields.get("_NCZARR_ARRAY")
    names = kept.get("dimrefs") if isinstance(kept, dict) else None
    if not isinstance(names, list) or len(names) != array.ndim or not all(isinstance(n, str) for n in names):
        return None
    return tuple(name.rsplit("/", 1)[-1] for name in names)


def _rebound(function: Any, **names: Any) -> Any:
    """Return a copy of a function of xarray in which `names` stand for other objects."""
    ours = FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__, closure=function.__closure__
    )
    ours.__defaults__, ours.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return ours


_created = _rebound(theirs.ZarrStore._create_new_array, _put_attrs=lambda array, _: array)
_stored = _rebound(theirs.ZarrStore.store, attempt_import=lambda _: zarrcore)
_opened = _rebound(theirs._get_open_params, attempt_import=lambda _: zarrcore)
_OPENING = [name for name in detect_parameters(_opened) if name not in ("store", "mode")]


def _with_groups_below(group: Group, path: NodePath) -> Iterator[tuple[str, Group]]:
    yield str(path), group
    for name, node in group.members(max_depth=None):
        if isinstance(node, Group):
            yield str(path / name), node


def _opening(store: Any, mode: str, options: dict[str, Any]) -> Group:
    """Open the group that xarray asks for; leave in `options` what goes to the data store."""
    asked = {name: options.pop(name, None) for name in _OPENING}
    group, consolidate, close, mask = _opened(store, mode, **asked)
    options.update(
        consolidate_on_close=consolidate, close_store_on_close=close, use_zarr_fill_value_as_mask=mask
    )
    return group  # type: ignore[no-any-return]


class ZarrcoreStore(theirs.ZarrStore):
    """The data store of xarray over zarrcore's groups and arrays; its methods are those of ``ZarrStore``.

    Examples
    --------
    >>> import xarray
    >>> store = {}
    >>> place = to_zarr(xarray.Dataset({"depth": ("x", [1, 2, 3])}), store)
    >>> xarray.open_dataset(ZarrcoreStore.open_group(store, mode="r"))["depth"].values.tolist()
    [1, 2, 3]
    """

    def __init__(
        self, zarr_group: Group, *args: Any, together: Together | None = None, **options: Any
    ) -> None:
        super().__init__(zarr_group, *args, **options)
        self._together = together or Together()
        self._left_out: Set[str] = frozenset()  # names of variables that nobody wants to see

    @classmethod
    def open_group(cls, store: Any, mode: str = "r", **options: Any) -> ZarrcoreStore:
        """Open a group as a data store; the arguments are those of ``ZarrStore.open_group``."""
        default = cls._default_format()
        needs_format = options.get("zarr_format") is None and bool(options.get("group") or default)
        missing, above = look_above(store, mode, options, needs_format=needs_format)
        if needs_format and (missing or mode[0] == "w"):
            options["zarr_format"] = above or default
        group = _opening(store, mode, options)
        note_made(group._store_path.store, missing)
        return cls(group, mode, **options)

    @staticmethod
    def _default_format() -> int | None:
        """Return the format of new groups if nothing is said of it; None: that of zarrcore."""
        return None

    @classmethod
    def open_store(cls, store: Any, mode: str = "r", **options: Any) -> dict[str, ZarrcoreStore]:
        """Open a group and all groups below it; the arguments are those of ``ZarrStore.open_store``."""
        parent = NodePath(options.get("group") or "/")
        opened = _opening(store, mode, options)
        found, together = _with_groups_below(opened, parent), Together()
        return {path: cls(group, mode, together=together, **options) for path, group in found}

    def store(self, *args: Any, **options: Any) -> None:
        with followed_at_once():  # variables in consolidated metadata fit together at all times
            _stored(self, *args, **options)

    def set_variables(
        self, variables: dict[str, Variable], check_encoding_set: Any, writer: Any, unlimited_dims: Any = None
    ) -> None:
        """Store variables; in a slow store many at the same time, as each of them waits for a server."""
        store = partial(
            super().set_variables,
            check_encoding_set=check_encoding_set,
            writer=OneByOne(writer),
            unlimited_dims=unlimited_dims,
        )
        store_together(self.zarr_group._store_path.store, store, variables)

    @property
    def members(self) -> Members:  # type: ignore[override]
        """The nodes directly in the group."""
        return super().members  # type: ignore[return-value]

    def _fetch_members(self) -> Members:  # type: ignore[override]
        return Members(self.zarr_group)

    def array_keys(self) -> tuple[str, ...]:
        return tuple(self.members.arrays)

    def arrays(self) -> Any:
        members = self.members
        return tuple((name, members[name]) for name in members.arrays)

    def get_variables(self) -> dict[str, Variable]:
        members, encodings = self.members, Encodings(self._spelled)
        variables = {
            name: self._variable(name, metadata, members, encodings)
            for name, metadata in members.arrays.items()
            if name not in self._left_out
        }
        named = (node.attrs.get("coordinates") for node in (*variables.values(), self.zarr_group))
        coordinates = {name for names in named if isinstance(names, str) for name in names.split()}
        for name, variable in variables.items():
            if variable.dims == (name,) or name in coordinates:
                most = _LARGEST_INDEX if variable.dims == (name,) else _LARGEST_COORDINATE
                array: Any = members[name]
                if array.nbytes <= most:
                    self._together.add(array)
        return variables

    def open_store_variable(self, name: str) -> Variable:
        members = self.members
        return self._variable(name, members.arrays[name], members, Encodings(self._spelled))

    def get_dimensions(self) -> dict[str, int]:
        lengths: dict[str, int] = {}
        members = self.members
        for name, metadata in members.arrays.items():
            dimensions = self._dimensions(name, metadata, members)
            for dimension, length in zip(dimensions, metadata.shape, strict=True):
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

    def _create_new_array(self, *, encoding: dict[str, Any], attrs: Any, **rest: Any) -> Array:
        try:  # with its attributes, so that its document is stored once
            return _created(self, encoding={**encoding, "attributes": attrs}, attrs=attrs, **rest)  # type: ignore[no-any-return]
        except TypeError:
            return super()._create_new_array(encoding=encoding, attrs=attrs, **rest)  # type: ignore[return-value]

    def encode_attribute(self, a: Any) -> Any:
        return with_nan(super().encode_attribute(a))

    @staticmethod
    def _spelled(codec: Any) -> Any:
        """Return a codec as other Zarr libraries take it, too, in the encoding of a variable."""
        written = None if codec is None else codec.to_dict()
        return of_numcodecs(codec, written) if written and "id" in written else written

    def _dimensions(self, name: str, metadata: ArrayMetadata, members: Members) -> tuple[str, ...]:
        found = _dimensions(metadata)
        if found is not None:
            return found
        array: Any = members[name]
        if metadata.zarr_format == 2 and self._mode == "r":
            found = _nczarr_dimensions(array)
        if found is None:
            missing = "`dimension_names`" if metadata.zarr_format == 3 else f"`{theirs.DIMENSION_KEY}`"
            raise KeyError(
                f"array {array.path!r} has no {missing}, which is required for xarray to determine variable "
                f"dimensions (drop_variables={name!r} leaves it out)"
            )
        return found

    def _variable(
        self, name: str, metadata: ArrayMetadata, members: Members, encodings: Encodings
    ) -> Variable:
        dimensions = self._dimensions(name, metadata, members)
        attributes = copied_attributes(metadata.attributes)
        if metadata.zarr_format == 2:
            hidden = {theirs.DIMENSION_KEY, *(key for key in attributes if key.lower().startswith("_nc"))}
            attributes = {key: value for key, value in attributes.items() if key not in hidden}
        values = Values(members, name, metadata, self._together)
        encoding = encodings.of(metadata, dimensions, members, name)
        if values.dtype.kind == "T":
            encoding["dtype"] = values.dtype
        if self._use_zarr_fill_value_as_mask:
            if metadata.fill_value is not None:
                attributes["_FillValue"] = metadata.fill_value
        else:
            if metadata.zarr_format == 3:
                encoding["fill_value"] = metadata.fill_value
            if "_FillValue" in attributes:
                attributes["_FillValue"] = fill_value_of(attributes["_FillValue"], values.dtype)
        return lazy_variable(dimensions, values, attributes, encoding)


class ZarrcoreBackendEntrypoint(theirs.ZarrBackendEntrypoint):
    """Open Zarr data in xarray by ``engine="zarrcore"``; the options are those of ``engine="zarr"``.

    Examples
    --------
    >>> import xarray
    >>> isinstance(xarray.backends.list_engines()["zarrcore"], ZarrcoreBackendEntrypoint)
    True
    """

    description = "Open Zarr data (formats 1, 2 and 3, N5) using zarrcore in xarray"
    url = ""
    data_store = ZarrcoreStore
    open_dataset_parameters = detect_parameters(theirs.ZarrBackendEntrypoint.open_dataset)

    def open_dataset(self, filename_or_obj: Any, **options: Any) -> Dataset:
        """Open a data set; see :func:`xarray.open_dataset` and :func:`xarray.open_zarr` for the options."""
        decoding, where = _split(options)
        store = options.pop("store", None) or self.data_store.open_group(_address(filename_or_obj), **where)
        with close_on_error(store):
            if isinstance(store, ZarrcoreStore):
                store._left_out = dropped_names(decoding.get("drop_variables"))
            return decode(store, *store.load(), **decoding)

    def open_groups_as_dict(self, filename_or_obj: Any, **options: Any) -> dict[str, Dataset]:
        """Open each group as a data set; see :func:`xarray.open_groups` for the options."""
        decoding, where = _split(options)
        where["group"] = parent = str(NodePath("/") / NodePath(where.get("group") or "/"))
        stores = self.data_store.open_store(_address(filename_or_obj), **where)
        loaded, found = {}, {}
        for path, store in stores.items():  # all of them first, so that they are read together
            with close_on_error(store):
                store._left_out = dropped_names(decoding.get("drop_variables"))
                loaded[path] = store.load()
        for path, store in stores.items():
            name = str(NodePath(path).relative_to(parent)) if options.get("group") else path
            with close_on_error(store):
                found[name] = decode(store, *loaded[path], **decoding)
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
    if not isinstance(data, Dataset | DataArray | DataTree):
        kinds = "a Dataset, a DataArray or a DataTree of xarray"
        raise TypeError(f"to_zarr: expected {kinds}, got {type(data).__name__}")
    _refuse_own_source(data, store, **options)
    with taking_back():
        if isinstance(data, DataTree):
            return _write_tree(data, store, **options)
        return _write(_as_dataset(data) if isinstance(data, DataArray) else data, store, **options)


def _refuse_own_source(
    data: Dataset | DataArray | DataTree,
    store: Any = None,
    *,
    mode: str | None = None,
    group: str | None = None,
    storage_options: dict[str, Any] | None = None,
    **_: Any,
) -> None:
    """Refuse to remove what `data` is read from, as mode="w" would; parameters as of xarray's methods."""
    if mode == "w":
        refuse_own_source(make_store_path(store, path=group, storage_options=storage_options), data)


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


class _InZarrsPlace(ZarrcoreStore):
    """The data store after :func:`install`: with the default format and codecs of a loaded zarr-python."""

    @staticmethod
    def _default_format() -> int | None:
        zarr = sys.modules.get("zarr")
        return None if zarr is None else zarr.config.get("default_zarr_format")

    @staticmethod
    def _spelled(codec: Any) -> Any:
        if codec is None or "zarr" not in sys.modules:
            return codec
        written = codec.to_dict()
        if "id" in written:
            return of_numcodecs(codec, written)
        return sys.modules["zarr.registry"].get_codec_class(written["name"]).from_dict(written)


class _EntryPointInZarrsPlace(ZarrcoreBackendEntrypoint):
    data_store = _InZarrsPlace


def install() -> ExitStack:
    """Let xarray read and write all Zarr data with zarrcore: ``engine="zarr"``, ``open_zarr``, ``to_zarr``.

    The method ``load`` of data sets reads all variables in one call, as :func:`load` does.

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
    before = backends.ZarrStore, BACKEND_ENTRYPOINTS["zarr"], Dataset.load
    theirs_writes = writers.to_zarr, writers._datatree_to_zarr
    writes = map(_refusing, theirs_writes)
    _use(_InZarrsPlace, (None, _EntryPointInZarrsPlace), _together(Dataset.load), *writes)
    done = ExitStack()
    done.callback(_use, *before, *theirs_writes)
    return done


def _use(store: Any, entry_point: Any, load_dataset: Any, write: Any, write_tree: Any) -> None:
    backends.ZarrStore, Dataset.load = store, load_dataset  # type: ignore[misc,method-assign]
    writers.to_zarr, writers._datatree_to_zarr = write, write_tree
    BACKEND_ENTRYPOINTS["zarr"] = entry_point
    refresh_engines()


def _refusing(write: Any) -> Any:
    """Return a function of xarray that writes, and does not remove what it is going to read."""

    data, *_ = parameters = signature(write).parameters

    @wraps(write)
    def writing(*args: Any, **options: Any) -> Any:
        given = {**dict(zip(parameters, args, strict=False)), **options}
        _refuse_own_source(given.pop(data), **given)
        with taking_back():
            return write(*args, **options)

    return writing


def _together(load_dataset: Any) -> Any:
    """Return the method ``load`` of data sets, which reads what is stored with zarrcore in one call."""

    @wraps(load_dataset)
    def loading(self: Dataset, **options: Any) -> Dataset:
        fetch(self.variables.values())
        return load_dataset(self, **options)  # type: ignore[no-any-return]

    return loading
