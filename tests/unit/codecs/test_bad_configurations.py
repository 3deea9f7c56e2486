"""Configurations that no codec takes: every codec of the registries refuses them, and says which and why."""

from __future__ import annotations

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs.chain import parse_codec
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.errors import BaseZarrError, MetadataValidationError, UnknownCodecError
from zarrcore.registry import codec_registry, compressor_registry

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}

# A good configuration of each codec, and values that its members cannot have.
BAD_LEVEL = (True, "x", None, 1.5, [1], 10, -100)
V3 = {
    "bytes": ({"endian": "little"}, {"endian": ("middle", 1, True, [])}),
    "endian": ({"endian": "little"}, {"endian": ("middle", 1, True, [])}),
    "transpose": (
        {"order": [1, 0]},
        {"order": ("C", 1, [0, 0], [0, 2], [True, False], [0.0, 1.0], [0, "1"], None)},
    ),
    "blosc": (
        {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
        {
            "cname": ("lz5", 1, True, None),
            "clevel": (10, -1, True, "5", 5.0, None),
            "shuffle": ("byte", 1, True),
            "typesize": (0, -1, True, "4", 4.0, 2**31),
            "blocksize": (-1, True, "0", 2**31, None),
        },
    ),
    "gzip": ({"level": 5}, {"level": BAD_LEVEL}),
    "zstd": (
        {"level": 5, "checksum": False},
        {"level": (True, "x", 1.5, 30, None), "checksum": (1, "no", None)},
    ),
    "crc32c": ({}, {}),
    "sharding_indexed": (
        {"chunk_shape": [2, 2], "codecs": [LITTLE], "index_codecs": [LITTLE, {"name": "crc32c"}]},
        {
            "chunk_shape": ([0, 2], [-1, 2], [True, 2], [2.0, 2], "22", None, [3, 2], [2]),
            "codecs": ([], "bytes", None, [LITTLE, LITTLE], [{"name": "nobody"}], [{"name": "crc32c"}]),
            "index_codecs": ([], None, [LITTLE, {"name": "gzip", "configuration": {"level": 1}}], [3]),
            "index_location": ("middle", 0, True, None),
        },
    ),
    "vlen-utf8": ({}, {}),
    "vlen-bytes": ({}, {}),
    "packbits": (
        {},
        {"padding_encoding": ("middle", 1, True), "first_bit": (True, -1, "0"), "last_bit": (True, "7")},
    ),
    "bitround": ({"keepbits": 3}, {"keepbits": (True, "3", 3.0, -1, 65, None)}),
    "cast_value": (
        {"data_type": "float64"},
        {
            "data_type": ("float65", 3, None, True),
            "rounding": ("up", 1, True),
            "out_of_range": ("ignore", 1, True),
            "scalar_map": (3, {"encode": 3}, {"both": []}, [1]),
        },
    ),
    "conditional": (
        {"codecs": [{"name": "crc32c"}]},
        {"codecs": ("crc32c", None, [LITTLE], [{"name": "nobody"}])},
    ),
    "n5_default": (
        {"codecs": [LITTLE]},
        {"codecs": ("bytes", None, [], [{"name": "crc32c"}], [{"name": "nobody"}])},
    ),
    "reshape": ({"shape": [-1]}, {"shape": (3, None, "x", [True], [1.5], [-2], [[0, 0]], [-1, -1])}),
    "scale_offset": (
        {"offset": 1, "scale": 2},
        {"offset": ("x", None, [1], {}), "scale": ("x", None, [2], {})},
    ),
    "zfp": (
        {"mode": "fixed_rate", "rate": 8},
        {"mode": ("fast", 1, True, None), "rate": (True, "8", None, -1)},
    ),
    "pcodec": ({}, {"level": (True, "8", 1.5, -1, 13, None)}),
    "zarrcore.lz4block": ({}, {"block_size": (True, "x", 1.5, -1, None)}),
}
V2 = {
    "blosc": (
        {},
        {"cname": ("lz5", 1, None), "clevel": (10, True, "5"), "shuffle": (3, -2, "shuffle", True)},
    ),
    "zlib": ({}, {"level": (10, -2, True, "x", 1.5)}),
    "gzip": ({}, {"level": (10, -2, True, "x", 1.5)}),
    "bz2": ({}, {"level": (10, 0, True, "x", 1.5)}),
    "lzma": (
        {},
        {
            "format": (9, True, "x", 3),
            "check": (99, True, "x", 7),
            "preset": (-1, True, "x", 10, 1 << 31 | 10, 1 << 32),
            "filters": (3, ["x"], "x", [{}], [{"id": 77}], [{"id": "lzma2"}]),
        },
    ),
    "lz4": ({}, {"acceleration": (True, "x", 1.5, None, 1 << 31)}),
    "zstd": ({}, {"level": (99, True, "x", 1.5, None), "checksum": (1, "x", None)}),
    "crc32": ({}, {"location": ("middle", 1, True, None)}),
    "crc32c": ({}, {"location": ("middle", 1, True, None)}),
    "adler32": ({}, {"location": ("middle", 1, True, None)}),
    "fletcher32": ({}, {}),
    "jenkins_lookup3": ({}, {"initval": (True, "x", 1.5, None, -1, 1 << 32), "prefix": ("x", 3, [1])}),
    "base64": ({}, {}),
    "shuffle": ({}, {"elementsize": (-1, True, "x", 1.5, None)}),
    "delta": ({"dtype": "<i4"}, {"dtype": ("<x4", 3, None, "|O", "|S4"), "astype": ("<x4", True, "|O")}),
    "astype": (
        {"encode_dtype": "<f4", "decode_dtype": "<f8"},
        {"encode_dtype": ("<x4", 3, None, "|O"), "decode_dtype": ("<x4", 3, None, "|O")},
    ),
    "bitround": ({"keepbits": 3}, {"keepbits": (True, "3", 3.0, -1, 65, None)}),
    "fixedscaleoffset": (
        {"offset": 0, "scale": 1, "dtype": "<f8"},
        {
            "offset": ("x", None, [1], np.nan, np.inf),
            "scale": ("x", None, [1], 0, np.nan),
            "dtype": ("<x4", None, "|O"),
            "astype": ("<x4", "|O"),
        },
    ),
    "quantize": (
        {"digits": 1, "dtype": "<f8"},
        {"digits": (True, "x", None, np.nan), "dtype": ("<x4", "<i4", None), "astype": ("<x4", "<i4")},
    ),
    "packbits": ({}, {}),
    "categorize": (
        {"labels": ["a"], "dtype": "<U1"},
        {"labels": (3, "a", [1], None), "dtype": ("<f4", None)},
    ),
    "vlen-utf8": ({}, {}),
    "vlen-bytes": ({}, {}),
    "vlen-array": ({"dtype": "<i4"}, {"dtype": ("<x4", "|O", None, 3)}),
    "json2": (
        {},
        {
            "encoding": ("utf-9", 3, None),
            "skipkeys": (1, "x"),
            "allow_nan": (1, "x"),
            "separators": (3, ["a"], [1, 2]),
            "indent": ([1], True, 1.5, {}),
            "strict": (1, "x"),
        },
    ),
    "msgpack2": ({}, {"use_single_float": (1, "x"), "use_bin_type": (1, "x"), "raw": (1, "x")}),
}


def created(zarr_format: int, name: str, configuration: dict) -> zarrcore.Array:
    """An array with a codec, which is the latest time for its configuration to be refused."""
    if zarr_format == 2:
        codec = {"id": name, **configuration}
        parse_v2_codec(codec)
        return zarrcore.create_array(
            {}, shape=(4, 4), chunks=(4, 4), dtype="<f8", zarr_format=2, filters=[codec], compressors=None
        )
    codec = {"name": name, "configuration": configuration}
    place = {"array->array": "filters", "array->bytes": "serializer", "bytes->bytes": "compressors"}
    how = {"compressors": None, place[codec_registry.get(name).kind]: codec}
    if name != "pcodec":
        parse_codec(codec)
    return zarrcore.create_array({}, shape=(4, 4), chunks=(4, 4), dtype="f8", **how)


def bad_values():
    for zarr_format, table in ((3, V3), (2, V2)):
        for name, (good, bad) in table.items():
            for member, values in bad.items():
                for value in values:
                    yield pytest.param(
                        zarr_format, name, good, member, value, id=f"{name}-{member}={value!r}"
                    )


@pytest.mark.parametrize(("zarr_format", "name", "good", "member", "value"), list(bad_values()))
def test_bad_values(zarr_format, name, good, member, value):
    with pytest.raises((MetadataValidationError, UnknownCodecError)) as caught:
        created(zarr_format, name, good | {member: value})
    message = str(caught.value)
    assert name in message or "nobody" in message
    assert member in message


CASES = [(3, name, good) for name, (good, _) in V3.items()] + [
    (2, name, good) for name, (good, _) in V2.items()
]
CASES += [(3, name, None) for name in codec_registry if name.startswith("numcodecs.")]


@pytest.mark.parametrize(("zarr_format", "name", "good"), CASES)
def test_unknown_members(zarr_format, name, good):
    with pytest.raises((MetadataValidationError, UnknownCodecError)) as caught:
        created(zarr_format, name, {**(good or {}), "nonsense": 1})
    assert "nonsense" in str(caught.value) or isinstance(caught.value, UnknownCodecError)
    assert name.removeprefix("numcodecs.") in str(caught.value)


@pytest.mark.parametrize(("zarr_format", "name", "good"), [case for case in CASES if case[2]])
def test_missing_members(zarr_format, name, good):
    optional = {"cname", "clevel", "shuffle", "typesize", "blocksize", "offset", "scale", "checksum"}
    for member in good.keys() - (optional if zarr_format == 3 else set()):
        rest = {key: value for key, value in good.items() if key != member}
        try:
            created(zarr_format, name, rest)
        except BaseZarrError as error:
            assert isinstance(error, (MetadataValidationError, UnknownCodecError))
            assert name in str(error)
            assert "missing" in str(error) or member in str(error)


def test_every_codec_is_here():
    assert {name for name in codec_registry if "." not in name} <= set(V3)
    assert set(compressor_registry) <= set(V2)


@pytest.mark.parametrize(
    "bad", [3, None, True, [], {}, {"name": 3}, {"name": ""}, {"configuration": {}}, np.int64(3)]
)
def test_what_is_no_codec(bad):
    with pytest.raises(MetadataValidationError, match="filters"):
        zarrcore.create_array({}, shape=4, dtype="f8", filters=[bad])
    with pytest.raises((MetadataValidationError, TypeError)):
        zarrcore.create_array({}, shape=4, dtype="f8", zarr_format=2, filters=[bad])


def test_a_configuration_that_is_none():
    for bad in (3, [], "x", None):
        with pytest.raises(MetadataValidationError, match="configuration"):
            parse_codec({"name": "gzip", "configuration": bad})
