"""What stands under zarr-python when many calls are made at once, are cancelled, or cross a fork."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pausing_stores import Pausing

import zarrcore
from zarrcore.errors import StoreError
from zarrcore.storage import MemoryStore, ZarrPythonStore

zarr = pytest.importorskip("zarr")
pytest.importorskip("zarrcore.integrations.zarr_python.pipeline")

from zarrcore.integrations.zarr_python import ZarrcoreStore  # noqa: E402
from zarrcore.integrations.zarr_python.parts import Wanted  # noqa: E402

pytestmark = pytest.mark.threads
OURS = "zarrcore.integrations.zarr_python.CodecPipeline"
NUMBERS = np.arange(100)


@pytest.fixture(autouse=True)
def with_pipeline() -> Iterator[None]:
    with zarr.config.set({"codec_pipeline.path": OURS}):
        yield


def wrapped(place: Path) -> Any:
    """Return a store whose files are read and written in threads of the event loop."""
    return zarr.storage.WrapperStore(zarr.storage.LocalStore(place))


class Slowly(zarr.storage.MemoryStore):  # type: ignore[misc]
    """A store that is waited for."""

    async def get(self, *args: Any, **options: Any) -> Any:
        await asyncio.sleep(0.001)
        return await super().get(*args, **options)


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_at_once_need_no_thread_of_the_loop(threads: int, tmp_path: Path) -> None:
    array = zarr.create_array(wrapped(tmp_path), shape=100, chunks=10, dtype="i4")._async_array

    async def main() -> Any:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads))
        parts = [slice(begin, begin + 10) for begin in range(0, 100, 10)]
        await asyncio.gather(*(array.setitem(part, NUMBERS[part]) for part in parts))
        return await asyncio.gather(*(array.getitem(part) for part in parts))

    assert np.array_equal(np.concatenate(asyncio.run(main())), NUMBERS)


@pytest.mark.timeout(60)
def test_our_own_asynchronous_arrays_need_no_thread_of_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the loop of zarr-python, whose files are read in its threads: these waited for files themselves."""
    array = zarrcore.create_array(wrapped(tmp_path), data=NUMBERS, chunks=10).async_array
    monkeypatch.setattr(zarr.core.sync._get_loop(), "_default_executor", ThreadPoolExecutor(2))

    async def main() -> Any:
        parts = [slice(begin, begin + 10) for begin in range(0, 100, 10)]
        await asyncio.gather(*(array.setitem(part, NUMBERS[part] + 1) for part in parts))
        return await asyncio.gather(*(array.getitem(part) for part in parts))

    assert np.array_equal(np.concatenate(zarr.core.sync.sync(main())), NUMBERS + 1)


class Virtual(zarr.storage.MemoryStore):  # type: ignore[misc]
    """A store whose chunks need the values of another array, which its coroutines await."""

    source: Any = None

    async def get(self, key: str, *args: Any, **options: Any) -> Any:
        if self.source is not None and "c/" in key:
            assert np.array_equal(await self.source.getitem(slice(None)), NUMBERS)
        return await super().get(key, *args, **options)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("library", [zarr, zarrcore], ids=["zarr", "zarrcore"])
def test_coroutines_of_stores_may_await_arrays_in_many_calls_at_once(library: Any) -> None:
    """All threads waited for coroutines of stores, and what these awaited waited for a thread."""
    source = library.create_array(Slowly(), data=NUMBERS, chunks=10)
    store = Virtual()
    outer = library.create_array(store, data=NUMBERS, chunks=100)
    name = "async_array" if hasattr(outer, "async_array") else "_async_array"  # in zarr-python 3.1.0
    store.source, asynchronous = getattr(source, name), getattr(outer, name)

    async def main() -> Any:
        return await asyncio.gather(*(asynchronous.getitem(slice(5, 8)) for _ in range(150)))

    assert [found.tolist() for found in zarr.core.sync.sync(main())] == [[5, 6, 7]] * 150


def test_a_store_of_ours_needs_no_thread_of_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = zarr.core.sync._get_loop()
    monkeypatch.setattr(loop, "_default_executor", ThreadPoolExecutor(1))
    ours = zarrcore.create_array(ZarrPythonStore(wrapped(tmp_path)), data=NUMBERS, chunks=10)
    assert np.array_equal(ours.as_zarr()[:], NUMBERS)


class Gated(zarr.storage.MemoryStore):
    """A store of which a chunk waits at a gate before it is read or stored."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.gate, self.reached, self.stored = threading.Event(), threading.Event(), threading.Event()
        self.gate.set()

    async def _wait(self, key: str) -> None:
        if "c/" in key:
            self.reached.set()
            while not self.gate.is_set():
                await asyncio.sleep(0.001)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        await self._wait(key)
        return await super().get(key, prototype, byte_range)

    async def set(self, key: str, value: Any, byte_range: Any = None) -> None:
        await self._wait(key)
        await super().set(key, value)
        if "c/" in key:
            self.stored.set()


async def reached(store: Gated) -> None:
    while not store.reached.is_set():
        await asyncio.sleep(0.001)


def test_a_cancelled_write_stores_nothing_after_its_task_has_ended() -> None:
    store = Gated()
    array = zarr.create_array(store, shape=4, chunks=4, dtype="i4")._async_array

    async def main() -> None:
        store.gate.clear()
        task = asyncio.create_task(array.setitem(slice(None), 1))
        await reached(store)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.01)
        assert not task.done()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert store.stored.is_set()
        await array.setitem(slice(None), 2)

    asyncio.run(main())
    assert zarr.open_array(store)[:].tolist() == [2] * 4


@pytest.mark.parametrize("change", ["set", "set_if_not_exists"])
def test_a_cancelled_change_of_a_store_of_ours_ends_with_its_task(change: str) -> None:
    """It went on in its thread: what it stored replaced what was stored, and confirmed, after it."""
    from zarr.core.buffer import default_buffer_prototype

    ours = Pausing(MemoryStore())
    ours.pauses_at = "key"
    theirs = ZarrcoreStore(ours)
    value = default_buffer_prototype().buffer.from_bytes(b"old")

    async def main() -> None:
        task = asyncio.create_task(getattr(theirs, change)("key", value))
        assert await asyncio.to_thread(ours.is_inside.wait, 60)
        task.cancel()
        await asyncio.sleep(0.01)
        is_done = task.done()
        ours.may_go_on.set()
        assert not is_done
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert bytes(ours.get("key") or b"") == b"old"


def test_a_cancelled_read_does_not_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(Gated):
        gets = 0

        async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
            type(self).gets += "c/" in key
            return await super().get(key, prototype, byte_range)

    store = Counting()
    array = zarr.create_array(store, data=np.arange(1000), chunks=1)._async_array
    ended, read = threading.Event(), Wanted.read

    def reading(*args: Any) -> None:
        try:
            read(*args)
        finally:
            ended.set()

    monkeypatch.setattr(Wanted, "read", reading)

    async def main() -> None:
        store.gate.clear()
        store.reached.clear()
        task = asyncio.create_task(array.getitem(slice(None)))
        await reached(store)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not ended.is_set():  # though the store does not answer
            await asyncio.sleep(0.001)
        store.gate.set()

    with zarrcore.config.set({"threading.max_workers": 1}):  # others of the pool go on to wait
        asyncio.run(main())
    assert 0 < store.gets < 1000
    assert np.array_equal(zarr.open_array(store)[:], np.arange(1000))


def test_a_read_ends_whose_loop_has_stopped() -> None:
    store = Gated()
    zarr.create_array(store, data=NUMBERS, chunks=100)
    store.gate.clear()
    loop = asyncio.new_event_loop()
    runner = threading.Thread(target=loop.run_forever)
    runner.start()
    adapter, errors = ZarrPythonStore(store).on_loop(loop), []

    def read() -> None:
        try:
            adapter.get("c/0")
        except StoreError as error:
            errors.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    store.reached.wait()
    loop.call_soon_threadsafe(loop.stop)
    runner.join()
    reader.join(timeout=60)
    assert not reader.is_alive() and "does not run any more" in errors[0]
    store.gate.set()  # what was begun ends
    loop.run_until_complete(asyncio.wait(asyncio.all_tasks(loop)))
    loop.close()


def test_another_thread_may_open_the_array_on_its_loop_meanwhile() -> None:
    array = zarr.create_array(zarr.storage.WrapperStore(zarr.storage.MemoryStore()), data=NUMBERS, chunks=10)
    pipeline = array._async_array.codec_pipeline

    class Loop:
        def is_closed(self) -> bool:
            pipeline._engines["of another thread"] = None
            return False

    pipeline._engines = {("x", True, Loop()): None}
    assert np.array_equal(array[:], NUMBERS)


FORKED = """
import os, sys, zarr, numpy as np
store = zarr.storage.WrapperStore(zarr.storage.LocalStore(sys.argv[1]))
array = zarr.create_array(store, data=np.arange(100), chunks=10)
assert array[:].sum() == 4950
child = os.fork()
if child == 0:
    array[:] = 2
    os._exit(int(array[:].sum() != 200))
assert os.waitpid(child, 0)[1] == 0
assert array[:].sum() == 200
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_reads_and_writes(tmp_path: Path) -> None:
    program = "import zarrcore.integrations.zarr_python.pipeline, zarr\n"
    program += f"zarr.config.set({{'codec_pipeline.path': {OURS!r}}})\n{FORKED}"
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "a")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
