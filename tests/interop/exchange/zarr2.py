# SPDX-License-Identifier: MIT
"""zarr-python 2, which runs in an environment of its own and is asked through a pipe."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exchange.cases import Case
from exchange.zarr2_worker import load, save

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".venvs" / "zarr2" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
WORKER = Path(__file__).with_name("zarr2_worker.py")


class Worker:
    """The process; it lives as long as this one."""

    def __init__(self) -> None:
        if not PYTHON.exists():
            message = f"no {PYTHON.relative_to(ROOT)}: make zarr2"
            (pytest.fail if os.environ.get("ZARRCORE_NEED_ZARR2") else pytest.skip)(message)
        ours = ("PYTHON", "LD_PRELOAD")  # of this process, which may be instrumented
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self._process = subprocess.Popen(
            [PYTHON, WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        atexit.register(self._process.terminate)

    def ask(self, job: str, **arguments: Any) -> Any:
        """Run a function of the worker.

        Raises
        ------
        Zarr2Error
            With the traceback, if it failed there.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps({"job": job, **arguments}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise Zarr2Error(f"the process has ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Zarr2Error(answer["error"])
        return answer["result"]


class Zarr2Error(Exception):
    """What failed in the other process."""


@cache
def worker() -> Worker:
    """The process of these tests."""
    return Worker()


class ZarrPython2:
    """zarr-python 2."""

    def __init__(self) -> None:
        self.worker = worker()

    def write(self, path: Path, case: Case) -> None:
        self.worker.ask("create", path=str(path), document=case.document)
        self._assign(path, case, case.region, case.values)

    def read(self, path: Path, case: Case) -> np.ndarray:
        place = str(path) + ".read"
        self.worker.ask("read", path=str(path), place=place)
        return load(place)

    def patch(self, path: Path, case: Case) -> None:
        self._assign(path, case, case.patch, case.patched)

    def _assign(self, path: Path, case: Case, region: tuple, values: np.ndarray) -> None:
        """Write the part of `values`, which are those of the whole array, that lies in `region`."""
        place = str(path) + ".values"
        save(place, values)
        bounds = [[part.start, part.stop] for part in region[:-1]]
        self.worker.ask("assign", path=str(path), place=place, bounds=bounds)
