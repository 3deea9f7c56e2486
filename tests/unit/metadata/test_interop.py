"""Documents of other implementations are read, and they read ours."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zarrcore.codecs import BloscCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarrcore.dtypes import parse_dtype
from zarrcore.grids import RegularGrid
from zarrcore.metadata import (
    ArrayV2Metadata,
    ArrayV3Metadata,
    ConsolidatedMetadata,
    GroupMetadata,
    parse_v2_array,
    parse_v2_group,
    parse_v3_node,
)

pytestmark = pytest.mark.interop

CODECS: dict[str, tuple[Any, ...]] = {
    "plain": ("bytes",),
    "blosc": ("bytes", BloscCodec(cname="lz4")),
    "several": (TransposeCodec(order=(1, 0)), "bytes", GzipCodec(level=1), ZstdCodec(level=3), Crc32cCodec()),
    "shards": (ShardingCodec(chunk_shape=(2, 3), codecs=["bytes", ZstdCodec()]),),
    "nested": (ShardingCodec(chunk_shape=(4, 3), codecs=[ShardingCodec(chunk_shape=(2, 1))]),),
    "start": (ShardingCodec(chunk_shape=(2, 3), codecs=["bytes"], index_location="start"),),
}


def metadata_v3(codecs: str, dtype: str = "int32", **changes: Any) -> ArrayV3Metadata:
    def little(codec: Any) -> Any:
        if codec == "bytes":
            return {"name": "bytes", "configuration": {"endian": "little"}}
        if isinstance(codec, ShardingCodec):
            return ShardingCodec(
                chunk_shape=codec.chunk_shape,
                codecs=[
                    little(c.to_json()["name"]) if c.name == "bytes" else little(c) for c in codec.codecs
                ],
                index_location=codec.index_location,
            )
        return codec

    zdtype = parse_dtype(dtype, zarr_format=3)
    arguments: dict[str, Any] = {
        "shape": (9, 11),
        "data_type": zdtype,
        "chunk_grid": RegularGrid((4, 6)),
        "chunk_key_encoding": "default",
        "fill_value": zdtype.default_scalar(),
        "codecs": [little(codec) for codec in CODECS[codecs]],
        "attributes": {"a": [1, None, "é"]},
        "dimension_names": ("x", None),
    }
    return ArrayV3Metadata(**arguments | changes)


def store(path: Path, documents: dict[str, bytes]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, data in documents.items():
        (path / name).write_bytes(data)
    return path


@pytest.fixture
def zarr() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("zarr")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("codecs", CODECS)
class TestOthersReadOurs:
    def test_zarr_python(self, zarr: Any, tmp_path: Path, codecs: str, dtype: str) -> None:
        metadata = metadata_v3(codecs, dtype)
        array = zarr.open_array(store(tmp_path / "a", metadata.to_documents()), mode="r+")
        assert array.metadata.to_dict() == json.loads(metadata.to_documents()["zarr.json"]) | {
            "storage_transformers": (),
            "codecs": array.metadata.to_dict()["codecs"],
            "shape": (9, 11),
            "dimension_names": ("x", None),
            "chunk_grid": array.metadata.to_dict()["chunk_grid"],
            "chunk_key_encoding": array.metadata.to_dict()["chunk_key_encoding"],
            "fill_value": array.metadata.to_dict()["fill_value"],
        }
        value = np.arange(99).reshape(9, 11).astype(dtype)
        array[...] = value
        np.testing.assert_array_equal(array[...], value)
        assert json.loads(json.dumps(array.metadata.to_dict()["codecs"])) == metadata.to_dict()["codecs"]

    def test_tensorstore(self, tmp_path: Path, codecs: str, dtype: str) -> None:
        tensorstore = pytest.importorskip("tensorstore")
        path = store(tmp_path / "a", metadata_v3(codecs, dtype).to_documents())
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}
        array = tensorstore.open(spec, open=True).result()
        assert array.shape == (9, 11)
        array.write(np.ones((9, 11), dtype)).result()


def chunks_of(path: Path, metadata: Any) -> np.ndarray:
    """The array decoded chunk by chunk."""
    out = np.empty(metadata.shape, metadata.np_dtype)
    out[...] = metadata.fill_scalar
    for coords in np.ndindex(*metadata.chunk_grid.grid_shape(metadata.shape)):
        file = path / metadata.encode_chunk_key(coords)
        if file.exists():
            spec = metadata.chunk_spec(coords)
            origin = metadata.chunk_grid.origin_of(coords)
            region = tuple(slice(o, o + n) for o, n in zip(origin, spec.shape, strict=True))
            chunk = metadata.chain().decode(file.read_bytes(), spec)
            kept = out[region].shape
            out[region] = chunk[tuple(slice(n) for n in kept)]
    return out


def v3_arguments(zarr: Any) -> list[dict]:
    z = zarr.codecs
    return [
        {},
        {"compressors": None, "dtype": "float64", "fill_value": np.nan},
        {"compressors": [z.BloscCodec(), z.Crc32cCodec()], "dtype": ">u2"},
        {"filters": [z.TransposeCodec(order=(1, 0))], "compressors": [z.GzipCodec(level=1)]},
        {"shards": (4, 6), "chunks": (2, 3), "compressors": [z.ZstdCodec(level=1, checksum=True)]},
        {
            "serializer": z.BytesCodec(endian="big"),
            "dimension_names": ["a", "b"],
            "attributes": {"x": {"y": [1]}},
        },
        {"chunk_key_encoding": {"name": "v2", "separator": "."}, "dtype": "complex128", "fill_value": 1 + 2j},
        {"dtype": "bool", "fill_value": True},
        {"dtype": "M8[ns]"},
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(9))
def test_arrays_of_zarr_python_3(zarr: Any, tmp_path: Path, case: int) -> None:
    pytest.importorskip("zarrcore._core.engine")
    arguments = {"shape": (9, 11), "dtype": "int32", "chunks": (4, 6)} | v3_arguments(zarr)[case]
    theirs = zarr.create_array(tmp_path / "a", **arguments)
    theirs[...] = np.arange(99).reshape(9, 11).astype(theirs.dtype)
    ours = parse_v3_node((tmp_path / "a/zarr.json").read_bytes())
    assert isinstance(ours, ArrayV3Metadata)
    assert ours.chunks == theirs.chunks
    assert ours.shards == theirs.shards
    np.testing.assert_array_equal(ours.fill_value, theirs.fill_value)
    np.testing.assert_array_equal(chunks_of(tmp_path / "a", ours), theirs[...])
    written = json.loads(ours.to_documents()["zarr.json"])
    expected = json.loads((tmp_path / "a/zarr.json").read_bytes())
    expected.pop("storage_transformers")
    assert written == expected


V2_ARGUMENTS: list[dict] = [
    {},
    {"order": "F", "dtype": ">f4", "fill_value": np.nan},
    {"compressor": None, "dimension_separator": "/"},
    {"codec": ["Blosc", {"cname": "zstd", "shuffle": 2}]},
    {"codec": ["Zlib", {"level": 3}], "dtype": "S3", "fill_value": b"ab"},
    {"codec": ["LZMA", {"preset": 1}], "filter": ["Delta", {"dtype": "<i4"}]},
    {"codec": ["BZ2", {}], "dtype": "M8[s]"},
    {"codec": ["LZ4", {}], "filter": ["Shuffle", {"elementsize": 4}], "fill_value": None},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", V2_ARGUMENTS, ids=str)
def test_arrays_of_zarr_python_2(zarr: Any, tmp_path: Path, case: dict) -> None:
    pytest.importorskip("zarrcore._core.engine")
    numcodecs = pytest.importorskip("numcodecs")
    arguments = {"shape": (9, 11), "dtype": "int32", "chunks": (4, 6), "zarr_format": 2} | case
    for argument, name in (("codec", "compressor"), ("filter", "filters")):
        if argument in arguments:
            cls, configuration = arguments.pop(argument)
            codec = getattr(numcodecs, cls)(**configuration)
            arguments[name] = codec if name == "compressor" else [codec]
    theirs = zarr.create(store=str(tmp_path / "a"), **arguments)
    theirs[...] = np.arange(99).reshape(9, 11).astype(theirs.dtype)
    theirs.attrs["é"] = [1]
    zarray, zattrs = (tmp_path / "a/.zarray").read_bytes(), (tmp_path / "a/.zattrs").read_bytes()
    ours = parse_v2_array(zarray, zattrs)
    np.testing.assert_array_equal(chunks_of(tmp_path / "a", ours), theirs[...])
    assert json.loads(ours.to_documents()[".zarray"]) == json.loads(zarray)
    assert json.loads(ours.to_documents()[".zattrs"]) == json.loads(zattrs)
    store(tmp_path / "b", ours.to_documents())
    assert zarr.open_array(tmp_path / "b", mode="r").metadata == theirs.metadata


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata(zarr: Any, tmp_path: Path, zarr_format: Any) -> None:
    root = zarr.create_group(tmp_path / "theirs", zarr_format=zarr_format, attributes={"root": 1})
    root.create_group("g").create_array("x", shape=(4,), dtype="i4", attributes={"units": "m"})
    root.create_group("empty/deeper")
    zarr.consolidate_metadata(str(tmp_path / "theirs"))
    if zarr_format == 3:
        ours = parse_v3_node((tmp_path / "theirs/zarr.json").read_bytes())
    else:
        names = (".zgroup", ".zattrs", ".zmetadata")
        ours = parse_v2_group(*((tmp_path / "theirs" / name).read_bytes() for name in names))
    assert isinstance(ours, GroupMetadata)
    assert ours.consolidated_metadata is not None
    assert set(ours.consolidated_metadata.metadata) == {"g", "g/x", "empty", "empty/deeper"}
    store(tmp_path / "ours", ours.to_documents())
    again = zarr.open_consolidated(str(tmp_path / "ours"), zarr_format=zarr_format)
    assert {path for path, _ in again.members(max_depth=None)} == {"g", "g/x", "empty", "empty/deeper"}
    assert again["g/x"].attrs.asdict() == {"units": "m"}


@pytest.mark.filterwarnings("ignore")
def test_a_group_that_we_consolidate(zarr: Any, tmp_path: Path) -> None:
    array = metadata_v3("plain")
    nodes = {"g": GroupMetadata({"a": 1}), "g/h": GroupMetadata(), "g/h/x": array, "y": array}
    group = GroupMetadata({"root": 1}, 3, ConsolidatedMetadata(nodes))
    theirs = zarr.open_consolidated(str(store(tmp_path / "a", group.to_documents())))
    assert {path for path, _ in theirs.members(max_depth=None)} == set(nodes)
    assert theirs["g/h/x"].attrs.asdict() == array.attributes


@pytest.mark.filterwarnings("ignore")
def test_a_format_2_array_that_we_make(zarr: Any, tmp_path: Path) -> None:
    metadata = ArrayV2Metadata(
        shape=(9, 11),
        chunks=(4, 6),
        dtype=parse_dtype("<i4", zarr_format=2),
        fill_value=7,
        order="F",
        compressor={"id": "zstd", "level": 0},  # type: ignore[arg-type]
        attributes={"a": 1},
    )
    array = zarr.open_array(store(tmp_path / "a", metadata.to_documents()), mode="r+")
    array[:4] = 1
    assert array[5, 5] == 7
    assert array.attrs.asdict() == {"a": 1}
