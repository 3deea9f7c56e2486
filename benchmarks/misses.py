"""Why cases miss their goals: prose from misses.md, shown by the report while a case still does."""

from __future__ import annotations

import fnmatch
import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).resolve().parent / "misses.md"


def reason(case: str) -> str:
    """What misses.md says about a case; empty if nothing."""
    for patterns, text in _reasons():
        if any(fnmatch.fnmatch(case, pattern) for pattern in patterns):
            return text
    return ""


@cache
def _reasons() -> list[tuple[list[str], str]]:
    """Patterns of case names and the text below them, in the order of the file."""
    sections = re.split(r"^## ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    parts = (section.partition("\n") for section in sections)
    return [(head.split(), " ".join(text.split())) for head, _, text in parts]
