"""The benchmark: `python -m benchmarks [--only PATTERN]`."""

from __future__ import annotations

import argparse
import fnmatch
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from benchmarks import document, floor, probes, report  # noqa: E402  (needs the path above)
from benchmarks.cases import CASES  # noqa: E402
from benchmarks.cases.base import roomy_folder  # noqa: E402
from benchmarks.document import Document  # noqa: E402
from benchmarks.driver import ROOT, Client, Setup, Team, subject_failed  # noqa: E402
from benchmarks.environment import peers_python  # noqa: E402
from benchmarks.libraries import FLOOR, LIBRARIES, REFERENCE  # noqa: E402
from benchmarks.measure import usable_cores  # noqa: E402

WORK = ROOT / "build" / "benchmarks"


def main(argv: list[str] | None = None) -> int:
    """Run, write the reports, and return 1 if zarrcore failed or returned other data anywhere."""
    # A signal shall remove the scratch folder, as an exception does.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = _options(argv)
    chosen = [name for name in CASES if any(fnmatch.fnmatch(name, pattern) for pattern in options.only)]
    if options.list or not chosen:
        print("\n".join(chosen) or "no such case; --list shows all")
        return not chosen
    python = options.python or peers_python()
    names = [name for name in LIBRARIES if name in options.libraries.split(",")]
    why_no_floor = floor.build()
    if why_no_floor is None:
        names.append(FLOOR)
    else:
        print(f"measured without the floor: {why_no_floor}", file=sys.stderr)
    home = _data(python, options)
    folder = options.scratch or roomy_folder(options.data)
    scratch = Path(tempfile.mkdtemp(prefix="zarrcore-bench-", dir=folder))
    try:
        return _measure(Setup(python, home, scratch), options, names, chosen)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="PATTERN", help="cases by name, as a shell does"
    )
    parser.add_argument("--size", choices=("quick", "full"), default="quick", help="volumes of 64 or 512 MiB")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument(
        "--limit", type=float, default=20, help="seconds for the rounds of a case (default: %(default)s)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run that was stopped")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="default: %(default)s")
    parser.add_argument("--probes", default=",".join(probes.PROBES), help="default: %(default)s")
    parser.add_argument(
        "--python", type=Path, help="an interpreter that has all peers; none is installed then"
    )
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the data sets are kept")
    parser.add_argument(
        "--scratch", type=Path, help="where arrays are written (default: a roomy tmpfs, else --data)"
    )
    parser.add_argument(
        "--results",
        type=Path,
        help="where the reports go (default: benchmarks/results for a whole run, else build/benchmarks)",
    )
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    return parser.parse_args(argv)


def _data(python: Path, options: argparse.Namespace) -> Path:
    """Make the data sets, with the interpreter that has zarr-python."""
    command = [python, "-m", "benchmarks.datasets", options.data.absolute(), options.size]
    subprocess.run(command, cwd=ROOT, check=True)
    return options.data.absolute() / options.size


def _measure(setup: Setup, options: argparse.Namespace, names: list[str], chosen: list[str]) -> int:
    whole = len(chosen) == len(CASES)
    state = WORK / ("run.json" if whole else "part.json")
    started = time.monotonic()
    with Team(setup, names) as team:
        run = Document(_about(team.client(REFERENCE), setup, options, names))
        taken_over = _resume(run, state) if options.resume else 0
        for name in chosen:
            if name not in run.results:
                run.results[name] = team.run(CASES[name], options.rounds, options.limit)
                run.about["load"] = _load(run)
                run.save(state)
                print(report.line(run.results[name]), flush=True)
    run.results = document.in_order(run.results.values())
    for probe in options.probes.split(","):
        if probe in probes.PROBES and probe not in run.probes:
            print(f"probing {probe}", flush=True)
            run.probes[probe] = probes.PROBES[probe](setup, names, options.rounds)
            run.save(state)
    run.about["took"] = f"{(time.monotonic() - started) / 60:.0f} minutes"
    if taken_over:
        run.about["took"] += f", beside {taken_over} cases of a stopped run"
    _publish(run, options.results or (HERE / "results" if whole else WORK))
    state.unlink()  # nothing is left to resume
    return any(subject_failed(result) for result in run.results.values())


def _resume(run: Document, state: Path) -> int:
    """Take over the results of a stopped run, if it was one of the same kind; returns how many."""
    if not state.exists():
        return 0
    earlier = document.load(state)
    if run.continues(earlier):
        run.results, run.probes = earlier.results, earlier.probes
        print(f"{len(run.results)} cases are there already", flush=True)
    else:
        print("the stopped run had other versions, libraries or options: starting again", file=sys.stderr)
    return len(run.results)


def _publish(run: Document, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    run.save(folder / "latest.json")
    report.publish(run, folder)
    print(f"\n{folder / 'latest.md'}")


def _about(client: Client, setup: Setup, options: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "versions": ", ".join(f"{name} {number}" for name, number in client.ask("versions").items()),
        "size": {"quick": "quick (volumes of 64 MiB)", "full": "full (volumes of 512 MiB)"}[options.size],
        "rounds": options.rounds,
        "libraries": ", ".join(names),
        "written to": str(setup.scratch.parent),
        "conditions": "files in the page cache, no fsync, one process per library, rounds interleaved",
    }


def _load(run: Document) -> str:
    loads = sorted(result.load for result in run.results.values())
    return f"{loads[len(loads) // 2]:.1f} processes running on average (about 1 to 2 are the benchmark's own)"


def _processor() -> str:
    return f"{usable_cores()} usable cores"


if __name__ == "__main__":
    sys.exit(main())
