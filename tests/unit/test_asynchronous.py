"""The asynchronous face: the same results as the synchronous one, from inside an event loop."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import zarrcore
from zarrcore.api import asynchronous
from zarrcore.storage import MemoryStore


def test_the_name_by_which_xarray_asks():
    array = zarrcore.create_array({}, shape=3, dtype="i4", fill_value=7)
    assert asyncio.run(array._async_array.getitem(slice(1))).tolist() == [7]


def test_arrays():
    async def main():
        store = MemoryStore()
        a = await asynchronous.create_array(store, shape=(6, 4), chunks=(2, 2), dtype="i4")
        assert isinstance(a, zarrcore.AsyncArray)
        values = np.arange(24).reshape(6, 4)
        await a.setitem(..., values)
        assert (await a.getitem((slice(None), 1))).tolist() == values[:, 1].tolist()
        assert (await a.oindex.getitem(([0, 3], [1]))).tolist() == [[1], [13]]
        assert (await a.vindex.getitem(([0, 3], [1, 2]))).tolist() == [1, 14]
        assert (await a.get_mask_selection(values > 21)).tolist() == [22, 23]
        assert (await a.get_orthogonal_selection((0, [0]))).tolist() == [0]
        assert (await a.get_coordinate_selection(([5], [3]))).tolist() == [23]
        assert await a.nchunks_initialized() == a.nchunks == 6
        assert await a.append(np.ones((2, 4), int)) == (8, 4)
        await a.resize((1, 4))
        await a.update_attributes({"x": 1})
        again = await zarrcore.AsyncArray.open(store)
        assert again == a
        assert again.attrs == {"x": 1}
        assert await again.nbytes_stored() > 0
        assert (again.shape, again.ndim, again.dtype, again.chunks) == ((1, 4), 2, np.dtype("i4"), (2, 2))
        assert "Chunks" in repr(await again.info_complete())
        assert repr(again).startswith("<AsyncArray")
        assert again.with_config({"order": "F"}).order == "F"

    asyncio.run(main())


def test_cutting_is_optional():
    async def main():
        a = await asynchronous.array(np.arange(6), store={}, chunks=2)
        await a.resize((2,), delete_outside_chunks=False)
        await a.resize((6,), delete_outside_chunks=False)
        assert (await a.getitem(...)).tolist() == [0, 1, 2, 3, 4, 5]

    asyncio.run(main())


def test_what_lies_outside_is_not_seen_when_the_array_grows():
    async def main():
        a = await asynchronous.array(np.arange(6), store={}, chunks=2)
        await a.resize((3,), delete_outside_chunks=False)
        await a.resize((6,))
        assert (await a.getitem(...)).tolist() == [0, 1, 2, 0, 0, 0]

    asyncio.run(main())


def test_groups():
    async def main():
        root = await asynchronous.open_group({}, mode="w", attributes={"a": 1})
        assert isinstance(root, zarrcore.AsyncGroup)
        await root.create_group("g")
        array = await root.create_array("g/x", shape=3, dtype="i4")
        await root.setitem("y", np.arange(3))
        assert [path async for path, _ in root.members(None)] == ["g", "g/x", "y"]
        names = root.keys()
        assert [name async for name in names] == ["g", "y"]
        assert [name async for name in root.array_keys()] == ["y"]
        assert [name async for name, _ in root.groups()] == ["g"]
        assert await root.getitem("g/x") == array
        assert await root.contains("y")
        assert await root.get("z", 4) == 4
        assert await root.nmembers() == 2
        assert (await root.require_array("y", shape=3)).shape == (3,)
        assert (await root.zeros_like(name="w", data=array)).dtype == np.dtype("i4")
        await root.move("y", "v")
        await root.delitem("w")
        assert "v" in repr(await root.tree())
        await root.update_attributes({"b": 2})
        assert root.attrs == {"a": 1, "b": 2}
        with pytest.raises(KeyError):
            await root.getitem("nothing")
        assert root.name == "/"

    asyncio.run(main())


def test_functions():
    async def main():
        store = MemoryStore()
        await asynchronous.save(store, np.arange(3))
        assert (await asynchronous.load(store)).tolist() == [0, 1, 2]
        opened = await asynchronous.open(store)
        assert isinstance(opened, zarrcore.AsyncArray)
        like = await asynchronous.zeros_like(opened)
        assert like.shape == (3,)
        nodes = {"a": zarrcore.create_group({}).metadata}
        made = [path async for path, _ in asynchronous.create_hierarchy(store=MemoryStore(), nodes=nodes)]
        assert made == ["", "a"]

    asyncio.run(main())


def test_the_event_loop_is_not_blocked():
    async def main():
        a = await asynchronous.create_array({}, shape=(64,), chunks=(1,), dtype="i4")
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(tick())
        for _ in range(20):
            await a.setitem(..., 1)
        task.cancel()
        assert ticks > 0

    asyncio.run(main())


def test_looking_into_what_is_stored():
    async def main():
        store = {}
        options = {"shape": 8, "chunks": 2, "shards": 4, "dtype": "i4"}
        a = await asynchronous.create_array(store, **options, compressors=None)
        same = zarrcore.open_array(store)
        await a.write(slice(2, None), 7, threads=1)
        info, expected = await a.chunk_info(), same.chunk_info()
        assert info.chunks.tolist() == expected.chunks.tolist() and info.nbytes.tolist() == [52 - 8, 52]
        assert str(await a.explain(3)) == str(same.explain(3))
        inner = await a.encoded(1, 0)
        assert repr(inner).startswith("<AsyncEncodedChunk c/1 (1,), inner (0,)") and inner.key == "c/1"
        assert await inner.get() == same.encoded(1, 0).get() == np.full(2, 7, "i4").tobytes()
        await inner.put(np.array([1, 2], "i4").tobytes())
        with pytest.raises(zarrcore.errors.ChunkDecodeError, match="c/1"):
            await inner.put(b"short")
        with pytest.raises(zarrcore.errors.ChunkDecodeError, match="c/1"):
            await inner.check(b"short")
        assert (await a.read(slice(4, None))).tolist() == [1, 2, 7, 7]
        await (await a.encoded(1, 1)).erase()
        assert same[4:].tolist() == [1, 2, 0, 0]
        with pytest.raises(zarrcore.errors.RegionOverlapError):
            a.check_regions([slice(0, 3), slice(3, 4)])

    asyncio.run(main())


def test_reading_what_can_be_read():
    async def main():
        store = {}
        a = await asynchronous.create_array(store, shape=4, chunks=2, dtype="i4", compressors=None)
        await a.setitem(..., [1, 2, 3, 4])
        store["c/1"] = b"bad"
        with pytest.raises(zarrcore.errors.ChunkError, match="c/1"):
            await a.read()
        values, errors = await a.read(on_error="collect")
        assert values.tolist() == [1, 2, 0, 0] and [error.key for error in errors] == ["c/1"]
        with pytest.warns(zarrcore.errors.ZarrUserWarning, match="c/1"):
            assert (await a.read(slice(1, 3), on_error="fill")).tolist() == [2, 0]
        with pytest.raises(ValueError, match="on_error"):
            await a.read(on_error="ignore")
        report = await asynchronous.verify(store)
        assert [finding.key for finding in report.findings] == ["c/1"]
        aside = {}
        await asynchronous.repair(report, dry_run=False, quarantine=aside)
        assert aside == {"c/1": b"bad"} and (await a.read()).tolist() == [1, 2, 0, 0]
        assert await asynchronous.compact(a) == zarrcore.compact(zarrcore.open_array(store))

    asyncio.run(main())
