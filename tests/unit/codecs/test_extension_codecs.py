# SPDX-License-Identifier: MIT
"""Codecs of the extension registry: reshape, bitround, conditional, pcodec, zfp."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArraySpec, BytesBytesCodec, _native
from zarrcore.codecs.chain import parse_codec
from zarrcore.codecs.conditional import ConditionalCodec
from zarrcore.codecs.foreign import ZFPY
from zarrcore.codecs.pcodec import PCodecCodec
from zarrcore.codecs.scale_offset import BitRoundCodec
from zarrcore.codecs.transpose import ReshapeCodec
from zarrcore.codecs.zfp import ZfpCodec
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import (
    BaseZarrError,
    ChunkDecodeError,
    ChunkEncodeError,
    MetadataValidationError,
    UnknownCodecError,
)
from zarrcore.storage import MemoryStore

RNG = np.random.default_rng(5)


def spec_of(array: np.ndarray) -> ArraySpec:
    return ArraySpec(array.shape, parse_dtype(array.dtype, zarr_format=3))


def through_a_store(values: np.ndarray, chunks: tuple[int, ...], **codecs: Any) -> np.ndarray:
    """What an array reads that was created with codecs and written."""
    store = MemoryStore()
    array = zarrcore.create_array(store, shape=values.shape, chunks=chunks, dtype=values.dtype, **codecs)
    array[...] = values
    return zarrcore.open_array(store, mode="r")[...]


class TestReshape:
    @pytest.mark.parametrize(
        ("shape", "expected"),
        [
            ([24], (24,)),
            ([-1], (24,)),
            ([[0, 1, 2]], (24,)),
            ([[0], [1, 2]], (2, 12)),
            ([[0, 1], [2]], (6, 4)),
            ([[0, 1], 2, 2], (6, 2, 2)),
            ([2, -1, [2]], (2, 3, 4)),
            ([1, [0], 1, [1], [2], 1], (1, 2, 1, 3, 4, 1)),
            ([4, 6], (4, 6)),
            ([[], [0, 1, 2]], (1, 24)),
        ],
    )
    def test_the_order_of_the_items_stays(self, shape: list[Any], expected: tuple[int, ...]) -> None:
        chunk = np.arange(24, dtype="i4").reshape(2, 3, 4)
        spec = spec_of(chunk)
        codec = ReshapeCodec(shape=shape).resolve(spec)
        encoded = codec.encode(chunk, spec)
        assert encoded.shape == codec.output_spec(spec).shape == expected
        np.testing.assert_array_equal(encoded.ravel(), chunk.ravel())
        np.testing.assert_array_equal(codec.decode(encoded, spec), chunk)

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            ([25], "lengths for the 24 items"),
            ([5, -1], "lengths for the 24 items"),
            ([[3], 24], r"shape\[0\]: expected dimensions 0..2"),
            ([[1], -1], r"shape\[0\]: expected 2 items before and 4 after"),
            ([[0, 2], 3], r"shape\[0\]: expected 1 items before and 1 after"),
            ([3, [0], 4], r"shape\[1\]"),
        ],
    )
    def test_shapes_that_do_not_fit_the_chunk(self, shape: list[Any], message: str) -> None:
        with pytest.raises(MetadataValidationError, match=message):
            ReshapeCodec(shape=shape).resolve(spec_of(np.zeros((2, 3, 4))))

    @pytest.mark.parametrize(
        ("shape", "message"),
        [
            ([-1, -1], "-1 at most once"),
            ([[1], [0]], "increasing order"),
            ([[1, 0]], "increasing order"),
            ([[0], [0]], "increasing order"),
            ([0], r"shape\[0\]: expected a positive integer"),
            ([-2], r"shape\[0\]"),
            ([1.0], r"shape\[0\]"),
            ([True], r"shape\[0\]"),
            ([[0, -1]], r"shape\[0\]\[1\]"),
            (24, "shape: expected an array"),
        ],
    )
    def test_shapes_that_are_wrong_in_themselves(self, shape: Any, message: str) -> None:
        with pytest.raises(MetadataValidationError, match=f"configuration.*{message}"):
            parse_codec({"name": "reshape", "configuration": {"shape": shape}})

    def test_with_transpose_and_uneven_chunks(self) -> None:
        values = np.arange(60).reshape(6, 10)
        codecs = [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "reshape", "configuration": {"shape": [[0, 1]]}},
        ]
        np.testing.assert_array_equal(through_a_store(values, (4, 3), filters=codecs), values)
        np.testing.assert_array_equal(through_a_store(values, ((2, 4), (7, 3)), filters=codecs), values)

    @pytest.mark.parametrize("configuration", [{}, {"shape": [1], "order": "C"}])
    def test_members(self, configuration: dict[str, Any]) -> None:
        with pytest.raises(MetadataValidationError, match="configuration.(shape|order)"):
            parse_codec({"name": "reshape", "configuration": configuration})


class TestBitRound:
    def test_the_samples_of_the_registry(self) -> None:
        """The tables beside the specification of the codec, with 3 bits."""
        floats = np.array([0, 0.1, 1.2, 12.3, 123.4, 1234.5, np.nan, np.inf, -np.inf], "f4")
        rounded = np.array([0, 0.1015625, 1.25, 12, 120, 1280, np.nan, np.inf, -np.inf], "f4")
        octets = np.array([0, 1, 10, 11, 100, 123, 200, 208, 209, 255], "u1")
        codec = BitRoundCodec(keepbits=3)
        assert codec.encode(floats, spec_of(floats)).tobytes() == rounded.tobytes()
        expected = [0, 1, 10, 12, 96, 128, 192, 192, 224, 224]
        assert codec.encode(octets, spec_of(octets)).tolist() == expected

    @pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
    @pytest.mark.parametrize("keepbits", [0, 1, 3, 7, 8, 31, 63, 64])
    def test_integers_as_they_are_defined(self, dtype: str, keepbits: int) -> None:
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max, 0, 1, info.max - 1], dtype)
        values = np.concatenate([RNG.integers(info.min, info.max, 200, dtype=dtype, endpoint=True), ends])
        found = BitRoundCodec(keepbits=keepbits).encode(values, spec_of(values))
        assert found.dtype == values.dtype
        assert found.tolist() == [self.rounded(int(value), keepbits, info) for value in values]

    @staticmethod
    def rounded(value: int, keepbits: int, info: Any) -> int:
        drop = max(abs(value).bit_length() - keepbits, 0)
        down, rest = abs(value) >> drop, abs(value) & ((1 << drop) - 1)
        up = 2 * rest > 1 << drop or (2 * rest == 1 << drop and down % 2 and drop)
        sign = -1 if value < 0 else 1
        higher = sign * ((down + bool(up)) << drop)
        return higher if info.min <= higher <= info.max else sign * (down << drop)

    def test_dates_are_integers(self) -> None:
        values = np.array(["2024-02-29T12:34:56", "NaT", "1970-01-01T00:00:05"], "M8[s]")
        codec = BitRoundCodec(keepbits=8).resolve(spec_of(values))
        found = codec.encode(values, spec_of(values))
        assert np.isnat(found).tolist() == [False, True, False]
        plain = BitRoundCodec(keepbits=8).encode(values.view("i8"), spec_of(values.view("i8")))
        assert found.view("i8")[[0, 2]].tolist() == plain[[0, 2]].tolist()

    @pytest.mark.parametrize("keepbits", [1, 4, 7, 20])
    def test_bfloat16_is_the_upper_half_of_float32(self, keepbits: int) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        values = RNG.normal(size=200).astype(ml_dtypes.bfloat16)
        found = BitRoundCodec(keepbits=keepbits).resolve(spec_of(values)).encode(values, spec_of(values))
        wide = values.astype("f4")
        expected = BitRoundCodec(keepbits=keepbits).encode(wide, spec_of(wide))
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found.astype("f4"), expected)

    def test_payloads_of_nan_and_the_input_stay(self) -> None:
        values = np.array([0x7FC00123, 0xFFF00001, 0x3F800001], "u4").view("f4")
        before = values.tobytes()
        found = BitRoundCodec(keepbits=1).encode(values, spec_of(values))
        assert found.view("u4").tolist() == [0x7FC00123, 0xFFF00001, 0x3F800000]
        assert values.tobytes() == before

    @pytest.mark.parametrize("dtype", ["bool", "S3", "U2"])
    def test_other_types_are_refused(self, dtype: str) -> None:
        with pytest.raises(MetadataValidationError, match="the bitround codec needs numbers"):
            BitRoundCodec(keepbits=3).resolve(spec_of(np.zeros(3, dtype)))


class TestConditional:
    NESTED = (
        {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
        "crc32c",
        {"name": "gzip", "configuration": {"level": 1}},
    )

    @pytest.mark.parametrize("data", [b"", b"x", bytes(1000), RNG.bytes(300)], ids=len)
    @pytest.mark.parametrize("decision", ["compress_if_smaller", "always_apply", "never_apply"])
    def test_round_trip(self, decision: str, data: bytes) -> None:
        codec = ConditionalCodec(codecs=self.NESTED, decision=decision)
        encoded = codec.encode(data)
        assert codec.decode(encoded, None, len(data)) == data
        plain = parse_codec({"name": "conditional", "configuration": {"codecs": list(self.NESTED)}})
        assert isinstance(plain, BytesBytesCodec)
        assert bytes(plain.decode(encoded)) == data, "how it was decided matters to the writer alone"

    @pytest.mark.parametrize("data", [b"", b"x", bytes(1000), RNG.bytes(300)], ids=len)
    @pytest.mark.parametrize("decision", ["compress_if_smaller", "always_apply", "never_apply"])
    @pytest.mark.parametrize("bits", [None, 8, 24])
    def test_the_engine_makes_the_same(self, decision: str, bits: int | None, data: bytes) -> None:
        inside = ConditionalCodec(codecs=["crc32c"], decision="always_apply")
        for codecs in (self.NESTED, (inside, *self.NESTED), ()):
            codec = ConditionalCodec(codecs=codecs, header_bits=bits, decision=decision)
            stage = codec.stage()
            assert stage is not None
            encoded = _native.encode(stage, data)
            assert encoded == codec.encode(data)
            assert _native.decode(stage, encoded, None, len(data)) == data

    def test_the_header_says_what_was_applied(self) -> None:
        noise = RNG.bytes(300)
        assert ConditionalCodec(codecs=self.NESTED).encode(noise) == b"\0" + noise
        assert ConditionalCodec(codecs=self.NESTED).encode(bytes(300))[0] & 1
        always = ConditionalCodec(codecs=self.NESTED, header_bits=16, decision="always_apply")
        assert always.encode(noise)[:2] == b"\7\0"

    def test_a_function_decides(self) -> None:
        seen = []

        def only_checksums(codec: Any, data: Any, encoded: Any) -> bool:
            seen.append((codec.name, len(data), len(encoded)))
            return codec.name == "crc32c"

        encoded = ConditionalCodec(codecs=self.NESTED, decision=only_checksums).encode(bytes(100))
        assert encoded[0] == 2
        assert len(encoded) == 1 + 100 + 4
        assert [name for name, *_ in seen] == ["zstd", "crc32c", "gzip"]

    def test_in_an_array(self) -> None:
        values = np.zeros((8, 100), "f8")
        values[4:] = RNG.normal(size=(4, 100))
        codec = {"name": "conditional", "configuration": {"codecs": list(self.NESTED), "header_bits": 8}}
        np.testing.assert_array_equal(through_a_store(values, (4, 100), compressors=[codec]), values)

    def test_document(self) -> None:
        for configuration in (
            {"codecs": [{"name": "crc32c"}]},
            {"codecs": [{"name": "crc32c"}], "header_bits": 24},
        ):
            codec = parse_codec({"name": "conditional", "configuration": configuration})
            assert codec.to_json()["configuration"] == configuration
        assert ConditionalCodec(codecs=["crc32c"] * 9).header_nbytes == 2

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "cannot hold the header"),
            (b"\x08abc", "names more than 3 codecs"),
            (b"\x80abc", "names more than 3 codecs"),
            (b"\x01abc", "zstd"),
            (b"\x02abcdefgh", "crc32c"),
        ],
    )
    def test_lying_headers(self, data: bytes, message: str) -> None:
        codec = ConditionalCodec(codecs=self.NESTED)
        with pytest.raises(ChunkDecodeError, match=message):
            codec.decode(data, None, 10)
        with pytest.raises(ChunkDecodeError, match=message.replace("more than 3 codecs", "codec")):
            _native.decode(codec.stage(), data, None, 10)

    def test_no_nested_codec_makes_more_than_there_may_be(self) -> None:
        bomb = ConditionalCodec(codecs=self.NESTED, decision="always_apply").encode(bytes(1 << 20))
        with pytest.raises(ChunkDecodeError):
            ConditionalCodec(codecs=self.NESTED).decode(bomb, None, 100)

    @pytest.mark.parametrize(
        ("configuration", "message"),
        [
            ({}, "codecs: is required"),
            ({"codecs": ["bytes"]}, r"codecs\[0\]: expected a bytes->bytes codec, got 'bytes'"),
            ({"codecs": ["no"]}, "no"),
            ({"codecs": ["crc32c"], "header_bits": 7}, "header_bits: expected a multiple of 8"),
            ({"codecs": ["crc32c"] * 9, "header_bits": 8}, "of at least 9, got 8"),
            ({"codecs": [], "decision": "always_apply"}, "decision: unknown key"),
        ],
    )
    def test_what_is_refused(self, configuration: dict[str, Any], message: str) -> None:
        with pytest.raises((MetadataValidationError, UnknownCodecError), match=message):
            parse_codec({"name": "conditional", "configuration": configuration})

    def test_unknown_decisions_are_refused(self) -> None:
        with pytest.raises(MetadataValidationError, match="compress_if_smaller"):
            ConditionalCodec(codecs=["crc32c"], decision="sometimes")


class TestPCodec:
    @pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"level": 1, "delta_spec": "none"},
            {"delta_spec": "try_consecutive", "delta_encoding_order": 2},
            {"mode_spec": "classic", "delta_spec": "try_lookback", "equal_pages_up_to": 100},
        ],
        ids=str,
    )
    def test_round_trip(self, options: dict[str, Any], dtype: str) -> None:
        pytest.importorskip("pcodec")
        values = np.abs(RNG.normal(size=(9, 40)) * 50).astype(dtype)
        codec = {"name": "pcodec", "configuration": options}
        found = through_a_store(values, (4, 40), serializer=codec, compressors=None)
        assert found.tobytes() == values.tobytes()

    def test_numcodecs_reads_the_same_bytes(self) -> None:
        pytest.importorskip("pcodec")
        numcodecs = pytest.importorskip("numcodecs")
        values = RNG.normal(size=100)
        data = PCodecCodec().encode(values, spec_of(values))
        np.testing.assert_array_equal(numcodecs.get_codec({"id": "pcodec"}).decode(data), values)

    def test_other_numbers_of_items_and_damage(self) -> None:
        pytest.importorskip("pcodec")
        values = np.arange(100.0)
        data = bytes(PCodecCodec().encode(values, spec_of(values)))
        for count in (0, 50, 99, 101):
            with pytest.raises(ChunkDecodeError, match=f"expected {count} items, got"):
                PCodecCodec().decode(data, spec_of(np.zeros(count)))
        array = zarrcore.create_array(
            store := MemoryStore(),
            shape=100,
            chunks=100,
            dtype="f8",
            serializer={"name": "pcodec"},
            compressors=None,
        )
        for bad in (b"", data[:10], data[:-3], b"\xff" * 50):
            store.set("c/0", bad)
            with pytest.raises(ChunkDecodeError, match=r"chunk \(0,\).*codec 'pcodec'"):
                array[...]

    @pytest.mark.parametrize(
        ("configuration", "message"),
        [
            ({"level": 13}, r"level: expected an integer 0..12, got 13"),
            ({"level": True}, "level"),
            ({"mode_spec": "try"}, 'mode_spec: expected one of "auto", "classic"'),
            ({"delta_spec": None}, "delta_spec"),
            ({"paging_spec": "exact"}, "paging_spec"),
            ({"delta_encoding_order": 8}, "delta_encoding_order: expected an integer 0..7, got 8"),
            ({"delta_spec": "no_op", "delta_encoding_order": 1}, "null with delta_spec no_op"),
            ({"equal_pages_up_to": 0}, "equal_pages_up_to"),
            ({"other": 1}, "other: unknown key"),
        ],
    )
    def test_what_is_refused(self, configuration: dict[str, Any], message: str) -> None:
        with pytest.raises(MetadataValidationError, match=message):
            parse_codec({"name": "pcodec", "configuration": configuration})

    def test_other_types_are_refused(self) -> None:
        for dtype in ("u1", "bool", "c8", "M8[s]", "S2"):
            with pytest.raises(MetadataValidationError, match="the pcodec codec needs"):
                PCodecCodec().resolve(spec_of(np.zeros(2, dtype)))


ZFP_MODES: list[tuple[dict[str, Any], float]] = [
    ({"mode": "reversible"}, 0),
    ({"mode": "fixed_accuracy", "tolerance": 0.05}, 0.05),
    ({"mode": "fixed_accuracy", "tolerance": 0}, 1e-6),
    ({"mode": "fixed_precision", "precision": 28}, 0.05),
    ({"mode": "fixed_precision", "precision": 0}, 1e-6),  # all of them
    ({"mode": "fixed_rate", "rate": 24.5}, 0.05),
]


class TestZfp:
    @pytest.mark.parametrize(
        "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "M8[s]"]
    )
    @pytest.mark.parametrize("shape", [(), (7,), (5, 6), (3, 4, 5), (2, 3, 4, 5), (0, 3)], ids=str)
    def test_nothing_is_lost(self, shape: tuple[int, ...], dtype: str) -> None:
        pytest.importorskip("zfpy")
        limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
        values = np.asarray(np.abs(RNG.normal(size=shape)) * 50).astype("i8").astype(dtype)
        if limits and values.size and np.dtype(dtype).itemsize < 4:
            values.reshape(-1)[0] = limits.min
            values.reshape(-1)[-1] = limits.max
        spec = spec_of(values)
        codec = ZfpCodec(mode="reversible").resolve(spec)
        found = codec.decode(codec.encode(values, spec), spec)
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, values)

    @pytest.mark.parametrize("dtype", ["f4", "f8"])
    @pytest.mark.parametrize(("configuration", "error"), ZFP_MODES, ids=str)
    def test_modes_in_an_array(self, configuration: dict[str, Any], error: float, dtype: str) -> None:
        pytest.importorskip("zfpy")
        values = np.cumsum(RNG.normal(size=(9, 40)), axis=1).astype(dtype)
        codec = {"name": "zfp", "configuration": configuration}
        found = through_a_store(values, (5, 16), serializer=codec, compressors=None)
        assert np.abs(found - values).max() <= error

    def test_the_stream_is_zfps_own_without_the_header(self) -> None:
        zfpy = pytest.importorskip("zfpy")
        values = np.cumsum(RNG.normal(size=(9, 10)))
        spec = spec_of(values)
        codec = ZfpCodec(mode="fixed_accuracy", tolerance=2.0**-6)
        with_header = zfpy.compress_numpy(values, tolerance=2.0**-6)
        found = codec.decode(codec.encode(values, spec), spec)
        np.testing.assert_array_equal(found, zfpy.decompress_numpy(with_header))

    @pytest.mark.parametrize(
        ("plain", "expert", "is_written"),
        [
            ({"mode": "fixed_precision", "precision": 20}, (1, 16658, 20, -1074), True),
            ({"mode": "fixed_accuracy", "tolerance": 2.0**-6}, (1, 16658, 64, -6), True),
            ({"mode": "reversible"}, (1, 16658, 64, -1075), True),
            ({"mode": "reversible"}, (0, 16658, 64, -1075), True),
            ({"mode": "fixed_rate", "rate": 8}, (128, 128, 64, -1074), True),
            ({"mode": "fixed_rate", "rate": 8}, (128, 128, 63, -1074), False),
        ],
        ids=str,
    )
    def test_expert_mode(self, plain: dict[str, Any], expert: tuple[int, ...], is_written: bool) -> None:
        pytest.importorskip("zfpy")
        values = np.cumsum(RNG.normal(size=(9, 10)), axis=1)
        spec = spec_of(values)
        simple = ZfpCodec(**plain)
        codec = ZfpCodec(
            mode="expert", **dict(zip(("minbits", "maxbits", "maxprec", "minexp"), expert, strict=True))
        )
        data = bytes(simple.encode(values, spec))
        np.testing.assert_array_equal(codec.decode(data, spec), simple.decode(data, spec))
        if is_written:
            assert bytes(codec.encode(values, spec)) == data
        else:
            with pytest.raises(ChunkEncodeError, match="only read it"):
                codec.encode(values, spec)

    @pytest.mark.parametrize("configuration", [mode for mode, _ in ZFP_MODES], ids=str)
    def test_no_stream_leads_out_of_its_bytes(self, configuration: dict[str, Any]) -> None:
        """Whatever the bytes are, they decode to a chunk, or fail; zfp itself would read on."""
        pytest.importorskip("zfpy")
        for shape in ((100,), (9, 10), (5, 5, 5)):
            spec = spec_of(np.zeros(shape))
            for size in (1, 7, 40, 400):
                try:
                    found = ZfpCodec(**configuration).decode(RNG.bytes(size), spec)
                except ChunkDecodeError as error:
                    assert "cut off" in str(error)
                else:
                    assert found.shape == shape

    @pytest.mark.parametrize("configuration", [mode for mode, _ in ZFP_MODES], ids=str)
    @pytest.mark.parametrize("of_numcodecs", [False, True])
    def test_a_stream_that_was_cut_short_was_read_as_other_numbers(
        self, configuration: dict[str, Any], of_numcodecs: bool
    ) -> None:
        pytest.importorskip("zfpy")
        values = np.cumsum(RNG.normal(size=(9, 10)), axis=1)
        spec, codec = spec_of(values), ZfpCodec(**configuration)
        if of_numcodecs:
            pytest.importorskip("numcodecs")
            if configuration["mode"] == "reversible":
                pytest.skip("numcodecs has no such mode")
            number = {"fixed_rate": 2, "fixed_precision": 3, "fixed_accuracy": 4}
            options = {key: value for key, value in configuration.items() if key != "mode"}
            codec = ZFPY(mode=number[configuration["mode"]], **options)
        data = bytes(codec.encode(values, spec))
        expected, errors = codec.decode(data, spec), 0
        for nbytes in range(len(data)):
            try:
                np.testing.assert_array_equal(codec.decode(data[:nbytes], spec), expected)
            except (ChunkDecodeError, ValueError):  # ValueError: of zfpy, for half a header
                errors += 1
        assert errors > len(data) * 0.9  # the last word, or block, of a stream need not be full

    @pytest.mark.parametrize(
        ("codec", "nbytes"),
        [
            (ZfpCodec(mode="fixed_rate", rate=6.5), 8 * 15),  # 9 blocks of 104 bits, in words of 64
            (ZfpCodec(mode="expert", minbits=104, maxbits=104, maxprec=64, minexp=-1074), 8 * 15),
            (ZFPY(mode=2, rate=6.5, tolerance=-1, precision=-1), 8 * 17),
            (ZFPY(mode=2, rate=300.0, tolerance=-1, precision=-1), 8 * 678),  # a longer header
        ],
        ids=str,
    )
    def test_blocks_of_a_fixed_size_are_decoded_once(
        self, codec: Any, nbytes: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zfpy, calls = pytest.importorskip("zfpy"), []
        pytest.importorskip("numcodecs")

        def counting(decode: Any) -> Any:
            return lambda *args, **options: calls.append(args) or decode(*args, **options)

        for name in ("_decompress", "decompress_numpy"):
            monkeypatch.setattr(zfpy, name, counting(getattr(zfpy, name)))
        values = np.cumsum(RNG.normal(size=(9, 10)), axis=1)
        data = bytes(codec.encode(values, spec_of(values)))
        assert len(data) == nbytes
        np.testing.assert_allclose(codec.decode(data, spec_of(values)), values, atol=0.5)
        assert len(calls) == 1

    @pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
    @pytest.mark.parametrize("of_numcodecs", [False, True])
    def test_a_rate_that_leaves_no_room_for_a_block_ended_the_process(
        self, of_numcodecs: bool, dtype: str
    ) -> None:
        """zfp wrote past its memory."""
        pytest.importorskip("zfpy")
        values, fewest = np.ones((256, 4), dtype), {"i4": 1, "f4": 9, "f8": 12}[dtype]
        for bits in range(fewest + 3):
            options = {"rate": max(bits, 0.1) / 16}
            if of_numcodecs:
                pytest.importorskip("numcodecs")
                codec = ZFPY(mode=2, tolerance=-1, precision=-1, **options)
            else:
                codec = ZfpCodec(mode="fixed_rate", **options)
            if bits < fewest:
                with pytest.raises(ChunkEncodeError, match=f"less than the {fewest / 16:g} bits"):
                    codec.encode(values, spec_of(values))
            else:
                assert len(codec.encode(values, spec_of(values))) >= 64 * bits // 8

    @pytest.mark.parametrize("rate", [2048.1, 5000, 2.0**29, 2e9, 1e300, math.inf, math.nan])
    def test_a_rate_that_no_header_has_room_for_ended_the_process(self, rate: float) -> None:
        """zfp wrote past its memory, or what was read as other numbers."""
        pytest.importorskip("zfpy")
        pytest.importorskip("numcodecs")
        values = np.ones((256, 4))
        spec, codec = spec_of(values), ZFPY(mode=2, tolerance=-1, precision=-1, rate=rate)
        with pytest.raises(ChunkEncodeError, match="more than the 2048 bits that zfp can have"):
            codec.encode(values, spec)
        most = ZFPY(mode=2, tolerance=-1, precision=-1, rate=2048)
        np.testing.assert_array_equal(most.decode(most.encode(values, spec), spec), values)

    def test_numbers_that_the_promotion_cannot_hold(self) -> None:
        pytest.importorskip("zfpy")
        values = np.array([2**31], "u4")
        with pytest.raises(ValueError, match="2147483648 is more than the codec can store: 2147483647"):
            ZfpCodec(mode="reversible").encode(values, spec_of(values))

    @pytest.mark.parametrize(
        ("configuration", "message"),
        [
            ({}, "mode: is required"),
            ({"mode": "lossy"}, "mode: expected one of"),
            ({"mode": 1}, "mode"),
            ({"mode": "fixed_rate"}, "rate: is required"),
            ({"mode": "fixed_rate", "rate": 0}, "rate: expected a positive number"),
            ({"mode": "fixed_rate", "rate": "8"}, "rate"),
            ({"mode": "fixed_rate", "rate": 8, "tolerance": 1}, "tolerance: unknown key"),
            ({"mode": "fixed_accuracy", "tolerance": -1}, "tolerance"),
            ({"mode": "fixed_accuracy", "tolerance": False}, "tolerance"),
            ({"mode": "fixed_precision", "precision": -1}, "precision: expected an integer 0..64, got -1"),
            ({"mode": "fixed_precision", "precision": 19.5}, "precision"),
            ({"mode": "expert", "minbits": 1, "maxbits": 2, "maxprec": 3}, "minexp: is required"),
            (
                {"mode": "expert", "minbits": 3, "maxbits": 2, "maxprec": 3, "minexp": 0},
                "minbits: expected at most",
            ),
            ({"mode": "reversible", "write_header": True}, "write_header: unknown key"),
        ],
    )
    def test_what_is_refused(self, configuration: dict[str, Any], message: str) -> None:
        with pytest.raises(MetadataValidationError, match=f"configuration.{message}"):
            parse_codec({"name": "zfp", "configuration": configuration})

    def test_types_and_dimensions_that_zfp_has_not(self) -> None:
        for values in (np.zeros(3, "bool"), np.zeros(3, "c8"), np.zeros(3, "S2")):
            with pytest.raises(MetadataValidationError, match="the zfp codec needs"):
                ZfpCodec(mode="reversible").resolve(spec_of(values))
        with pytest.raises(MetadataValidationError, match="at most 4 dimensions, a chunk has 5"):
            ZfpCodec(mode="reversible").resolve(spec_of(np.zeros((1, 1, 1, 1, 1))))


@pytest.mark.parametrize(
    ("name", "package", "configuration"),
    [("zfp", "zfpy", {"mode": "reversible"}), ("pcodec", "pcodec", {})],
)
def test_a_missing_package_is_named(
    name: str, package: str, configuration: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    codec = {"name": name, "configuration": configuration}
    store = {}
    needed = rf"needs the package {package}: pip install 'zarrcore\[{name}\]'"
    with pytest.raises(BaseZarrError, match=needed):
        zarrcore.create_array(store, shape=4, dtype="f8", serializer=codec, compressors=None)
    assert store == {}
    array = zarrcore.create_array(store, shape=4, dtype="f8", compressors=None)
    document = json.loads(store["zarr.json"]) | {"codecs": [codec]}
    store["zarr.json"], store["c/0"] = json.dumps(document).encode(), b"1234"
    array = zarrcore.open_array(store)  # what it holds may still be looked at
    with pytest.raises(BaseZarrError, match=needed):
        array[...]


@pytest.mark.interop
def test_zarrs_reads_and_writes_reshape(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    pytest.importorskip("zarrs")
    from zarr.abc.codec import ArrayArrayCodec
    from zarr.registry import register_codec

    class Reshape(ArrayArrayCodec):
        """Says to zarr-python that there is such a codec; zarrs runs its own."""

        is_fixed_size = True

        def __init__(self, **configuration: Any) -> None:
            self.configuration = configuration

        @classmethod
        def from_dict(cls, data: Any) -> Any:
            return cls(**data["configuration"])

        def to_dict(self) -> Any:
            return {"name": "reshape", "configuration": self.configuration}

        def compute_encoded_size(self, input_byte_length: int, _: Any) -> int:
            return input_byte_length

    register_codec("reshape", Reshape)
    values = np.arange(6 * 8, dtype="i4").reshape(6, 8)
    array = zarrcore.create_array(
        tmp_path,
        shape=(6, 8),
        chunks=(3, 4),
        dtype="i4",
        filters=[
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "reshape", "configuration": {"shape": [2, -1]}},
        ],
    )
    array[...] = values
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True}):
        other = zarr.open_array(str(tmp_path), mode="r+")
        np.testing.assert_array_equal(other[...], values)
        other[...] = values + 1
    np.testing.assert_array_equal(array[...], values + 1)
