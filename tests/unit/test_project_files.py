# SPDX-License-Identifier: MIT
"""Files about the project: workflows, recipe, citation.  They agree with the package and the Makefile."""

from __future__ import annotations

import contextlib
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="only the package is here, not its source tree")


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_versions_agree() -> None:
    assert f"version: {zarrcore.__version__}\n" in text("CITATION.cff")
    assert f'version: "{zarrcore.__version__}"' in text("recipe/recipe.yaml")
    assert f'version("{zarrcore.__version__}", ' in text("recipe/spack/package.py")


def test_workflows_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):(?!=)", text("Makefile"), re.MULTILINE))
    named: set[str] = set()
    for path in WORKFLOWS:
        workflow = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"\bmake ([a-z][a-z0-9-]+)", workflow))
        for listed in re.findall(r"target: \[(.*)\]", workflow):
            named |= set(listed.split(", "))
    assert {"test", "fuzz", "asan", "docs", "xarray-suite"} <= named
    assert named - targets == set()


def test_files_that_workflows_name_exist() -> None:
    for path in WORKFLOWS:
        for named in re.findall(r"\b(?:wheels|tests|docs)/[\w/]+\.\w+", path.read_text(encoding="utf-8")):
            assert (ROOT / named).is_file(), f"{path.name}: {named}"


def test_every_python_is_tested_and_has_a_wheel() -> None:
    releases = re.findall(r"Python :: (3\.\d+)", text("pyproject.toml"))
    tests, wheels = text(".github/workflows/tests.yml"), text("wheels/cibuildwheel.toml")
    for release in releases:
        assert f'"{release}"' in tests
        assert f'"cp{release.replace(".", "")}-*"' in wheels
    assert '"3.14t"' in tests and '"cp314t-*"' in wheels


def test_the_tour_is_run_where_the_site_is_built() -> None:
    """Its test is skipped where Jupyter is not installed."""
    workflow = text(".github/workflows/docs.yml")
    assert workflow.index("pip install nbclient ipykernel") < workflow.index("tests/unit/test_docs.py")


def test_workflows_have_no_rights_that_they_do_not_need() -> None:
    for path in WORKFLOWS:
        workflow = path.read_text(encoding="utf-8")
        assert "\npermissions:\n  contents: read\n" in workflow, path.name
        assert "pull_request_target" not in workflow and "secrets." not in workflow
        assert workflow.count("actions/checkout@") == workflow.count("persist-credentials: false")
        assert workflow.count("runs-on:") == workflow.count("timeout-minutes:")


def test_actionlint_finds_nothing() -> None:
    program = shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is not installed")
    done = subprocess.run([program, *WORKFLOWS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-arm64", "win-64"])
def test_the_recipe_is_one_for_rattler_build(platform: str) -> None:
    """It refuses fields that it does not know, and requirements that are none."""
    rattler = pytest.importorskip("rattler_build")
    platforms = rattler.PlatformConfig(
        target_platform=platform, build_platform="linux-64", host_platform=platform
    )
    variants = {"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "python": ["3.11.*", "3.14.*"]}
    found = rattler.Stage0Recipe.from_yaml(text("recipe/recipe.yaml")).render(
        rattler.VariantConfig(variants), rattler.RenderConfig(platform=platforms)
    )
    assert [str(each.recipe.package.version) for each in found] == [zarrcore.__version__] * 2
    requirements = found[0].recipe.requirements.to_dict()
    for needed in tomllib.loads(text("pyproject.toml"))["project"]["dependencies"]:
        assert needed.replace(">", " >") in requirements["run"]
    assert ("numpy" in requirements["build"]) == (platform != "linux-64")  # cross-compiled


def spack(monkeypatch: pytest.MonkeyPatch, commands: dict[str, Any]) -> list[tuple[str, ...]]:
    """Stand in for what a recipe imports of Spack; what it says with directives."""
    said: list[tuple[str, ...]] = []

    def directive(name: str) -> Callable[..., None]:
        return lambda *args, **options: said.append((name, *args))

    names = ("license", "version", "depends_on")
    package = ModuleType("spack.package")
    vars(package).update({name: directive(name) for name in names}, working_dir=contextlib.chdir, **commands)
    makefile = ModuleType("spack_repo.builtin.build_systems.makefile")
    vars(makefile)["MakefilePackage"] = object
    for module in (package, makefile):
        for end in range(len(module.__name__.split("."))):
            above = ".".join(module.__name__.split(".")[: end + 1])
            monkeypatch.setitem(sys.modules, above, ModuleType(above))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return said


def test_the_recipe_for_spack_installs_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spack gives it the functions of `spack.package`, here by stubs; make says what it would do."""
    done = []

    def make(*arguments: str) -> None:
        command = ["make", "-n", *arguments]
        done.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    said = spack(monkeypatch, {"make": make, "spack_cc": "cc"})
    recipe = runpy.run_path(str(ROOT / "recipe/spack/package.py"))["Libzarrcore"]()
    monkeypatch.chdir(ROOT)
    recipe.build(None, tmp_path)
    recipe.install(SimpleNamespace(), tmp_path)
    (plan,) = done
    for name in ("lib/libzarrcore.a", "include/zarrcore.h", "lib/pkgconfig/zarrcore.pc"):
        assert f"{tmp_path}/{name}" in plan
    needed = {what[1] for what in said if what[0] == "depends_on"}
    assert needed == {"c", "gmake", "pkgconfig", "c-blosc", "lz4", "zlib-api", "zstd"}
