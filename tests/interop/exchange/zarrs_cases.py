# SPDX-License-Identifier: MIT
"""Arrays with the extensions of zarrs that no other library has."""

from __future__ import annotations

from typing import Any

import numpy as np

from exchange.cases import BIG, BYTES, LITTLE, Case, Maker, codec, objects, random_values, v3
from zarrcore.dtypes import Optional, dtype_from_v3

GZIP, PACKED, TEXT = codec("gzip", level=3), codec("packbits"), codec("vlen-utf8")
SWAPPED = codec("transpose", order=[1, 0])
NO_ORDER = {"zarrs": "transposes no optional items"}
NO_SHARDS = {"zarrs": "has no optional items in shards"}


def optional(data_type: Any) -> dict[str, Any]:
    inner = codec(data_type) if isinstance(data_type, str) else data_type
    return {"name": "zarrs.optional", "configuration": {"configuration": {}} | inner}


def masked(*data: Any, mask: tuple = (PACKED,)) -> dict[str, Any]:
    return codec("zarrs.optional", mask_codecs=list(mask), data_codecs=list(data))


def vlen(
    *data: Any, index: tuple = (LITTLE,), dtype: str = "uint64", where: str = "start"
) -> dict[str, Any]:
    return codec(
        "zarrs.vlen",
        index_codecs=list(index),
        data_codecs=list(data),
        index_data_type=dtype,
        index_location=where,
    )


def in_shards(*codecs: Any) -> dict[str, Any]:
    index = [LITTLE, codec("crc32c")]
    return codec("sharding_indexed", chunk_shape=[3, 4], codecs=list(codecs), index_codecs=index)


def some(data_type: Any) -> Maker:
    """Makes items of an optional data type, of fixed size, about half of which are missing."""
    zdtype = dtype_from_v3(data_type)

    def make(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return _some(rng, shape, zdtype)

    return make


def _some(rng: np.random.Generator, shape: tuple[int, ...], zdtype: Any) -> np.ndarray:
    items = np.zeros(shape, zdtype.to_native_dtype())
    there = items["valid"] = rng.integers(0, 2, shape).astype(bool)
    inner = zdtype.item
    made: Any = _some if isinstance(inner, Optional) else random_values
    values = made(rng, shape, inner if isinstance(inner, Optional) else items["value"].dtype)
    items["value"][there] = values[there]
    return items


def fixed(name: str, inner: Any, codecs: tuple, fill: Any = None, **more: Any) -> Case:
    return v3(name, optional(inner), codecs, fill, make=some(optional(inner)), **more)


AT_END = {"dtype": "uint32", "where": "end"}
NESTED = optional("uint8")
TEXTS = objects("", "a", "né漢", "x" * 300)
NO_TEXTS = objects(None, "", "a", "né漢")
OCTETS = objects(b"", b"\0", b"\xff" * 9)

CASES: list[Case] = [
    v3("squeeze", codecs=(codec("zarrs.squeeze"), LITTLE), shape=(13, 3, 18), chunks=(6, 1, 8)),
    v3(
        "squeeze-transposed",
        "float64",
        (codec("zarrs.squeeze"), SWAPPED, BIG, GZIP),
        shape=(3, 13, 18),
        chunks=(1, 6, 8),
    ),
    v3("squeeze-all", codecs=(codec("zarrs.squeeze"), LITTLE), shape=(4, 3), chunks=(1, 1)),
    v3("squeeze-0d", codecs=(codec("zarrs.squeeze"), LITTLE), shape=(), chunks=()),
    v3("vlen", "string", (vlen(BYTES),), "", make=TEXTS),
    v3("vlen-end", "string", (vlen(BYTES, GZIP, index=(BIG, GZIP), **AT_END),), "x", make=TEXTS),
    v3("vlen-of-bytes", "bytes", (vlen(BYTES, codec("crc32c")), GZIP), "AAE=", make=OCTETS),
    v3("vlen_v2", "string", (codec("zarrs.vlen_v2"), GZIP), "", make=TEXTS),
    v3("vlen_v2-of-bytes", "bytes", (codec("zarrs.vlen_v2"),), "", make=OCTETS),
    fixed("optional", "int32", (masked(LITTLE),)),
    fixed("optional-big", "float64", (masked(BIG, GZIP, mask=(PACKED, GZIP)),), [1.5]),
    fixed("optional-bytes", "uint8", (masked(BYTES, mask=(BYTES,)), codec("crc32c")), [7]),
    fixed("optional-bool", "bool", (masked(PACKED),)),
    fixed("optional-transposed", "int16", (SWAPPED, masked(LITTLE)), [0], refused=NO_ORDER),
    fixed("optional-sharded", "int32", (in_shards(masked(LITTLE)),), [0], refused=NO_SHARDS),
    v3("vlen-sharded", "string", (in_shards(vlen(BYTES)),), "", make=TEXTS),
    v3(
        "squeeze-sharded",
        codecs=(codec("zarrs.squeeze"), in_shards(LITTLE)),
        shape=(13, 3, 18),
        chunks=(6, 1, 8),
    ),
    fixed("optional-nested", NESTED, (masked(masked(BYTES)),), [None]),
    fixed("optional-nested-fill", NESTED, (masked(masked(BYTES)),), [[3]]),
    fixed("optional-times", codec("numpy.datetime64", unit="s", scale_factor=1), (masked(LITTLE),), ["NaT"]),
    v3("optional-strings", optional("string"), (masked(TEXT),), None, make=NO_TEXTS),
    v3("optional-vlen", optional("string"), (masked(vlen(BYTES)), GZIP), ["a"], make=NO_TEXTS),
    v3(
        "optional-nested-strings",
        optional(optional("string")),
        (masked(masked(TEXT)),),
        [None],
        make=objects(None, (None,), ("",), ("né漢",)),
    ),
]
