# SPDX-License-Identifier: MIT
"""The state machines by which zarr-python judges stores, over stores of zarrcore; a second judge.

Arrays and groups are those of zarr-python there, as `as_zarr` makes them: stores and engine are ours.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from small_store import SmallStore

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


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("name", ["ZarrStoreStateMachine", "ZarrHierarchyStateMachine"])
def test_machines_of_zarr_python(name: str, kind: str, tmp_path: Path) -> None:
    machine = getattr(stateful, name)
    store = STORES[kind](tmp_path)
    # What they ask stores of files about empty directories is asked of any that is no LocalStore of theirs.

    @seed(SEED)
    def make() -> Any:
        return machine(ZarrcoreStore(store))

    run_state_machine_as_test(make, settings=SETTINGS)
