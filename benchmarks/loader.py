# SPDX-License-Identifier: MIT
"""Random crops through torch's ``DataLoader``: ``python -m benchmarks.loader DATA``, with torch installed.

DATA is the folder of arrays of ``python -m benchmarks --only 'batches/*'``, ``benchmarks/data/quick``.
zarrcore's data set, and two over tensorstore (one batch for all crops; one read for each), get the same crops
in turns, with forked workers and without.  Shown are the least CPU times, of the workers too.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import tensorstore as ts
import torch
from torch.utils.data import DataLoader, Dataset

import zarrcore
from zarrcore.torch import MapDataset

_EDGE, _BATCH = 64, 32


class _Crops(Dataset[torch.Tensor]):
    """What a user of tensorstore would write; the array is opened where it is read, after the fork."""

    def __init__(self, folder: Path, starts: np.ndarray, *, in_batches: bool) -> None:
        self._folder, self._starts, self._in_batches = folder, starts, in_batches
        self._opened: Any = None

    def __len__(self) -> int:
        return len(self._starts)

    def __getitems__(self, numbers: list[int]) -> list[torch.Tensor]:
        if self._opened is None:
            spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{self._folder}/"}}
            self._opened = ts.open(spec, open=True).result()
        boxes = [tuple(slice(i, i + _EDGE) for i in self._starts[number].tolist()) for number in numbers]
        if not self._in_batches:
            return [torch.from_numpy(self._opened[box].read().result()) for box in boxes]
        with ts.Batch() as batch:
            reads = [self._opened[box].read(batch=batch) for box in boxes]
        return [torch.from_numpy(read.result()) for read in reads]


def _pass(dataset: Any, workers: int) -> tuple[float, int]:
    """CPU seconds of a pass, and the sum of all first planes."""
    before, total = os.times()[:4], 0
    context = "fork" if workers else None
    for batch in DataLoader(dataset, _BATCH, num_workers=workers, multiprocessing_context=context):
        total += int(batch[..., 0].to(torch.int64).sum())
    return sum(os.times()[:4]) - sum(before), total


def main() -> None:
    """Measure the arrays that are there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--crops", type=int, default=160)
    given = parser.parse_args()
    torch.set_num_threads(1)
    names = ("volume-raw", "volume-blosc", "volume-zstd", "volume-shards", "volume-shards-zstd")
    for workers in (2, 0):  # no tensorstore in this process before the forks
        for folder in (given.data / name for name in names):
            array = zarrcore.open_array(folder, mode="r")
            shape = np.array(array.shape)
            starts = np.random.default_rng(3).integers(0, shape - _EDGE + 1, (given.crops, 3))
            sides = {
                "zarrcore": MapDataset(array, crop=(_EDGE,) * 3, starts=starts),
                "tensorstore": _Crops(folder, starts, in_batches=True),
                "one by one": _Crops(folder, starts, in_batches=False),
            }
            least = dict.fromkeys(sides, float("inf"))
            totals = set()
            for _ in range(given.rounds):
                for side, dataset in sides.items():
                    seconds, total = _pass(dataset, workers)
                    least[side] = min(least[side], seconds)
                    totals.add(total)
            if len(totals) != 1:
                raise RuntimeError(f"{folder.name}: the values differ")
            own = least["zarrcore"]
            shown = (f"{side} {cpu * 1e3:.0f} ms ({cpu / own:.2f})" for side, cpu in least.items())
            print(f"{folder.name:20} {workers} workers:", "; ".join(shown), flush=True)


if __name__ == "__main__":
    main()
