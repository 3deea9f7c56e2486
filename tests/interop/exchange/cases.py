# SPDX-License-Identifier: MIT
"""An array that is exchanged: its metadata document and its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from zarrcore.metadata import ArrayV2Metadata, ArrayV3Metadata

SMALL_FLOATS = """bfloat16 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
    float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu""".split()

SHAPE, CHUNKS = (13, 18), (6, 8)

Maker = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True, eq=False)
class Case:
    """An array to be exchanged.

    Parameters
    ----------
    name : str
        What is special about it.
    document : dict
        ``zarr.json``, or ``.zarray``.
    make : callable, optional
        Makes values out of a random generator and a shape.  Default: any bits that the data type has.
    refused : dict, optional
        Peer, or peer and direction ("zarrs", "zarrs reads", "zarrs writes") -> why it cannot do this.
    """

    name: str
    document: Mapping[str, Any]
    make: Maker | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"v{self.zarr_format}-{self.name}"

    @property
    def zarr_format(self) -> int:
        return int(self.document["zarr_format"])

    @cached_property
    def metadata(self) -> Any:
        """The document as zarrcore understands it."""
        cls = ArrayV3Metadata if self.zarr_format == 3 else ArrayV2Metadata
        return cls.from_dict(self.document)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.document["shape"])

    @cached_property
    def dtype(self) -> np.dtype:
        """The dtype of the values."""
        return np.dtype(self.metadata.data_type.to_native_dtype())

    @property
    def region(self) -> tuple[Any, ...]:
        """What gets written: all but the last chunk of every row and column, which stays absent.

        Where the document leaves open what absent items are, there are none.
        """
        if self.document["fill_value"] is None:
            return *(slice(0, n) for n in self.shape), ...
        edges = zip(self.shape, self.metadata.chunk_grid.edges, strict=True)
        return *(slice(0, _start_of_last(n, lengths) or n) for n, lengths in edges), ...

    @property
    def patch(self) -> tuple[Any, ...]:
        """What the second one overwrites: parts of chunks that the first one wrote, and of absent ones."""
        return *(slice(n // 4, n - n // 5) for n in self.shape), ...

    @cached_property
    def values(self) -> np.ndarray:
        """The whole array; repeated values, extremes and the fill value among them."""
        values = self.filled()
        part = values[self.region]
        made = np.asarray(self._made(part.shape))
        if made.size and not self.dtype.hasobject:
            flat = made.reshape(-1)
            flat[::3] = values.reshape(-1)[:1]
        part[...] = made
        return values

    @cached_property
    def patched(self) -> np.ndarray:
        """The values after the second one has written."""
        values = self.values.copy()
        values[self.patch] = self.patch_values
        return values

    @cached_property
    def patch_values(self) -> np.ndarray:
        return np.asarray(self._made(self.values[self.patch].shape))

    def filled(self) -> np.ndarray:
        """An array of the fill value, where the document has none of the default."""
        fill = self.metadata.fill_scalar
        values = np.zeros(self.shape, self.dtype)
        if self.dtype.hasobject:
            values = np.empty(self.shape, self.dtype)
            for index in np.ndindex(self.shape):
                values[index] = fill
        elif values.size:
            values[...] = np.asarray(fill, self.dtype) if self.dtype.kind != "T" else fill
        return values

    def _made(self, shape: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(len(self.name))
        if self.make is not None:
            return self.make(rng, shape).astype(self.dtype)
        return random_values(rng, shape, self.dtype)


def _start_of_last(length: int, edges: int | tuple[int, ...]) -> int:
    """Where the last chunk of a dimension begins."""
    if isinstance(edges, int):
        return (length - 1) // edges * edges if length else 0
    return sum(edges[:-1])


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Any values of `dtype`, most of them with all their bits random."""
    if dtype.kind == "T":
        return np.array(["", "a", "né漢", "x" * 300], dtype)[rng.integers(0, 4, shape)]
    if dtype.kind in "US":
        words = ["", "a", "né漢🎉" if dtype.kind == "U" else "new\0k"]
        return np.array(words, dtype)[rng.integers(0, 3, shape)]
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":  # NaNs lose their payload where parts are moved on their own
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype.fields is not None:
        values = np.zeros(shape, dtype)
        for name in dtype.names or ():
            base, inner = dtype[name].base, dtype[name].shape
            values[name] = random_values(rng, (*shape, *inner), base)
        return values
    if dtype.isbuiltin == 2:  # of ml_dtypes: few bits
        return (rng.integers(-16, 17, shape) / 4).astype("f4").astype(dtype)
    octets = rng.integers(0, 256, (*shape, dtype.itemsize), dtype="u1")
    return octets.view(dtype).reshape(shape)


def objects(*choices: Any) -> Maker:
    """Makes arrays of some of these objects."""

    def make(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        values = np.empty(shape, object)
        for index in np.ndindex(shape):
            values[index] = choices[int(rng.integers(len(choices)))]
        return values

    return make


def numbers(low: int = 0, high: int = 16, step: float = 1) -> Maker:
    """Makes numbers that codecs which round leave as they are."""
    return lambda rng, shape: rng.integers(low, high, shape) * step


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    """The JSON of a codec of format 3."""
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE, BIG, BYTES = codec("bytes", endian="little"), codec("bytes", endian="big"), codec("bytes")


def v3(
    name: str,
    data_type: Any = "int32",
    codecs: tuple = (LITTLE,),
    fill: Any = 0,
    *,
    shape: tuple[int, ...] = SHAPE,
    chunks: tuple[int, ...] = CHUNKS,
    grid: dict | None = None,
    keys: tuple[str, str] | dict = ("default", "/"),
    make: Maker | None = None,
    refused: Mapping[str, str] | None = None,
    **members: Any,
) -> Case:
    """A case of format 3."""
    if not isinstance(keys, dict):
        keys = codec(keys[0], separator=keys[1])
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": data_type,
        "chunk_grid": grid or codec("regular", chunk_shape=list(chunks)),
        "chunk_key_encoding": keys,
        "fill_value": fill,
        "codecs": list(codecs),
        "attributes": {},
        **members,
    }
    return Case(name, document, make, refused or {})


def v2(
    name: str,
    dtype: Any = "<i4",
    fill: Any = 0,
    *,
    compressor: dict | None = None,
    filters: list[dict] | None = None,
    order: str = "C",
    separator: str = ".",
    shape: tuple[int, ...] = SHAPE,
    chunks: tuple[int, ...] = CHUNKS,
    make: Maker | None = None,
    refused: Mapping[str, str] | None = None,
) -> Case:
    """A case of format 2."""
    document = {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": list(chunks),
        "dtype": dtype,
        "fill_value": fill,
        "order": order,
        "compressor": compressor,
        "filters": filters,
        "dimension_separator": separator,
    }
    return Case(name, document, make, refused or {})
