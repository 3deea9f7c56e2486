# SPDX-License-Identifier: MIT
"""Does an sdist hold what a checkout holds, and does it make the same sdist again?

``check_sdist.py SDIST`` compares with git where there is a repository, unpacks, builds an sdist from what it
found, and compares the two lists of files.
"""

from __future__ import annotations

import fnmatch
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAYS_BEHIND = (".gitignore", ".gitattributes")
UNWANTED = ("*.so", "*.pyd", "*.o", "*.a", "*.pyc", "build/*", "dist/*", ".venv*/*", "zarrcore/_core/*.c")


def files(sdist: Path) -> set[str]:
    """The files, relative to the one directory that an sdist holds."""
    with tarfile.open(sdist) as tar:
        return {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}


def committed() -> set[str]:
    """What git tracks and is there; empty without a repository."""
    if not (ROOT / ".git").exists():
        return set()
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


def again(sdist: Path) -> set[str]:
    """The files of an sdist that is built from this one alone."""
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(sdist) as tar:
            tar.extractall(directory, filter="data")
        (root,) = Path(directory).iterdir()
        build = [sys.executable, "-m", "build", "--sdist", "--no-isolation"]
        subprocess.run([*build, "--outdir", f"{directory}/dist", root], capture_output=True, check=True)
        (second,) = Path(directory, "dist").iterdir()
        return files(second)


def faults(sdist: Path) -> list[str]:
    """All that is wrong, as sentences."""
    found = files(sdist)
    missing = sorted(committed() - found - set(STAYS_BEHIND))
    unwanted = sorted(name for name in found if any(fnmatch.fnmatch(name, pattern) for pattern in UNWANTED))
    return [
        *(f"{name} is missing" for name in missing),
        *(f"{name} does not belong into an sdist" for name in unwanted),
        *(f"{name} differs when it is built again" for name in sorted(found ^ again(sdist))),
    ]


def main(argv: Sequence[str]) -> int:
    """Check each sdist and report."""
    status = 0
    for sdist in map(Path, argv):
        problems = faults(sdist)
        for problem in problems:
            print(f"{sdist}: {problem}", file=sys.stderr)
        status |= bool(problems)
        if not problems:
            print(f"{sdist.name}: ok, {len(files(sdist))} files")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
