# SPDX-License-Identifier: MIT
"""What ``locks="file"`` costs of an update of a part of a chunk: ``python -m benchmarks.locking``.

Two arrays that differ in this alone get the same update in turns, some of each at a time.  A ratio is that of
processor times of the thread, with locks to without; each round has one, and the median of the rounds and the
ratio of the fastest of each are shown.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from typing import Any

import numpy as np

import zarrcore
from zarrcore.storage import LocalStore

_LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks of 8 KiB": {"shape": (4096,), "chunks": (1024,), "compressors": None},
    "chunks of 8 KiB, two dimensions": {"shape": (128, 128), "chunks": (32, 32), "compressors": None},
    "chunks of 8 KiB, format 2": {"shape": (4096,), "chunks": (1024,), "compressors": None, "zarr_format": 2},
    "chunks of 8 KiB, zstd": {"shape": (4096,), "chunks": (1024,)},
    "chunks of 160 bytes": {"shape": (80,), "chunks": (20,), "compressors": None},
    "chunks of 80 KiB": {"shape": (40960,), "chunks": (10240,), "compressors": None},
    "shards of 8 KiB": {"shape": (4096,), "chunks": (128,), "shards": (1024,), "compressors": None},
    "shards of 8 KiB, zstd": {"shape": (4096,), "chunks": (128,), "shards": (1024,)},
    "shards of 128 KiB": {"shape": (512, 512), "chunks": (32, 32), "shards": (128, 128), "compressors": None},
    "shards of 128 KiB, zstd": {"shape": (512, 512), "chunks": (32, 32), "shards": (128, 128)},
}


def _array(place: str, options: dict[str, Any], locks: str) -> Any:
    array = zarrcore.create_array(LocalStore(place, locks=locks), dtype="f8", **options)
    array[...] = np.arange(array.size, dtype="f8").reshape(array.shape)
    return array


def _seconds(array: Any, calls: int, number: int) -> float:
    where, values = (5,) * (array.ndim - 1) + (slice(3, 10),), np.arange(number, number + 7, dtype="f8")
    began = time.thread_time()
    for _ in range(calls):
        array[where] = values
    return time.thread_time() - began


def main() -> None:
    """Measure all layouts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="layouts whose name has this text in it")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--calls", type=int, default=30, help="updates of each array in a round")
    parser.add_argument("--scratch", help="directory for the arrays, such as /dev/shm")
    given = parser.parse_args()
    for name, options in _LAYOUTS.items():
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
            arrays = [_array(f"{folder}/{locks}", options, locks) for locks in ("none", "file")]
            samples = []
            for number in range(given.rounds):
                turn = 1 if number % 2 else -1
                samples.append([_seconds(array, given.calls, number) for array in arrays[::turn]][::turn])
            without, with_locks = (min(each) / given.calls * 1e6 for each in zip(*samples, strict=True))
            median = statistics.median(b / a for a, b in samples)
            print(
                f"{name:32} {without:7.1f} us without, {with_locks:7.1f} with: "
                f"{with_locks / without:.3f} of the best, median {median:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
