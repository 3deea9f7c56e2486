"""Fields of records: what comes out equals the field of whole records, wherever chunks come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import MemoryStore

POINT = np.dtype([("x", "<f4"), ("y", "<i2")])
FIELDS: list[Any] = [("a", "<i8"), ("b", "i1"), ("c", "<f4"), ("s", "S3"), ("p", POINT), ("u", "<U2")]
RECORD = np.dtype(FIELDS)
RECORD_2 = np.dtype([*FIELDS, ("v", "<u2", (2, 3))])  # format 3 has no arrays in records
SHAPE = (23, 17)

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"compressors": None},
    "blosc": {},
    "gzip": {"compressors": {"name": "gzip", "configuration": {"level": 1}}},
    "big": {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
    "transposed": {"filters": [{"name": "transpose", "configuration": {"order": [1, 0]}}]},
    "shards": {"shards": (12, 8)},
    "big shards": {"shards": (12, 8), "serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
    "format 2": {"zarr_format": 2},
    "format 2, F": {"zarr_format": 2, "order": "F", "filters": [{"id": "shuffle", "elementsize": 4}]},
}


def records(dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(1)
    values = np.zeros(SHAPE, dtype)
    values["a"] = rng.integers(-(2**40), 2**40, SHAPE)
    values["b"] = rng.integers(-100, 100, SHAPE)
    values["c"] = rng.normal(size=SHAPE)
    values["s"] = rng.integers(0, 999, SHAPE).astype("S3")
    values["p"]["x"], values["p"]["y"] = rng.normal(size=SHAPE), rng.integers(-9, 9, SHAPE)
    values["u"] = rng.integers(0, 99, SHAPE).astype("U2")
    if "v" in dtype.names:
        values["v"] = rng.integers(0, 2**16, (*SHAPE, 2, 3))
    return values


@pytest.fixture(params=list(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path: Any) -> tuple[zarrcore.Array, np.ndarray]:
    """An array, some chunks of which are not stored, and its values."""
    store = MemoryStore() if len(request.param) % 2 else tmp_path / "array"
    dtype = RECORD_2 if "zarr_format" in KINDS[request.param] else RECORD
    values = records(dtype)
    array = zarrcore.create_array(
        store, shape=SHAPE, chunks=(6, 4), dtype=dtype, fill_value=values[0, 0], **KINDS[request.param]
    )
    array[...] = values
    values[6:12, 4:8] = values[0, 0]
    values[12:, 8:] = values[0, 0]
    array[6:12, 4:8] = values[0, 0]
    array[12:, 8:] = values[0, 0]
    assert type(array._compiled()).__name__ == "NativeArray"
    return array, values


@pytest.mark.parametrize("name", RECORD_2.names)
def test_a_field_of_every_selection(pair: tuple[zarrcore.Array, np.ndarray], name: str) -> None:
    array, values = pair
    if name not in array.dtype.names:
        pytest.skip("format 3 has no arrays in records")
    wanted = values[name]
    for selection in (..., (slice(3, 20, 3), slice(None, None, -2)), (5, slice(2, 9)), (slice(0, 0),)):
        found = array.get_basic_selection(selection, fields=name)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted[selection])
    np.testing.assert_array_equal(array[name], wanted)
    np.testing.assert_array_equal(array[name, 22, 16], wanted[22, 16])
    rows, columns = np.array([3, 22, 0, 7, 7]), np.array([16, 1, 5, 5, 9])
    np.testing.assert_array_equal(array.oindex[name, rows, columns], wanted[np.ix_(rows, columns)])
    np.testing.assert_array_equal(array.vindex[name, rows, columns], wanted[rows, columns])


@pytest.mark.parametrize(
    "names", [["c", "a"], ["a", "b"], ["b", "c", "s"], ["u", "p"], ["p"], ["v", "a", "u"], ["s", "v"]]
)
def test_several_fields(pair: tuple[zarrcore.Array, np.ndarray], names: list[str]) -> None:
    array, values = pair
    if not set(names) <= set(array.dtype.names):
        pytest.skip("format 3 has no arrays in records")
    wanted = np.empty(SHAPE, [(name, values.dtype[name]) for name in names])
    for name in names:
        wanted[name] = values[name]
    for selection in (
        ...,
        slice(2, 9),
        (slice(3, 20, 3), slice(None, None, -2)),
        (5, slice(2, 9)),
        (slice(0, 0),),
    ):
        found = array.get_basic_selection(selection, fields=names)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted[selection])
    np.testing.assert_array_equal(array.get_basic_selection((22, 16), fields=names), wanted[22, 16])
    rows, columns = np.array([3, 22, 0, 7, 7]), np.array([16, 1, 5, 5, 9])
    found = array.get_orthogonal_selection((rows, columns), fields=names)
    np.testing.assert_array_equal(found, wanted[np.ix_(rows, columns)])
    found = array.get_coordinate_selection((rows, columns), fields=names)
    np.testing.assert_array_equal(found, wanted[rows, columns])


def test_several_fields_touch_no_other_bytes(pair: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = pair
    layout = np.dtype({"names": ["s", "a"], "formats": ["S3", "<i8"], "offsets": [20, 3], "itemsize": 30})
    raw = np.full((*SHAPE, layout.itemsize), 7, np.uint8)
    out = raw.view(layout)[..., 0]
    array._compiled().read([(0, 1, n) for n in SHAPE], out, field=("a", "s"))
    np.testing.assert_array_equal(out["s"], values["s"])
    np.testing.assert_array_equal(out["a"], values["a"])
    assert (np.delete(raw, [*range(3, 11), *range(20, 23)], axis=-1) == 7).all()


def test_memory_of_the_caller(pair: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = pair
    out = np.empty((17, 23), "<f4").T
    array.get_basic_selection(..., fields="c", out=out)
    np.testing.assert_array_equal(out, values["c"])
    with pytest.raises((TypeError, ValueError)):
        array.get_basic_selection(..., fields="c", out=np.empty(SHAPE, "f8"))


def test_the_engine_checks_the_memory(pair: tuple[zarrcore.Array, np.ndarray]) -> None:
    engine = pair[0]._compiled()
    dims = [(0, 1, n) for n in SHAPE]
    with pytest.raises(ValueError, match="dtype"):
        engine.read(dims, np.empty(SHAPE, "<i8"), field="c")
    with pytest.raises(KeyError):
        engine.read(dims, np.empty(SHAPE, "<i8"), field="nothing")
    for dtype in ("<i8", [("a", "<i8")], [("a", "<i8"), ("c", "<f8")]):
        with pytest.raises(ValueError, match="expected the field 'c' of float32"):
            engine.read(dims, np.empty(SHAPE, dtype), field=("c", "a"))
