"""What zarrcore does, in two parts: read what others wrote, and use all processors.

    python examples/demo.py                  # everything, sizes fitted to this machine
    python examples/demo.py --size 2GiB --codec zstd
    python examples/demo.py --help

The first part opens the data sets of tests/data, which other implementations of Zarr wrote.  The second part
writes and reads one large array with 1, 2, ... threads and compares what came back with what was written.
The exit status is 0 only if everything could be read and every comparison was right.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

try:
    from rich.console import Console
except ImportError:
    sys.exit("the demonstration draws with rich: pip install 'zarrcore[demo]', or run `make demo`")

from measure_threads import available_cpus, default_size, measure, thread_counts
from show_data import show_all

import zarrcore

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """Bytes from ``"512MiB"``, ``"2G"`` or ``"1000000"``."""
    stem = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = stem[-1:] if stem[-1:] in ("K", "M", "G") else ""
    try:
        size = int(float(stem.removesuffix(unit)) * UNITS[unit])
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a size such as 512MiB or 2G, got {text!r}") from None
    if size < 1:
        raise argparse.ArgumentTypeError(f"expected a size of at least one byte, got {text!r}")
    return size


def parse_count(text: str) -> int:
    """A number of threads."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1024, got {text!r}")
    return int(text)


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Read what others wrote, and use all processors.")
    parser.add_argument(
        "--size", type=parse_size, help="of the large array; default: 512MiB, less if memory is short"
    )
    parser.add_argument(
        "--threads", type=parse_count, help="most threads; default: the processors, at least 2"
    )
    parser.add_argument("--codec", choices=("blosc", "zstd", "none"), default="blosc", help="default: blosc")
    parser.add_argument("--data", type=Path, default=DATA, help="directory of data sets; default: tests/data")
    parser.add_argument("--skip-data", action="store_true", help="leave out the first part")
    parser.add_argument("--no-color", action="store_true", help="plain text")
    return parser.parse_args(argv)


def show_machine(console: Console) -> None:
    """Return one line about what runs where."""
    python = ".".join(map(str, sys.version_info[:3]))
    console.print(f"zarrcore {zarrcore.__version__}, Python {python}, {available_cpus()} processors")


def run(console: Console, arguments: argparse.Namespace) -> bool:
    """Both parts; True if all went well."""
    show_machine(console)
    well = True
    if not arguments.skip_data:
        console.rule("Written by other implementations, read by zarrcore")
        well = show_all(console, arguments.data)
    console.rule("One large array, more and more threads")
    with tempfile.TemporaryDirectory(prefix="zarrcore-demo-", ignore_cleanup_errors=True) as directory:
        size = arguments.size or default_size(directory)
        threads = thread_counts(arguments.threads or max(2, available_cpus()))
        return measure(console, directory, size=size, codec=arguments.codec, threads=threads) and well


def stop(number: int, frame: Any) -> NoReturn:
    """End like Ctrl-C does, so that the temporary directory is removed."""
    raise KeyboardInterrupt


def main(argv: list[str] | None = None) -> int:
    """Run the demonstration and return the exit status."""
    arguments = parse_arguments(argv)
    signal.signal(signal.SIGTERM, stop)
    plain = arguments.no_color or "NO_COLOR" in os.environ
    console = Console(no_color=plain, highlight=False, width=None if sys.stdout.isatty() else 110)
    try:
        well = run(console, arguments)
    except KeyboardInterrupt:
        console.print("interrupted; temporary files have been removed", style="yellow")
        return 130
    if not well:
        console.print("Something was not right: see above.", style="bold red")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
