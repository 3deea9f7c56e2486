"""The arrays that the cases read: reproducible, written once by zarr-python, kept in benchmarks/data."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Dataset:
    """How one array is made.

    Attributes
    ----------
    values : str
        Name in `VALUES`.
    chunks : int
        Edge of a chunk, or of an inner chunk when there are shards.
    codecs : tuple of (str, dict)
        Codecs as in the v3 metadata; "transpose" and "bytes" take their places before the compressors.
    shards : int, optional
        Edge of a shard.
    zarr_format : int
        2 takes its options from `v2`.
    """

    values: str
    chunks: int
    codecs: tuple[tuple[str, dict[str, Any]], ...] = ()
    shards: int | None = None
    zarr_format: int = 3
    v2: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Home:
    """Where the data of one size lie."""

    root: Path

    def array(self, name: str) -> Path:
        return self.root / name

    def values(self, name: str) -> np.ndarray:
        return np.load(self.root / f"{name}.npy")


# ---- values ----


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


VALUES: dict[str, Callable[[bool], np.ndarray]] = {
    "volume": lambda full: volume((512, 512, 1024) if full else (256, 256, 512)),
    "floats": lambda full: floats((256, 256, 256)),
    "hundred": lambda full: series(100),
    "kibibytes": lambda full: series(4000 * 256),
    "four-kibibytes": lambda full: series(4000 * 1024),
}


# ---- arrays ----

_BLOSC = ("blosc", {"cname": "blosclz", "clevel": 9, "shuffle": "bitshuffle", "typesize": 2})
_LZ4 = ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4})
_ZSTD = ("zstd", {"level": 3, "checksum": False})
_ZSTD_DEFAULT = ("zstd", {"level": 0, "checksum": False})
_GZIP = ("gzip", {"level": 5})
_BIG = ("bytes", {"endian": "big"})
_TRANSPOSE = ("transpose", {"order": [2, 1, 0]})
_CRC = ("crc32c", {})


def datasets(*, full: bool) -> dict[str, Dataset]:
    """All arrays by name; `full` makes the volume 512 MiB instead of 64."""
    edge = 256 if full else 128
    return {
        "volume-raw": Dataset("volume", edge),
        "volume-blosc": Dataset("volume", edge, (_BLOSC,)),
        "volume-shards": Dataset("volume", 32, (_BLOSC,), shards=edge),
        "floats-raw": Dataset("floats", 64),
        "floats-big-endian": Dataset("floats", 64, (_BIG,)),
        "floats-transposed": Dataset("floats", 64, (_TRANSPOSE,)),
        "floats-gzip": Dataset("floats", 64, (_GZIP,)),
        "floats-zstd": Dataset("floats", 64, (_ZSTD,)),
        "floats-lz4": Dataset("floats", 64, (_LZ4,)),
        "floats-zstd-crc32c": Dataset("floats", 64, (_ZSTD, _CRC)),
        "floats-zstd-transposed": Dataset("floats", 64, (_TRANSPOSE, _ZSTD)),
        "floats-zstd-shards": Dataset("floats", 32, (_ZSTD,), shards=128),
        "floats-v2-lz4": Dataset("floats", 64, zarr_format=2, v2={"order": "C"}),
        "floats-v2-lz4-f": Dataset("floats", 64, zarr_format=2, v2={"order": "F"}),
        "tiny-raw": Dataset("hundred", 100),
        "tiny-zstd": Dataset("hundred", 100, (_ZSTD_DEFAULT,)),
        "small-raw": Dataset("kibibytes", 256),
        "small-zstd": Dataset("four-kibibytes", 1024, (_ZSTD_DEFAULT,)),
        "small-shard": Dataset("kibibytes", 256, shards=4000 * 256),
    }


def ensure(root: Path, *, full: bool) -> None:
    """Make the arrays that are not there yet."""
    home = Home(root / ("full" if full else "quick"))
    home.root.mkdir(parents=True, exist_ok=True)
    for name, dataset in datasets(full=full).items():
        if not home.array(name).exists():
            print(f"making {name}", file=sys.stderr)
            _write(home, name, dataset, full)


def _write(home: Home, name: str, dataset: Dataset, full: bool) -> None:
    stored = home.root / f"{dataset.values}.npy"
    if not stored.exists():
        partial = stored.with_suffix(".partial.npy")
        np.save(partial, VALUES[dataset.values](full))
        partial.rename(stored)
    values = home.values(dataset.values)
    unfinished = home.root / f".{name}"
    shutil.rmtree(unfinished, ignore_errors=True)
    create(unfinished, dataset, values)[...] = values
    unfinished.rename(home.array(name))


def create(path: Path, dataset: Dataset, values: np.ndarray) -> Any:
    """A new array for the values, made by zarr-python (imported here: only data making needs it)."""
    import numcodecs
    import zarr
    from zarr.registry import get_codec_class

    made = [
        get_codec_class(key).from_dict({"name": key, "configuration": conf}) for key, conf in dataset.codecs
    ]
    pick = {
        key: [c for c, (k, _) in zip(made, dataset.codecs, strict=True) if k == key]
        for key, _ in dataset.codecs
    }
    common: dict[str, Any] = {
        "store": str(path),
        "shape": values.shape,
        "dtype": values.dtype,
        "chunks": (dataset.chunks,) * values.ndim,
        "zarr_format": dataset.zarr_format,
    }
    if dataset.zarr_format == 2:
        compressor = numcodecs.Blosc("lz4", clevel=5, shuffle=1)
        return zarr.create_array(**common, compressors=[compressor], **dataset.v2)
    return zarr.create_array(
        **common,
        shards=(dataset.shards,) * values.ndim if dataset.shards else None,
        filters=pick.pop("transpose", None),
        serializer=pick.pop("bytes", ["auto"])[0],
        compressors=[codec for group in pick.values() for codec in group] or None,
    )


if __name__ == "__main__":
    ensure(Path(sys.argv[1]), full=sys.argv[2] == "full")
