"""Codecs that take arrays: bytes, transpose, packbits, bitround, scale_offset, cast_value."""

from __future__ import annotations

import numpy as np
import pytest

from zarrcore.codecs import ArraySpec, BytesCodec, Endian, PackBitsCodec, TransposeCodec
from zarrcore.codecs.bytes import byte_swap
from zarrcore.codecs.cast_value import CastValue
from zarrcore.codecs.scale_offset import BitRoundCodec, ScaleOffset
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

DTYPES = ["bool", "i1", "u2", "<i4", ">f8", "<c16", ">c8", "<U3", "S5", "V7", "<M8[s]"]
STRUCT = np.dtype([("a", "<i2"), ("b", [("c", ">f8"), ("d", "u1")]), ("e", "<u4", (3,))])


def spec_of(array: np.ndarray, zarr_format: int = 3, fill: object = None) -> ArraySpec:
    return ArraySpec(array.shape, parse_dtype(array.dtype, zarr_format=zarr_format), fill)


def sample(dtype: object, shape: tuple[int, ...] = (3, 4)) -> np.ndarray:
    dtype = np.dtype(dtype)
    octets = np.random.default_rng(7).integers(0, 2 if dtype.kind == "b" else 100, 4096, np.uint8)
    if dtype.kind == "U":
        return np.array(["abc"[i % 3] * (i % 4) for i in range(int(np.prod(shape)))], dtype).reshape(shape)
    count = int(np.prod(shape))
    return np.frombuffer(octets.tobytes()[: count * dtype.itemsize], dtype).reshape(shape)


class TestBytes:
    @pytest.mark.parametrize("endian", ["little", "big"])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_stored_items_have_the_byte_order(self, dtype: str, endian: str) -> None:
        chunk = sample(dtype)
        spec = spec_of(chunk)
        codec = BytesCodec(endian=endian).resolve(spec)
        encoded = bytes(codec.encode(chunk, spec))
        assert encoded == chunk.astype(chunk.dtype.newbyteorder("<" if endian == "little" else ">")).tobytes()
        decoded = codec.decode(encoded, spec)
        assert decoded.dtype == spec.np_dtype
        np.testing.assert_array_equal(decoded, chunk.astype(spec.np_dtype))

    @pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "S5", "V7"])
    def test_one_byte_types_have_no_byte_order(self, dtype: str) -> None:
        codec = BytesCodec(endian="little").resolve(spec_of(sample(dtype)))
        assert codec.endian is None
        assert codec.to_json() == {"name": "bytes"}

    def test_byte_order_is_required(self) -> None:
        with pytest.raises(MetadataValidationError, match="configuration.endian.*missing"):
            BytesCodec.from_json({}).resolve(spec_of(sample("i4")))

    def test_struct_without_byte_order_is_little_endian(self) -> None:
        assert BytesCodec.from_json({}).resolve(spec_of(np.zeros(2, STRUCT), 2)).endian == "little"

    @pytest.mark.parametrize("size", [0, 47, 49])
    def test_wrong_size_is_refused(self, size: int) -> None:
        with pytest.raises(ChunkDecodeError, match=f"expected 48 bytes, got {size}"):
            BytesCodec(endian="little").decode(bytes(size), spec_of(sample("i4")))

    def test_items_of_variable_length_are_refused(self) -> None:
        spec = ArraySpec((3,), parse_dtype("str", zarr_format=3))
        with pytest.raises(MetadataValidationError, match="fixed size"):
            BytesCodec(endian="little").resolve(spec)

    def test_enumeration_and_plain_string_are_the_same(self) -> None:
        codec = BytesCodec(endian=Endian.big)
        assert codec == BytesCodec(endian="big")
        assert type(codec.endian) is str

    def test_swap_of_words(self) -> None:
        assert byte_swap(spec_of(sample("<i4")), "little") == 0
        assert byte_swap(spec_of(sample("<i4")), "big") == 4
        assert byte_swap(spec_of(sample("<c16")), "big") == 8
        assert byte_swap(spec_of(sample("<U3")), "big") == 4
        assert byte_swap(spec_of(sample("u1")), "big") == 0

    def test_swap_of_struct_fields(self) -> None:
        spec = spec_of(np.zeros(2, [("a", "<i2"), ("b", "u1"), ("c", "<f8")]))
        assert byte_swap(spec, "big") == ((0, 2, 1), (3, 8, 1))
        assert byte_swap(spec, "little") == 0

    def test_empty_chunk(self) -> None:
        chunk = np.zeros((0, 3), "i4")
        spec = spec_of(chunk)
        codec = BytesCodec(endian="big")
        assert codec.decode(codec.encode(chunk, spec), spec).shape == (0, 3)


class TestTranspose:
    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_is_numpys_transpose(self, order: tuple[int, ...]) -> None:
        chunk = sample("i4", (2, 3, 4))
        spec = spec_of(chunk)
        codec = TransposeCodec(order=order).resolve(spec)
        encoded = codec.encode(chunk, spec)
        np.testing.assert_array_equal(encoded, chunk.transpose(order))
        assert codec.output_spec(spec).shape == encoded.shape
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)

    @pytest.mark.parametrize("order", [[0, 0], [0], [0, 1, 2], [0, 2], [-1, 0], []])
    def test_anything_but_a_permutation_is_refused(self, order: list[int]) -> None:
        with pytest.raises(
            MetadataValidationError, match=r"configuration.order: expected a permutation of 0..1"
        ):
            TransposeCodec(order=order).resolve(spec_of(sample("i4")))

    @pytest.mark.parametrize("order", ["CC", None, [1.0, 0], [True, False], {"0": 1}, "F"])
    def test_anything_but_integers_is_refused(self, order: object) -> None:
        with pytest.raises(MetadataValidationError, match="order"):
            TransposeCodec.from_json({"order": order})

    def test_without_dimensions(self) -> None:
        spec = spec_of(np.zeros((), "i4"))
        assert TransposeCodec(order=()).resolve(spec).output_spec(spec).shape == ()


class TestPackBits:
    @pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
    @pytest.mark.parametrize("count", [0, 1, 7, 8, 13])
    def test_bool(self, padding: str, count: int) -> None:
        chunk = sample("bool", (count,))
        spec = spec_of(chunk)
        codec = PackBitsCodec(padding_encoding=padding).resolve(spec)
        encoded = bytes(codec.encode(chunk, spec))
        assert len(encoded) == codec.encoded_size(spec) == -(-count // 8) + (padding != "none")
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)

    @pytest.mark.parametrize("dtype", ["i2", "u4"])
    def test_some_bits_of_integers(self, dtype: str) -> None:
        chunk = np.arange(-8 if dtype == "i2" else 0, 8, dtype=dtype)
        spec = spec_of(chunk)
        codec = PackBitsCodec(first_bit=0, last_bit=3).resolve(spec)
        encoded = codec.encode(chunk, spec)
        assert len(encoded) == chunk.size // 2
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)

    def test_wrong_size_and_padding_are_refused(self) -> None:
        spec = spec_of(sample("bool", (13,)))
        codec = PackBitsCodec(padding_encoding="first_byte")
        with pytest.raises(ChunkDecodeError, match="expected 3 bytes"):
            codec.decode(b"ab", spec)
        with pytest.raises(ChunkDecodeError, match="3 bits of padding, got 7"):
            codec.decode(b"\x07ab", spec)

    def test_items_that_are_no_numbers_are_refused(self) -> None:
        with pytest.raises(MetadataValidationError, match="the packbits codec needs"):
            PackBitsCodec().resolve(spec_of(sample("S5")))


class TestBitRound:
    @pytest.mark.interop
    @pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
    @pytest.mark.parametrize("keepbits", [1, 5, 9])
    def test_floats_as_numcodecs(self, dtype: str, keepbits: int) -> None:
        numcodecs = pytest.importorskip("numcodecs")
        chunk = np.random.default_rng(3).normal(size=100).astype(dtype)
        expected = numcodecs.BitRound(keepbits).encode(chunk.copy()).view(dtype)
        found = BitRoundCodec(keepbits=keepbits).encode(chunk, spec_of(chunk))
        np.testing.assert_array_equal(found, expected)

    def test_special_numbers_are_kept(self) -> None:
        chunk = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
        found = BitRoundCodec(keepbits=2).encode(chunk, spec_of(chunk))
        assert found.tobytes() == chunk.tobytes()

    def test_integers(self) -> None:
        chunk = np.array([0, 1, 5, 7, 100, 255], "u1")
        found = BitRoundCodec(keepbits=2).encode(chunk, spec_of(chunk))
        assert found.tolist() == [0, 1, 4, 8, 96, 192]

    def test_decoding_changes_nothing(self) -> None:
        chunk = sample("f4")
        assert BitRoundCodec(keepbits=2).decode(chunk, spec_of(chunk)) is chunk


class TestScaleOffset:
    @pytest.mark.parametrize("dtype", ["i2", "u8", "f4", "f8"])
    def test_round_trip(self, dtype: str) -> None:
        chunk = np.arange(5, 15, dtype=dtype)
        spec = spec_of(chunk, fill=chunk[0])
        codec = ScaleOffset(offset=5, scale=2).resolve(spec)
        encoded = codec.encode(chunk, spec)
        assert encoded.dtype == chunk.dtype
        np.testing.assert_array_equal(encoded, (chunk - 5) * 2)
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)
        assert codec.output_spec(spec).fill == 0

    def test_overflow_and_inexact_division_are_errors(self) -> None:
        chunk = np.array([100], "i1")
        codec = ScaleOffset(scale=3)
        with pytest.raises(ValueError, match="does not fit"):
            codec.encode(chunk, spec_of(chunk))
        with pytest.raises(ValueError, match="no multiple"):
            codec.decode(chunk, spec_of(chunk))

    def test_scale_zero_is_refused(self) -> None:
        with pytest.raises(MetadataValidationError, match="not 0"):
            ScaleOffset(scale=0).resolve(spec_of(sample("i4")))

    def test_defaults_are_left_out(self) -> None:
        assert ScaleOffset().to_json() == {"name": "scale_offset"}
        assert ScaleOffset(scale=2).to_json() == {"name": "scale_offset", "configuration": {"scale": 2}}


class TestCastValue:
    @pytest.mark.parametrize(
        ("rounding", "expected"),
        [
            ("nearest-even", [-2, -2, 0, 2, 2, 3]),
            ("nearest-away", [-3, -2, 1, 2, 3, 3]),
            ("towards-zero", [-2, -1, 0, 1, 2, 2]),
            ("towards-positive", [-2, -1, 1, 2, 3, 3]),
            ("towards-negative", [-3, -2, 0, 1, 2, 2]),
        ],
    )
    def test_rounding(self, rounding: str, expected: list[int]) -> None:
        chunk = np.array([-2.5, -1.5, 0.5, 1.5, 2.5, 2.7])
        codec = CastValue(data_type="int8", rounding=rounding)
        assert codec.encode(chunk, spec_of(chunk)).tolist() == expected

    def test_out_of_range(self) -> None:
        chunk = np.array([-1, 0, 255, 256, 1000], "i4")
        spec = spec_of(chunk)
        with pytest.raises(ValueError, match="does not fit"):
            CastValue(data_type="uint8").encode(chunk, spec)
        assert CastValue(data_type="uint8", out_of_range="clamp").encode(chunk, spec).tolist() == [
            0,
            0,
            255,
            255,
            255,
        ]
        assert CastValue(data_type="uint8", out_of_range="wrap").encode(chunk, spec).tolist() == [
            255,
            0,
            255,
            0,
            232,
        ]

    def test_scalar_map(self) -> None:
        chunk = np.array([1.0, np.nan, 3.0])
        spec = spec_of(chunk, fill=np.float64(np.nan))
        maps = {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]}
        codec = CastValue.from_json({"data_type": "uint8", "scalar_map": maps}).resolve(spec)
        encoded = codec.encode(chunk, spec)
        assert encoded.tolist() == [1, 255, 3]
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)
        assert codec.output_spec(spec).fill == 255
        assert CastValue.from_json(codec.to_json()["configuration"]) == codec

    def test_float_rounding_is_exact(self) -> None:
        chunk = np.array([1 / 3, -1 / 3])
        down = CastValue(data_type="float32", rounding="towards-negative").encode(chunk, spec_of(chunk))
        up = CastValue(data_type="float32", rounding="towards-positive").encode(chunk, spec_of(chunk))
        assert (down <= chunk).all()
        assert (up >= chunk).all()
        assert (np.nextafter(down, np.float32(np.inf)) == up).all()

    def test_wrong_types_are_refused(self) -> None:
        with pytest.raises(MetadataValidationError, match="data_type"):
            CastValue(data_type="string")
        with pytest.raises(MetadataValidationError, match="do not wrap"):
            CastValue(data_type="float32", out_of_range="wrap")
        with pytest.raises(MetadataValidationError, match="required"):
            CastValue.from_json({})
