# SPDX-License-Identifier: MIT
"""Arrays go from here to zarr-python, zarrs and tensorstore, and back."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]  # the peers' warnings are theirs

SHAPE, CHUNKS = (13, 18), (6, 8)


# ---- what is written -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An array to be written: what the metadata say, and who cannot take it."""

    name: str
    dtype: str = "int32"
    fill: Any = 0
    codecs: tuple = ()  # format 3: all of them
    compressor: dict | None = None  # format 2
    filters: list[dict] | None = None
    order: str = "C"
    keys: tuple[str, str] = ("default", "/")
    shape: tuple[int, ...] = SHAPE
    chunks: tuple[int, ...] = CHUNKS
    zarr_format: int = 3
    unsupported: tuple[str, ...] = ()
    attributes: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return f"v{self.zarr_format}-{self.name}"

    def region(self) -> tuple[Any, ...]:
        """What gets written: all but the last chunk of every row and column, which stays absent."""
        return *(slice(0, max(n - c, 1)) for n, c in zip(self.shape, self.chunks, strict=True)), ...

    def values(self) -> np.ndarray:
        """The whole array; repeated values, extremes and the fill value among them."""
        dtype, fill = np.dtype(self.dtype), self.fill_scalar()
        values = np.full(self.shape, fill, dtype)
        written = values[self.region()]
        rng = np.random.default_rng(len(self.name))
        raw = rng.integers(0, 256, (*written.shape, dtype.itemsize), dtype="u1").view(dtype)[..., 0]
        if dtype.kind == "b":
            raw = raw.view("u1") > 99
        elif dtype.kind in "US":
            raw = np.array(["", "a", "né" if dtype.kind == "U" else "ne"], dtype)[
                rng.integers(0, 3, written.shape)
            ]
        elif dtype.kind == "c":
            raw = rng.normal(size=written.shape) + 1j * rng.normal(size=written.shape)
        raw = np.asarray(raw).astype(dtype)
        if raw.ndim:
            raw.reshape(-1)[::3] = fill
        written[...] = raw
        return values

    def fill_scalar(self) -> Any:
        if isinstance(self.fill, list):
            return np.dtype(self.dtype).type(complex(*self.fill))
        fill = float(self.fill) if self.fill in ("NaN", "Infinity", "-Infinity") else self.fill
        return np.array(fill).astype(self.dtype)[()]

    def split(self) -> dict[str, Any]:
        """The codecs as the arguments filters, serializer and compressors of ``create_array``."""
        at = next(i for i, codec in enumerate(self.codecs) if codec["name"] in ("bytes", "sharding_indexed"))
        return {
            "filters": list(self.codecs[:at]),
            "serializer": self.codecs[at],
            "compressors": list(self.codecs[at + 1 :]),
        }


# ---- who writes and reads ------------------------------------------------------------------------


def create(module: Any, path: Path, case: Case) -> Any:
    """Create an array with zarr-python's function or ours, which have the same arguments."""
    options: dict[str, Any] = {"chunk_key_encoding": {"name": case.keys[0], "separator": case.keys[1]}}
    if case.zarr_format == 3:
        options |= case.split()
    else:
        filters = case.filters
        if filters and module is not zarrcore:
            filters = [pytest.importorskip("numcodecs").get_codec(one) for one in filters]
        options |= {"compressors": case.compressor, "filters": filters, "order": case.order}
    return module.create_array(
        str(path),
        shape=case.shape,
        chunks=case.chunks,
        dtype=case.dtype,
        fill_value=case.fill_scalar(),
        zarr_format=case.zarr_format,
        attributes=case.attributes,
        **options,
    )


class Ours:
    """zarrcore."""

    def write(self, path: Path, case: Case) -> None:
        create(zarrcore, path, case)[case.region()] = case.values()[case.region()]

    def read(self, path: Path, case: Case) -> np.ndarray:
        return zarrcore.open_array(path, mode="r", zarr_format=case.zarr_format)[...]


class ZarrPython:
    """zarr-python, with one of the pipelines that exist for it."""

    def __init__(self, pipeline: str) -> None:
        self.zarr = pytest.importorskip("zarr", minversion="3.1")
        self.pipeline = {"codec_pipeline.path": pipeline}

    def write(self, path: Path, case: Case) -> None:
        with self.zarr.config.set(self.pipeline):
            create(self.zarr, path, case)[case.region()] = case.values()[case.region()]

    def read(self, path: Path, case: Case) -> np.ndarray:
        with self.zarr.config.set(self.pipeline):
            return self.zarr.open_array(path, mode="r", zarr_format=case.zarr_format)[...]


class TensorStore:
    """tensorstore."""

    def __init__(self) -> None:
        self.tensorstore = pytest.importorskip("tensorstore")

    def open(self, path: Path, case: Case, **more: Any) -> Any:
        driver = "zarr3" if case.zarr_format == 3 else "zarr"
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/"}, **more}
        return self.tensorstore.open(spec, create=bool(more)).result()

    def write(self, path: Path, case: Case) -> None:
        array = self.open(path, case, metadata=self.metadata(case))
        array[case.region()].write(case.values()[case.region()]).result()

    def read(self, path: Path, case: Case) -> np.ndarray:
        return self.open(path, case).read().result()

    def metadata(self, case: Case) -> dict[str, Any]:
        keys = {"name": case.keys[0], "configuration": {"separator": case.keys[1]}}
        if case.zarr_format == 3:
            return {
                "shape": case.shape,
                "data_type": case.dtype,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": case.chunks}},
                "chunk_key_encoding": keys,
                "codecs": list(case.codecs),
                "fill_value": case.fill,
                "attributes": case.attributes,
            }
        return {
            "shape": case.shape,
            "chunks": case.chunks,
            "dtype": np.dtype(case.dtype).str,
            "fill_value": case.fill,
            "order": case.order,
            "compressor": case.compressor,
            "filters": case.filters,
            "dimension_separator": case.keys[1],
        }


def peer_named(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "tensorstore":
            return TensorStore()
        if name == "zarrs":
            pytest.importorskip("zarrs")
            return ZarrPython("zarrs.ZarrsCodecPipeline")
        return ZarrPython("zarr.core.codec_pipeline.BatchedCodecPipeline")


PEERS = ("zarr-python", "zarrs", "tensorstore")


# ---- format 3 ------------------------------------------------------------------------------------


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE, BIG, BYTES = codec("bytes", endian="little"), codec("bytes", endian="big"), codec("bytes")
CRC = codec("crc32c")
ZSTD = codec("zstd", level=3, checksum=False)


def blosc(cname: str = "lz4", shuffle: str = "shuffle", **more: Any) -> dict[str, Any]:
    options = {"cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0, "typesize": 4, **more}
    return codec("blosc", **options)


def sharding(
    chunk_shape: tuple, codecs: tuple = (LITTLE,), where: str = "end", index: tuple = (LITTLE, CRC)
) -> dict:
    return codec(
        "sharding_indexed",
        chunk_shape=list(chunk_shape),
        codecs=list(codecs),
        index_codecs=list(index),
        index_location=where,
    )


V3_DTYPES = [
    *(
        Case(f"{kind}-{word}", kind, fill, codecs=(end, ZSTD))
        for kind, fill in (("int16", -5), ("uint32", 7), ("int64", -(2**63)), ("uint64", 2**64 - 1))
        for word, end in (("little", LITTLE), ("big", BIG))
    ),
    *(
        Case(f"{kind}-{fill}-{word}", kind, fill, codecs=(end, codec("gzip", level=1)))
        for kind, fill, word, end in (
            ("float16", "NaN", "little", LITTLE),
            ("float32", "NaN", "big", BIG),
            ("float64", "-Infinity", "little", LITTLE),
            ("float64", -0.0, "big", BIG),
        )
    ),
    Case("bool", "bool", True, codecs=(BYTES, ZSTD)),
    Case("int8", "int8", -1, codecs=(BYTES,)),
    Case("uint8", "uint8", 255, codecs=(BYTES, CRC)),
    Case("complex64", "complex64", [1.5, -0.5], codecs=(LITTLE, ZSTD)),
    Case("complex128", "complex128", [0.0, 2.5], codecs=(BIG, ZSTD)),
]
V3_CODECS = [
    *(
        Case(f"blosc-{cname}-{shuffle}", codecs=(LITTLE, blosc(cname, shuffle)))
        for cname in ("lz4", "lz4hc", "blosclz", "zstd", "zlib")
        for shuffle in ("noshuffle", "shuffle", "bitshuffle")
    ),
    Case("blosc-level-0", codecs=(LITTLE, blosc(clevel=0))),
    Case("blosc-blocks", codecs=(LITTLE, blosc(blocksize=256))),
    Case("blosc-of-bytes", codecs=(LITTLE, blosc(typesize=1))),
    Case("blosc-u1", "uint8", codecs=(BYTES, blosc(typesize=1, shuffle="bitshuffle"))),
    Case("gzip-9", codecs=(LITTLE, codec("gzip", level=9))),
    Case("zstd-checksum", codecs=(LITTLE, codec("zstd", level=1, checksum=True))),
    Case("zstd-negative", codecs=(LITTLE, codec("zstd", level=-5, checksum=False))),
    Case("crc32c-twice", codecs=(LITTLE, CRC, ZSTD, CRC)),
    Case("transposed", codecs=(codec("transpose", order=[1, 0]), BIG, CRC)),
    Case(
        "transposed-twice",
        codecs=(codec("transpose", order=[2, 0, 1]), codec("transpose", order=[0, 2, 1]), LITTLE, ZSTD),
        shape=(5, 7, 9),
        chunks=(2, 3, 4),
    ),
]
V3_SHARDS = [
    Case("sharded-end", codecs=(sharding((3, 2), (LITTLE, ZSTD)),)),
    Case("sharded-start", codecs=(sharding((2, 8), (BIG, blosc()), where="start"),)),
    Case("sharded-plain", codecs=(sharding((6, 4)),)),
    Case("sharded-index-plain", codecs=(sharding((3, 4), (LITTLE, CRC), index=(LITTLE,)),)),
    Case("sharded-index-big", codecs=(sharding((3, 4), (LITTLE, CRC), index=(BIG, CRC)),)),
    Case(
        "sharded-transposed-inside", codecs=(sharding((3, 4), (codec("transpose", order=[1, 0]), BIG, ZSTD)),)
    ),
    Case(
        "sharded-transposed-outside",
        codecs=(codec("transpose", order=[1, 0]), sharding((2, 2), (LITTLE, ZSTD))),
    ),
    Case(
        "sharded-transposed-uneven",
        codecs=(codec("transpose", order=[1, 0]), sharding((4, 3), (LITTLE, ZSTD))),
        unsupported=("zarr-python", "zarrs"),  # they divide the shard's shape before the transposition
    ),
    Case("sharded-compressed", codecs=(sharding((3, 4)), ZSTD), unsupported=("tensorstore",)),
    Case("nested", codecs=(sharding((6, 4), (sharding((3, 2), (LITTLE, ZSTD), where="start"),)),)),
    Case("nested-deep", codecs=(sharding((6, 4), (sharding((3, 2), (sharding((1, 1), (LITTLE, CRC)),)),)),)),
    Case("sharded-f8-nan", "float64", "NaN", codecs=(sharding((3, 2), (LITTLE, codec("gzip", level=5))),)),
]
V3_LAYOUTS = [
    *(
        Case(f"keys-{name}{'dot' if separator == '.' else 'slash'}", keys=(name, separator), codecs=(LITTLE,))
        for name in ("default", "v2")
        for separator in "./"
    ),
    Case("0d", "float32", 1.5, codecs=(LITTLE, ZSTD), shape=(), chunks=()),
    Case("0d-v2-keys", keys=("v2", "."), codecs=(LITTLE,), shape=(), chunks=()),
    Case("1d", codecs=(LITTLE,), shape=(100,), chunks=(7,)),
    Case("5d", codecs=(LITTLE, blosc()), shape=(3, 4, 2, 5, 3), chunks=(2, 3, 2, 4, 1)),
    Case("one-chunk", codecs=(LITTLE,), chunks=(20, 20)),
    Case("attributes", codecs=(LITTLE,), attributes={"a": [1, None, {"b": "é漢"}], "f": 0.1}),
]

# ---- format 2 ------------------------------------------------------------------------------------


def v2_blosc(**options: Any) -> dict[str, Any]:
    return {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0, **options}


def v2(name: str, dtype: str = "<i4", fill: Any = 0, **options: Any) -> Case:
    return Case(name, dtype, fill, **{"zarr_format": 2, "keys": ("v2", "."), **options})


NOT_ZARRS = ("zarrs",)  # foreign byte order, Fortran order
ONLY_ZARR_PYTHON = ("tensorstore", "zarrs")
V2 = [
    *(
        v2(f"dtype-{dtype}", dtype, fill)
        for dtype, fill in (("<i2", -1), ("<u8", 2**64 - 1), ("<f2", "Infinity"))
    ),
    *(
        v2(f"dtype-{dtype}", dtype, fill)
        for dtype, fill in (("|b1", True), ("|i1", -3), ("|u1", 0), ("<f8", -0.0))
    ),
    v2("dtype-i4-big", ">i4", 9, unsupported=NOT_ZARRS),
    v2("dtype-f8-big", ">f8", "NaN", compressor={"id": "zlib", "level": 1}, unsupported=NOT_ZARRS),
    v2("dtype-c16", "<c16", [1.0, -2.5], compressor=v2_blosc()),
    v2("order-F", order="F", compressor={"id": "zlib", "level": 1}, unsupported=NOT_ZARRS),
    v2("order-F-big", ">u2", order="F", shape=(5, 6, 7), chunks=(2, 4, 3), unsupported=NOT_ZARRS),
    v2("zlib", compressor={"id": "zlib", "level": 9}),
    v2("gzip", compressor={"id": "gzip", "level": 1}, unsupported=("tensorstore",)),
    v2("bz2", compressor={"id": "bz2", "level": 1}),
    v2("zstd", compressor={"id": "zstd", "level": 3}),
    v2("lz4", compressor={"id": "lz4", "acceleration": 1}, unsupported=ONLY_ZARR_PYTHON),
    v2("lzma", compressor={"id": "lzma"}, unsupported=ONLY_ZARR_PYTHON),
    *(
        v2(f"blosc-{cname}", compressor=v2_blosc(cname=cname))
        for cname in ("lz4", "lz4hc", "blosclz", "zstd", "zlib")
    ),
    *(
        v2(f"blosc-shuffle{shuffle}", "<f8", compressor=v2_blosc(shuffle=shuffle))
        for shuffle in (0, 1, 2, -1)
    ),
    v2("delta", filters=[{"id": "delta", "dtype": "<i4"}], unsupported=ONLY_ZARR_PYTHON),
    v2("shuffle", filters=[{"id": "shuffle", "elementsize": 4}], unsupported=ONLY_ZARR_PYTHON),
    v2(
        "crc32",
        filters=[{"id": "crc32"}],
        compressor={"id": "zlib", "level": 1},
        unsupported=ONLY_ZARR_PYTHON,
    ),
    v2("slash-keys", keys=("v2", "/")),
    v2("0d", "<f4", 2.5, shape=(), chunks=()),
    v2("string-S", "|S7", "", unsupported=ONLY_ZARR_PYTHON),
    v2("string-U", "<U3", "", unsupported=ONLY_ZARR_PYTHON),
    v2("string-U-big", ">U3", "", unsupported=ONLY_ZARR_PYTHON),
]
CASES = [*V3_DTYPES, *V3_CODECS, *V3_SHARDS, *V3_LAYOUTS, *V2]
PAIRS = [
    pytest.param(case, peer, id=f"{case}-{peer}")
    for case in CASES
    for peer in PEERS
    if peer not in case.unsupported
]


def assert_same(found: np.ndarray, case: Case) -> None:
    wanted = case.values()
    found = np.asarray(found)
    assert found.shape == wanted.shape
    assert found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
    assert found.astype(wanted.dtype).tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("case", "peer"), PAIRS)
def test_ours_read_by(case: Case, peer: str, tmp_path: Path) -> None:
    Ours().write(tmp_path / "a", case)
    assert_same(peer_named(peer).read(tmp_path / "a", case), case)


@pytest.mark.parametrize(("case", "peer"), PAIRS)
def test_theirs_read_here(case: Case, peer: str, tmp_path: Path) -> None:
    peer_named(peer).write(tmp_path / "a", case)
    assert_same(Ours().read(tmp_path / "a", case), case)
    if case.attributes:
        assert zarrcore.open_array(tmp_path / "a").attrs.asdict() == case.attributes


@pytest.mark.parametrize("case", CASES, ids=str)
def test_ours_read_here(case: Case, tmp_path: Path) -> None:
    """The cases themselves: absent chunks are absent, and everything comes back."""
    Ours().write(tmp_path / "a", case)
    assert_same(Ours().read(tmp_path / "a", case), case)
    document = json.loads(
        (tmp_path / "a" / ("zarr.json" if case.zarr_format == 3 else ".zarray")).read_text()
    )
    if case.zarr_format == 3:
        assert [one["name"] for one in document["codecs"]] == [one["name"] for one in case.codecs]


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in ("sharded-end", "sharded-start", "nested", "gzip-9")],
    ids=str,
)
def test_both_patch_the_same_array(case: Case, peer: str, tmp_path: Path) -> None:
    """Chunks and shards that one wrote are patched by the other, and the other way round."""
    other = peer_named(peer)
    Ours().write(tmp_path / "a", case)
    wanted = case.values()
    if peer == "tensorstore":
        other.open(tmp_path / "a", case)[1:9, 5:11].write(np.full((8, 6), 77, wanted.dtype)).result()
    else:
        with other.zarr.config.set(other.pipeline):
            other.zarr.open_array(tmp_path / "a", mode="r+")[1:9, 5:11] = 77
    wanted[1:9, 5:11] = 77
    ours = zarrcore.open_array(tmp_path / "a", mode="r+")
    assert np.array_equal(ours[...], wanted)
    ours[4:13, 3:18:5] = -9
    wanted[4:13, 3:18:5] = -9
    assert np.array_equal(other.read(tmp_path / "a", case), wanted)
