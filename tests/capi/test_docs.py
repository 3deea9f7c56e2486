# SPDX-License-Identifier: MIT
"""The examples of docs/capi.md, compiled and run as they stand there."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from capi_tree import Tree

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "capi.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.timeout(600)

SETUP = """\
from Cython.Build import cythonize
from setuptools import Extension, setup
import zarrcore

sources = {"row": "row.pyx", "user": "user.c"}
name = NAME
ext = Extension(name, [sources[name]], include_dirs=[zarrcore.get_include()])
setup(name=name, ext_modules=cythonize([ext], language_level=3), script_args=["-q", "build_ext", "--inplace"])
"""
USER = """
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec_module}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "user", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_user(void)
{
    return PyModuleDef_Init(&definition);
}
"""


def block(language: str, mark: str = "") -> str:
    (text,) = [text for kind, text in BLOCKS if kind == language and mark in text]
    return text


def build(directory: Path, name: str) -> ModuleType:
    pytest.importorskip("Cython")
    (directory / "setup.py").write_text(SETUP.replace("NAME", repr(name)), encoding="utf-8")
    package = str(Path(zarrcore.__file__).parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    environ = {"CFLAGS": "-O0"} | os.environ | {"PYTHONPATH": path}  # it runs once
    done = subprocess.run(
        [sys.executable, "setup.py"], cwd=directory, capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (module,) = directory.glob(f"{name}*{sysconfig.get_config_var('EXT_SUFFIX')}")
    spec = importlib.util.spec_from_file_location(name, module)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_every_example_is_tried() -> None:
    """Those in sh of installations by wheels/check_library.py, of packages by test_cython.py."""
    assert sorted(kind for kind, _ in BLOCKS) == ["c"] * 3 + ["cython"] + ["sh"] * 7


def test_cython(tmp_path: Path) -> None:
    (tmp_path / "row.pyx").write_text(block("cython"), encoding="utf-8")
    row = build(tmp_path, "row")
    values = np.arange(12.0).reshape(3, 4)
    array = zarrcore.create_array({}, data=values, chunks=(2, 2))
    out = np.zeros(4)
    row.first_row(array, out)
    np.testing.assert_array_equal(out, values[0])
    for dtype in ("i8", ">f8", "u1"):  # converted
        row.first_row(zarrcore.create_array({}, shape=(3, 4), dtype=dtype, fill_value=7), out)
        assert out.tolist() == [7] * 4
    for dtype in ("c16", "S8", "datetime64[s]"):
        with pytest.raises(ValueError, match="data type"):
            row.first_row(zarrcore.create_array({}, shape=(3, 4), dtype=dtype), out)
    row.first_row(array, out)
    with pytest.raises(ValueError, match="3 dimensions, the region 2"):
        row.first_row(zarrcore.create_array({}, shape=(3, 4, 5), dtype="f8"), out)
    with pytest.raises(ValueError, match="leave the array's 4"):
        row.first_row(array, np.zeros(5))
    np.testing.assert_array_equal(out, values[0])


@pytest.mark.skipif(shutil.which("cc") is None, reason="no cc")
def test_c(tmp_path: Path) -> None:
    (tmp_path / "user.c").write_text(block("c", "exec_module") + USER, encoding="utf-8")
    assert build(tmp_path, "user").__name__ == "user"


def compiled(prefix: Path, directory: Path, mark: str) -> ctypes.CDLL:
    """The block with a mark in it as a library that uses libzarrcore."""
    source, target = directory / f"{mark}.c", directory / f"{mark}.so"
    source.write_text(block("c", mark), encoding="utf-8")
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    flags = [*strict, "-fPIC", "-shared", f"-I{prefix / 'include'}"]
    where = ["-L" + str(prefix / "lib"), "-lzarrcore", f"-Wl,-rpath,{prefix / 'lib'}"]
    subprocess.run(["cc", *flags, str(source), *where, "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no cc")
not_instrumented = pytest.mark.skipif(
    bool(os.environ.get("ZARRCORE_SANITIZE")), reason="its library is not instrumented"
)


@needs_cc
@not_instrumented
def test_commands_that_compile_programs(prefix: Path, tmp_path: Path) -> None:
    """As they stand there, but those of compilers that are not here."""
    (tmp_path / "zarrcore").symlink_to(prefix)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = (block("sh", "examples/c/tree.c") + block("sh", "cmake -S")).splitlines()
    tools = {"gfortran", "mpicc", "cmake", "c++"}
    absent = {tool for tool in tools if shutil.which(tool) is None}
    absent |= {"./example/read_region"} if "cmake" in absent else set()
    script = "\n".join(line for line in lines if line.split()[0] not in absent)
    environ = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-e"], input=script, cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "summer/temperature {" in done.stdout and "18.25" in done.stdout


class Single(ctypes.Structure):
    """The store of the example."""

    _fields_ = [("key", ctypes.c_char_p), ("data", ctypes.c_char_p), ("nbytes", ctypes.c_size_t)]


@needs_cc
@not_instrumented
def test_a_store_of_callbacks(library: Any, error_of: Any, prefix: Path, tmp_path: Path) -> None:
    open_single = compiled(prefix, tmp_path, "open_single").open_single
    template = zarrcore.create_array({}, shape=(2, 3), dtype="i2", fill_value=7)
    text = json.dumps(template.metadata.to_dict()).encode()
    single, store, error = Single(b"zarr.json", text, len(text)), ctypes.c_void_p(), error_of()
    assert open_single(ctypes.byref(single), ctypes.byref(store), ctypes.byref(error)) == 0, error.message
    tree = Tree(library, error_of, store.value)
    np.testing.assert_array_equal(tree.read(""), np.full((2, 3), 7))
    tree.close()


@needs_cc
@not_instrumented
def test_trees_in_c(library: Any, error_of: Any, prefix: Path, tmp_path: Path) -> None:
    add_day = compiled(prefix, tmp_path, "add_day").add_day
    add_day.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    template = zarrcore.create_array({}, shape=(0, 3), chunks=(24, 3), dtype="f8")
    document = json.dumps(template.metadata.to_dict()).encode()
    tree, error, day = Tree(library, error_of, tmp_path / "store"), error_of(), np.random.rand(24, 3)
    for _ in range(2):
        status = add_day(tree.pointer, document, day.ctypes.data, ctypes.addressof(error))
        assert status == 0, error.message
    tree.close()
    array = zarrcore.open_array(tmp_path / "store", path="summer/temperature")
    np.testing.assert_array_equal(array[...], np.concatenate([day, day]))
    assert array.attrs["units"] == "degC"
