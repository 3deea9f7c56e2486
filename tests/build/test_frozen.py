# SPDX-License-Identifier: MIT
"""A program that PyInstaller bundles, with the hook of the package."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("PyInstaller")

ROOT = Path(__file__).parents[2]  # editable installations are not followed
# The program needs none of these; each that is installed here takes PyInstaller seconds.
UNUSED = """
asyncio click dask distributed doctest email fsspec ftplib h5py html http ml_dtypes
multiprocessing numcodecs numpy.ctypeslib numpy.f2py numpy.fft numpy.ma numpy.polynomial
numpy.random numpy.testing obstore pandas psutil pydoc pytest rich setuptools tarfile
tracemalloc typer typing_extensions unittest webbrowser xarray xmlrpc yaml zarr
"""
PROGRAM = textwrap.dedent(
    """
    import sys
    import numpy as np
    import zarrcore

    assert sys.frozen
    array = zarrcore.create_array(sys.argv[1], shape=(40, 40), chunks=(10, 10), shards=(20, 20), dtype="f4")
    array[...] = np.arange(1600).reshape(40, 40)
    array[3:7] = zarrcore.kernels.byteswap(np.ones(1, "i4"))[0]
    names = zarrcore.create_array({}, data=np.array(["a", "b"]), chunks=1, zarr_format=2)
    print(array[7:, 1].sum(), *names[...], zarrcore.verify(sys.argv[1]).ok, array.shape)
    """
)


def run(folder: Path, *command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.timeout(300)
def test_a_bundled_program_reads_and_writes(tmp_path: Path) -> None:
    """Modules that are loaded by name, and the compiled ones, were not in the bundle."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = [f"--paths={ROOT}", *(f"--exclude-module={name}" for name in UNUSED.split())]
    run(tmp_path, sys.executable, "-m", "PyInstaller", "--log-level=WARN", *options, program)
    printed = run(tmp_path, tmp_path / "dist" / "program" / "program", tmp_path / "array")
    assert printed == "30393.0 a b True (40, 40)\n"
