"""Packages built on zarr-python read and write through zarrcore; each is tested where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

zarr = pytest.importorskip("zarr")

pytestmark = [
    pytest.mark.interop,
    # These packages use what others of them have deprecated.
    pytest.mark.filterwarnings("ignore"),
]
OURS = "zarrcore.integrations.zarr_python.CodecPipeline"
WAYS = ["as_zarr", "pipeline", "accelerate"]


@contextmanager
def way_of(way: str) -> Iterator[None]:
    """Let zarr-python use the engine in one of the ways that there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "accelerate":
            with zarrcore.accelerate():
                yield
        elif way == "pipeline":
            with zarr.config.set({"codec_pipeline.path": OURS}):
                yield
        else:
            yield


def group_at(way: str, path: Path, mode: Any = "a", zarr_format: Any = None) -> Any:
    """Return a group of zarr-python's class for a library to use."""
    if way == "as_zarr":
        return zarrcore.open_group(path, mode=mode, zarr_format=zarr_format).as_zarr()
    return zarr.open_group(path, mode=mode, zarr_format=zarr_format)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_anndata(way: str, zarr_format: int, tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(3)
    dense = rng.normal(size=(30, 8)).astype("f4")
    names = [f"cell{i}" for i in range(30)]
    table = pandas.DataFrame({"kind": pandas.Categorical(list("abc") * 10), "n": range(30)}, index=names)
    made = anndata.AnnData(dense, obs=table, layers={"counts": sparse.csr_matrix(dense > 0, dtype="i4")})
    made.uns["title"] = "an example"
    with way_of(way):
        anndata.io.write_elem(group_at(way, tmp_path / "a.zarr", "w", zarr_format), "/", made)
        found = anndata.read_zarr(group_at(way, tmp_path / "a.zarr", "r"))
    plain = anndata.read_zarr(tmp_path / "a.zarr")
    for read in (found, plain):
        assert np.array_equal(read.X, dense) and read.uns["title"] == "an example"
        assert (read.layers["counts"] != made.layers["counts"]).nnz == 0
        pandas.testing.assert_frame_equal(read.obs, made.obs, check_dtype=False)
    ours = zarrcore.open_group(tmp_path / "a.zarr", mode="r")
    assert np.array_equal(ours["X"][:], dense) and ours["layers/counts/data"].shape == ((dense > 0).sum(),)


@pytest.mark.parametrize("way", WAYS)
def test_ome_zarr(way: str, tmp_path: Path) -> None:
    pytest.importorskip("ome_zarr")
    from ome_zarr import io, reader, writer

    image = np.random.default_rng(3).integers(0, 255, (2, 64, 48), dtype="u1")
    with way_of(way):
        root = group_at(way, tmp_path / "image.zarr", "w")
        writer.write_image(image, root, axes="cyx")
        nodes = [*reader.Reader(io.parse_url(str(tmp_path / "image.zarr")))()]
        assert np.array_equal(np.asarray(nodes[0].data[0]), image)
        again = group_at(way, tmp_path / "image.zarr", "r")
        name = sorted(again.array_keys())[0]
        assert np.array_equal(again[name][:], image)
    assert np.array_equal(zarrcore.open_group(tmp_path / "image.zarr", mode="r")[name][:], image)


@pytest.mark.parametrize("way", ["pipeline", "accelerate"])  # it takes stores, no arrays or groups
def test_ngff_zarr(way: str, tmp_path: Path) -> None:
    ngff_zarr = pytest.importorskip("ngff_zarr")
    image = np.random.default_rng(3).integers(0, 255, (64, 48), dtype="u1")
    with way_of(way):
        scales = ngff_zarr.to_multiscales(ngff_zarr.to_ngff_image(image, dims=["y", "x"]))
        ngff_zarr.to_ngff_zarr(str(tmp_path / "image.zarr"), scales)
        found = ngff_zarr.from_ngff_zarr(str(tmp_path / "image.zarr"))
        assert np.array_equal(np.asarray(found.images[0].data), image)
    root = zarrcore.open_group(tmp_path / "image.zarr", mode="r")
    arrays = [node for _, node in root.members(max_depth=None) if isinstance(node, zarrcore.Array)]
    assert any(array.shape == image.shape and np.array_equal(array[:], image) for array in arrays)


STANDING_IN = {
    "cubed": """
import cubed
import cubed.array_api as xp
spec = cubed.Spec(work_dir="work", allowed_mem="200MB")
values = np.arange(100).reshape(10, 10)
array = xp.asarray(values, chunks=(3, 4), spec=spec)
assert np.array_equal(array[2:7, [1, 5, 3]].compute(), values[2:7, [1, 5, 3]])
cubed.to_zarr(array.rechunk((5, 5)), "a.zarr")
assert int(xp.sum(cubed.from_zarr("a.zarr", spec=spec)).compute()) == values.sum()
""",
    "icechunk": """
import icechunk, zarr
repository = icechunk.Repository.create(icechunk.in_memory_storage())
session = repository.writable_session("main")
zarr.group(session.store).create_array("a", shape=10, chunks=5, dtype="i4")[:] = 1
first = session.commit("first")
session = repository.writable_session("main")
zarr.open_group(session.store)["a"][:5] = 2
session.commit("second")
for where, expected in ({"branch": "main"}, 2), ({"snapshot_id": first}, 1):
    store = repository.readonly_session(**where).store
    read = zarr.open_group(store, mode="r")
    assert read["a"][:].tolist() == [expected] * 5 + [1] * 5 and read.store == store
""",
    "kerchunk": """
import fsspec, h5py, zarr
from kerchunk.hdf import SingleHdf5ToZarr
values = np.random.default_rng(3).integers(0, 255, (30, 20), dtype="i2")
with h5py.File("a.h5", "w") as file:
    file.create_dataset("t", data=values, chunks=(10, 7), compression="gzip", shuffle=True)
found = SingleHdf5ToZarr("a.h5").translate()
files = fsspec.filesystem("reference", fo=found, asynchronous=True, remote_protocol="file")
store = zarr.storage.FsspecStore(files, read_only=True)
assert np.array_equal(zarr.open_group(store, mode="r", zarr_format=2)["t"][:], values)
""",
    "pydantic_zarr": """
import zarr
from pydantic_zarr import v2, v3
for zarr_format, module in (2, v2), (3, v3):
    group = zarr.open_group({}, mode="w", zarr_format=zarr_format)
    group.create_array("a", shape=(4, 4), chunks=(2, 2), dtype="i4")
    group.create_group("b")
    spec = module.GroupSpec.from_zarr(group)
    assert module.GroupSpec.from_zarr(spec.to_zarr(zarr.storage.MemoryStore(), "x")) == spec
""",
    "tifffile": """
import tifffile, zarr
values = np.arange(64 * 64, dtype="u2").reshape(64, 64)
tifffile.imwrite("a.tif", values, tile=(16, 16))
with tifffile.imread("a.tif", aszarr=True) as store:
    assert np.array_equal(zarr.open(store, mode="r")[3:40, 5:], values[3:40, 5:])
assert np.array_equal(tifffile.imread("a.tif", selection=(slice(3, 40), slice(5, None))), values[3:40, 5:])
""",
    "virtualizarr": """
import h5py, icechunk, zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from pathlib import Path
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser
values = np.random.default_rng(3).integers(0, 255, (30, 20), dtype="i2")
with h5py.File("a.h5", "w") as file:
    file.create_dataset("t", data=values, chunks=(10, 7), compression="gzip", shuffle=True)
url, registry = Path("a.h5").absolute().as_uri(), ObjectStoreRegistry({"file://": LocalStore()})
store = HDFParser()(url=url, registry=registry)
assert np.array_equal(zarr.open_group(store, mode="r")["t"][:], values)
virtual = open_virtual_dataset(url, registry=registry, parser=HDFParser())
assert "t/.zarray" in virtual.virtualize.to_kerchunk(format="dict")["refs"]
above = url.removesuffix("a.h5")
config = icechunk.RepositoryConfig.default()
local = icechunk.local_filesystem_store(str(Path().absolute()))
config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(above, local))
allowed = icechunk.containers_credentials({above: None})
repository = icechunk.Repository.create(
    icechunk.in_memory_storage(), config=config, authorize_virtual_chunk_access=allowed
)
session = repository.writable_session("main")
virtual.virtualize.to_icechunk(session.store)
session.commit("virtual")
there = repository.readonly_session("main").store
assert np.array_equal(zarr.open_group(there, mode="r")["t"][:], values)
""",
    "anndata": """
import anndata, zarr
made = anndata.AnnData(np.random.default_rng(3).normal(size=(30, 8)).astype("f4"))
made.uns["title"] = "an example"
made.write_zarr("a.zarr")
anndata.io.write_elem(zarr.open_group("b.zarr", mode="w"), "/", made)
for path in ("a.zarr", "b.zarr"):
    read = anndata.read_zarr(path)
    assert np.array_equal(read.X, made.X) and read.uns["title"] == "an example"
""",
    "ome_zarr": """
import zarr
from ome_zarr import io, reader, writer
image = np.random.default_rng(3).integers(0, 255, (2, 64, 48), dtype="u1")
writer.write_image(image, zarr.open_group("image.zarr", mode="w"), axes="cyx")
nodes = [*reader.Reader(io.parse_url("image.zarr"))()]
assert np.array_equal(np.asarray(nodes[0].data[0]), image)
""",
    "ngff_zarr": """
import ngff_zarr
image = np.random.default_rng(3).integers(0, 255, (64, 48), dtype="u1")
scales = ngff_zarr.to_multiscales(ngff_zarr.to_ngff_image(image, dims=["y", "x"]))
ngff_zarr.to_ngff_zarr("image.zarr", scales)
assert np.array_equal(np.asarray(ngff_zarr.from_ngff_zarr("image.zarr").images[0].data), image)
""",
}


@pytest.mark.parametrize("package", STANDING_IN)
def test_packages_run_on_zarrcore_in_the_place_of_zarr_python(package: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    before = "import zarrcore.compat; zarrcore.compat.stand_in()\nimport numpy as np\n"
    after = "import sys; assert sys.modules['zarr'].Array is zarrcore.Array\n"
    program = ["-W", "ignore", "-c", before + STANDING_IN[package] + after]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, *program], cwd=tmp_path, env=where, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


CODECS: dict[str, dict[str, Any]] = {
    "zlib": {"compressors": {"name": "imagecodecs_zlib", "configuration": {"level": 3}}},
    "png": {"serializer": {"name": "imagecodecs_png"}, "compressors": None},
    "delta": {"filters": {"name": "imagecodecs_delta"}},
    "shuffled, in shards": {"compressors": {"name": "imagecodecs_lz4f"}, "shards": (64, 32)},
}


@pytest.mark.parametrize("options", CODECS.values(), ids=CODECS)
def test_imagecodecs(options: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("imagecodecs.zarr")
    image = np.random.default_rng(3).integers(0, 9, (64, 48), dtype="u1")
    shared = {"shape": image.shape, "chunks": (32, 16), "dtype": "u1", **options}
    for path, library in ((tmp_path / "ours", zarrcore), (tmp_path / "theirs", zarr)):
        extra = {key: [value] if key == "filters" else value for key, value in shared.items()}
        array = library.create_array(path, **{"fill_value": 0, **extra})
        array[:] = image
        array[3:40:2, 5] = 8
        assert np.array_equal(zarrcore.open_array(path, mode="r")[:], array[:])
        assert np.array_equal(zarr.open_array(path, mode="r")[:], array[:])


@pytest.fixture
def hdf5(tmp_path: Path) -> tuple[Path, np.ndarray]:
    """A file of HDF5 with a chunked and compressed data set, and its values."""
    h5py = pytest.importorskip("h5py")
    values = np.random.default_rng(3).integers(0, 255, (30, 20), dtype="i2")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("t", data=values, chunks=(10, 7), compression="gzip", shuffle=True)
    return path, values


def test_references_of_kerchunk_are_read(hdf5: tuple[Path, np.ndarray]) -> None:
    hdf = pytest.importorskip("kerchunk.hdf")
    path, values = hdf5
    references = hdf.SingleHdf5ToZarr(str(path)).translate()
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("reference", fo=references, asynchronous=True, remote_protocol="file")
    store = zarr.storage.FsspecStore(files, read_only=True)
    assert np.array_equal(zarr.open_group(store, mode="r", zarr_format=2)["t"][:], values)
    array = zarrcore.open_group(store, mode="r", zarr_format=2)["t"]
    assert np.array_equal(array[:], values) and np.array_equal(array[3:17:2, 5], values[3:17:2, 5])


def test_manifests_of_virtualizarr_are_read(hdf5: tuple[Path, np.ndarray]) -> None:
    parsers = pytest.importorskip("virtualizarr.parsers")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore

    path, values = hdf5
    url = path.as_uri()
    store = parsers.HDFParser()(url=url, registry=ObjectStoreRegistry({"file://": LocalStore()}))
    assert np.array_equal(zarr.open_group(store, mode="r")["t"][:], values)
    array = zarrcore.open_group(store, mode="r")["t"]
    assert np.array_equal(array[:], values) and np.array_equal(array[3:17:2, 5], values[3:17:2, 5])
