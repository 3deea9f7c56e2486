"""Random arrays: `python -m benchmarks.random_arrays --seed 1 --seconds 600`.

Compares zarrcore with its peers; with --threads with itself, on 1, 2 and its own number of threads.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.cases.base import roomy_folder
from benchmarks.driver import ROOT, Client, Setup, WorkerError
from benchmarks.environment import peers_python
from benchmarks.libraries import SUBJECT
from benchmarks.random_arrays import compare, summary
from benchmarks.random_arrays.compare import Comparison, Measure, Outcome
from benchmarks.random_arrays.programs import program

_WORKER = "benchmarks.random_arrays.worker"
_PEERS = "zarr-fused,tensorstore"
_WORST = 20

#: Of the run with --threads: how many times as long the others take.
ITSELF = (
    Measure("2 threads against 1", "threads=2", ("threads=1",)),
    Measure("the default number of threads against 1", "threads=default", ("threads=1",)),
    Measure("CPU time with 2 threads against 1", "threads=2", ("threads=1",), clock="cpu", low=1 / 1.1),
    Measure("CPU time with the default number", "threads=default", ("threads=1",), clock="cpu", low=1 / 1.1),
)


def main(argv: list[str] | None = None) -> int:
    """Run, print the tables, and return 1 if zarrcore failed or returned other data anywhere."""
    # A signal shall remove the scratch folder, as an exception does.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = _options(argv)
    measures = ITSELF if options.threads else _against(tuple(options.libraries.split(",")))
    folder = options.scratch or roomy_folder(Path(tempfile.gettempdir()))
    scratch = Path(tempfile.mkdtemp(prefix="zarrcore-random-", dir=folder))
    try:
        outcomes = list(_run(options, measures, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _publish(outcomes, measures, options)
    return any(_is_ours(name) for outcome in outcomes for name in outcome.failed)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_arrays", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=600, help="default: %(default)s")
    parser.add_argument("--first", type=int, default=0, help="first array (default: %(default)s)")
    parser.add_argument("--arrays", type=int, default=1_000_000, help="most arrays")
    parser.add_argument("--threads", action="store_true", help="compare zarrcore with itself")
    parser.add_argument("--libraries", default=_PEERS, help="the peers (default: %(default)s)")
    parser.add_argument("--python", type=Path, help="an interpreter that has all peers")
    parser.add_argument("--scratch", type=Path, help="where arrays are written (default: a roomy tmpfs)")
    parser.add_argument("--results", type=Path, help="default: build/benchmarks/random-SEED[-threads]")
    return parser.parse_args(argv)


def _against(peers: tuple[str, ...]) -> tuple[Measure, ...]:
    """Wall time, which decides what is measured again, and CPU time."""
    return (
        Measure("the fastest peer against zarrcore", SUBJECT, peers, low=1.0),
        Measure("CPU time of the most frugal peer against zarrcore", SUBJECT, peers, clock="cpu", low=0.0),
    )


def _is_ours(name: str) -> bool:
    return name == SUBJECT or name.startswith("threads=")


def _run(options: argparse.Namespace, measures: tuple[Measure, ...], scratch: Path) -> Iterator[Outcome]:
    """Array after array until the time is over; that of the signal counts as well."""
    ends = time.monotonic() + options.seconds
    with ExitStack() as stack:
        comparison = _comparison(options, measures, scratch, stack)
        for number in range(options.first, options.first + options.arrays):
            try:
                for outcome in comparison.run(options.seed, number, scratch):
                    _report(outcome, measures)
                    yield outcome
                    if time.monotonic() > ends:
                        return
            except KeyboardInterrupt:
                return
            except WorkerError as error:
                print(f"array {number} cannot be made: {error}", file=sys.stderr, flush=True)


def _comparison(
    options: argparse.Namespace, measures: tuple[Measure, ...], scratch: Path, stack: ExitStack
) -> Comparison:
    if options.threads:
        setup = Setup(options.python or Path(sys.executable), scratch, scratch)
        numbers = {"threads=1": 1, "threads=2": 2, "threads=default": 0}
        clients = {n: Client(setup, SUBJECT, threads, _WORKER) for n, threads in numbers.items()}
    else:
        setup = Setup(options.python or peers_python(), scratch, scratch)
        names = [SUBJECT, *options.libraries.split(",")]
        clients = {name: Client(setup, name, 0, _WORKER) for name in names}
    for client in clients.values():
        stack.enter_context(client)
    reference = "threads=1" if options.threads else _reference(measures[0].others)
    return Comparison(clients, reference, measures)


def _reference(peers: tuple[str, ...]) -> str:
    """Who makes the arrays: one with the interface of zarr-python."""
    return next((name for name in peers if name.startswith("zarr")), SUBJECT)


def _report(outcome: Outcome, measures: tuple[Measure, ...]) -> None:
    """A line for what is low, or failed."""
    for measure in measures:
        ratio = measure.ratio(outcome)
        if ratio is not None and measure.clock == "wall" and ratio < 0.95:
            case = f"array {outcome.number}, {summary.describe(outcome)}"
            print(f"{ratio:5.2f} {measure.title}: {case}", flush=True)
    for name, why in outcome.failed.items():
        if _is_ours(name):
            print(f"FAILED {name}: array {outcome.number}, {summary.describe(outcome)}: {why}", flush=True)


def _publish(outcomes: list[Outcome], measures: tuple[Measure, ...], options: argparse.Namespace) -> None:
    name = f"random-{options.seed}" + "-threads" * options.threads
    folder = options.results or ROOT / "build" / "benchmarks" / name
    folder.mkdir(parents=True, exist_ok=True)
    arrays = len({outcome.number for outcome in outcomes})
    lines = [f"# Random arrays: seed {options.seed}, {arrays} arrays, {len(outcomes)} selections", ""]
    for measure in measures:
        lines += summary.distribution(measure, outcomes) + summary.families(measure, outcomes)
        lines += summary.worst(measure, outcomes, _WORST)
        _write_programs(outcomes, measure, folder)
    lines += summary.failures(outcomes)
    (folder / "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    compare.save(outcomes, folder / "outcomes.jsonl")
    print("\n".join(lines))
    print(f"\n{folder}: these tables, all times, and the worst cases as programs")


def _write_programs(outcomes: list[Outcome], measure: Measure, folder: Path) -> None:
    stem = measure.title.replace(" ", "-")
    for place, (ratio, outcome) in enumerate(summary.compared(measure, outcomes)[:_WORST], 1):
        path = folder / f"{stem}-{place:02}.py"
        title = f"{ratio:.2f}, {measure.title}: {summary.describe(outcome)}."
        path.write_text(program(outcome, title, path.name), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
