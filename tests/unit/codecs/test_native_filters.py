"""Filters of format 3 in the engine: the same bytes, items and errors as in NumPy."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from filter_arrays import FLOATS, ORDERS, SHAPE, WHOLE, bits, check, created, extension, is_native, ml_bits
from numpy_filters import scale_decode, scale_encode

from zarrcore.codecs import ArraySpec
from zarrcore.codecs.cast_value import CastValue
from zarrcore.codecs.scale_offset import ScaleOffset
from zarrcore.dtypes import bit_layout, get_data_type_from_json, parse_dtype
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

engine = pytest.importorskip("zarrcore._core.engine")


class TestBitRound:
    @pytest.mark.parametrize("endian", ["little", "big"])
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("keepbits", [0, 1, 7, 10, 23, 64])
    def test_as_in_python(
        self, monkeypatch: pytest.MonkeyPatch, keepbits: int, dtype: str, order: str, endian: str
    ) -> None:
        values = bits(np.dtype(order + dtype))
        filters = [extension("bitround", keepbits=keepbits)]
        check(monkeypatch, values, filters, extension("bytes", endian=endian))

    def test_behind_a_transposition_and_in_shards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = bits(np.dtype("<f4"), (20, 8))
        filters = [extension("transpose", order=[1, 0]), extension("bitround", keepbits=4)]
        check(monkeypatch, values, filters, extension("bytes", endian="big"), shards=(10, 8))

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("dtype", [*WHOLE, "M8[s]", "m8[ns]"])
    @pytest.mark.parametrize("keepbits", [0, 1, 3, 8, 63])
    def test_integers_as_in_numpy(
        self, monkeypatch: pytest.MonkeyPatch, keepbits: int, dtype: str, order: str
    ) -> None:
        values = bits(np.dtype(order + dtype).newbyteorder(order))
        words = values.reshape(-1).view(dtype.replace("M8[s]", "i8").replace("m8[ns]", "i8"))
        limits = np.iinfo(words.dtype)
        words[:5] = [limits.min, limits.max, limits.max // 2 + 1, limits.max - 1, 0]
        check(monkeypatch, values, [extension("bitround", keepbits=keepbits)], "auto")

    @pytest.mark.parametrize("endian", ["little", "big"])
    @pytest.mark.parametrize("dtype", ["bfloat16", "complex_bfloat16", "complex_float16"])
    @pytest.mark.parametrize("keepbits", [0, 3, 7, 20])
    def test_types_of_ml_dtypes(
        self, monkeypatch: pytest.MonkeyPatch, keepbits: int, dtype: str, endian: str
    ) -> None:
        values = ml_bits(dtype)
        filters = [extension("bitround", keepbits=keepbits)]
        check(monkeypatch, values, filters, extension("bytes", endian=endian), dtype=dtype)


class TestReshape:
    @pytest.mark.parametrize("shape", [[-1], [[0, 1]], [[0], 2, -1], [5, 1, [1]], [[0], [1]]])
    @pytest.mark.parametrize("endian", ["little", "big"])
    def test_as_in_python(self, monkeypatch: pytest.MonkeyPatch, shape: list[Any], endian: str) -> None:
        values = np.arange(117, dtype="i4").reshape(SHAPE)
        filters = [extension("reshape", shape=shape)]
        check(monkeypatch, values, filters, extension("bytes", endian=endian), compressors=["zstd"])
        check(monkeypatch, values, filters, extension("bytes", endian=endian), fill_value=7)

    def test_between_other_codecs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = bits(np.dtype("f4"))
        filters = [
            extension("transpose", order=[1, 0]),
            extension("reshape", shape=[-1]),
            extension("bitround", keepbits=3),
            extension("reshape", shape=[2, -1]),
        ]
        check(monkeypatch, values, filters, "auto")

    def test_in_shards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = np.arange(160, dtype="i4").reshape(20, 8)
        filters = [extension("reshape", shape=[-1])]
        check(monkeypatch, values, filters, "auto", shards=(10, 8))

    def test_of_chunks_of_many_lengths(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = np.arange(117, dtype="i4").reshape(SHAPE)
        filters = [extension("reshape", shape=[[0, 1]])]
        check(monkeypatch, values, filters, "auto", chunks=((3, 8, 2), (4, 5)))

    @pytest.mark.parametrize(
        "behind",
        [
            extension("transpose", order=[1, 0]),
            extension(
                "sharding_indexed",
                chunk_shape=[2, 2],
                codecs=["bytes"],
                index_codecs=[extension("bytes", endian="little")],
            ),
        ],
    )
    def test_behind_it_are_its_dimensions(
        self, monkeypatch: pytest.MonkeyPatch, behind: dict[str, Any]
    ) -> None:
        filters, serializer = [extension("reshape", shape=[10, -1])], "auto"
        if behind["name"] == "transpose":
            filters.append(behind)
        else:
            serializer = behind
        values = np.arange(117, dtype="u1").reshape(SHAPE)
        check(monkeypatch, values, filters, serializer, config={"write_empty_chunks": False})


class TestScaleOffset:
    @pytest.mark.parametrize("endian", ["little", "big"])
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    @pytest.mark.parametrize(("offset", "scale"), [(0, 1), (0.1, 0.3), (-1e30, -7), (5, 1e-40)])
    def test_floats_as_in_python(
        self,
        monkeypatch: pytest.MonkeyPatch,
        dtype: str,
        order: str,
        endian: str,
        offset: float,
        scale: float,
    ) -> None:
        values = bits(np.dtype(order + dtype))
        filters = [extension("scale_offset", offset=offset, scale=scale)]
        with np.errstate(all="ignore"):
            check(monkeypatch, values, filters, extension("bytes", endian=endian), fill_value=0)

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("dtype", WHOLE)
    def test_integers_as_in_python(self, monkeypatch: pytest.MonkeyPatch, dtype: str, order: str) -> None:
        values = (np.arange(117) % 40).astype(order + dtype).reshape(SHAPE)
        for offset, scale in [(0, 1), (0, 3)] if dtype[0] == "u" else [(-3, 2), (5, -3), (100, -1)]:
            filters = [extension("scale_offset", offset=offset, scale=scale)]
            check(monkeypatch, values, filters, "auto", fill_value=0)

    @pytest.mark.parametrize("dtype", WHOLE)
    def test_exact_up_to_the_limits(self, dtype: str) -> None:
        """Every result and every error is that of Python's integers."""
        limits = np.iinfo(dtype)
        some = {limits.min, limits.min + 1, limits.max // 3, limits.max - 1, limits.max, 0, 1, 2, 3, 100}
        some |= {-1, -2, -3, limits.min // 2} if limits.min else set()
        items = np.array(sorted(some), dtype)
        spec = ArraySpec((1,), parse_dtype(items.dtype, zarr_format=3))
        for offset, scale, item in product(some, some - {0}, items):
            codec = ScaleOffset(offset=int(offset), scale=int(scale))
            name, options = codec.stage(spec)
            for ours, theirs, error in (
                (engine.encode_bytes, scale_encode, ChunkEncodeError),
                (partial(engine.decode_bytes, max_size=item.nbytes), scale_decode, ChunkDecodeError),
            ):
                try:
                    expected = theirs(codec, item.reshape(1), spec).tobytes()
                except ValueError as reason:
                    match = str(reason).removesuffix(f" {scale}").removeprefix("an item ")
                    with pytest.raises(error, match=f"the item {item} {match}"):
                        ours(name, options, item.tobytes())
                else:
                    assert ours(name, options, item.tobytes()) == expected

    def test_errors_name_chunk_and_codec(self) -> None:
        values = np.full(SHAPE, 100, "i1")
        store: dict[str, Any] = {}
        array = created(values, [extension("scale_offset", scale=3)], "auto", store)
        assert is_native(array)
        with pytest.raises(ChunkEncodeError, match=r"c/0/0.*the item 100 does not fit into int8") as caught:
            array[...] = values
        assert caught.value.codec == "scale_offset"
        array[...] = values // 4
        store["c/0/1"] = bytes([1] * 20)
        with pytest.raises(ChunkDecodeError, match=r"c/0/1.*no multiple of the scale") as caught:
            array[...]
        assert caught.value.codec == "scale_offset"

    @pytest.mark.parametrize(
        ("offset", "scale"), [(0, 1), (0.1, 0.3), (-6e4, -7), (5, 6e-8), ("-Infinity", 2)]
    )
    @pytest.mark.parametrize("order", ORDERS)
    def test_half_precision_rounds_after_each_operation(self, order: str, offset: Any, scale: float) -> None:
        items = np.arange(65536, dtype="u2").view("f2").astype(f"{order}f2")
        spec = ArraySpec(items.shape, parse_dtype(items.dtype, zarr_format=3))
        codec = ScaleOffset(offset=offset, scale=scale)
        with np.errstate(all="ignore"):
            for found, right in (
                (codec.encode(items, spec), scale_encode(codec, items, spec)),
                (codec.decode(items, spec), scale_decode(codec, items, spec)),
            ):
                nan = np.isnan(right)
                assert (np.isnan(found) == nan).all()
                assert found[~nan].astype("<f2").tobytes() == right[~nan].astype("<f2").tobytes()
        values = items[:117].reshape(SHAPE)
        assert is_native(created(values, [extension("scale_offset", scale=2)], "auto", fill_value=0))

    @pytest.mark.parametrize(("offset", "scale"), [(0, 1), (0.125, 0.375), (-8, -7), (5, 0.0625)])
    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e5m2"])
    def test_types_of_ml_dtypes_with_infinities(self, dtype: str, offset: float, scale: float) -> None:
        pytest.importorskip("ml_dtypes")
        zdtype = get_data_type_from_json(dtype, zarr_format=3)
        native = zdtype.to_native_dtype()
        items = np.arange(1 << 8 * native.itemsize, dtype=f"u{native.itemsize}").view(native)
        spec = ArraySpec(items.shape, zdtype)
        offset, scale = (float(native.type(number)) for number in (offset, scale))
        codec = ScaleOffset(offset=offset, scale=scale)
        with np.errstate(all="ignore"):
            encoded = (items - native.type(offset)) * native.type(scale)
            decoded = (items / native.type(scale)) + native.type(offset)
        np.testing.assert_array_equal(codec.encode(items, spec).astype("f4"), encoded.astype("f4"))
        np.testing.assert_array_equal(codec.decode(items, spec).astype("f4"), decoded.astype("f4"))

    @pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4", "float8_e4m3fn", "float6_e2m3fn"])
    def test_small_types_refuse_what_does_not_fit(self, dtype: str) -> None:
        pytest.importorskip("ml_dtypes")
        zdtype = get_data_type_from_json(dtype, zarr_format=3)
        items = np.array([0, 1], zdtype.to_native_dtype())
        spec = ArraySpec(items.shape, zdtype)
        codec = ScaleOffset(offset=1)
        assert codec.encode(items[1:], spec).astype("f4").tolist() == [0]
        assert codec.decode(items[:1], spec).astype("f4").tolist() == [1]
        lowest = {"int2": -2, "int4": -8, "float6_e2m3fn": -7, "float8_e4m3fn": -448}.get(dtype, 0)
        item = np.array([lowest], items.dtype)
        with pytest.raises(ChunkEncodeError, match=f"does not fit into {dtype}"):
            ScaleOffset(offset=1 if dtype.lstrip("u").startswith("int") else -lowest).encode(item, spec)


class TestCastValue:
    @pytest.mark.parametrize("endian", ["little", "big"])
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("stored", ["int8", "uint16", "int32", "uint64"])
    @pytest.mark.parametrize("dtype", WHOLE)
    def test_integers_that_wrap_around(
        self, monkeypatch: pytest.MonkeyPatch, dtype: str, stored: str, order: str, endian: str
    ) -> None:
        values = bits(np.dtype(order + dtype))
        filters = [extension("cast_value", data_type=stored, out_of_range="wrap")]
        check(monkeypatch, values, filters, extension("bytes", endian=endian), fill_value=0)

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("data_type", ["int16", "uint8", "float16", "float32", "bfloat16", "float8_e5m2"])
    @pytest.mark.parametrize("endian", ["little", "big"])
    def test_the_engine_stores_what_the_rules_say(self, data_type: str, order: str, endian: str) -> None:
        pytest.importorskip("ml_dtypes")
        values = np.linspace(0, 127, 117).reshape(SHAPE).astype(f"{order}f8")
        values[3, 3] = values[9, 8] = np.nan
        maps = (
            {"encode": [["NaN", 200]], "decode": [[200, "NaN"]]} if data_type in ("int16", "uint8") else None
        )
        codec = CastValue(data_type=data_type, rounding="towards-zero", scalar_map=maps)
        store: dict[str, Any] = {}
        array = created(
            values, [codec.to_json()], extension("bytes", endian=endian), store, chunks=SHAPE, fill_value=0
        )
        assert is_native(array)
        array[...] = values
        stored = np.frombuffer(bytes(store["c/0/0"]), codec.data_type.to_native_dtype().newbyteorder("="))
        if endian != sys.byteorder:
            stored = stored.byteswap()
        if data_type in ("int16", "uint8"):
            whole = np.where(np.isnan(values), 200, np.trunc(values))
            assert stored.tolist() == whole.reshape(-1).tolist()
            np.testing.assert_array_equal(array[...], np.trunc(values))
        else:
            stored = stored.astype("f8").reshape(SHAPE)
            np.testing.assert_array_equal(np.isnan(stored), np.isnan(values))
            assert (stored <= values)[~np.isnan(values)].all()
            np.testing.assert_array_equal(array[...], stored)
            np.testing.assert_array_equal(array[2:11, 1:7], stored[2:11, 1:7])

    def test_errors_name_chunk_codec_and_item(self) -> None:
        store: dict[str, Any] = {}
        filters = [extension("cast_value", data_type="int16", scalar_map={"decode": [[-1, "NaN"]]})]
        array = created(np.zeros(SHAPE, "f4"), filters, "auto", store, fill_value=0)
        assert is_native(array)
        for item, reason in [
            (32768.0, "32768 does not fit into"),
            (-1e30, r"-1e\+30 does not fit into"),
            (np.nan, "nan has no value in"),
        ]:
            with pytest.raises(ChunkEncodeError, match=f"c/1/2.*the item {reason} int16") as caught:
                array[7, 8] = item
            assert caught.value.codec == "cast_value"
        store.clear()
        filters = [extension("cast_value", data_type="float64")]
        array = created(np.zeros(SHAPE, "u1"), filters, "auto", store, fill_value=0)
        array[...] = 7
        store["c/0/1"] = np.full(20, -7.0).tobytes()
        with pytest.raises(ChunkDecodeError, match="c/0/1.*the item -7 does not fit into uint8") as caught:
            array[...]
        assert caught.value.codec == "cast_value"
        store["c/0/1"] = bytes(13)
        with pytest.raises(ChunkDecodeError, match="c/0/1"):
            array[...]

    def test_a_fill_value_that_has_no_place(self) -> None:
        filters = [extension("cast_value", data_type="uint8")]
        with pytest.raises(MetadataValidationError, match=r"the fill value cannot be cast.*-3"):
            created(np.zeros(SHAPE, "i4"), filters, "auto", fill_value=-3)


class TestPackBits:
    @pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
    @pytest.mark.parametrize("chunks", [(5, 4), (3, 3), (13, 9)])
    def test_booleans_as_in_python(
        self, monkeypatch: pytest.MonkeyPatch, padding: str, chunks: tuple[int, int]
    ) -> None:
        values = np.random.default_rng(3).integers(0, 2, SHAPE).astype(bool)
        serializer = extension("packbits", padding_encoding=padding)
        check(monkeypatch, values, [], serializer, chunks=chunks)
        check(monkeypatch, values, [extension("transpose", order=[1, 0])], serializer, chunks=chunks)

    @pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("dtype", [*WHOLE, "f2", "f4", "f8", "c8", "c16"])
    def test_numbers_as_in_python(
        self, monkeypatch: pytest.MonkeyPatch, dtype: str, order: str, padding: str
    ) -> None:
        values = bits(np.dtype(order + dtype))
        size = 8 * values.itemsize // (2 if dtype[0] == "c" else 1)
        for first, last in [(0, size - 1), (0, 0), (0, 4), (3, 7), (1, size - 2)]:
            serializer = extension("packbits", padding_encoding=padding, first_bit=first, last_bit=last)
            check(monkeypatch, values, [], serializer, chunks=(3, 3))

    @pytest.mark.parametrize(
        "dtype",
        [
            *("int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
            *("bfloat16", "float8_e5m2", "complex_bfloat16", "complex_float16", "complex_float4_e2m1fn"),
        ],
    )
    def test_types_of_ml_dtypes(self, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
        values = ml_bits(dtype)
        size = bit_layout(get_data_type_from_json(dtype, zarr_format=3)).bits
        for first, last in {(0, size - 1), (0, 0), (1, size - 1), (0, max(0, size - 2))}:
            serializer = extension("packbits", padding_encoding="last_byte", first_bit=first, last_bit=last)
            check(monkeypatch, values, [], serializer, dtype=dtype, chunks=(3, 3))

    def test_behind_filters_before_compressors_and_in_shards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        values = (np.arange(160) % 100).astype(">i4").reshape(20, 8)
        filters = [extension("scale_offset", offset=50), extension("reshape", shape=[-1])]
        serializer = extension("packbits", first_bit=0, last_bit=6, padding_encoding="last_byte")
        for more in ({"compressors": ["crc32c"]}, {"shards": (10, 8)}):
            check(monkeypatch, values, filters, serializer, fill_value=0, **more)

    @pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
    def test_wrong_bytes_are_refused(self, padding: str) -> None:
        values = np.ones((3, 3), bool)
        store: dict[str, Any] = {}
        array = created(values, [], extension("packbits", padding_encoding=padding), store, chunks=(3, 3))
        array[...] = values
        good = bytes(store["c/0/0"])
        wrong = [good[:-1], good + b"\0", b""]
        wrong += (
            [] if padding == "none" else [b"\6" + good[1:] if padding == "first_byte" else good[:-1] + b"\6"]
        )
        for data in wrong:
            store["c/0/0"] = data
            with pytest.raises(ChunkDecodeError, match=r"c/0/0.*expected") as caught:
                array[...]
            assert caught.value.codec == "packbits"


def test_filters_of_numcodecs_before_another_byte_order(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(117, dtype="f8").reshape(SHAPE)
    filters = [extension("numcodecs.fixedscaleoffset", scale=10, offset=3, dtype="<f8", astype="<i2")]
    check(monkeypatch, values, filters, extension("bytes", endian="big"))


def test_wrong_sizes_are_told() -> None:
    values = np.ones(SHAPE, "f4")
    store: dict[str, Any] = {}
    array = created(values, [extension("bitround", keepbits=3)], extension("bytes", endian="big"), store)
    array[...] = values
    for size in (0, 79, 81, 160):
        store["c/0/0"] = bytes(size)
        with pytest.raises(ChunkDecodeError, match="c/0/0"):
            array[0, 0]
