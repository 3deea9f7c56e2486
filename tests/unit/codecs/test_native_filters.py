"""Array -> array codecs of format 3 in the engine: the same bytes, items and errors as in Python."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArraySpec, CodecChain
from zarrcore.codecs.scale_offset import ScaleOffset
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError
from zarrcore.storage import MemoryStore

engine = pytest.importorskip("zarrcore._core.engine")

FLOATS = ["f2", "f4", "f8", "c8", "c16"]
ORDERS = ["<", ">"]
SHAPE, CHUNKS = (13, 9), (5, 4)


def bits(dtype: np.dtype, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Items of all bit patterns, the special ones among them."""
    octets = np.random.default_rng(11).integers(0, 256, int(np.prod(shape)) * dtype.itemsize, np.uint8)
    items = octets.view(dtype)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.min]
        items[: len(special)] = special
        # NaN whose rounding would carry into the sign, and one whose payload would vanish.
        words = items.view(dtype.str.replace("f", "u"))
        words[len(special)] = np.iinfo(words.dtype).max
        words[len(special) + 1] = np.array(np.inf, dtype).view(words.dtype) + words.dtype.type(1)
    return items.reshape(shape)


def extension(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def created(
    values: np.ndarray, filters: list[Any], serializer: Any, store: dict[str, Any] | None = None, **more: Any
) -> zarrcore.Array:
    more = {"chunks": CHUNKS, "compressors": None, "config": {"write_empty_chunks": True}} | more
    shape, dtype = values.shape, values.dtype
    return zarrcore.create_array(
        MemoryStore(store), shape=shape, dtype=dtype, filters=filters, serializer=serializer, **more
    )


def is_native(array: zarrcore.Array) -> bool:
    return type(array._compiled()).__name__ == "NativeArray"


def check(
    monkeypatch: pytest.MonkeyPatch, values: np.ndarray, filters: list[Any], serializer: Any, **more: Any
) -> None:
    """Both engines store the same bytes of `values`, and read the same items from them."""
    stores: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    native = created(values, filters, serializer, stores[0], **more)
    assert is_native(native)
    native[...] = values
    native[2:7, 1:6] = values[2:7, 1:6]  # parts of chunks are read, decoded and written again
    found, part = native[...], native[3:11, 2:5]
    with monkeypatch.context() as patch:
        patch.setattr(CodecChain, "lower", lambda self, spec: None)
        python = created(values, filters, serializer, stores[1], **more)
        assert not is_native(python)
        python[...] = values
        python[2:7, 1:6] = values[2:7, 1:6]
        assert len(stores[0]) > 1
        assert {key: bytes(value) for key, value in stores[0].items()} == {
            key: bytes(value) for key, value in stores[1].items()
        }
        assert python[...].tobytes() == found.tobytes()
        assert python[3:11, 2:5].tobytes() == part.tobytes()


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

    @pytest.mark.parametrize("dtype", ["i4", "u1", "M8[s]"])
    def test_integers_are_rounded_in_python(self, dtype: str) -> None:
        values = np.zeros(SHAPE, dtype)
        assert not is_native(created(values, [extension("bitround", keepbits=3)], "auto"))


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
    def test_nothing_behind_it_may_see_dimensions(self, behind: dict[str, Any]) -> None:
        filters, serializer = [extension("reshape", shape=[10, -1])], "auto"
        if behind["name"] == "transpose":
            filters.append(behind)
        else:
            serializer = behind
        values = np.arange(117, dtype="u1").reshape(SHAPE)
        array = created(values, filters, serializer)
        assert not is_native(array)
        array[...] = values
        assert (array[...] == values).all()


WHOLE = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


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
                (engine.encode_bytes, codec.encode, ChunkEncodeError),
                (partial(engine.decode_bytes, max_size=item.nbytes), codec.decode, ChunkDecodeError),
            ):
                try:
                    expected = theirs(item.reshape(1), spec).tobytes()
                except ValueError as reason:
                    match = str(reason).removesuffix(f" {scale}")
                    with pytest.raises(error, match=match):
                        ours(name, options, item.tobytes())
                else:
                    assert ours(name, options, item.tobytes()) == expected

    def test_errors_name_chunk_and_codec(self) -> None:
        values = np.full(SHAPE, 100, "i1")
        store: dict[str, Any] = {}
        array = created(values, [extension("scale_offset", scale=3)], "auto", store)
        assert is_native(array)
        with pytest.raises(ChunkEncodeError, match="does not fit into int8") as caught:
            array[...] = values
        assert caught.value.codec == "scale_offset"
        array[...] = values // 4
        store["c/0/1"] = bytes([1] * 20)
        with pytest.raises(ChunkDecodeError, match=r"c/0/1.*no multiple of the scale") as caught:
            array[...]
        assert caught.value.codec == "scale_offset"

    def test_half_precision_is_left_to_python(self) -> None:
        assert not is_native(created(np.zeros(SHAPE, "f2"), [extension("scale_offset", scale=2)], "auto"))


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

    @pytest.mark.parametrize(
        "configuration",
        [
            {"data_type": "int16"},
            {"data_type": "int16", "out_of_range": "clamp"},
            {"data_type": "int16", "out_of_range": "wrap", "scalar_map": {"encode": [[1, 2]]}},
            {"data_type": "float64"},
        ],
    )
    def test_the_rest_is_left_to_python(self, configuration: dict[str, Any]) -> None:
        values = np.zeros(SHAPE, "i4")
        assert not is_native(created(values, [extension("cast_value", **configuration)], "auto"))

    def test_floats_are_left_to_python(self) -> None:
        filters = [extension("cast_value", data_type="int16", out_of_range="wrap")]
        assert not is_native(created(np.zeros(SHAPE, "f4"), filters, "auto"))


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
