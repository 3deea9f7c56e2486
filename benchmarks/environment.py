"""A virtual environment with the peers, kept in benchmarks/.envs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"


def peers_python() -> Path:
    """The interpreter of an environment with all peers, made on first use.

    It is made by the running interpreter, so that the extension modules built in place fit it. A change of
    the requirements or of the Python version makes a new one.
    """
    tag = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:8]
    home = HERE / ".envs" / f"py{sys.version_info.major}{sys.version_info.minor}-{tag}"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    complete = home / ".complete"
    if not complete.exists():
        print(f"installing the peers into {home}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", "-r", REQUIREMENTS], check=True)
        complete.touch()
    return python
