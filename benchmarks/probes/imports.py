"""`import` in fresh processes, and the first read of a fresh process."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.driver import ROOT, Setup

_OPEN = {
    "zarrcore": "import zarrcore; zarrcore.open_array({path!r}, mode='r')[...]",
    "zarr": "import zarr; zarr.open_array({path!r}, mode='r')[...]",
    "tensorstore": (
        "import tensorstore as ts; "
        "ts.open({{'driver': 'zarr3', 'kvstore': {{'driver': 'file', 'path': {path!r}}}}})"
        ".result().read().result()"
    ),
}


def programs(names: Iterable[str], array: Path) -> dict[str, str]:
    """What every process runs."""
    modules = [name for name in names if name in _OPEN]
    imports = {f"import {name}": f"import {name}" for name in ("numpy", *modules)}
    reads = {f"first read, {name}": _OPEN[name].format(path=f"{array}/") for name in modules}
    return {"nothing": "", **imports, **reads}


def run(setup: Setup, names: Iterable[str], rounds: int) -> dict[str, dict[str, float]]:
    """Median wall and CPU seconds of each program, processes in turn.

    ``over_numpy`` is the median over the rounds of (program - nothing) / (import numpy - nothing), by CPU
    time.
    """
    code = programs(names, setup.home / "tiny-raw")
    for program in code.values():
        _process(setup.python, program)
    seen = [{name: _process(setup.python, program) for name, program in code.items()} for _ in range(rounds)]
    return {
        name: {
            "wall": statistics.median(turn[name][0] for turn in seen),
            "cpu": statistics.median(turn[name][1] for turn in seen),
            "over_numpy": statistics.median(_over_numpy(turn, name) for turn in seen),
        }
        for name in code
    }


def _over_numpy(turn: dict[str, tuple[float, float]], name: str) -> float:
    return (turn[name][1] - turn["nothing"][1]) / (turn["import numpy"][1] - turn["nothing"][1])


def _process(python: Path, program: str) -> tuple[float, float]:
    started = time.perf_counter()
    # What pip installed has its bytecode beside it; a checkout has it once that may be written.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.Popen([python, "-c", program], cwd=ROOT, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{program!r} ended with status {child.returncode}")
    return elapsed, usage.ru_utime + usage.ru_stime
