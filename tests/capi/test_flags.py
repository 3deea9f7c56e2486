# SPDX-License-Identifier: MIT
"""python -m zarrcore --cflags --libs, in a package that contains libzarrcore and in one that does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="libzarrcore is built by make"),
]


@pytest.fixture
def package(prefix: Path, tmp_path: Path) -> Path:
    """What of an installed package the flags need: wheels/check_library.py tries whole wheels."""
    package = tmp_path / "site packages" / "zarrcore"
    shutil.copytree(prefix / "lib", package / "lib", ignore=shutil.ignore_patterns("libzarrcore.so"))
    shutil.copytree(prefix / "include", package / "include")
    for name in (
        "__init__.py",
        "__main__.py",
        "_version.py",
        "include_dir.py",
        "cli/__init__.py",
    ):
        (package / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "zarrcore" / name, package / name)
    (package / "__init__.py").write_text("")
    return package


def ask(package: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-P", "-m", "zarrcore", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environ)


@pytest.mark.parametrize("options", [["--cflags", "--libs"], ["--cflags", "--static"]])
def test_a_program_is_built_with_the_flags(package: Path, tmp_path: Path, options: list[str]) -> None:
    """As a shell takes them: in directories with a space, too."""
    done = ask(package, *options)
    assert done.returncode == 0, done.stderr
    (tmp_path / "p.c").write_text(
        "#include <zarrcore.h>\n#include <stdio.h>\nint main(void) { puts(zarrcore_version()); return 0; }\n"
    )
    sanitize = os.environ.get("ZARRCORE_SANITIZE")
    more = f"-fsanitize={sanitize}" if sanitize else ""
    built = subprocess.run(
        f"cc p.c {done.stdout.strip()} {more} -o p && ./p",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    version = (ROOT / "zarrcore" / "_version.py").read_text()
    assert f'"{built.stdout.strip()}"' in version


def test_directories(package: Path) -> None:
    for option, name in [("--cmakedir", "ZarrcoreConfig.cmake"), ("--pkgconfigdir", "zarrcore.pc")]:
        done = ask(package, option)
        (directory,) = [done.stdout.strip().strip("'")]
        assert (Path(directory) / name).is_file()


@pytest.mark.parametrize("option", ["--libs", "--static", "--cmakedir", "--pkgconfigdir"])
def test_a_package_without_it_says_so(package: Path, option: str) -> None:
    shutil.rmtree(package / "lib")
    done = ask(package, option)
    assert (done.returncode, "libzarrcore is not in" in done.stderr) == (1, True)
    assert "-I" in ask(package, "--cflags").stdout
