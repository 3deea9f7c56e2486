# SPDX-License-Identifier: MIT
"""Stores and whole hierarchies: of zarr-python 2, ZIP archives, N5 containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange.zarr2 import Worker, worker
from exchange.zarr2_worker import ATTRIBUTES, save

import zarrcore
from zarrcore.errors import PickleCodecDisabledError
from zarrcore.storage import LocalStore, ZipStore

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # the peers' warnings are theirs

VALUES = np.arange(24).reshape(4, 6)
TREE = {
    "": {"attributes": ATTRIBUTES, "values": None},
    "first": {"attributes": {"n": 1}, "values": None},
    "first/empty": {"attributes": {}, "values": None},
    "first/array": {"attributes": {"units": "m"}, "values": VALUES.tolist()},
    "top": {"attributes": {}, "values": [0, 0, 0]},
}


@pytest.fixture
def zarr2() -> Worker:
    """zarr-python 2."""
    return worker()


def build(store: Any, **options: Any) -> None:
    """Write the tree."""
    root = zarrcore.open_group(store, mode="w", zarr_format=2, attributes=ATTRIBUTES)
    first = root.create_group("first", attributes={"n": 1})
    first.create_group("empty")
    array = first.create_array("array", shape=(4, 6), chunks=(2, 4), dtype="f8", compressors=None, **options)
    array[...] = VALUES
    array.attrs["units"] = "m"
    root.create_array("top", shape=(3,), chunks=(2,), dtype="u1", compressors=None, **options)


def describe(store: Any, **options: Any) -> dict[str, Any]:
    """Attributes and values of all nodes by path."""
    root = zarrcore.open_group(store, mode="r", **options)
    nodes = {"": root, **dict(root.members(max_depth=None))}
    return {
        name: {
            "attributes": node.attrs.asdict(),
            "values": node[...].tolist() if isinstance(node, zarrcore.Array) else None,
        }
        for name, node in nodes.items()
    }


def test_it_is_version_2(zarr2: Worker) -> None:
    assert zarr2.ask("versions")["zarr"].startswith("2.18.")


# ---- zarr-python 2 ---------------------------------------------------------------------------------------

DIRECTORIES = ("DirectoryStore", "NestedDirectoryStore", "FSStore", "TempStore", "N5Store", "N5FSStore")


@pytest.mark.parametrize("store", DIRECTORIES)
def test_directories_of_zarr2_read_here(zarr2: Worker, store: str, tmp_path: Path) -> None:
    path = zarr2.ask("build", path=str(tmp_path), store=store)
    assert describe(LocalStore(path)) == TREE


@pytest.mark.parametrize("store", ["DirectoryStore", "FSStore"])
def test_ours_read_as_directories_of_zarr2(zarr2: Worker, store: str, tmp_path: Path) -> None:
    build(tmp_path)
    assert zarr2.ask("describe", path=str(tmp_path), store=store) == TREE


def test_ours_read_as_a_nested_directory(zarr2: Worker, tmp_path: Path) -> None:
    build(tmp_path, chunk_key_encoding={"name": "v2", "separator": "/"})
    assert (tmp_path / "first" / "array" / "1" / "0").is_file()
    assert zarr2.ask("describe", path=str(tmp_path), store="NestedDirectoryStore") == TREE


def test_consolidated_by_zarr2(zarr2: Worker, tmp_path: Path) -> None:
    zarr2.ask("build", path=str(tmp_path), store="DirectoryStore")
    zarr2.ask("consolidate", path=str(tmp_path))
    remove_documents(tmp_path)
    assert describe(tmp_path, use_consolidated=True) == TREE


def test_consolidated_here(zarr2: Worker, tmp_path: Path) -> None:
    build(tmp_path)
    zarrcore.consolidate_metadata(tmp_path)
    remove_documents(tmp_path)
    assert zarr2.ask("describe", path=str(tmp_path), store="", consolidated=True) == TREE


def remove_documents(root: Path) -> None:
    """Remove the documents that consolidated metadata stand for, but for those of the root."""
    for name in (".zarray", ".zgroup", ".zattrs"):
        for path in root.glob(f"*/**/{name}"):
            path.unlink()


EXTENDED = {
    **TREE,
    "": {"attributes": {**ATTRIBUTES, "more": [1]}, "values": None},
    "first/added": {"attributes": {}, "values": [0, 1, 2, 3, 4]},
    "first/array": {
        "attributes": {"units": "km"},
        "values": np.pad(VALUES, ((0, 2), (0, 0)))[:, :5].tolist(),
    },
    "top": {"attributes": {}, "values": [0, 0, 0, 7, 8]},
}


def test_ours_extended_by_zarr2(zarr2: Worker, tmp_path: Path) -> None:
    build(tmp_path)
    zarr2.ask("extend", path=str(tmp_path))
    assert describe(tmp_path) == EXTENDED


def test_theirs_extended_here(zarr2: Worker, tmp_path: Path) -> None:
    zarr2.ask("build", path=str(tmp_path), store="DirectoryStore")
    root = zarrcore.open_group(tmp_path, mode="r+")
    root.attrs["more"] = [1]
    root["first"].create_array("added", data=np.arange(5), chunks=(2,))
    root["first/array"].attrs["units"] = "km"
    root["first/array"].resize((6, 5))
    root["top"].append(np.array([7, 8], "u1"))
    assert zarr2.ask("describe", path=str(tmp_path), store="DirectoryStore") == EXTENDED


def test_pickled_objects_are_refused(zarr2: Worker, tmp_path: Path) -> None:
    """Reading them would run what they say."""
    document = {
        "shape": [2],
        "chunks": [2],
        "dtype": "|O",
        "fill_value": None,
        "order": "C",
        "filters": [{"id": "pickle"}],
        "compressor": None,
        "dimension_separator": ".",
    }
    zarr2.ask("create", path=str(tmp_path / "a"), document=document)
    with pytest.raises(PickleCodecDisabledError):
        zarrcore.open_array(tmp_path / "a")


# ---- ZIP archives ----------------------------------------------------------------------------------------


def test_archives_of_zarr2_read_here(zarr2: Worker, tmp_path: Path) -> None:
    path = str(tmp_path / "a.zip")
    zarr2.ask("build", path=path, store="ZipStore")
    assert describe(ZipStore(path, mode="r")) == TREE


def test_our_archives_read_by_zarr2(zarr2: Worker, tmp_path: Path) -> None:
    path = str(tmp_path / "a.zip")
    with ZipStore(path, mode="w") as store:
        build(store)
    assert zarr2.ask("describe", path=path, store="ZipStore") == TREE


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_archives_and_zarr_python(zarr_format: int, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3.1")
    pairs = [(zarrcore, zarr), (zarr, zarrcore)]
    for number, (writer, reader) in enumerate(pairs):
        path = tmp_path / f"{number}.zip"
        store = writer.storage.ZipStore(path, mode="w")
        root = writer.open_group(store, mode="w", zarr_format=zarr_format, attributes=ATTRIBUTES)
        root.create_array("a/b", data=VALUES, chunks=(2, 4))
        store.close()
        store = reader.storage.ZipStore(path, mode="r")
        root = reader.open_group(store, mode="r")
        assert dict(root.attrs) == ATTRIBUTES
        assert root["a/b"][...].tolist() == VALUES.tolist()
        store.close()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_our_archives_read_by_tensorstore(zarr_format: int, tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        zarrcore.create_array(store, name="a/b", data=VALUES, chunks=(2, 4), zarr_format=zarr_format)
    archive = {"driver": "zip", "base": {"driver": "file", "path": str(tmp_path / "a.zip")}, "path": "a/b/"}
    spec = {"driver": "zarr" if zarr_format == 2 else "zarr3", "kvstore": archive}
    assert tensorstore.open(spec).result().read().result().tolist() == VALUES.tolist()


# ---- N5 containers ---------------------------------------------------------------------------------------

COMPRESSIONS = {
    "raw": None,
    "gzip": {"id": "gzip", "level": 1},
    "zlib": {"id": "zlib", "level": 1},
    "bz2": {"id": "bz2", "level": 1},
    "xz": {"id": "lzma", "format": 1, "check": -1, "preset": 1, "filters": None},
    "blosc": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "zstd": {"id": "zstd", "level": 1},
    "lz4": {"id": "lz4", "acceleration": 1},
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_n5_of_zarr2_read_here(zarr2: Worker, compression: str, tmp_path: Path) -> None:
    zarr2.ask("build", path=str(tmp_path), store="N5Store", compressor=COMPRESSIONS[compression])
    assert describe(tmp_path) == TREE


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
def test_n5_data_types_of_zarr2(zarr2: Worker, kind: str, tmp_path: Path) -> None:
    """Blocks at the edges too, and absent ones."""
    document = {
        "shape": [7, 5],
        "chunks": [3, 2],
        "dtype": f"<{kind}",
        "fill_value": 0,
        "order": "C",
        "filters": None,
        "compressor": {"id": "gzip", "level": 1},
        "dimension_separator": "/",
    }
    path = str(tmp_path / "a")
    values = np.arange(35).reshape(7, 5).astype(kind) - np.array(2).astype(kind)
    save(str(tmp_path / "values"), values)
    zarr2.ask("create", path=path, document=document, store="N5Store")
    place = str(tmp_path / "values")
    zarr2.ask("assign", path=path, place=place, bounds=[[0, 7], [0, 3]], store="N5Store")
    values[:, 3:] = 0
    assert zarrcore.open_array(path, mode="r")[...].tolist() == values.tolist()


@pytest.mark.parametrize("compression", ["raw", "gzip", "bzip2", "xz", "blosc", "zstd"])
def test_n5_of_tensorstore_read_here(compression: str, tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    options = {"cname": "lz4", "clevel": 5, "shuffle": 1} if compression == "blosc" else {}
    metadata = {
        "dimensions": [6, 4],
        "blockSize": [4, 2],
        "dataType": "float32",
        "compression": {"type": compression, **options},
    }
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": f"{tmp_path}/"}, "metadata": metadata}
    tensorstore.open(spec, create=True).result().write(VALUES.T.astype("f4")).result()
    assert json.loads((tmp_path / "attributes.json").read_text())["compression"]["type"] == compression
    assert zarrcore.open_array(tmp_path, mode="r")[...].tolist() == VALUES.tolist()


# ---- stores of other packages ----------------------------------------------------------------------------


def over_fsspec(module: Any, path: Path) -> Any:
    """A directory through fsspec."""
    fsspec = pytest.importorskip("fsspec")
    asynchronous = pytest.importorskip("fsspec.implementations.asyn_wrapper")
    local = asynchronous.AsyncFileSystemWrapper(fsspec.filesystem("file", auto_mkdir=True), asynchronous=True)
    return module.storage.FsspecStore(local, path=str(path))


def over_obstore(module: Any, path: Path) -> Any:
    """A directory through obstore."""
    obstore = pytest.importorskip("obstore.store")
    path.mkdir(exist_ok=True)
    return module.storage.ObjectStore(obstore.LocalStore(path))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("make", [over_fsspec, over_obstore])
def test_remote_stores_and_zarr_python(make: Any, zarr_format: int, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3.1")
    for number, (writer, reader) in enumerate([(zarrcore, zarr), (zarr, zarrcore)]):
        path = tmp_path / str(number)
        root = writer.open_group(make(writer, path), mode="w", zarr_format=zarr_format, attributes=ATTRIBUTES)
        root.create_array("a/b", data=VALUES, chunks=(2, 4))
        again = reader.open_group(make(reader, path), mode="r+")
        assert dict(again.attrs) == ATTRIBUTES
        again["a/b"][1:3] = -1
        wanted = VALUES.copy()
        wanted[1:3] = -1
        assert writer.open_array(make(writer, path), path="a/b", mode="r")[...].tolist() == wanted.tolist()
