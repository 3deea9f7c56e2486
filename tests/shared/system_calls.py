# SPDX-License-Identifier: MIT
"""How many system calls the steps of a program take, each after it was taken once (count_calls.c)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("count_calls.c")
REFUSED = 77
STEPS = """
import os, signal, sys
import numpy as np
import zarrcore

def step(*calls):
    for call in calls:
        call()
    for call in calls:
        os.kill(os.getpid(), signal.SIGSTOP)
        call()
    os.kill(os.getpid(), signal.SIGSTOP)

"""


def compiled(directory: Path) -> Path:
    """Return the program that counts."""
    program = directory / "count_calls"
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-o", str(program), str(SOURCE)], check=True)
    return program


def counted(counter: Path, program: str, *arguments: object) -> list[int]:
    """Return the calls of the steps of a program after the first, which does nothing."""
    run = [str(counter), sys.executable, "-c", STEPS + program, *map(str, arguments)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode == REFUSED:
        pytest.skip("processes must not be traced here")
    assert done.returncode == 0, done.stderr
    nothing, *steps = map(int, done.stdout.split())
    return [calls - nothing for calls in steps]


def check(counter: Path, expected: list[int], program: str, path: Path, *arguments: object) -> list[int]:
    """Compare the calls of the steps with the most that are expected, at most in one of three runs."""
    tries = []
    for name in "abc":
        tries.append(counted(counter, program, path / name, *arguments))
        calls = [*map(min, *tries)] if len(tries) > 1 else tries[0]
        if all(found <= most for found, most in zip(calls, expected, strict=True)):
            return calls
    raise AssertionError(f"{tries}, expected at most {expected}")
