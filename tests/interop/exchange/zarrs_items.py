# SPDX-License-Identifier: MIT
"""zarrs without zarr-python, item by item: so it stores every data type that it has.

Its Python package takes and returns arrays of items of fixed size only.  But what it is given without
dimensions is one item, in the bytes that zarrs has in memory: those of the item, and for optional items one
byte more, 1; a missing one is the byte 0.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from exchange.cases import Case
from exchange.peers import Ours, ZarrsAlone
from zarrcore.dtypes import Optional, ZDType

Place = tuple[int, ...]


def bytes_in_zarrs(zdtype: ZDType, item: Any) -> bytes:
    """The bytes of an item in the memory of zarrs."""
    if not isinstance(zdtype, Optional):
        return item.encode() if isinstance(item, str) else item if isinstance(item, bytes) else item.tobytes()
    if zdtype.item_size is not None:
        valid, value = item["valid"], item["value"]
    else:
        valid, value = item is not None, item[0] if isinstance(item, tuple) else item
    return bytes_in_zarrs(zdtype.item, value) + b"\1" if valid else b"\0"


class ZarrsItems(ZarrsAlone):
    """Reads by having zarrs change each chunk, and change it back: what we find then is what it has read."""

    def write(self, path: Path, case: Case) -> None:
        path.mkdir()
        (path / "zarr.json").write_text(json.dumps(case.document))
        self._put(path, case, case.values, places_of(case))

    def patch(self, path: Path, case: Case) -> None:
        patched = {tuple(place) for place in np.argwhere(_marked(case))}
        self._put(path, case, case.patched, (each for each in places_of(case) if each[0] in patched))

    def read(self, path: Path, case: Case) -> np.ndarray:
        copy = path.with_name(f"{path.name}-rewritten")
        shutil.copytree(path, copy)
        values = np.empty(case.shape, case.dtype)
        values[...] = Ours().read(path, case)
        first = {coords: (place, coords, inside) for place, coords, inside in reversed([*places_of(case)])}
        for given in (np.roll(values, 1), values):
            self._put(copy, case, given, first.values())
        return Ours().read(copy, case)

    def _put(self, path: Path, case: Case, values: np.ndarray, places: Iterable[Any]) -> None:
        grid, keys = case.metadata.chunk_grid, case.metadata.chunk_key_encoding
        engine = self._engine(path, case)
        # zarrs removes chunks of nothing but empty items and the fill value, so the empty ones come last.
        zdtype = case.metadata.data_type
        items = [(bytes_in_zarrs(zdtype, values[each[0]]), each) for each in places]
        for item, (_, coords, inside) in sorted(items, key=lambda each: not each[0]):
            box = np.frombuffer(item, f"V{len(item)}").reshape(()) if item else np.array(b"", "V0")
            one, lengths = tuple(slice(i, i + 1) for i in inside), grid.shape_of(coords)
            chunk = self.zarrs.ChunkItem(keys.encode(coords), one, lengths, one, lengths)
            engine.store_chunks_with_indices([chunk], box, False)


def places_of(case: Case) -> Iterator[tuple[Place, Place, Place]]:
    """Every place of the array, the chunk that it is in, and the place within that."""
    grid = case.metadata.chunk_grid
    for coords in product(*map(range, grid.grid_shape(case.shape))):
        origin = grid.origin_of(coords)
        for inside in np.ndindex(grid.shape_of(coords)):
            place = tuple(start + i for start, i in zip(origin, inside, strict=True))
            if all(i < n for i, n in zip(place, case.shape, strict=True)):
                yield place, coords, inside


def _marked(case: Case) -> np.ndarray:
    """Where the second one writes."""
    marked = np.zeros(case.shape, bool)
    marked[case.patch] = True
    return marked
