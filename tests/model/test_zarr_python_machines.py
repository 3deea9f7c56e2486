# SPDX-License-Identifier: MIT
"""The state machines by which zarr-python judges stores, over stores of zarrcore; a second judge.

Arrays and groups are those of zarr-python there, as `as_zarr` makes them: stores and engine are ours.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, seed, settings, strategies
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from small_store import SmallStore

from zarrcore.errors import StoreError
from zarrcore.storage import CacheStore, LocalStore, MemoryStore, WrapperStore

zarr = pytest.importorskip("zarr")
stateful = pytest.importorskip("zarr.testing.stateful")

from zarrcore.integrations.zarr_python import ZarrcoreStore  # noqa: E402

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
    pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning"),
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]

SOAK = int(os.environ.get("ZC_SOAK", "1"))
SEED = int(os.environ.get("ZC_SEED", "20261123"))
SETTINGS = settings(
    max_examples=3 * SOAK,
    stateful_step_count=25,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
STORES: dict[str, Any] = {
    "memory": lambda path: MemoryStore(),
    "local": LocalStore,
    "wrapped": lambda path: WrapperStore(LocalStore(path)),
    "small": lambda path: SmallStore(),
    "cached": lambda path: CacheStore(LocalStore(path / "far"), path / "near", max_bytes=1 << 20),
}


IN_DIRECTORIES = ("local", "wrapped", "cached")


class Hierarchy(stateful.ZarrHierarchyStateMachine):  # type: ignore[misc, name-defined]
    """Of a place that an index names twice NumPy and zarrcore keep the last value.

    zarr-python keeps any: it sorts places by their chunk, and equal ones may change their order.  So both are
    given one value for each place.
    """

    @precondition(lambda self: bool(self.all_arrays))
    @rule(data=strategies.data())
    def overwrite_array_orthogonal_indexing(self, data: Any) -> None:
        path = data.draw(strategies.sampled_from(sorted(self.all_arrays)))
        theirs, ours = (zarr.open_array(store, path=path) for store in (self.model, self.store))
        index, of_numpy = data.draw(stateful.orthogonal_indices(shape=theirs.shape))
        values = data.draw(stateful.npst.arrays(shape=theirs.oindex[index].shape, dtype=theirs.dtype))
        written = np.empty(theirs.shape, theirs.dtype)
        written[of_numpy] = values.reshape(written[of_numpy].shape)
        values = written[of_numpy].reshape(values.shape)
        theirs.oindex[index] = values
        ours.oindex[index] = values


class OfDirectories(Hierarchy):
    """A directory stays, and is listed, where all values were removed: their LocalStore is let off."""

    @precondition(lambda self: bool(self.all_groups))
    @rule(data=strategies.data())
    def check_list_dir(self, data: Any) -> None:
        path = self.draw_directory(data).rstrip("/")
        there = sorted(self._sync_iter(self.model.list_dir(path)))
        listed = sorted(self._sync_iter(self.store.list_dir(path)))
        empty = [name for name in listed if name not in there]
        assert [name for name in listed if name not in empty] == there
        for name in empty:
            assert self._sync_iter(self.store.list_prefix(f"{path}/{name}/")) == []


class StoreOfDirectories(stateful.ZarrStoreStateMachine):  # type: ignore[misc, name-defined]
    """No file lies below another: of two such keys the second is refused, and nothing changes."""

    @rule(key=stateful.zarr_keys(), data=strategies.binary(max_size=stateful.MAX_BINARY_SIZE))
    def set(self, key: str, data: bytes) -> None:
        others = [other for other in self.model if other != key]
        if not any(f"{a}/".startswith(f"{b}/") for other in others for a, b in ((key, other), (other, key))):
            super().set(key, data)
            return
        with pytest.raises(StoreError):
            self.store.set(key, zarr.core.buffer.cpu.Buffer.from_bytes(data))


MACHINES = {
    "ZarrStoreStateMachine": (stateful.ZarrStoreStateMachine, StoreOfDirectories),
    "ZarrHierarchyStateMachine": (Hierarchy, OfDirectories),
}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", MACHINES)
def test_machines_of_zarr_python(name: str, kind: str, tmp_path: Path) -> None:
    machine: Any = MACHINES[name][kind in IN_DIRECTORIES]
    store = STORES[kind](tmp_path)

    @seed(SEED)
    def make() -> Any:
        return machine(ZarrcoreStore(store))

    run_state_machine_as_test(make, settings=SETTINGS)
