"""A case as a program of its own, which needs numpy and the libraries alone."""

from __future__ import annotations

import inspect

from benchmarks.random_arrays import arrays, selections
from benchmarks.random_arrays.compare import Outcome
from benchmarks.random_arrays.selections import Selection

_TEMPLATE = '''"""{title}

Prints the least time of a call, wall and CPU: python {file} [threads of zarrcore, 0 is its default]
"""

import math
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OPTIONS = {options}


{functions}

VALUES = make_values({values!r}, {shape}, {dtype!r}, {seed})
NEW = make_values({values!r}, {shape}, {dtype!r}, {seed} + 1)
INDEX = {index}
WRITES, WHOLE, HOW = {writes}, {whole}, {how!r}


def open_zarr(package, path):
    array = package.open_array(str(path), mode="r+")
    chosen = {{"vindex": array.vindex, "oindex": array.oindex, "": array}}[HOW]
    new = np.array(NEW[INDEX], order="C")
    if WRITES:
        return lambda: array.__setitem__(INDEX, new)
    return lambda: chosen[INDEX]


def open_tensorstore(package, path):
    spec = {{"driver": {driver!r}, "kvstore": {{"driver": "file", "path": f"{{path}}/"}}}}
    context = package.Context({{"file_io_sync": False}})
    array = package.open(spec, context=context, read=True, write=True).result()
    chosen = {{"vindex": array.vindex, "oindex": array.oindex, "": array}}[HOW]
    new = np.array(NEW[INDEX], order="C")
    if WRITES:
        return lambda: array[INDEX].write(new).result()
    return lambda: chosen[INDEX].read().result()


def libraries():
    import zarrcore

    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    if threads:
        zarrcore.config.set({{"threading.max_workers": threads}})
    found = {{"zarrcore": (open_zarr, zarrcore)}}
    try:
        import tensorstore
        import zarr
    except ImportError:
        return found
    zarr.config.set({{"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"}})
    return found | {{"zarr-fused": (open_zarr, zarr), "tensorstore": (open_tensorstore, tensorstore)}}


def fresh(source, target):
    """A copy of the array, or of its metadata where all of it is written."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*(("c", "[0-9]*") if WHOLE else ())))
    return target


def timed(call):
    np.ones({touched}, "u1")  # memory that has lain free is slow to come by
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    return time.perf_counter() - wall, time.process_time() - cpu


def main(folder):
    import zarrcore

    zarrcore.create_array(folder / "array", **OPTIONS)[...] = VALUES
    wall, cpu = {{}}, {{}}
    opened = {{}}
    for _ in range(20):
        for name, (open_one, package) in libraries().items():
            if name not in opened or WHOLE:
                opened[name] = open_one(package, fresh(folder / "array", folder / name))
            w, c = timed(opened[name])
            wall[name], cpu[name] = min(w, wall.get(name, w)), min(c, cpu.get(name, c))
    for name in wall:
        print(f"{{name:12}} {{wall[name] * 1e3:9.3f}} ms {{cpu[name] * 1e3:9.3f}} ms CPU")


root = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
with tempfile.TemporaryDirectory(dir=root) as folder:
    main(Path(folder))
'''


def _index(selection: Selection, shape: tuple[int, ...]) -> str:
    """The selection as an expression."""
    if selection.kind == "points":
        return f"draw_points({shape}, {selection.count}, {selection.seed})"
    parts = [str(part) if isinstance(part, int) else f"slice{part}" for part in selection.parts]
    if selection.listed >= 0:
        parts[selection.listed] = f"draw_list({shape[selection.listed]}, {selection.count}, {selection.seed})"
    return f"({', '.join(parts)},)"


def program(outcome: Outcome, title: str, file: str) -> str:
    """The text of a program that repeats a case."""
    array, selection = outcome.array, outcome.selection
    functions = (arrays.make_values, selections.draw_points, selections.draw_list)
    return _TEMPLATE.format(
        title=title,
        file=file,
        options=array.options(),
        functions="\n\n".join(map(inspect.getsource, functions)),
        values=array.values,
        shape=array.shape,
        dtype=array.dtype,
        seed=array.seed,
        index=_index(selection, array.shape),
        writes=selection.writes,
        whole=selection.kind == "write all",
        how="vindex" if selection.kind == "points" else "oindex" if selection.listed >= 0 else "",
        driver="zarr" if array.zarr_format == 2 else "zarr3",
        touched=max(1, 2 * (array.nbytes + array.chunk_nbytes)),
    )
