# SPDX-License-Identifier: MIT
"""In a subinterpreter zarrcore is refused: an ImportError, no crash, and the main interpreter goes on."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="this Python gives programs no subinterpreters"
)

# One that has a GIL of its own, and one that shares that of the main interpreter.
KINDS = ("isolated", "legacy")

INSIDE = """
try:
    import zarrcore
    {}
except ImportError:
    print("refused", flush=True)
"""
ATTEMPTS = (
    "zarrcore.create_array({}, shape=4, dtype='i4')[:]",
    "from zarrcore import kernels",
    "import zarrcore._core.engine",
)

PROGRAM = textwrap.dedent(
    """
    import sys

    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

    kind, main, *attempts = sys.argv[1:]

    def create():
        if sys.version_info >= (3, 13):
            return interpreters.create(kind)
        return interpreters.create(isolated=kind == "isolated")

    def work():
        import zarrcore
        array = zarrcore.create_array({}, shape=(64, 64), chunks=(8, 8), dtype="i4")
        array[...] = 3
        assert (array.read(..., threads=4) == 3).all()
        assert zarrcore.kernels.crc32c(b"123456789") == 0xE3069283

    if main == "uses":
        work()
    elif main == "imports":
        import numpy, zarrcore
    for inside in attempts * 2:
        one = create()
        run = getattr(interpreters, "exec", None) or interpreters.run_string
        failure = run(one, inside)
        assert failure is None, failure
        interpreters.destroy(one)
    if main != "nothing":
        work()
        print("main", flush=True)
    """
)


@pytest.mark.parametrize("main", ["uses", "imports", "nothing"])
@pytest.mark.parametrize("kind", KINDS)
def test_refused(kind: str, main: str) -> None:
    """Whatever the main interpreter does with zarrcore before; it goes on with it afterwards.

    Where it has done nothing, NumPy itself, once loaded into a subinterpreter, is lost for the main one.
    """
    options = ["-W", "ignore", "-X", "faulthandler"]
    command = [sys.executable, *options, "-c", PROGRAM, kind, main, *map(INSIDE.format, ATTEMPTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == ["refused"] * 6 + ["main"] * (main != "nothing")
