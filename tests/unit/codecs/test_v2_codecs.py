"""Codecs of format 2 by their JSON, filters in Python, numcodecs in format 3, and the registries."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import (
    ArraySpec,
    CodecChain,
    Delta,
    GzipCodec,
    Shuffle,
    checksums,
    compressors,
    object_filters,
)
from zarrcore.codecs import numcodecs as in_v3
from zarrcore.codecs.chain import parse_codec
from zarrcore.codecs.filters import FilterChain, RawItems, item_size_after
from zarrcore.codecs.object_filters import JSON2, MsgPack2
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.dtypes import data_type_registry, dtype_from_v2, parse_dtype
from zarrcore.errors import (
    ChunkDecodeError,
    ChunkEncodeError,
    MetadataValidationError,
    PickleCodecDisabledError,
    UnknownCodecError,
)
from zarrcore.registry import (
    Registry,
    codec_registry,
    compressor_registry,
    get_codec_class,
    grid_registry,
    register_chunk_key_encoding,
    register_codec,
)
from zarrcore.transformers import register_storage_transformer

CONFIGS = [
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, "blocksize": 0},
    {"id": "zlib", "level": 1},
    {"id": "gzip", "level": 9},
    {"id": "zstd", "level": 0},
    {"id": "zstd", "level": 1, "checksum": True},
    {"id": "lz4", "acceleration": 1},
    {"id": "bz2", "level": 1},
    {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
    {"id": "crc32"},
    {"id": "crc32", "location": "end"},
    {"id": "crc32c"},
    {"id": "adler32"},
    {"id": "jenkins_lookup3", "initval": 7, "prefix": None},
    {"id": "shuffle", "elementsize": 0},
    {"id": "delta", "dtype": ">i4", "astype": "<i2"},
    {"id": "vlen-utf8"},
    {"id": "vlen-bytes"},
]


def spec_of(array: np.ndarray) -> ArraySpec:
    zdtype = dtype_from_v2(array.dtype.str)
    return ArraySpec(array.shape, zdtype, zdtype.default_scalar())


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config["id"])
def test_configurations_round_trip(config: dict) -> None:
    codec = parse_v2_codec(config)
    assert codec.get_config() == config
    assert parse_v2_codec(codec.get_config()) == codec
    assert parse_v2_codec(codec) is codec
    assert hash(parse_v2_codec(config)) == hash(codec)
    assert codec.codec_id == config["id"]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"id": "blosc", "cname": "foo"}, "cname"),
        ({"id": "blosc", "shuffle": 3}, "shuffle: expected an integer -1..2, got 3"),
        ({"id": "zlib", "level": "x"}, "level"),
        ({"id": "zlib", "levle": 1}, "levle: unknown key"),
        ({"id": "delta"}, "dtype"),
        ({"id": "delta", "dtype": "foo"}, "dtype: expected a NumPy data type"),
        ({"id": "delta", "dtype": "|O"}, "dtype: expected a data type of numbers"),
        ({"id": "shuffle", "elementsize": -1}, "elementsize"),
        ({"id": 5}, "expected an object with an id"),
        ({"level": 1}, "expected an object with an id"),
        ("zlib", "expected an object with an id"),
        (5, "expected an object with an id"),
    ],
)
def test_bad_configurations_are_refused(config: Any, reason: str) -> None:
    with pytest.raises(MetadataValidationError, match=reason):
        parse_v2_codec(config)


def test_pickle_is_refused() -> None:
    with pytest.raises(PickleCodecDisabledError, match="any code"):
        parse_v2_codec({"id": "pickle", "protocol": 5})


PICKLED = np.array([[1, "two"], [{"three": 3}, None]], dtype=object)


def test_pickle_for_who_asks_by_name(tmp_path: Path) -> None:
    with zarrcore.config.set({"array.allow_unsafe_pickle_decode": True}):
        assert parse_v2_codec({"id": "pickle", "protocol": 4}).get_config() == {"id": "pickle", "protocol": 4}
        array = zarrcore.create_array(
            tmp_path,
            shape=(2, 2),
            chunks=(1, 2),
            dtype=object,
            zarr_format=2,
            filters=[{"id": "pickle"}],
            compressors={"id": "zlib", "level": 1},
            fill_value=None,
        )
        array[...] = PICKLED
        assert (zarrcore.open_array(tmp_path)[...] == PICKLED).all()
        with pytest.raises(MetadataValidationError, match="protocol"):
            parse_v2_codec({"id": "pickle", "protocol": 99})
    with pytest.raises(PickleCodecDisabledError, match="allow_unsafe_pickle_decode"):
        zarrcore.open_array(tmp_path)


def test_pickle_and_numcodecs_exchange() -> None:
    numcodecs = pytest.importorskip("numcodecs")
    with zarrcore.config.set({"array.allow_unsafe_pickle_decode": True}):
        codec: Any = parse_v2_codec({"id": "pickle"})
    assert (codec.decode(numcodecs.Pickle().encode(PICKLED)) == PICKLED).all()
    assert codec.encode(PICKLED) == numcodecs.Pickle().encode(PICKLED)
    with pytest.raises(ChunkDecodeError, match="not a pickle"):
        codec.decode(b"damaged")
    with pytest.raises(ChunkDecodeError, match="expected a pickled array, found int"):
        codec.decode(b"\x80\x04K\x05.")


def test_unknown_codec_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownCodecError, match="unknown codec 'nope'"):
        parse_v2_codec({"id": "nope"})
    monkeypatch.setitem(__import__("sys").modules, "numcodecs.registry", None)
    with pytest.raises(UnknownCodecError, match=r"known are .*zstd.*pip install 'zarrcore\[numcodecs\]'"):
        parse_v2_codec({"id": "nope"})


def test_codecs_of_format_3_are_refused() -> None:
    with pytest.raises(TypeError, match="of format 2"):
        parse_v2_codec(GzipCodec())


class TestFilters:
    @pytest.mark.parametrize("dtype", ["<i4", ">i4", "|u1", "<f8"])
    def test_delta_as_numcodecs(self, dtype: str) -> None:
        numcodecs = pytest.importorskip("numcodecs")
        items = np.array([5, 3, 8, 8, 100], dtype)
        assert Delta(dtype).encode(items).tobytes() == numcodecs.Delta(dtype).encode(items).tobytes()
        decoded = Delta(dtype).decode(Delta(dtype).encode(items).tobytes())
        assert decoded.dtype == items.dtype
        np.testing.assert_array_equal(decoded, items)

    def test_delta_of_bool_and_of_nothing(self) -> None:
        items = np.array([True, True, False, True])
        np.testing.assert_array_equal(Delta("|b1").decode(Delta("|b1").encode(items)), items)
        assert Delta("<i4").decode(Delta("<i4").encode(np.zeros(0, "<i4"))).size == 0

    @pytest.mark.parametrize(
        "filters",
        [
            (Delta("<i4"),),
            (Delta("<i4", "<i2"), Shuffle(2)),
            (Shuffle(0), Delta("|u1")),
            (Delta("<i4"), checksums.CRC32(), compressors.BZ2()),
        ],
    )
    def test_chains_of_filters(self, filters: tuple) -> None:
        chunk = np.arange(12, dtype="<i4").reshape(3, 4)
        spec = spec_of(chunk)
        codec = FilterChain(filters).resolve(spec)
        decoded = codec.decode(codec.encode(chunk, spec), spec)
        assert decoded.dtype == chunk.dtype
        np.testing.assert_array_equal(decoded, chunk)

    def test_wrong_sizes_are_refused(self) -> None:
        chunk = np.arange(12, dtype="<i4")
        spec = spec_of(chunk)
        codec = FilterChain((Delta("<i4"),))
        with pytest.raises(ChunkDecodeError, match="expected 48 bytes, got 44"):
            codec.decode(codec.encode(chunk[:-1], spec), spec)

    def test_errors_name_the_filter(self) -> None:
        chunk = np.arange(12, dtype="<i4")
        filters = ({"id": "crc32"}, {"id": "delta", "dtype": "<i4"})
        codec = FilterChain(tuple(map(parse_v2_codec, filters)))
        with pytest.raises(ChunkDecodeError, match="codec 'delta': ValueError: .* no whole number"):
            codec.decode(b"abc", spec_of(chunk))
        with pytest.raises(ChunkDecodeError, match="codec 'crc32'"):
            codec.decode(chunk.tobytes(), spec_of(chunk))
        words = ArraySpec((2,), dtype_from_v2("|O", "vlen-utf8"), "")
        labels = {"labels": ["a", "b"], "dtype": "|O", "astype": "|u1"}
        codec = FilterChain((parse_v2_codec({"id": "categorize", **labels}),))
        with pytest.raises(ChunkDecodeError, match="codec 'categorize': expected 2 items, got 3"):
            codec.decode(b"\1\2\1", words)
        with pytest.raises(ChunkEncodeError, match="codec 'json2': TypeError: .*not JSON serializable"):
            items = ArraySpec((2,), dtype_from_v2("|O", "json2"))
            FilterChain((JSON2(),)).encode(np.array([1j, 2], object), items)

    def test_objects_need_an_object_codec(self) -> None:
        spec = ArraySpec((2,), dtype_from_v2("|O", "vlen-utf8"), "")
        with pytest.raises(MetadataValidationError, match="needs an object codec"):
            RawItems().resolve(spec)
        codec = FilterChain((object_filters.VLenUTF8(), checksums.CRC32()))
        chunk = np.array(["a", "é"], spec.np_dtype)
        assert codec.decode(codec.encode(chunk, spec), spec).tolist() == ["a", "é"]

    def test_item_sizes(self) -> None:
        assert item_size_after((), 8) == 8
        assert item_size_after((Delta("<i8", "<i2"),), 8) == 2
        assert item_size_after((Delta("<i8"), Shuffle(8)), 8) == 1


class TestNumcodecsInFormat3:
    CODECS = [
        in_v3.Delta(dtype="<i4"),
        in_v3.Delta(dtype="<i4", astype="<i2"),
        in_v3.AsType(encode_dtype="<i2"),
        in_v3.FixedScaleOffset(offset=1, scale=2, astype="<i4"),
        in_v3.Blosc(cname="lz4", shuffle=1),
        in_v3.LZ4(acceleration=1),
        in_v3.Zlib(level=1),
        in_v3.GZip(level=1),
        in_v3.Zstd(level=1),
        in_v3.BZ2(level=1),
        in_v3.LZMA(preset=1),
        in_v3.Shuffle(),
        in_v3.CRC32(),
        in_v3.CRC32C(),
        in_v3.Adler32(),
        in_v3.Fletcher32(),
        in_v3.JenkinsLookup3(),
    ]

    @pytest.mark.parametrize("codec", CODECS, ids=repr)
    def test_round_trip(self, codec: Any) -> None:
        pytest.importorskip("numcodecs")
        if codec.kind == "bytes->bytes" and codec.stage() is not None:
            pytest.importorskip("zarrcore._core.engine")
        chunk = np.arange(24, dtype="<i4").reshape(4, 6)
        spec = ArraySpec(chunk.shape, parse_dtype("<i4", zarr_format=3), np.int32(0))
        serializer = {"name": "bytes", "configuration": {"endian": "little"}}
        codecs = [codec, serializer] if codec.kind == "array->array" else [serializer, codec]
        chain = CodecChain.from_json(codecs, spec)
        assert CodecChain.from_json(chain.to_json(), spec) == chain
        np.testing.assert_array_equal(chain.decode(chain.encode(chunk, spec), spec), chunk)

    def test_packbits(self) -> None:
        pytest.importorskip("numcodecs")
        chunk = np.arange(20) % 3 == 0
        spec = ArraySpec(chunk.shape, parse_dtype("bool", zarr_format=3), np.False_)
        chain = CodecChain.from_json([in_v3.PackBits(), "bytes"], spec)
        assert chain.encoded_size(spec) == 4
        np.testing.assert_array_equal(chain.decode(chain.encode(chunk, spec), spec), chunk)

    def test_missing_members_come_from_the_data_type(self) -> None:
        spec = ArraySpec((4,), parse_dtype("<i4", zarr_format=3), np.int32(0))
        assert in_v3.Shuffle().resolve(spec) == in_v3.Shuffle(elementsize=4)
        assert in_v3.AsType(encode_dtype="<i2").resolve(spec).codec_config["decode_dtype"] == "<i4"

    def test_names(self) -> None:
        for name in in_v3.__all__:
            cls = getattr(in_v3, name)
            assert get_codec_class(cls.name) is cls

    def test_bad_configurations_are_refused(self) -> None:
        with pytest.raises(MetadataValidationError, match="level"):
            in_v3.Zlib.from_json({"level": "x"})

    def test_a_codec_of_format_2_equals_the_one_of_numcodecs(self) -> None:
        numcodecs = pytest.importorskip("numcodecs")
        theirs = numcodecs.Blosc(cname="zstd", clevel=3, shuffle=2)
        array = zarrcore.create_array({}, shape=4, dtype="i4", zarr_format=2, compressors=theirs)
        assert array.compressors == (theirs,) != (numcodecs.Blosc(cname="zstd", clevel=4, shuffle=2),)
        assert array.compressors[0] not in (numcodecs.Zlib(3), "blosc", None)
        assert in_v3.Zlib(3) != numcodecs.Zlib(3)  # of format 3

    @pytest.mark.parametrize("codec", CODECS, ids=repr)
    def test_the_same_class_spells_both_formats(self, codec: Any) -> None:
        spelt = in_v3.AsType("<i2", "<i4") if codec.codec_id == "astype" else codec
        if "dtype" in codec.members:
            spelt = type(codec)(**codec.codec_config | {"dtype": "<i4"})
        in_v2: Any = parse_v2_codec(spelt)
        assert (type(in_v2), in_v2.name) == (type(codec), codec.codec_id)
        assert in_v2.to_json() == in_v2.get_config() == spelt.get_config()
        configuration = {name: value for name, value in spelt.codec_config.items() if name != "id"}
        assert spelt.to_json() == {"name": codec.name, "configuration": configuration}
        assert spelt.codec_config["id"] == codec.codec_id  # as those of numcodecs have it
        assert in_v2 != spelt and pickle.loads(pickle.dumps(in_v2)) == in_v2

    def test_codecs_of_numcodecs_are_taken_for_arrays_of_format_2(self) -> None:
        store: dict[str, Any] = {}
        array = zarrcore.create_array(
            store,
            shape=6,
            dtype="<i4",
            zarr_format=2,
            filters=[in_v3.Delta(dtype="<i4")],
            compressors=in_v3.Zlib(level=3),
        )
        array[...] = range(6)
        assert zarrcore.open_array(store)[...].tolist() == list(range(6))
        assert array.metadata.to_dict()["compressor"] == {"id": "zlib", "level": 3}
        with pytest.raises(FrozenInstanceError):
            array.compressors[0].level = 4  # type: ignore[attr-defined]


class TestRegistry:
    def test_lazy_places(self) -> None:
        registry: Registry[Any] = Registry("thing", "zarrcore.no-such-group")
        registry.register("collections:OrderedDict", "ordered")
        assert registry.get("ordered").__name__ == "OrderedDict"
        assert registry.names() == ("ordered",)
        assert "other" not in registry

    def test_unknown_names_what_is_known(self) -> None:
        with pytest.raises(UnknownCodecError, match="unknown codec 'foo'; known are .*blosc"):
            codec_registry.get("foo")

    def test_entry_points(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from importlib import metadata

        found = [metadata.EntryPoint("test.entry", "collections:Counter", "zarrcore.codecs")]
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)
        registry: Registry[Any] = Registry("codec", "zarrcore.codecs")
        assert registry.get("test.entry").__name__ == "Counter"

    @pytest.mark.parametrize("place", ["no_such_module:Thing", "collections:NoSuchThing"])
    def test_places_that_are_wrong_are_told(self, place: str) -> None:
        registry: Registry[Any] = Registry("thing", "zarrcore.no-such-group", UnknownCodecError)
        registry.register(place, "test.thing")
        with pytest.raises(UnknownCodecError, match=f"'test.thing' cannot be imported from {place}: "):
            registry.get("test.thing")

    @pytest.mark.parametrize("as_filter", [False, True])
    def test_classes_in_the_manner_of_numcodecs(
        self, monkeypatch: pytest.MonkeyPatch, as_filter: bool
    ) -> None:
        """Registered for format 2 without a base class of this package, whether numcodecs is there or not."""

        class Turned:
            codec_id = "test.turned"

            def __init__(self, key: int = 1) -> None:
                self.key = key + 0

            def get_config(self) -> dict[str, Any]:
                return {"id": self.codec_id, "key": self.key}

            @classmethod
            def from_config(cls, config: dict[str, Any]) -> Turned:
                return cls(**config)

            def encode(self, data: Any) -> bytes:
                return bytes(octet ^ self.key for octet in np.ascontiguousarray(data).tobytes())

            decode = encode

        registered = compressor_registry._classes | {"test.turned": Turned}
        monkeypatch.setattr(compressor_registry, "_classes", registered)
        store: dict[str, Any] = {}
        config = {"id": "test.turned", "key": 9}
        array = zarrcore.create_array(
            store,
            shape=5,
            dtype="u1",
            zarr_format=2,
            filters=[Turned(9)] if as_filter else None,
            compressors=None if as_filter else config,
        )
        array[...] = range(5)
        assert bytes(store["0"]) == bytes(i ^ 9 for i in range(5))
        assert zarrcore.open_array(store)[...].tolist() == list(range(5))
        for wrong in ({"id": "test.turned", "lock": 9}, {"id": "test.turned", "key": "x"}):
            with pytest.raises(MetadataValidationError, match=r"codec 'test\.turned'"):
                zarrcore.create_array({}, shape=5, dtype="u1", zarr_format=2, compressors=wrong)

    def test_registered_classes_come_first(self) -> None:
        class Mine(GzipCodec):
            name = "test.mine"

        register_codec("test.mine", Mine)
        try:
            assert get_codec_class("test.mine") is Mine
        finally:
            del codec_registry._classes["test.mine"]

    def test_every_built_in_can_be_imported(self) -> None:
        for name in codec_registry:
            assert codec_registry.get(name).kind in ("array->array", "array->bytes", "bytes->bytes")

    @pytest.mark.parametrize(
        ("register", "what", "missing"),
        [
            (register_codec, "codec", "from_json"),
            (register_chunk_key_encoding, "chunk key encoding", "encode"),
            (register_storage_transformer, "storage transformer", "wrap"),
            (lambda key, cls: compressor_registry.register(cls, key), "format 2 codec", "from_config"),
            (lambda key, cls: grid_registry.register(cls, key), "chunk grid", "update_shape"),
            (data_type_registry.register, "data type", "to_native_dtype"),
        ],
    )
    def test_what_is_no_class_of_its_kind_is_refused_at_once(
        self, register: Any, what: str, missing: str
    ) -> None:
        with pytest.raises(TypeError, match=f"class dict as a {what}: it has no .*{missing}"):
            register("test.dict", dict)
        with pytest.raises(TypeError, match=f"as a {what}: it is no class"):
            register("test.instance", object())

    def test_a_plug_in_of_the_wrong_kind_is_named(self) -> None:
        registry: Registry[Any] = Registry("thing", "zarrcore.no-such-group", UnknownCodecError, "encode")
        registry.register("collections:OrderedDict", "test.thing")
        with pytest.raises(UnknownCodecError, match="'test.thing'.*OrderedDict.* it has no encode"):
            registry.get("test.thing")

    def test_a_key_error_about_what_is_there_does_not_call_it_missing(self) -> None:
        @dataclass(frozen=True)
        class Rotated(GzipCodec):
            name = "test.rotated"
            mode: str = "left"

            @classmethod
            def from_json(cls, configuration: Mapping[str, Any]) -> Any:
                return cls(mode={"left": "l"}[configuration["mode"]])

        register_codec("test.rotated", Rotated)
        try:
            with pytest.raises(MetadataValidationError, match="KeyError: 'up'") as caught:
                parse_codec({"name": "test.rotated", "configuration": {"mode": "up"}})
            assert "missing" not in str(caught.value)
            with pytest.raises(MetadataValidationError, match="mode: is required and missing"):
                parse_codec({"name": "test.rotated"})
        finally:
            del codec_registry._classes["test.rotated"]

    def test_nameless_classes_are_refused(self) -> None:
        with pytest.raises(TypeError, match="no name"):
            codec_registry.register(object)  # type: ignore[arg-type]


OBJECTS = [
    1,
    -1,
    -33,
    200,
    -200,
    70000,
    2**40,
    -(2**40),
    2.5,
    None,
    True,
    False,
    "é" * 40,
    "s" * 300,
    "",
    "x" * 70000,
]
NESTED = [{"a": [1, 2]}, [1, "x"], list(range(20)), {str(i): i for i in range(20)}, list(range(70000))]


def objects(items: list[Any]) -> np.ndarray:
    out = np.empty(len(items), object)
    for index, item in enumerate(items):
        out[index] = item
    return out


class TestObjects:
    @pytest.mark.parametrize("codec", [JSON2(), MsgPack2()], ids=lambda codec: codec.name)
    def test_round_trip(self, codec: Any) -> None:
        chunk = objects([*OBJECTS, *NESTED])
        spec = ArraySpec(chunk.shape, dtype_from_v2("|O", codec.name), None)
        assert codec.decode(codec.encode(chunk, spec), spec).tolist() == chunk.tolist()
        assert parse_v2_codec(codec.get_config()) == codec

    @pytest.mark.interop
    @pytest.mark.parametrize("shape", [(16,), (2, 8), (8, 2, 1)])
    def test_json_as_numcodecs(self, shape: tuple[int, ...]) -> None:
        numcodecs = pytest.importorskip("numcodecs")
        chunk = objects(OBJECTS).reshape(shape)
        spec = ArraySpec(shape, dtype_from_v2("|O", "json2"), None)
        assert JSON2().decode(bytes(numcodecs.JSON().encode(chunk)), spec).tolist() == OBJECTS
        assert numcodecs.JSON().decode(JSON2().encode(chunk, spec)).ravel().tolist() == OBJECTS
        theirs = parse_v2_codec(numcodecs.JSON(sort_keys=False, indent=1))
        assert theirs.decode(theirs.encode(chunk, spec), spec).tolist() == OBJECTS

    @pytest.mark.interop
    @pytest.mark.parametrize("options", [{}, {"use_single_float": True}, {"use_bin_type": False}])
    def test_messagepack_as_its_package(self, options: dict) -> None:
        msgpack = pytest.importorskip("msgpack")
        chunk = objects([*OBJECTS, *NESTED])
        ours = MsgPack2(**options).encode(chunk)
        assert ours == msgpack.packb([*chunk.tolist(), "|O", [chunk.size]], **options)

    @pytest.mark.parametrize(
        "data",
        [b"", b"[", b"5", b'["|O"]', b'[1, "|O", "x"]', b'[1, "|O", [-1]]', b'[1, 2, "|O", [1]]',
         b'[1, "|O", [2, 2]]', b'[1, "|O", [1000000000000]]', b'[[1], [2, 3], "|O", [2, 1]]',
         b'[1, 2, 3, "|O", [3]]', b"\xff"],
    )  # fmt: skip
    def test_malformed_json(self, data: bytes) -> None:
        with pytest.raises(ChunkDecodeError):
            JSON2().decode(data, ArraySpec((2,), dtype_from_v2("|O", "json2"), None))

    @pytest.mark.parametrize(
        "data",
        [b"", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\x00", b"\xdb\xff\xff\xff\xffabc",
         b"\xcb\0",
         b"\xa2\xff\xff", b"\x91" * 5000, b"\x81\x90\x01", b"\x92\xa2|O\x91\x00x", b"\xd9"],
    )  # fmt: skip
    def test_malformed_messagepack(self, data: bytes) -> None:
        with pytest.raises(ChunkDecodeError):
            MsgPack2().decode(data, ArraySpec((2,), dtype_from_v2("|O", "msgpack2"), None))


def test_base_classes_under_the_names_of_zarr_python() -> None:
    from zarrcore.abc import codec as abc

    for name in abc.__all__:
        assert getattr(abc, name) is not None
    assert isinstance(GzipCodec(), abc.SupportsSyncCodec)
    assert isinstance(GzipCodec(), abc.BaseCodec)
    assert isinstance(GzipCodec(), abc.Codec)
