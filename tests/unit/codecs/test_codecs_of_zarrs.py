"""The codecs ``zarrs.squeeze``, ``zarrs.vlen``, ``zarrs.vlen_v2`` and ``zarrs.optional``.

tests/interop exchanges arrays of all of them with zarrs itself.
"""

from __future__ import annotations

import copy
import json
import pickle
import struct
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArraySpec, OptionalCodec, SqueezeCodec, VLenCodec, VLenV2Codec
from zarrcore.codecs.chain import CodecChain, parse_codec
from zarrcore.dtypes import Int16, Int32, Optional, VariableLengthBytes, VariableLengthUTF8
from zarrcore.errors import (
    ChunkDecodeError,
    ChunkEncodeError,
    DataTypeValidationError,
    MetadataValidationError,
    UnknownCodecError,
)

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
SWAPPED = {"name": "transpose", "configuration": {"order": [1, 0]}}
SWAPPED_3 = {"name": "transpose", "configuration": {"order": [1, 0, 2]}}
DELTA = {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}
TEXTS = np.array([["", "a", "né漢🎉"], ["x" * 300, "b\0", ""], ["", "", "q"]], object)
ADDRESS = "https://codec.zarrs.dev"


def reshape(shape: list[Any]) -> dict[str, Any]:
    return {"name": "reshape", "configuration": {"shape": shape}}


def opened(document: dict[str, Any]) -> zarrcore.Array:
    return zarrcore.open_array({"zarr.json": json.dumps(document).encode()})


def document_of(dtype: Any, **members: Any) -> dict[str, Any]:
    array = zarrcore.create_array({}, shape=4, chunks=4, dtype=dtype, compressors=None)
    return array.metadata.to_dict() | members


def stored_as(chunk: bytes, dtype: Any, size: int = 3, **options: Any) -> np.ndarray:
    """Read an array of one chunk, whose stored bytes are given."""
    store: dict[str, bytes] = {}
    array = zarrcore.create_array(store, shape=size, dtype=dtype, compressors=None, **options)
    store["c/0"] = chunk
    return array[...]


class TestSqueeze:
    @pytest.mark.parametrize(
        ("shape", "expected"),
        [((1, 3, 1, 2), (3, 2)), ((3, 2), (3, 2)), ((1, 1), (1,)), ((1,), (1,)), ((), (1,)), ((5, 1), (5,))],
    )
    def test_dimensions_of_length_1_go(self, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
        chunk = np.arange(np.prod(shape), dtype="i2").reshape(shape)
        spec = ArraySpec(shape, Int16(), np.int16(0))
        codec = SqueezeCodec().resolve(spec)
        encoded = codec.encode(chunk, spec)
        assert encoded.shape == codec.output_spec(spec).shape == expected
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)

    @pytest.mark.parametrize("keys", ["default", "fanout"])  # the engine in C, and that in Python
    @pytest.mark.parametrize("shards", [False, True])
    def test_what_follows_sees_the_other_dimensions(self, keys: str, shards: bool) -> None:
        store: dict[str, bytes] = {}
        inner = {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": [LITTLE]}}
        inner["configuration"]["index_codecs"] = [LITTLE, {"name": "crc32c"}]
        array = zarrcore.create_array(
            store,
            shape=(3, 8, 9),
            chunks=(1, 4, 6),
            dtype="i2",
            filters=["zarrs.squeeze", SWAPPED],
            serializer={**inner, "configuration": inner["configuration"] | {"chunk_shape": [3, 2]}}
            if shards
            else LITTLE,
            compressors=None,
            chunk_key_encoding={"name": keys, "configuration": {}},
        )
        values = np.arange(1, 217, dtype="i2").reshape(3, 8, 9)
        array[...] = values
        if not shards:
            first = next(data for key, data in sorted(store.items()) if key != "zarr.json")
            assert first == values[0, :4, :6].T.tobytes()
        again = zarrcore.open_array(store)
        np.testing.assert_array_equal(again[...], values)
        np.testing.assert_array_equal(again[1:, ::-3, 2:7], values[1:, ::-3, 2:7])
        again[:, 3:5, 5:7] = -1
        values[:, 3:5, 5:7] = -1
        np.testing.assert_array_equal(zarrcore.open_array(store)[...], values)
        assert zarrcore.verify(store).ok

    @pytest.mark.parametrize(
        "filters",
        [
            ["zarrs.squeeze"] * 2,
            [SWAPPED_3, "zarrs.squeeze", SWAPPED],
            [reshape([4, 1, 6]), "zarrs.squeeze"],
            ["zarrs.squeeze", reshape([6, -1])],
            ["zarrs.squeeze", reshape([[0], 1, [1]]), "zarrs.squeeze"],
            ["zarrs.squeeze", SWAPPED, DELTA, reshape([-1]), "zarrs.squeeze"],
        ],
        ids=str,
    )
    def test_both_engines_make_the_same_bytes(self, filters: list[Any]) -> None:
        values = np.arange(1, 289, dtype="i4").reshape(3, 8, 12)
        made = []
        for keys in ("default", "fanout"):
            store: dict[str, bytes] = {}
            options = {"chunk_key_encoding": {"name": keys}, "filters": filters, "compressors": None}
            array = zarrcore.create_array(store, shape=(3, 8, 12), chunks=(1, 4, 6), dtype="i4", **options)
            array[...] = values
            again = zarrcore.open_array(store)
            np.testing.assert_array_equal(again[...], values)
            assert (again._compiled().is_native and not again._compiled().chain.calls_python) == (not made)
            made.append(sorted(data for key, data in store.items() if key != "zarr.json"))
        assert made[0] == made[1]

    def test_chunks_of_different_shapes(self) -> None:
        grid = {"name": "rectangular", "configuration": {"chunk_shape": [[1, 3], [2, 1]]}}
        how = {"shape": (4, 3), "dtype": "i4", "chunk_grid": grid}
        array = zarrcore.create_array({}, filters=["zarrs.squeeze"], **how)
        values = np.arange(12).reshape(4, 3)
        array[...] = values
        np.testing.assert_array_equal(zarrcore.open_array(array.store)[...], values)
        with pytest.raises(MetadataValidationError, match="permutation"):
            zarrcore.create_array({}, filters=["zarrs.squeeze", SWAPPED], **how)

    def test_it_has_no_configuration(self) -> None:
        assert SqueezeCodec().to_json() == {"name": "zarrs.squeeze", "configuration": {}}
        with pytest.raises(MetadataValidationError, match="unknown key"):
            parse_codec({"name": "zarrs.squeeze", "configuration": {"axis": 0}})


VLEN = {
    "plain": VLenCodec(),
    "end": VLenCodec(
        index_codecs=[{"name": "bytes", "configuration": {"endian": "big"}}, "zstd"],
        data_codecs=["bytes", "gzip"],
        index_data_type="uint32",
        index_location="end",
    ),
    "v2": VLenV2Codec(),
}


class TestVLen:
    @pytest.mark.parametrize("codec", VLEN.values(), ids=VLEN)
    @pytest.mark.parametrize("dtype", ["string", "bytes"])
    @pytest.mark.parametrize("options", [{}, {"shards": (4, 4)}, {"filters": [SWAPPED]}], ids=str)
    def test_values_come_back(self, codec: Any, dtype: str, options: dict[str, Any]) -> None:
        values = TEXTS if dtype == "string" else np.vectorize(str.encode, otypes=[object])(TEXTS)
        how = {"shape": (3, 3), "chunks": (2, 2), "dtype": dtype, "serializer": codec}
        array = zarrcore.create_array({}, **how, **options)
        array[...] = values
        again = zarrcore.open_array(array.store)
        assert again[...].tolist() == values.tolist()
        assert again[::-1, 1].tolist() == values[::-1, 1].tolist()
        again[1:, 1:] = values[0, 2]
        changed = values.copy()
        changed[1:, 1:] = values[0, 2]
        assert pickle.loads(pickle.dumps(again))[...].tolist() == changed.tolist()
        assert copy.deepcopy(again)[...].tolist() == changed.tolist()
        assert zarrcore.verify(array.store).ok

    def test_the_layout(self) -> None:
        spec = ArraySpec((3,), VariableLengthUTF8(), "")
        chunk = np.array(["a", "", "né"], "T")
        index = struct.pack("<4I", 0, 1, 1, 4)
        both = VLenCodec(index_data_type="uint32"), VLenCodec(index_data_type="uint32", index_location="end")
        start, end = (bytes(CodecChain.from_codecs([codec], spec).encode(chunk, spec)) for codec in both)
        assert start == struct.pack("<Q", 16) + index + "ané".encode()
        assert end == "ané".encode() + index + struct.pack("<Q", 16)
        empty = CodecChain.from_codecs([VLenCodec(data_codecs=["bytes", "zstd"])], spec)
        assert empty.encode(np.array(["", "", ""], "T"), spec) == struct.pack("<Q", 32) + bytes(32)

    @pytest.mark.parametrize("codec", VLEN.values(), ids=VLEN)
    def test_wrong_items_are_refused_before_any_is_stored(self, codec: Any) -> None:
        for dtype, wrong in (("string", 5), ("bytes", "text"), ("bytes", 1.5)):
            store: dict[str, bytes] = {}
            array = zarrcore.create_array(store, shape=4, chunks=2, dtype=dtype, serializer=codec)
            given = np.array(["a" if dtype == "string" else b"a"] * 3 + [wrong], object)
            with pytest.raises((ChunkEncodeError, TypeError)):
                array[...] = given
            assert set(store) == {"zarr.json"}

    @pytest.mark.parametrize(
        ("index", "data", "reason"),
        [
            ([0, 2, 1, 3], b"abc", "do not ascend"),
            ([3, 2, 1, 0], b"abc", "do not ascend"),
            ([0, 1, 2, 4], b"abc", "expected 4 bytes, got 3"),
            ([0, 1, 2, 2], b"abc", "expected 2 bytes, got 3"),
            ([0, 1, 2, 2**40], b"abc", "1099511627776 bytes, at most 268435456 are allowed by the setting"),
            ([0, 1, 2, 2**64 - 1], b"abc", "at most 268435456"),
            ([0, 1, 2, 3], b"ab\xff", "item 2 is not UTF-8"),
            ([0, 1, 2], b"abc", "expected 32 bytes, got 24"),
            ([0, 1, 2, 3, 4], b"abcd", "expected 32 bytes, got 40"),
        ],
    )
    def test_damaged_indexes(self, index: list[int], data: bytes, reason: str) -> None:
        encoded = struct.pack(f"<{len(index)}Q", *index)
        length = struct.pack("<Q", len(encoded))
        for where, chunk in (("start", length + encoded + data), ("end", data + encoded + length)):
            with pytest.raises(ChunkDecodeError, match=reason):
                stored_as(chunk, "string", serializer=VLenCodec(index_location=where))

    @pytest.mark.parametrize(
        "chunk", [b"", b"1234567", bytes(8), b"\xff" * 8, b"\xff" * 80, b"\x20" + bytes(7 + 31)]
    )
    @pytest.mark.parametrize("where", ["start", "end"])
    def test_damaged_chunks(self, chunk: bytes, where: str) -> None:
        chunk = chunk if where == "start" else chunk[::-1]
        with pytest.raises(ChunkDecodeError):
            stored_as(chunk, "string", serializer=VLenCodec(index_location=where))

    def test_no_index_makes_more_memory_than_the_setting_allows(self) -> None:
        """What compressors make of a few bytes may be any number of them."""
        codec = VLenCodec(data_codecs=["bytes", "zstd"])
        store: dict[str, bytes] = {}
        array = zarrcore.create_array(store, shape=1, dtype="bytes", serializer=codec, compressors=None)
        with zarrcore.config.set({"array.max_variable_chunk_bytes": 1 << 20}):
            array[0] = bytes(1 << 20)
            assert len(store["c/0"]) < 200 and len(array[0]) == 1 << 20
            with pytest.raises(ChunkEncodeError, match="at most 1048576 are allowed"):
                array[0] = bytes((1 << 20) + 1)
        smaller = zarrcore.config.set({"array.max_variable_chunk_bytes": 1 << 19})
        with smaller, pytest.raises(ChunkDecodeError, match="at most 524288 are allowed"):
            array[0]

    @pytest.mark.parametrize("codec", ["zarrs.vlen", "zarrs.vlen_v2"])
    def test_items_of_fixed_size_are_refused(self, codec: str) -> None:
        with pytest.raises(MetadataValidationError, match="needs items of variable length"):
            zarrcore.create_array({}, shape=3, dtype="i4", serializer=codec)
        with pytest.raises(MetadataValidationError, match="need the codec 'zarrs.optional'"):
            zarrcore.create_array({}, shape=3, dtype=Optional(item=VariableLengthUTF8()), serializer=codec)

    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
            ({"index_codecs": None}, "index_codecs"),
            ({"index_codecs": []}, "index_codecs"),
            ({"index_codecs": ["bytes"]}, r"index_codecs\[0\].*endian"),
            ({"data_codecs": ["zstd"]}, "data_codecs"),
            ({"data_codecs": ["vlen-utf8"]}, "data_codecs"),
            ({"index_data_type": "uint8"}, "index_data_type"),
            ({"index_location": "middle"}, "index_location"),
            ({"more": 1}, "unknown key"),
        ],
    )
    def test_bad_configurations(self, changed: dict[str, Any], reason: str) -> None:
        configuration = VLenCodec().to_json()["configuration"] | changed
        codecs = [{"name": "zarrs.vlen", "configuration": configuration}]
        with pytest.raises(MetadataValidationError, match=reason):
            opened(document_of("string", codecs=codecs))

    @pytest.mark.parametrize("member", ["index_codecs", "data_codecs", "index_data_type"])
    def test_missing_members(self, member: str) -> None:
        configuration = VLenCodec().to_json()["configuration"]
        del configuration[member]
        codecs = [{"name": "zarrs.vlen", "configuration": configuration}]
        with pytest.raises(MetadataValidationError, match=f"{member}: is required and missing"):
            opened(document_of("string", codecs=codecs))

    def test_the_draft_without_a_location(self) -> None:
        configuration = VLenCodec().to_json()["configuration"]
        del configuration["index_location"]
        codecs = [{"name": "zarrs.vlen", "configuration": configuration}]
        array = opened(document_of("string", codecs=codecs))
        assert array.metadata.codecs[0] == VLenCodec().resolve(array.metadata.chunk_spec())


class TestOptional:
    def test_the_layout(self) -> None:
        """The chunks that stand in the data of the tests of zarrs."""
        codec, spec = OptionalCodec(), ArraySpec((2, 2), parsed("uint8"))
        chain = CodecChain.from_codecs([codec], spec)
        chunk = items("uint8", [[0, None], [None, 5]])
        assert bytes(chain.encode(chunk, spec)) == struct.pack("<QQBBB", 1, 2, 0b1001, 0, 5)
        np.testing.assert_array_equal(chain.decode(struct.pack("<QQBBB", 1, 2, 0b1001, 0, 5), spec), chunk)

        spec = ArraySpec((2, 2), Optional(item=parsed("uint8")))
        chain = CodecChain.from_codecs([OptionalCodec()], spec)
        data = struct.pack("<QQB", 1, 18, 0b1010) + struct.pack("<QQBB", 1, 1, 0b10, 5)
        found = chain.decode(data, spec)
        assert found["valid"].tolist() == [[False, True], [False, True]]
        assert found["value"]["valid"].tolist() == [[False, False], [False, True]]
        assert found["value"]["value"].tolist() == [[0, 0], [0, 5]]
        assert bytes(chain.encode(found, spec)) == data

    def test_nothing_but_missing_items(self) -> None:
        spec = ArraySpec((4,), parsed("int32"))
        chain = CodecChain.from_codecs([OptionalCodec(data_codecs=[LITTLE, "zstd"])], spec)
        assert bytes(chain.encode(np.zeros(4, spec.np_dtype), spec)) == struct.pack("<QQB", 1, 0, 0)

    @pytest.mark.parametrize(
        "options",
        [{}, {"shards": (4, 4)}, {"filters": [SWAPPED]}, {"chunk_key_encoding": {"name": "fanout"}}],
        ids=str,
    )
    @pytest.mark.parametrize("inner", ["int32", "bool", "float64", "numpy.datetime64"])
    def test_values_of_fixed_size_come_back(self, inner: str, options: dict[str, Any]) -> None:
        configuration = {"unit": "s", "scale_factor": 1} if inner == "numpy.datetime64" else {}
        zdtype = Optional(item=zarrcore.dtype.get_data_type_from_json(
            {"name": inner, "configuration": configuration}, zarr_format=3))  # fmt: skip
        array = zarrcore.create_array({}, shape=(5, 6), chunks=(2, 2), dtype=zdtype, **options)
        rng = np.random.default_rng(3)
        values = np.zeros((5, 6), array.dtype)
        values["valid"] = rng.integers(0, 2, (5, 6))
        there = values["valid"]
        values["value"][there] = rng.integers(0, 2, (5, 6)).astype(values["value"].dtype)[there]
        values[3:] = np.zeros((), array.dtype)
        array[...] = values
        again = zarrcore.open_array(array.store)
        assert again[...].tobytes() == values.tobytes()
        assert again[::-2, 1:4].tobytes() == values[::-2, 1:4].tobytes()
        again[1:4, 3] = values[0, 0]
        values[1:4, 3] = values[0, 0]
        assert pickle.loads(pickle.dumps(again))[...].tobytes() == values.tobytes()
        assert zarrcore.verify(array.store).ok

    @pytest.mark.parametrize("nested", [False, True])
    def test_values_of_any_length_come_back(self, nested: bool) -> None:
        zdtype = Optional(item=VariableLengthUTF8())
        plain = [None, "", "a", "né漢", "x" * 300]
        if nested:
            zdtype, plain = Optional(item=zdtype), [None, *[(item,) for item in plain]]
        array = zarrcore.create_array({}, shape=(4, 5), chunks=(2, 3), dtype=zdtype)
        values = np.empty((4, 5), object)
        for i, place in enumerate(np.ndindex(4, 5)):
            values[place] = plain[i % len(plain)]
        array[...] = values
        again = zarrcore.open_array(array.store)
        assert again[...].tolist() == values.tolist()
        again[1:3, 2] = None
        values[1:3, 2] = None
        assert pickle.loads(pickle.dumps(again))[...].tolist() == values.tolist()
        assert zarrcore.verify(array.store).ok
        with pytest.raises(ChunkEncodeError, match="is not a value of"):
            again[0, :] = np.array([None, "a" if nested else 5, None, None, None], object)

    def test_chunks_of_the_fill_value_are_absent(self) -> None:
        for zdtype, given in ((Optional(item=Int32()), None), (Optional(item=VariableLengthUTF8()), None)):
            store: dict[str, bytes] = {}
            array = zarrcore.create_array(store, shape=4, chunks=2, dtype=zdtype)
            array[...] = np.full(4, None) if array.dtype.kind == "O" else given
            assert set(store) == {"zarr.json"}

    @pytest.mark.parametrize(
        ("chunk", "reason"),
        [
            (b"", "0 bytes cannot hold two lengths"),
            (bytes(15), "15 bytes cannot hold two lengths"),
            (struct.pack("<QQ", 0, 0), "packbits.*expected 2 bytes, got 0"),
            (struct.pack("<QQH", 2, 40, 0x3FF) + bytes(39), "mask of 2 and data of 40 bytes, there are 41"),
            (struct.pack("<QQH", 2, 39, 0x3FF) + bytes(39), "expected 40 bytes, got 39"),
            (struct.pack("<QQH", 2, 41, 0x3FF) + bytes(41), "expected 40 bytes, got 41"),
            (struct.pack("<QQHI", 2**63, 2**63, 1, 5), "mask of 9223372036854775808"),
            (struct.pack("<QQHI", 2**64 - 10, 16, 1, 5), "there are 6"),
            (struct.pack("<QQHI", 2, 4, 1, 5) + b"x", "there are 7"),
            (struct.pack("<QQHI", 2, 4, 3, 5), "expected 8 bytes, got 4"),
        ],
    )
    @pytest.mark.parametrize("keys", ["default", "fanout"])
    def test_damaged_chunks(self, chunk: bytes, reason: str, keys: str) -> None:
        store: dict[str, bytes] = {}
        array = zarrcore.create_array(
            store, shape=10, dtype=Optional(item=Int32()), compressors=None, chunk_key_encoding={"name": keys}
        )
        array[...] = 1
        (key,) = set(store) - {"zarr.json"}
        store[key] = chunk
        with pytest.raises(ChunkDecodeError, match=reason):
            zarrcore.open_array(store)[...]
        assert not zarrcore.verify(store).ok

    def test_damaged_texts(self) -> None:
        zdtype = Optional(item=VariableLengthUTF8())
        for data in (b"", struct.pack("<II", 1, 4) + b"abc", struct.pack("<II", 2, 3) + b"abc"):
            with pytest.raises(ChunkDecodeError, match="vlen-utf8"):
                stored_as(struct.pack("<QQB", 1, len(data), 1) + data, zdtype)

    @pytest.mark.parametrize(
        ("configuration", "reason"),
        [
            ({"mask_codecs": ["packbits"]}, "data_codecs: is required and missing"),
            ({"data_codecs": [LITTLE]}, "mask_codecs: is required and missing"),
            ({"mask_codecs": ["packbits"], "data_codecs": []}, "exactly one array->bytes codec, got none"),
            ({"mask_codecs": 5, "data_codecs": [LITTLE]}, "mask_codecs"),
            ({"mask_codecs": ["vlen-utf8"], "data_codecs": [LITTLE]}, "mask_codecs"),
            ({"mask_codecs": ["zstd"], "data_codecs": [LITTLE]}, "mask_codecs"),
            ({"mask_codecs": ["packbits"], "data_codecs": ["zarrs.optional"]}, "data_codecs"),
            ({"mask_codecs": ["packbits"], "data_codecs": [LITTLE], "more": 1}, "unknown key"),
        ],
    )
    def test_bad_configurations(self, configuration: dict[str, Any], reason: str) -> None:
        codecs = [{"name": "zarrs.optional", "configuration": configuration}]
        with pytest.raises(MetadataValidationError, match=reason):
            opened(document_of(Optional(item=Int32()), codecs=codecs))

    @pytest.mark.parametrize("depth", [17, 200])
    def test_codecs_within_codecs(self, depth: int) -> None:
        inner: Any = ["bytes"]
        for _ in range(depth):
            configuration = {"mask_codecs": ["packbits"], "data_codecs": inner}
            inner = [{"name": "zarrs.optional", "configuration": configuration}]
        with pytest.raises(MetadataValidationError, match="nested"):
            opened(document_of(Optional(item=Int32()), codecs=inner))

    @pytest.mark.parametrize("codec", ["bytes", "vlen-utf8", "zarrs.vlen", "packbits"])
    def test_no_other_codec_stores_these_items(self, codec: str) -> None:
        for item in (Int32(), VariableLengthUTF8(), VariableLengthBytes()):
            with pytest.raises(MetadataValidationError):
                zarrcore.create_array({}, shape=3, dtype=Optional(item=item), serializer=codec)
        with pytest.raises(MetadataValidationError, match="needs a data type of the same name"):
            zarrcore.create_array({}, shape=3, dtype="i4", serializer="zarrs.optional")
        with pytest.raises(DataTypeValidationError, match="has no optional items"):
            zarrcore.create_array({}, shape=3, dtype=Optional(item=Int32()), zarr_format=2)


def parsed(inner: str) -> Optional:
    return Optional(item=zarrcore.dtype.parse_dtype(inner, zarr_format=3))


def items(inner: str, values: list[list[Any]]) -> np.ndarray:
    zdtype = parsed(inner)
    made = [[zdtype.cast_scalar(value) for value in row] for row in values]
    return np.array(made, zdtype.to_native_dtype())


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        (f"{ADDRESS}/array_to_bytes/vlen", "zarrs.vlen"),
        (f"{ADDRESS}/array_to_bytes/vlen_v2", "zarrs.vlen_v2"),
        (f"{ADDRESS}/array_to_bytes/optional", "zarrs.optional"),
        (f"{ADDRESS}/array_to_bytes/pcodec", "numcodecs.pcodec"),
        (f"{ADDRESS}/array_to_bytes/zfpy", "numcodecs.zfpy"),
        (f"{ADDRESS}/bytes_to_bytes/fletcher32", "numcodecs.fletcher32"),
        ("optional", "zarrs.optional"),
        ("zarrs.zfp", "zfp"),
    ],
)
def test_names_that_zarrs_reads_too(alias: str, name: str) -> None:
    registry = zarrcore.registry.codec_registry
    assert alias in registry and alias not in registry.names()
    assert registry.get(alias) is registry.get(name)
    with pytest.raises(UnknownCodecError):
        registry.get(f"{alias}-")


def test_an_array_by_its_older_names() -> None:
    """As the data of the tests of zarrs has them."""
    configuration = {"mask_codecs": ["packbits"], "data_codecs": ["bytes"]}
    document = document_of(Optional(item=Int32())) | {
        "data_type": {"name": "optional", "configuration": {"name": "uint8", "configuration": {}}},
        "codecs": [{"name": "optional", "configuration": configuration}],
        "fill_value": None,
    }
    store = {"zarr.json": json.dumps(document).encode(), "c/0": struct.pack("<QQBBB", 1, 2, 0b0101, 7, 9)}
    found = zarrcore.open_array(store)[...]
    assert found.tolist() == [(True, 7), (False, 0), (True, 9), (False, 0)]


@pytest.mark.parametrize("fill_value", [None, (None,), ("",), ("x",)])
@pytest.mark.parametrize("shards", [None, (4,)])
def test_absent_chunks_and_inner_chunks_of_nested_texts(fill_value: Any, shards: Any) -> None:
    zdtype = Optional(item=Optional(item=VariableLengthUTF8()))
    store: dict[str, bytes] = {}
    array = zarrcore.create_array(
        store, shape=8, chunks=2, shards=shards, dtype=zdtype, fill_value=fill_value
    )
    assert array[...].tolist() == [fill_value] * 8
    array[1] = ("a",)
    assert zarrcore.open_array(store)[...].tolist() == [fill_value, ("a",), *[fill_value] * 6]
    array[1] = fill_value
    assert set(store) == {"zarr.json"}


def test_items_with_and_without_their_lengths() -> None:
    from zarrcore._core import vlen

    items = [b"", b"a", b"bcd" * 100, b"", b"e"]
    encoded = struct.pack("<I", 5) + b"".join(struct.pack("<I", len(item)) + item for item in items)
    begins, joined = vlen.separated(encoded, 5)
    assert begins.tolist() == [0, 0, 1, 301, 301, 302] and joined == b"".join(items)
    assert vlen.interleaved(begins, joined) == encoded
    assert vlen.interleaved(begins + np.uint64(2), b"xx" + joined) == encoded
    assert vlen.separated(bytes(4), 0)[1] == b"" and vlen.interleaved(np.zeros(1, np.uint64), b"") == bytes(4)
    cut, longer = encoded[:-1], encoded + b"x"
    for value, count in ((b"", 0), (encoded, 4), (encoded, 6), (cut, 5), (longer, 5), (encoded, 10**9)):
        with pytest.raises(ValueError, match="lengths"):
            vlen.separated(value, count)
    for bad in ([], [0, 2**64 - 1, 3], [0, 5, 3], [2, 1, 3], [3, 3, 2], [0, 1, 4]):
        with pytest.raises(ValueError, match="beginnings"):
            vlen.interleaved(np.array(bad, np.uint64), b"abc")
