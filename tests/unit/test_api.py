"""The functions at the top of the package: modes, formats, creation, copies."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import zarrcore
from zarrcore.arrays.chunking import guess_chunks, guess_shards, normalize_chunks
from zarrcore.codecs import BytesCodec
from zarrcore.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    NodeNotFoundError,
    NodeTypeValidationError,
    ReadOnlyError,
)
from zarrcore.storage import LocalStore, MemoryStore, StorePath


def test_open_finds_either(tmp_path):
    root = zarrcore.create_group(tmp_path)
    root.create_array("a", shape=3, dtype="i4")
    assert isinstance(zarrcore.open(tmp_path), zarrcore.Group)
    assert isinstance(zarrcore.open(tmp_path, path="a"), zarrcore.Array)
    assert isinstance(zarrcore.open(tmp_path / "a", mode="r"), zarrcore.Array)
    assert isinstance(zarrcore.open(str(tmp_path)), zarrcore.Group)
    assert isinstance(zarrcore.open(StorePath(LocalStore(tmp_path), "a")), zarrcore.Array)
    with pytest.raises(NodeNotFoundError):
        zarrcore.open(tmp_path, path="x", mode="r")
    with pytest.raises(FileNotFoundError):
        zarrcore.open(tmp_path / "nothing", mode="r+")
    assert isinstance(zarrcore.open({}, mode="a"), zarrcore.Group)
    assert isinstance(zarrcore.open({}, mode="w", shape=3, dtype="i4"), zarrcore.Array)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_format_is_found(zarr_format):
    store = MemoryStore()
    zarrcore.create_array(store, name="a", shape=3, dtype="i4", zarr_format=zarr_format)
    assert zarrcore.open_array(store, path="a", mode="r").metadata.zarr_format == zarr_format
    assert zarrcore.open_group(store, mode="r").metadata.zarr_format == zarr_format
    with pytest.raises(ArrayNotFoundError):
        zarrcore.open_array(store, path="a", mode="r", zarr_format=5 - zarr_format)


def test_array_modes():
    store = MemoryStore()
    with pytest.raises(ArrayNotFoundError):
        zarrcore.open_array(store)
    with pytest.raises(ArrayNotFoundError):
        zarrcore.open_array(store, mode="r+")
    a = zarrcore.open_array(store, mode="a", shape=3, dtype="i4")
    a[...] = 5
    assert zarrcore.open_array(store, mode="a", shape=3)[...].tolist() == [5, 5, 5]
    with pytest.raises(TypeError, match="expected shape .9,., found .3,."):
        zarrcore.open_array(store, mode="a", shape=9)
    assert zarrcore.open_array(store)[...].tolist() == [5, 5, 5]
    with pytest.raises((FileExistsError, ContainsArrayError)):
        zarrcore.open_array(store, mode="w-", shape=3)
    assert zarrcore.open_array(store, mode="w", shape=2, dtype="i4")[...].tolist() == [0, 0]
    with pytest.raises(ReadOnlyError):
        zarrcore.open_array(store, mode="r")[...] = 1
    with pytest.raises(ValueError, match="mode"):
        zarrcore.open_array(store, mode="x")


def test_group_modes():
    store = MemoryStore()
    for mode in ("r", "r+"):
        with pytest.raises(GroupNotFoundError):
            zarrcore.open_group(store, mode=mode)
    zarrcore.open_group(store, attributes={"a": 1}).create_group("g")
    assert zarrcore.open_group(store).attrs["a"] == 1
    with pytest.raises((FileExistsError, ContainsGroupError)):
        zarrcore.open_group(store, mode="w-")
    assert list(zarrcore.open_group(store, mode="w")) == []
    assert list(zarrcore.group(store, overwrite=True)) == []
    with pytest.raises(ReadOnlyError):
        zarrcore.open_group(store.with_read_only(True), mode="a")


def test_overwriting_a_node_leaves_its_siblings():
    store = MemoryStore()
    for name in ("a", "ab", "a.b"):
        zarrcore.create_array(store, name=name, data=np.arange(3))
    zarrcore.open_array(store, path="a", mode="w", shape=1)
    assert [name for name, _ in zarrcore.open_group(store).arrays()] == ["a", "a.b", "ab"]
    assert zarrcore.open_array(store, path="ab")[...].tolist() == [0, 1, 2]


def test_nothing_is_removed_for_arguments_that_are_refused():
    store = MemoryStore()
    zarrcore.create_array(store, data=np.arange(3))
    for bad in (
        {"shape": 3, "dtype": "nonsense"},
        {"shape": 3, "dtype": "i4", "chunks": 0},
        {"shape": 3, "dtype": "i4", "compressors": {"name": "nonsense"}},
        {"shape": 3, "dtype": "u1", "fill_value": -1},
        {"shape": 3, "dtype": "i4", "attributes": {"a": object()}},
        {"shape": 3, "dtype": "i4", "config": {"order": "X"}},
    ):
        with pytest.raises((TypeError, ValueError)):
            zarrcore.create_array(store, overwrite=True, **bad)
    assert zarrcore.open_array(store)[...].tolist() == [0, 1, 2]
    with pytest.raises((TypeError, ValueError)):
        zarrcore.save_group(store, a=np.arange(3), b=np.array([object()]))
    assert zarrcore.open_array(store)[...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_creation_functions(zarr_format):
    kw = {"zarr_format": zarr_format}
    assert (zarrcore.zeros((2, 3), **kw)[...] == np.zeros((2, 3))).all()
    assert zarrcore.ones(4, dtype="i4", **kw)[...].tolist() == [1, 1, 1, 1]
    assert zarrcore.full((2,), 7, dtype="u1", chunks=(1,), **kw)[...].tolist() == [7, 7]
    assert zarrcore.empty((2,), **kw).shape == (2,)
    a = zarrcore.array(np.arange(10, dtype="i2"), chunks=3, **kw)
    assert a.chunks == (3,)
    assert zarrcore.array([[1, 2]], **kw)[...].tolist() == [[1, 2]]
    for like, value in ((zarrcore.zeros_like, 0), (zarrcore.ones_like, 1)):
        b = like(a)
        assert (b.shape, b.dtype, b.chunks, b.metadata.zarr_format) == (
            a.shape,
            a.dtype,
            a.chunks,
            zarr_format,
        )
        assert (b[...] == value).all()
    assert zarrcore.full_like(a, fill_value=4)[0] == 4
    assert zarrcore.empty_like(np.ones((2, 2), "f4")).dtype == np.dtype("f4")
    assert zarrcore.open_like(a, "x", store={}).shape == a.shape
    assert zarrcore.zeros_like(a, zarr_format=5 - zarr_format).metadata.zarr_format == 5 - zarr_format


def test_the_old_arguments_of_create():
    a = zarrcore.create(
        (4, 4), chunks=(2, 2), zarr_format=2, order="F", dimension_separator="/", compressor=None
    )
    assert (a.order, a.metadata.dimension_separator, a.compressor, a.dtype) == (
        "F",
        "/",
        None,
        np.dtype("f8"),
    )
    assert a[...].flags.f_contiguous
    b = zarrcore.create(
        4, codecs=[BytesCodec(), {"name": "gzip", "configuration": {"level": 1}}], chunk_shape=2
    )
    assert [codec.name for codec in b.metadata.codecs] == ["bytes", "gzip"]
    assert zarrcore.create(4, write_empty_chunks=True).config.write_empty_chunks
    assert zarrcore.create(4, data=[1, 2, 3, 4])[...].tolist() == [1, 2, 3, 4]
    assert zarrcore.create((5, 6), chunks=False).chunks == (5, 6)
    for bad in (
        {"compressor": None, "zarr_format": 3},
        {"codecs": ["bytes"], "zarr_format": 2},
        {"dimension_names": ["x"], "zarr_format": 2},
        {"chunks": 2, "chunk_shape": 2},
    ):
        with pytest.raises(ValueError, match=r"cannot be used|not both"):
            zarrcore.create(4, **bad)
    with pytest.warns(RuntimeWarning, match="synchronizer"):
        zarrcore.create(4, synchronizer=object())


def test_create_array_options():
    a = zarrcore.create_array(
        {},
        shape=(10, 10),
        dtype="f4",
        chunks=(2, 5),
        shards={"shape": (4, 10), "index_location": "start"},
        filters=[{"name": "transpose", "configuration": {"order": [1, 0]}}],
        compressors=[{"name": "gzip", "configuration": {"level": 1}}, "crc32c"],
        fill_value=np.nan,
        attributes={"a": 1},
        dimension_names=("y", None),
        chunk_key_encoding={"name": "v2", "separator": "."},
    )
    assert a.shards == (4, 10)
    assert a.chunks == (2, 5)
    assert [codec.name for codec in a.filters] == ["transpose"]
    assert [codec.name for codec in a.compressors] == ["gzip", "crc32c"]
    assert a.serializer.name == "bytes"
    assert a.metadata.dimension_names == ("y", None)
    assert a.metadata.sharding_codec.index_location == "start"
    assert np.isnan(a[0, 0])
    a[...] = np.arange(100).reshape(10, 10)
    assert (a[...] == np.arange(100).reshape(10, 10)).all()
    assert a.store.exists("1.0")


@pytest.mark.parametrize(
    "bad",
    [
        {"data": np.arange(3), "shape": 3},
        {"data": np.arange(3), "dtype": "i4"},
        {"shape": 3},
        {"dtype": "i4"},
        {"shape": (4,), "dtype": "i4", "shards": (3,), "chunks": (2,)},
        {"shape": (4,), "dtype": "i4", "shards": (4,), "zarr_format": 2},
        {"shape": (4,), "dtype": "i4", "serializer": "bytes", "zarr_format": 2},
        {"shape": (4,), "dtype": "i4", "chunks": (2, 2)},
        {"shape": (4,), "dtype": "i4", "chunks": ((2, 1),)},
        {"shape": (4,), "dtype": "i4", "zarr_format": 4},
        {"shape": (4,), "dtype": "i4", "dimension_names": ["x", "y"]},
    ],
)
def test_create_array_refuses(bad):
    store = {}
    with pytest.raises((TypeError, ValueError)):
        zarrcore.create_array(store, **bad)
    assert store == {}


def test_data_need_not_be_written():
    assert zarrcore.create_array({}, data=np.ones(3), write_data=False)[...].tolist() == [0, 0, 0]


@pytest.mark.parametrize("source_format", [2, 3])
@pytest.mark.parametrize("zarr_format", [2, 3, None])
def test_from_array(source_format, zarr_format):
    values = np.arange(30, dtype="i2").reshape(5, 6)
    source = zarrcore.create_array(
        {}, data=values, chunks=(2, 3), zarr_format=source_format, attributes={"a": 1}, fill_value=9
    )
    copy = zarrcore.from_array({}, data=source, zarr_format=zarr_format)
    assert copy.metadata.zarr_format == (zarr_format or source_format)
    assert (copy.chunks, copy.fill_value, dict(copy.attrs), copy.dtype) == ((2, 3), 9, {"a": 1}, values.dtype)
    assert (copy[...] == values).all()
    if zarr_format is None:
        assert copy.metadata == source.metadata
    empty = zarrcore.from_array({}, data=source, write_data=False, chunks=(5, 6))
    assert empty.chunks == (5, 6)
    assert (empty[...] == 9).all()
    assert (zarrcore.from_array({}, data=values)[...] == values).all()


def test_from_a_sharded_array():
    values = np.arange(64).reshape(8, 8)
    source = zarrcore.create_array({}, data=values, chunks=(2, 2), shards=(4, 4), dimension_names=["y", "x"])
    copy = zarrcore.from_array({}, data=source)
    assert copy.metadata == source.metadata
    assert (copy[...] == values).all()
    assert zarrcore.from_array({}, data=source, zarr_format=2).chunks == (2, 2)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_save_and_load(tmp_path, zarr_format):
    values = np.arange(12).reshape(3, 4)
    zarrcore.save(tmp_path / "a", values, zarr_format=zarr_format)
    assert (zarrcore.load(tmp_path / "a") == values).all()
    zarrcore.save(tmp_path / "g", values, values[0], x=values[1], zarr_format=zarr_format)
    loaded = zarrcore.load(tmp_path / "g")
    assert sorted(loaded) == ["arr_0", "arr_1", "x"]
    assert (loaded["x"] == values[1]).all()
    zarrcore.save_array(tmp_path / "a", values[0], mode="w")
    assert (zarrcore.load(tmp_path / "a") == values[0]).all()
    with pytest.raises(ValueError, match="at least one"):
        zarrcore.save(tmp_path / "b")
    with pytest.raises(TypeError):
        zarrcore.save_array(tmp_path / "b", [1, 2])
    with pytest.raises(FileNotFoundError):
        zarrcore.load(tmp_path / "nothing")


def test_configuration_of_an_array():
    a = zarrcore.create_array({}, shape=(2, 3), dtype="i4", config={"order": "F"})
    assert a[...].flags.f_contiguous
    assert a.with_config({"order": "C"})[...].flags.c_contiguous
    assert a.with_config({"write_empty_chunks": True}).config.order == "F"
    assert zarrcore.open_array(a.store, config={"order": "F"}).order == "F"
    with zarrcore.config.set({"array.order": "F"}):
        assert zarrcore.open_array(a.store).order == "F"
    with pytest.raises(TypeError, match="unknown"):
        a.with_config({"nonsense": 1})
    with pytest.raises(TypeError, match="config"):
        zarrcore.open(zarrcore.create_group({}).store, config={"order": "C"})


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (10**9,), (10**4, 10**4), (7, 10**6, 3), (10**15, 3), (0, 5), (3,) * 12]
)
@pytest.mark.parametrize("item_size", [1, 8, 1000])
def test_guessed_chunks(shape, item_size):
    chunks = guess_chunks(shape, item_size)
    nbytes = np.prod([float(length) for length in chunks]) * item_size
    total = np.prod([float(max(1, length)) for length in shape]) * item_size
    assert all(1 <= chunk <= max(1, length) for chunk, length in zip(chunks, shape, strict=True))
    assert nbytes <= 64 * 2**20
    assert nbytes >= min(total, 2**16)
    shards = guess_shards(shape, chunks, item_size, None)
    assert all(shard % chunk == 0 for shard, chunk in zip(shards, chunks, strict=True))


def test_sharding_can_be_guessed():
    a = zarrcore.create_array({}, shape=(10000, 10000), dtype="f8", chunks="auto", shards="auto")
    assert a.shards is not None
    assert all(shard % chunk == 0 for shard, chunk in zip(a.shards, a.chunks, strict=True))


def test_chunks_that_users_write():
    assert normalize_chunks(5, (7, 8)) == (5, 5)
    assert normalize_chunks((-1, None), (7, 8)) == (7, 8)
    assert normalize_chunks(False, (7, 0)) == (7, 1)
    assert normalize_chunks(([3, 4], 2), (7, 8)) == ((3, 4), 2)
    assert normalize_chunks(np.array([3, 4]), (7, 8)) == (3, 4)
    for bad in (True, None, "x", 0, -2, (1.5, 2), ("a", "b"), (True, 2), 2.0):
        with pytest.raises((TypeError, ValueError)):
            normalize_chunks(bad, (7, 8))


def test_import_is_cheap():
    code = (
        "import sys, zarrcore; zarrcore.config; "
        "heavy = {'asyncio', 'numpy', 'concurrent.futures', 'importlib.metadata'} & set(sys.modules); "
        "assert not heavy, heavy; "
        "assert callable(zarrcore.array) and callable(zarrcore.group) and callable(zarrcore.tree); "
        "zarrcore.array([1, 2]); assert callable(zarrcore.array) and callable(zarrcore.group); "
        "assert 'asyncio' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    for name in zarrcore.__all__:
        assert getattr(zarrcore, name) is not None
    assert set(zarrcore.__all__) <= set(dir(zarrcore))
    with pytest.raises(AttributeError, match="nonsense"):
        zarrcore.nonsense  # noqa: B018


def test_debug_info(capsys):
    zarrcore.print_debug_info()
    assert f"zarrcore: {zarrcore.__version__}" in capsys.readouterr().out


def test_debug_info_finds_versions_that_are_not_in_the_name_of_a_directory(tmp_path, monkeypatch, capsys):
    (tmp_path / "h5py.egg-info").mkdir()
    (tmp_path / "h5py.egg-info/PKG-INFO").write_text("Metadata-Version: 2.1\nName: h5py\nVersion: 9.8.7\n")
    (tmp_path / "dask-7.6-py3.9.egg-info").write_text("Metadata-Version: 2.1\nName: dask\nVersion: 7.6\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    zarrcore.print_debug_info()
    shown = capsys.readouterr().out
    assert "\nh5py: 9.8.7\n" in shown and "\ndask: 7.6" in shown


def test_a_group_where_an_array_is_wanted():
    store = zarrcore.create_group({}).store
    with pytest.raises(NodeTypeValidationError):
        zarrcore.open_array(store, mode="a", shape=3)
    assert isinstance(zarrcore.open_array(store, mode="w", shape=3), zarrcore.Array)


def test_arrays_that_were_saved_below_groups_are_loaded_by_their_paths():
    store = {}
    saved = {"a": np.arange(3), "b/c": np.ones(2), "b/d/e": np.zeros(1)}
    zarrcore.save(store, **saved)
    loaded = zarrcore.load(store)
    assert loaded.keys() == saved.keys()
    assert all((loaded[path] == saved[path]).all() for path in saved)
