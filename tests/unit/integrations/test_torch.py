"""Training data: what loaders of torch get, by what they should get according to numpy."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import BytesBytesCodec
from zarrcore.errors import ChunkError
from zarrcore.registry import codec_registry, register_codec

torch = pytest.importorskip("torch", reason="torch is not installed (extra torch)")

from torch.utils.data import DataLoader  # noqa: E402

from zarrcore.torch import MapDataset, ShuffledDataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

N, WIDTH = 103, 5


def stored(where: Path, values: np.ndarray, **options) -> zarrcore.Array:
    array = zarrcore.create_array(where, shape=values.shape, dtype=values.dtype, **options)
    array[...] = values
    return zarrcore.open_array(where, mode="r")


@pytest.fixture
def values() -> np.ndarray:
    return np.arange(N * WIDTH, dtype="f4").reshape(N, WIDTH)


@pytest.fixture
def rows(tmp_path: Path, values: np.ndarray) -> zarrcore.Array:
    return stored(tmp_path / "rows", values, chunks=(10, WIDTH))


@pytest.fixture
def labels(tmp_path: Path) -> zarrcore.Array:
    return stored(tmp_path / "labels", np.arange(N), chunks=(50,))


@pytest.fixture
def volume(tmp_path: Path) -> zarrcore.Array:
    return stored(tmp_path / "volume", np.arange(12 * 9 * 8).reshape(12, 9, 8), chunks=(4, 4, 4))


def order_of(loader) -> list[int]:
    """The samples that came, by their labels."""
    return [number for _, label in loader for number in label.tolist()]


# --- by number ---


def test_samples_by_number_are_rows_of_all_arrays(rows, labels, values):
    dataset = MapDataset(rows, labels)
    assert len(dataset) == N
    row, label = dataset[7]
    np.testing.assert_array_equal(row.numpy(), values[7])
    assert label.item() == 7 and dataset[-1][1].item() == N - 1
    with pytest.raises(IndexError, match="sample 103 of 103"):
        dataset[N]


def test_a_loader_shuffles_rows_and_keeps_them_with_their_labels(rows, labels, values):
    loader = DataLoader(MapDataset(rows, labels), batch_size=16, shuffle=True)
    seen = []
    for row, label in loader:
        np.testing.assert_array_equal(row.numpy(), values[label.numpy()])
        seen += label.tolist()
    assert sorted(seen) == list(range(N)) and seen != sorted(seen)


def test_a_batch_is_one_read(rows, labels, monkeypatch):
    from zarrcore.integrations import torch_samples

    calls = []
    read_many = torch_samples.read_many
    monkeypatch.setattr(torch_samples, "read_many", lambda *a, **k: calls.append(1) or read_many(*a, **k))
    assert len(list(DataLoader(MapDataset(rows, labels), batch_size=20))) == 6
    assert len(calls) == 6


def test_crops_in_a_grid_leave_out_the_ends(volume):
    dataset = MapDataset(volume, crop=(4, 4), stride=(4, 3))
    expected = [volume[i : i + 4, j : j + 4] for i in (0, 4, 8) for j in (0, 3)]
    assert len(dataset) == len(expected)
    for crop, want in zip(dataset.__getitems__(range(len(expected))), expected, strict=True):
        np.testing.assert_array_equal(crop.numpy(), want)


def test_crops_anywhere(volume):
    starts = np.random.default_rng(1).integers(0, [9, 6, 5], (20, 3))
    batch = next(iter(DataLoader(MapDataset(volume, crop=(4, 4, 4), starts=starts), batch_size=20)))
    for crop, (i, j, k) in zip(batch.numpy(), starts, strict=True):
        np.testing.assert_array_equal(crop, volume[i : i + 4, j : j + 4, k : k + 4])


def test_other_byte_orders_become_native(tmp_path):
    values = np.arange(6, dtype=">i4")
    assert MapDataset(stored(tmp_path / "big", values, chunks=3))[4].item() == 4


# --- shuffled ---


def test_an_epoch_has_every_sample_once_in_an_order_of_its_own(rows, labels, values):
    dataset = ShuffledDataset(rows, labels, batch_size=16, window=3, seed=5)
    orders = []
    for epoch in range(3):
        dataset.set_epoch(epoch)
        for row, label in dataset:
            np.testing.assert_array_equal(row.numpy(), values[label.numpy()])
        orders.append(order_of(dataset))
        assert sorted(orders[-1]) == list(range(N))
    assert orders[0] != orders[1] != orders[2] != orders[0]
    again = ShuffledDataset(rows, labels, batch_size=16, window=3, seed=5)
    again.set_epoch(1)
    assert order_of(again) == orders[1]


def test_a_window_mixes_its_blocks(rows, labels):
    seen = order_of(ShuffledDataset(rows, labels, batch_size=16, window=2, seed=1))
    assert len({number // 50 for number in seen[:60]}) > 1
    assert seen[:60] != sorted(seen[:60])


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_full_but_the_last(rows, labels, drop_last):
    dataset = ShuffledDataset(rows, labels, batch_size=16, window=1, drop_last=drop_last)
    sizes = [len(label) for _, label in dataset]
    assert sizes == [16] * 6 + [7] * (not drop_last)


def test_without_shuffling_the_order_is_that_of_the_array(rows, labels):
    assert order_of(ShuffledDataset(rows, labels, batch_size=16, shuffle=False)) == list(range(N))


def test_shuffled_crops_come_once_each(volume):
    dataset = ShuffledDataset(volume, crop=(2, 3, 4), batch_size=7, window=2)
    seen = Counter(int(crop[0, 0, 0]) for batch in dataset for crop in batch)
    expected = Counter(
        int(volume[i, j, k]) for i in range(0, 12, 2) for j in range(0, 9, 3) for k in range(0, 8, 4)
    )
    assert seen == expected


@dataclass(frozen=True)
class Counted(BytesBytesCodec):
    """Counts what is decoded."""

    name: ClassVar[str] = "test.counted"
    decoded: ClassVar[Counter] = Counter()

    def encode(self, data, spec=None):
        return bytes(data)

    def decode(self, data, spec=None, max_size=None):
        Counted.decoded[bytes(data)] += 1
        return bytes(data)


@pytest.mark.parametrize("options", [{}, {"shards": (100, 4)}])
@pytest.mark.parametrize("window", [1, 5])
def test_an_epoch_decodes_every_chunk_once(tmp_path, options, window):
    if "test.counted" not in codec_registry:
        register_codec("test.counted", Counted)
    values = np.arange(4000).reshape(1000, 4)
    array = stored(tmp_path / "counted", values, chunks=(25, 4), compressors=[Counted()], **options)
    Counted.decoded.clear()
    assert sum(len(batch) for batch in ShuffledDataset(array, batch_size=64, window=window)) == 1000
    assert len(Counted.decoded) == 40 and set(Counted.decoded.values()) == {1}


# --- several processes ---


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_divide_the_samples(rows, labels, method):
    dataset = ShuffledDataset(rows, labels, batch_size=8, window=2)
    options = {"num_workers": 2, "multiprocessing_context": method}
    assert sorted(order_of(DataLoader(dataset, batch_size=None, **options))) == list(range(N))
    by_number = DataLoader(MapDataset(rows, labels), batch_size=8, **options)
    assert order_of(by_number) == list(range(N))


def test_ranks_divide_the_samples(rows, labels):
    parts = [
        order_of(ShuffledDataset(rows, labels, batch_size=8, window=2, rank=rank, world_size=3))
        for rank in range(3)
    ]
    assert sorted(sum(parts, [])) == list(range(N))


def test_workers_that_stay_see_the_next_epoch(rows, labels):
    dataset = ShuffledDataset(rows, labels, batch_size=8, window=2)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    first = order_of(loader)
    dataset.set_epoch(1)
    second = order_of(loader)
    assert sorted(first) == sorted(second) == list(range(N)) and first != second


def test_fork_after_the_parent_has_read(rows, labels):
    assert rows[...].shape == (N, WIDTH)
    loader = DataLoader(MapDataset(rows, labels), batch_size=8, num_workers=2, multiprocessing_context="fork")
    assert order_of(loader) == list(range(N))


# --- going on ---


@pytest.mark.parametrize("done", [0, 1, 3, 6, 7])
def test_an_epoch_goes_on_where_it_was_left(rows, labels, done):
    dataset = ShuffledDataset(rows, labels, batch_size=16, window=2, seed=3)
    dataset.set_epoch(4)
    whole = order_of(dataset)
    dataset.set_epoch(4)
    batches = iter(dataset)
    begun = [number for _ in range(done) for number in next(batches)[1].tolist()]
    state = pickle.loads(pickle.dumps(dataset.state_dict()))
    assert state == {"epoch": 4, "batches": done}
    resumed = ShuffledDataset(rows, labels, batch_size=16, window=2, seed=3)
    resumed.load_state_dict(state)
    assert begun + order_of(resumed) == whole
    resumed.set_epoch(5)
    assert len(order_of(resumed)) == N


@pytest.mark.parametrize("done", [1, 5, 11, 13])
def test_workers_go_on_where_they_were_left(rows, labels, done):
    dataset = ShuffledDataset(rows, labels, batch_size=8, window=2, seed=3)
    options = {"batch_size": None, "num_workers": 3}
    whole = [label.tolist() for _, label in DataLoader(dataset, **options)]
    dataset.load_state_dict(dataset.state_dict(batches=done))
    assert [label.tolist() for _, label in DataLoader(dataset, **options)] == whole[done:]


@pytest.mark.parametrize("workers", [2, 3])
def test_a_loop_that_goes_on_twice_has_every_sample_once(tmp_path, workers):
    """The loader begins with its first worker: batches came in another order, and counts meant others."""
    dataset = ShuffledDataset(stored(tmp_path / "a", np.arange(N), chunks=10), batch_size=8, window=2)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers)
    whole = [batch.tolist() for batch in loader]
    dataset.load_state_dict({"epoch": 0, "batches": 5})
    seen = whole[:5] + [batch.tolist() for _, batch in zip(range(3), loader, strict=False)]
    dataset.load_state_dict({"epoch": 0, "batches": 8})
    assert seen + [batch.tolist() for batch in loader] == whole


def test_a_worker_goes_on_after_its_own_batches(rows, monkeypatch):
    """As in loaders that keep a state of each worker: it was taken for that of all of them."""
    from zarrcore.integrations import torch as module

    def batches(worker: int, dataset: ShuffledDataset) -> Iterator[list]:
        monkeypatch.setattr(module, "get_worker_info", lambda: SimpleNamespace(id=worker, num_workers=2))
        return (batch.tolist() for batch in dataset)

    for worker, done in ((0, 3), (1, 2)):
        dataset, resumed, other = (ShuffledDataset(rows, batch_size=8, window=2) for _ in range(3))
        dataset.set_epoch(4)
        whole = [*batches(worker, dataset)]
        begun = [batch for _, batch in zip(range(done), batches(worker, dataset), strict=False)]
        assert dataset.state_dict() == {"epoch": 4, "batches": done}
        resumed.load_state_dict(dataset.state_dict())
        assert begun + [*batches(worker, resumed)] == whole == [*batches(worker, resumed)]
        other.set_epoch(4)
        assert [*batches(1 - worker, other)] == [*batches(1 - worker, resumed)]


@pytest.mark.parametrize("workers", [0, 2])
def test_what_was_done_is_left_out_once(rows, labels, workers):
    """Loops that call set_epoch for no epoch, or begin it twice, lost the same samples in each."""
    dataset = ShuffledDataset(rows, labels, batch_size=8, window=2)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=workers > 0)
    for _ in range(2):
        dataset.load_state_dict({"epoch": 0, "batches": 5})
        assert len(order_of(loader)) < N
        assert [sorted(order_of(loader)) for _ in range(2)] == [list(range(N))] * 2
    dataset.load_state_dict({"epoch": 1, "batches": 5})
    dataset.set_epoch(1)  # as loops do that begin with the epoch of a state
    assert len(order_of(loader)) < N


@pytest.mark.parametrize(
    "state",
    [
        {},
        None,
        [0, 1],
        {"epoch": 0},
        {"epoch": 0, "batches": -1},
        {"epoch": -1, "batches": 1},
        {"epoch": 0, "batches": 1.5},
        {"epoch": "0", "batches": 1},
        {"epoch": 2**64, "batches": 1},
        {"epoch": None, "batches": None},
    ],
    ids=str,
)
def test_states_from_elsewhere_are_looked_at(rows, labels, state):
    """Minus one batch was an epoch of the last batch alone, and half of one was none."""
    dataset = ShuffledDataset(rows, labels, batch_size=8, window=2)
    with pytest.raises((TypeError, ValueError), match="state: expected|epoch: expected|batches: expected"):
        dataset.load_state_dict(state)
    assert sorted(order_of(dataset)) == list(range(N))
    with pytest.raises((TypeError, ValueError), match="epoch: expected"):
        dataset.set_epoch(-1)
    with pytest.raises((TypeError, ValueError), match="batches: expected"):
        dataset.state_dict(batches=-1)


# --- what goes wrong ---


@pytest.mark.parametrize("dtype", ["string", "bytes", "U3", "M8[s]", [("x", "i4")]])
def test_data_types_that_torch_lacks_are_refused_at_once(dtype):
    array = zarrcore.create_array({}, shape=4, chunks=2, dtype=dtype)
    for make in (MapDataset, lambda array: ShuffledDataset(array, batch_size=2)):
        with pytest.raises(TypeError, match="torch has no tensors of its data type"):
            make(array)


@pytest.mark.parametrize("number", [1.5, "1", None])
def test_a_sample_has_a_whole_number(rows, number):
    with pytest.raises(TypeError, match="sample: expected a whole number"):
        MapDataset(rows)[number]


def test_arrays_of_different_lengths(rows, tmp_path):
    short = stored(tmp_path / "short", np.arange(N - 1), chunks=10)
    for make in (MapDataset, lambda *a: ShuffledDataset(*a, batch_size=4)):
        with pytest.raises(ValueError, match=r"no samples in common: .*\(103,\) and \(102,\)"):
            make(rows, short)


def test_a_crop_larger_than_the_array(volume):
    with pytest.raises(
        ValueError, match=r"crop: \(13, 1, 1\) is larger than array '/' of shape \(12, 9, 8\)"
    ):
        MapDataset(volume, crop=(13, 1, 1))
    with pytest.raises(ValueError, match="has 3 dimensions, samples need 4"):
        MapDataset(volume, crop=(1, 1, 1, 1))


def test_a_crop_that_reaches_out_of_the_array(volume):
    with pytest.raises(ValueError, match=r"starts: number 1, \(9, 0\), with crop \(4, 4\) reaches out"):
        MapDataset(volume, crop=(4, 4), starts=np.array([[8, 0], [9, 0]]))


@pytest.mark.parametrize("bad", [{"batch_size": 0}, {"batch_size": 4, "window": 0}])
def test_sizes_that_make_no_sense(rows, bad):
    with pytest.raises(ValueError, match="expected positive numbers"):
        ShuffledDataset(rows, **bad)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"batch_size": 2.5}, "batch_size: expected a whole number, got 2.5"),
        ({"window": "4"}, "window: expected a whole number"),
        ({"seed": -1}, "seed: expected no less than 0, got -1"),
        ({"rank": 0.5, "world_size": 2}, "rank: expected a whole number"),
        ({"rank": 2, "world_size": 2}, "rank: expected 0 to 1, got 2"),
        ({"world_size": 0}, "world_size: expected positive numbers, got 0"),
        ({"crop": 3}, "crop: expected a sequence of lengths, got 3"),
        ({"crop": (2.5,)}, "crop: expected a whole number, got 2.5"),
        ({"crop": "ab"}, "crop: expected a sequence"),
        ({"crop": (2,), "stride": (1.5,)}, "stride: expected a whole number"),
    ],
    ids=str,
)
def test_arguments_of_a_wrong_kind_are_refused_at_once(rows, bad, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        ShuffledDataset(rows, **{"batch_size": 4, **bad})


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_chunk_is_named_and_training_goes_on_after_it_is_mended(
    rows, labels, values, tmp_path, workers
):
    dataset = ShuffledDataset(rows, labels, batch_size=10, window=1, seed=2)
    whole = order_of(dataset)
    chunk = tmp_path / "rows" / "c" / str(whole[45] // 10) / "0"
    good = chunk.read_bytes()
    chunk.write_bytes(good[:7])
    done, seen = 0, []
    with pytest.raises(ChunkError, match=f"c/{whole[45] // 10}/0"):
        for _, label in DataLoader(dataset, batch_size=None, num_workers=workers):
            seen += label.tolist()
            done += 1
    chunk.write_bytes(good)
    dataset.load_state_dict(dataset.state_dict(batches=done))
    seen += order_of(DataLoader(dataset, batch_size=None, num_workers=workers))
    assert sorted(seen) == list(range(N))


_DIES = """
import os, sys
import zarrcore
from torch.utils.data import DataLoader
from zarrcore.torch import MapDataset

class Dies(MapDataset):
    def __getitems__(self, numbers):
        if 50 in numbers:
            os._exit(3)
        return super().__getitems__(numbers)

rows = zarrcore.open_array(sys.argv[1], mode="r")
for row in DataLoader(Dies(rows), batch_size=10, num_workers=1, multiprocessing_context="fork"):
    pass
print("ended well")
"""


def test_a_worker_that_dies_ends_the_loop(rows, tmp_path):
    """In a process of its own: torch raises from a signal, or when a connection to the worker breaks."""
    command = [sys.executable, "-c", _DIES, str(tmp_path / "rows")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and done.stdout == ""
    assert "exited unexpectedly" in done.stderr or "Connection" in done.stderr


def _lines() -> Iterator[str]:
    yield "import sys; sys.modules['torch'] = None"
    yield "import zarrcore, zarrcore.torch"
    yield "array = zarrcore.create_array({}, shape=4, dtype='i4')"
    yield "try: zarrcore.torch.MapDataset(array)"
    yield "except ImportError as error: print(error)"


def test_without_torch_the_extra_is_named():
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(_lines())], capture_output=True, text=True, check=True
    )
    assert done.stdout == "torch is not installed: pip install 'zarrcore[torch]'\n"


@pytest.mark.parametrize("crop", [None, (1, 1)])
def test_more_samples_than_memory_has_room_for_are_an_error(crop) -> None:
    """A document of 300 bytes took all memory."""
    array = zarrcore.create_array({}, shape=(2**33, 2**33), chunks=(1, 1), dtype="i4")
    with pytest.raises(ValueError, match="more than can be in order"):
        ShuffledDataset(array, batch_size=2, crop=crop)
    if crop is not None:  # it was 0: the number of crops has no room in 64 bits
        with pytest.raises(OverflowError):
            len(MapDataset(array, crop=crop))
