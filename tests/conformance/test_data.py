# SPDX-License-Identifier: MIT
"""Data sets of other implementations (tests/data) are read as their writers meant them."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

DATA = Path(__file__).parents[1] / "data"
ENTRIES = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))
ARRAYS = [entry for entry in ENTRIES if entry["kind"] == "array"]
GROUPS = [entry for entry in ENTRIES if entry["kind"] == "group"]
WRITERS = {"netcdf-c", "tensorstore", "zarr-python-2", "zarr-python-3", "zarrita", "zarrs"}

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # types without a stable specification


def named(entries: list[dict]) -> Any:
    return pytest.mark.parametrize("entry", entries, ids=[entry["id"] for entry in entries])


def open_entry(entry: dict, **options: Any) -> Any:
    return zarrcore.open(DATA / entry["store"], path=entry["path"], mode="r", **options)


# ---- elements as bytes that can be compared ------------------------------------------------------


def numpy_dtype(spec: Any) -> np.dtype:
    """The data type that an entry describes: a type string, or fields (name, type[, shape])."""
    if isinstance(spec, str):
        return np.dtype(spec)
    return np.dtype([(name, numpy_dtype(kind), *map(tuple, shape)) for name, kind, *shape in spec])


def plain_bytes(values: np.ndarray) -> bytes:
    """C order, little-endian; the fields of structured elements one after another."""
    if values.dtype.names is not None:
        return b"".join(plain_bytes(values[name]) for name in values.dtype.names)
    if values.dtype.kind in "mM":
        values = values.view(values.dtype.str[0] + "i8")
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def object_bytes(values: np.ndarray) -> bytes:
    items = values.ravel().tolist()
    items = [base64.b64encode(item).decode() if isinstance(item, bytes) else item for item in items]
    return json.dumps(items, separators=(",", ":")).encode()


def result_bytes(result: Any, spec: dict) -> bytes:
    if "obj" in spec:
        return object_bytes(np.asarray(result, dtype=object))
    values, wanted = np.asarray(result), numpy_dtype(spec["np"])
    if values.ndim == 0 and wanted.kind in "SU":
        values = values.astype(wanted)  # a numpy string scalar has lost its padding
    assert (values.dtype.kind, values.dtype.itemsize) == (wanted.kind, wanted.itemsize)
    return plain_bytes(values)


def expected_bytes(entry: dict) -> tuple[tuple[int, ...], bytes]:
    path = DATA / entry["expected"]
    if path.suffix == ".npy":
        values = np.load(path)
        return values.shape, plain_bytes(values)
    items = json.loads(path.read_text(encoding="utf-8"))
    return tuple(entry["shape"]), json.dumps(items, separators=(",", ":")).encode()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ---- selections ----------------------------------------------------------------------------------


def selector(item: Any) -> Any:
    if isinstance(item, int):
        return item
    if item == "...":
        return Ellipsis
    (kind, value), *_ = item.items()
    return slice(*value) if kind == "s" else np.array(value, dtype={"i": np.intp, "b": bool}[kind])


def select(array: Any, selection: dict) -> Any:
    items = tuple(map(selector, selection["sel"]))
    key = items[0] if len(items) == 1 else items
    by = {"oindex": array.oindex, "vindex": array.vindex, "mask": array.vindex, "blocks": array.blocks}
    return by.get(selection["kind"], array)[key]


def check_selection(array: Any, entry: dict, selection: dict) -> None:
    if "raises" in selection:
        with pytest.raises(Exception) as caught:
            select(array, selection)
        assert selection["raises"] in [cls.__name__ for cls in type(caught.value).__mro__]
        return
    result = select(array, selection)
    assert np.shape(result) == tuple(selection["shape"])
    assert digest(result_bytes(result, entry["dtype"])) == selection["sha256"]


# ---- tests ---------------------------------------------------------------------------------------


def test_every_writer_is_there() -> None:
    assert {Path(entry["store"]).parts[1] for entry in ENTRIES} == WRITERS
    assert all((DATA / entry["store"]).is_dir() for entry in ENTRIES)


@named(ARRAYS)
def test_contents(entry: dict) -> None:
    array = open_entry(entry)
    shape, data = expected_bytes(entry)
    assert array.shape == shape == tuple(entry["shape"])
    assert result_bytes(array[...], entry["dtype"]) == data


@named(ARRAYS)
def test_metadata(entry: dict) -> None:
    array = open_entry(entry, zarr_format=entry["zarr_format"])
    assert array.metadata.zarr_format == entry["zarr_format"]
    if "attrs" in entry:
        assert dict(array.attrs) == entry["attrs"]
    if "chunks" in entry:
        assert array.chunks == tuple(entry["chunks"])
    if "dimension_names" in entry:
        assert array.metadata.dimension_names == tuple(entry["dimension_names"])
    if "np" in entry["dtype"]:
        wanted = numpy_dtype(entry["dtype"]["np"])
        native = entry["zarr_format"] == 3
        assert array.dtype == (wanted.newbyteorder("=") if native else wanted)


@named([entry for entry in ARRAYS if "fill" in entry])
def test_fill_value(entry: dict) -> None:
    value, wanted = open_entry(entry).fill_value, entry["fill"]
    if wanted.get("none"):
        assert value is None
    elif "value" in wanted:
        assert value == wanted["value"]
    else:
        element = np.asarray(value).astype(numpy_dtype(entry["dtype"]["np"]).newbyteorder("="))
        assert plain_bytes(element).hex() == wanted["hex"]


@named(ARRAYS)
def test_selections(entry: dict) -> None:
    array = open_entry(entry)
    assert entry["selections"]
    for selection in entry["selections"]:
        check_selection(array, entry, selection)


@named(GROUPS)
def test_group(entry: dict) -> None:
    group = open_entry(entry)
    assert dict(group.attrs) == entry["attrs"]
    found = dict(group.members(max_depth=None))
    assert set(found) == {member["path"] for member in entry["members"]}
    for member in entry["members"]:
        node = found[member["path"]]
        assert isinstance(node, zarrcore.Array if member["kind"] == "array" else zarrcore.Group)
        assert dict(node.attrs) == member["attrs"]
        if member["kind"] == "array":
            assert node.shape == tuple(member["shape"])
            assert digest(result_bytes(node[...], member["dtype"])) == member["sha256"]


@named(GROUPS)
def test_tree(entry: dict) -> None:
    """What is printed of a hierarchy names every member."""
    text = str(open_entry(entry).tree())
    for member in entry["members"]:
        assert member["path"].rpartition("/")[2] in text
