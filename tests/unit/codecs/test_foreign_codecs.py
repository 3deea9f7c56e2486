"""Codec objects of format 2, of numcodecs and of zarr-python where a codec of format 3 is wanted."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.errors import ChunkDecodeError, MetadataValidationError, UnknownCodecError

numcodecs = pytest.importorskip("numcodecs")

VALUES = np.arange(60.0).reshape(6, 10)


def written(**codecs):
    array = zarrcore.create_array({}, shape=(6, 10), chunks=(3, 5), dtype="f8", **codecs)
    array[...] = VALUES
    assert np.array_equal(zarrcore.open_array(array.store)[...], VALUES)
    return array


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        (numcodecs.Zstd(level=5), "zstd"),
        (numcodecs.GZip(level=2), "gzip"),
        (numcodecs.Blosc(cname="zstd", shuffle=2), "blosc"),
        (numcodecs.Blosc(shuffle=-1), "blosc"),
        (numcodecs.Zlib(3), "numcodecs.zlib"),
        (numcodecs.LZ4(), "numcodecs.lz4"),
        (numcodecs.BZ2(), "numcodecs.bz2"),
        (numcodecs.Shuffle(8), "numcodecs.shuffle"),
        (parse_v2_codec({"id": "zlib", "level": 3}), "numcodecs.zlib"),
    ],
    ids=str,
)
def test_compressors(codec, name):
    array = written(compressors=codec)
    assert [item.name for item in array.compressors] == [name]
    assert array.store.get("zarr.json").count(b'"id"') == 0
    assert written(compressors=[codec, {"name": "crc32c"}]).compressors[0].name == name
    assert written(compressors=codec, shards=(6, 10)).compressors[0].name == name


def test_filters():
    array = written(filters=[numcodecs.Delta("<f8"), numcodecs.FixedScaleOffset(0, 1, "<f8")])
    assert [item.name for item in array.filters] == ["numcodecs.delta", "numcodecs.fixedscaleoffset"]


def test_the_same_bytes_as_numcodecs_makes():
    for codec in (numcodecs.Zstd(level=5), numcodecs.Zlib(3), numcodecs.LZ4(), numcodecs.Blosc(shuffle=2)):
        array = written(compressors=codec)
        decoded = np.frombuffer(codec.decode(array.store.get("c/1/1")), "<f8")
        assert decoded.reshape(3, 5).tolist() == VALUES[3:, 5:].tolist()


def test_codecs_of_zarr_python():
    codecs = pytest.importorskip("zarr").codecs
    array = written(
        filters=[codecs.TransposeCodec(order=(1, 0))],
        serializer=codecs.BytesCodec(endian="big"),
        compressors=[codecs.BloscCodec(cname="lz4", shuffle="bitshuffle"), codecs.Crc32cCodec()],
    )
    assert [item.name for item in array.metadata.codecs] == ["transpose", "bytes", "blosc", "crc32c"]
    assert array.serializer.endian == "big"
    written(compressors=codecs.numcodecs.Zlib(level=2))
    inner = codecs.ShardingCodec(chunk_shape=(3, 5), codecs=[codecs.BytesCodec(), codecs.GzipCodec(level=3)])
    sharded = zarrcore.create_array(
        {}, shape=(6, 10), chunks=(6, 10), dtype="f8", serializer=inner, compressors=None
    )
    sharded[...] = VALUES
    assert (sharded.chunks, sharded.shards) == ((3, 5), (6, 10))
    assert np.array_equal(sharded[...], VALUES)
    plain = zarrcore.create(shape=6, chunks=2, dtype="i4", codecs=[codecs.BytesCodec()])
    assert plain.metadata.codecs == (zarrcore.codecs.BytesCodec(endian="little"),)


@pytest.mark.parametrize(
    "codec", [3, pytest.param(object(), id="object"), numcodecs.Zstd, ["zstd", 3]], ids=repr
)
def test_what_is_no_codec(codec):
    with pytest.raises(MetadataValidationError, match="compressors"):
        zarrcore.create_array({}, shape=4, dtype="i4", compressors=[codec])


def test_codecs_that_format_3_has_not():
    with pytest.raises(MetadataValidationError, match="'json2'"):
        zarrcore.create_array({}, shape=4, dtype="i4", filters=[numcodecs.JSON()])
    with pytest.raises((MetadataValidationError, UnknownCodecError)):
        zarrcore.create_array({}, shape=4, dtype="i4", filters=[numcodecs.Pickle()])


@pytest.mark.parametrize("dtype", [">i4", ">f8", ">M8[s]", ">U3"])
def test_the_byte_order_of_a_dtype_is_not_that_of_the_chunks(dtype):
    """In format 3 the serializer has it: as with zarr-python, little-endian unless it says otherwise."""
    zarr = pytest.importorskip("zarr")
    for serializer, expected in (
        ("auto", "little"),
        ({"name": "bytes", "configuration": {"endian": "big"}}, "big"),
    ):
        documents = []
        for module in (zarrcore, zarr):
            array = module.create_array(
                {}, shape=4, chunks=2, dtype=dtype, compressors=None, serializer=serializer
            )
            documents.append((array.metadata.to_dict()["codecs"], array.metadata.to_dict()["data_type"]))
        assert [list(codecs) for codecs, _ in documents][0] == [*documents[1][0]]
        assert documents[0][0][0]["configuration"] == {"endian": expected}
        assert np.dtype(dtype).newbyteorder("=") == zarrcore.create(shape=4, dtype=dtype).dtype


@pytest.mark.parametrize(
    ("name", "extras"),
    [("pcodec", "numcodecs,pcodec"), ("zfpy", "numcodecs,zfp")],
)
def test_a_missing_package_is_named_by_its_extra(
    name: str, extras: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = re.escape(f"the codec '{name}' of numcodecs is not installed: pip install 'zarrcore[{extras}]'")
    for registry in ({}, None):  # numcodecs without the codec, and no numcodecs
        with monkeypatch.context() as patch:
            if registry is None:
                patch.setitem(sys.modules, "numcodecs.registry", None)
            else:
                patch.setattr(numcodecs.registry, "codec_registry", registry)
                patch.setattr(numcodecs.registry, "entries", {})
            with pytest.raises(UnknownCodecError, match=message):
                parse_v2_codec({"id": name})


class Rows(numcodecs.abc.Codec):
    """A compressor of images, as there are in packages besides numcodecs: it takes two dimensions only."""

    codec_id = "zarrcore-test-rows"

    def encode(self, buf):
        height, width = np.asarray(buf).shape
        return bytes([height, width]) + np.ascontiguousarray(buf).tobytes()

    def decode(self, buf, out=None):
        return np.frombuffer(buf[2:], "<f8").reshape(buf[0], buf[1])


def test_compressors_see_the_dimensions_of_a_chunk(monkeypatch):
    monkeypatch.setitem(numcodecs.registry.codec_registry, Rows.codec_id, Rows)
    for order, shape in (("C", (3, 5)), ("F", (5, 3))):
        array = written(compressors={"id": Rows.codec_id}, zarr_format=2, order=order)
        assert tuple(array.store.get("0.1")[:2]) == shape


ZFPY = {"id": "zfpy", "mode": 4, "tolerance": 0.001, "rate": -1, "precision": -1}


class TestZfpy:
    """The streams of zfp with a header; zfp itself reads on, and allocates what a header says."""

    def test_the_same_bytes_as_zarr_python_makes(self):
        zfpy = pytest.importorskip("zfpy")
        array = zarrcore.create_array(
            {}, shape=(6, 10), chunks=(3, 5), dtype="f8", compressors=ZFPY, zarr_format=2
        )
        array[...] = VALUES
        expected = zfpy.compress_numpy(np.ascontiguousarray(VALUES[:3, 5:]), tolerance=0.001)
        assert bytes(array.store.get("0.1")) == expected

    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_lying_streams(self, zarr_format):
        zfpy = pytest.importorskip("zfpy")
        codec = {"name": "numcodecs.zfpy", "configuration": {k: v for k, v in ZFPY.items() if k != "id"}}
        codecs = {"compressors": ZFPY} if zarr_format == 2 else {"serializer": codec, "compressors": None}
        array = zarrcore.create_array(
            {}, shape=100, chunks=100, dtype="f8", zarr_format=zarr_format, **codecs
        )
        array[...] = values = np.cumsum(np.random.default_rng(0).normal(size=100))
        key = "0" if zarr_format == 2 else "c/0"
        sound = bytes(array.store.get(key))
        larger = zfpy.compress_numpy(np.zeros(1 << 20), tolerance=0.001)
        for bad in (b"", sound[:8], b"x" + sound[1:], larger):
            array.store.set(key, bad)
            with pytest.raises(ChunkDecodeError, match=r"zfpy': (not a stream of zfp|expected 100 items)"):
                array[...]
        rng = np.random.default_rng(1)
        for _ in range(300):
            bad = bytearray(sound)
            bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
            array.store.set(key, bytes(bad[: int(rng.integers(12, len(bad) + 1))]))
            try:
                assert array[...].shape == values.shape
            except ChunkDecodeError:
                continue


@pytest.mark.parametrize("options", [{}, {"typesize": 2}, {"shuffle": "noshuffle"}])
@pytest.mark.parametrize("dtype", ["u1", "i4"])
def test_blosc_of_zarr_python_takes_the_same_from_the_data_type(dtype, options):
    zarr = pytest.importorskip("zarr")
    codec = zarr.codecs.BloscCodec(**options)
    arrays = [lib.create_array({}, shape=8, dtype=dtype, compressors=codec) for lib in (zarrcore, zarr)]
    ours, theirs = [array.metadata.to_dict()["codecs"][-1] for array in arrays]
    assert ours == theirs


def test_the_module_of_codecs_of_numcodecs_is_an_attribute_as_in_zarr_python():
    program = "import zarrcore as zarr; print(zarr.codecs.numcodecs.Delta(dtype='<i4').name)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "numcodecs.delta"
