# SPDX-License-Identifier: MIT
"""The command line: ``zarrcore`` and ``python -m zarrcore``."""

from __future__ import annotations

import sys


def _print_flags(options: set[str]) -> None:
    """Print what a compiler and a linker need for extension modules, which link nothing of zarrcore."""
    from shlex import quote

    from zarrcore.include_dir import get_include

    print(f"-I{quote(get_include())}" if "--cflags" in options else "")


def main() -> None:
    """Run the command line."""
    import gc

    options = set(sys.argv[1:])
    if options and options <= {"--cflags", "--libs"}:  # for build scripts, whose environments may lack click
        _print_flags(options)
        return
    gc.disable()  # until a command has been imported: what modules make is no garbage
    try:
        from zarrcore.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        raise SystemExit("zarrcore: the command line needs click: pip install 'zarrcore[cli]'") from None
    run()
