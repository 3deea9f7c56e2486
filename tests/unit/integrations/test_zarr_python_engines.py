"""Engines as zarr-python drafts them: what its arrays read and write, without them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")

from zarr.core import indexing  # noqa: E402

from zarrcore.integrations.zarr_python import (  # noqa: E402
    ArrayEngine,
    AsyncArrayEngine,
    AsyncHierarchyEngine,
    HierarchyEngine,
)

VALUES = np.arange(23 * 17, dtype="i4").reshape(23, 17)
INDEXERS = {
    "basic": indexing.BasicIndexer,
    "orthogonal": indexing.OrthogonalIndexer,
    "coordinate": indexing.CoordinateIndexer,
    "mask": indexing.MaskIndexer,
    "block": indexing.BlockIndexer,
}


@dataclass(frozen=True)
class Request:
    """What the draft calls a SelectionRequest, in words of our own."""

    kind: str
    selection: Any
    shape: tuple[int, ...]
    chunk_grid: Any

    @cached_property
    def indexer(self) -> Any:
        return INDEXERS[self.kind](self.selection, self.shape, self.chunk_grid)


def request(array: Any, kind: str, selection: Any) -> Request:
    grid = getattr(array, "_chunk_grid", None) or array.metadata.chunk_grid
    return Request(kind, selection, array.shape, grid)


SELECTIONS: list[tuple[str, Any]] = [
    ("basic", (slice(2, 20, 3), slice(1, 5))),
    ("basic", (3, 4)),
    ("basic", ...),
    ("orthogonal", (np.array([7, 1, 4]), [0, 8])),
    ("orthogonal", (3, 4)),
    ("coordinate", (np.array([9, 0, 3]), np.array([8, 0, 2]))),
    ("mask", VALUES % 7 == 0),
    ("block", (1, slice(1, 3))),
]
PROTOTYPE = zarr.core.buffer.default_buffer_prototype()


@pytest.mark.parametrize("kind,selection", SELECTIONS, ids=str)
def test_selections_are_those_of_arrays(kind: str, selection: Any, tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "a", data=VALUES, chunks=(5, 6))
    model = zarr.create_array({}, data=VALUES, chunks=(5, 6))
    config = getattr(array._async_array, "config", None) or array._async_array._config
    engine = HierarchyEngine(array.store).array_engine(array.path, array.metadata, config)
    other = AsyncHierarchyEngine(array.store).array_engine(array.path, array.metadata)
    assert type(engine) is ArrayEngine and type(other) is AsyncArrayEngine
    wanted = request(array, kind, selection)
    expected = getattr(model, f"get_{kind}_selection")(selection)
    found = engine.read_selection(wanted, prototype=PROTOTYPE)
    assert type(found) is type(expected) and np.array_equal(found, expected)
    assert np.array_equal(asyncio.run(other.read_selection(wanted, prototype=PROTOTYPE)), expected)
    out = zarr.core.buffer.cpu.NDBuffer.from_numpy_array(np.zeros(np.shape(expected), "f8"))
    engine.read_selection(wanted, prototype=PROTOTYPE, out=out)
    assert np.array_equal(out.as_numpy_array(), expected)
    for value in (-np.asarray(expected), 3.5):
        engine.write_selection(wanted, value, prototype=PROTOTYPE)
        getattr(model, f"set_{kind}_selection")(selection, value)
        assert np.array_equal(array[:], model[:])
    asyncio.run(other.write_selection(wanted, 9, prototype=PROTOTYPE))
    getattr(model, f"set_{kind}_selection")(selection, 9)
    assert np.array_equal(array[:], model[:])


def test_new_metadata_make_a_new_engine() -> None:
    array = zarr.create_array({}, data=VALUES, chunks=(5, 6))
    engine = HierarchyEngine(array.store).array_engine("", array.metadata)
    array.resize((30, 17))
    again = engine.with_metadata(array.metadata)
    assert again.read_selection(request(array, "basic", ...)).shape == (30, 17)


@pytest.mark.filterwarnings("ignore:The codec")  # of 3.1, about strings in format 3
def test_what_an_engine_does_not_take_is_an_error() -> None:
    array = zarr.create_array({}, data=VALUES, chunks=(5, 6))
    engine = HierarchyEngine(array.store).array_engine("", array.metadata)
    with pytest.raises(indexing.NegativeStepError):  # as zarr-python has it
        engine.read_selection(request(array, "basic", slice(None, None, -1)))
    with pytest.raises(IndexError):
        engine.read_selection(request(array, "basic", 99))
    with pytest.raises(NotImplementedError, match="values"):
        engine.write_selection(request(array, "basic", slice(0, 4)), np.zeros((1, 17)))
    with pytest.raises(NotImplementedError, match="fields"):
        engine.read_selection(request(array, "basic", ...), fields="a")
    text = zarr.create_array({}, shape=3, dtype=str)
    with pytest.raises(ValueError, match="does not take the array"):
        HierarchyEngine(text.store).array_engine("", text.metadata)
