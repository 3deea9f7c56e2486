# SPDX-License-Identifier: MIT
"""The command line: ``zarrcore`` and ``python -m zarrcore``."""

from __future__ import annotations

import sys

#: What build scripts ask for; their environments may lack click.
_FLAGS = {"--cflags", "--libs", "--static", "--cmakedir", "--pkgconfigdir"}


def _print_flags(options: set[str]) -> None:
    """Print what a compiler and a linker need, or where CMake and pkg-config find it."""
    from zarrcore import include_dir

    try:
        print(include_dir.flags(options), flush=True)
    except OSError as error:
        raise SystemExit(f"zarrcore: {error}") from None


def main() -> None:
    """Run the command line."""
    try:
        _run()
    except SystemExit as end:
        if (error := _flushed()) is None or end.code:  # what failed has been said
            raise
        raise SystemExit(f"zarrcore: {error}") from None


def _flushed() -> OSError | None:
    """Write what the standard output still has; what fails is dropped, or Python would show it once more."""
    import os

    out = sys.stdout
    if out is None:
        return None
    try:
        out.flush()
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)
        return error
    return None


def _run() -> None:
    import atexit
    import gc
    import os

    options = set(sys.argv[1:])
    if options and options <= _FLAGS:
        _print_flags(options)
        return
    # No command does linear algebra: making threads for it took a third of what importing numpy takes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(200_000)  # what modules make is no garbage: it need not be looked through,
    atexit.register(gc.freeze)  # and not when the process ends either
    try:
        from zarrcore.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        raise SystemExit("zarrcore: the command line needs click: pip install 'zarrcore[cli]'") from None
    run()
