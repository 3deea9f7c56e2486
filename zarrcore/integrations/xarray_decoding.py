"""Decoding of data sets by CF conventions, of those variables alone that these apply to."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import numpy as np
from xarray import Dataset, Variable, conventions
from xarray.backends.zarr import ZarrStore
from xarray.coding.times import TIME_UNITS
from xarray.core.variable import calculate_dimensions

# Attributes that decoding looks at; `units` and `_FillValue` only where they have a meaning for it.
_CF_ATTRIBUTES = frozenset(conventions.CF_RELATED_DATA) | {
    *("_Encoding", "_Unsigned", "add_offset", "bounds", "calendar", "coordinates", "dtype"),
    *("missing_value", "scale_factor"),
}


def dropped_names(names: str | Iterable[str] | None) -> Set[str]:
    """Return the names of the variables that are left out."""
    return {names} if isinstance(names, str) else set(names or ())


def decode(
    store: ZarrStore,
    stored: Any,
    attributes: Any,
    *,
    drop_variables: Any = None,
    mask_and_scale: Any = True,
    **decoding: Any,
) -> Dataset:
    """Return the data set of a store as ``StoreBackendEntrypoint`` does; only what needs it is decoded."""
    dropped, stored = dropped_names(drop_variables), dict(stored)
    named = (variable.attrs.get("bounds") for variable in stored.values())
    bounds = {name for name in named if isinstance(name, str)}
    plain = {
        name
        for name, variable in stored.items()
        if name not in bounds and _is_plain(variable, mask_and_scale is True)
    }
    decoded, attributes, coordinates = conventions.decode_cf_variables(
        stored, attributes, drop_variables=dropped | plain, mask_and_scale=mask_and_scale, **decoding
    )
    variables = {
        name: decoded[name] if name in decoded else _as_decoded(variable)
        for name, variable in stored.items()
        if name not in dropped
    }
    # A dimension's namesake is a coordinate; those come last, as in a data set that is made of its parts.
    lengths = _lengths(variables)
    names: set[Any] = {name for name in variables if name in coordinates or name in lengths}
    ordered = sorted(variables, key=names.__contains__)
    return Dataset._construct_direct(
        {name: variables[name] for name in ordered},
        names,
        dims=lengths,
        attrs=dict(attributes),
        encoding=store.get_encoding(),
        close=store.close,
    )


def _lengths(variables: dict[Any, Variable]) -> dict[Any, int]:
    """Return the lengths of all dimensions; of variables of the same shape only the first is looked at."""
    first: dict[Any, Any] = {}
    for name, variable in variables.items():
        first.setdefault((variable.dims, variable.shape) if variable.dims else name, name)
    return calculate_dimensions({name: variables[name] for name in first.values()})


def _is_plain(variable: Variable, is_masked: bool) -> bool:
    """Return whether decoding would leave a variable as it is, but for a fill value that is NaN."""
    dtype, attributes = variable._data.dtype, variable._attrs or {}
    if dtype.kind not in "biufc" or not dtype.isnative or not _CF_ATTRIBUTES.isdisjoint(attributes):
        return False
    units = attributes.get("units")
    if isinstance(units, str) and ("since" in units or units in TIME_UNITS):
        return False
    if "_FillValue" not in attributes:
        return True
    fill = attributes["_FillValue"]
    return is_masked and dtype.kind == "f" and isinstance(fill, (float, np.floating)) and fill != fill


def _as_decoded(variable: Variable) -> Variable:
    """Return a plain variable as decoding would; it belongs to nobody else."""
    if "_FillValue" in variable.attrs:
        variable.encoding["_FillValue"] = variable.attrs.pop("_FillValue")
    variable.encoding.setdefault("dtype", variable.dtype)
    return variable
