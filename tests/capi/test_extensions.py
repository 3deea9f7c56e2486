# SPDX-License-Identifier: MIT
"""Extension modules of the examples, as setuptools, meson and pybind11 build them."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import zarrcore

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="builds as POSIX does"),
]
STRICT = "-Wall -Wextra -Wpedantic -Werror"
SANITIZE = os.environ.get("ZARRCORE_SANITIZE", "")  # as `make asan` and `make tsan` say
not_instrumented = pytest.mark.skipif(bool(SANITIZE), reason="its modules are not instrumented")


def environment(**more: str) -> dict[str, str]:
    package = str(Path(zarrcore.__file__).parents[1])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | more


def run(command: list[str | Path], directory: Path, **more: str) -> str:
    done = subprocess.run(
        list(map(str, command)), cwd=directory, capture_output=True, text=True, env=environment(**more)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def load(directory: Path, name: str) -> ModuleType:
    (path,) = (p for s in importlib.machinery.EXTENSION_SUFFIXES for p in directory.glob(f"{name}{s}"))
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def copied(tmp_path: Path) -> Path:
    """The examples, since builds leave files where the sources are."""
    target = tmp_path / "examples"
    ignored = shutil.ignore_patterns("build", "*.so", "__pycache__")
    shutil.copytree(ROOT / "examples", target, ignore=ignored)
    return target


def check_sums(module: ModuleType) -> None:
    values = np.random.default_rng(0).integers(-100, 100, (300, 70, 5))
    for dtype in ("i2", ">f8", "f4"):
        array = zarrcore.create_array({}, data=values.astype(dtype), chunks=(40, 30, 5))
        assert module.region_sum(array, 0, 300) == values.sum()
        assert module.region_sum(array, 13, 250) == values[13:250].sum()
        with pytest.raises(ValueError, match="leave the array's 300"):
            module.region_sum(array, 0, 301)
    with pytest.raises(ValueError, match="no dimension"):
        module.region_sum(zarrcore.create_array({}, shape=(), dtype="f8"), 0, 1)
    with pytest.raises(TypeError):
        module.region_sum(values, 0, 1)


@not_instrumented
def test_flags_of_the_command_line(tmp_path: Path) -> None:
    """As a compiler takes them; extension modules have nothing to link."""
    flags = run([sys.executable, "-m", "zarrcore", "--cflags"], tmp_path)
    assert shlex.split(flags) == [f"-I{zarrcore.get_include()}"]
    assert "usage" in run([sys.executable, "-m", "zarrcore", "--help"], tmp_path).lower()


@pytest.mark.threads
def test_setuptools(tmp_path: Path) -> None:
    source = copied(tmp_path) / "c_extension"
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    instrument = f" -fsanitize={SANITIZE}" if SANITIZE else ""
    run([*command], source, CFLAGS=f"{STRICT} -std=c11{instrument}", LDFLAGS=instrument)
    module = load(source, "region_sum")
    check_sums(module)
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(check_sums, module) for _ in range(8)]:
            done.result()


@not_instrumented
def test_a_compiler_and_the_flags_alone(tmp_path: Path) -> None:
    import sysconfig

    source = copied(tmp_path) / "c_extension"
    flags = shlex.split(run([sys.executable, "-m", "zarrcore", "--cflags"], tmp_path))
    include = f"-I{sysconfig.get_path('include')}"
    output = f"region_sum{sysconfig.get_config_var('EXT_SUFFIX')}"
    more = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    strict = STRICT.split()
    run(
        ["cc", "-std=c11", *strict, "-fPIC", "-shared", *more, "region_sum.c", include, *flags, "-o", output],
        source,
    )
    check_sums(load(source, "region_sum"))


@not_instrumented
@pytest.mark.skipif(shutil.which("cc") is None, reason="no cc")
def test_meson(prefix: Path, tmp_path: Path) -> None:
    pytest.importorskip("mesonbuild", reason="no meson (pip install meson ninja)")
    pytest.importorskip("ninja", reason="no ninja (pip install ninja)")
    import ninja

    source = copied(tmp_path) / "meson_extension"
    tools = os.pathsep.join([ninja.BIN_DIR, os.environ["PATH"]])
    paths = {"PATH": tools, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    # meson runs the Python that it finds: this one
    native = tmp_path / "native.ini"
    native.write_text(f"[binaries]\npython = '{sys.executable}'\n", encoding="utf-8")
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    run([*meson, "setup", "build", "--werror", f"--native-file={native}"], source, **paths)
    run([*meson, "compile", "-C", "build"], source, **paths)
    check_sums(load(source / "build", "region_sum"))
    values = np.arange(12.0).reshape(3, 4)
    zarrcore.create_array(tmp_path / "array", data=values)
    if shutil.which("pkg-config") is not None:
        printed = run([source / "build" / "read_region", tmp_path / "array"], tmp_path)
        assert [float(line) for line in printed.splitlines()[-12:]] == values.ravel().tolist()


@not_instrumented
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_pybind11(tmp_path: Path) -> None:
    pytest.importorskip("pybind11", reason="no pybind11 (pip install pybind11)")
    source = copied(tmp_path) / "pybind11_extension"
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    run(command, source, CFLAGS="-O1 -Wall -Wextra -Werror")
    module = load(source, "region")
    values = np.random.default_rng(0).random((30, 70)).astype("f4")
    array = zarrcore.create_array({}, data=values, chunks=(7, 30))
    np.testing.assert_array_equal(module.read_region(array, [3, 4], [20, 66]), values[3:23, 4:])
    np.testing.assert_array_equal(module.read_region(array, start=[0, 0], count=[0, 5]), np.empty((0, 5)))
    with pytest.raises(ValueError, match="leave the array's 70"):
        module.read_region(array, [3, 5], [20, 66])
    with pytest.raises(ValueError, match="negative"):
        module.read_region(array, [3, 5], [-1, 66])
    with pytest.raises(ValueError, match="different lengths"):
        module.read_region(array, [3], [1, 66])
    with pytest.raises(ValueError, match="2 dimensions, the region 1"):
        module.read_region(array, [3], [1])
    with pytest.raises(TypeError):
        module.read_region(values, [3, 5], [1, 1])
