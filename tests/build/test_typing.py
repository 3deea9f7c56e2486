# SPDX-License-Identifier: MIT
"""Type hints as users and their type checkers see them: the stubs tell the truth, and names are known."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import Parameter, signature
from operator import attrgetter
from pathlib import Path

import pytest

import zarrcore

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = Path(zarrcore.__file__).parent
pytestmark = pytest.mark.timeout(600)  # mypy takes long on a busy machine

STUBS = sorted(path.relative_to(PACKAGE.parent) for path in (PACKAGE / "_core").rglob("*.pyi"))
COMPILED = [".".join(stub.with_suffix("").parts).removesuffix(".__init__") for stub in STUBS]
# Modules that load names from others when asked.
LAZY = ["", ".abc", ".api", ".api.synchronous"]
LAZY += [".codecs", ".dtypes", ".grids", ".keys", ".metadata", ".storage"]


def check(*arguments: str, cwd: Path) -> None:
    """Run mypy, or its stubtest, without a configuration but on this very package."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    found = str(Path(zarrcore.__file__).parents[1])
    environ = {**os.environ, "MYPYPATH": found, "PYTHONPATH": found}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_describe_the_compiled_modules(tmp_path: Path) -> None:
    """Every name, every signature, and nothing that is not there; what others declare is not looked at."""
    others = "follow_imports = skip\nfollow_imports_for_stubs = True\n"
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n[mypy-numpy,numpy.*,zarrcore,zarrcore.*]\n{others}")
    check("mypy.stubtest", "--mypy-config-file=mypy.ini", "--concise", *COMPILED, cwd=tmp_path)


def test_every_compiled_module_has_a_stub() -> None:
    """Those that are linked into one share the stub of their package."""
    core = Path(import_module("zarrcore._core").__file__).parent
    alone = {path.with_suffix(".pyi") for path in core.glob("*.pyx")}
    together = {path.with_name("__init__.pyi") for path in core.glob("*/*.pyx")}
    assert alone | together == set(core.rglob("*.pyi"))


def test_strict_user(tmp_path: Path) -> None:
    """Programs that use the package, with right calls and with wrong ones that must be reported.

    What `make style` has found out about the tree is not found out again.
    """
    where = ROOT if PACKAGE.parent == ROOT else tmp_path
    programs = sorted((HERE / "typing").glob("*.py"))
    check("mypy", f"--config-file={ROOT / 'pyproject.toml'}", *map(str, programs), cwd=where)


def public_parameters() -> Iterator[tuple[str, Parameter]]:
    """Every parameter of the public functions and methods, with the name of its function."""
    for name in zarrcore.__all__:
        found = getattr(zarrcore, name)
        members = inspect.getmembers(found, callable) if inspect.isclass(found) else [("", found)]
        for member, function in members:
            is_public = not member.startswith("_") or member in ("__init__", "__getitem__", "__setitem__")
            if is_public and inspect.isroutine(function) and getattr(function, "__module__", None):
                for parameter in list(signature(function).parameters.values()):
                    yield f"{name}.{member}".rstrip("."), parameter


def test_public_parameters_have_types() -> None:
    seen = [(where, one) for where, one in public_parameters() if one.name not in ("self", "cls")]
    assert len(seen) > 450
    untyped = [
        f"{where}({one.name})"
        for where, one in seen
        if one.annotation is Parameter.empty or str(one.annotation).removeprefix("typing.").startswith("Any")
    ]
    assert untyped == []


# What comes out of an array: arrays and scalars of data types that only the data decide, as with numpy.
VALUES = r"(Array|AsyncArray)\.(__getitem__|getitem|read|(get|set)_\w+_selection)|load"


def has_any(annotation: object) -> bool:
    """Return whether there is an ``Any`` in a type, other than the values of a JSON object or of options."""
    text = re.sub(r"(dict|Mapping)\[str, (typing\.)?Any\]", "", str(annotation))
    return re.search(r"\bAny\b", text) is not None


def test_unions_and_results_have_types() -> None:
    parameters = [f"{where}({one.name})" for where, one in public_parameters() if has_any(one.annotation)]
    assert parameters == []
    routines = {where for where, _ in public_parameters()}
    results = {where: signature(attrgetter(where)(zarrcore)).return_annotation for where in routines}
    untyped = [where for where, found in results.items() if found is Parameter.empty or has_any(found)]
    assert [where for where in untyped if not re.fullmatch(VALUES, where)] == []


@pytest.mark.parametrize("name", LAZY)
def test_lazy_names_can_be_had(name: str) -> None:
    module = import_module(f"zarrcore{name}")
    for name in [*module.__all__, *getattr(module, "MODULES", "").split()]:
        assert getattr(module, name) is not None
        assert name in dir(module)
    with pytest.raises(AttributeError, match="nonsense"):
        module.nonsense  # noqa: B018


def test_stubs_of_lazy_modules_say_what_their_tables_say() -> None:
    script = ROOT / "wheels" / "make_stubs.py"
    if Path(zarrcore.__file__).parents[1] != ROOT or not script.exists():
        pytest.skip("not run in a source tree")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
