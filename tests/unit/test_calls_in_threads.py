# SPDX-License-Identifier: MIT
"""A function of many items on several threads, where the system has no room for as many."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from zarrcore._threads import in_threads


@pytest.mark.parametrize("most", [0, 1, 2, 99])
def test_those_threads_that_there_are_do_the_work(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    start = threading.Thread.start
    started: list[threading.Thread] = []
    calls = Counter[int]()

    def begin(thread: threading.Thread) -> None:
        if len(started) >= most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    def square(n: int) -> int:
        calls[n] += 1
        return n * n

    monkeypatch.setattr(threading.Thread, "start", begin)
    assert [*in_threads(square, range(100), 4)] == [n * n for n in range(100)]
    assert calls == Counter(range(100))


def test_an_error_of_the_function_is_raised_without_threads_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def fail(n: int) -> int:
        raise OSError(f"item {n}")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OSError, match="item 0"):
        list(in_threads(fail, range(9), 4))
