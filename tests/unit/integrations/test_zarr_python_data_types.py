"""Data types that packages registered with zarr-python by entry points are found by their names."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.dtypes import data_type_registry
from zarrcore.errors import DataTypeValidationError, MetadataValidationError

zarr = pytest.importorskip("zarr")

PACKAGE = """
from dataclasses import dataclass
import numpy as np
from zarr.core.dtype import UInt16


@dataclass(frozen=True, kw_only=True)
class Cents(UInt16):
    _zarr_v3_name = "shop.cents"
    most: int = 1000

    @classmethod
    def _from_json_v3(cls, data):
        if not isinstance(data, dict) or data.get("name") != "shop.cents":
            raise ValueError("no cents")
        return cls(**data.get("configuration", {}))

    def to_json(self, zarr_format):
        return {"name": "shop.cents", "configuration": {"most": self.most}}

    def cast_scalar(self, data):
        if data > self.most:
            raise ValueError("too much money")
        return np.uint16(data)
"""
ENTRY_POINTS = "[zarr.data_type]\ncoins = shop_types:Cents\nbroken = shop_broken:Broken\n"
CENTS = {"name": "shop.cents", "configuration": {"most": 500}}


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install the package, on sys.path alone; zarr-python has looked for entry points before."""
    declared = tmp_path / "site" / "shop_types-1.dist-info"
    declared.mkdir(parents=True)
    (declared.parent / "shop_types.py").write_text(PACKAGE)
    (declared.parent / "shop_broken.py").write_text("raise RuntimeError('no licence')")
    (declared / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-types\nVersion: 1\n")
    (declared / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(declared.parent))
    monkeypatch.setattr(data_type_registry, "_classes", dict(data_type_registry._classes))
    monkeypatch.setattr(data_type_registry, "_searched", False)
    import shop_types  # type: ignore[import-not-found]

    theirs = zarr.core.dtype.data_type_registry
    monkeypatch.setitem(theirs.contents, "shop.cents", shop_types.Cents)
    yield shop_types
    del sys.modules["shop_types"]


@pytest.mark.parametrize("options", [{}, {"shards": (4, 4)}], ids=["chunks", "shards"])
def test_both_libraries_read_what_the_other_wrote(shop: Any, options: dict[str, Any], tmp_path: Path) -> None:
    values = np.arange(40, dtype="u2").reshape(8, 5)
    theirs = zarr.create_array(
        tmp_path / "theirs", shape=(8, 5), chunks=(2, 2), dtype=shop.Cents(most=500), fill_value=7, **options
    )
    theirs[:6] = values[:6]
    ours = zarrcore.open_array(tmp_path / "theirs", mode="r+")
    assert ours.metadata.to_dict()["data_type"] == CENTS and ours.fill_value == 7 and ours.dtype == "u2"
    assert np.array_equal(ours[:], theirs[:]) and (ours[6:] == 7).all()
    ours[6:, 1:] = values[6:, 1:]
    assert np.array_equal(zarr.open_array(tmp_path / "theirs", mode="r")[:], ours[:])
    again = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(again[:], ours[:]) and again.metadata == ours.metadata
    made = zarrcore.create_array(tmp_path / "ours", shape=(8, 5), chunks=(2, 2), dtype=CENTS, **options)
    made[:] = values
    assert np.array_equal(zarr.open_array(tmp_path / "ours", mode="r")[:], values)


def test_what_the_package_refuses_names_it() -> None:
    with pytest.raises(
        MetadataValidationError, match=r"'shop.cents' of the package shop-types refuses .*too much"
    ):
        zarrcore.create_array({}, shape=4, dtype=CENTS, fill_value=501)
    with pytest.raises(DataTypeValidationError, match="no name in format 2"):
        zarrcore.create_array({}, shape=4, dtype=CENTS, zarr_format=2)


def test_dtypes_of_numpy_are_never_taken_for_one_of_others() -> None:
    assert zarrcore.create_array({}, shape=4, dtype=CENTS).dtype == "u2"
    assert zarrcore.create_array({}, shape=4, dtype="u2").metadata.to_dict()["data_type"] == "uint16"
    with pytest.raises(DataTypeValidationError, match="no Zarr data type stands for"):
        zarrcore.create_array({}, shape=4, dtype=np.dtype("g"))


def test_a_package_that_cannot_be_imported_is_named_to_those_who_ask_for_it() -> None:
    with pytest.raises(DataTypeValidationError, match="'broken' cannot be imported.*no licence.*shop-types"):
        zarrcore.create_array({}, shape=4, dtype={"name": "broken", "configuration": {"a": 1}})
    with pytest.raises(DataTypeValidationError, match="unknown data type 'nothing-like-it'"):
        zarrcore.create_array({}, shape=4, dtype={"name": "nothing-like-it", "configuration": {"a": 1}})
