"""Regions of many chunks under zarr-python's codec pipeline: one part, and all that its own way would do."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")

from zarrcore.integrations.zarr_python import CodecPipeline  # noqa: E402

OURS = "zarrcore.integrations.zarr_python.CodecPipeline"
THEIRS = "zarr.core.codec_pipeline.BatchedCodecPipeline"
VALUES = np.arange(23 * 17).reshape(23, 17)

pytestmark = pytest.mark.skipif(
    not hasattr(zarr.core.array, "_get_selection"), reason="before 3.4 zarr-python names all chunks"
)


@pytest.fixture(autouse=True)
def with_pipeline() -> Iterator[None]:
    with zarr.config.set({"codec_pipeline.path": OURS}):
        yield


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each call of our pipeline gets."""
    found: list[int] = []

    def counting(original: Any) -> Any:
        async def call(self: Any, batch: Any, *args: Any, **options: Any) -> Any:
            found.append(len(batch))
            return await original(self, batch, *args, **options)

        return call

    monkeypatch.setattr(CodecPipeline, "read", counting(CodecPipeline.read))
    monkeypatch.setattr(CodecPipeline, "write", counting(CodecPipeline.write))
    return found


def array_of(store: Any = None, **options: Any) -> Any:
    return zarr.create_array(
        {} if store is None else store, shape=VALUES.shape, chunks=(5, 6), dtype="i8", **options
    )


@pytest.mark.parametrize("shards", [None, (10, 6)])
def test_a_region_of_many_chunks_is_one_part(shards: Any, parts: list[int]) -> None:
    array = array_of(shards=shards)
    array[:] = VALUES
    assert np.array_equal(array[:], VALUES)
    assert np.array_equal(array[1:22:3, 2:], VALUES[1:22:3, 2:])
    assert np.array_equal(array.blocks[0:5], VALUES)
    array[3:, 1:] = 7
    assert (array[3:, 1:] == 7).all() and np.array_equal(array[:3], VALUES[:3])
    assert set(parts) <= {1, 3}  # the last one of three chunks, along the first rows


def test_selections_of_few_chunks_and_of_points_are_named_chunk_by_chunk(parts: list[int]) -> None:
    array = array_of()
    array[:] = VALUES
    parts.clear()
    for selection in (np.s_[:5], np.s_[7:7], np.s_[4, 3]):
        assert np.array_equal(array[selection], VALUES[selection])
    assert np.array_equal(array.oindex[[1, 20], :], VALUES[[1, 20]])
    assert parts == [3, 1, 6]


def test_arrays_of_other_pipelines_are_left_alone() -> None:
    ours = array_of()
    ours[:] = VALUES
    with zarr.config.set({"codec_pipeline.path": THEIRS}):
        theirs = zarr.open_array(ours.store)
    theirs[:] = VALUES + 1
    assert np.array_equal(theirs[:], VALUES + 1) and np.array_equal(ours[:], VALUES + 1)


class Refusing(zarr.storage.MemoryStore):
    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        if key.endswith("c/3/1"):
            raise PermissionError("not for you")
        return await super().get(key, prototype, byte_range)

    async def set(self, key: str, value: Any, byte_range: Any = None) -> None:
        if key.endswith("c/3/1"):
            raise PermissionError("not to be changed")
        await super().set(key, value)


def test_errors_in_the_midst_of_a_region_are_those_of_the_store() -> None:
    array = array_of(Refusing())
    with pytest.raises(PermissionError, match="not to be changed"):
        array[:] = VALUES
    with pytest.raises(PermissionError, match="not for you"):
        array[:]
    assert np.array_equal(array[:15], VALUES[:15])


class Slow(Refusing):
    running = begun = 0

    async def set(self, key: str, value: Any, byte_range: Any = None) -> None:
        is_chunk = "c/" in key
        self.running += is_chunk
        self.begun += is_chunk
        try:
            if not key.endswith("c/3/1"):
                await asyncio.sleep(0.01)
            await super().set(key, value)
        finally:
            self.running -= is_chunk


def test_nothing_of_a_write_that_failed_is_stored_after_a_later_one() -> None:
    array = array_of(Slow())
    with pytest.raises(PermissionError):
        array[:] = VALUES
    assert array.store.begun >= 15 and array.store.running == 0


def test_a_missing_chunk_of_a_region_is_named() -> None:
    array = array_of()
    array[:] = VALUES
    del array.store._store_dict["c/2/1"]
    assert (array[:][10:15, 6:12] == 0).all()
    strict = zarr.open_array(array.store).with_config({"read_missing_chunks": False})
    with pytest.raises(zarr.errors.ChunkNotFoundError, match="c/2/1"):
        strict[:]


def test_what_the_engine_does_not_take_goes_the_way_of_zarr_python(parts: list[int]) -> None:
    out = zarr.core.buffer.cpu.NDBuffer.from_numpy_array(np.empty(VALUES.shape, "f4"))
    narrow = array_of()
    narrow[:] = VALUES
    narrow.get_basic_selection(out=out)
    assert np.array_equal(out.as_numpy_array(), VALUES)
    with pytest.raises(IndexError, match="too many indices"):
        narrow[:] = np.arange(11)
    assert parts == [1, 1, 1]


class Derived(CodecPipeline):
    """A pipeline of somebody else that counts on getting chunks."""

    async def read(self, batch_info: Any, out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        batch = [*batch_info]
        assert len(batch) == 15 and all(isinstance(inside, tuple) for _, _, inside, *_ in batch)
        return await super().read(batch, out, drop_axes)


def test_pipelines_that_derive_from_ours_get_chunks() -> None:
    zarr.registry.register_pipeline(Derived)
    with zarr.config.set({"codec_pipeline.path": f"{Derived.__module__}.{Derived.__qualname__}"}):
        array = array_of()
    assert type(array._async_array.codec_pipeline) is Derived
    array[:] = VALUES
    assert np.array_equal(array[:], VALUES)


def test_an_array_that_came_pickled_reads_regions(tmp_path: Path) -> None:
    array = array_of(tmp_path / "a")
    array[:] = VALUES
    code = (
        "import pickle, sys; from zarrcore.integrations.zarr_python import CodecPipeline as C;"
        "array = pickle.load(sys.stdin.buffer); read = C.read; found = [];"
        "C.read = lambda self, batch, *a, **o: found.append(len(batch)) or read(self, batch, *a, **o);"
        "print(array[:].sum(), found)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=pickle.dumps(array), capture_output=True, check=True)
    assert done.stdout.decode().split() == [str(VALUES.sum()), "[1]"]


def test_an_array_that_grows_goes_on(parts: list[int]) -> None:
    array = array_of()
    array[:] = VALUES
    array.resize((46, 17))
    array[23:] = VALUES
    parts.clear()
    assert np.array_equal(array[:], np.concatenate([VALUES, VALUES]))
    assert parts == [1]
