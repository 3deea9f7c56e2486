# SPDX-License-Identifier: MIT
"""libzarrcore against HDF5 and netCDF-C, and zarrcore and tensorstore in Python.

    python -m benchmarks.capi [--rounds N] PREFIX

PREFIX is an installation of libzarrcore; the other C libraries are those that pkg-config finds.  All work on
one array in turns, round after round; medians over the rounds, and ratios to zarrcore's, of time and of CPU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import zarrcore

HERE = Path(__file__).parent
Times = dict[tuple[str, str], list[tuple[float, float]]]


def build(prefix: Path, target: Path) -> Path:
    """Compile the program."""
    environ = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    command = ["pkg-config", "--cflags", "--libs", "zarrcore", "hdf5", "netcdf"]
    flags = subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.split()
    sources = sorted(str(path) for path in HERE.glob("*.c"))
    rpath = f"-Wl,-rpath,{prefix / 'lib'}"
    subprocess.run(
        ["cc", "-O2", "-std=c11", *sources, "-o", str(target), *flags, rpath, "-pthread"], check=True
    )
    return target


def in_python(path: Path) -> dict[str, Callable[[], Any]]:
    """Ways to read the whole array, by name."""
    found: dict[str, Callable[[], Any]] = {
        "zarrcore in Python": lambda: zarrcore.open_array(path, mode="r")[...]
    }
    try:
        import tensorstore
    except ImportError:
        return found
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}
    return found | {
        "tensorstore in Python": lambda: tensorstore.open(spec, open=True).result().read().result()
    }


def measure(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and those of the CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def run(program: Path, directory: Path, rounds: int) -> Times:
    """Return the times of each case and library."""
    times: Times = defaultdict(list)
    for _ in range(rounds):
        command = [str(program), str(directory), "1"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        for case, library, wall, cpu in (line.split("\t") for line in lines):
            times[case, library].append((float(wall), float(cpu)))
        for name, read in in_python(directory / "zarrcore").items():
            read()
            times["whole, read", name].append(measure(read))
        subprocess.run(["rm", "-r", str(directory / "zarrcore")], check=True)
    return times


def show(times: Times) -> None:
    """Print a table of medians; each ratio is the median over the rounds."""
    print(f"{'':32} {'':22} {'ms':>9} {'CPU ms':>9} {'ratio':>7} {'CPU':>7}")
    for case, library in times:
        pairs, ours = times[case, library], times[case, "zarrcore"]
        wall, cpu = (1e3 * median(pair[k] for pair in pairs) for k in (0, 1))
        ratios = [median(a[k] / b[k] for a, b in zip(pairs, ours, strict=True)) for k in (0, 1)]
        print(f"{case:32} {library:22} {wall:9.1f} {cpu:9.1f} {ratios[0]:7.2f} {ratios[1]:7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capi", description=__doc__)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        program = build(args.prefix.resolve(), Path(directory) / "compare")
        show(run(program, Path(directory), args.rounds))


if __name__ == "__main__":
    main()
