"""All cases by name."""

from __future__ import annotations

from benchmarks.cases import (
    batches,
    bridge,
    codecs,
    cold,
    dense,
    hierarchy,
    partial,
    small_chunks,
    text,
    tiny,
    updates,
    xarray_dask,
)
from benchmarks.cases.base import Case

_MODULES = (
    dense,
    cold,
    codecs,
    tiny,
    small_chunks,
    partial,
    batches,
    updates,
    hierarchy,
    text,
    bridge,
    xarray_dask,
)
CASES: dict[str, Case] = {case.name: case for module in _MODULES for case in module.cases()}
