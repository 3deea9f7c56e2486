# SPDX-License-Identifier: MIT
"""Where the time of the cases goes that miss their goals.

    python -m benchmarks.profiles [CASE ...] [--library NAME] [--threads N]

Repeats each case (default: those of benchmarks/results/latest.json that miss) under Linux' `perf record`,
which samples while the timed call runs and not between calls, and prints the shares of the CPU time of all
threads. Without a CASE the result is benchmarks/results/profiles.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks import document
from benchmarks.cases import CASES
from benchmarks.cases.base import Place, roomy_folder
from benchmarks.datasets import Home
from benchmarks.libraries import SUBJECT, load
from benchmarks.libraries.base import Library
from benchmarks.verdict import verdicts

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

_SECONDS = 2.0
_WARM = 3  # turns before the first sample
_FUNCTIONS = 5  # shown of each case

#: Parts of the time, by the object and the function in which a sample was taken; the first that matches.
_PARTS = {
    "copying": r"\[kernel\S* (_?copy_|rep_movs|memcpy)",
    "clearing pages": r"\[kernel\S* clear_",
    "other kernel": r"\[kernel",
    "codec libraries": (
        r"\S+ (ZSTD|HUF|FSE|HIST|XXH|LZ4|blosc|bshuf|bitshuffle|shuffle|unshuffle|deflate|inflate|libdeflate|"
        r"hc_matchfinder|crc32|adler|get_match|get_run|compress)"
    ),
    "zarrcore": r"\S*(zarrcore|_core|engine|kernels|ragged|vlen)\S* ",
    "Python": r"\S*(python|_multiarray|numpy|tensorstore|_zarrs)\S* ",
}
_REST = "C library (memcpy)"


def main(arguments: list[str] | None = None) -> int:
    """Profile what is asked for, print the table, and keep it if it is of all misses."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiles", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--library", default=SUBJECT, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=0, help="default: those that the library takes")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the data sets are kept")
    parser.add_argument("--child", type=int, nargs=2, metavar="FD", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        _repeat(load(options.library, options.threads), options.cases[0], options.data, *options.child)
        return 0
    rows = []
    for case in options.cases or _missing():
        asked = ["--library", options.library, "--threads", str(options.threads), "--data", str(options.data)]
        rows.append(_row(case, _samples([case, *asked])))
        print(rows[-1], flush=True)
    if not options.cases:
        (RESULTS / "profiles.md").write_text(_page(rows), encoding="utf-8")
    return 0


def _missing() -> list[str]:
    run = document.load(RESULTS / "latest.json")
    return [verdict.case for verdict in verdicts(run.results.values()) if not verdict.met]


# ---- the process that is watched ----


def _repeat(library: Library, case: str, data: Path, control: int, acknowledged: int) -> None:
    """Call again and again; perf looks on while a call runs."""
    with tempfile.TemporaryDirectory(prefix="zarrcore-profile-", dir=roomy_folder(data)) as scratch:
        operation = CASES[case].prepare(library, Place(Home(data / "quick"), Path(scratch)))
        spent, number = 0.0, 0
        while spent < _SECONDS:
            if operation.before is not None:
                operation.before()
            watched = number >= _WARM
            if watched:
                _tell(b"enable\n", control, acknowledged)
            started = time.perf_counter()
            for _ in range(1 if operation.before else 20):
                operation.call()
            if watched:
                spent += time.perf_counter() - started
                _tell(b"disable\n", control, acknowledged)
            number += 1


def _tell(command: bytes, control: int, acknowledged: int) -> None:
    os.write(control, command)
    os.read(acknowledged, 16)


# ---- the one that watches ----


def _samples(arguments: list[str]) -> Counter[tuple[str, str]]:
    """CPU samples by part and function, of a child with these arguments."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "perf.data"
        control, acknowledged = os.pipe(), os.pipe()
        given = (control[0], control[1], acknowledged[0], acknowledged[1])
        child = [sys.executable, "-m", "benchmarks.profiles", *arguments]
        child += ["--child", str(control[1]), str(acknowledged[0])]
        perf = ["perf", "record", "-q", "-F", "1999", "-D", "-1", "-o", str(record)]
        perf += [f"--control=fd:{control[0]},{acknowledged[1]}", "--", *child]
        subprocess.run(perf, check=True, pass_fds=given, stdout=subprocess.DEVNULL)
        for end in given:
            os.close(end)
        script = ["perf", "script", "-i", str(record), "-F", "ip,sym,dso"]
        lines = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    return Counter(_parted(line) for line in lines if line.strip())


def _parted(line: str) -> tuple[str, str]:
    """Part and function of a line "address function (object)"."""
    found = re.match(r"\s*[0-9a-f]+\s+(.*?)\s+\((.*)\)\s*$", line)
    function, thing = (found[1], found[2]) if found else (line.strip(), "?")
    function = re.sub(r"\.(isra|part|constprop|cold|lto_priv)[.\d]*", "", function)
    where = f"{thing.rpartition('/')[2].replace(' ', '')} {function}"
    part = next((name for name, pattern in _PARTS.items() if re.match(pattern, where)), _REST)
    return part, function


def _row(case: str, samples: Counter[tuple[str, str]]) -> str:
    total = sum(samples.values())
    parts: Counter[str] = Counter()
    for (part, _), count in samples.items():
        parts[part] += count
    cells = [f"{100 * parts[part] / total:.0f}" for part in (*_PARTS, _REST)]
    top = (f"`{name}` {100 * count / total:.0f}" for (_, name), count in samples.most_common(_FUNCTIONS))
    return f"| {case} | {' | '.join(cells)} | {', '.join(top)} | {total} |"


def _page(rows: Iterable[str]) -> str:
    head = ["case", *_PARTS, _REST, "most in", "samples"]
    return "\n".join(
        [
            "# Where the time goes",
            "",
            "Made by `python -m benchmarks.profiles`: per cent of the CPU time of all threads, while",
            'zarrcore does the cases that miss their goals. Copying, clearing pages and "other kernel" are',
            "the kernel's; the decoder of blosclz is zarrcore's own. Samples are taken 1999 times a second.",
            "",
            f"| {' | '.join(head)} |",
            f"| {' | '.join(['---'] * len(head))} |",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
