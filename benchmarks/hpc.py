# SPDX-License-Identifier: MIT
"""Figures of the page on clusters: ``python -m benchmarks.hpc results|synced|references|writing|reading``.

results: repeated reads of a large array, with the memory of results recycled and without.  synced: whole
writes that wait for the disk (give a ``--scratch`` on one), against tensorstore.  references: chunks in a
local HDF5 file, by references to it, against chunks of our own and against h5py.  writing,
reading: processes that have different chunks or shards of one array each, against tensorstore.

Both sides do the same in turns; shown are the least CPU time (user + system, of all processes) and the least
elapsed time of the rounds, and those of the other side over them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import zarrcore
from benchmarks.datasets import volume
from zarrcore.codecs import BloscCodec, ZstdCodec
from zarrcore.codecs.numcodecs import Shuffle, Zlib
from zarrcore.storage import LocalStore, ReferenceStore

_EDGE = 128
_BLOSC = BloscCodec(cname="blosclz", clevel=9, shuffle="bitshuffle", typesize=2)
_LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"chunks": (_EDGE,) * 3, "compressors": None},
    "blosc": {"chunks": (_EDGE,) * 3, "compressors": _BLOSC},
    "zstd": {"chunks": (_EDGE,) * 3, "compressors": ZstdCodec(level=3)},
    "raw, shards": {"chunks": (32,) * 3, "shards": (_EDGE,) * 3, "compressors": None},
    "blosc, shards": {"chunks": (32,) * 3, "shards": (_EDGE,) * 3, "compressors": _BLOSC},
    "zstd, shards": {"chunks": (32,) * 3, "shards": (_EDGE,) * 3, "compressors": ZstdCodec(level=3)},
}

Times = tuple[float, float]


def _timed(call: Callable[[], object]) -> Times:
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def _in_turns(name: str, sides: Mapping[str, Callable[[], Times]], rounds: int) -> None:
    """Print the least times of each side; the first one is zarrcore as it is."""
    least = dict.fromkeys(sides, (float("inf"), float("inf")))
    for number in range(rounds):
        for side in list(sides)[:: 1 if number % 2 else -1]:
            cpu, wall = sides[side]()
            least[side] = (min(least[side][0], cpu), min(least[side][1], wall))
    own = next(iter(least.values()))
    shown = (
        f"{side}: CPU {cpu * 1e3:.0f} ms ({cpu / own[0]:.2f}), {wall * 1e3:.0f} ms ({wall / own[1]:.2f})"
        for side, (cpu, wall) in least.items()
    )
    print(f"{name:14}", "; ".join(shown), flush=True)


def _created(folder: Path, layout: dict[str, Any], values: np.ndarray) -> zarrcore.Array:
    return zarrcore.create_array(folder, shape=values.shape, dtype=values.dtype, overwrite=True, **layout)


def _tensorstore(folder: Path, *, sync: bool) -> Any:
    import tensorstore as ts

    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{folder}/"}}
    return ts.open(spec, context=ts.Context({"file_io_sync": sync}), open=True).result()


# --- memory of results ---


def results(scratch: Path, values: np.ndarray, rounds: int) -> None:
    """Read everything again and again, with ``memory.kept_results`` and without."""
    layouts = {"raw": None, "lz4": BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2)}
    for name, compressors in layouts.items():
        layout = {"chunks": (_EDGE,) * 3, "compressors": compressors}
        array = _created(scratch / name, layout, values)
        array[...] = values

        def read(most: int, array: zarrcore.Array = array) -> Times:
            with zarrcore.config.set({"memory.kept_results": most}):
                array[...]  # what the next one takes
                return min(_timed(lambda: array[...]) for _ in range(3))

        sides = {"kept": lambda read=read: read(2 * values.nbytes), "none": lambda read=read: read(0)}
        _in_turns(name, sides, rounds)


# --- synced writes ---


def synced(scratch: Path, values: np.ndarray, rounds: int) -> None:
    """Write everything, and wait for the disk."""
    for name, layout in _LAYOUTS.items():

        def write(library: str, layout: dict[str, Any] = layout) -> Times:
            array = _created(scratch / library, layout, values)
            os.sync()  # of what others wrote
            if library == "zarrcore":
                array = zarrcore.open_array(LocalStore(scratch / library, fsync=True))
                taken = _timed(lambda: array.__setitem__(..., values))
            else:
                other = _tensorstore(scratch / library, sync=True)
                taken = _timed(lambda: other.write(values).result())
            if not np.array_equal(zarrcore.open_array(scratch / library)[...], values):
                raise RuntimeError(f"{library} wrote other values")
            return taken

        sides = {one: lambda one=one, write=write: write(one) for one in ("zarrcore", "tensorstore")}
        _in_turns(name, sides, rounds)


# --- references to HDF5 files ---


def references(scratch: Path, values: np.ndarray, rounds: int) -> None:
    """Read everything that an HDF5 file holds."""
    import h5py

    chunks = (16, 128, 128)  # 512 KiB
    kinds: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "raw": ({}, {"compressors": None}),
        "shuffle, gzip": (
            {"shuffle": True, "compression": "gzip", "compression_opts": 1},
            {"filters": Shuffle(elementsize=2), "compressors": Zlib(level=1)},
        ),
    }
    for name, (of_hdf5, of_zarr) in kinds.items():
        path, layout = scratch / f"{name}.h5", {"chunks": chunks, "zarr_format": 2, **of_zarr}
        with h5py.File(path, "w") as file:
            file.create_dataset("a", data=values, chunks=chunks, **of_hdf5)
        native = _created(scratch / name, layout, values)
        native[...] = values
        with h5py.File(path) as file:
            dataset = file["a"]
            refs = _references(dataset, path, (scratch / name / ".zarray").read_text())
            array = zarrcore.open_array(ReferenceStore({"version": 1, "refs": refs}), mode="r")
            sides: dict[str, Callable[[], object]] = {
                "references": lambda array=array: array[...],
                "native": lambda native=native: native[...],
                "h5py": lambda dataset=dataset: dataset[...],
            }
            for side, read in sides.items():
                if not np.array_equal(read(), values):
                    raise RuntimeError(f"{side} returned other values")
            _in_turns(name, {side: lambda read=read: _timed(read) for side, read in sides.items()}, rounds)


def _references(dataset: Any, path: Path, document: str) -> dict[str, Any]:
    """Return references to the chunks of a data set, in the words of kerchunk."""
    found: dict[str, Any] = {".zarray": document}
    for number in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(number)
        key = ".".join(str(at // n) for at, n in zip(info.chunk_offset, dataset.chunks, strict=True))
        found[key] = [str(path), info.byte_offset, info.size]
    return found


# --- processes ---


def serve(library: str, folder: str, rank: int, ranks: int, what: str, stored: str) -> None:
    """Do this process's part for each line of the standard input, and print the times."""
    values = np.load(stored, mmap_mode="r")
    starts = np.ndindex(*(n // _EDGE for n in values.shape))
    regions = [tuple(slice(i * _EDGE, (i + 1) * _EDGE) for i in start) for start in starts][rank::ranks]
    parts = [np.array(values[region]) for region in regions]
    array: Any = zarrcore.open_array(folder)
    if library == "tensorstore":
        array = _tensorstore(Path(folder), sync=False)

    def work() -> None:
        for region, part in zip(regions, parts, strict=True):
            if what == "reading":
                array[region] if library == "zarrcore" else array[region].read().result()
            else:
                array[region] = part

    for _ in sys.stdin:
        print(*_timed(work), flush=True)


def _processes(what: str, scratch: Path, values: np.ndarray, rounds: int, ranks: int) -> None:
    np.save(scratch / "values.npy", values)
    for name, layout in _LAYOUTS.items():
        children: dict[str, list[subprocess.Popen[str]]] = {}
        for library in ("zarrcore", "tensorstore"):
            folder = scratch / library
            array = _created(folder, layout, values)
            if what == "reading":
                array[...] = values
            start = [sys.executable, "-m", "benchmarks.hpc", "serve", library, str(folder)]
            children[library] = [
                subprocess.Popen(
                    [*start, str(rank), str(ranks), what, str(scratch / "values.npy")],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for rank in range(ranks)
            ]
        sides = {library: lambda group=group: _turn(group) for library, group in children.items()}
        _in_turns(name, sides, rounds)
        for library, group in children.items():
            for child in group:
                child.communicate()
            if not np.array_equal(zarrcore.open_array(scratch / library)[...], values):
                raise RuntimeError(f"{library} wrote other values")


def _turn(children: list[subprocess.Popen[str]]) -> Times:
    began = time.perf_counter()
    for child in children:
        assert child.stdin is not None
        print("go", file=child.stdin, flush=True)
    cpu = 0.0
    for child in children:
        assert child.stdout is not None
        cpu += float(child.stdout.readline().split()[0])
    return cpu, time.perf_counter() - began


def main() -> None:
    """Measure what is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("results", "synced", "references", "writing", "reading"))
    parser.add_argument("--scratch", help="directory for the arrays, such as /dev/shm")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--mib", type=int, default=64, help="size of the array: a multiple of 16, from 64 on")
    given = parser.parse_args()
    if given.mib < 64 or given.mib % 16:
        parser.error("--mib: expected a multiple of 16, from 64 on")
    values = volume((given.mib * 8, 256, 256))
    with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
        if given.what in ("writing", "reading"):
            _processes(given.what, Path(folder), values, given.rounds, given.ranks)
        else:
            measure = {"results": results, "synced": synced, "references": references}[given.what]
            measure(Path(folder), values, given.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        _, _, library, folder, rank, ranks, what, stored = sys.argv
        serve(library, folder, int(rank), int(ranks), what, stored)
    else:
        main()
