# SPDX-License-Identifier: MIT
"""The command line: ``zarrcore`` and ``python -m zarrcore``."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    import gc

    gc.disable()  # until a command has been imported: what modules make is no garbage
    try:
        from zarrcore.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        raise SystemExit("zarrcore: the command line needs click: pip install 'zarrcore[cli]'") from None
    run()
