# SPDX-License-Identifier: MIT
"""examples/cython_region builds against the installed package, and does what it says."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkDecodeError

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, which is compiled in place: Cython translates it once."""
    pytest.importorskip("Cython")
    ignored = shutil.ignore_patterns("build", "*.so", "*.c")
    directory = tmp_path_factory.mktemp("cython") / "example"
    return shutil.copytree(ROOT / "examples" / "cython_region", directory, ignore=ignored)


@pytest.fixture(scope="module", params=["openmp", "plain"])
def region(request: pytest.FixtureRequest, sources: Path, tmp_path_factory: Any) -> ModuleType:
    """The example, with OpenMP where the compiler has it, and without, under the name of its package."""
    package = Path(zarrcore.__file__).parents[1]
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    switch = {"CYTHON_REGION_OPENMP": "1" if request.param == "openmp" else "0"}
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=sources,
        capture_output=True,
        text=True,
        env={"CFLAGS": "-O0"} | os.environ | {"PYTHONPATH": path} | switch,  # it runs once
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (sources / "cython_region").glob("region.*[!xc]")
    module = made.rename(tmp_path_factory.mktemp(request.param) / made.name)
    spec = importlib.util.spec_from_file_location("cython_region.region", module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).random((100, 70))


@pytest.fixture(params=["local", "memory"])
def array(request: pytest.FixtureRequest, values: np.ndarray, tmp_path: Path) -> Any:
    store = tmp_path if request.param == "local" else {}
    made = zarrcore.create_array(store=store, shape=values.shape, chunks=(9, 10), dtype="f8")
    made[...] = values
    return made


def test_region(region: ModuleType, array: Any, values: np.ndarray) -> None:
    np.testing.assert_array_equal(region.read_region(array, (3, 5), (50, 60), 2), values[3:53, 5:65])
    assert region.read_region(array, (3, 5), (0, 60)).shape == (0, 60)


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_loop_over_chunks(region: ModuleType, array: Any, values: np.ndarray, threads: int) -> None:
    assert region.sum_of_chunks(array, threads) == pytest.approx(values.sum())


def test_encoded_chunks(region: ModuleType, array: Any) -> None:
    array[0:9, 0:10] = 0  # the fill value: not stored
    sizes = region.chunk_sizes(array)
    assert len(sizes) == 12 * 7 - 1
    assert min(sizes.values()) > 0


def test_faults_become_exceptions(region: ModuleType, values: np.ndarray, tmp_path: Path) -> None:
    array = zarrcore.create_array(store=tmp_path, shape=(4, 4), chunks=(2, 2), dtype="f8")
    array[...] = values[:4, :4]
    (tmp_path / "c/1/0").write_bytes(b"rubbish")
    for call in (lambda: region.read_region(array, (0, 0), (4, 4)), lambda: region.sum_of_chunks(array, 2)):
        with pytest.raises(ChunkDecodeError, match=r"key 'c/1/0', codec 'zstd'"):
            call()
    with pytest.raises(ValueError, match="dimension 1"):
        region.read_region(array, (0, 1), (4, 4))
    with pytest.raises(TypeError, match="float64"):
        region.read_region(zarrcore.zeros((2, 2), dtype="i4", store={}), (0, 0), (2, 2))
    with pytest.raises(TypeError, match=r"expected a zarrcore\.Array"):
        region.read_region(values, (0, 0), (2, 2))
