"""The results of a run: written as JSON, and read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.driver import Result
from benchmarks.verdict import Verdict, verdict

#: Parts of `about` that two runs must share for one to go on where the other was stopped.
_IDENTITY = ("versions", "size", "rounds", "libraries", "written to")


@dataclass
class Document:
    """A run, complete or not.

    Attributes
    ----------
    about : dict
        Machine, versions, conditions.
    results : dict
        By name of the case.
    probes : dict
        What each probe returned.
    """

    about: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    probes: dict[str, Any] = field(default_factory=dict)

    def continues(self, earlier: Document) -> bool:
        """Whether the results of an earlier run may stand beside those of this one."""
        return all(self.about.get(key) == earlier.about.get(key) for key in _IDENTITY)

    def save(self, path: Path) -> None:
        """Times as measured, and the verdicts drawn from them."""
        path.parent.mkdir(parents=True, exist_ok=True)
        cases = [asdict(result) | _verdict(verdict(result)) for result in self.results.values()]
        text = json.dumps({"about": self.about, "cases": cases, "probes": self.probes}, indent=1)
        unfinished = path.with_suffix(".partial")
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(path)


def load(path: Path) -> Document:
    """A document that `save` wrote; cases that are no more are left out."""
    found = json.loads(path.read_text(encoding="utf-8"))
    results = (_result(case) for case in found["cases"] if case["case"] in CASES)
    return Document(found["about"], {result.case: result for result in results}, found["probes"])


def in_order(results: Iterable[Result]) -> dict[str, Result]:
    """By name, in the order of `CASES`."""
    by_name = {result.case: result for result in results}
    return {name: by_name[name] for name in CASES if name in by_name}


def _result(case: dict[str, Any]) -> Result:
    return Result(**{key: value for key, value in case.items() if key != "verdict"})


def _verdict(found: Verdict | None) -> dict[str, Any]:
    if found is None:
        return {"verdict": None}
    return {
        "verdict": {
            "family": found.family.title,
            "goal": found.family.goal,
            "met": found.met,
            "wall": asdict(found.wall),
            "cpu": asdict(found.cpu),
            "over_floor": found.floor,
            "size_over_best_peer": found.size,
        }
    }
