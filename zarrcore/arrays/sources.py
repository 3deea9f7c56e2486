"""Arrays and groups of other libraries: what a copy keeps of them.

Nothing is imported for that: those of h5py, zarr-python and xarray are known by the members that they have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from zarrcore.errors import DataTypeValidationError
from zarrcore.metadata.documents import NonFinite, json_value, names_of_xarray
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath, make_store_path
from zarrcore.storage.validation import is_zarr_python_store

# How HDF5 and netCDF store dimensions; a copy has the names of the dimensions in their place.
_OF_HDF5 = {"DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST"}
_OF_NETCDF = {"_Netcdf4Coordinates", "_Netcdf4Dimid", "_nc3_strict"}
_OF_SCALES = {"CLASS", "NAME"}
_LAZY = {"dask", "xarray", "zarrcore"}  # packages whose arrays may be made of others


def kept_options(data: Any, zarr_format: int) -> tuple[Any, dict[str, Any]]:
    """Return what to read values from, and what an array of that format keeps of `data` but attributes."""
    if isinstance(data, np.ndarray):
        return data, {"dtype": data.dtype}
    values, dtype = _with_data_type(data)
    kept: dict[str, Any] = {"dtype": dtype}
    for name in ("chunks", "shards") if zarr_format == 3 else ("chunks",):
        lengths = _member(data, name)
        if isinstance(lengths, tuple) and all(isinstance(length, int) for length in lengths):
            kept[name] = lengths
    fill_value = _fill_value(data)
    if fill_value is not None:
        kept["fill_value"] = plain_value(data, fill_value) if dtype == "str" else fill_value
    if zarr_format == 3 and any(names := _dimension_names(data)):
        kept["dimension_names"] = names
    return values, kept


def _member(data: Any, name: str) -> Any:
    try:
        return getattr(data, name, None)
    except NotImplementedError:  # such as one shape of chunks, of a grid that has several
        return None


def _with_data_type(data: Any) -> tuple[Any, Any]:
    """Return what to read with its data type; h5py names strings in metadata of the NumPy dtype."""
    known = getattr(data.dtype, "metadata", None) or {}
    if known.get("vlen") is str or known.get("h5py_encoding") == "utf-8":
        return data.asstr() if hasattr(data, "asstr") else data, "str"
    if known.get("vlen") is bytes:
        return data, "bytes"
    if "vlen" in known or "ref" in known:
        kind = "references" if "ref" in known else f"ragged arrays of {known['vlen']}"
        raise DataTypeValidationError(f"{_member(data, 'name')}: Zarr has no data type for {kind} of HDF5")
    return data, data.dtype


def _fill_value(data: Any) -> Any:
    """Return the value of elements that were never written; None if there is none."""
    for name in ("fill_value", "fillvalue"):  # zarr-python, h5py
        if (value := _member(data, name)) is not None:
            return value
    stored, decoded = getattr(data, "attrs", {}), getattr(data, "encoding", None)
    if isinstance(decoded, Mapping) and isinstance(stored, Mapping):  # of xarray, which decodes it to NaN
        is_missing = "_FillValue" in decoded and data.dtype.kind in "fc"
        return math.nan if is_missing else stored.get("_FillValue")
    return None


def _dimension_names(data: Any) -> tuple[str | None, ...]:
    metadata = _member(data, "metadata")
    names = _member(metadata, "dimension_names")  # zarr-python
    if _member(metadata, "zarr_format") == 2:
        return names_of_xarray(data.attrs, len(data.shape)) or ()
    if names is None:
        dims = _member(data, "dims")
        if is_of_hdf5(data):
            is_own_scale = len(data.shape) == 1 and data.is_scale
            names = [data.name.rpartition("/")[2]] if is_own_scale else map(_name_of_axis, dims)
        else:
            names = dims if isinstance(dims, tuple) else ()  # xarray
    return tuple(name if isinstance(name, str) else None for name in names)


def _name_of_axis(axis: Any) -> str | None:
    """Return the label of a dimension of h5py, or the name of the first scale that is attached to it."""
    return axis.label or (axis[0].name.rpartition("/")[2] if len(axis) else None)


def place_of(node: Any) -> StorePath | None:
    """Return where an array or a group of this library or of zarr-python is; None for all others."""
    place = getattr(node, "store_path", None)
    is_known = isinstance(place, StorePath) or is_zarr_python_store(getattr(place, "store", None))
    return make_store_path(place) if is_known else None


def places_within(data: Any) -> Iterator[StorePath]:
    """Yield where the arrays are that a lazy array of dask or xarray reads when it is computed."""
    waiting, seen = [data], {}
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item  # which keeps its number
        place = place_of(item)
        if place is None:
            waiting.extend(_within(item))
        else:
            yield place


def _within(item: Any) -> Iterable[Any]:
    """Return what an object of dask or xarray, a function or a container of Python is made of."""
    if isinstance(item, (str, bytes, int, float, type, np.ndarray, Store)):
        return ()
    if isinstance(item, dict):
        return item.values()
    if isinstance(item, (list, tuple, set, frozenset)):
        return item
    if isinstance(item, partial):
        return item.func, item.args, item.keywords
    if isinstance(item, MethodType):
        return (item.__self__,)
    if isinstance(item, FunctionType):
        cells = item.__closure__ or ()
        return [
            *(cell.cell_contents for cell in cells if cell != CellType()),
            item.__defaults__,
            item.__kwdefaults__,
        ]
    if type(item).__module__.partition(".")[0] not in _LAZY:
        return ()
    slots = (name for kind in type(item).__mro__ for name in _slots(kind))
    parts = {name: getattr(item, name, None) for name in slots} | getattr(item, "__dict__", {})
    parts.pop("_close", None)  # of xarray, which has it also when all values have been loaded
    return parts.values()


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def is_of_hdf5(node: Any) -> bool:
    """Return whether an object is one of h5py."""
    return type(node).__module__.partition(".")[0] == "h5py"


def attributes_of(
    node: Any, zarr_format: int = 3, *, skipped: Callable[[str], object] | None = None
) -> dict[str, Any]:
    """Return the user attributes of an array or a group of another library, as JSON values.

    Parameters
    ----------
    node : object
        What has the attributes.
    zarr_format : {2, 3}
        Format of the copy.  In format 2 the names of the dimensions are an attribute.
    skipped : callable, optional
        Called with the reason for each attribute that JSON has no form for; without it that is an error.

    Raises
    ------
    TypeError
        If JSON has no form for an attribute.
    """
    found: Any = getattr(node, "attrs", None)
    if not hasattr(found, "items"):
        return {}
    hidden: set[str] = set()
    if is_of_hdf5(node):
        is_scale = found.get("CLASS") == b"DIMENSION_SCALE"
        hidden = _OF_HDF5 | _OF_NETCDF | (_OF_SCALES if is_scale else set())
    attributes: dict[str, Any] = {}
    if zarr_format == 2 and hasattr(node, "shape") and all(names := _dimension_names(node)) and names:
        attributes["_ARRAY_DIMENSIONS"] = list(names)
    for name in found:
        if name in hidden:
            continue
        try:
            attributes[name] = json_value(plain_value(node, found[name]), f"attributes.{name}")
        except (TypeError, ValueError, OSError) as error:  # h5py has an OSError for types that it cannot read
            reason = str(error) if name in str(error) else f"attributes.{name}: {error}"
            if skipped is None:
                raise TypeError(f"{reason}; give attributes= without it") from error
            skipped(reason)
    return attributes


def plain_value(node: Any, value: Any) -> Any:
    """Return a value of an attribute of `node` in Python's own types; bytes are text."""
    if isinstance(value, np.void) and value.dtype.names:
        return {name: plain_value(node, value[name]) for name in value.dtype.names}
    if isinstance(value, np.ndarray) and value.dtype.names and value.ndim:
        return [plain_value(node, item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(node, item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain_value(node, item) for name, item in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float) and not math.isfinite(value):
        return NonFinite(value)  # as it stands there
    kind = type(value)
    if kind.__module__.partition(".")[0] == "h5py":
        if kind.__name__ == "Empty":
            return None
        if kind.__name__ == "Reference":  # of an object; one of a region has no form
            return node.file[value].name if value else None
    return value
