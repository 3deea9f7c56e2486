# SPDX-License-Identifier: MIT
"""Is a wheel complete and clean?  Modules, types and licences; no sources, nothing left over, no symbols."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from shutil import which

LICENSES = ("LICENSE", "c-blosc.txt", "zstd.txt", "lz4.txt", "zlib.txt")
SOURCE_SUFFIXES = (".c", ".pyx", ".o", ".a")
ROOT = Path(__file__).resolve().parent.parent


def faults(wheel: Path) -> list[str]:
    """All that is wrong with this wheel, as sentences."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        return [
            *_module_faults(names),
            *(f"{name} does not belong into a wheel" for name in names if name.endswith(SOURCE_SUFFIXES)),
            *(
                f"{name} is outside of the package"
                for name in names
                if not name.startswith(("zarrcore/", "zarrcore-"))
            ),
            *(f"no {name}" for name in _expected_files() if name not in names),
            *(f"licence {name} is missing" for name in LICENSES if not _holds_license(names, name)),
            *_symbol_faults(archive, names),
        ]


def _expected_files() -> list[str]:
    """Every Python source and type file of this tree, and the public C headers."""
    headers = (path.relative_to(ROOT / "csrc") for path in (ROOT / "csrc" / "include").rglob("*.h"))
    suffixes = {".py", ".pyi", ".pxd", ".typed"}
    paths = (path for path in (ROOT / "zarrcore").rglob("*") if path.suffix in suffixes)
    return sorted(
        [path.relative_to(ROOT).as_posix() for path in paths]
        + [f"zarrcore/{header.as_posix()}" for header in headers]
    )


def _module_faults(names: Sequence[str]) -> list[str]:
    wanted = {path.stem for path in (ROOT / "zarrcore" / "_core").glob("*.pyx")}
    modules = [name for name in names if name.endswith((".so", ".pyd"))]
    found = {re.sub(r"^zarrcore/_core/|\..*$", "", name) for name in modules}
    if found == wanted and len(modules) == len(wanted):
        return []
    return [f"extension modules: expected {sorted(wanted)}, found {modules}"]


def _holds_license(names: Sequence[str], license_name: str) -> bool:
    return any(".dist-info/licenses/" in name and name.endswith("/" + license_name) for name in names)


def _symbol_faults(archive: zipfile.ZipFile, names: Sequence[str]) -> list[str]:
    """Exported symbols other than the modules' init functions, where nm can tell."""
    modules = [name for name in names if name.endswith(".so")]
    if not modules or which("nm") is None or sys.platform == "darwin":
        return []
    found = []
    with tempfile.TemporaryDirectory() as directory:
        for name in modules:
            path = archive.extract(name, directory)
            listing = subprocess.run(
                ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
            )
            symbols = [line.split()[-1] for line in listing.stdout.splitlines()]
            found += [f"{name} exports {symbol}" for symbol in symbols if not symbol.startswith("PyInit_")]
    return found


def main(wheels: Sequence[str]) -> int:
    """Check each wheel and report."""
    status = 0
    for wheel in wheels:
        problems = faults(Path(wheel))
        for problem in problems:
            print(f"{wheel}: {problem}", file=sys.stderr)
        status |= bool(problems)
        if not problems:
            print(f"{Path(wheel).name}: ok, {Path(wheel).stat().st_size // 1024} KiB")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
