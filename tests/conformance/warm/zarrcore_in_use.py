# SPDX-License-Identifier: MIT
"""zarrcore after it has been used: what it imports lazily is there.

The corpus forks a process for every malformed data set; each of them would import the same modules again.
"""

from __future__ import annotations

import contextlib
import sys
import warnings

import zarrcore
from zarrcore import registry
from zarrcore.storage import MemoryStore, ZipStore


def use(zarr_format: int) -> None:
    """Write and read what brings in the modules of one format."""
    store = MemoryStore()
    group = zarrcore.open_group(store, mode="w", zarr_format=zarr_format)
    shards = {"shards": (4,)} if zarr_format == 3 else {}
    group.create_array("numbers", shape=(8,), dtype="f4", chunks=(2,), **shards)[:] = 1
    group.create_array("text", shape=(2,), dtype=str, chunks=(2,))[:] = "x"
    zarrcore.consolidate_metadata(store)
    for _, array in zarrcore.open_group(store, mode="r").members(max_depth=None):
        assert array[...].shape == array.oindex[:].shape == array.shape
        assert array.vindex[[0]].shape == (1,)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    use(2)
    use(3)
    for known in vars(registry).values():
        if isinstance(known, registry.Registry):
            with contextlib.suppress(ValueError, KeyError):
                known.get("no such name")  # looks for entry points, once
    assert ZipStore is not None

sys.modules[__name__] = zarrcore
