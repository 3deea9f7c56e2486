"""The sharding codec in Python: layout of shards, indices that lie, configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArraySpec, BytesCodec, CodecChain, Crc32cCodec, ShardingCodec
from zarrcore.codecs.cast_value import CastValue
from zarrcore.codecs.scale_offset import ScaleOffset
from zarrcore.codecs.sharding import EMPTY
from zarrcore.dtypes import Int32, parse_dtype
from zarrcore.errors import ChecksumError, ChunkDecodeError, MetadataValidationError

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
PLAIN = [BytesCodec(endian="little")]


def spec_of(shape: tuple[int, ...] = (4, 6), dtype: Any = "<i4", fill: Any = 0) -> ArraySpec:
    zdtype = parse_dtype(dtype, zarr_format=3)
    return ArraySpec(shape, zdtype, zdtype.cast_scalar(fill))


CHUNK = np.arange(1, 25, dtype="<i4").reshape(4, 6)


def plain(location: str = "end") -> ShardingCodec:
    return ShardingCodec(chunk_shape=(2, 3), codecs=PLAIN, index_codecs=PLAIN, index_location=location)


def split(shard: bytes, location: str) -> tuple[np.ndarray, bytes]:
    index, body = (shard[:64], shard) if location == "start" else (shard[-64:], shard)
    return np.frombuffer(index, "<u8").reshape(2, 2, 2), body


@pytest.mark.parametrize("location", ["start", "end"])
class TestLayout:
    def test_index_points_at_inner_chunks(self, location: str) -> None:
        spec = spec_of()
        shard = plain(location).encode(CHUNK, spec)
        index, body = split(shard, location)
        for i in range(2):
            for j in range(2):
                offset, length = map(int, index[i, j])
                expected = CHUNK[2 * i : 2 * i + 2, 3 * j : 3 * j + 3].tobytes()
                assert body[offset : offset + length] == expected
        np.testing.assert_array_equal(plain(location).decode(shard, spec), CHUNK)

    def test_inner_chunks_of_the_fill_value_are_left_out(self, location: str) -> None:
        spec = spec_of()
        chunk = CHUNK.copy()
        chunk[:2, :3] = 0
        shard = plain(location).encode(chunk, spec)
        index, _ = split(shard, location)
        assert index[0, 0].tolist() == [EMPTY, EMPTY]
        assert len(shard) == 64 + 3 * 24
        np.testing.assert_array_equal(plain(location).decode(shard, spec), chunk)
        assert len(plain(location).encode(chunk, spec, write_empty=True)) == 64 + 4 * 24

    def test_an_empty_shard_is_its_index(self, location: str) -> None:
        spec = spec_of(fill=7)
        shard = plain(location).encode(np.full((4, 6), 7, "<i4"), spec)
        assert shard == b"\xff" * 64
        assert (plain(location).decode(shard, spec) == 7).all()

    @pytest.mark.parametrize(
        "entry", [(97 + 64, 24), (0, 10**6), (2**63, 24), (EMPTY, 24), (24, EMPTY), (EMPTY - 1, 2)]
    )
    def test_entries_beyond_the_shard_are_refused(self, location: str, entry: tuple[int, int]) -> None:
        spec = spec_of()
        shard = bytearray(plain(location).encode(CHUNK, spec))
        at = 16 if location == "start" else len(shard) - 64 + 16
        shard[at : at + 16] = np.array(entry, "<u8").tobytes()
        with pytest.raises(ChunkDecodeError, match=r"inner chunk \(0, 1\).*beyond the end"):
            plain(location).decode(bytes(shard), spec)

    def test_inner_chunk_of_wrong_size_is_refused(self, location: str) -> None:
        spec = spec_of()
        shard = bytearray(plain(location).encode(CHUNK, spec))
        at = 8 if location == "start" else len(shard) - 64 + 8
        shard[at : at + 8] = np.array(23, "<u8").tobytes()
        with pytest.raises(ChunkDecodeError, match=r"inner chunk \(0, 0\).*expected 24 bytes, got 23"):
            plain(location).decode(bytes(shard), spec)

    @pytest.mark.parametrize("size", [0, 1, 63])
    def test_too_short_for_an_index(self, location: str, size: int) -> None:
        with pytest.raises(ChunkDecodeError, match="cannot hold the index"):
            plain(location).decode(bytes(size), spec_of())


def test_index_checksum() -> None:
    pytest.importorskip("zarrcore._core.engine")
    codec = ShardingCodec(chunk_shape=(2, 3), codecs=PLAIN)
    spec = spec_of()
    shard = bytearray(codec.encode(CHUNK, spec))
    assert codec.index_nbytes(spec) == 68
    np.testing.assert_array_equal(codec.decode(bytes(shard), spec), CHUNK)
    shard[-10] ^= 1
    with pytest.raises(ChecksumError):
        codec.decode(bytes(shard), spec)


def test_strings_in_shards() -> None:
    spec = ArraySpec((4,), parse_dtype("str", zarr_format=3), "")
    codec = ShardingCodec(chunk_shape=(2,), codecs=["vlen-utf8"], index_codecs=PLAIN).resolve(spec)
    chunk = np.array(["a", "é", "", ""], spec.np_dtype)
    shard = codec.encode(chunk, spec)
    assert codec.decode(shard, spec).tolist() == chunk.tolist()


def test_nested_shards_within_compression() -> None:
    pytest.importorskip("zarrcore._core.engine")
    inner = ShardingCodec(chunk_shape=(1, 1), codecs=PLAIN)
    spec = spec_of()
    chain = CodecChain.from_codecs([ShardingCodec(chunk_shape=(2, 3), codecs=[inner])], spec)
    # The indices take far more room than the items.
    assert len(chain.encode(CHUNK, spec)) > 4 * CHUNK.nbytes
    packed = CodecChain.from_json([*chain.to_json(), "gzip"], spec)
    np.testing.assert_array_equal(packed.decode(packed.encode(CHUNK, spec), spec), CHUNK)


def test_a_transposed_index_is_stored_transposed(tmp_path: Path) -> None:
    """The engine left the transposition out, in writing and in reading."""
    index = [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}, *PLAIN]
    codec = ShardingCodec(chunk_shape=(2, 3), codecs=PLAIN, index_codecs=index)
    array = zarrcore.create_array(
        tmp_path, shape=(4, 6), chunks=(4, 6), dtype="i4", serializer=codec, compressors=[]
    )
    values = np.arange(1, 25, dtype="i4").reshape(4, 6)
    array[...] = values
    offsets_and_lengths = np.frombuffer((tmp_path / "c" / "0" / "0").read_bytes()[-64:], "<u8").reshape(2, 4)
    assert offsets_and_lengths.tolist() == [[0, 24, 48, 72], [24, 24, 24, 24]]
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path)[...], values)


@pytest.mark.parametrize("filters", [(), (ScaleOffset(),), (CastValue(data_type=Int32()),)])
def test_nested_shards_take_linear_time(filters: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level made the chains of all levels within it several times: 14 levels took half a minute.

    With codecs that change the fill value, this was mended later than without.
    """
    little = BytesCodec(endian="little")
    made: list[int] = []
    make = CodecChain.from_codecs.__func__  # type: ignore[attr-defined]

    def counted(cls: Any, codecs: Any, spec: ArraySpec) -> CodecChain:
        made.append(1)
        return make(cls, codecs, spec)  # type: ignore[no-any-return]

    def chains(levels: int) -> int:
        codecs: tuple[Any, ...] = (little,)
        for level in range(levels):
            codecs = (*filters, ShardingCodec(chunk_shape=2**level, codecs=codecs))
        spec = ArraySpec((2**levels,), parse_dtype("i4", zarr_format=3), np.int32(0))
        made.clear()
        chain = CodecChain.from_codecs(codecs, spec)
        values = np.zeros(2**levels, "i4")
        values[-1] = 1
        np.testing.assert_array_equal(chain.decode(chain.encode(values, spec), spec), values)
        chain.lower(spec)
        return len(made)

    monkeypatch.setattr(CodecChain, "from_codecs", classmethod(counted))
    assert chains(12) - chains(9) == chains(9) - chains(6)


class TestConfiguration:
    def test_defaults(self) -> None:
        codec = ShardingCodec(chunk_shape=(2, 3))
        assert codec.codecs == (BytesCodec(endian="little"),)
        assert codec.index_codecs == (BytesCodec(endian="little"), Crc32cCodec())
        assert codec.to_json() == {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [2, 3],
                "codecs": [BYTES],
                "index_codecs": [BYTES, {"name": "crc32c"}],
                "index_location": "end",
            },
        }

    def test_write_order_is_no_metadata(self) -> None:
        codec = ShardingCodec(chunk_shape=(2, 3), subchunk_write_order="lexicographic")
        assert "subchunk_write_order" not in codec.to_json()["configuration"]
        assert codec == ShardingCodec(chunk_shape=(2, 3))
        with pytest.raises(MetadataValidationError, match="unknown key"):
            ShardingCodec.from_json({**codec.to_json()["configuration"], "subchunk_write_order": "morton"})

    def test_inner_codecs_are_resolved(self) -> None:
        codec = ShardingCodec(chunk_shape=(2, 3), codecs=["bytes", "blosc"])
        with pytest.raises(MetadataValidationError, match=r"^configuration.codecs\[0\].configuration.endian"):
            codec.resolve(spec_of())
        codec = ShardingCodec(chunk_shape=(2, 3), codecs=[BYTES, "blosc"]).resolve(spec_of())
        assert codec.codecs[1].typesize == 4

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"chunk_shape": [3, 5]}, r"chunk_shape\[0\]: expected a divisor of the shard's length 4, got 3"),
            ({"chunk_shape": [2]}, "expected 2 lengths"),
            ({"chunk_shape": [0, 1]}, r"chunk_shape\[0\]: expected an integer of at least 1"),
            ({"chunk_shape": [8, 6]}, "divisor"),
            ({"chunk_shape": None}, "chunk_shape: expected an array"),
            ({"chunk_shape": ...}, "chunk_shape: is required and missing"),
            ({"codecs": ...}, "codecs: is required and missing"),
            ({"index_codecs": ...}, "index_codecs: is required and missing"),
            ({"codecs": []}, "codecs: expected exactly one array->bytes codec"),
            ({"codecs": [BYTES, BYTES]}, r"codecs\[1\]"),
            ({"index_codecs": []}, "index_codecs: expected exactly one array->bytes codec"),
            ({"index_codecs": "x"}, "index_codecs: expected an array of codecs"),
            (
                {"index_codecs": [BYTES, "gzip"]},
                r"index_codecs\[1\]: expected a codec of fixed encoded size, got 'gzip'",
            ),
            ({"index_location": "middle"}, 'index_location: expected one of "start", "end", got "middle"'),
        ],
    )
    def test_bad_configurations_are_refused(self, changes: dict, reason: str) -> None:
        configuration = {
            "chunk_shape": [2, 3],
            "codecs": [BYTES],
            "index_codecs": [BYTES, "crc32c"],
        } | changes
        configuration = {name: value for name, value in configuration.items() if value is not ...}
        with pytest.raises(MetadataValidationError, match=reason):
            CodecChain.from_json([{"name": "sharding_indexed", "configuration": configuration}], spec_of())

    def test_a_shard_in_an_index_is_refused(self) -> None:
        nested = ShardingCodec(chunk_shape=(1, 1, 2))
        with pytest.raises(MetadataValidationError, match="fixed encoded size"):
            ShardingCodec(chunk_shape=(2, 3), index_codecs=[nested])
