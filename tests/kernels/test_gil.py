# SPDX-License-Identifier: MIT
"""While a kernel works on much memory, another thread runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import numpy as np
import pytest

from zarrcore import kernels
from zarrcore.codecs import compressors

pytestmark = [pytest.mark.threads, pytest.mark.alone]
with_gil = pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="this Python has no GIL to let go of"
)

BIG = np.zeros(1 << 24, dtype="<u4")
OUT = np.zeros(1 << 24, dtype="<u4")
BYTES = BIG.view("u1")
FLAGS = np.zeros(1 << 24, dtype=bool)
PACKED = kernels.zstd_encode(BIG)
INDEX = kernels.shard_index_pack(np.zeros(1 << 20, "u8"), np.zeros(1 << 20, "u8"))


@pytest.fixture
def patient_switching():
    """A thread that holds the GIL keeps it, so that the other one runs only while it is released."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


def ticks_during(call: Callable[[], object], *, enough: int = 3, most_calls: int = 100) -> int:
    """How often another thread got to run, within as many calls as it takes."""
    ticks = 0
    stop = False

    def tick() -> None:
        nonlocal ticks
        wait = threading.Event()
        while not stop:
            ticks += 1
            wait.wait(0.0002)  # gives the GIL back

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = ticks
        for _ in range(most_calls):
            call()
            if ticks - before >= enough:
                break
        return ticks - before
    finally:
        stop = True
        thread.join()


@with_gil
@pytest.mark.parametrize(
    "call",
    [
        lambda: kernels.crc32c(BIG),
        lambda: kernels.byteswap(BIG, out=OUT),
        lambda: kernels.copy_region(OUT, BIG),
        lambda: kernels.transpose(BIG.reshape(4096, 4096), (1, 0), out=OUT.reshape(4096, 4096)),
        lambda: kernels.fill(OUT, 0),
        lambda: kernels.equals_fill(BIG, 0),
        lambda: kernels.equals_fill(BIG.view("<f4"), 0.0, nan_equal=True),
        lambda: kernels.byteswap.ufunc(BIG, OUT),
        lambda: kernels.crc32c.ufunc(BIG, 0),
        lambda: kernels.crc32c.ufunc(BIG.reshape(4, -1), 0),
        lambda: kernels.crc32c.ufunc(BIG[: 400 * 40000].reshape(400, 40000), 0),
        lambda: kernels.equals_fill.ufunc(BIG, np.uint32(0)),
        lambda: kernels.equals_fill.ufunc_nan_equal(BIG.view("<f4"), np.float32(0)),
        lambda: kernels.delta_encode(BIG, out=OUT),
        lambda: kernels.delta_decode(BIG, out=OUT),
        lambda: kernels.shuffle(BYTES, 4, out=OUT.view("u1")),
        lambda: kernels.unshuffle(BYTES, 4, out=OUT.view("u1")),
        lambda: kernels.chunk_index(BIG.view("<i8"), 10),
        lambda: kernels.morton_decode(BIG.view("<i8"), (8, 8)),
        lambda: kernels.pack_bits(FLAGS),
        lambda: kernels.pack_bits(BIG, last_bit=3),
        lambda: kernels.zstd_decode(PACKED, out=OUT),
        lambda: kernels.lz4_encode(BIG),
        lambda: kernels.shard_index_unpack(INDEX, shard_nbytes=0),
    ],
    ids=[
        "crc32c",
        "byteswap",
        "copy_region",
        "transpose",
        "fill",
        "equals_fill",
        "equals_fill_float",
        "byteswap_ufunc",
        "crc32c_1_block",
        "crc32c_4_blocks",
        "crc32c_400_blocks",
        "equals_fill_blocks",
        "equals_fill_blocks_nan_equal",
        "delta_encode",
        "delta_decode",
        "shuffle",
        "unshuffle",
        "chunk_index",
        "morton_decode",
        "pack_flags",
        "pack_bits",
        "zstd_decode",
        "lz4_encode",
        "shard_index_unpack",
    ],
)
def test_other_thread_runs(patient_switching, call):
    call()
    assert ticks_during(call) >= 3


@with_gil
@pytest.mark.parametrize("codec", [compressors.BZ2(), compressors.LZMA(preset=0)], ids=["bz2", "lzma"])
def test_other_thread_runs_beside_the_standard_library(patient_switching, codec):
    data = np.random.default_rng(0).integers(0, 4, 1 << 19, "u1").tobytes()
    encoded = codec.encode(data)
    assert ticks_during(lambda: codec.encode(data)) >= 3
    assert ticks_during(lambda: codec.decode(encoded, None, len(data))) >= 3


@with_gil
def test_control(patient_switching):
    """The method itself: a call that keeps the GIL gives no ticks."""
    assert ticks_during(lambda: sum(range(200_000)), most_calls=10) <= 1


def test_same_results_from_many_threads():
    data = np.random.default_rng(3).integers(0, 2**32, 1 << 16, dtype="<u4")
    expected = (kernels.crc32c(data), data.byteswap().tobytes())
    found = []

    def work() -> None:
        for _ in range(10):
            found.append((kernels.crc32c(data), kernels.byteswap(data).tobytes()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 40
