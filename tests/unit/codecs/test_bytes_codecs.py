"""Codecs that take bytes: round trips, other implementations as judges, and bounds."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tracemalloc
import zlib

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import (
    ArraySpec,
    Blosc,
    BloscCname,
    BloscCodec,
    BloscShuffle,
    Crc32cCodec,
    GZip,
    GzipCodec,
    Zlib,
    Zstd,
    ZstdCodec,
    checksums,
    compressors,
)
from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.codecs.compressors import Shuffle
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import ChecksumError, ChunkDecodeError, ChunkEncodeError, MetadataValidationError

DATA = np.arange(1000, dtype="<i4").tobytes()
SPEC = ArraySpec((1000,), parse_dtype("i4", zarr_format=3), 0)

NATIVE = [
    BloscCodec(typesize=4),
    BloscCodec(cname="lz4", shuffle="noshuffle", typesize=4, clevel=0),
    GzipCodec(level=1),
    ZstdCodec(level=3, checksum=True),
    Crc32cCodec(),
    Blosc(shuffle=-1),
    Zlib(level=-1),
    GZip(),
    Zstd(),
    compressors.LZ4(),
    checksums.CRC32C(location="start"),
]
PYTHON = [
    compressors.BZ2(),
    compressors.LZMA(),
    compressors.LZMA(format=lzma.FORMAT_ALONE, preset=1),
    compressors.LZMA(preset=0 | lzma.PRESET_EXTREME, check=lzma.CHECK_SHA256),
    compressors.LZMA(format=lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 1}]),
    checksums.CRC32(),
    checksums.CRC32(location="end"),
    checksums.Adler32(),
    checksums.JenkinsLookup3(),
    checksums.JenkinsLookup3(initval=2**32 - 1),
    Shuffle(4),
    Shuffle(0),
    Shuffle(3),
]


def needs_engine(codec: BytesBytesCodec) -> None:
    if codec.stage() is not None:
        pytest.importorskip("zarrcore._core.engine")


@pytest.mark.parametrize("codec", [*NATIVE, *PYTHON], ids=repr)
@pytest.mark.parametrize("data", [b"", b"x", DATA], ids=len)
def test_round_trip(codec: BytesBytesCodec, data: bytes) -> None:
    needs_engine(codec)
    codec = codec.resolve(SPEC)
    if isinstance(codec, Shuffle):
        data = data[: len(data) // 12 * 12]
    encoded = bytes(codec.encode(data, SPEC))
    assert bytes(codec.decode(encoded, SPEC, len(data))) == data
    assert bytes(codec.decode(encoded, SPEC, None)) == data
    if codec.is_fixed_size:
        assert len(encoded) == codec.encoded_size(len(data))


@pytest.mark.parametrize("codec", [c for c in [*NATIVE, *PYTHON] if not c.is_fixed_size], ids=repr)
def test_no_more_is_decoded_than_there_may_be(codec: BytesBytesCodec) -> None:
    needs_engine(codec)
    encoded = codec.encode(DATA, SPEC)
    with pytest.raises(ChunkDecodeError):
        codec.decode(encoded, SPEC, len(DATA) - 1)


@pytest.mark.parametrize("codec", [c for c in [*NATIVE, *PYTHON] if not c.is_fixed_size], ids=repr)
def test_truncated_input_is_refused(codec: BytesBytesCodec) -> None:
    needs_engine(codec)
    if getattr(codec, "format", None) == lzma.FORMAT_RAW:
        pytest.skip("a raw LZMA stream has no end mark")
    encoded = bytes(codec.encode(DATA, SPEC))
    with pytest.raises(ChunkDecodeError):
        codec.decode(encoded[:-1], SPEC, len(DATA))


@pytest.mark.parametrize(
    "codec", [checksums.CRC32(), checksums.Adler32(location="end"), Crc32cCodec()], ids=repr
)
def test_wrong_checksums_are_refused(codec: BytesBytesCodec) -> None:
    needs_engine(codec)
    encoded = bytearray(codec.encode(DATA))
    encoded[100] ^= 1
    with pytest.raises(ChecksumError):
        codec.decode(bytes(encoded), SPEC, len(DATA))
    with pytest.raises(ChunkDecodeError):
        codec.decode(b"abc", SPEC, len(DATA))


RAW = [{"id": lzma.FILTER_LZMA2, "preset": 1}]


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        (compressors.BZ2(), bz2.compress(bytes(1 << 24))),
        (compressors.LZMA(), lzma.compress(bytes(1 << 24), preset=1)),
        (
            compressors.LZMA(format=lzma.FORMAT_ALONE),
            lzma.compress(bytes(1 << 24), lzma.FORMAT_ALONE, preset=1),
        ),
        (
            compressors.LZMA(format=lzma.FORMAT_RAW, filters=RAW),
            lzma.compress(bytes(1 << 24), lzma.FORMAT_RAW, filters=RAW),
        ),
    ],
    ids=["bz2", "xz", "lzma", "raw"],
)
def test_a_bomb_costs_no_more_than_its_bound(codec: BytesBytesCodec, bomb: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ChunkDecodeError, match="more than the 4000 bytes"):
            codec.decode(bomb, SPEC, 4000)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20  # the dictionary of preset 1 is 1 MiB
    finally:
        tracemalloc.stop()


def test_streams_do_not_say_how_much_memory_they_get() -> None:
    """The dictionary that an xz stream wants is allocated before anything is decoded."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 28}]
    greedy = lzma.compress(DATA, filters=filters)
    with pytest.raises(ChunkDecodeError, match="Memory usage limit exceeded"):
        compressors.LZMA().decode(greedy, SPEC, len(DATA))
    assert compressors.LZMA(filters=filters).decode(greedy, SPEC, len(DATA)) == DATA
    highest = lzma.compress(DATA, preset=9 | lzma.PRESET_EXTREME)
    assert compressors.LZMA().decode(highest, SPEC, len(DATA)) == DATA


def test_concatenated_streams() -> None:
    assert compressors.BZ2().decode(bz2.compress(b"ab") + bz2.compress(b"cd"), None, 4) == b"abcd"
    assert compressors.LZMA().decode(lzma.compress(b"ab") + lzma.compress(b"cd"), None, 4) == b"abcd"


def test_streams_of_the_standard_library() -> None:
    pytest.importorskip("zarrcore._core.engine")
    assert GzipCodec().decode(gzip.compress(DATA), SPEC, len(DATA)) == DATA
    assert gzip.decompress(GzipCodec().encode(DATA)) == DATA
    assert Zlib().decode(zlib.compress(DATA), SPEC, len(DATA)) == DATA
    assert zlib.decompress(Zlib().encode(DATA)) == DATA


@pytest.mark.interop
@pytest.mark.parametrize("codec", [c for c in [*NATIVE, *PYTHON] if hasattr(c, "get_config")], ids=repr)
def test_numcodecs_reads_and_writes_the_same(codec: BytesBytesCodec) -> None:
    needs_engine(codec)
    numcodecs = pytest.importorskip("numcodecs")
    config = codec.get_config()
    if config == {"id": "shuffle", "elementsize": 0}:
        pytest.skip("the elementsize 0 of NCZarr means nothing to numcodecs")
    theirs = numcodecs.get_codec(config)
    data = DATA[: len(DATA) // 12 * 12]  # whole items of all shuffles
    assert bytes(theirs.decode(bytes(codec.encode(data)))) == data
    assert bytes(codec.decode(bytes(theirs.encode(data)), SPEC, len(data))) == data
    assert parse_v2_codec(theirs).get_config() == codec.get_config()


class TestBlosc:
    def test_defaults_come_from_the_data_type(self) -> None:
        assert BloscCodec().resolve(SPEC) == BloscCodec(typesize=4, shuffle="shuffle")
        one_byte = ArraySpec((10,), parse_dtype("u1", zarr_format=3), 0)
        assert BloscCodec().resolve(one_byte) == BloscCodec(typesize=1, shuffle="bitshuffle")
        assert BloscCodec(typesize=2, shuffle="noshuffle").resolve(SPEC).typesize == 2

    def test_large_items_shuffle_as_bytes(self) -> None:
        assert BloscCodec(typesize=300, shuffle="shuffle").stage()[1]["typesize"] == 1

    @pytest.mark.parametrize(
        ("configuration", "reason"),
        [
            ({"cname": "foo"}, "cname: expected one of"),
            ({"clevel": 10}, "clevel: expected an integer 0..9"),
            ({"clevel": "5"}, 'clevel: expected an integer 0..9, got "5"'),
            ({"clevel": True}, "clevel"),
            ({"shuffle": 1}, "shuffle"),
            ({"typesize": 0}, "typesize"),
            ({"blocksize": -1}, "blocksize"),
            ({"level": 1}, "level: unknown key; known here: typesize, cname, clevel, shuffle, blocksize"),
        ],
    )
    def test_bad_configurations_are_refused(self, configuration: dict, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=reason):
            BloscCodec.from_json(configuration)

    def test_enumerations_are_strings(self) -> None:
        codec = BloscCodec(cname=BloscCname.lz4, shuffle=BloscShuffle.bitshuffle, typesize=1)
        assert codec == BloscCodec(cname="lz4", shuffle="bitshuffle", typesize=1)
        assert BloscShuffle.from_int(2) == "bitshuffle"


@pytest.mark.parametrize(
    ("cls", "configuration"),
    [
        (GzipCodec, {"level": 10}),
        (GzipCodec, {"level": -1}),
        (GzipCodec, {"level": 1.0}),
        (ZstdCodec, {"level": 23}),
        (ZstdCodec, {"checksum": 1}),
        (Crc32cCodec, {"location": "start"}),
    ],
)
def test_bad_configurations_are_refused(cls: type, configuration: dict) -> None:
    with pytest.raises(MetadataValidationError):
        cls.from_json(configuration)


@pytest.mark.parametrize("data", [DATA, b"", DATA[:8]])
def test_shuffle_is_a_transpose(data: bytes) -> None:
    expected = np.frombuffer(data, np.uint8).reshape(-1, 4).T.tobytes()
    assert Shuffle(4).encode(data) == expected
    assert Shuffle(0).sized(4, 4).encode(data) == expected


class TestBytesOfNoWholeItem:
    """Shuffled chunks that numcodecs refuses: read as HDF5 has them, never written."""

    @pytest.mark.interop
    def test_numcodecs_refuses_them(self) -> None:
        theirs = pytest.importorskip("numcodecs").Shuffle(4)
        for call in (theirs.encode, theirs.decode):
            with pytest.raises(ValueError, match="not an integer multiple"):
                call(b"1234567")

    def test_single_codecs(self) -> None:
        engine = pytest.importorskip("zarrcore._core.engine")
        for decode in (
            lambda data: Shuffle(4).decode(data),
            lambda data: engine.decode_bytes("shuffle", {"elementsize": 4}, data, len(data)),
        ):
            assert decode(b"15263748xyz") == b"12345678xyz"
        for encode in (
            lambda data: Shuffle(4).encode(data),
            lambda data: engine.encode_bytes("shuffle", {"elementsize": 4}, data),
        ):
            with pytest.raises(ChunkEncodeError, match="7 bytes are no whole number of items of 4 bytes"):
                encode(b"1234567")

    @pytest.mark.parametrize(
        "codecs",
        [
            {"zarr_format": 2, "filters": [{"id": "shuffle", "elementsize": 4}]},
            {"compressors": [{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}]},
            {
                "compressors": [{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}],
                "shards": (10,),
            },
            {"compressors": ["crc32c", {"name": "numcodecs.shuffle", "configuration": {"elementsize": 5}}]},
        ],
        ids=["format 2", "format 3", "in shards", "behind a checksum"],
    )
    def test_arrays_are_refused_when_they_are_created(self, codecs: dict) -> None:
        how = {"shape": 10, "chunks": 5, "dtype": "i2", "compressors": None} | codecs
        with pytest.raises(MetadataValidationError, match=r"\d+ bytes are no whole number of items"):
            zarrcore.create_array({}, **how)
        assert zarrcore.create_array({}, **how | {"chunks": 2 if "crc32c" not in str(codecs) else 3})

    def test_arrays_of_others_are_read(self) -> None:
        array = zarrcore.create_array(
            {}, shape=6, chunks=6, dtype="u1", zarr_format=2, compressors=None, filters=None
        )
        array[...] = np.frombuffer(b"123456", np.uint8)
        document = json.loads(array.store.get(".zarray"))
        document["filters"] = [{"id": "shuffle", "elementsize": 2}]
        array.store.set(".zarray", json.dumps(document).encode())
        array.store.set("0", b"135246")
        assert zarrcore.open_array(array.store)[...].tobytes() == b"123456"
        document["filters"] = [{"id": "shuffle", "elementsize": 4}]
        array.store.set(".zarray", json.dumps(document).encode())
        opened = zarrcore.open_array(array.store)
        assert opened[...].tobytes() == b"135246"
        with pytest.raises(ChunkEncodeError, match="6 bytes are no whole number of items of 4 bytes"):
            opened[...] = 7

    def test_chunks_of_other_sizes_are_tried(self) -> None:
        """The trial of a new array takes a small chunk, whose bytes may be no whole items."""
        filters = [{"id": "delta", "dtype": "|u1"}, {"id": "shuffle", "elementsize": 8}]
        array = zarrcore.create_array(
            {}, shape=(3, 8), chunks=(3, 8), dtype="u1", zarr_format=2, filters=filters
        )
        array[...] = 5
        assert (array[...] == 5).all()


class TestJenkinsLookup3:
    @pytest.mark.interop
    @pytest.mark.parametrize("initval", [0, 1, 2**32 - 1])
    @pytest.mark.parametrize("prefix", [None, b"", b"x", b"twelve bytes", bytes(range(31))])
    def test_the_sums_of_numcodecs(self, initval: int, prefix: bytes | None) -> None:
        checksum32 = pytest.importorskip("numcodecs.checksum32")
        theirs = checksum32.JenkinsLookup3(initval, prefix)
        ours = checksums.JenkinsLookup3(initval=initval, prefix=prefix)
        for size in [*range(40), len(DATA)]:
            encoded = bytes(theirs.encode(np.frombuffer(DATA[:size], np.uint8)))
            assert ours.encode(DATA[:size]) == encoded
            assert ours.decode(encoded, SPEC, size) == DATA[:size]
            with pytest.raises(ChecksumError):
                ours.decode(encoded[:-1] + bytes([encoded[-1] ^ 1]), SPEC, size)

    @pytest.mark.interop
    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_a_prefix_has_no_place_in_documents(self, zarr_format: int) -> None:
        checksum32 = pytest.importorskip("numcodecs.checksum32")
        store: dict = {}
        with pytest.raises(MetadataValidationError, match="prefix: expected none in a metadata document"):
            zarrcore.create_array(
                store,
                shape=4,
                dtype="i4",
                zarr_format=zarr_format,
                compressors=checksum32.JenkinsLookup3(prefix=b"ab"),
            )
        assert store == {}
