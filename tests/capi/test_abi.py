# SPDX-License-Identifier: MIT
"""Extension modules compiled with an older or a newer zarrcore.h, in C and in C++."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import zarrcore

HEADER = Path(__file__).resolve().parents[2] / "csrc" / "include" / "zarrcore.h"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links as Linux does")

SOURCE = """\
#include <Python.h>
#define ZARRCORE_PYTHON_API
#include "zarrcore.h"

static PyObject *total(PyObject *, PyObject *object)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    double values[16] = {0}, sum = 0;
    zarrcore_array *const array = zarrcore_from_python(object);
    int status = array != NULL ? 0 : -1;
    if (array == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = zarrcore_read(array, NULL, NULL, NULL, values, NULL, 0, &error);
    zarrcore_release(array);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 16; i++) {
        sum += values[i];
    }
    return status == ZARRCORE_OK ? PyFloat_FromDouble(sum)
                                 : PyErr_Format(PyExc_RuntimeError, "%s", error.message);
}

static PyMethodDef methods[] = {{"total", total, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "user", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_user(void)
{
    PyObject *const module = import_zarrcore() == 0 ? PyModule_Create(&definition) : NULL;
#ifdef Py_GIL_DISABLED
    if (module != NULL && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) < 0) {
        Py_DECREF(module);
        return NULL;
    }
#endif
    return module;
}
"""


def compile_module(
    directory: Path, header: str, *, suffix: str = "cpp", standard: str = "c++17"
) -> ModuleType:
    """Compile against this header, and import."""
    compiler = "c++" if suffix == "cpp" else "cc"
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (directory / "zarrcore.h").write_text(header, encoding="utf-8")
    source, target = directory / f"user.{suffix}", directory / "user.so"
    source.write_text(SOURCE, encoding="utf-8")
    include = sysconfig.get_paths()["include"]
    flags = [
        f"-std={standard}",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        f"-I{directory}",
        "-isystem",
        include,
    ]
    done = subprocess.run([compiler, *flags, str(source), "-o", str(target)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loader = importlib.machinery.ExtensionFileLoader("user", str(target))
    spec = importlib.util.spec_from_loader("user", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


OTHER = """\
#include <Python.h>
#define ZARRCORE_PYTHON_API
#include "zarrcore.h"

#ifdef __cplusplus
extern "C"
#endif
int ndim_of(const zarrcore_array *array);

int ndim_of(const zarrcore_array *array)
{
    return zarrcore_ndim(array);
}
"""
USER = """\
#include <Python.h>
#define ZARRCORE_PYTHON_API
#include "zarrcore.h"

int ndim_of(const zarrcore_array *array);

static PyObject *ndim(PyObject *self, PyObject *object)
{
    (void)self;
    zarrcore_array *const array = zarrcore_from_python(object);
    if (array == NULL) {
        return NULL;
    }
    const int n = ndim_of(array);
    zarrcore_release(array);
    return PyLong_FromLong(n);
}

static PyMethodDef methods[] = {{"ndim", ndim, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "user", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_user(void)
{
    return IMPORT == 0 ? PyModule_Create(&definition) : NULL;
}
"""
TRY = "import zarrcore, user; print(user.ndim(zarrcore.create_array({}, shape=(2, 3), dtype='f8')))"


def run_two_files(directory: Path, other: str, how: str) -> subprocess.CompletedProcess[str]:
    """Compile a module of two files, of which only one may call import_zarrcore(), and use it."""
    if shutil.which("c++") is None:
        pytest.skip("no c++")
    (directory / "user.c").write_text(USER, encoding="utf-8")
    (directory / f"other.{other}").write_text(OTHER, encoding="utf-8")
    flags = ["-Wall", "-Werror", "-fPIC", f"-I{HEADER.parent}", "-isystem", sysconfig.get_paths()["include"]]
    for source in ("user.c", f"other.{other}"):
        compiler = "c++" if source.endswith("cpp") else "cc"
        command = [compiler, *flags, f"-DIMPORT={how}", "-c", source, "-o", source + ".o"]
        subprocess.run(command, cwd=directory, check=True)
    objects = ["user.c.o", f"other.{other}.o"]
    subprocess.run(["c++", "-shared", *objects, "-o", "user.so"], cwd=directory, check=True)
    path = os.pathsep.join([str(directory), str(Path(zarrcore.__file__).parents[1])])
    environ = os.environ | {"PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", TRY], capture_output=True, text=True, env=environ)


@pytest.mark.parametrize("other", ["c", "cpp"])
def test_one_import_is_enough_for_all_files_of_a_module(tmp_path: Path, other: str) -> None:
    done = run_two_files(tmp_path, other, "import_zarrcore()")
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr


def test_a_module_that_forgets_the_import_says_so(tmp_path: Path) -> None:
    done = run_two_files(tmp_path, "c", "0")
    assert done.returncode != 0
    assert "has to call import_zarrcore() first" in done.stderr


def changed(old: str, new: str) -> str:
    text = HEADER.read_text(encoding="utf-8")
    assert text.count(old) == 1
    return text.replace(old, new)


def check(module: ModuleType) -> None:
    array = zarrcore.create_array(store={}, shape=(4, 4), chunks=(3, 2), dtype="f8")
    array[...] = np.arange(16).reshape(4, 4)
    assert module.total(array) == 120
    with pytest.raises(TypeError, match=r"expected a zarrcore\.Array"):
        module.total(3)


@pytest.mark.parametrize(("suffix", "standard"), [("c", "gnu2x"), ("cpp", "c++11"), ("cpp", "c++17")])
def test_this_header(suffix: str, standard: str, tmp_path: Path) -> None:
    check(compile_module(tmp_path, HEADER.read_text(encoding="utf-8"), suffix=suffix, standard=standard))


def test_an_older_header_with_fewer_functions(tmp_path: Path) -> None:
    text = changed("#define ZARRCORE_N_SLOTS 45", "#define ZARRCORE_N_SLOTS 29")
    begin = text.index("    int (*shard_index)(const")
    end = text.index("} zarrcore_api;")
    gone = re.findall(r"\(\*(\w+)\)", text[begin:end])
    text = text[:begin] + text[end:]
    for name in gone:
        text = re.sub(
            rf"^ZARRCORE_FORWARD\([\w *]+, {name}, .*?\)\)$", "", text, flags=re.MULTILINE | re.DOTALL
        )
    text = re.sub(r"^static inline int zarrcore_raise.*?^}$", "", text, flags=re.MULTILINE | re.DOTALL)
    check(compile_module(tmp_path, text))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "#define ZARRCORE_ABI_VERSION 1",
            "#define ZARRCORE_ABI_VERSION 2",
            r"C API 2 \(45 functions\).*found 1",
        ),
        (
            "#define ZARRCORE_N_SLOTS 45",
            "#define ZARRCORE_N_SLOTS 46",
            r"\(46 functions\).*found 1 \(45 functions\)",
        ),
        ("} zarrcore_api;", "    void (*more)(void);\n} zarrcore_api;", "compiled for the C API"),
    ],
    ids=["abi", "slots", "size"],
)
def test_a_newer_header(old: str, new: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=reason):
        compile_module(tmp_path, changed(old, new))
