# SPDX-License-Identifier: MIT
"""docs/safety.md names the tests that prove its promises: they are there, and not skipped everywhere."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:csrc/)?tests/[\w/]+\.(?:py|c))(?:::(\w+))?`", PAGE)))


@cache
def functions_of(path: Path) -> dict[str, list[str]]:
    """Return the tests of a file, each with the decorators that it has."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    return {f.name: [ast.unparse(d) for d in f.decorator_list] for f in functions}


def is_skipped(decorators: list[str]) -> bool:
    return any(re.match(r"pytest\.mark\.(skip\b(?!if)|xfail)", d) for d in decorators)


def test_a_named_test_is_there_and_runs() -> None:
    for file, name in NAMED:
        path = ROOT / file
        assert path.is_file(), file
        if file.endswith(".py"):
            tests = functions_of(path)
            chosen = [tests[name]] if name else list(tests.values())
            assert chosen, file
            assert not all(is_skipped(decorators) for decorators in chosen), (file, name)


def test_every_promise_names_a_test() -> None:
    promises = re.findall(r"^- (?!\[)(.*?)(?=^- |^#|^Not promised|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert len(promises) > 25
    for promise in promises:
        assert re.search(r"`(?:csrc/)?tests/", promise), promise
