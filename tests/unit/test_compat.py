"""zarrcore in the place of zarr-python: one of each class, under the names of both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import zarrcore
import zarrcore.compat


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
    assert zarr is zarrcore and zarr.__version__ == zarrcore.compat.zarr_version != own
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
from zarr.core.chunk_grids import ChunkGrid
from zarr.core.chunk_key_encodings import ChunkKeyEncodingLike, DefaultChunkKeyEncoding
from zarr.core.common import JSON, BytesLike, parse_named_configuration, parse_shapelike
from zarr.core.config import config
from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from zarr.core.metadata.v3 import ArrayV3Metadata as the_same
from zarr.core.sync import sync
from zarr.core.sync_group import get_node
from zarr.storage._common import StorePath, make_store_path
assert the_same is ArrayV3Metadata is zarrcore.metadata.ArrayV3Metadata and config is zarr.config
store = zarr.storage.MemoryStore()
array = zarr.create_array(store, name="g/a", shape=2, dtype="i4")
assert isinstance(array.metadata, ArrayV3Metadata) and array.metadata.to_dict()["storage_transformers"] == []
place = sync(make_store_path(store, path="g/a"))
assert isinstance(place, StorePath) and get_node(place.store, place.path, zarr_format=3) == array
try:
    get_node(place.store, place.path, zarr_format=2)
except FileNotFoundError:
    print(parse_shapelike(3), parse_named_configuration({"name": "a", "configuration": {"b": 1}}, "a"))
"""
    assert run(program, tmp_path) == "(3,) ('a', {'b': 1})\n"


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
print(group.require_group("/") == group, list(group.store.list()))
"""
    assert run(program, tmp_path) == "True ['zarr.json']\n"


def test_a_store_of_coroutines_can_be_defined_in_a_module_of_another_package(tmp_path: Path) -> None:
    program = """
import zarrcore.compat
zarrcore.compat.stand_in()
from zarr.storage import MemoryStore, WrapperStore
class Counting(WrapperStore):  # as anndata.tests.helpers has it
    async def get(self, key, prototype=None, byte_range=None):
        return await self._store.get(key, prototype, byte_range)
class Derived(Counting): ...
for kind in (Counting, Derived):
    try:
        kind(MemoryStore())
    except TypeError as error:
        print(error)
"""
    assert run(program, tmp_path).count("Counting.get is asynchronous, but methods of stores are") == 2


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
