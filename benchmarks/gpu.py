# SPDX-License-Identifier: MIT
"""Whole reads into the memory of a GPU: ``python -m benchmarks.gpu``, with torch and CUDA.

512 MiB of int16 in 64 chunks, read by all threads: ``read`` and ``read, pinned`` stay in the memory of the
host, in new memory and in pinned memory that was used before; ``copied`` are those two and the copy to the GPU;
in ``overlapped`` each of eight slabs is copied while the next one is read.  Shown are medians in milliseconds.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import zarrcore
from zarrcore.codecs import BloscCodec, ZstdCodec

_SHAPE, _SLAB, _CHUNK = (256, 1024, 1024), 32, (4, 1024, 1024)
_CODECS = {
    "raw": None,
    "lz4": BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2),
    "zstd": ZstdCodec(level=3),
}


def calls(array: zarrcore.Array, gpu: torch.Tensor) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    pinned = torch.empty(_SHAPE, dtype=torch.int16, pin_memory=True)
    slabs = [torch.empty((_SLAB, *_SHAPE[1:]), dtype=torch.int16, pin_memory=True) for _ in range(2)]

    def copied_from_pinned() -> None:
        array.read(out=pinned)
        gpu.copy_(pinned, non_blocking=True)

    def overlapped() -> None:
        copied: list[torch.cuda.Event] = []
        for number, first in enumerate(range(0, _SHAPE[0], _SLAB)):
            if number > 1:
                copied[number - 2].synchronize()
            slab = slabs[number % 2]
            array.read(slice(first, first + _SLAB), out=slab)
            gpu[first : first + _SLAB].copy_(slab, non_blocking=True)
            copied.append(torch.cuda.Event())
            copied[-1].record()

    return {
        "read": lambda: array[...],
        "read, pinned": lambda: array.read(out=pinned),
        "copied": lambda: gpu.copy_(torch.from_numpy(array[...])),
        "copied, pinned": copied_from_pinned,
        "overlapped": overlapped,
    }


def timed(call: Callable[[], object]) -> float:
    """Milliseconds until the GPU is done."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scratch", type=Path, help="directory for the arrays, such as /dev/shm")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    steps = np.random.default_rng(0).integers(-2, 3, _SHAPE, dtype="i2")
    values = np.cumsum(steps, axis=2, dtype="i2")
    gpu, truth = torch.empty(_SHAPE, dtype=torch.int16, device="cuda"), torch.from_numpy(values).cuda()
    folder = Path(tempfile.mkdtemp(dir=options.scratch))
    try:
        for name, codec in _CODECS.items():
            array = zarrcore.create_array(folder / name, data=values, chunks=_CHUNK, compressors=codec)
            measured = calls(array, gpu)
            for what in list(measured)[2:]:
                gpu.zero_()
                timed(measured[what])
                assert torch.equal(gpu, truth), (name, what)
            times = {what: [timed(call) for _ in range(options.rounds)] for what, call in measured.items()}
            print(
                name, {what: round(float(np.median(found)), 1) for what, found in times.items()}, flush=True
            )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
