# SPDX-License-Identifier: MIT
"""Run the executable blocks of zarr-python's documentation, with it and with zarrcore in its place.

Called by ``make zarr-python-guide``, in an environment of its own, with a directory for the documentation,
which comes from the sdist of the release that is installed.  The exit status is 0 if all blocks
run with zarrcore that run with zarr-python.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from zarr_python_suite import ROOT, tests_of

FENCE = re.compile(r'^( *)```python [^\n]*exec="true"([^\n]*)\n(.*?)^\1```', re.M | re.S)


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Return name, session and text of each block that is run when the page is made."""
    found = []
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        indent, options, body = match.groups()
        session = re.search(r'session="([^"]*)"', options)
        line = text.count("\n", 0, match.start()) + 1
        code = "".join(part.removeprefix(indent) for part in body.splitlines(keepends=True))
        found.append((f"{page.name}:{line}", session[1] if session else "", code))
    return found


def run_page(page: Path, is_ours: bool) -> dict[str, str]:
    """Run the blocks of a page in this process; return the error of each, empty for those that run."""
    if is_ours:
        import zarrcore.compat

        zarrcore.compat.stand_in()
    warnings.simplefilter("ignore")
    spaces: dict[str, dict[str, object]] = {}
    errors = {}
    for name, session, code in blocks_of(page):
        space = spaces.setdefault(session, {"__name__": "__main__"})
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(code, name, "exec"), space)
            errors[name] = ""
        except Exception:
            errors[name] = traceback.format_exc(limit=-1).strip().splitlines()[-1]
    return errors


def outcomes(page: Path, how: str) -> dict[str, str]:
    """Run a page in a process and a directory of its own."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, __file__, "--page", str(page), how]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Run all pages; say which blocks run only with zarr-python."""
    if sys.argv[1] == "--page":
        print(json.dumps(run_page(Path(sys.argv[2]), sys.argv[3] == "zarrcore")))
        return 0
    home = Path(sys.argv[1]).resolve()
    pages = [
        page for page in sorted((tests_of(version("zarr"), home) / "docs").rglob("*.md")) if blocks_of(page)
    ]
    good = lost = 0
    for page in pages:
        theirs, ours = outcomes(page, "zarr"), outcomes(page, "zarrcore")
        good += sum(not error for error in theirs.values())
        for name, error in theirs.items():
            if ours[name] and not error:
                lost += 1
                print("FAILED", name, ours[name])
            elif error:
                print("fails with zarr-python:", name, error)
    print(f"{good} blocks run with zarr-python, {good - lost} of them with zarrcore")
    return int(lost > 0 or not good)


if __name__ == "__main__":
    sys.exit(main())
