# SPDX-License-Identifier: MIT
"""zarrcore_decompose: regions of whole chunks that cover an array once, for any number of ranks."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import V3
from capi_programs import compile_program, linked

import zarrcore

pytestmark = pytest.mark.timeout(600)
ARGUMENT, MISSING = -2, -8
ROOT = Path(__file__).resolve().parents[2]


def region(api: Any, handle: int, ndim: int, ranks: int, rank: int) -> tuple[slice, ...]:
    start, count = (ctypes_ints(ndim) for _ in range(2))
    assert api.decompose(handle, ranks, rank, start, count) == 0
    return tuple(slice(a, a + n) for a, n in zip(start[:ndim], count[:ndim], strict=True))


def ctypes_ints(n: int) -> Any:
    return (ctypes.c_int64 * max(n, 1))()


@pytest.mark.parametrize("seed", range(8))
def test_each_chunk_belongs_to_one_rank(api: Any, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for case in range(12):
        ndim = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(0 if case % 4 == 0 else 1, 30, ndim))
        inner = tuple(int(n) for n in rng.integers(1, 6, ndim))
        shards = tuple(int(n) * k for n, k in zip(rng.integers(1, 3, ndim), inner, strict=True))
        settings: dict[str, Any] = {"chunks": inner} | ({"shards": shards} if case % 2 else {})
        zarrcore.create_array(tmp_path / str(case), shape=shape, dtype="u1", **settings)
        unit = shards if case % 2 else inner
        handle = api.handle(tmp_path / str(case))
        for ranks in (1, 2, 3, 4, 7, 16, 100):
            owners = np.zeros(shape, "i4")
            most, chunks = 0, int(np.prod([-(-n // k) for n, k in zip(shape, unit, strict=True)]))
            for rank in range(ranks):
                own = region(api, handle, ndim, ranks, rank)
                owners[own] += 1
                if all(part.stop > part.start for part in own):
                    for part, k, n in zip(own, unit, shape, strict=True):
                        assert part.start % k == 0
                        assert part.stop % k == 0 or part.stop == n
                    sizes = [-(-(part.stop - part.start) // k) for part, k in zip(own, unit, strict=True)]
                    most = max(most, int(np.prod(sizes)))
            assert (owners == 1).all()
            assert ranks > 1 or most == chunks
            assert most <= max(1, 4 * -(-chunks // ranks)), "about as many chunks each"
        api.release(handle)


def test_rectilinear_grids(library: Any, tmp_path: Path) -> None:
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[5, 1, 7, 3], 4]}}
    (tmp_path / "zarr.json").write_text(json.dumps(V3 | {"shape": [15, 9], "chunk_grid": grid}))
    handle = library.handle(tmp_path)
    owners = np.zeros((15, 9), "i4")
    for rank in range(4):
        own = region(library, handle, 2, 4, rank)
        owners[own] += 1
        assert own[0].start in (0, 5, 6, 13)
        assert own[0].stop in (5, 6, 13, 15)
    assert (owners == 1).all()
    library.release(handle)


def test_huge_arrays_and_bad_numbers(api: Any, tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "a", shape=(2**62, 2**40), chunks=(1, 3), dtype="u1")
    handle = api.handle(tmp_path / "a")
    total = 0
    for rank in range(5):
        rows, columns = region(api, handle, 2, 5, rank)
        total += (rows.stop - rows.start) * (columns.stop - columns.start)
    assert total == 2**102
    region(api, handle, 2, 2**31 - 1, 2**31 - 2)
    out = ctypes_ints(2)
    for ranks, rank in ((0, 0), (-1, 0), (2, 2), (2, -1), (-(2**31), -(2**31))):
        assert api.decompose(handle, ranks, rank, out, out) == ARGUMENT
    api.release(handle)
    zarrcore.create_array(tmp_path / "scalar", shape=(), dtype="u1")
    handle = api.handle(tmp_path / "scalar")
    assert api.decompose(handle, 2, 0, out, out) == 0
    assert api.decompose(handle, 2, 1, out, out) == MISSING
    api.release(handle)


needs_mpi = pytest.mark.skipif(
    shutil.which("mpicc") is None, reason="no mpicc (apt-get install libopenmpi-dev openmpi-bin)"
)
not_instrumented = pytest.mark.skipif(
    bool(os.environ.get("ZARRCORE_SANITIZE")), reason="its programs are not instrumented"
)


def run_on_four_ranks(prefix: Path, directory: Path, name: str, *arguments: str) -> str:
    """Compile an example and run it with a new store; what it prints."""
    program = directory / name
    if not program.exists():
        source = ROOT / "examples" / "mpi" / f"{name}.c"
        compile_program("mpicc", program, "-std=c11", source, *linked(prefix))
    options = ["--allow-run-as-root", "--oversubscribe", "-n", "4"]
    command = ["mpirun", *options, str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_mpi
@not_instrumented
def test_four_ranks_of_mpi_write_one_array(prefix: Path, tmp_path: Path) -> None:
    run_on_four_ranks(prefix, tmp_path, "write", str(tmp_path / "store"))
    array = zarrcore.open_array(tmp_path / "store", path="field")
    expected = np.arange(1000.0)[:, None] * 1000 + np.arange(700)
    np.testing.assert_array_equal(array[...], expected)


@needs_mpi
@not_instrumented
def test_locks_keep_rows_that_ranks_write_to_one_chunk(prefix: Path, tmp_path: Path) -> None:
    assert "rows of 128 are lost" in run_on_four_ranks(prefix, tmp_path, "rows", str(tmp_path / "without"))
    lines = run_on_four_ranks(prefix, tmp_path, "rows", str(tmp_path / "with"), "locks").splitlines()
    assert "0 rows of 128 are lost" in lines
    assert (zarrcore.open_array(tmp_path / "with")[...] == 1).all()
