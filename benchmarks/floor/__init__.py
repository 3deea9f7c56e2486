"""The floor: the same work in plain C (floor.c), compiled against the libraries that zarrcore links."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = ROOT / "build" / "benchmarks" / "floor.so"


def build() -> str | None:
    """Compile the floor with the running interpreter's libraries; says why if that cannot be done."""
    flags = []
    for part in ("--cflags", "--libs"):
        command = [sys.executable, str(ROOT / "wheels" / "native_libs.py"), part]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return f"no libraries for it: {done.stderr.strip()}"
        flags.append(shlex.split(done.stdout))
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    unfinished = LIBRARY.with_suffix(".partial")  # a run in progress may have the other one loaded
    own = ["-O2", "-std=gnu11", "-shared", "-fPIC", "-pthread", f"-I{ROOT / 'csrc'}"]
    command = ["cc", *own, *flags[0], str(HERE / "floor.c"), "-o", str(unfinished), *flags[1]]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError as error:
        return f"no compiler: {error}"
    if done.returncode:
        return f"it does not compile: {done.stderr.strip()}"
    unfinished.replace(LIBRARY)
    return None
