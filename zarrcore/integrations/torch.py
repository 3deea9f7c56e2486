"""Training data for torch: samples of stored arrays; each batch is one read.

Thin on purpose: loading in worker processes, pinning memory and moving to devices are torch's own
:class:`torch.utils.data.DataLoader`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from zarrcore.arrays.array import Array
from zarrcore.integrations.torch_samples import Epoch, Samples, rebatch, turns_after, whole

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except (
    ModuleNotFoundError
) as error:  # classes can be looked at without torch, and say what is missing when used
    _MISSING: ModuleNotFoundError | None = error
    IterableDataset = object
else:
    _MISSING = None

__all__ = ["MapDataset", "ShuffledDataset"]

_MOST_WORKERS = 1024

Sample: TypeAlias = "torch.Tensor | tuple[torch.Tensor, ...]"


def _require_torch() -> None:
    if _MISSING is not None:
        raise ImportError("torch is not installed: pip install 'zarrcore[torch]'") from _MISSING


def _tensors(values: Sequence[np.ndarray]) -> Sample:
    """Return tensors on the memory of the values; one alone where there is one array."""
    native = (each if each.dtype.isnative else each.astype(each.dtype.newbyteorder("=")) for each in values)
    tensors = tuple(torch.from_numpy(np.ascontiguousarray(each)) for each in native)
    return tensors[0] if len(tensors) == 1 else tensors


def _threads(threads: int) -> int:
    """Divide the CPUs among the worker processes, unless a number was given."""
    info = get_worker_info()
    if threads or info is None:
        return threads
    from zarrcore._core.engine import num_threads

    return max(1, num_threads() // int(info.num_workers))


class MapDataset:
    """Samples of one or several arrays by number, for a torch ``DataLoader``.

    A sample is a row (``array[i]``) of each array, or a crop of each, at the same place.  A batch is one
    :func:`zarrcore.read_many` of all that it needs.

    Parameters
    ----------
    *arrays : Array
        Arrays that agree in the length of their first dimension, or in that of all dimensions of `crop`.
    crop : sequence of int, optional
        Lengths of a crop along the first dimensions; all of the others belong to it.  Default: rows.
    stride : sequence of int, optional
        Distance between crops in a grid.  Default: `crop`; what is left at the ends is in no sample.
    starts : ndarray, optional
        Where crops begin, of shape (samples, ``len(crop)``), in place of a grid: random ones, for example.
    threads : int
        Threads of a read; 0: the configured number, in worker processes their share of it.

    Raises
    ------
    ImportError
        If torch is not installed.
    ValueError
        If the arrays have no samples in common, or a crop is larger than the array or reaches out of it.

    Examples
    --------
    >>> import zarrcore, zarrcore.torch
    >>> from torch.utils.data import DataLoader
    >>> images = zarrcore.create_array({}, shape=(100, 8, 8), chunks=(10, 8, 8), dtype="f4")
    >>> labels = zarrcore.create_array({}, shape=(100,), chunks=(100,), dtype="i8")
    >>> loader = DataLoader(zarrcore.torch.MapDataset(images, labels), batch_size=32, shuffle=True)
    >>> [len(label) for image, label in loader]
    [32, 32, 32, 4]
    """

    def __init__(
        self,
        *arrays: Array,
        crop: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        starts: np.ndarray | None = None,
        threads: int = 0,
    ) -> None:
        _require_torch()
        self._samples = Samples(arrays, crop, stride, starts)
        self._given_threads = threads

    def __len__(self) -> int:
        return self._samples.n

    def __getitem__(self, number: int) -> Sample:
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Sample]:
        """Return the samples of a batch, read in one call; ``DataLoader`` asks for them in this way."""
        n = self._samples.n
        wanted = [whole(number, "sample", -sys.maxsize, sys.maxsize) for number in numbers]
        for number in wanted:
            if not -n <= number < n:
                raise IndexError(f"sample {number} of {n}")
        values = self._samples.read([number % n for number in wanted], _threads(self._given_threads))
        batch = [_tensors([each]) for each in values]
        return [each[0] if len(each) == 1 else each for each in zip(*batch, strict=True)]


class ShuffledDataset(IterableDataset):  # type: ignore[misc]
    """Batches of samples in a random order in which each chunk is decoded once, or nearly so.

    The samples of a chunk are a block.  An epoch goes through the blocks in a random order, `window` of them
    at a time, which are read in one call, and mixes the samples of each window.  Worker processes and ranks
    have different blocks.  The batches are ready: give ``DataLoader`` ``batch_size=None``.

    Parameters
    ----------
    *arrays : Array
        As for :class:`MapDataset`, like `crop`, `stride`, `starts` and `threads`.
    batch_size : int
        Samples of a batch.
    window : int
        Blocks that are mixed.  They are in memory at the same time: more mix better.
    shuffle : bool
        False: all samples in the order of the blocks.
    seed : int
        With the number of the epoch it decides the order.
    drop_last : bool
        Leave out a last batch that is smaller.
    rank, world_size : int
        Which part of the samples belongs to this process among several that train together.  Parts differ in
        length by a block at most.

    Raises
    ------
    ImportError
        If torch is not installed.
    ValueError
        If the arrays have no samples in common, or an argument makes no sense.

    Examples
    --------
    >>> import zarrcore, zarrcore.torch
    >>> from torch.utils.data import DataLoader
    >>> rows = zarrcore.create_array({}, shape=(1000, 20), chunks=(50, 20), dtype="f4")
    >>> dataset = zarrcore.torch.ShuffledDataset(rows, batch_size=64, window=4, seed=1)
    >>> for epoch in range(2):
    ...     dataset.set_epoch(epoch)
    ...     n = sum(len(batch) for batch in DataLoader(dataset, batch_size=None))
    >>> n
    1000
    """

    def __init__(
        self,
        *arrays: Array,
        batch_size: int,
        crop: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        starts: np.ndarray | None = None,
        window: int = 16,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world_size: int = 1,
        threads: int = 0,
    ) -> None:
        _require_torch()
        self._batch_size, self._window = whole(batch_size, "batch_size", 1), whole(window, "window", 1)
        self._world_size = whole(world_size, "world_size", 1)
        self._rank = whole(rank, "rank", 0, self._world_size - 1)
        self._seed = whole(seed, "seed", 0, 2**128)
        self._samples = Samples(arrays, crop, stride, starts)
        self._blocks = self._samples.blocks()
        self._shuffle, self._drop_last, self._given_threads = shuffle, drop_last, threads
        # Epoch, epoch that is resumed, its batches that are done, how often one was; for each worker, which
        # of these it has gone on with: next time it begins again.  Worker processes that stay see it change.
        self._shared = torch.zeros(4 + _MOST_WORKERS, dtype=torch.int64).share_memory_()
        self._done = 0
        self._own: tuple[int, int] | None = None  # epoch and batches that this worker process goes on after

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch of the loops that begin from now on."""
        self._shared[0] = whole(epoch, "epoch")
        self._done = 0

    def state_dict(self, batches: int | None = None) -> dict[str, int]:
        """Return where training is: to be saved beside the model.

        Parameters
        ----------
        batches : int, optional
            Batches of this epoch that are done.  Default: what was read in this process; with worker
            processes the loop has to count, or a loader that asks each worker for its own state.
        """
        done = self._done if batches is None else whole(batches, "batches")
        return {"epoch": int(self._shared[0]), "batches": done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on after the batches that were done, with the same arguments and number of workers as before.

        What was done is left out of the next loop over that epoch, and of no later one.  In a worker process
        it is the state of that worker alone.

        Raises
        ------
        TypeError, ValueError
            If it is not what :meth:`state_dict` returns.
        """
        if not isinstance(state, Mapping) or not {"epoch", "batches"} <= state.keys():
            raise ValueError(f"state: expected epoch and batches, as of state_dict(), got {state!r:.200}")
        epoch, done = (whole(state[name], name) for name in ("epoch", "batches"))
        self._done = done
        if get_worker_info() is not None:
            self._shared[0], self._own = epoch, (epoch, done)
            return
        self._shared[:4] = torch.tensor([epoch, epoch, done, int(self._shared[3]) + 1])

    def __iter__(self) -> Iterator[Sample]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        epoch = int(self._shared[0])
        parts = [self._part(epoch, one, workers) for one in range(workers)]
        resumed, self._own = self._own, None
        if resumed is not None and resumed[0] == epoch:
            part, done = worker, resumed[1]
        else:
            counts = [self._batches_of(part) for part in parts]
            part, done = turns_after(self._resumed(epoch, worker), counts)[worker]
        self._done = done
        return self._batches(parts[part], done)

    def _batches(self, part: Epoch, done: int) -> Iterator[Sample]:
        windows = part.values(self._samples, done * self._batch_size, _threads(self._given_threads))
        for batch in rebatch(windows, self._batch_size, self._drop_last):
            self._done += 1
            yield _tensors(batch)

    def _resumed(self, epoch: int, worker: int) -> int:
        """Return how many batches of the epoch were done by all workers, the first time that one asks."""
        resumed, done, times = self._shared[1:4].tolist()
        own = 4 + min(worker, _MOST_WORKERS - 1)
        if epoch != resumed or int(self._shared[own]) == times:
            return 0
        self._shared[own] = times
        return int(done)

    def _part(self, epoch: int, worker: int, workers: int) -> Epoch:
        part, parts = self._rank * workers + worker, self._world_size * workers
        return Epoch(self._blocks, self._window, (self._seed, epoch), part, parts, self._shuffle)

    def _batches_of(self, part: Epoch) -> int:
        return part.n // self._batch_size if self._drop_last else -(-part.n // self._batch_size)
