# SPDX-License-Identifier: MIT
"""Packages and sources of Debian, brought into a directory.

Nothing is installed, and apt's settings stay as they are: lists and downloads lie in that directory, and
sources come from where this machine has its packages from.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from build_wheels import StepError, run  # in this directory

HARD = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")


class Debian:
    """apt with lists and a cache of its own, for one of dpkg's architectures (None: this machine's)."""

    def __init__(self, work: Path, architecture: str | None = None) -> None:
        self.work = work
        for name in ("state/lists/partial", "cache/archives/partial"):
            (work / name).mkdir(parents=True, exist_ok=True)
        status = work / "state" / "status"
        status.touch()
        chosen = {"Dir::State": work / "state", "Dir::State::status": status, "Dir::Cache": work / "cache"}
        chosen["APT::Sandbox::User"] = "root"
        if architecture is not None:
            chosen |= {"APT::Architecture": architecture, "APT::Architectures::": architecture}
        self.options = [part for name, value in chosen.items() for part in ("-o", f"{name}={value}")]

    def update(self) -> None:
        """Bring the lists."""
        run(["apt-get", *self.options, "update"])

    def unpack(self, wanted: list[str]) -> Path:
        """Bring packages and all that they need; return the root of the tree that they are unpacked into."""
        without = [f"--no-{kind}" for kind in HARD]
        listed = run(["apt-cache", *self.options, "depends", "--recurse", *without, *wanted])
        packages = sorted(set(re.findall(r"^[a-z][\w.+-]*$", listed, re.MULTILINE)))
        archives, root = fresh(self.work / "packages"), fresh(self.work / "root")
        run(["apt-get", *self.options, "download", *packages], cwd=archives)
        for package in sorted(archives.glob("*.deb")):
            run(["dpkg-deb", "--extract", package, root])
        return root

    def python(self) -> str:
        """Return the package of the CPython of this release: python3.13."""
        said = run(["apt-cache", *self.options, "depends", "python3"])
        found = re.search(r"^ *Depends: (python3\.\d+)$", said, re.MULTILINE)
        if found is None:
            raise StepError("apt does not say which package python3 stands for")
        return found[1]

    def sources(self, names: list[str]) -> dict[str, Path]:
        """Bring the sources of packages as their authors have released them; return the tree of each."""
        etc = ("Dir::Etc::sourcelist=/dev/null", f"Dir::Etc::sourceparts={self._parts()}")
        options = [*self.options, *(part for setting in etc for part in ("-o", setting))]
        run(["apt-get", *options, "update"])
        return {name: self._source(name, options) for name in names}

    def _parts(self) -> Path:
        """Return a directory of what apt reads, with sources in the place of packages."""
        known = run(["apt-get", *self.options, "indextargets", "Created-By: Packages", "Origin: Debian"])
        files = sorted(set(re.findall(r"^Sourcesentry: (.+):\d+$", known, re.MULTILINE)))
        if not files:
            raise StepError("apt knows no packages of Debian: apt-get update has brought no list")
        parts = fresh(self.work / "parts")
        for number, file in enumerate(map(Path, files)):
            target = parts / f"{number}{file.suffix}"
            target.write_text(as_sources(file.read_text(encoding="utf-8")), encoding="utf-8")
        return parts

    def _source(self, name: str, options: list[str]) -> Path:
        """Bring one source and unpack it."""
        archives, tree = fresh(self.work / "sources" / name), fresh(self.work / "trees" / name)
        run(["apt-get", *options, "source", "--download-only", "--tar-only", name], cwd=archives)
        found = [path for path in archives.glob("*.orig.tar.*") if path.suffix != ".asc"]
        if len(found) != 1:
            raise StepError(f"source of {name}: expected one archive, got {[path.name for path in found]}")
        shutil.unpack_archive(found[0], tree, filter="data")
        (inner,) = tree.iterdir()
        return inner


def fresh(directory: Path) -> Path:
    """Return the directory, empty."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def as_sources(text: str) -> str:
    """Return what apt reads, in either of its forms, with sources in the place of packages."""
    text = re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.startswith("deb-src ")]
    return "".join(re.sub(r"^deb ", "deb-src ", line) + "\n" for line in lines)
