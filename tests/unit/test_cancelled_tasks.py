# SPDX-License-Identifier: MIT
"""What is stored when a task of asyncio is cancelled: nothing after the task has ended."""

from __future__ import annotations

import _thread
import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from pausing_stores import Pausing

import zarrcore
from zarrcore import _awaited
from zarrcore.node import in_thread
from zarrcore.storage import MemoryStore
from zarrcore.storage.byte_range import ByteRange


async def turns() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def inside(store: Pausing) -> None:
    assert await asyncio.to_thread(store.is_inside.wait, 60)


CHANGES: dict[str, Callable[[zarrcore.AsyncGroup, zarrcore.AsyncArray], Awaitable[Any]]] = {
    "setitem": lambda group, array: array.setitem(..., 2),
    "write": lambda group, array: array.write(..., 2),
    "append": lambda group, array: array.append(np.full(4, 2)),
    "setitem of a group": lambda group, array: group.setitem("a", np.full(4, 2)),
    "create_array": lambda group, array: group.create_array(
        "a", data=np.full(8, 2), chunks=4, overwrite=True
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_stored_after_the_end_of_a_cancelled_task(change: str) -> None:
    """The call went on in its thread: what it stored replaced what was stored, and confirmed, after it."""
    store = Pausing(MemoryStore())

    async def main() -> dict[str, Any]:
        group = await zarrcore.AsyncGroup.from_store(store)
        array = await group.create_array("a", data=np.ones(8), chunks=4)
        store.pauses_at = "a/c/2" if change == "append" else "a/c/0"
        task = asyncio.ensure_future(CHANGES[change](group, array))
        await inside(store)
        task.cancel()
        await turns()
        task.cancel()
        await turns()
        is_done = task.done()
        store.may_go_on.set()
        assert not is_done
        with pytest.raises(asyncio.CancelledError):
            await task
        return {key: bytes(store.get(key) or b"") for key in store.list()}

    then = asyncio.run(main())
    assert then == {key: bytes(store.get(key) or b"") for key in store.list()}
    assert (zarrcore.open_array(store, path="a")[-4:] == 2).all()


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one thread for calls, which has not been started, and no others while that waits."""
    monkeypatch.setattr(_awaited, "NODES", _awaited.Threads("zarrcore-test", 1))
    monkeypatch.setattr(_awaited, "_PATIENCE", 60)


@pytest.mark.usefixtures("one_thread")
def test_what_had_not_begun_never_does() -> None:
    store = Pausing(MemoryStore())

    async def main() -> None:
        array = await zarrcore.api.asynchronous.create_array(store, data=np.ones(8), chunks=4)
        store.pauses_at = "c/0"
        first = asyncio.ensure_future(array.setitem(0, 2))
        while not store.is_inside.is_set():
            await asyncio.sleep(0)
        second = asyncio.ensure_future(array.setitem(4, 2))
        await turns()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second  # it does not wait for the first one
        assert not first.done()
        store.may_go_on.set()
        await first

    asyncio.run(main())
    assert zarrcore.open_array(store)[...].tolist() == [2, 1, 1, 1, 1, 1, 1, 1]


def test_what_goes_wrong_meanwhile_is_the_cause() -> None:
    """Otherwise asyncio logs that nobody has heard of it."""
    asked, may_fail = threading.Event(), threading.Event()

    class Failing(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            if "c/" in key:
                asked.set()
                assert may_fail.wait(60)
                raise OSError("no room")
            super().set(key, value)

    async def main() -> None:
        array = await zarrcore.api.asynchronous.create_array(Failing(), shape=4, dtype="i4")
        task = asyncio.ensure_future(array.setitem(..., 1))
        assert await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        may_fail.set()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert "no room" in str(caught.value.__cause__)

    asyncio.run(main())


def test_an_end_of_which_an_interrupt_has_lost_the_news_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ctrl-C that is raised in the loop itself loses what that was about to do: the task never ended."""
    array = zarrcore.create_array({}, data=np.ones(4), chunks=2)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with monkeypatch.context() as patch:
            patch.setattr(loop, "call_soon_threadsafe", lambda *_, **__: None)
            task = asyncio.ensure_future(array.async_array.setitem(..., 2))
            await asyncio.sleep(0.2)
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)

    asyncio.run(main())
    assert array[...].tolist() == [2] * 4


def test_nothing_is_put_into_memory_after_the_end_of_a_cancelled_task() -> None:
    asked, may_go_on = threading.Event(), threading.Event()

    class Slow(MemoryStore):
        def get(self, key: str, byte_range: ByteRange | None = None) -> Any:
            if "c/" in key:
                asked.set()
                assert may_go_on.wait(60)
            return super().get(key, byte_range)

    async def main() -> None:
        array = await zarrcore.api.asynchronous.create_array(Slow(), data=np.ones(4), chunks=4)
        memory = np.zeros(4)
        task = asyncio.ensure_future(array.read(..., out=memory))
        assert await asyncio.to_thread(asked.wait, 60)
        task.cancel()
        await turns()
        is_done = task.done()
        may_go_on.set()
        assert not is_done
        with pytest.raises(asyncio.CancelledError):
            await task
        assert memory.tolist() == [1] * 4

    asyncio.run(main())


def test_a_failure_is_that_of_the_call() -> None:
    async def main() -> None:
        array = await zarrcore.api.asynchronous.create_array({}, data=np.ones(4))
        with pytest.raises(IndexError, match="9"):
            await array.setitem(9, 1)

    asyncio.run(main())


@pytest.mark.usefixtures("one_thread")
def test_ctrl_c_at_the_start_of_a_thread_waits_for_what_that_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor did not know it, and did not wait for it: values were stored after asyncio.run."""
    store, start = Pausing(MemoryStore()), _thread.start_new_thread
    array = zarrcore.create_array(store, data=np.ones(8), chunks=4).async_array
    store.pauses_at = "c/0"

    def interrupted(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        monkeypatch.setattr(_thread, "start_new_thread", start)
        start(work, arguments)
        assert store.is_inside.wait(60)
        threading.Timer(0.1, store.may_go_on.set).start()
        raise KeyboardInterrupt

    async def main() -> None:
        monkeypatch.setattr(_thread, "start_new_thread", interrupted)
        await array.setitem(..., 2)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert zarrcore.open_array(store)[...].tolist() == [2] * 8, "what was begun has ended"


@pytest.mark.usefixtures("one_thread")
def test_what_found_no_thread_is_not_done_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The executor keeps the call for its next thread."""
    array = zarrcore.create_array({}, data=np.ones(8), chunks=4)
    start = _thread.start_new_thread

    def limited(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        monkeypatch.setattr(_thread, "start_new_thread", start)
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        monkeypatch.setattr(_thread, "start_new_thread", limited)
        with pytest.raises(RuntimeError, match="has no thread, or no memory"):
            await array.async_array.setitem(..., 2)
        await in_thread(str)

    asyncio.run(main())
    assert array[...].tolist() == [1] * 8
