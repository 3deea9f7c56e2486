# SPDX-License-Identifier: MIT
"""Single codecs against independent implementations: what one encodes the other decodes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from typing import Any

import numpy as np
import pytest

from zarrcore._core.engine import decode_bytes, encode_bytes
from zarrcore.errors import ChecksumError, ChunkDecodeError

pytestmark = pytest.mark.interop

RNG = np.random.default_rng(1)
DATA = {
    "empty": b"",
    "one": b"x",
    "zeros": bytes(100_000),
    "noise": RNG.integers(0, 256, 33_333, dtype="u1").tobytes(),
    "ramp": np.arange(40_000, dtype="<i4").tobytes(),
    "floats": np.cumsum(RNG.normal(size=9_001)).tobytes(),
}
LEVELS = {
    "gzip": [{"level": level} for level in (0, 1, 6, 9)],
    "zlib": [{"level": level} for level in (0, 1, 6, 9)],
    "zstd": [{"level": level, "checksum": check} for level in (-3, 0, 1, 9, 22) for check in (False, True)],
    "lz4": [{"acceleration": acceleration} for acceleration in (1, 50)],
}
BLOSC = [
    {"cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": typesize, "blocksize": blocksize}
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
    for shuffle in (0, 1, 2)
    for clevel, typesize, blocksize in ((5, 4, 0), (1, 8, 1024), (9, 1, 0), (0, 3, 0))
]


def oracle(name: str, config: dict) -> Any:
    """The codec of numcodecs with the same settings."""
    codecs = pytest.importorskip("numcodecs")
    known = {key: value for key, value in config.items() if key != "typesize"}
    return codecs.get_codec({"id": name, **known})


def in_items(data: bytes, typesize: int) -> Any:
    """As an array, from which numcodecs takes the size of an item."""
    return np.frombuffer(data, f"V{typesize}") if len(data) % typesize == 0 else None


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize(("name", "config"), [(name, one) for name, all_ in LEVELS.items() for one in all_])
def test_numcodecs(name: str, config: dict, data: bytes) -> None:
    other = oracle(name, config)
    ours = encode_bytes(name, config, data)
    if data or name not in ("lz4", "zstd"):  # of which numcodecs does not decode its own encoding of nothing
        assert bytes(other.decode(ours)) == data
    assert decode_bytes(name, config, bytes(other.encode(data)), len(data)) == data
    assert decode_bytes(name, config, ours, len(data)) == data


@pytest.mark.parametrize("kind", ["zeros", "ramp", "floats", "noise", "one"])
@pytest.mark.parametrize("config", BLOSC, ids=lambda one: "-".join(map(str, one.values())))
def test_blosc(config: dict, kind: str) -> None:
    data = DATA[kind]
    other = oracle("blosc", config)
    ours = encode_bytes("blosc", config, data)
    assert bytes(other.decode(ours)) == data
    items = in_items(data, config["typesize"])
    if items is not None:
        assert decode_bytes("blosc", config, bytes(other.encode(items)), len(data)) == data


@pytest.mark.parametrize("cname", ["blosclz", "lz4", "lz4hc", "zlib", "zstd"])
@pytest.mark.parametrize("shuffle", [0, 1, 2])
def test_python_blosc(cname: str, shuffle: int) -> None:
    blosc = pytest.importorskip("blosc")
    data, config = (
        DATA["ramp"],
        {"cname": cname, "clevel": 3, "shuffle": shuffle, "typesize": 4, "blocksize": 0},
    )
    assert blosc.decompress(encode_bytes("blosc", config, data)) == data
    theirs = blosc.compress(data, typesize=4, clevel=7, shuffle=shuffle, cname=cname)
    assert decode_bytes("blosc", config, theirs, len(data)) == data


def test_blosc_header_says_what_was_asked_for() -> None:
    """Version, flags, item size, sizes: the header's fields, read by hand."""
    data = DATA["ramp"]
    config = {"cname": "zstd", "clevel": 5, "shuffle": 1, "typesize": 4, "blocksize": 0}
    encoded = encode_bytes("blosc", config, data)
    _, _, flags, typesize, nbytes, _, cbytes = struct.unpack("<BBBBIII", encoded[:16])
    assert (typesize, nbytes, cbytes) == (4, len(data), len(encoded))
    assert flags & 0b111 == 1  # byte shuffle
    assert flags >> 5 == 4  # zstd


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_standard_library(data: bytes) -> None:
    assert gzip.decompress(encode_bytes("gzip", {"level": 5}, data)) == data
    assert zlib.decompress(encode_bytes("zlib", {"level": 5}, data)) == data
    members = gzip.compress(data[:7]) + gzip.compress(data[7:])  # two members are one stream
    assert decode_bytes("gzip", {}, members, len(data)) == data


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_crc32c(data: bytes) -> None:
    crc32c = pytest.importorskip("crc32c")
    encoded = encode_bytes("crc32c", {}, data)
    assert encoded == data + struct.pack("<I", crc32c.crc32c(data))
    assert decode_bytes("crc32c", {}, encoded, len(data)) == data
    wrong = bytes([encoded[0] ^ 1]) + encoded[1:]
    with pytest.raises(ChecksumError):
        decode_bytes("crc32c", {}, wrong, len(data))


@pytest.mark.parametrize("name", [*LEVELS, "blosc"])
def test_never_more_than_asked_for(name: str) -> None:
    """The oracle's encoding of more bytes than a chunk has is refused."""
    config = LEVELS.get(name, [{"cname": "lz4", "clevel": 5, "shuffle": 1}])[0]
    encoded = bytes(oracle(name, config).encode(DATA["zeros"]))
    with pytest.raises(ChunkDecodeError):
        decode_bytes(name, config, encoded, len(DATA["zeros"]) - 1)


# ---- filters and compressors of format 2 that are written in Python ------------------------------

FILTERS = [
    {"id": "delta", "dtype": "<i4"},
    {"id": "delta", "dtype": "<i4", "astype": "<i2"},
    {"id": "shuffle", "elementsize": 4},
    {"id": "crc32"},
    {"id": "crc32c"},
    {"id": "adler32"},
    {"id": "bz2", "level": 3},
    {"id": "lzma", "preset": 1},
]


@pytest.mark.parametrize("config", FILTERS, ids=lambda one: "-".join(map(str, one.values())))
def test_format_2_codecs(config: dict, tmp_path: Any) -> None:
    """The bytes in the store are the ones that numcodecs makes, or as good as those."""
    import zarrcore

    values = np.arange(1000, dtype="<i4") % 300
    name = {"bz2": "compressors", "lzma": "compressors"}.get(config["id"], "filters")
    given = config if name == "compressors" else [config]
    options = {"compressors": None, "filters": None, name: given}
    array = zarrcore.create_array(
        tmp_path,
        shape=values.shape,
        chunks=values.shape,
        dtype="<i4",
        zarr_format=2,
        fill_value=None,
        **options,
    )
    array[...] = values
    stored = (tmp_path / "0").read_bytes()
    other = pytest.importorskip("numcodecs").get_codec(config)
    assert np.frombuffer(other.decode(stored), config.get("dtype", "<i4")).tolist() == values.tolist()
    (tmp_path / "0").write_bytes(bytes(other.encode(values)))
    assert array[...].tolist() == values.tolist()


def test_the_judges_are_independent() -> None:
    """The standard library agrees with the judges where both know a codec."""
    data = DATA["floats"]
    assert bytes(oracle("bz2", {"level": 1}).encode(data)) == bz2.compress(data, 1)
    assert lzma.decompress(bytes(oracle("lzma", {}).encode(data))) == data
