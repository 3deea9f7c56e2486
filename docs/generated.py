"""Pages that a script makes: written, or compared with what is there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import unified_diff
from pathlib import Path


def write_or_check(
    script: str, usage: str | None, path: Path, page: Callable[[], str], arguments: Sequence[str]
) -> int:
    """Write what `page` makes to `path`, or with ``--check`` compare; return the exit status."""
    if list(arguments) not in ([], ["--check"]):
        print(usage, file=sys.stderr)
        return 2
    made = page()
    if not arguments:
        path.write_text(made, encoding="utf-8")
        return 0
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == made:
        return 0
    print(f"{path.name} is out of date: run python docs/{Path(script).name}", file=sys.stderr)
    sys.stderr.writelines(unified_diff(found.splitlines(True), made.splitlines(True), "is", "should be", n=0))
    return 1
