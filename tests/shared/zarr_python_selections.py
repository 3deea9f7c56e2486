# SPDX-License-Identifier: MIT
"""Reading and writing arrays of zarr-python by each kind of selection, also where a release alone cannot."""

from __future__ import annotations

from typing import Any

import zarr

from zarrcore.integrations.zarr_python.metadata import release


def read(array: Any, kind: str, selection: Any) -> Any:
    return array[selection] if kind == "basic" else getattr(array, kind)[selection]


def write(array: Any, kind: str, selection: Any, value: Any) -> None:
    if kind == "basic":
        array[selection] = value
    else:
        getattr(array, kind)[selection] = value


def write_model(model: Any, kind: str, selection: Any, value: Any) -> None:
    """Write with zarr-python alone; before 3.4 it cannot write some outer selections to shards."""
    if release() >= (3, 4) or model.shards is None or kind == "blocks":  # whose blocks are shards
        write(model, kind, selection, value)
        return
    plain = zarr.create_array({}, data=model[:])
    write(plain, kind, selection, value)
    model[:] = plain[:]
