"""The arrays that the cases read: reproducible, written once by zarr-python, kept in benchmarks/data."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Dataset:
    """How one array is made.

    Attributes
    ----------
    values : str
        Name in `VALUES`, and after a colon one of `FORMS`.
    chunks : int or tuple of int
        Shape of a chunk, or of an inner chunk when there are shards; one number stands for all dimensions.
    codecs : tuple of (str, dict)
        Codecs as in the v3 metadata; "transpose" and "bytes" take their places before the compressors.
    shards : int or tuple of int, optional
        Shape of a shard.
    v2 : dict, optional
        Makes it an array of format 2, with this "order" and "compressor".
    """

    values: str
    chunks: int | tuple[int, ...]
    codecs: tuple[tuple[str, dict[str, Any]], ...] = ()
    shards: int | tuple[int, ...] | None = None
    v2: dict[str, Any] | None = None


@dataclass(frozen=True)
class Home:
    """Where the data of one size lie."""

    root: Path

    def array(self, name: str) -> Path:
        return self.root / name

    def values(self, name: str) -> np.ndarray:
        name, _, form = name.partition(":")
        loaded: np.ndarray = np.load(self.root / f"{name}.npy")
        return FORMS[form](loaded)


# ---- values ----


def _encoded(texts: np.ndarray) -> np.ndarray:
    """Python's bytes."""
    items = np.empty(texts.shape, object)
    items[:] = [text.encode() for text in texts.tolist()]
    return items


#: Suffixes of the name of values, after a colon; numpy keeps no strings of any length in files.
FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": lambda stored: stored,
    "strings": lambda stored: stored.astype(np.dtypes.StringDType()),
    "objects": lambda stored: stored.astype(object),
    "bytes": _encoded,
}


def _waves(shape: tuple[int, ...], periods: tuple[float, ...]) -> list[np.ndarray]:
    axes = [np.sin(np.arange(n, dtype="f4") * (2 * np.pi / p)) for n, p in zip(shape, periods, strict=True)]
    return [axis.reshape([-1 if i == k else 1 for i in range(len(shape))]) for k, axis in enumerate(axes)]


def volume(shape: tuple[int, int, int]) -> np.ndarray:
    """A smooth scene plus sensor noise of a few bits, uint16; blosclz with bit shuffle halves it."""
    rng = np.random.default_rng(20240501)
    z, y, x = _waves(shape, (310.0, 170.0, 230.0))
    out = np.empty(shape, "u2")
    for k in range(shape[0]):
        plane = 900.0 + 500.0 * (y[0] + x[0]) * z[k, 0, 0]
        plane = plane + 3.0 * rng.standard_normal(shape[1:], dtype="f4")
        out[k] = np.maximum(plane, 0.0).astype("u2")
    return out


def floats(shape: tuple[int, int, int]) -> np.ndarray:
    """A smooth float32 field with noise in its lower bits, as a model's output has."""
    rng = np.random.default_rng(7)
    z, y, x = _waves(shape, (97.0, 61.0, 83.0))
    out = 280.0 + 15.0 * z + 9.0 * y * x
    out += 0.01 * rng.standard_normal(shape, dtype="f4")
    return np.round(out, 3).astype("f4")


def series(n: int) -> np.ndarray:
    """A random walk, int32."""
    return np.cumsum(np.random.default_rng(11).integers(-8, 9, n), dtype="i4")


def words(n: int) -> np.ndarray:
    """Words of 3 to 19 letters out of a thousand, as columns of categories have them."""
    rng = np.random.default_rng(13)
    known = ["".join(map(chr, rng.integers(97, 123, length))) for length in rng.integers(3, 20, 1000)]
    return np.array(known)[rng.integers(0, len(known), n)]


def titles(n: int) -> np.ndarray:
    """Strings of 10 to 30 characters that are all different, one in four not ASCII."""
    rng = np.random.default_rng(17)
    ends = np.array(["", " of it", " and so on", " für später"])[rng.integers(0, 4, n)]
    numbers = rng.permutation(n).astype(str)
    return np.strings.add(np.strings.add(words(n), numbers), ends)


VALUES: dict[str, Callable[[bool], np.ndarray]] = {
    "volume": lambda full: volume((512, 512, 1024) if full else (256, 256, 512)),
    "floats": lambda full: floats((256, 256, 256)),
    "hundred": lambda full: series(100),
    "kibibytes": lambda full: series(4000 * 256),
    "four-kibibytes": lambda full: series(4000 * 1024),
    "number": lambda full: np.array(7.5),
    "rows": lambda full: floats((16, 64, 1024)).reshape(1024, 1024),
    "words": lambda full: words(400_000),
    "titles": lambda full: titles(400_000),
}


# ---- arrays ----

_BLOSC = ("blosc", {"cname": "blosclz", "clevel": 9, "shuffle": "bitshuffle", "typesize": 2})
_LZ4 = ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4})
_ZSTD = ("zstd", {"level": 3, "checksum": False})
_ZSTD_DEFAULT = ("zstd", {"level": 0, "checksum": False})
_GZIP = ("gzip", {"level": 5})
_BIG = ("bytes", {"endian": "big"})
_TRANSPOSE = ("transpose", {"order": [2, 1, 0]})
_CRC: tuple[str, dict[str, Any]] = ("crc32c", {})
_V2_BLOSC = {"id": "blosc", "cname": "blosclz", "clevel": 9, "shuffle": 2}
_V2_ZSTD = {"id": "zstd", "level": 0}
_V2_LZ4 = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
#: Groups of arrays with these names, with consolidated metadata or not.
#: Data sets of xarray.
XARRAY = ("variables-plain", "variables-consolidated", "series", "tree")
GROUPS = {"group-plain": False, "group-consolidated": True}
NAMES = [f"array-{number:04}" for number in range(2000)]


def datasets(*, full: bool) -> dict[str, Dataset]:
    """All arrays by name; `full` makes the volume 512 MiB instead of 64."""
    edge = 256 if full else 128
    return {
        "volume-raw": Dataset("volume", edge),
        "volume-blosc": Dataset("volume", edge, (_BLOSC,)),
        "volume-zstd": Dataset("volume", edge, (_ZSTD,)),
        "volume-shards": Dataset("volume", 32, (_BLOSC,), shards=edge),
        "volume-shards-raw": Dataset("volume", 32, shards=edge),
        "volume-shards-zstd": Dataset("volume", 32, (_ZSTD,), shards=edge),
        "volume-v2-raw": Dataset("volume", edge, v2={"order": "C", "compressor": None}),
        "volume-v2-blosc": Dataset("volume", edge, v2={"order": "C", "compressor": _V2_BLOSC}),
        "floats-raw": Dataset("floats", 64),
        "floats-big-endian": Dataset("floats", 64, (_BIG,)),
        "floats-transposed": Dataset("floats", 64, (_TRANSPOSE,)),
        "floats-gzip": Dataset("floats", 64, (_GZIP,)),
        "floats-zstd": Dataset("floats", 64, (_ZSTD,)),
        "floats-lz4": Dataset("floats", 64, (_LZ4,)),
        "floats-zstd-crc32c": Dataset("floats", 64, (_ZSTD, _CRC)),
        "floats-zstd-transposed": Dataset("floats", 64, (_TRANSPOSE, _ZSTD)),
        "floats-zstd-shards": Dataset("floats", 32, (_ZSTD,), shards=128),
        "floats-v2-lz4": Dataset("floats", 64, v2={"order": "C", "compressor": _V2_LZ4}),
        "floats-v2-lz4-f": Dataset("floats", 64, v2={"order": "F", "compressor": _V2_LZ4}),
        "tiny-raw": Dataset("hundred", 100),
        "tiny-zstd": Dataset("hundred", 100, (_ZSTD_DEFAULT,)),
        "tiny-v2-raw": Dataset("hundred", 100, v2={"order": "C", "compressor": None}),
        "zero-dimensional": Dataset("number", ()),
        "small-raw": Dataset("kibibytes", 256),
        "small-zstd": Dataset("four-kibibytes", 1024, (_ZSTD_DEFAULT,)),
        "small-shard": Dataset("kibibytes", 256, shards=4000 * 256),
        "small-v2-raw": Dataset("kibibytes", 256, v2={"order": "C", "compressor": None}),
        "rows-raw": Dataset("rows", (64, 256)),
        "rows-zstd": Dataset("rows", (64, 256), (_ZSTD,)),
        "rows-zstd-shards": Dataset("rows", (16, 256), (_ZSTD,), shards=(64, 1024)),
        "words-raw": Dataset("words:strings", 25_000),
        "words-zstd": Dataset("words:strings", 25_000, (_ZSTD_DEFAULT,)),
        "words-v2-zstd": Dataset("words:strings", 25_000, v2={"order": "C", "compressor": _V2_ZSTD}),
        "titles-raw": Dataset("titles:strings", 25_000),
        "titles-zstd": Dataset("titles:strings", 25_000, (_ZSTD_DEFAULT,)),
        "titles-shards": Dataset("titles:strings", 2_000, (_ZSTD_DEFAULT,), shards=100_000),
        "word-bytes-raw": Dataset("words:bytes", 25_000),
        "title-bytes-raw": Dataset("titles:bytes", 25_000),
        "title-bytes-zstd": Dataset("titles:bytes", 25_000, (_ZSTD_DEFAULT,)),
    }


def ensure(root: Path, *, full: bool) -> None:
    """Make the arrays and groups that are not there yet."""
    home = Home(root / ("full" if full else "quick"))
    home.root.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[Path], None]] = {}
    for name, dataset in datasets(full=full).items():
        makers[name] = partial(_write, home, dataset, full)
    for name, consolidated in GROUPS.items():
        makers[name] = partial(_write_group, consolidated)
    for name in XARRAY:
        makers[name] = partial(_write_xarray, name)
    for name, make in makers.items():
        if not home.array(name).exists():
            print(f"making {name}", file=sys.stderr)
            unfinished = home.root / f".{name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(home.array(name))


def _write_group(consolidated: bool, path: Path) -> None:
    from benchmarks.libraries import REFERENCE, load

    load(REFERENCE).create_members(path, NAMES, consolidated=consolidated)


def _write_xarray(name: str, path: Path) -> None:
    """Write 200 small variables, a long series, or a tree of 100 groups."""
    import xarray

    rng = np.random.default_rng(5)
    if name == "series":
        coords = {"time": np.arange(1000), "x": np.arange(50)}
        series = xarray.Dataset({"t": (("time", "x"), rng.normal(size=(1000, 50)))}, coords=coords)
        series.to_zarr(path, encoding={"t": {"chunks": (100, 50)}})
        return
    days = np.arange("2026-01-01", "2026-01-05", dtype="M8[D]").astype("M8[ns]")
    coords = {"time": days, "lat": np.arange(8.0), "lon": np.arange(10.0)}
    names = [f"v{number:03}" for number in range(200)]
    made = {
        one: (tuple(coords), rng.normal(size=(4, 8, 10)).astype("f4"), {"units": "K", "long_name": one})
        for one in names
    }
    variables = xarray.Dataset(made, coords=coords)
    if name == "tree":
        groups = {f"/g{number // 10}/h{number % 10}": variables[names[:2]] for number in range(100)}
        xarray.DataTree.from_dict(groups).to_zarr(path)
    else:
        variables.to_zarr(path, consolidated=name == "variables-consolidated")


def _write(home: Home, dataset: Dataset, full: bool, path: Path) -> None:
    name = dataset.values.partition(":")[0]
    stored = home.root / f"{name}.npy"
    if not stored.exists():
        unfinished = stored.with_suffix(".partial.npy")
        np.save(unfinished, VALUES[name](full))
        unfinished.rename(stored)
    values = home.values(dataset.values)
    create(path, dataset, values)[...] = values


def _each(edges: int | tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return edges if isinstance(edges, tuple) else (edges,) * ndim


def create(path: Path, dataset: Dataset, values: np.ndarray) -> Any:
    """A new array for the values, made by zarr-python (imported here: only data making needs it)."""
    import numcodecs
    import zarr
    from zarr.registry import get_codec_class

    common: dict[str, Any] = {
        "store": str(path),
        "shape": values.shape,
        "dtype": "variable_length_bytes" if values.dtype.kind == "O" else values.dtype,
        "chunks": _each(dataset.chunks, values.ndim),
    }
    if dataset.v2 is not None:
        config = dataset.v2["compressor"]
        compressors = None if config is None else [numcodecs.get_codec(config)]
        return zarr.create_array(**common, zarr_format=2, order=dataset.v2["order"], compressors=compressors)
    made = {
        name: get_codec_class(name).from_dict({"name": name, "configuration": configuration})
        for name, configuration in dataset.codecs
    }
    filters, serializer = made.pop("transpose", None), made.pop("bytes", "auto")
    return zarr.create_array(
        **common,
        zarr_format=3,
        shards=None if dataset.shards is None else _each(dataset.shards, values.ndim),
        filters=None if filters is None else [filters],
        serializer=serializer,
        compressors=list(made.values()) or None,
    )


if __name__ == "__main__":
    ensure(Path(sys.argv[1]), full=sys.argv[2] == "full")
