# SPDX-License-Identifier: MIT
"""What the peers cannot do; the tests try it all the same, and notice when it has become possible."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from exchange.cases import SMALL_FLOATS, Case
from exchange.rows import CODEC2, CODEC3, DTYPE2, DTYPE3, GRID, KEYS, STORE, Row, rows_of

READS, WRITES = "reads", "writes"

# Trying these would end the process that tries.
FATAL = "ends the process"


def _rows(what: str, names: str, reason: str) -> dict[Row, str]:
    return {(what, name): reason for name in names.split()}


_SMALL_COMPLEX = """complex_bfloat16 complex_float16 complex_float4_e2m1fn complex_float6_e2m3fn
    complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz
    complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu"""
_SMALL = f"int2 int4 uint2 uint4 {' '.join(SMALL_FLOATS)} {_SMALL_COMPLEX}"
_FIXED_TEXT = "fixed_length_utf32 null_terminated_bytes"
_TEXT = f"string variable_length_bytes {_FIXED_TEXT}"
_TIMES = "numpy.datetime64 numpy.timedelta64"
_NUMCODECS = """adler32 astype bitround blosc bz2 crc32 crc32c delta fixedscaleoffset fletcher32 gzip
    jenkins_lookup3 lz4 lzma packbits pcodec quantize shuffle zfpy zlib zstd"""
_FILTERS = """adler32 astype base64 bitround categorize crc32 crc32c delta fixedscaleoffset fletcher32
    jenkins_lookup3 json2 msgpack2 packbits quantize vlen-array vlen-bytes vlen-utf8"""


def _of_numcodecs(names: str) -> str:
    return " ".join(f"numcodecs.{name}" for name in names.split())


_OF_ZARRS = "zarrs.optional zarrs.squeeze zarrs.vlen zarrs.vlen_v2"
NO_TYPE, NO_CODEC = "has no such data type", "has no such codec"

# Peer -> row -> why it cannot do anything with it.
LACKS: dict[str, dict[Row, str]] = {
    "zarr-python": {
        **_rows(DTYPE3, _SMALL, NO_TYPE),
        **_rows(DTYPE2, _SMALL, NO_TYPE),
        **_rows(DTYPE2, "python_object", "has no objects but strings and bytes"),
        **_rows(DTYPE3, "zarrs.optional", NO_TYPE),
        **_rows(CODEC3, f"bitround packbits reshape pcodec zfp conditional {_OF_ZARRS}", NO_CODEC),
    },
    "zarrs": {
        **_rows(DTYPE3, f"{_FIXED_TEXT} raw_bytes structured struct float8_e4m3fn", NO_TYPE),
        **_rows(CODEC3, "bitround pcodec zfp conditional scale_offset cast_value", NO_CODEC),
        **_rows(
            CODEC3,
            _of_numcodecs(
                """adler32 astype bitround blosc crc32 crc32c delta fletcher32 gzip jenkins_lookup3 lz4 lzma
                packbits quantize zfpy zstd"""
            ),
            NO_CODEC,
        ),
        **_rows(DTYPE2, f"{_SMALL} {_TEXT} {_TIMES} raw_bytes struct python_object", NO_TYPE),
        **_rows(CODEC2, f"{_FILTERS} lz4 lzma zfpy", NO_CODEC),
    },
    "tensorstore": {
        **_rows(DTYPE3, f"{_TEXT} {_TIMES} {_SMALL_COMPLEX} uint2 uint4", NO_TYPE),
        **_rows(DTYPE3, "float8_e4m3 float6_e2m3fn float6_e3m2fn", NO_TYPE),
        **_rows(DTYPE3, "raw_bytes", f"{FATAL} when an array of them is created"),
        **_rows(DTYPE3, "zarrs.optional", NO_TYPE),
        **_rows(CODEC3, "bitround packbits reshape pcodec zfp conditional scale_offset cast_value", NO_CODEC),
        **_rows(CODEC3, _OF_ZARRS, NO_CODEC),
        **_rows(CODEC3, _of_numcodecs(_NUMCODECS), NO_CODEC),
        **_rows(GRID, "rectilinear", "has regular grids only"),
        **_rows(DTYPE2, f"{_TEXT} {_TIMES} {_SMALL_COMPLEX} uint2 uint4 python_object", NO_TYPE),
        **_rows(DTYPE2, "float8_e4m3 float6_e2m3fn float6_e3m2fn float4_e2m1fn", NO_TYPE),
        **_rows(DTYPE2, "raw_bytes", "makes the bytes of an item a dimension"),
        **_rows(CODEC2, f"{_FILTERS} shuffle lz4 lzma zfpy pcodec", NO_CODEC),
    },
    "zarr-python 2": {
        **_rows(DTYPE2, _SMALL, NO_TYPE),
    },
}

# Rows that no peer of these tests has, and what stands for them.
NO_PEER: dict[Row, str] = {
    **_rows(DTYPE2, _SMALL_COMPLEX, "the spelling is zarrcore's own"),
    **_rows(
        DTYPE2,
        "uint2 uint4 float8_e4m3 float6_e2m3fn float6_e3m2fn float4_e2m1fn",
        "spelt as tensorstore spells the others of its kind",
    ),
    (DTYPE2, "zarrs.optional"): "of format 3 only",
    (CODEC3, "bitround"): "held against the samples of the registry of extensions",
    (CODEC3, "conditional"): "proposed, written by no library yet",
    (CODEC3, "pcodec"): "numcodecs decodes the same bytes",
    (CODEC3, "zfp"): "zfpy decodes the same bytes",
    (CODEC3, "zarrcore.lz4block"): "of Java's N5 only",
    (KEYS, "fanout"): "proposed, written by no library yet",
    (KEYS, "suffix"): "proposed, written by no library yet",
    (STORE, "ZarrPythonStore"): "zarr-python's own stores: tests/unit/storage/test_store_zarr_python.py",
    (GRID, "rectangular"): "of zarrs, whose Python package leaves grids to zarr-python",
    (GRID, "zarrs.regular_bounded"): "of zarrs, whose Python package leaves grids to zarr-python",
    (KEYS, "zarrs.default_suffix"): "of zarrs, whose Python package leaves keys to zarr-python",
}

# Stores, and the parts of arrays in them, that whole hierarchies go through in test_stores.py.
BOTH, READ_HERE, READ_THERE = "both ways", "read here", "read there"
STORES: dict[Row, dict[str, str]] = {
    (STORE, "LocalStore"): dict.fromkeys(("zarr-python", "zarrs", "tensorstore", "zarr-python 2"), BOTH),
    (STORE, "FsspecStore"): {"zarr-python": BOTH},
    (STORE, "ObjectStore"): {"zarr-python": BOTH},
    (STORE, "ZipStore"): {"zarr-python": BOTH, "tensorstore": READ_THERE, "zarr-python 2": BOTH},
    (STORE, "N5Store"): {"tensorstore": READ_HERE, "zarr-python 2": READ_HERE},
    (CODEC3, "n5_default"): {"tensorstore": READ_HERE, "zarr-python 2": READ_HERE},
    (KEYS, "zarrcore.n5"): {"tensorstore": READ_HERE, "zarr-python 2": READ_HERE},
}


def why_not(case: Case, peer: str, direction: str) -> str | None:
    """Why `peer` cannot read or write this array, or None if it can."""
    own = _own_reason(case, peer, direction)
    rows = lacking(case, peer)
    return own or (LACKS[peer][rows[0]] if rows else None)


def _own_reason(case: Case, peer: str, direction: str) -> str | None:
    return case.refused.get(peer) or case.refused.get(f"{peer} {direction}")


def lacking(case: Case, peer: str) -> list[Row]:
    """The rows of this array that `peer` lacks."""
    return sorted(row for row in rows_of(case.document) if row in LACKS[peer])


def peers_for(case: Case) -> Iterable[str]:
    """The peers that know the format."""
    return (peer for peer in LACKS if case.zarr_format == 2 or peer != "zarr-python 2")


def refusals(cases: Iterable[Case]) -> Iterable[tuple[Case, str, str]]:
    """What is not possible there and can be tried; for a row that a peer lacks, one case."""
    seen: set[tuple[str, str, Row]] = set()
    for case, direction in product(cases, (READS, WRITES)):
        for peer in peers_for(case):
            reason = why_not(case, peer, direction)
            news = {(peer, direction, row) for row in lacking(case, peer)} - seen
            if reason is None or FATAL in reason or not (news or _own_reason(case, peer, direction)):
                continue
            seen |= news
            yield case, peer, direction
