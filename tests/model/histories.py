# SPDX-License-Identifier: MIT
"""A program for long runs of the model in test_hierarchy.py, on one core each.

histories.py STORE SEED SECONDS [FIRST]    (from the history FIRST on)

Rules, choices and comparisons are those of the test.  What hypothesis does besides, such as remembering what
was tried and making failures smaller, is left out: an error names the history, which ``FIRST`` repeats.
Prints how many steps were taken.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
import warnings
from collections import Counter

from hypothesis.control import BuildContext
from hypothesis.errors import StopTest
from hypothesis.internal.conjecture.data import ConjectureData
from test_hierarchy import STORES, Hierarchy

STEPS = 100  # of each history


def run_history(kind: str, dice: random.Random) -> Counter[str]:
    """Returns how often each rule was used."""
    machine_type = type("Hierarchy", (Hierarchy,), {"make": staticmethod(STORES[kind])})
    data = ConjectureData(random=dice)
    data.max_length = sys.maxsize
    used: Counter[str] = Counter()
    with BuildContext(data, wrapped_test=run_history):
        machine = machine_type()
        try:
            machine.begin(dice.choice((3, 2)))
            machine._observability_predicates = data._observability_predicates
            machine._initialize_rules_to_run.clear()
            while used.total() < STEPS:
                rule, arguments = data.draw(machine._rules_strategy)
                rule.function(machine, **arguments)
                used[rule.function.__name__] += 1
                machine.the_members_are_those_of_the_model()
        except StopTest:  # no rule that this history draws from can be used now
            pass
        finally:
            machine.teardown()
    return used


def main(kind: str, seed: str, seconds: str, first: str = "0") -> None:
    warnings.simplefilter("ignore")
    until = time.monotonic() + float(seconds)
    number, used = int(first), Counter[str]()
    while time.monotonic() < until:
        try:
            used += run_history(kind, random.Random(f"{kind} {seed} {number}"))
        except BaseException as error:
            error.add_note(f"store {kind!r}, seed {seed}, history {number}, after {used.total()} steps")
            raise
        number += 1
        if number % 20 == 0:
            gc.collect()
    print(json.dumps({"histories": number - int(first), "steps": used.total(), "used": used}))


if __name__ == "__main__":
    main(*sys.argv[1:])
