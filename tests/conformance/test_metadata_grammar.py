# SPDX-License-Identifier: MIT
"""Documents that a grammar makes, against zarr-python and tensorstore: every disagreement has a clause.

``ZC_SOAK`` makes the run longer, and ``ZC_SEED`` different.  The grammar and the
clauses are in tests/shared/metadata_grammar.py and metadata_rules.py.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import pytest
from metadata_grammar import PARTS, Document, any_choices, each_choice
from metadata_judges import PEERS, ours, same_values
from metadata_rules import RULES, Rule

pytestmark = pytest.mark.interop

SOAK = int(os.environ.get("ZC_SOAK", "1"))
SEED = os.environ.get("ZC_SEED", "20261123")
_NONE = Rule("", {}, "")


@pytest.fixture(scope="module", autouse=True)
def peers() -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("tensorstore")


def rules_of(document: Document) -> list[Rule]:
    return [RULES.get((document.zarr_format, choice), _NONE) for choice in document.choices]


def judged(document: Document) -> tuple[Any, str]:
    """Return what zarrcore answers, and with whom it disagrees for no reason that is known."""
    here, rules = ours(document.zarr_format, document.members), rules_of(document)
    for name, ask in PEERS.items():
        there = ask(document.zarr_format, document.members)
        if here.accepts and there.accepts:
            is_explained = same_values(here.values, there.values) or any(
                rule.peers.get(name) == "o" for rule in rules
            )
        elif here.accepts:
            is_explained = any(rule.peers.get(name) == "-" and rule.ours != "-" for rule in rules)
        elif there.accepts:
            is_explained = any(rule.ours == "-" for rule in rules)
        else:
            continue
        if not is_explained:
            return here, f"{name}: {there}"
    return here, ""


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_every_choice_of_the_grammar(zarr_format: int) -> None:
    for document in each_choice(zarr_format):
        here, disagrees = judged(document)
        assert disagrees == "", (document, here)
        for rule in rules_of(document):
            done = "W" if here.strays else "+" if here.accepts else "-"
            assert done == (rule.ours or done.replace("W", "+")), (document, here)


def test_choices_that_meet() -> None:
    chance = random.Random(SEED)
    seen: Counter[str] = Counter()
    for _ in range(150 * SOAK):
        document = any_choices(chance)
        here, disagrees = judged(document)
        assert disagrees == "", (document, here)
        if here.accepts:
            assert here.strays == any(rule.ours == "W" for rule in rules_of(document)), (document, here)
        seen["refused" if not here.accepts else "strays" if here.strays else "read"] += 1
    print(dict(seen))  # shown by pytest -rP
    assert len(seen) == 3


def test_every_clause_is_of_a_choice() -> None:
    for zarr_format, choice in RULES:
        assert any(choice in part for part in PARTS[zarr_format])
    assert all(rule.clause for rule in RULES.values())
