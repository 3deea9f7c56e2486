# SPDX-License-Identifier: MIT
"""Print what pyproject.toml requires for building and for the extras named, without the project itself.

``requirements.py build test demo``: an environment can be filled before anything is compiled.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(document: Mapping, groups: Sequence[str]) -> list[str]:
    """All requirements of these groups, sorted; ``build`` is the build system, other names are extras."""
    project = document["project"]
    found = set(project["dependencies"])
    for group in groups:
        found.update(document["build-system"]["requires"] if group == "build" else _extra(project, group))
    return sorted(found)


def _extra(project: Mapping, name: str) -> Iterator[str]:
    """One extra; an entry such as ``zarrcore[peers]`` stands for other extras."""
    itself = re.compile(re.escape(project["name"]) + r"\[([\w,.\s-]+)\]")
    for requirement in project["optional-dependencies"][name]:
        match = itself.fullmatch(requirement)
        if match is None:
            yield requirement
            continue
        for inner in match[1].split(","):
            yield from _extra(project, inner.strip())


if __name__ == "__main__":
    with PYPROJECT.open("rb") as file:
        print("\n".join(requirements(tomllib.load(file), sys.argv[1:])))
