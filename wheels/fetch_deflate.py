# SPDX-License-Identifier: MIT
"""Bring the source tree of libdeflate, which lies in the sdist of the PyPI package `deflate`.

``fetch_deflate.py build/deflate`` leaves it there and prints the path; ``ZARRCORE_DEFLATE=build/deflate``
then makes a build compile and link it.  A step of its own, never taken by a build: a build loads nothing.
Needs pip and its index; a tree that is there already is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import deflate_source

REQUIREMENT = "deflate>=0.7"


def fetch(destination: Path, requirement: str = REQUIREMENT) -> Path:
    """Download and unpack; the root of libdeflate below destination."""
    if destination.exists():
        return deflate_source.find_tree(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination.parent) as directory:
        archive = _download(requirement, Path(directory))
        unpacked = Path(directory, "tree")
        unpack(archive, unpacked)
        deflate_source.find_tree(unpacked)
        unpacked.replace(destination)
    return deflate_source.find_tree(destination)


def _download(requirement: str, directory: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-binary", "deflate", "--dest", str(directory), requirement]
    subprocess.run(command, check=True, stdout=sys.stderr)
    found = sorted(directory.glob("deflate-*.tar.gz"))
    if len(found) != 1:
        raise deflate_source.SourceError(f"pip download {requirement}: expected one sdist, got {found}")
    return found[0]


def unpack(archive: Path, destination: Path) -> None:
    """Unpack an sdist; members that would lie outside of the destination are refused."""
    with tarfile.open(archive) as tar:
        tar.extractall(destination, filter="data")


def main(argv: Sequence[str]) -> int:
    """Fetch as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("destination", type=Path, help="a directory that is made")
    parser.add_argument("--requirement", default=REQUIREMENT, help="default: %(default)s")
    options = parser.parse_args(argv)
    try:
        print(fetch(options.destination, options.requirement))
    except (deflate_source.SourceError, subprocess.CalledProcessError, tarfile.TarError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
