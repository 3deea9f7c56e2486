# SPDX-License-Identifier: MIT
"""Threads, and a function of many items on several of them, where the system has no room for as many."""

from __future__ import annotations

import _thread
import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from threading import Barrier, Event, get_ident, main_thread
from time import sleep
from typing import Any

import pytest

from zarrcore import _awaited, _threads
from zarrcore._core import engine
from zarrcore._pools import Pool
from zarrcore._threads import in_threads
from zarrcore.storage import loops

Start = Callable[[Callable[..., object], tuple[Any, ...]], int]


def refuse(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
    raise RuntimeError("can't start new thread")


def die(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
    """Do what a thread does that has no memory for its first step."""
    return 1


@pytest.mark.parametrize("others", [refuse, die])
@pytest.mark.parametrize("most", [0, 1, 2, 99])
def test_those_threads_that_there_are_do_the_work(
    monkeypatch: pytest.MonkeyPatch, most: int, others: Start
) -> None:
    start = _thread.start_new_thread
    started: list[int] = []
    calls = Counter[int]()

    def begin(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        if len(started) >= most:
            return others(work, arguments)
        started.append(start(work, arguments))
        return started[-1]

    def square(n: int) -> int:
        calls[n] += 1
        return n * n

    monkeypatch.setattr(_threads, "_PATIENCE", 1e-3)
    monkeypatch.setattr(_thread, "start_new_thread", begin)
    assert [*in_threads(square, range(100), 4)] == [n * n for n in range(100)]
    assert calls == Counter(range(100))


@pytest.mark.parametrize("start", [refuse, die])
def test_an_error_of_the_function_is_raised_without_threads_too(
    monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    def fail(n: int) -> int:
        raise OSError(f"item {n}")

    monkeypatch.setattr(_threads, "_PATIENCE", 1e-3)
    monkeypatch.setattr(_thread, "start_new_thread", start)
    with pytest.raises(OSError, match="item 0"):
        list(in_threads(fail, range(9), 4))


def test_no_call_is_under_way_when_its_caller_goes_on() -> None:
    under_way = set[int]()

    def work(n: int) -> int:
        under_way.add(n)
        if n == 3:
            raise OSError("item 3")
        sleep(1e-3)
        under_way.discard(n)
        return n

    with pytest.raises(OSError, match="item 3"):
        list(in_threads(work, range(30), 4))
    assert under_way == {3}


def test_an_interrupt_of_a_later_item_was_lost_behind_a_failure() -> None:
    both = Barrier(2, timeout=60)

    def work(n: int) -> None:
        if n < 2:
            both.wait()
            raise [OSError("item 0"), KeyboardInterrupt][n]

    with pytest.raises(KeyboardInterrupt) as caught:
        list(in_threads(work, range(9), 2))
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("handled", [TimeoutError, KeyboardInterrupt])
def test_what_a_signal_handler_raised_was_lost_behind_a_failure(handled: type[BaseException]) -> None:
    has_begun = Event()

    def handle(*_: object) -> None:
        raise handled("of a signal")

    def work(n: int) -> None:
        if get_ident() != main_thread().ident:
            has_begun.wait()
            raise OSError(f"item {n}")
        has_begun.set()
        while not engine.is_ending():
            sleep(1e-4)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(handled, match="of a signal"):
            engine.call_parallel(work, 2, 2)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("start", [refuse, die])
def test_a_thread_that_cannot_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    """A call of a store is made without one, a call that is awaited fails."""
    monkeypatch.setattr(_thread, "start_new_thread", start)
    with pytest.raises(RuntimeError, match="no more threads, or no memory"):
        _threads.start(list)
    assert Pool("test", 4).submit(divmod, 7, 3).result() == (2, 1)

    async def divide() -> tuple[int, int]:
        return await _awaited.Threads("test", 4).run(divmod, 7, 3)

    with pytest.raises(RuntimeError, match="has no thread, or no memory"):
        asyncio.run(divide())
    with pytest.raises(RuntimeError, match="no more threads"):
        loops._started()


def test_what_comes_after_the_end_of_a_pool_is_done() -> None:
    pool = Pool("test", 4)
    before = [pool.submit(divmod, n, 3) for n in range(20)]
    pool.end()
    after = [pool.submit(divmod, n, 3) for n in range(20)]
    assert [one.result(60) for one in before + after] == [divmod(n, 3) for n in range(20)] * 2
    pool.join()


def test_a_thread_is_joined() -> None:
    goes_on = _thread.allocate_lock()
    goes_on.acquire()
    thread = _threads.start(goes_on.acquire)
    thread.join(1e-3)
    assert thread.is_alive()
    goes_on.release()
    thread.join()
    assert not thread.is_alive()


THREAD_OF_RUST = """
import _thread, atexit, time
has_come_back, begins = [], _thread.allocate_lock()
begins.acquire()
atexit.register(lambda: print(has_come_back))  # the first to be registered is the last that is called
import zarrcore.storage.loops
def call_soon_threadsafe():
    begins.release()
    time.sleep(0.2)
    has_come_back.append(True)
_thread.start_new_thread(call_soon_threadsafe, ())
begins.acquire()
"""


def test_a_process_ended_below_the_thread_that_had_brought_its_last_answer() -> None:
    """With icechunk 3 of 100 programs ended by SIGSEGV, in a thread that CPython ended."""
    program = [sys.executable, "-c", THREAD_OF_RUST]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout == "[True]\n"
