# SPDX-License-Identifier: MIT
"""Every public member of the engine checks its arguments; nothing unchecked reaches C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_chains import make_chain, make_shard

from zarrcore._core import engine
from zarrcore._core.engine import Chain, LocalSource, MemorySource, NativeArray, StoreSource
from zarrcore.errors import BoundsCheckError, ChunkDecodeError, UnknownCodecError

PLAIN = make_chain(4)
INDEX = make_chain(8)


def array(**changes: Any) -> NativeArray:
    options = {"shape": (4, 6), "chunks": (2, 3), "chain": PLAIN, "dtype": "i4", "path": "a", **changes}
    return NativeArray(options.pop("source", MemorySource({})), options.pop("prefix", ""), **options)


# ---- threads -------------------------------------------------------------------------------------


def test_number_of_threads() -> None:
    before = engine.num_threads()
    try:
        engine.set_num_threads(3)
        assert engine.num_threads() == 3
        engine.set_num_threads(None)
        assert engine.num_threads() == engine.available_cpus() >= 1
        engine.set_num_threads(0)
        assert engine.num_threads() == engine.available_cpus()
        for wrong, error in ((-1, ValueError), ("2", TypeError), (2**40, OverflowError)):
            with pytest.raises(error):
                engine.set_num_threads(wrong)
    finally:
        engine.set_num_threads(before)


@pytest.mark.parametrize(("threads", "error"), [(-1, ValueError), ("x", TypeError), (-(2**70), ValueError)])
def test_threads_of_a_call(threads: Any, error: type[Exception]) -> None:
    one = array()
    whole, memory = [(0, 1, 4), (0, 1, 6)], np.zeros((4, 6), "i4")
    points = [np.zeros(1, int)] * 2
    for call in (
        lambda: one.get(..., threads),
        lambda: one.read(whole, memory, threads),
        lambda: one.write(whole, memory, threads),
        lambda: one.read_points(points, np.zeros(1, "i4"), threads),
        lambda: one.write_points(points, np.zeros(1, "i4"), threads),
    ):
        with pytest.raises(error, match="^threads: "):
            call()
    one.read(whole, memory, 2**70)  # as many as there are


def test_more_threads_than_there_are_chunks() -> None:
    one = array()
    one.write([(0, 1, 4), (0, 1, 6)], np.arange(24, dtype="i4").reshape(4, 6), 1000)
    assert one.get(..., None).tolist() == np.arange(24).reshape(4, 6).tolist()


# ---- chains --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("itemsize", "options", "error", "text"),
    [
        (0, {}, ValueError, "itemsize"),
        (-4, {}, ValueError, "itemsize"),
        ("4", {}, TypeError, None),
        (4, {"swap": 3}, ValueError, "swap"),
        (4, {"swap": 8}, ValueError, "swap"),
        (4, {"swap": -4}, ValueError, "swap"),
        (8, {"swap": ((0, 3, 1),)}, ValueError, "swap"),
        (8, {"swap": ((4, 8, 1),)}, ValueError, "swap"),
        (8, {"swap": ((-2, 2, 1),)}, ValueError, "swap"),
        (8, {"swap": ((0, 4, 3),)}, ValueError, "swap"),
        (8, {"swap": ((0, 4, 0),)}, ValueError, "swap"),
        (4, {"order": (0, 0)}, ValueError, "order"),
        (4, {"order": (1, 2)}, ValueError, "order"),
        (4, {"order": tuple(range(1000))}, ValueError, "order"),
        (4, {"stages": [("nonesuch", {})]}, UnknownCodecError, "nonesuch"),
        (4, {"stages": [("gzip", {"speed": 1})]}, TypeError, "speed"),
        (4, {"stages": [("gzip", {"level": "x"})]}, TypeError, None),
        (4, {"stages": [("blosc", {"cname": "snippy"})]}, ValueError, None),
        (4, {"stages": [("gzip", {})] * 100}, NotImplementedError, "more than 16 codecs"),
        (4, {"shard": make_shard((1,), PLAIN, make_chain(8, stages=[("gzip", {})]))}, ValueError, None),
    ],
)
def test_bad_chains(itemsize: Any, options: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make_chain(itemsize, **options)


LITTLE, GZIP = ("bytes", 0), ("stage", "gzip", {})
DELTA = ("filter", "delta", {"dtype": "<i4", "astype": "<i4"}, bytes(4))
DELTA_8 = ("filter", "delta", {"dtype": "<i8", "astype": "<i8"}, bytes(8))


@pytest.mark.parametrize(
    ("links", "error", "text"),
    [
        ([], ValueError, "expected a codec that makes bytes"),
        ([("filters",)], TypeError, "filters"),
        ([GZIP, LITTLE], ValueError, '"gzip" needs a codec before it that makes bytes'),
        ([LITTLE, LITTLE], ValueError, "a second codec that makes bytes"),
        ([LITTLE, ("transpose", (0, 1))], ValueError, '"transpose" cannot follow'),
        ([LITTLE, DELTA], ValueError, '"delta" cannot follow'),
        ([("transpose", (0,)), LITTLE], ValueError, "order: expected 2 entries, got 1"),
        ([("transpose", (0, 0)), LITTLE], ValueError, "order: expected a permutation"),
        ([("transpose", (0, -1)), LITTLE], ValueError, "order: expected a permutation"),
        ([("transpose", (0, 2**70)), LITTLE], OverflowError, None),
        ([("reshape", (5, -1)), LITTLE], ValueError, "shape: expected lengths for the items"),
        ([("reshape", (-1, -1)), LITTLE], ValueError, "-1 at most once"),
        ([("reshape", (-2,)), LITTLE], ValueError, "positive lengths"),
        ([("reshape", ((1, 0), 2)), LITTLE], ValueError, "shape"),
        ([("reshape", ((0,), (2,))), LITTLE], ValueError, "dimensions of the chunk"),
        ([("reshape", ((70,),)), LITTLE], ValueError, "expected dimensions"),
        ([("reshape", (2, (0,), -1)), LITTLE], ValueError, "items before it"),
        ([("reshape", (1,) * 65), LITTLE], ValueError, "64 dimensions"),
        ([("filter", "zstd", {}, bytes(4)), LITTLE], NotImplementedError, "no filter"),
        ([DELTA_8, LITTLE], ValueError, "takes no items"),
        ([(*DELTA[:3], bytes(3)), ("transpose", (1, 0)), LITTLE], NotImplementedError, "4 bytes, not of 3"),
        ([DELTA, ("transpose", (1, 0))] * 5 + [LITTLE], NotImplementedError, "in turn"),
        ([("shards", (2,), [LITTLE], [LITTLE], "end")], ValueError, "chunk_shape: expected 2 entries"),
        ([("shards", (3, 3), [LITTLE], [LITTLE], "end")], ValueError, "3 does not divide the shard's 4"),
        ([("shards", (0, 3), [LITTLE], [LITTLE], "end")], ValueError, "1 or more"),
        ([("shards", (2, 3), [], [LITTLE], "end")], ValueError, "makes bytes"),
        ([("shards", (2, 3), [LITTLE], [GZIP, LITTLE], "end")], ValueError, "before it"),
        ([("shards", (2, 3), [LITTLE], [LITTLE, GZIP], "end")], ValueError, "index_codecs: .*fixed size"),
        ([("shards", (2, 3), [LITTLE], [("transpose", (0,)), LITTLE], "end")], NotImplementedError, "index"),
        ([("n5_block", [LITTLE])], ValueError, "expected transpose, bytes"),
        ([("n5_block", [("transpose", (0, 1)), ("bytes", 4)])], ValueError, "reverses the dimensions"),
    ],
)  # fmt: skip
def test_links_that_cannot_be_together(links: list, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Chain(4, links, shape=(4, 6))


def test_links_are_not_nested_without_end() -> None:
    def shards(levels: int) -> tuple:
        inner = (LITTLE,) if levels == 1 else shards(levels - 1)
        return (("shards", (4, 6), inner, (LITTLE,), "end"),)

    assert Chain(4, shards(15), shape=(4, 6)).shard is not None
    with pytest.raises(ValueError, match="nested more than 16 levels deep"):
        Chain(4, shards(16), shape=(4, 6))
    stage: tuple = GZIP[1:]
    for _ in range(16):
        stage = "conditional", {"codecs": (stage,), "header": 1}
    with pytest.raises(ValueError, match="nested more than 16 levels deep"):
        Chain(4, (LITTLE, ("stage", *stage)))


def test_an_inner_chain_outlives_the_one_around_it() -> None:
    inner = make_chain(4, shard=make_shard((1, 2), make_chain(4, order=(1, 0)), INDEX)).shard.inner
    assert (inner.order, inner.itemsize) == ((1, 0), 4)


@pytest.mark.parametrize(
    ("shape", "where", "error"),
    [
        ((0,), "end", ValueError),
        ((-1,), "end", ValueError),
        ((1,) * 1000, "end", ValueError),
        ((1,), "middle", ValueError),
    ],
)
def test_bad_shards(shape: tuple, where: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        make_chain(4, shard=make_shard(shape, PLAIN, INDEX, where))


def test_none_is_no_chain() -> None:
    with pytest.raises(TypeError):
        array(chain=None)


def test_chains_do_not_change() -> None:
    chain = make_chain(4, stages=[("zstd", {"level": 1})], order=(1, 0))
    with pytest.raises(RuntimeError, match="immutable"):
        chain.__init__(8)
    for name, value in (("order", (0, 1)), ("links", ()), ("itemsize", 8)):
        with pytest.raises(AttributeError):
            setattr(chain, name, value)
    assert (chain.itemsize, chain.order, chain.links[-1]) == (4, (1, 0), ("stage", "zstd", {"level": 1}))


# ---- arrays --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"shape": (-1, 6)}, "shape"),
        ({"shape": (2**64, 6)}, None),
        ({"shape": (1,) * 100, "chunks": (1,) * 100}, "dimensions"),
        ({"chunks": (2,)}, "chunks"),
        ({"chunks": (0, 3)}, "chunks"),
        ({"chunks": (-2, 3)}, "chunks"),
        ({"chunks": ((2, 1), 3)}, "chunks"),
        ({"chunks": ((2, 0, 2), 3)}, "chunks"),
        ({"chunks": ((), 3)}, "chunks"),
        ({"dtype": "i8"}, "dtype"),
        ({"fill": b"123"}, "fill"),
        ({"chain": make_chain(4, order=(2, 0, 1))}, "order"),
        ({"chain": make_chain(4, shard=make_shard((1,), PLAIN, INDEX))}, "inner chunks"),
        ({"key_encoding": ("v3", "/")}, "key_encoding"),
        ({"key_encoding": ("default", "-")}, "key_encoding"),
        ({"key_encoding": ("default", None)}, "key_encoding"),
        ({"source": {}}, "source"),
        ({"source": None}, "source"),
        ({"prefix": 5}, None),
    ],
)
def test_bad_arrays(changes: dict, text: str) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError, AttributeError), match=text):
        array(**changes)


def test_shard_that_its_inner_chunks_do_not_divide() -> None:
    """Known at the latest when a chunk is to be read or written, and then said."""
    chain = make_chain(4, shard=make_shard((2, 2), PLAIN, INDEX))
    with pytest.raises((ValueError, ChunkDecodeError)):
        array(chain=chain).write([(0, 1, 4), (0, 1, 6)], np.ones((4, 6), "i4"))


def test_sources() -> None:
    with pytest.raises(TypeError):
        MemorySource(None)
    with pytest.raises(TypeError):
        MemorySource([])
    with pytest.raises(TypeError):
        LocalSource(5)
    with pytest.raises(TypeError):
        StoreSource(object())


def test_attributes() -> None:
    source = MemorySource({})
    one = array(source=source)
    assert (one.shape, one.dtype, one.path, one.chain, one.source) == ((4, 6), "i4", "a", PLAIN, source)
    assert one.chunk_key((1, 0)) == "c/1/0"
    assert array(prefix="x/y/", key_encoding=("v2", ".")).chunk_key((12, 3)) == "x/y/12.3"
    assert array(shape=(), chunks=()).chunk_key(()) == "c"
    assert array(shape=(), chunks=(), key_encoding=("v2", ".")).chunk_key(()) == "0"
    for name in ("shape", "dtype", "path", "chain", "source"):
        with pytest.raises(AttributeError):
            setattr(one, name, None)


@pytest.mark.parametrize("chunk", [(), (1,), ("a", "b"), None])
def test_bad_chunk_keys(chunk: Any) -> None:
    with pytest.raises((IndexError, TypeError, ValueError)):
        array().chunk_key(chunk)


MEMORY = np.zeros((4, 6), "i4")


@pytest.mark.parametrize(
    ("dims", "memory", "error"),
    [
        ([(0, 1, 4)], MEMORY, ValueError),
        ([(0, 1, 4), (0, 1, 6), (0, 1, 1)], MEMORY, ValueError),
        ([(0, 1, 4), (0, 1, 5)], MEMORY, ValueError),
        ([(0, 1, 4), (1, 1, 6)], MEMORY, BoundsCheckError),
        ([(0, 1, 4), (-1, 1, 6)], MEMORY, BoundsCheckError),
        ([(0, 1, 4), (5, -2, 6)], MEMORY, BoundsCheckError),
        ([(0, 2**62, 4), (0, 1, 6)], MEMORY, (BoundsCheckError, OverflowError)),
        ([(0, -(2**62), 4), (0, 1, 6)], MEMORY, (BoundsCheckError, OverflowError)),
        ([(0, 2**63 - 1, 4), (0, 1, 6)], MEMORY, (BoundsCheckError, OverflowError)),
        ([(0, 2**64, 4), (0, 1, 6)], MEMORY, OverflowError),
        ([(0, 0, 4), (0, 1, 6)], MEMORY, ValueError),
        ([(0, 1), (0, 1, 6)], MEMORY, ValueError),
        ([np.arange(5), (0, 1, 6)], MEMORY, ValueError),
        ([np.array([0, 1, 2, 4]), (0, 1, 6)], MEMORY, BoundsCheckError),
        ([np.array([0, 1, 2, -1]), (0, 1, 6)], MEMORY, BoundsCheckError),
        ([np.zeros((2, 2), int), (0, 1, 6)], MEMORY, ValueError),
        ([(0, 1, 4), (0, 1, 6)], MEMORY[0], ValueError),
        ([(0, 1, 4), (0, 1, 6)], MEMORY.astype("i8"), ValueError),
        ([(0, 1, 4), (0, 1, 6)], MEMORY.astype(">i4"), ValueError),
        ([(0, 1, 4), (0, 1, 6)], MEMORY.tolist(), TypeError),
        ([(0, 1, 4), (0, 1, 6)], None, TypeError),
        (None, MEMORY, TypeError),
        (["ab", (0, 1, 6)], MEMORY, TypeError),
    ],
)
def test_bad_regions(dims: Any, memory: Any, error: Any) -> None:
    store: dict[str, bytes] = {}
    one = array(source=MemorySource(store))
    for call in (one.read, one.write):
        with pytest.raises(error):
            call(dims, memory)
    assert store == {}


@pytest.mark.parametrize(
    ("coords", "memory", "error"),
    [
        ([np.zeros(3, int)], np.zeros(3, "i4"), ValueError),
        ([np.zeros(3, int)] * 3, np.zeros(3, "i4"), ValueError),
        ([np.zeros(3, int), np.zeros(2, int)], np.zeros(3, "i4"), ValueError),
        ([np.zeros((3, 1), int)] * 2, np.zeros(3, "i4"), ValueError),
        ([np.array([0, 4]), np.array([0, 0])], np.zeros(2, "i4"), BoundsCheckError),
        ([np.array([0, 0]), np.array([0, -1])], np.zeros(2, "i4"), BoundsCheckError),
        ([np.array([0, 0]), np.array([0, 2**62])], np.zeros(2, "i4"), BoundsCheckError),
        ([np.zeros(2, int)] * 2, np.zeros((2, 1), "i4"), ValueError),
        ([np.zeros(2, int)] * 2, np.zeros(2, "f4"), ValueError),
        ([np.zeros(2, int)] * 2, None, TypeError),
        ([], np.zeros(0, "i4"), ValueError),
    ],
)
def test_bad_points(coords: Any, memory: Any, error: Any) -> None:
    store: dict[str, bytes] = {}
    one = array(source=MemorySource(store))
    for call in (one.read_points, one.write_points):
        with pytest.raises(error):
            call(coords, memory)
    assert store == {}


def test_nothing_selected() -> None:
    """Empty selections touch no store."""
    one = array(source=StoreSource(None, int))
    one.read([(0, 1, 0), (0, 1, 6)], np.zeros((0, 6), "i4"))
    one.write([(0, 1, 4), np.zeros(0, int)], np.zeros((4, 0), "i4"))
    one.read_points([np.zeros(0, int)] * 2, np.zeros(0, "i4"))
    one.write_points([np.zeros(0, int)] * 2, np.zeros(0, "i4"))
    assert one.get((slice(2, 2), slice(None))).shape == (0, 6)


# ---- single codecs -------------------------------------------------------------------------------


def test_single_codecs() -> None:
    encoded = engine.encode_bytes("zstd", {"level": 1}, np.arange(10))
    assert engine.decode_bytes("zstd", {}, memoryview(encoded), 80) == np.arange(10).tobytes()
    with pytest.raises(ChunkDecodeError):
        engine.decode_bytes("zstd", {}, encoded, 79)
    with pytest.raises(ValueError, match="max_size"):
        engine.decode_bytes("zstd", {}, encoded, -1)
    with pytest.raises(UnknownCodecError):
        engine.encode_bytes("nonesuch", {}, b"")
    for wrong in (None, "text", 5, np.arange(10)[::2]):
        with pytest.raises((TypeError, ValueError, BufferError)):
            engine.encode_bytes("zstd", {}, wrong)
    with pytest.raises(TypeError):
        engine.encode_bytes(None, {}, b"")


def test_a_size_beyond_what_memory_can_have_is_refused() -> None:
    for size in (-1, 2**63, 2**64 - 1, 2**70):
        with pytest.raises((ValueError, OverflowError)):
            engine.decode_bytes("zstd", {}, b"", size)
