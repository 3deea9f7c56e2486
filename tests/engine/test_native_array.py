# SPDX-License-Identifier: MIT
"""Whatever an array's layout, the engine does to it what numpy does to an array in memory."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
from engine_chains import make_chain, make_shard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zarrcore._core.engine import Chain, LocalSource, MemorySource, NativeArray, StoreSource
from zarrcore.testing import strategies as zst

MODEL = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)

DTYPES = st.sampled_from(("u1", "i2", "f4", "f8", "c16", "S3", "U2")).map(np.dtype)


class DictStore:
    """The little that the engine asks of a store written in Python."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def get(self, key: str, byte_range: tuple[int, int] | int | None = None) -> bytes | None:
        value = self.values.get(key)
        if value is None or byte_range is None:
            return value
        if isinstance(byte_range, tuple):
            start, length = byte_range
            return value[start : start + length]
        return value[-byte_range:]

    def get_many(self, keys: list[str]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def set(self, key: str, value: bytes) -> None:
        self.values[key] = value

    def delete(self, key: str) -> None:
        self.values.pop(key, None)


# ---- layouts -------------------------------------------------------------------------------------


@st.composite
def stages(draw: Any, itemsize: int) -> list[tuple[str, dict]]:
    blosc = st.fixed_dictionaries(
        {
            "cname": st.sampled_from(("lz4", "zstd", "blosclz", "zlib", "lz4hc")),
            "clevel": st.sampled_from((0, 1, 5, 9)),
            "shuffle": st.integers(0, 2),
            "typesize": st.just(itemsize),
            "blocksize": st.sampled_from((0, 64, 512)),
        }
    )
    compressor = st.one_of(
        st.tuples(st.just("blosc"), blosc),
        st.tuples(st.sampled_from(("gzip", "zlib")), st.just({"level": 1})),
        st.tuples(st.just("zstd"), st.fixed_dictionaries({"level": st.just(1), "checksum": st.booleans()})),
        st.just(("lz4", {"acceleration": 1})),
        st.tuples(st.just("crc32c"), st.sampled_from(({}, {"location": "start"}))),
    )
    return draw(st.lists(compressor, max_size=2))


@st.composite
def chains(draw: Any, itemsize: int, shape: tuple[int, ...], depth: int = 0) -> Chain:
    """Codec chains for chunks of a shape: swapped or not, transposed or not, up to two levels of shards."""
    order = draw(st.none() | st.permutations(range(len(shape))).map(tuple))
    if depth == 2 or draw(st.booleans()):
        swap = draw(st.sampled_from((0, itemsize))) if itemsize in (2, 4, 8) else 0
        return make_chain(itemsize, swap=swap, order=order, stages=draw(stages(itemsize)))
    stored = shape if order is None else tuple(shape[axis] for axis in order)
    inner_shape = draw(zst.inner_chunk_shapes(stored))
    index = make_chain(
        8, swap=draw(st.sampled_from((0, 8))), stages=draw(st.sampled_from(([], [("crc32c", {})])))
    )
    where = draw(st.sampled_from(("start", "end")))
    shard = make_shard(inner_shape, draw(chains(itemsize, inner_shape, depth + 1)), index, where)
    outside = draw(st.just([]) | stages(itemsize))
    return make_chain(itemsize, order=order, stages=outside, shard=shard)


@st.composite
def layouts(
    draw: Any, *, min_dims: int = 0, sources: tuple[str, ...] = ("memory", "local", "store")
) -> dict[str, Any]:
    """What a NativeArray is made of, but for its source."""
    shape = draw(zst.array_shapes(min_dims=min_dims))
    chunks: Any = draw(zst.chunk_shapes(shape))
    dtype = draw(DTYPES)
    chain = draw(chains(dtype.itemsize, chunks))
    if chain.shard is None and draw(st.booleans()):
        chunks = tuple(draw(zst.chunk_edges(length)) for length in shape)
    fill = draw(st.sampled_from((0, 1)))
    return {
        "source": draw(st.sampled_from(sources)),
        "prefix": draw(st.sampled_from(("", "a/b/"))),
        "shape": shape,
        "chunks": chunks,
        "key_encoding": draw(st.tuples(st.sampled_from(("default", "v2")), st.sampled_from("./"))),
        "chain": chain,
        "dtype": dtype,
        "fill": np.array(fill).astype(dtype).tobytes(),
        "path": "a",
    }


def build(layout: dict[str, Any], directory: str) -> NativeArray:
    sources = {
        "memory": lambda: MemorySource({}),
        "local": lambda: LocalSource(directory),
        "store": lambda: StoreSource(DictStore(), int),
    }
    arguments = dict(layout)
    source = sources[arguments.pop("source")]()
    return NativeArray(source, arguments.pop("prefix"), **arguments)


# ---- operations ----------------------------------------------------------------------------------


def regular(
    key: tuple[Any, ...], shape: tuple[int, ...]
) -> tuple[list[tuple[int, int, int]], list[np.ndarray]]:
    """A basic selection that keeps all dimensions as the engine's dims, and as indices."""
    at = next((i for i, entry in enumerate(key) if entry is Ellipsis), len(key))
    missing = len(shape) - sum(entry is not Ellipsis for entry in key)
    full = (*key[:at], *[slice(None)] * missing, *key[at + 1 :])
    dims, indices = [], []
    for entry, length in zip(full, shape, strict=True):
        start, stop, step = entry.indices(length)
        chosen = range(start, stop, step)
        dims.append((start, step, len(chosen)))
        indices.append(np.array(chosen, dtype=np.int64))
    return dims, indices


class Model:
    """An engine's array and the numpy array that it has to equal."""

    def __init__(self, data: st.DataObject, layout: dict[str, Any], directory: str) -> None:
        self.data = data
        self.array = build(layout, directory)
        self.shape, self.dtype = layout["shape"], layout["dtype"]
        self.values = np.full(self.shape, np.frombuffer(layout["fill"], self.dtype)[0], self.dtype)
        self.threads = data.draw(st.sampled_from((1, 0, 2, 3)), label="threads")

    def dims(self) -> tuple[list[Any], list[np.ndarray]]:
        """A selection in the engine's form and as one array of indices for each dimension."""
        if self.data.draw(st.booleans(), label="orthogonal"):
            chosen = self.data.draw(zst.orthogonal_indices(self.shape))
            indices = [np.arange(n)[entry] for n, entry in zip(self.shape, chosen, strict=True)]
            dims = [
                one if isinstance(entry, np.ndarray) else regular((entry,), (n,))[0][0]
                for n, entry, one in zip(self.shape, chosen, indices, strict=True)
            ]
            return dims, indices
        return regular(self.data.draw(zst.basic_indices(self.shape, integers=False)), self.shape)

    def get(self) -> None:
        key = self.data.draw(zst.basic_indices(self.shape), label="get")
        found, wanted = self.array.get(key, self.threads), self.values[key]
        assert found is not NotImplemented
        assert np.shape(found) == np.shape(wanted)
        assert np.array_equal(found, wanted)
        assert isinstance(found, np.ndarray) == (np.ndim(wanted) > 0)

    def read(self) -> None:
        dims, indices = self.dims()
        out = np.empty([len(one) for one in indices], self.dtype, order=self.data.draw(st.sampled_from("CF")))
        self.array.read(dims, out, self.threads)
        assert np.array_equal(out, self.values[np.ix_(*indices)] if indices else self.values)

    def write(self) -> None:
        dims, indices = self.dims()
        value = self.data.draw(zst.numpy_arrays([len(one) for one in indices], self.dtype), label="value")
        self.array.write(dims, value, self.threads, self.data.draw(st.booleans(), label="write_empty"))
        for place in np.ndindex(value.shape):  # one after another: of duplicates the last one stays
            self.values[tuple(one[i] for one, i in zip(indices, place, strict=True))] = value[place]

    def read_points(self) -> None:
        coords = self.data.draw(zst.point_indices(self.shape), label="points")
        out = np.empty(len(coords[0]), self.dtype)
        self.array.read_points(coords, out, self.threads)
        assert np.array_equal(out, self.values[coords])

    def write_points(self) -> None:
        coords = self.data.draw(zst.point_indices(self.shape), label="points")
        value = self.data.draw(zst.numpy_arrays((len(coords[0]),), self.dtype), label="value")
        self.array.write_points(
            coords, value, self.threads, self.data.draw(st.booleans(), label="write_empty")
        )
        for place, one in zip(zip(*coords, strict=True), value, strict=True):
            self.values[place] = one

    def run(self, operations: list[str]) -> None:
        for name in self.data.draw(
            st.lists(st.sampled_from(operations), min_size=1, max_size=6), label="operations"
        ):
            getattr(self, name)()
        assert np.array_equal(self.array.get(...), self.values)


@MODEL
@given(st.data(), layouts())
def test_like_numpy(data: st.DataObject, layout: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Model(data, layout, directory).run(["write", "read", "get"])


@MODEL
@given(st.data(), layouts(min_dims=1))
def test_points_like_numpy(data: st.DataObject, layout: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Model(data, layout, directory).run(["write_points", "read_points", "write"])


@settings(MODEL, max_examples=60)
@given(st.data(), layouts(sources=("memory",)))
def test_any_number_of_threads(data: st.DataObject, layout: dict[str, Any]) -> None:
    """1, 2, 3 and 4 threads store the same bytes and read the same values."""
    values = data.draw(zst.numpy_arrays(layout["shape"], layout["dtype"]))
    dims = [(0, 1, length) for length in layout["shape"]]
    stores: list[dict[str, bytes]] = []
    for threads in (1, 2, 3, 4):
        store: dict[str, bytes] = {}
        arguments = {key: value for key, value in layout.items() if key not in ("source", "prefix")}
        array = NativeArray(MemorySource(store), "", **arguments)
        array.write(dims, values, threads)
        out = np.empty_like(values, order="C", shape=values.shape)
        array.read(dims, out, threads)
        assert np.array_equal(out, values)
        stores.append(store)
    assert all(store == stores[0] for store in stores)


@settings(MODEL, max_examples=60)
@given(st.data(), layouts(sources=("memory",)))
def test_chunks_of_nothing_but_fill_are_not_stored(data: st.DataObject, layout: dict[str, Any]) -> None:
    """After any writes there is a key for each chunk that holds something else, and no other key."""
    model = Model(data, layout, "")
    store: dict[str, bytes] = {}
    arguments = {key: value for key, value in layout.items() if key not in ("source", "prefix")}
    model.array = NativeArray(MemorySource(store), "", **arguments)
    dims, indices = model.dims()
    value = data.draw(zst.numpy_arrays([len(one) for one in indices], model.dtype))
    model.array.write(dims, value, 1)
    found = np.asarray(model.array.get(...))
    fill = np.frombuffer(layout["fill"], model.dtype)[0]
    parts = chunks_of(found, layout["chunks"])
    wanted = {model.array.chunk_key(place) for place, part in parts if np.any(part != fill)}
    assert set(store) == wanted


def chunks_of(values: np.ndarray, chunks: tuple[Any, ...]) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Coordinates and contents of all chunks of an array."""
    edges = []
    for length, chunk in zip(values.shape, chunks, strict=True):
        lengths = chunk if isinstance(chunk, tuple) else (chunk,) * -(-length // chunk)
        edges.append(np.cumsum((0, *lengths)))
    grid = tuple(len(one) - 1 for one in edges)
    return [
        (place, values[tuple(slice(one[k], one[k + 1]) for one, k in zip(edges, place, strict=True))])
        for place in np.ndindex(grid)
    ]


# ---- memory of the caller ------------------------------------------------------------------------


@pytest.fixture
def ramp() -> tuple[NativeArray, np.ndarray]:
    values = np.arange(20 * 30, dtype="i4").reshape(20, 30)
    chain = make_chain(4, stages=[("zstd", {"level": 1})])
    array = NativeArray(
        MemorySource({}), "", shape=(20, 30), chunks=(7, 8), chain=chain, dtype="i4", path="ramp"
    )
    array.write([(0, 1, 20), (0, 1, 30)], values)
    return array, values


LAYOUTS = {
    "strided": lambda: np.zeros((40, 90), "i4")[::2, ::3],
    "reversed": lambda: np.zeros((20, 30), "i4")[::-1, ::-1],
    "transposed": lambda: np.zeros((30, 20), "i4").T,
    "field": lambda: np.zeros((20, 30), [("x", "u1"), ("y", "i4")])["y"],  # not aligned
    "offset": lambda: np.frombuffer(bytearray(2401), "u1")[1:].view("i4").reshape(20, 30),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", LAYOUTS)
def test_memory_of_any_layout(name: str, threads: int, ramp: tuple[NativeArray, np.ndarray]) -> None:
    array, values = ramp
    memory = LAYOUTS[name]()
    whole = memory if memory.base is None else memory.base
    array.read([(0, 1, 20), (0, 1, 30)], memory, threads)
    assert np.array_equal(memory, values)
    array.write([(19, -1, 20), (29, -1, 30)], memory, threads)
    assert np.array_equal(array.get(...), values[::-1, ::-1])
    assert whole is not None


def test_bytes_between_the_elements_stay(ramp: tuple[NativeArray, np.ndarray]) -> None:
    array, values = ramp
    memory = np.full((40, 90), -7, "i4")
    array.read([(0, 1, 20), (0, 1, 30)], memory[1::2, 2::3])
    assert np.array_equal(memory[1::2, 2::3], values)
    memory[1::2, 2::3] = -7
    assert (memory == -7).all()


def test_read_only_memory(ramp: tuple[NativeArray, np.ndarray]) -> None:
    array, values = ramp
    frozen = values[::-1].copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array.read([(0, 1, 20), (0, 1, 30)], frozen)
    with pytest.raises(ValueError, match="read-only"):
        array.read_points([np.zeros(2, int)] * 2, np.broadcast_to(np.zeros(1, "i4"), 2))
    array.write([(0, 1, 20), (0, 1, 30)], frozen)
    assert np.array_equal(array.get(...), frozen)


@pytest.mark.parametrize("shape", [(), (1, 1), (30,), (20, 1)])
def test_broadcast_values(shape: tuple[int, ...], ramp: tuple[NativeArray, np.ndarray]) -> None:
    array, _ = ramp
    value = np.broadcast_to(np.arange(np.prod(shape, dtype=int), dtype="i4").reshape(shape) + 5, (20, 30))
    array.write([(0, 1, 20), (0, 1, 30)], value, 2)
    assert np.array_equal(array.get(...), value)


def test_selections_outside_of_the_fast_path(ramp: tuple[NativeArray, np.ndarray]) -> None:
    array, _ = ramp
    for key in ([1, 2], None, (0, 0, 0), True, (..., ...), np.ones((20, 30), bool), 20, -21, 2**70, "x", 1.0):
        assert array.get(key) is NotImplemented
