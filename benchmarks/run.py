"""The benchmark: `python benchmarks/run.py [CASE ...]`."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from benchmarks import probes, report  # noqa: E402  (needs the path above)
from benchmarks.cases import CASES  # noqa: E402
from benchmarks.cases.base import Case  # noqa: E402
from benchmarks.driver import ROOT, Client, Result, Setup, Team, subject_failed  # noqa: E402
from benchmarks.environment import peers_python  # noqa: E402
from benchmarks.libraries import LIBRARIES, REFERENCE  # noqa: E402


def main(argv: list[str] | None = None) -> int:
    """Run, write the reports, and return 1 if zarrcore failed or returned other data anywhere."""
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # so that the scratch folder goes
    options = _options(argv)
    chosen = [case for case in CASES.values() if any(fnmatch.fnmatch(case.name, p) for p in options.cases)]
    if options.list or not chosen:
        print("\n".join(case.name for case in chosen) or "no such case; --list shows all")
        return not chosen
    python = options.python or peers_python()
    home = _data(python, options)
    scratch = Path(
        tempfile.mkdtemp(prefix="zarrcore-bench-", dir=options.scratch or _roomy_folder(options.data))
    )
    try:
        return _measure(Setup(python, home, scratch), options, chosen)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmarks/run.py", description=__doc__)
    parser.add_argument("cases", nargs="*", default=["*"], help="patterns of case names (default: all)")
    parser.add_argument("--full", action="store_true", help="the volume has 512 MiB instead of 64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--libraries", default=",".join(LIBRARIES), help="comma-separated (default: %(default)s)"
    )
    parser.add_argument(
        "--probes", default=",".join(probes.PROBES), help="comma-separated (default: %(default)s)"
    )
    parser.add_argument(
        "--python", type=Path, help="an interpreter that has all peers; none is installed then"
    )
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the data sets are kept")
    parser.add_argument(
        "--scratch", type=Path, help="where arrays are written (default: a roomy tmpfs, else --data)"
    )
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where the reports go")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    return parser.parse_args(argv)


def _roomy_folder(otherwise: Path) -> Path:
    """A file system in memory: creating many files on a disk measures mostly the disk's file system."""
    tmpfs = Path("/dev/shm")
    return tmpfs if tmpfs.is_dir() and shutil.disk_usage(tmpfs).free > 8 << 30 else otherwise


def _data(python: Path, options: argparse.Namespace) -> Path:
    """Make the data sets, with the interpreter that has zarr-python."""
    size = "full" if options.full else "quick"
    command = [python, "-m", "benchmarks.datasets", options.data.absolute(), size]
    subprocess.run(command, cwd=ROOT, check=True)
    return options.data.absolute() / size


def _measure(setup: Setup, options: argparse.Namespace, chosen: list[Case]) -> int:
    names = [name for name in LIBRARIES if name in options.libraries.split(",")]
    results = []
    with Team(setup, names) as team:
        about = _about(team.client(REFERENCE), setup, options)
        for case in chosen:
            results.append(team.run(case, options.rounds))
            about["load"] = _load(results)
            print(report.line(results[-1]), flush=True)
            _write(options.results, results, {}, about)
    probed = {}
    for probe in options.probes.split(","):
        if probe in probes.PROBES:
            print(f"probing {probe}", flush=True)
            probed[probe] = probes.PROBES[probe](setup, names, options.rounds)
            _write(options.results, results, probed, about)
    print(f"\n{options.results / 'latest.md'}")
    return any(subject_failed(result) for result in results)


def _about(client: Client, setup: Setup, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "versions": ", ".join(f"{name} {number}" for name, number in client.ask("versions").items()),
        "size": "full (volume of 512 MiB)" if options.full else "quick (volume of 64 MiB)",
        "rounds": options.rounds,
        "written to": str(setup.scratch.parent),
        "conditions": "files in the page cache, no fsync, one process per library, rounds interleaved",
    }


def _load(results: list[Result]) -> str:
    loads = sorted(result.load for result in results)
    return f"{loads[len(loads) // 2]:.1f} processes running on average (about 1 to 2 are the benchmark's own)"


def _processor() -> str:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{usable} usable cores"


def _write(folder: Path, results: list[Result], probed: dict[str, Any], about: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    document = {"about": about, "cases": [asdict(result) for result in results], "probes": probed}
    (folder / "latest.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "latest.md").write_text(report.markdown(results, probed, about))


if __name__ == "__main__":
    sys.exit(main())
