"""Arrays behind filters: made, and compared with what the same filters do in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy_filters import METHODS

import zarrcore
from zarrcore.codecs import CodecChain
from zarrcore.dtypes import bit_layout, get_data_type_from_json
from zarrcore.storage import MemoryStore

FLOATS = ["f2", "f4", "f8", "c8", "c16"]
WHOLE = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
ORDERS = ["<", ">"]
SHAPE, CHUNKS = (13, 9), (5, 4)


def bits(dtype: np.dtype, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Items of all bit patterns, the special ones among them."""
    octets = np.random.default_rng(11).integers(0, 256, int(np.prod(shape)) * dtype.itemsize, np.uint8)
    items = octets.view(dtype)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.min]
        items[: len(special)] = special
        # NaN whose rounding would carry into the sign, and one whose payload would vanish.
        words = items.view(dtype.str.replace("f", "u"))
        words[len(special)] = np.iinfo(words.dtype).max
        words[len(special) + 1] = np.array(np.inf, dtype).view(words.dtype) + words.dtype.type(1)
    return items.reshape(shape)


def ml_bits(name: str, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Items of all bit patterns that a type of ml_dtypes has."""
    pytest.importorskip("ml_dtypes")
    zdtype = get_data_type_from_json(name, zarr_format=3)
    dtype = zdtype.to_native_dtype()
    octets = np.random.default_rng(5).integers(0, 256, int(np.prod(shape)) * dtype.itemsize, np.uint8)
    layout = bit_layout(zdtype)
    return (octets & ((1 << min(layout.bits, 8)) - 1)).astype(np.uint8).view(dtype).reshape(shape)


def extension(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def created(
    values: np.ndarray, filters: list[Any], serializer: Any, store: dict[str, Any] | None = None, **more: Any
) -> zarrcore.Array:
    more = {"chunks": CHUNKS, "compressors": None, "config": {"write_empty_chunks": True}} | more
    shape, dtype = values.shape, more.pop("dtype", values.dtype)
    return zarrcore.create_array(
        MemoryStore(store), shape=shape, dtype=dtype, filters=filters, serializer=serializer, **more
    )


def is_native(array: zarrcore.Array) -> bool:
    return type(array._compiled()).__name__ == "NativeArray"


def check(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, filters: list[Any], serializer: Any, **more: Any
) -> None:
    """Both engines store the same bytes of `values`, and read the same items from them."""
    stores: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    native = created(values, filters, serializer, stores[0], **more)
    assert is_native(native)
    native[...] = values
    native[2:7, 1:6] = values[2:7, 1:6]  # parts of chunks are read, decoded and written again
    found, part = native[...], native[3:11, 2:5]
    with monkeypatch.context() as patch:
        patch.setattr(CodecChain, "lower", lambda self, spec: None)
        for cls, name, method in METHODS:
            patch.setattr(cls, name, method)
        python = created(values, filters, serializer, stores[1], **more)
        assert not is_native(python)
        python[...] = values
        python[2:7, 1:6] = values[2:7, 1:6]
        assert len(stores[0]) > 1
        assert {key: bytes(value) for key, value in stores[0].items()} == {
            key: bytes(value) for key, value in stores[1].items()
        }
        assert python[...].tobytes() == found.tobytes()
        assert python[3:11, 2:5].tobytes() == part.tobytes()


def shards(*codecs: Any, chunk_shape: tuple[int, ...] = (5, 4), **more: Any) -> dict[str, Any]:
    """A serializer that cuts chunks into inner chunks with these codecs."""
    index = [extension("bytes", endian="little"), "crc32c"]
    more = {"codecs": list(codecs), "index_codecs": index} | more
    return extension("sharding_indexed", chunk_shape=list(chunk_shape), **more)


BIG = extension("bytes", endian="big")
