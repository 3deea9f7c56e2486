"""Random arrays: what all peers can store, drawn from a generator of random numbers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

Shape = tuple[int, ...]

LEAST_NBYTES, MOST_NBYTES = 16 << 10, 64 << 20
#: No chunk is smaller, and no array has more chunks, as far as the edges allow.
CHUNK_NBYTES, MOST_CHUNKS = 1 << 10, 4096

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
VALUES = ("noise", "walk", "sines", "runs", "sparse", "constant")


@dataclass(frozen=True)
class Array:
    """How an array is made.

    Attributes
    ----------
    dtype : str
        Without byte order, which is `endian`.
    order : tuple of int, optional
        Stored order of the dimensions; in format 2 they are reversed.
    codecs : tuple of dict
        Compressors as `create_array` takes them.
    values : str
        One of `VALUES`, made with `seed`.
    """

    zarr_format: int
    dtype: str
    endian: str
    shape: Shape
    chunks: Shape
    shards: Shape | None
    order: Shape | None
    codecs: tuple[dict[str, Any], ...]
    values: str
    seed: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of the largest piece of work of one thread, decoded."""
        return math.prod(self.shards or self.chunks) * np.dtype(self.dtype).itemsize

    @property
    def codec(self) -> str:
        """Names of the compressors, for tables."""
        return " + ".join(map(_name_of, self.codecs)) or "none"

    @property
    def layout(self) -> str:
        """Format, and what the bytes of a chunk are, for tables."""
        parts = [f"format {self.zarr_format}"]
        parts += ["sharded"] * (self.shards is not None) + ["transposed"] * (self.order is not None)
        return ", ".join([*parts, *["big-endian"] * (self.endian == "big")])

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `create_array`, which are the same in zarrcore and zarr-python."""
        common: dict[str, Any] = {"shape": self.shape, "chunks": self.chunks, "fill_value": 0}
        common["zarr_format"] = self.zarr_format
        if self.zarr_format == 2:
            dtype = np.dtype(self.dtype).newbyteorder(self.endian).str
            compressor = self.codecs[0] if self.codecs else None
            return common | {"dtype": dtype, "compressors": compressor, "order": "F" if self.order else "C"}
        transpose = {"name": "transpose", "configuration": {"order": list(self.order or ())}}
        serializer = {"name": "bytes", "configuration": {"endian": self.endian}}
        return common | {
            "dtype": self.dtype,
            "shards": self.shards,
            "filters": [transpose] if self.order else None,
            "serializer": serializer if np.dtype(self.dtype).itemsize > 1 else "auto",
            "compressors": list(self.codecs) or None,
        }

    def make_values(self, seed: int | None = None) -> np.ndarray:
        """Its values, or others of the same kind."""
        return make_values(self.values, self.shape, self.dtype, self.seed if seed is None else seed)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in document.items()})


def _name_of(codec: dict[str, Any]) -> str:
    name = codec.get("name") or codec["id"]
    return f"blosc-{codec.get('configuration', codec)['cname']}" if name == "blosc" else name


def make_values(kind: str, shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Values of a kind; they repeat after some megabytes, which is farther than compressors look back."""
    rng = np.random.default_rng(seed)
    count = math.prod(shape)
    n = min(count, 2_000_003)
    if kind == "noise":
        base = rng.integers(0, 1 << 15, n, "i4")
    elif kind == "walk":
        base = np.cumsum(rng.integers(-3, 4, n, "i4"), dtype="i4")
    elif kind == "sines":
        base = 1000 * np.sin(np.arange(n) * 0.003) + 50 * np.sin(np.arange(n) * 0.11) + rng.random(n)
    elif kind == "runs":
        base = np.repeat(rng.integers(0, 50, n // 40 + 1, "i4"), 40)[:n]
    elif kind == "sparse":
        base = np.where(np.arange(n) // 1000 % 3 == 0, rng.integers(0, 100, n, "i4"), 0)
    else:
        base = np.full(n, 7)
    if dtype == "bool" or np.dtype(dtype).kind in "iu":
        base = base.astype("i8") & (1 if dtype == "bool" else -1)
    values = base.astype(dtype)
    if values.dtype.kind == "c":
        values.imag = base[::-1]
    return np.resize(values, shape)


# ---- drawing ----


def draw_array(rng: np.random.Generator) -> Array:
    """A random array."""
    dtype = str(rng.choice(DTYPES))
    itemsize = np.dtype(dtype).itemsize
    shape = _draw_shape(rng, _between(rng, LEAST_NBYTES, MOST_NBYTES) // itemsize)
    chunks = _draw_chunks(rng, shape, itemsize)
    if rng.random() < 0.5:  # regular: no chunk reaches over the end
        shape = tuple(max(c, n // c * c) for n, c in zip(shape, chunks, strict=True))
    zarr_format = 2 if rng.random() < 0.2 else 3
    return Array(
        zarr_format,
        dtype,
        "big" if rng.random() < 0.2 else "little",
        shape,
        chunks,
        _draw_shards(rng, shape, chunks) if zarr_format == 3 and rng.random() < 0.3 else None,
        _draw_order(rng, len(shape), zarr_format) if rng.random() < 0.2 else None,
        _draw_codecs_2(rng) if zarr_format == 2 else _draw_codecs_3(rng, itemsize),
        str(rng.choice(VALUES)),
        int(rng.integers(1 << 30)),
    )


def _between(rng: np.random.Generator, low: float, high: float) -> int:
    """A number whose logarithm is uniform."""
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def _draw_shape(rng: np.random.Generator, count: int) -> Shape:
    ndim = int(rng.choice([1, 2, 3, 4], p=[0.15, 0.3, 0.4, 0.15]))
    return tuple(max(1, int(count**share)) for share in rng.dirichlet([3.0] * ndim))


def _draw_chunks(rng: np.random.Generator, shape: Shape, itemsize: int) -> Shape:
    most = min(MOST_CHUNKS, math.prod(shape) * itemsize / CHUNK_NBYTES)
    parts = _between(rng, 1, max(1.0, most))
    shares = rng.dirichlet([1.0] * len(shape))
    return tuple(-(-n // min(n, max(1, int(parts**s)))) for n, s in zip(shape, shares, strict=True))


def _draw_shards(rng: np.random.Generator, shape: Shape, chunks: Shape) -> Shape:
    return tuple(c * int(rng.integers(1, -(-n // c) + 1)) for n, c in zip(shape, chunks, strict=True))


def _draw_order(rng: np.random.Generator, ndim: int, zarr_format: int) -> Shape | None:
    order = range(ndim - 1, -1, -1) if zarr_format == 2 else rng.permutation(ndim).tolist()
    return tuple(order) if ndim > 1 else None


def _draw_blosc(rng: np.random.Generator) -> tuple[str, int, int]:
    cname = str(rng.choice(["lz4", "blosclz", "zstd", "zlib", "lz4hc"], p=[0.3, 0.2, 0.25, 0.15, 0.1]))
    return cname, int(rng.choice([1, 3, 5, 9], p=[0.2, 0.1, 0.6, 0.1])), int(rng.integers(3))


def _codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


def _draw_codecs_3(rng: np.random.Generator, itemsize: int) -> tuple[dict[str, Any], ...]:
    kind = str(rng.choice(["none", "blosc", "zstd", "gzip"], p=[0.2, 0.4, 0.25, 0.15]))
    codecs: list[dict[str, Any]] = []
    if kind == "blosc":
        cname, level, shuffle = _draw_blosc(rng)
        how = ("noshuffle", "shuffle", "bitshuffle")[shuffle]
        settings = {"cname": cname, "clevel": level, "shuffle": how, "typesize": itemsize, "blocksize": 0}
        codecs.append(_codec("blosc", **settings))
    elif kind == "zstd":
        level = int(rng.choice([0, 1, 3, 9], p=[0.4, 0.2, 0.3, 0.1]))
        codecs.append(_codec("zstd", level=level, checksum=bool(rng.random() < 0.3)))
    elif kind == "gzip":
        codecs.append(_codec("gzip", level=int(rng.choice([1, 5, 6, 9], p=[0.3, 0.4, 0.2, 0.1]))))
    if rng.random() < 0.15:
        codecs.append(_codec("crc32c"))
    return tuple(codecs)


def _draw_codecs_2(rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
    kinds = ["none", "blosc", "zstd", "zlib", "gzip", "bz2"]
    kind = str(rng.choice(kinds, p=[0.2, 0.4, 0.15, 0.1, 0.1, 0.05]))
    if kind == "none":
        return ()
    if kind == "blosc":
        cname, level, shuffle = _draw_blosc(rng)
        return ({"id": kind, "cname": cname, "clevel": level, "shuffle": shuffle, "blocksize": 0},)
    return ({"id": kind, "level": int(rng.choice([1, 5, 6]))},)
