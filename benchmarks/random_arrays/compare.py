"""Compare workers on random arrays: equal results first, then least times of interleaved calls."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.driver import Client, WorkerError
from benchmarks.random_arrays.arrays import Array, draw_array
from benchmarks.random_arrays.selections import Selection, draw_selections

#: Seconds of calls between which the libraries take turns, and most calls.
_TURN, _MOST_CALLS = 0.01, 30
_ROUNDS = 3
#: Seconds of the first calls of all from which two rounds have to do.
_SLOW = 1.0
#: How often a low case is measured again before it counts.
_AGAIN = 2


@dataclass
class Outcome:
    """One selection of one array: per worker its least times, or why there are none."""

    number: int
    array: Array
    selection: Selection
    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, wall: float, cpu: float) -> None:
        """Keep the least."""
        self.wall[name] = min(wall, self.wall.get(name, wall))
        self.cpu[name] = min(cpu, self.cpu.get(name, cpu))

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "array": self.array.to_json(), "selection": self.selection.to_json()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        array, selection = Array.from_json(document["array"]), Selection.from_json(document["selection"])
        return cls(**{**document, "array": array, "selection": selection})


@dataclass(frozen=True)
class Measure:
    """What a run is about: a time of some workers over that of another one.

    Attributes
    ----------
    title : str
        For people.
    ours, others : str, tuple of str
        Names of workers; of the others the fastest counts.
    clock : str
        "wall" or "cpu".
    low : float
        Below this a case is measured again.
    """

    title: str
    ours: str
    others: tuple[str, ...]
    clock: str = "wall"
    low: float = 0.95

    def best(self, outcome: Outcome) -> str | None:
        """The fastest of the others; None where there is nothing to compare."""
        times = getattr(outcome, self.clock)
        there = [name for name in self.others if name in times]
        return min(there, key=times.__getitem__) if there and self.ours in times else None

    def ratio(self, outcome: Outcome) -> float | None:
        """How many times as long the fastest of the others takes."""
        best, times = self.best(outcome), getattr(outcome, self.clock)
        return None if best is None else times[best] / times[self.ours]

    def is_low(self, outcome: Outcome) -> bool:
        ratio = self.ratio(outcome)
        return ratio is not None and ratio < self.low


def draw_case(seed: int, number: int) -> tuple[Array, list[Selection]]:
    """Return an array by its number, and its selections: they depend on nothing but the two numbers."""
    rng = np.random.default_rng([seed, number])
    array = draw_array(rng)
    return array, list(draw_selections(rng, array))


class Comparison:
    """Workers by name; the reference makes the arrays, and reads what the others write."""

    def __init__(self, clients: dict[str, Client], reference: str, measures: tuple[Measure, ...]) -> None:
        self._clients = clients
        self._reference = reference
        self._measures = measures

    def run(self, seed: int, number: int, folder: Path) -> Iterator[Outcome]:
        """All selections of one array."""
        array, selections = draw_case(seed, number)
        directory = folder / f"array-{number}"
        try:
            self._clients[self._reference].ask("make", array=array.to_json(), directory=str(directory))
            for selection in selections:
                outcome = Outcome(number, array, selection)
                self._compare(outcome, directory)
                yield outcome
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _compare(self, outcome: Outcome, directory: Path) -> None:
        seconds = self._check(outcome, directory)
        self._time(outcome, seconds)
        for _ in range(_AGAIN):
            if any(measure.is_low(outcome) for measure in self._measures):
                self._time(outcome, seconds)
        for name in self._clients:
            self._ask(outcome, name, "release")

    def _check(self, outcome: Outcome, directory: Path) -> dict[str, float]:
        """Who returns, or writes, what the reference does, and how long each took."""
        case = {"array": outcome.array.to_json(), "selection": outcome.selection.to_json()}
        digests: dict[str, str] = {}
        seconds: dict[str, float] = {}
        for name in self._clients:
            self._ask(outcome, name, "take", directory=str(directory), **case)
            answer = None if name in outcome.failed else self._ask(outcome, name, "check")
            if answer is not None:
                digests[name] = self._digest(outcome, name, answer)
                seconds[name] = answer["seconds"]
        expected = digests.get(self._reference, next(iter(digests.values()), ""))
        for name, found in digests.items():
            if found != expected:
                outcome.failed.setdefault(name, "differs from the reference")
        return {name: first for name, first in seconds.items() if name not in outcome.failed}

    def _digest(self, outcome: Outcome, name: str, answer: dict[str, Any]) -> str:
        if answer["written"] is None:
            return str(answer["digest"])
        try:
            return str(self._clients[self._reference].ask("digest_of", directory=answer["written"]))
        except WorkerError as error:
            outcome.failed[name] = f"the reference cannot read what was written: {error}"
            return ""

    def _time(self, outcome: Outcome, seconds: dict[str, float]) -> None:
        """A B C, B C A, C A B, each with as many calls as fill its turn."""
        names = list(seconds)
        for number in range(2 if sum(seconds.values()) > _SLOW else _ROUNDS):
            turn = number % max(1, len(names))
            for name in names[turn:] + names[:turn]:
                calls = max(1, min(_MOST_CALLS, int(_TURN / max(seconds[name], 1e-9))))
                least = self._ask(outcome, name, "least", calls=calls)
                if least is not None:
                    outcome.note(name, **least)

    def _ask(self, outcome: Outcome, name: str, do: str, **arguments: Any) -> Any:
        """The answer; None, and why in the outcome, if there is none."""
        try:
            return self._clients[name].ask(do, **arguments)
        except WorkerError as error:
            outcome.failed.setdefault(name, str(error))
            return None


def save(outcomes: list[Outcome], path: Path) -> None:
    """One line for each."""
    path.write_text("".join(json.dumps(outcome.to_json()) + "\n" for outcome in outcomes), encoding="utf-8")


def load(path: Path) -> list[Outcome]:
    return [Outcome.from_json(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
