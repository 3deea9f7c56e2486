"""Runs cases: workers in parallel, the same data first, then interleaved rounds."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from benchmarks.cases.base import Case
from benchmarks.libraries import FLOOR, PEERS, REFERENCE, SUBJECT

ROOT = Path(__file__).resolve().parent.parent


class WorkerError(Exception):
    """A library failed in its worker."""


@dataclass(frozen=True)
class Setup:
    """What all workers of a run share."""

    python: Path
    home: Path
    scratch: Path


_PATIENCE = 180.0  # seconds that one request may take


class Client:
    """The driver's end of one worker process."""

    def __init__(
        self, setup: Setup, library: str, threads: int = 0, module: str = "benchmarks.worker"
    ) -> None:
        self.library = library
        scratch = setup.scratch / f"{library}-{threads}"
        command = [setup.python, "-m", module, library, str(threads), setup.home, scratch]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        """One request; raises WorkerError with what the library said."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        except BrokenPipeError:
            raise WorkerError("the process is gone") from None
        timer = threading.Timer(_PATIENCE, self._process.kill)
        timer.daemon = True  # must not keep a run alive that is being stopped
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            raise WorkerError(f"the process ended with status {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer["ok"]

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@dataclass
class Result:
    """What came of one case: per library the seconds per round, or why there are none."""

    case: str
    wall: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    stored: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    from_disk: dict[str, int] = field(default_factory=dict)
    load: float = 0.0


class Team:
    """Workers, one per library and thread number, started when first needed and kept for all cases."""

    def __init__(self, setup: Setup, names: Iterable[str]) -> None:
        self._setup = setup
        self._names = tuple(names)
        self._clients: dict[tuple[str, int], Client] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def client(self, library: str, threads: int = 0) -> Client:
        key = (library, threads)
        if key not in self._clients or not self._clients[key].is_alive():
            self._clients[key] = self._stack.enter_context(Client(self._setup, library, threads))
        return self._clients[key]

    def run(self, case: Case, rounds: int, limit: float) -> Result:
        """Check that all agree, then time those that do, for about `limit` seconds at most."""
        result = Result(case.name)
        names = (*case.libraries, FLOOR) if case.floor else case.libraries
        clients = [self.client(name) for name in names if name in self._names]
        with self._prepared(case, clients, result) as ready:
            agreeing = self._check(ready, result)
            _time(agreeing, case, rounds, limit, result)
        result.load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        return result

    @contextmanager
    def _prepared(self, case: Case, clients: list[Client], result: Result) -> Iterator[list[Client]]:
        ready = [c for c in clients if _try(c, result, "prepare", case=case.name) is not _FAILED]
        yield ready
        for client in clients:
            _try(client, result, "release")

    def _check(self, clients: list[Client], result: Result) -> list[Client]:
        """Drop whoever fails or disagrees with the reference (with the first where it takes no part)."""
        digests: dict[str, str] = {}
        for client in clients:
            answer = _try(client, result, "check")
            if answer is _FAILED:
                continue
            digests[client.library] = answer["digest"]
            if answer["written"] is not None:
                result.stored[client.library] = answer["stored"]
                reference = self.client(REFERENCE)
                try:
                    digests[client.library] += reference.ask("digest_of", directory=answer["written"])
                except WorkerError as error:
                    result.failed[client.library] = f"{REFERENCE} cannot read what was written: {error}"
                    del digests[client.library]
        if not digests:
            return []
        expected = digests.get(REFERENCE, next(iter(digests.values())))
        for name, found in digests.items():
            if found != expected:
                result.failed[name] = "returned other data than the reference"
        return [c for c in clients if c.library in digests and c.library not in result.failed]


_FAILED = object()
#: How the answer begins of a library that has no such operation.
UNABLE = "NotImplementedError: "


def _try(client: Client, result: Result, do: str, **arguments: Any) -> Any:
    """The answer, or _FAILED and why in the result; the floor alone may refuse a case in silence."""
    try:
        return client.ask(do, **arguments)
    except WorkerError as error:
        if client.library != FLOOR or not str(error).startswith(UNABLE):
            result.failed.setdefault(client.library, str(error))
        return _FAILED


def _time(clients: list[Client], case: Case, rounds: int, limit: float, result: Result) -> None:
    """A B C, B C A, ...: nobody profits from its place in the round. Two rounds at least."""
    started = time.monotonic()
    repeats = {c.library: _try(c, result, "calibrate", seconds=case.seconds) for c in clients}
    runners = clients
    for number in range(rounds):
        if number >= 2 and time.monotonic() - started > limit:
            return
        # Who is out stays out: the sample of a round stands at its number.
        runners = [c for c in runners if c.library not in result.failed and not _hopeless(c.library, result)]
        turn = number % max(1, len(runners))
        for client in runners[turn:] + runners[:turn]:
            one = _try(client, result, "sample", repeat=repeats[client.library])
            if one is not _FAILED:
                result.wall.setdefault(client.library, []).append(one["wall"])
                result.cpu.setdefault(client.library, []).append(one["cpu"])
                if one["disk"]:
                    result.from_disk[client.library] = result.from_disk.get(client.library, 0) + one["disk"]


def _hopeless(library: str, result: Result) -> bool:
    """Whether a peer took four times as long as the best peer, by both clocks: it sits out further rounds."""
    if library not in PEERS or library not in result.wall:
        return False
    return all(
        statistics.median(seconds[library])
        > 4 * min(statistics.median(values) for name, values in seconds.items() if name in PEERS)
        for seconds in (result.wall, result.cpu)
    )


def subject_failed(result: Result) -> bool:
    """Whether zarrcore failed or returned other data."""
    return SUBJECT in result.failed
