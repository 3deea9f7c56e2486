"""The page on extensions and its package, installed as pip does it, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extending.md"
PACKAGE = ROOT / "examples" / "extension"

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="only the package is here, not its source tree")

RUN_PAGE = """
import doctest, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```python\\n(>>> .*?)^```", text, re.MULTILINE | re.DOTALL)
test = doctest.DocTestParser().get_doctest("\\n".join(blocks), {}, "page", "page", 0)
result = doctest.DocTestRunner().run(test)
sys.exit(result.failed or not result.attempted)
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which the package can be imported, and its entry points are found."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = tmp_path / "installed" / "zarr_camera-1.0.dist-info"
    metadata.mkdir(parents=True)
    name, version = project["name"], project["version"]
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {place}" for key, place in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    installed = Path(zarrcore.__file__).parents[1]  # or the source tree
    paths = [str(installed), str(PACKAGE), str(metadata.parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run(arguments: list[str], environ: dict[str, str], cwd: Path) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_passes_its_tests(environ: dict[str, str], tmp_path: Path) -> None:
    own = ["-c", os.devnull, "--rootdir", str(tmp_path), "--basetemp", str(tmp_path / "tests")]
    run(
        ["-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *own, str(PACKAGE / "tests")],
        environ,
        tmp_path,
    )


def test_the_examples_of_the_page_run(environ: dict[str, str], tmp_path: Path) -> None:
    run(["-c", RUN_PAGE, str(PAGE)], environ, tmp_path)


def test_the_code_on_the_page_is_that_of_the_package() -> None:
    files = [*PACKAGE.rglob("*.py"), PACKAGE / "pyproject.toml"]
    sources = [path.read_text(encoding="utf-8") for path in files]
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^```(?:python|toml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    code = [block for block in shown if not block.startswith(">>>")]
    assert len(code) >= 8
    assert [block for block in code if not any(block in source for source in sources)] == []


def test_every_extension_is_on_the_page() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = PAGE.read_text(encoding="utf-8")
    names = [name for points in project["entry-points"].values() for name in points]
    assert len(names) == 7
    assert [name for name in names if f"`{name}`" not in text] == []
