"""zarrcore in the place of zarr-python: one of each class, under the names of both."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
import zarrcore.compat
from zarrcore.abc.metadata import Metadata
from zarrcore.experimental import ChunkGrid


def run(program: str, tmp_path: Path) -> str:
    """Return what a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_parts_that_are_imported_by_the_name_of_zarr_are_not_loaded_twice(tmp_path: Path) -> None:
    program = """
import sys, zarrcore, zarrcore.storage
mine = zarrcore.storage.MemoryStore
sys.modules["zarr"] = zarrcore
import zarr.storage, zarr.codecs.numcodecs
from zarr.abc.store import Store
from zarr.core.dtype import Int8
from zarr.core.indexing import AsyncOIndex, AsyncVIndex
from zarr.core.group import Group
from zarr.storage import MemoryStore
assert MemoryStore is mine is zarrcore.storage.MemoryStore and issubclass(mine, Store)
assert Group is zarrcore.Group and Int8 is zarrcore.dtype.Int8
assert zarr.storage is zarrcore.storage and zarr.storage.__spec__.name == "zarrcore.storage"
array = zarr.create_array({}, shape=4, dtype="i4")
assert isinstance(array.async_array.oindex, AsyncOIndex) and isinstance(array.async_array.vindex, AsyncVIndex)
try:
    import zarr.no_such_part
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(program, tmp_path) == "zarr.no_such_part\n"


def test_programs_that_stand_on_zarrcore_see_a_release_of_zarr_python(tmp_path: Path) -> None:
    program = """
import zarrcore.compat
own = zarrcore.__version__
with zarrcore.compat.stand_in():
    import zarr
    from zarr.core.sync import collect_aiterator, sync
    assert zarr.Array is zarrcore.Array and zarr.__version__ == zarrcore.compat.zarr_version
    assert zarrcore.__version__ == own != zarr.__version__
    assert zarr.config.config["array"]["order"] == "C"
    async def work():
        return 7
    async def many():
        yield 1
        yield 2
    print(sync(work()), collect_aiterator(many()))
    from zarr.core.sync import SyncMixin
    assert SyncMixin()._sync(work()) == 7 and SyncMixin()._sync_iter(many()) == [1, 2]
    for zarr_format in (2, 3):
        assert zarr.create_group({}, zarr_format=zarr_format).info._zarr_format == zarr_format
    before = zarr.config.get("codec_pipeline.path")
    assert "Batched" not in before
    with zarr.config.set({"codec_pipeline.path": before}):
        assert zarr.registry.get_pipeline_class().__name__ == before.rpartition(".")[2]
    async def inside():
        import asyncio
        try:
            sync(work(), asyncio.get_running_loop())
        except RuntimeError as error:
            return str(error)
    import asyncio
    print(asyncio.run(inside()))
import sys
assert zarrcore.__version__ == own and not [name for name in sys.modules if name.partition(".")[0] == "zarr"]
"""
    said = run(program, tmp_path)
    assert said.startswith("7 (1, 2)\nsync: the event loop that runs in this thread cannot be waited for")


def test_parts_that_pydantic_zarr_and_others_import_are_found(tmp_path: Path) -> None:
    program = """
import zarrcore.compat
zarrcore.compat.stand_in()
import zarr
from zarr.core.array_spec import ArrayConfig, ArraySpec
from zarr.core.buffer.core import default_buffer_prototype
from zarr.core.chunk_grids import ChunkGrid, RegularChunkGrid
from zarr.core.chunk_key_encodings import ChunkKeyEncodingLike, DefaultChunkKeyEncoding
from zarr.core.common import JSON, BytesLike, parse_named_configuration, parse_shapelike
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.config import config
from zarr.core.dtype.common import HasEndianness, UnstableSpecificationWarning
from zarr.core.indexing import BasicIndexer, OrthogonalIndexer
from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from zarr.core.metadata.v2 import ArrayV2Metadata as of_format_2
from zarr.core.metadata.v3 import ArrayV3Metadata as the_same
from zarr.core.metadata.v3 import RegularChunkGridMetadata, parse_dimension_names
from zarr.core.sync import _collect_aiterator, sync
from zarr.core.sync_group import get_node
from zarr.metadata.migrate_v3 import _convert_array_metadata
from zarr.storage._common import StorePath, make_store_path
assert the_same is ArrayV3Metadata is zarrcore.metadata.ArrayV3Metadata and config is zarr.config
store = zarr.storage.MemoryStore()
array = zarr.create_array(store, name="g/a", shape=2, dtype="i4")
assert isinstance(array.metadata, ArrayV3Metadata) and array.metadata.to_dict()["storage_transformers"] == []
place = sync(make_store_path(store, path="g/a"))
codecs = (*array.metadata.to_dict()["codecs"],)
document = {**array.metadata.to_dict(), "codecs": codecs, "storage_transformers": ()}
metadata = ArrayV3Metadata.from_dict({**document, "dimension_names": ("x",)})  # tuples, as of pydantic
saved = zarr.AsyncArray(metadata=metadata, store_path=sync(make_store_path(store, path="b")))
sync(saved._save_metadata(metadata))
assert zarr.open_array(store, path="b") == zarr.Array(_async_array=saved)
assert isinstance(metadata.chunk_grid, RegularChunkGrid)
assert set(metadata.to_buffer_dict(default_buffer_prototype())) == {"zarr.json"}
two = zarr.create_array({}, shape=2, dtype="i4", zarr_format=2).metadata
assert isinstance(_convert_array_metadata(two), ArrayV3Metadata) and isinstance(two, of_format_2)
assert isinstance(place, StorePath) and get_node(place.store, place.path, zarr_format=3) == array
try:
    get_node(place.store, place.path, zarr_format=2)
except FileNotFoundError:
    print(parse_shapelike(3), parse_named_configuration({"name": "a", "configuration": {"b": 1}}, "a"))
"""
    assert run(program, tmp_path) == "(3,) ('a', {'b': 1})\n"


def test_names_that_packages_import_from_parts_of_zarr_python_were_missing(tmp_path: Path) -> None:
    pytest.importorskip("numcodecs")
    program = """
import zarrcore, zarrcore.compat
with zarrcore.compat.stand_in():
    from zarr.abc.codec import CodecJSON, CodecJSON_V2, CodecJSON_V3
    from zarr.abc.metadata import Metadata
    from zarr.abc.numcodec import Numcodec, _is_numcodec, _is_numcodec_cls
    from zarr.codecs.crc32c_ import Crc32cCodec
    from zarr.codecs.vlen_utf8 import VLenBytesCodec, VLenUTF8Codec
    from zarr.core.attributes import Attributes
    from zarr.core.chunk_grids import ChunkGrid as same
    from zarr.core.dtype import TBaseDType, TBaseScalar, ZDTypeLike
    from zarr.core.dtype.npy.int import UInt64
    from zarr.core.dtype.npy.string import VariableLengthUTF8
    from zarr.core.dtype.npy.structured import Structured, StructuredJSON_V2
    from zarr.core.dtype.registry import DataTypeRegistry
    from zarr.core.dtype.wrapper import ZDType
    from zarr.experimental import ChunkGrid, ChunkSpec
    from zarr.metadata.migrate_v3 import migrate_v2_to_v3, remove_metadata
    assert ChunkGrid is same and issubclass(UInt64, ZDType) and UInt64 is zarrcore.dtype.UInt64
    array = zarrcore.create_array({}, shape=4, dtype="i4")
    assert isinstance(array.attrs, Attributes) and isinstance(array.metadata, Metadata)
    assert not isinstance(4, Metadata)
    import numcodecs
    assert _is_numcodec(numcodecs.Zstd()) and not _is_numcodec(numcodecs.Zstd) and not _is_numcodec(4)
    print(VLenUTF8Codec is zarrcore.codecs.VLenUTF8Codec)
"""
    assert run(program, tmp_path) == "True\n"


def test_what_is_written_as_json_is_made_of_its_fields() -> None:
    class Inner(Metadata):
        pass

    @dataclass(frozen=True)
    class Outer(Metadata):
        name: str
        parts: tuple[Any, ...]

    assert Outer("a", (Inner(), 1)).to_dict() == {"name": "a", "parts": ({}, 1)}
    assert Outer.from_dict({"name": "a", "parts": (1,)}) == Outer("a", (1,))
    assert not issubclass(Inner, Outer)


@pytest.mark.parametrize("sizes", [(4, 3), (4, (3, 1, 1)), ((1, 9), (2, 4))])
def test_a_grid_of_chunks_is_asked_where_they_lie(sizes: Any) -> None:
    pytest.importorskip("zarr", minversion="3.4")
    theirs = pytest.importorskip("zarr.core.chunk_grids")
    own, other = (cls.from_sizes((10, 5), sizes) for cls in (ChunkGrid, theirs.ChunkGrid))
    for name in ("ndim", "grid_shape", "chunk_sizes", "is_regular"):
        assert getattr(own, name) == getattr(other, name)
    assert own.get_nchunks() == other.get_nchunks()
    assert list(own.all_chunk_coords()) == list(other.all_chunk_coords())
    part: dict[str, Any] = {"origin": (1, 0), "selection_shape": (1, 2)}
    assert list(own.iter_chunk_regions(**part)) == list(other.iter_chunk_regions(**part))
    names = ("slices", "shape", "codec_shape", "is_boundary")
    found = [[[getattr(spec, name) for name in names] for spec in grid] for grid in (own, other)]
    assert found[0] == found[1]
    assert own[(9, 9)] is other[(9, 9)] is None
    for grid in (own, other):
        with pytest.raises(IndexError):
            grid.all_chunk_coords(origin=(1, 1), selection_shape=(9, 1))
        with pytest.raises(ValueError, match="coord"):
            grid[0]
        if not own.is_regular:
            with pytest.raises(ValueError, match="chunk_shape"):
                _ = grid.chunk_shape
    assert not own.is_regular or own.chunk_shape == other.chunk_shape


def test_what_stores_return_need_not_be_awaited_by_sync(tmp_path: Path) -> None:
    program = """
import zarrcore.compat
zarrcore.compat.stand_in()
import zarr
from zarr.core.sync import SyncMixin, collect_aiterator, sync
group = zarr.create_group({})
group.create_group("a")
assert sync(group.store.exists("a/zarr.json")) is True
assert sorted(collect_aiterator(group.store.list_dir(""))) == ["a", "zarr.json"]
assert SyncMixin()._sync_iter(group.store.list_dir("a")) == ["zarr.json"]
sync(group.store.clear())  # as anndata.write_zarr does, which then wants the group that it has
print(group.require_group("/") == group, SyncMixin()._sync_iter(group.store.list()))
"""
    assert run(program, tmp_path) == "True ['zarr.json']\n"


def test_stores_have_the_methods_of_zarr_python_which_are_coroutines(tmp_path: Path) -> None:
    program = """
import asyncio, copy, pickle
import zarrcore.compat
zarrcore.compat.stand_in()
import zarr
from zarr.abc.store import RangeByteRequest, Store, SupportsSyncStore, set_or_delete
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype
from zarr.storage import LocalStore, LoggingStore, MemoryStore, StorePath, WrapperStore
from zarr.storage._common import make_store_path
prototype = default_buffer_prototype()
async def work(store):
    await store.set("k", Buffer.from_bytes(b"01234"))
    await store.set_if_not_exists("k", Buffer.from_bytes(b"x"))
    assert (await store.get("k", prototype)).to_bytes() == b"01234" and await store.get("no") is None
    assert (await store.get("k", prototype, RangeByteRequest(1, 3))).to_bytes() == b"12"
    async for ((place, found),) in store.get_ranges("k", [None], prototype=prototype):
        assert place == 0 and found.to_bytes() == b"01234"
    assert await store.exists("k") and await store.getsize("k") == 5 == await store.getsize_prefix("")
    assert [key async for key in store.list()] == ["k"] and not await store.is_empty("")
    place = await make_store_path(store, path="a")
    await set_or_delete(place, Buffer.from_bytes(b"v"))
    assert isinstance(place, StorePath) and (await (place / "").get()).to_bytes() == b"v"
    assert [name async for name in store.list_dir("")] and [k async for k in store.list_prefix("a")] == ["a"]
    await place.delete()
    assert not await place.exists()
    await store.delete("k")
    await store.delete_dir("a")
    array = await zarr.api.asynchronous.create_array(store, shape=4, dtype="i4", chunks=2)
    await array.setitem(slice(2), 7)
    assert await array.store.exists("c/0") and not await array.store_path.is_empty()
    assert array.store == store and (await array.getitem(...)).tolist() == [7, 7, 0, 0]
    await store.clear()
stores = MemoryStore(), LocalStore("a"), LoggingStore(MemoryStore(), "WARNING"), WrapperStore(MemoryStore())
for store in stores:
    assert isinstance(store, Store)
    asyncio.run(work(store))
    zarr.create_array(store, shape=4, dtype="i4", chunks=2)[:] = 3
    assert zarr.open_array(store).store == store and zarr.open_array(store)[:].tolist() == [3] * 4
    assert zarr.open_array(store, mode="r").store.read_only
assert isinstance(stores[0], SupportsSyncStore) and stores[2].counter["set"]
values = {}
zarr.create_array(values, shape=4, dtype="i4")[:] = 3
assert all(isinstance(value, Buffer) for value in values.values()) and zarr.open_array(values)[1] == 3
stores[0].set_sync("x", Buffer.from_bytes(b"1"))
assert stores[0].get_sync("x").to_bytes() == b"1" == stores[0]._store_dict["x"].to_bytes()
assert pickle.loads(pickle.dumps(stores[1])) == stores[1] == copy.copy(stores[1]) != LocalStore("b")
"""
    assert run(program, tmp_path) == ""


def test_stores_of_coroutines_of_other_packages_are_read_and_written(tmp_path: Path) -> None:
    program = """
import zarrcore.compat
zarrcore.compat.stand_in()
import zarr
from zarr.abc.store import Store
from zarr.storage import MemoryStore, WrapperStore
class Counting(WrapperStore):  # as anndata.tests.helpers has it
    async def get(self, key, prototype=None, byte_range=None):
        asked.append(key)
        return await self._store.get(key, prototype, byte_range)
class Derived(MemoryStore):
    async def get(self, key, prototype=None, byte_range=None):
        asked.append(key)
        return await super().get(key, prototype, byte_range)
for store in (Counting(MemoryStore()), Derived()):
    asked = []
    group = zarr.open_group(store, mode="w")
    group.create_array("a", shape=4, chunks=2, dtype="i4")[1:] = 3
    assert group["a"][:].tolist() == [0, 3, 3, 3] and {"a/c/0", "a/c/1", "a/zarr.json"} <= {*asked}
    assert "No. arrays         : 1" in str(group.info_complete()) and group["a"]._repr_html_()
    assert group.store is store and zarr.open_group(store, mode="r")["a"].store.read_only
store = MemoryStore()
array = zarr.create_array(store, shape=4, dtype="i4")
original = MemoryStore.get
async def get(self, key, *args, **kwargs):
    asked.append(key)
    return await original(self, key, *args, **kwargs)
MemoryStore.get = get  # as tests do
asked = []
assert zarr.open_array(store).shape == array.shape
print("zarr.json" in asked)
"""
    assert run(program, tmp_path) == "True\n"


def test_modules_are_loaded_once_where_others_look_for_them_first(tmp_path: Path) -> None:
    program = """
import importlib.machinery, sys
import zarrcore.compat
zarrcore.compat.stand_in()
class First:  # as the finder of pytest, which looks for files in __path__
    @staticmethod
    def find_spec(name, path=None, target=None):
        found = importlib.machinery.PathFinder.find_spec(name, path)
        return found if found and isinstance(found.loader, importlib.machinery.SourceFileLoader) else None
sys.meta_path.insert(0, First)
from zarr.codecs.bytes import BytesCodec
from zarr.core.metadata.v3 import ArrayV3Metadata
import zarr.core.sync, zarrcore.core.sync, zarrcore.codecs.bytes, zarr.abc.store, zarr.storage._common
import zarrcore.compat.coroutines
print(
    BytesCodec is zarrcore.codecs.bytes.BytesCodec, zarr.core.sync is zarrcore.core.sync,
    ArrayV3Metadata is zarrcore.metadata.ArrayV3Metadata,
    zarr.abc.store.Store is zarrcore.compat.coroutines.Store,
)
"""
    assert run(program, tmp_path) == "True True True True\n"


@pytest.mark.parametrize(
    "selection",
    [
        (3, slice(1, 9, 3)),
        ([4, 0, 7], slice(None)),
        ([1, 5], [0, 9, 3]),
        (2, [8, 1]),
        (np.arange(8) % 3 == 0, 4),
        5,
        ...,
    ],
    ids=repr,
)
@pytest.mark.parametrize("chunks", [(3, 4), ((1, 5, 2), 10)])
def test_parts_of_selections_are_where_zarr_python_has_them(selection: Any, chunks: Any) -> None:
    from zarrcore.core.chunk_grids import ChunkGrid
    from zarrcore.core.indexing import BasicIndexer, OrthogonalIndexer

    values = np.arange(80).reshape(8, 10)
    grid = ChunkGrid.from_sizes(values.shape, chunks)
    starts = [
        np.cumsum((0, *edges)) if isinstance(edges, tuple) else np.arange(0, 99, edges) for edges in chunks
    ]
    expected = zarrcore.array(values).oindex[selection]
    items = selection if isinstance(selection, tuple) else (selection,)
    is_basic = not any(isinstance(item, list | np.ndarray) for item in items)
    for kind in (OrthogonalIndexer, BasicIndexer)[: 1 + is_basic]:
        indexer = kind(selection, values.shape, grid)
        found = np.full(indexer.shape, -1)
        for part in indexer:
            where = [slice(at[k], at[k + 1]) for at, k in zip(starts, part.chunk_coords, strict=True)]
            taken = values[tuple(where)][part.chunk_selection]
            found[part.out_selection] = taken.squeeze(indexer.drop_axes) if indexer.drop_axes else taken
        np.testing.assert_array_equal(found, expected)
    assert (grid.ndim, grid.is_regular) == (2, chunks == (3, 4))


@pytest.mark.parametrize("shards", [None, (4, 4)])
@pytest.mark.parametrize("out_of", [False, True])
def test_indexers_that_packages_derive_are_read(shards: Any, out_of: bool) -> None:
    """annbatch joins runs of rows so; others yield lists of indices, and have dimensions dropped."""
    import asyncio

    from zarrcore.core.buffer import default_buffer_prototype
    from zarrcore.core.indexing import BasicIndexer, Indexer, OrthogonalIndexer

    values = np.arange(63).reshape(9, 7)
    array = zarrcore.create_array({}, shape=(9, 7), chunks=(2, 4), shards=shards, dtype=values.dtype)
    array[...] = values

    class Runs(Indexer):
        def __init__(self, parts: list[Indexer]) -> None:
            self.parts = parts
            self.shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])

        def __iter__(self) -> Any:
            total = 0
            for part in self.parts:
                for c in part:
                    n = c[2][0].stop - c[2][0].start
                    yield type(c)(c[0], c[1], (slice(total, total + n), *c[2][1:]), c[3])
                    total += n

    def read(indexer: Indexer) -> Any:
        prototype = default_buffer_prototype()
        out = prototype.nd_buffer(np.full(indexer.shape, -1)) if out_of else None
        found = asyncio.run(array._async_array._get_selection(indexer, prototype=prototype, out=out))
        return found if out is None else out.as_numpy_array()

    grid = array._chunk_grid
    runs = [BasicIndexer((slice(*run), slice(1, 4)), values.shape, grid) for run in ((8, 9), (0, 2), (3, 4))]
    np.testing.assert_array_equal(read(Runs([*runs])), values[[8, 0, 1, 3], 1:4])
    for wanted in ((1, slice(None, None, 3)), (4, 5), ([8, 0, 3], slice(2)), (3, [6, 1]), ([0, 5], [6, 2])):
        expected = array.oindex[wanted]
        np.testing.assert_array_equal(read(OrthogonalIndexer(wanted, values.shape, grid)), expected)
    with pytest.raises(ValueError, match=r"shape of the selection, \(9, 7\), got \(2,\)"):
        wrong = default_buffer_prototype().nd_buffer(np.empty(2))
        asyncio.run(array._async_array._get_selection(BasicIndexer(..., (9, 7), grid), out=wrong))

    class Nothing(Indexer):
        shape = (500, 500)

        def __iter__(self) -> Any:
            return iter(())

    np.full((500, 500), 7)  # what memory may hold
    assert out_of or not read(Nothing()).any()


def test_names_for_one_extension_are_refused_for_another() -> None:
    from zarrcore.compat.common import parse_named_configuration

    assert parse_named_configuration({"name": "a"}, require_configuration=False) == ("a", None)
    with pytest.raises(ValueError, match="expected a configuration of 'a'"):
        parse_named_configuration({"name": "a"})
    with pytest.raises(ValueError, match="expected the name 'b', got 'a'"):
        parse_named_configuration({"name": "a", "configuration": {}}, "b")
    with pytest.raises(zarrcore.errors.MetadataValidationError, match="expected a name"):
        parse_named_configuration(3)


def test_zarr_python_is_found_as_ever_where_nothing_is_in_its_place(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    program = "import zarrcore, zarr.storage; print(zarr.__name__, zarr.storage.MemoryStore.__module__)"
    assert run(program, tmp_path).startswith("zarr zarr.storage.")


def test_zarrcore_does_not_take_the_place_of_a_loaded_zarr_python() -> None:
    pytest.importorskip("zarr")
    version = zarrcore.__version__
    with pytest.raises(RuntimeError, match="zarr-python has been imported"):
        zarrcore.compat.stand_in()
    assert zarrcore.__version__ == version
