"""Filters in front of shards, in the engine: each inner chunk goes through them by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filter_arrays import BIG, check, created, extension, is_native, shards

import zarrcore
from zarrcore.codecs import CodecChain
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError
from zarrcore.storage import MemoryStore

FIXED_POINT = extension("numcodecs.fixedscaleoffset", scale=8, offset=0, dtype="<f8", astype="<i4")


class TestBeforeShards:
    """Filters on single items do to a shard what they do to its inner chunks, each by itself."""

    VALUES = (np.arange(600) % 100 - 50).astype("<f8").reshape(30, 20)

    @pytest.mark.parametrize(
        "filters",
        [
            [extension("bitround", keepbits=3)],
            [extension("scale_offset", scale=4)],
            [extension("cast_value", data_type="int16", rounding="nearest-even")],
            [extension("cast_value", data_type="float32"), extension("bitround", keepbits=3)],
            [extension("scale_offset", scale=4), extension("cast_value", data_type="int16")],
            [FIXED_POINT],
            [extension("numcodecs.quantize", digits=1, dtype="<f8")],
            [extension("numcodecs.astype", encode_dtype="<f4", decode_dtype="<f8")],
            [extension("numcodecs.bitround", keepbits=3)],
        ],
        ids=lambda filters: "-".join(item["name"] for item in filters),
    )
    @pytest.mark.parametrize(
        "serializer",
        [
            shards(extension("bytes", endian="little")),
            shards(BIG, "gzip"),
            shards(extension("transpose", order=[1, 0]), BIG, index_location="start"),
            shards(shards(BIG, "zstd", chunk_shape=(5, 2))),
            shards(extension("bitround", keepbits=2), BIG),
        ],
        ids=["bytes", "gzip", "transposed", "nested", "filtered"],
    )
    def test_as_in_python(self, monkeypatch: pytest.MonkeyPatch, filters: Any, serializer: Any) -> None:
        check(monkeypatch, self.VALUES, filters, serializer, chunks=(10, 8), fill_value=0)
        fill = 0 if "astype" in str(filters) else 2  # these filters of numcodecs have no other
        check(
            monkeypatch,
            self.VALUES,
            filters,
            serializer,
            chunks=(20, 20),
            fill_value=fill,
            compressors="crc32c",
        )

    @pytest.mark.parametrize("where", [0, 1, 2])
    def test_around_a_transposition(self, monkeypatch: pytest.MonkeyPatch, where: int) -> None:
        filters = [extension("scale_offset", scale=4), extension("cast_value", data_type="int16")]
        filters.insert(where, extension("transpose", order=[1, 0]))
        check(monkeypatch, self.VALUES, filters, shards(BIG), chunks=(8, 10), fill_value=0)
        check(monkeypatch, self.VALUES, filters, BIG, chunks=(8, 10), fill_value=0)

    def test_inner_chunks_are_read_alone(self) -> None:
        store: dict[str, Any] = {}
        filters = [extension("cast_value", data_type="int16")]
        array = created(self.VALUES, filters, shards(BIG, "crc32c"), store, chunks=(30, 20), fill_value=0)
        array[...] = self.VALUES
        assert is_native(array)
        shard = bytearray(store["c/0/0"])
        shard[3] ^= 1  # in the first inner chunk
        store["c/0/0"] = bytes(shard)
        assert np.array_equal(array[5:, :], self.VALUES[5:])
        with pytest.raises(ChunkDecodeError, match="c/0/0") as caught:
            array[0, 0]
        assert caught.value.codec == "crc32c"

    def test_what_is_not_stored_is_the_fill_value(self, monkeypatch: pytest.MonkeyPatch) -> None:
        filters = [extension("scale_offset", scale=4), extension("cast_value", data_type="int8")]
        store: dict[str, Any] = {}
        options = {"chunks": (30, 20), "fill_value": 2, "config": {"write_empty_chunks": False}}
        array = created(self.VALUES, filters, shards(BIG), store, **options)
        array[7, 7] = 3
        assert is_native(array)
        wanted = np.full((30, 20), 2.0)
        wanted[7, 7] = 3
        assert np.array_equal(array[...], wanted)
        with monkeypatch.context() as patch:
            patch.setattr(CodecChain, "lower", lambda self, spec: None)
            python = zarrcore.open_array(MemoryStore(store))
            assert not is_native(python)
            assert np.array_equal(python[...], wanted)

    @pytest.mark.parametrize(
        ("filters", "fill"),
        [
            ([extension("bitround", keepbits=3)], 0.1),  # which would be rounded
            ([extension("cast_value", data_type="int16")], 0.5),
            ([FIXED_POINT], 2),  # numcodecs says nothing of fill values
            ([extension("numcodecs.delta", dtype="<f8")], 0),  # items depend on those before them
            ([extension("reshape", shape=[[0], [1]])], 0),
        ],
        ids=["bitround", "cast_value", "fixedscaleoffset", "delta", "reshape"],
    )
    def test_what_is_not_the_same_for_inner_chunks(
        self, monkeypatch: pytest.MonkeyPatch, filters: Any, fill: float
    ) -> None:
        config = {"write_empty_chunks": False}
        more: dict[str, Any] = {"chunks": (10, 20), "fill_value": fill, "config": config}
        if filters[0]["name"] == "cast_value":  # for new arrays such a fill value is refused
            monkeypatch.setattr("zarrcore.arrays.creation.refuse_unusable_codecs", lambda metadata: None)
        check(monkeypatch, self.VALUES, filters, shards(BIG), **more)
        array = created(self.VALUES, filters, shards(BIG), **more)
        array[3:12, 7:] = self.VALUES[3:12, 7:]
        inside = np.zeros(self.VALUES.shape, bool)
        inside[3:12, 7:] = True
        assert np.abs(array[...] - np.where(inside, self.VALUES, fill)).max() <= 4

    def test_faults_name_the_filter(self) -> None:
        array = created(
            self.VALUES,
            [extension("cast_value", data_type="int8")],
            shards(BIG),
            chunks=(10, 20),
            fill_value=0,
        )
        assert is_native(array)
        with pytest.raises(ChunkEncodeError, match="300") as caught:
            array[2, 3] = 300
        assert caught.value.codec == "cast_value"


@pytest.mark.parametrize(
    "filters",
    [
        [extension("scale_offset", scale=4)],
        [extension("numcodecs.astype", encode_dtype="<f4", decode_dtype="<f8")],
    ],
    ids=["scale_offset", "astype"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr-python about what is not in the specification
def test_zarr_python_reads_filters_before_shards_and_is_read(tmp_path: Path, filters: Any) -> None:
    zarr = pytest.importorskip("zarr")
    values = TestBeforeShards.VALUES
    options: dict[str, Any] = {"shape": values.shape, "dtype": "<f8", "chunks": (10, 8), "fill_value": 0}
    ours = zarrcore.create_array(
        tmp_path / "ours", filters=filters, serializer=shards(BIG), compressors=None, **options
    )
    assert is_native(ours)
    ours[3:29, 2:] = values[3:29, 2:]
    wanted = np.zeros(values.shape)
    wanted[3:29, 2:] = values[3:29, 2:]
    assert np.array_equal(zarr.open_array(tmp_path / "ours")[...], wanted)
    theirs = zarr.open_array(tmp_path / "ours", mode="r+")
    theirs[:7, :5] = wanted[:7, :5] = values[:7, :5]
    assert np.array_equal(ours[...], wanted)
