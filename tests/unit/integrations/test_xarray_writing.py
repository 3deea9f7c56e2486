"""Variables of xarray in stores over a network: many are stored at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meeting_store import MeetingStore

import zarrcore

xr = pytest.importorskip("xarray")
ours = pytest.importorskip("zarrcore.xarray")

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part")
NAMES = [f"v{number}" for number in range(4)]
DOCUMENTS, CHUNKS = r"^v\d/(zarr\.json|\.zarray)$", r"^v\d/(c/)?\d"


@pytest.fixture
def ds() -> Any:
    return xr.Dataset({name: ("x", np.arange(6) * 10.0 + at) for at, name in enumerate(NAMES)})


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_variables_waited_for_each_other(ds: Any, zarr_format: int) -> None:
    store = MeetingStore()
    store.meet(DOCUMENTS, len(NAMES))
    ours.to_zarr(ds, store, mode="w", zarr_format=zarr_format)
    store.meet(CHUNKS, len(NAMES))
    ours.to_zarr(ds + 1, store, mode="a", consolidated=True)
    ours.to_zarr(ds, store, mode="a", append_dim="x", consolidated=True)
    assert zarrcore.check_consolidated(store) == ()
    expected = xr.concat([ds + 1, ds], "x")
    xr.testing.assert_identical(xr.open_dataset(store, engine="zarrcore").load(), expected)


def test_variables_of_dask_are_not_mixed_up(ds: Any) -> None:
    pytest.importorskip("dask")
    many = xr.Dataset({f"w{number}": ("x", np.full(6, number)) for number in range(60)}).chunk(x=2)
    store = MeetingStore()
    ours.to_zarr(many.merge(ds), store, mode="w")
    xr.testing.assert_equal(xr.open_dataset(store, engine="zarrcore").load(), many.merge(ds).compute())


def test_large_variables_are_stored_one_after_the_other() -> None:
    large = xr.Dataset({name: (name, np.arange(1 << 20, dtype="f8") + 1) for name in NAMES[:2]})
    large["small"] = "y", np.arange(3)
    store = MeetingStore()
    ours.to_zarr(large * 1, store, mode="w")
    xr.testing.assert_identical(xr.open_dataset(store, engine="zarrcore").load(), large.set_coords([]))


def test_a_variable_that_cannot_be_stored(ds: Any) -> None:
    store = MeetingStore()
    with pytest.raises(ValueError, match="chunkz"):
        ours.to_zarr(ds, store, mode="w", encoding={"v2": {"chunkz": 3}})
    for name, array in zarrcore.open_group(store, mode="r").arrays():
        assert np.array_equal(array[...], ds[name])


def test_documents_were_read_again_after_they_had_been_consolidated(ds: Any) -> None:
    class Store(MeetingStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, value)
            self.asked.append(f"stored {key}")

    store = Store()
    ours.to_zarr(ds, store, mode="w", zarr_format=3)
    consolidated = len(store.asked) - store.asked[::-1].index("stored zarr.json")
    assert "v1/zarr.json" not in store.asked[consolidated:]
    # As nodes are collected, after a look whether one is there; and before values are stored that come late.
    assert store.asked.count("v1/zarr.json") <= 3, store.asked
    assert zarrcore.check_consolidated(store) == ()
