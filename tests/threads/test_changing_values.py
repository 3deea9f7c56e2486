# SPDX-License-Identifier: MIT
"""Values in memory that another thread changes while they are decoded: an error, or items that are sound."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from zarrcore._core import vlen
from zarrcore.errors import ChunkDecodeError

N = 5_000


def flipping(versions: list[bytes], use: Callable[[bytearray], Any]) -> None:
    """Call `use` on memory that holds now one version, now another, and parts of both in between."""
    memory = bytearray(versions[0])
    view = np.frombuffer(memory, "u1")
    arrays = [np.frombuffer(version, "u1") for version in versions]
    done = threading.Event()

    def flip() -> None:
        while not done.is_set():
            for array in arrays:
                np.copyto(view, array)  # without the GIL

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(10):
            with suppress(ChunkDecodeError):
                use(memory)
    finally:
        done.set()
        thread.join()


def encoded(items: list[bytes]) -> bytes:
    return len(items).to_bytes(4, "little") + b"".join(len(i).to_bytes(4, "little") + i for i in items)


@pytest.mark.threads
@pytest.mark.parametrize("dtype", [np.dtype(object), np.dtypes.StringDType()], ids=["objects", "strings"])
def test_strings_that_change_between_measuring_and_decoding(dtype: np.dtype[Any]) -> None:
    """As many bytes each time, of one character, of seven, and no UTF-8 at all."""
    texts = ["\U0001f600äa".encode(), b"abcdefg", "äöüa".encode()]
    versions = [encoded([text] * N) for text in texts]

    def use(memory: bytearray) -> None:
        for item in vlen.decode(memory, N, dtype, "test", utf8=True):
            assert item.encode().decode() == item and len(item) <= 7
            assert item.isascii() == (max(item) < "\x80")

    flipping(versions, use)


@pytest.mark.threads
def test_arrays_that_change_between_measuring_and_decoding() -> None:
    versions = [
        encoded([b"\1" * 40] + [b"\2" * 4] * N),
        encoded([b"\1" * 4] + [b"\2" * 40] + [b""] * (N - 1)),
    ]
    size = max(map(len, versions))
    versions = [version.ljust(size, b"\0") for version in versions]

    def use(memory: bytearray) -> None:
        for item in vlen.decode_arrays(memory, N + 1, np.dtype("i4"), "test"):
            assert item.nbytes in (0, 4, 40)

    flipping(versions, use)


@pytest.mark.parametrize("decode", [lambda data: vlen.decode(data, 2, np.dtype(object), "test", utf8=False)])
def test_only_what_may_change_is_copied(decode: Callable[[Any], Any]) -> None:
    value = encoded([b"one", b"two"])
    for data in (value, bytearray(value), memoryview(value)[:], np.frombuffer(value, "u1")):
        assert decode(data).tolist() == [b"one", b"two"]
    assert vlen.unchanging(value) is value
    view = memoryview(value)
    assert vlen.unchanging(view) is view
    assert type(vlen.unchanging(bytearray(value))) is bytes
