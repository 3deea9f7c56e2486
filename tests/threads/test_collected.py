# SPDX-License-Identifier: MIT
"""Ctrl-C is not lost where an object is collected.

Python prints and forgets what a signal handler raises there.  A handler runs in functions of Python alone,
so none may be called.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import ManagedMemoryStore


@contextmanager
def seen() -> Iterator[list[str]]:
    """The functions of Python that this thread calls."""
    calls: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def array() -> Any:
    array = zarrcore.create_array({}, data=np.arange(10), chunks=5)
    array[0] = array[1]
    return array


def group() -> Any:
    store = zarrcore.storage.MemoryStore()
    zarrcore.create_group(store).create_array("a", data=np.arange(3))
    zarrcore.consolidate_metadata(store)
    group = zarrcore.open_group(store)
    assert group["a"][1] == 1 and [*group] == ["a"]
    return group


def writer() -> Any:
    with array().writer() as writer:
        writer[2:7] = 1
        writer.append(np.arange(4))
    return writer


def managed() -> Any:
    store = ManagedMemoryStore()
    zarrcore.create_array(store, data=np.arange(10))
    return store


@pytest.mark.parametrize("make", [array, group, writer, managed])
def test_no_function_of_python_is_called_where_an_object_is_collected(make: Callable[[], Any]) -> None:
    it = [make()]
    gone = ref(it[0])
    gc.collect()
    gc.disable()  # others may have functions called where it begins
    try:
        with seen() as calls:
            it.pop()
    finally:
        gc.enable()
    assert gone() is None
    # The end of the `with` statement is seen as well.
    assert [call for call in calls if not call.startswith(("seen", "_GeneratorContextManager"))] == []
