"""xarray over zarrcore: what xarray's own backend writes is read, and what is written is read by it."""

from __future__ import annotations

import asyncio
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkError

xr = pytest.importorskip("xarray")
ours = pytest.importorskip("zarrcore.xarray")

pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part")
ENGINE = ours.ZarrcoreBackendEntrypoint


@pytest.fixture
def ds() -> Any:
    rng = np.random.default_rng(7)
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), rng.random((6, 4, 5)), {"units": "K"}),
            "n": (("y", "x"), rng.integers(0, 9, (4, 5)).astype("i2")),
            "flag": (("time",), np.array([True, False] * 3)),
            "word": (("y",), np.array(["a", "bc", "", "déf"], dtype=object)),
        },
        coords={
            "time": np.datetime64("2026-01-01", "ns") + np.arange(6) * np.timedelta64(6, "h"),
            "y": [1.5, 2.5, 3.5, 4.5],
            "x": list("vwxyz"),
            "level": 7,
        },
        attrs={"title": "test", "version": 2},
    )


@pytest.mark.parametrize("zarr_format", [2, 3])
class TestBesideXarraysOwnBackend:
    pytest.importorskip("zarr", minversion="3.1")

    def test_what_it_wrote_is_read_alike(self, ds: Any, tmp_path: Path, zarr_format: int) -> None:
        ds.to_zarr(tmp_path / "a", zarr_format=zarr_format)
        with (
            xr.open_dataset(tmp_path / "a", engine="zarr") as theirs,
            xr.open_dataset(tmp_path / "a", engine=ENGINE) as read,
        ):
            xr.testing.assert_identical(theirs.load(), read.load())
            for name in theirs.variables:
                assert read[name].encoding["chunks"] == theirs[name].encoding["chunks"]

    def test_what_is_written_it_reads_alike(self, ds: Any, tmp_path: Path, zarr_format: int) -> None:
        ours.to_zarr(ds, tmp_path / "a", zarr_format=zarr_format)
        ds.to_zarr(tmp_path / "b", zarr_format=zarr_format)
        with (
            xr.open_dataset(tmp_path / "a", engine="zarr") as written,
            xr.open_dataset(tmp_path / "b", engine="zarr") as expected,
        ):
            xr.testing.assert_identical(written.load(), expected.load())

    def test_nan_in_attributes_is_written_as_there(self, tmp_path: Path, zarr_format: int) -> None:
        ds = xr.Dataset(
            {"t": ("x", [1.0, np.nan], {"bounds": [0.0, np.inf]})}, attrs={"limit": np.float32("nan")}
        )
        ds.t.encoding.update(missing_value=np.nan, _FillValue=np.nan)
        ours.to_zarr(ds, tmp_path / "a", zarr_format=zarr_format)
        with (
            xr.open_dataset(tmp_path / "a", engine="zarr") as written,
            xr.open_dataset(tmp_path / "a", engine=ENGINE) as read,
        ):
            xr.testing.assert_identical(written.load(), read.load())
            assert np.isnan(read.t.encoding["missing_value"]) and read.t.attrs["bounds"] == [0.0, np.inf]
            ours.to_zarr(read, tmp_path / "b", zarr_format=zarr_format)

    def test_encodings_serve_for_writing_with_it(self, ds: Any, tmp_path: Path, zarr_format: int) -> None:
        ds = (
            ds.drop_vars("word") if zarr_format == 2 else ds
        )  # what xarray reads it cannot write, on any engine
        compressor: dict[str, Any] = {"id": "zstd", "level": 3}
        if zarr_format == 3:
            compressor = {"name": "zstd", "configuration": {"level": 3, "checksum": True}}
        encoding = {"t": {"compressors": (compressor,), "chunks": (2, 4, 5)}}
        ours.to_zarr(ds, tmp_path / "a", zarr_format=zarr_format, encoding=encoding)
        with xr.open_dataset(tmp_path / "a", engine=ENGINE) as read:
            read.to_zarr(tmp_path / "b", zarr_format=zarr_format)
        copied = zarrcore.open_array(tmp_path / "b" / "t")
        assert copied.chunks == (2, 4, 5)
        assert copied.compressors == zarrcore.open_array(tmp_path / "a" / "t").compressors

    def test_after_install_its_functions_are_ours_until_the_end(
        self, ds: Any, tmp_path: Path, zarr_format: int
    ) -> None:
        before = xr.backends.ZarrStore
        with ours.install():
            stored = ds.to_zarr(tmp_path / "a", zarr_format=zarr_format)
            assert isinstance(stored.zarr_group, zarrcore.Group)
            read = xr.open_zarr(tmp_path / "a", chunks=None)
            xr.testing.assert_identical(read.load(), xr.open_dataset(tmp_path / "a", engine=ENGINE).load())
        assert xr.backends.ZarrStore is before
        assert xr.open_zarr(tmp_path / "a", chunks=None)._close.__self__.__class__ is before

    def test_after_install_its_default_format_rules(self, ds: Any, tmp_path: Path, zarr_format: int) -> None:
        zarr = pytest.importorskip("zarr")
        with ours.install(), zarr.config.set(default_zarr_format=zarr_format):
            for name, mode in (("a", "w"), ("b", "a")):
                stored = ds.to_zarr(tmp_path / name, mode=mode)
                assert stored.zarr_group.metadata.zarr_format == zarr_format
            with zarr.config.set(default_zarr_format=5 - zarr_format):
                again = ds.to_zarr(tmp_path / "b", mode="a")
            assert again.zarr_group.metadata.zarr_format == zarr_format


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_data_set_comes_back(ds: Any, zarr_format: int) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds, store, zarr_format=zarr_format)
    xr.testing.assert_equal(xr.open_dataset(store, engine=ENGINE).load(), ds)
    assert zarrcore.open_group(store).metadata.consolidated_metadata is not None


@pytest.mark.parametrize(
    "pick",
    [
        {"time": slice(None, None, -1)},
        {"time": slice(5, 0, -2), "x": slice(None, None, -3)},
        {"time": [3, 0, 3], "x": [1, 4]},
        {"time": -1, "y": slice(1, 3)},
        {"time": ("point", [0, 5, 2]), "x": ("point", [4, 0, 1])},
        {"time": np.array([True, False, False, True, False, True])},
    ],
)
def test_selections_are_as_in_memory(ds: Any, pick: dict[str, Any]) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds, store, encoding={"t": {"chunks": (2, 3, 2), "shards": (4, 6, 4)}})
    pick = {name: xr.Variable(*item) if isinstance(item, tuple) else item for name, item in pick.items()}
    read = xr.open_dataset(store, engine=ENGINE)
    xr.testing.assert_equal(read.t.isel(pick).load(), ds.t.isel(pick))
    again = xr.open_dataset(store, engine=ENGINE).t.isel(pick)
    xr.testing.assert_equal(asyncio.run(again.load_async()), ds.t.isel(pick))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The paths of the arrays of each call of read_many; any other read fails."""
    found: list[list[str]] = []

    def noting(requests: Any) -> Any:
        found.append(sorted(array.path for array, _ in requests))
        return zarrcore.arrays.batches.read_many(requests)

    def refuse(self: Any, selection: Any) -> Any:
        raise AssertionError(f"{self.path!r} is read on its own")

    monkeypatch.setattr(zarrcore, "read_many", noting)
    monkeypatch.setattr(zarrcore.Array, "__getitem__", refuse)
    return found


def test_coordinates_are_read_in_one_call_before_the_data_set_is_returned(
    ds: Any, calls: list[list[str]]
) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds, store)
    read = xr.open_dataset(store, engine=ENGINE)
    assert calls == [["level", "time", "x", "y"]]
    np.testing.assert_array_equal(read.x, ds.x)
    assert read.level == 7
    assert len(calls) == 1


def test_indexes_of_all_groups_of_a_tree_are_read_in_one_call(ds: Any, calls: list[list[str]]) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(xr.DataTree.from_dict({f"/g{i}": ds[["t"]] for i in range(3)}), store)
    read = xr.open_datatree(store, engine=ENGINE)
    assert [len(call) for call in calls] == [12]
    xr.testing.assert_equal(read["g1"].time, ds.time)


def test_a_data_set_is_loaded_in_one_call(ds: Any, calls: list[list[str]]) -> None:
    store: dict[str, bytes] = {}
    ds["packed"] = ("time", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], {})
    ours.to_zarr(ds, store, encoding={"packed": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}})
    read = xr.open_dataset(store, engine=ENGINE)
    calls.clear()
    xr.testing.assert_equal(ours.load(read), ds)
    assert calls == [["flag", "n", "packed", "t", "word"]]
    calls.clear()
    ours.load(read)
    assert calls == []
    with ours.install():
        again = xr.open_zarr(store, chunks=None)
        calls.clear()
        xr.testing.assert_equal(again.compute(), ds)
        assert calls == [["flag", "n", "packed", "t", "word"]]


def test_loading_reads_no_more_than_is_selected(ds: Any, calls: list[list[str]]) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds, store)
    read = xr.open_dataset(store, engine=ENGINE)
    calls.clear()
    with pytest.raises(AssertionError, match="on its own"):
        ours.load(read[["t", "n", "word"]].isel(y=slice(0, 2)))
    assert calls == []


def test_loading_parts_that_arrays_select(ds: Any) -> None:
    ours.to_zarr(ds, store := {})
    read = xr.open_dataset(store, engine=ENGINE)
    for parts in (
        {"y": [0, 2], "x": [1]},
        {"y": xr.DataArray([0, 1], dims="p"), "x": xr.DataArray([1, 0], dims="p")},
    ):
        xr.testing.assert_identical(ours.load(read[["t", "n"]].isel(parts)), ds[["t", "n"]].isel(parts))


def test_loading_trees_single_arrays_and_damaged_ones(ds: Any, tmp_path: Path) -> None:
    ours.to_zarr(ds, tmp_path / "a")
    array = xr.open_dataset(tmp_path / "a", engine=ENGINE).t
    xr.testing.assert_equal(ours.load(array), ds.t)
    tree = xr.DataTree.from_dict({"/": ds[["flag"]], "/b": ds[["n"]]})
    ours.to_zarr(tree, tmp_path / "t")
    xr.testing.assert_equal(ours.load(xr.open_datatree(tmp_path / "t", engine=ENGINE)), tree)
    (tmp_path / "a" / "n" / "c" / "0" / "0").write_bytes(b"damaged")
    with pytest.raises(ChunkError, match="'n'"):
        ours.load(xr.open_dataset(tmp_path / "a", engine=ENGINE))


def zoo() -> Any:
    """Variables with all that CF conventions have a meaning for, and with what only looks like it."""
    x = np.arange(4)
    plain = {
        name: ("x", x.astype(dtype), attributes)
        for name, dtype, attributes in [
            ("double", "f8", {"units": "K"}),
            ("single", "f4", {"_FillValue": np.float32("nan"), "long_name": "a"}),
            ("whole", "i4", {"units": "days accumulated", "flag_values": [1, 2]}),
            ("filled", "i2", {"_FillValue": np.int16(3)}),
            ("masked", "f8", {"_FillValue": 2.0}),
            ("gap", "f8", {"missing_value": 1.0}),
            ("packed", "i2", {"scale_factor": 0.1, "add_offset": 5.0, "_FillValue": np.int16(1)}),
            ("unsigned", "i1", {"_Unsigned": "true"}),
            ("when", "i8", {"units": "days since 2000-01-01", "calendar": "standard", "bounds": "when_bnds"}),
            ("lag", "i8", {"units": "hours", "dtype": "timedelta64[ns]"}),
            ("hours", "i8", {"units": "hours"}),
            ("switch", "i1", {"dtype": "bool"}),
            ("big", ">f4", {}),
            ("complex", "c8", {}),
            ("here", "f8", {"coordinates": "lat lon", "grid_mapping": "crs"}),
            ("lat", "f8", {}),
            ("crs", "i4", {"grid_mapping_name": "latitude_longitude"}),
        ]
    }
    plain["when_bnds"] = (("x", "two"), np.zeros((4, 2), "i8"), {})
    plain["letters"] = (("x", "n"), np.full((4, 3), b"a", "S1"), {})
    plain["zero"] = ((), np.float64(3), {})
    return xr.Dataset(plain, coords={"x": x}, attrs={"coordinates": "zero", "title": "zoo"})


@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::UserWarning", "ignore::xarray.SerializationWarning"
)
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mask_and_scale": False},
        {"mask_and_scale": {"single": False}},
        {"decode_times": False},
        {"decode_timedelta": True},
        {"decode_coords": False},
        {"decode_coords": "all"},
        {"concat_characters": False},
        {"drop_variables": "double"},
        {"drop_variables": ["lat", "packed", "nothing"]},
    ],
)
def test_data_sets_are_those_that_xarrays_own_functions_make(
    zarr_format: int, options: dict[str, Any]
) -> None:
    store: dict[str, bytes] = {}
    group = zarrcore.create_group(store, zarr_format=zarr_format, attributes=dict(zoo().attrs))
    for name, variable in zoo().variables.items():
        attributes = {key: np.asarray(value).tolist() for key, value in variable.attrs.items()}
        if "_FillValue" in attributes:
            coder = xr.backends.zarr.FillValueCoder
            attributes["_FillValue"] = coder.encode(variable.attrs["_FillValue"], variable.dtype)
        names: dict[str, Any] = {"dimension_names": variable.dims} if zarr_format == 3 else {}
        if zarr_format == 2:
            attributes["_ARRAY_DIMENSIONS"] = list(variable.dims)
        array = group.create_array(
            name, shape=variable.shape, dtype=variable.dtype, attributes=attributes, **names
        )
        array[...] = variable.values
    read = xr.open_dataset(store, engine=ENGINE, consolidated=False, create_default_indexes=False, **options)
    opened = ours.ZarrcoreStore.open_group(store, consolidated=False)
    expected = xr.backends.store.StoreBackendEntrypoint().open_dataset(opened, **options)
    assert list(read.variables) == list(expected.variables)
    assert list(read.coords) == list(expected.coords)
    assert list(read.sizes.items()) == list(expected.sizes.items())
    for name, variable in expected.variables.items():
        found = read.variables[name].encoding
        assert repr(found) == repr(variable.encoding)  # as text, in which NaN equals NaN
        assert read[name].dtype == variable.dtype
    xr.testing.assert_identical(read.load(), expected.load())


def test_encodings_share_nothing_that_can_be_changed(ds: Any) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds[["t", "flag"]].assign(u=ds.t), store)
    read = xr.open_dataset(store, engine=ENGINE)
    read.t.encoding["compressors"][0]["configuration"]["level"] = 9
    read.t.attrs["units"] = "m"
    for other in (read, xr.open_dataset(store, engine=ENGINE)):
        assert other.u.encoding["compressors"][0]["configuration"]["level"] != 9
        assert other.u.attrs == {"units": "K"}


def test_of_variables_that_are_stored_alike_one_is_opened_before_they_are_read(
    ds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(xr.Dataset(dict.fromkeys(("t", "u", "v"), ds.t)).drop_vars(ds.coords), store)
    opened: list[str] = []
    original = zarrcore.Group._node

    def node(self: Any, found: Any) -> Any:
        opened.append(found.path)
        return original(self, found)

    monkeypatch.setattr(zarrcore.Group, "_node", node)
    read = xr.open_dataset(store, engine=ENGINE)
    assert read.v.dtype == ds.t.dtype and read.v.attrs == ds.t.attrs
    assert opened == ["t"]
    assert np.array_equal(read.v[0], ds.t[0]) and np.array_equal(read.v[1], ds.t[1])
    assert opened == ["t", "v"]


def test_variables_are_made_in_the_ways_of_other_versions_of_xarray(
    ds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zarrcore.integrations import xarray_values

    assert xarray_values._ARE_KNOWN  # else the constructors of xarray are called, which takes longer
    store: dict[str, bytes] = {}
    ours.to_zarr(ds, store)
    read = xr.open_dataset(store, engine=ENGINE)
    monkeypatch.setattr(xarray_values, "_ARE_KNOWN", False)
    again = xr.open_dataset(store, engine=ENGINE)
    assert repr([one.encoding for one in read.variables.values()]) == repr(
        [one.encoding for one in again.variables.values()]
    )
    xr.testing.assert_identical(read.load(), again.load())


def test_opening_looked_twice_at_data_of_each_variable_that_it_had_just_made(
    ds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []
    looks = xr.core.variable.as_compatible_data

    def looking(data: Any, fastpath: bool = False) -> Any:
        looked_at.append(type(data).__name__)
        return looks(data, fastpath=fastpath)

    store: dict[str, bytes] = {}
    ours.to_zarr(xr.Dataset({f"v{number}": ds.t.drop_vars(ds.t.coords) for number in range(3)}), store)
    monkeypatch.setattr(xr.core.variable, "as_compatible_data", looking)
    read = xr.open_dataset(store, engine=ENGINE)
    assert looked_at == []
    assert {type(variable) for variable in read.variables.values()} == {xr.Variable}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("cached", [True, False])
def test_a_variable_behaves_as_xarrays_own(ds: Any, indexed: bool, cached: bool) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds.drop_vars("level"), store)  # with whose name all variables would be decoded
    with xr.open_dataset(store, engine=ENGINE, cache=cached, create_default_indexes=indexed) as read:
        one = read.n.variable
        for other in (one.copy(deep=False), one.copy(), pickle.loads(pickle.dumps(one)), one[...]):
            other.attrs["more"] = other.encoding["more"] = True
            assert "more" not in one.attrs and "more" not in one.encoding
            np.testing.assert_array_equal(other, ds.n)
            assert one._in_memory is False or cached is False
        with pytest.raises(ValueError, match="must match"):
            one.data = np.zeros(1)
        one.data = np.zeros(one.shape)
        assert not one.values.any() and repr(one).startswith("<xarray.Variable")


def test_the_document_of_a_new_array_is_stored_once(ds: Any) -> None:
    stored: list[str] = []

    class Noting(zarrcore.storage.MemoryStore):
        def set(self, key: str, value: Any) -> None:
            stored.append(key)
            super().set(key, value)

    ours.to_zarr(ds, Noting(), consolidated=False)
    assert stored.count("t/zarr.json") == 1


def test_attributes_that_json_does_not_have_are_named_as_by_xarray(ds: Any) -> None:
    ds.t.attrs["bad"] = object()
    with pytest.raises(TypeError, match="Invalid"):
        ours.to_zarr(ds, {})


def test_a_damaged_index_variable_is_named_and_hides_no_other(ds: Any, tmp_path: Path) -> None:
    ours.to_zarr(ds, tmp_path / "a")
    chunk = tmp_path / "a" / "y" / "c" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    with pytest.raises(ChunkError, match="y"):
        xr.open_dataset(tmp_path / "a", engine=ENGINE)
    rest = xr.open_dataset(tmp_path / "a", engine=ENGINE, drop_variables=["y"])
    np.testing.assert_array_equal(rest.time, ds.time)
    unread = xr.open_dataset(tmp_path / "a", engine=ENGINE, create_default_indexes=False)
    np.testing.assert_array_equal(unread.time, ds.time)
    with pytest.raises(ChunkError, match="y"):
        unread.y.load()


def test_appending_and_regions(ds: Any) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds.isel(time=slice(0, 3)), store, encoding={"t": {"chunks": (3, 4, 5)}})
    with pytest.raises(ValueError, match="fixed|different|dtype|append"):
        ours.to_zarr(ds.isel(time=slice(3, 6), x=slice(0, 2)), store, append_dim="time")
    ours.to_zarr(ds.isel(time=slice(3, 6)), store, append_dim="time")
    xr.testing.assert_equal(xr.open_dataset(store, engine=ENGINE).load(), ds)
    part = (ds[["t"]] * 2).isel(time=slice(0, 3)).drop_vars(["x", "y", "level"])
    ours.to_zarr(part, store, region={"time": slice(0, 3)})
    read = xr.open_dataset(store, engine=ENGINE)
    np.testing.assert_array_equal(read.t[:3], ds.t[:3] * 2)
    np.testing.assert_array_equal(read.t[3:], ds.t[3:])


class Watched(zarrcore.storage.WrapperStore):
    """A store that keeps what was stored after each of its changes."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.states: list[dict[str, bytes]] = []

    def set(self, key: str, value: Any) -> None:
        super().set(key, value)
        self.states.append({key: bytes(self.get(key)) for key in self.list()})


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_who_reads_while_rows_are_appended_finds_variables_that_fit_together(zarr_format: int) -> None:
    rows = xr.Dataset({"a": ("t", np.arange(12.0)), "b": ("t", np.arange(12))}, coords={"t": np.arange(12)})
    store = Watched(zarrcore.storage.MemoryStore())
    encoding = {name: {"chunks": (4,)} for name in rows.variables}
    ours.to_zarr(rows.isel(t=slice(4)), store, zarr_format=zarr_format, encoding=encoding)
    store.states.clear()
    for begin in (4, 8):
        ours.to_zarr(rows.isel(t=slice(begin, begin + 4)), store, append_dim="t")
    lengths = []
    for state in store.states:
        with xr.open_dataset(state, engine=ENGINE, consolidated=True) as read:
            xr.testing.assert_equal(read.load(), rows.isel(t=slice(read.sizes["t"])))
            lengths.append(read.sizes["t"])
    assert lengths == sorted(lengths) and set(lengths) == {4, 8, 12}


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("group", [None, "a", "a/b"])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_what_replaces_variables_is_in_the_consolidated_metadata(
    ds: Any, mode: str, group: str | None, zarr_format: int
) -> None:
    """In format 2, data sets that were written with mode="w" opened as empty ones."""
    store: dict[str, Any] = {}
    ds = ds.drop_vars("word")
    for written in (ds, ds.assign(t=ds.t * 2) if mode == "a" else ds[["n"]], ds):
        ours.to_zarr(written, store, mode=mode, group=group, zarr_format=zarr_format)
        zarrcore.open_consolidated(store, zarr_format=zarr_format)
        assert not zarrcore.check_consolidated(store)
        with xr.open_dataset(store, engine=ENGINE, group=group, consolidated=True) as read:
            xr.testing.assert_equal(read.load(), written)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("mode", ["w", "w-", "a"])
@pytest.mark.parametrize("is_installed", [False, True])
def test_a_new_group_has_the_format_of_the_root(
    ds: Any, is_installed: bool, mode: str, zarr_format: int, tmp_path: Path
) -> None:
    """A root of format 2 was hidden by one of format 3: what was there before seemed to be gone."""
    ds = ds.drop_vars("word")
    ours.to_zarr(ds, tmp_path, zarr_format=zarr_format)
    with ours.install():
        write = type(ds).to_zarr if is_installed else ours.to_zarr
        write(ds[["n"]], tmp_path, group="a/b", mode=mode)
        write(ds[["n"]] + 1, tmp_path, group="a/b", mode="a")
    for group, written in ((None, ds), ("a/b", ds[["n"]] + 1)):
        with xr.open_dataset(tmp_path, engine=ENGINE, group=group) as read:
            xr.testing.assert_equal(read.load(), written)
    assert zarrcore.open_group(tmp_path, mode="r")["a/b"].metadata.zarr_format == zarr_format


@pytest.mark.parametrize("is_installed", [False, True], ids=["to_zarr", "installed"])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("before", ["nothing", "a group", "a data set", "a file"])
def test_a_data_set_that_cannot_be_written_leaves_no_empty_group(
    ds: Any, before: str, zarr_format: int, is_installed: bool, tmp_path: Path
) -> None:
    """An empty group stayed, in which mode="w-" refused to write once the arguments were right."""
    ds, store = ds[["n"]].drop_vars(["x", "y", "level"]), tmp_path / "s"
    if before == "a group":
        zarrcore.open_group(store, path="a", mode="w", zarr_format=zarr_format)  # type: ignore[arg-type]
    elif before == "a data set":
        ours.to_zarr(ds, store, zarr_format=zarr_format)
    elif before == "a file":
        store.mkdir()
        (store / "notes.txt").write_text("mine")
    there = sorted(path for path in store.rglob("*") if path.is_file())
    with ours.install():
        write = type(ds).to_zarr if is_installed else ours.to_zarr
        for options in (
            {"append_dim": "nowhere"},
            {"encoding": {"n": {"no such": 1}}},
            {"mode": "w-", "encoding": {"no such": {}}},
        ):
            with pytest.raises((ValueError, KeyError)):
                write(ds, store, group="a/b", zarr_format=zarr_format, **options)
            after = sorted(path for path in store.rglob("*") if path.is_file())
            assert [path for path in after if path.parent != store] == [
                path for path in there if path.parent != store
            ]
            assert before == "a file" or after == there
        write(ds, store, group="a/b", zarr_format=zarr_format, mode="w-")
    with xr.open_dataset(store, engine=ENGINE, group="a/b") as read:
        xr.testing.assert_equal(read.load(), ds)


def test_parts_of_coordinates_belong_to_those_who_ask_for_them() -> None:
    """What was written to a part of a coordinate was later read as the coordinate."""
    ds = xr.Dataset({"t": ("x", np.arange(9.0))}, coords={"x": np.arange(9), "lon": ("x", np.arange(9) * 2)})
    store: dict[str, Any] = {}
    ours.to_zarr(ds, store)
    with xr.open_dataset(store, engine=ENGINE) as read:
        part = read.lon[2:5].load()
        part[:] = 99
        read.lon.isel(x=slice(None, None, -3)).values[:] = 98
        xr.testing.assert_equal(read.load(), ds)


def test_trees_and_groups(ds: Any, tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({"/": ds[["flag"]], "/a/b": ds[["t"]], "/c": ds[["n"]]})
    ours.to_zarr(tree, tmp_path / "t.zarr")
    with xr.open_datatree(tmp_path / "t.zarr", engine=ENGINE) as read:
        xr.testing.assert_equal(read.load(), tree)
    assert sorted(xr.open_groups(tmp_path / "t.zarr", engine=ENGINE, group="a")) == [".", "b"]
    inner = xr.open_dataset(tmp_path / "t.zarr", group="a/b", engine=ENGINE)
    np.testing.assert_array_equal(inner.t, ds.t)


def test_groups_nested_deeper_than_python_recurses_are_opened() -> None:
    store: dict[str, bytes] = {}
    zarrcore.create_group(store, path="/".join("g" * 1200))
    assert len(xr.open_groups(store, engine=ENGINE, consolidated=False)) == 1201


@pytest.mark.parametrize("name", [None, "t", "time"])
def test_single_arrays_keep_their_name(ds: Any, name: str | None) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds.t.rename(name), store)
    xr.testing.assert_equal(xr.open_dataarray(store, engine=ENGINE).load(), ds.t)
    assert xr.open_dataarray(store, engine=ENGINE).name == name


def test_without_consolidated_metadata_there_is_a_warning_and_the_same_data(ds: Any) -> None:
    store: dict[str, bytes] = {}
    ours.to_zarr(ds, store, consolidated=False)
    with pytest.warns(RuntimeWarning, match="consolidated"):
        read = xr.open_dataset(store, engine=ENGINE)
    xr.testing.assert_equal(read.load(), ds)
    xr.open_dataset(store, engine=ENGINE, consolidated=False)


def test_arrays_without_names_of_dimensions_are_refused_by_name() -> None:
    store: dict[str, bytes] = {}
    zarrcore.create_array(store, name="g/bare", shape=(3,), dtype="f4")
    with pytest.raises(KeyError, match="g/bare.*dimension_names"):
        xr.open_dataset(store, group="g", engine=ENGINE, consolidated=False)


def test_dimensions_of_nczarr_are_found(tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "g" / "a", shape=(2, 3), dtype="i4", zarr_format=2)[...] = 5
    zarrcore.open_group(tmp_path / "g", mode="a", zarr_format=2)
    document = tmp_path / "g" / "a" / ".zarray"
    written = json.loads(document.read_text())
    document.write_text(json.dumps({**written, "_NCZARR_ARRAY": {"dimrefs": ["/lat", "/lon"]}}))
    read = xr.open_dataset(tmp_path / "g", engine=ENGINE, consolidated=False)
    assert read.a.dims == ("lat", "lon")
    assert (read.a == 5).all()


@pytest.mark.parametrize(
    "kept", [1, None, [], "x", {"dimrefs": 5}, {"dimrefs": "ab"}, {"dimrefs": ["/x", 1]}, {"dimrefs": ["/x"]}]
)
def test_what_is_no_list_of_dimensions_of_nczarr_is_none(kept: Any, tmp_path: Path) -> None:
    """It came as an AttributeError or a TypeError that named nothing."""
    zarrcore.create_array(tmp_path / "a", shape=(2, 3), dtype="i4", zarr_format=2)
    zarrcore.open_group(tmp_path, mode="a", zarr_format=2)
    document = tmp_path / "a" / ".zarray"
    document.write_text(json.dumps({**json.loads(document.read_text()), "_NCZARR_ARRAY": kept}))
    with pytest.raises(KeyError, match="array 'a' has no `_ARRAY_DIMENSIONS`"):
        xr.open_dataset(tmp_path, engine=ENGINE, consolidated=False)


def test_lazy_data_sets_are_pickled(ds: Any, tmp_path: Path) -> None:
    ours.to_zarr(ds, tmp_path / "a")
    read = pickle.loads(
        pickle.dumps(xr.open_dataset(tmp_path / "a", engine=ENGINE, create_default_indexes=False))
    )
    xr.testing.assert_equal(read.t.load().drop_vars(list(ds.coords)), ds.t.drop_vars(list(ds.coords)))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="grup"):
        xr.open_dataset({}, engine=ENGINE, grup="a")


def test_dask_arrays_are_written_and_read(ds: Any, tmp_path: Path) -> None:
    pytest.importorskip("dask.array")
    ds = ds.drop_vars("word")
    chunked = ds.chunk({"time": 2})
    ours.to_zarr(chunked, tmp_path / "a", compute=False).compute()
    read = xr.open_dataset(tmp_path / "a", engine=ENGINE, chunks={})
    assert read.t.chunks[0] == (2, 2, 2)
    xr.testing.assert_equal(read.compute(), ds)
    crossing = ds[["flag"]].drop_vars(["y", "x", "level"], errors="ignore").chunk({"time": 3})
    with pytest.raises(ValueError, match="chunk|overlap"):
        ours.to_zarr(crossing, tmp_path / "a", mode="r+")


def test_several_data_sets_are_opened_as_one(ds: Any, tmp_path: Path) -> None:
    pytest.importorskip("dask")
    for number in range(3):
        ours.to_zarr(ds.isel(time=slice(2 * number, 2 * number + 2)), tmp_path / str(number))
    paths = [tmp_path / str(number) for number in range(3)]
    how: Any = {"data_vars": "minimal", "compat": "override", "coords": "minimal", "join": "outer"}
    with xr.open_mfdataset(paths, engine=ENGINE, **how) as read:
        assert read.t.chunksizes["time"] == (2, 2, 2)
        xr.testing.assert_equal(read.load(), ds)


def test_blocks_that_would_share_a_shard_are_refused(ds: Any, tmp_path: Path) -> None:
    pytest.importorskip("dask")
    encoding = {"t": {"chunks": (1, 4, 5), "shards": (4, 4, 5)}}
    blocks = ds[["t"]].chunk(time=2)
    with pytest.raises(ValueError, match="overlap|align"):
        ours.to_zarr(blocks, tmp_path / "a", encoding=encoding)
    ours.to_zarr(blocks.chunk(time=4), tmp_path / "b", encoding=encoding)
    xr.testing.assert_equal(xr.open_dataset(tmp_path / "b", engine=ENGINE).load(), ds[["t"]])
    assert zarrcore.open_array(tmp_path / "b" / "t").shards == (4, 4, 5)


def test_variables_that_are_left_out_need_no_names_of_dimensions(tmp_path: Path) -> None:
    """The error named `drop_variables` as the way out, which ended in the same error."""
    root = zarrcore.create_group(tmp_path)
    root["bare"] = np.arange(3)
    root.create_array("good", data=np.arange(4), dimension_names=["x"])
    root.create_group("below")["bare"] = np.arange(2)
    with pytest.raises(KeyError, match="drop_variables='bare'"):
        xr.open_dataset(tmp_path, engine=ENGINE, consolidated=False)
    for names in ("bare", ["bare"], {"bare", "other"}):
        found = xr.open_dataset(tmp_path, engine=ENGINE, drop_variables=names, consolidated=False)
        assert list(found) == ["good"] and found.good.values.tolist() == [0, 1, 2, 3]
        tree = xr.open_datatree(tmp_path, engine=ENGINE, drop_variables=names, consolidated=False)
        assert list(tree.to_dict()) == ["/", "/below"]


def test_what_is_no_data_set_is_refused_by_its_type() -> None:
    for data in (5, np.arange(3), {"a": 1}):
        with pytest.raises(TypeError, match="expected a Dataset.* got (int|ndarray|dict)"):
            ours.to_zarr(data, {})
