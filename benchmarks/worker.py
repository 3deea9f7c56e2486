"""One library in a process of its own: `python -m benchmarks.worker LIBRARY THREADS DATA SCRATCH`.

Reads one JSON request per line from its standard input and answers each with one line,
{"ok": ...} or {"error": ...}.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import libraries
from benchmarks.cases import CASES
from benchmarks.cases.base import Place
from benchmarks.datasets import Home
from benchmarks.measure import Operation, memory_growth, repeats_for, warm_sample


def digest(result: Any) -> str:
    """A checksum of shape, data type and bytes of what a call returned (arrays, scalars, lists of them)."""
    if isinstance(result, list):
        return hashlib.sha256("".join(digest(item) for item in result).encode()).hexdigest()
    array = np.asarray(result)
    if array.dtype.kind in "TO":
        return _digest_of_items(array)
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    head = f"{array.shape} {native.dtype.str}".encode()
    return hashlib.sha256(head + hashlib.sha256(native.reshape(-1).view("u1")).digest()).hexdigest()


def _digest_of_items(array: np.ndarray) -> str:
    """The same of strings and bytes of any length."""
    items = [
        item.encode() if isinstance(item, str) else bytes(item) for item in array.astype(object).reshape(-1)
    ]
    head = f"{array.shape} {array.dtype.kind} {[len(item) for item in items]}".encode()
    return hashlib.sha256(head + b"".join(items)).hexdigest()


class Worker:
    """Answers the requests; every public method is one."""

    def __init__(self, library: str, threads: int, home: Path, scratch: Path) -> None:
        self._library = libraries.load(library, threads)
        self._place = Place(Home(home), scratch)
        self._operation: Operation | None = None
        self._first = 0.0

    def versions(self) -> dict[str, str]:
        """Versions of everything compared, as installed here."""
        import zarrcore

        installed = {name: version(name) for name in ("numpy", "zarr", "zarrs", "tensorstore", "numcodecs")}
        return {"zarrcore": zarrcore.__version__, "python": sys.version.split()[0], **installed}

    def prepare(self, case: str) -> None:
        """Open what the case needs."""
        self._operation = CASES[case].prepare(self._library, self._place)

    def check(self) -> dict[str, Any]:
        """Run once: checksum of the result, or the directory written and its size."""
        operation = self._prepared
        if operation.before is not None:
            operation.before()
        started = time.perf_counter()
        result = operation.call()
        self._first = time.perf_counter() - started
        if operation.outcome is not None:
            result = operation.outcome()
        written = operation.written
        return {
            "digest": "" if result is None else digest(result),
            "seconds": self._first,
            "written": str(written) if written else None,
            "stored": sum(p.stat().st_size for p in written.rglob("*") if p.is_file()) if written else None,
        }

    def digest_of(self, directory: str) -> str:
        """Checksum of a whole array in a directory."""
        return digest(self._library.read(self._library.open(self._library.locate(Path(directory)))))

    def calibrate(self, seconds: float) -> int:
        """How often to repeat the call so that a sample takes this long."""
        return repeats_for(self._prepared, seconds, self._first)

    def sample(self, repeat: int) -> dict[str, float]:
        """Seconds per call, and bytes that came from a disk after all."""
        return asdict(warm_sample(self._prepared, repeat))

    def release(self) -> None:
        """Drop what the case held and wrote."""
        self._operation = None
        shutil.rmtree(self._place.scratch, ignore_errors=True)

    def memory(self) -> dict[str, int]:
        """Peak memory of one call beyond its result."""
        growth, result = memory_growth(self._prepared.call)
        return {"growth": growth, "result": result.nbytes}

    def beside(self, seconds: float) -> dict[str, float]:
        """Turns a second of a counting Python thread beside repeated calls, and what else there is to say."""
        call = self._prepared.call
        call()
        return _turns_beside(call, seconds)

    @property
    def _prepared(self) -> Operation:
        if self._operation is None:
            raise RuntimeError("no case was prepared")
        return self._operation


def _turns_beside(work: Callable[[], Any], seconds: float) -> dict[str, float]:
    """A loop in this thread while another one repeats the work."""
    stop = threading.Event()
    calls = 0

    def repeat() -> None:
        nonlocal calls
        while not stop.is_set():
            work()
            calls += 1

    worker = threading.Thread(target=repeat)
    worker.start()
    turns, longest = 0, 0.0
    cpu = time.thread_time()
    started = last = time.perf_counter()
    while last - started < seconds:
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
        turns += 1
    elapsed, cpu, made = last - started, time.thread_time() - cpu, calls
    stop.set()
    worker.join()
    return {"turns": turns / elapsed, "wait": longest, "share": cpu / elapsed, "calls": made / elapsed}


def serve(worker: Worker) -> None:
    """Answer requests until the input ends; whatever libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(worker, request.pop("do"))(**request)}
        except Exception as error:  # the driver reports it and goes on with the others
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    name, threads, home, scratch = sys.argv[1:]
    serve(Worker(name, int(threads), Path(home), Path(scratch)))
