"""Docstrings, comments and pages are in plain English: words that made readers stop do not come back."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What not to write, and what to write in its place.
REFUSED = {
    r"\banew\b": "again, or a verb such as refresh or rewrite",
    r"\bside by side\b": "in parallel, at the same time, or next to each other",
    r"\bto be awaited\b": "as a coroutine",
    r"\bby (?:its|their) own word\b": "say what it declares",
    r"\b(?:in the|in their|in its) manners? of\b|\bmanners\b": "like, numcodecs-style, behaves like",
    r"\bof which\b"
    + "".join(rf"(?<!{word} of which)" for word in "each one some most none all".split()): "whose",
    r"\bhonest": "valid, plausible",
    r"\b(?:is|are|be) told\b": "gets, is called with, is reported",
    r"\ba say in\b": "say what is decided",
    r"\bcan(?:not|)(?: only)? be had\b": "is not available",
    r"\bfor who \b": "for those who",
    r"pip install (?:-\S+ )*[\w.]*\[": "quotes around a name with an extra: zsh takes brackets for a pattern",
    r"\bif need be\b": "if it is missing, if necessary",
    r"\bin front of\b": "before",
    r"\bbehind\b": "after",
    r"\bspoilt\b": "undefined, overwritten",
    r"\bby way of\b": "through, after",
    r"\btakes? notice\b": "notices",
    r"\blest\b": "so that ... not",
    r"\bgives(?! up)\b": "returns, makes, names",
    r"\btells\b": "shows, names, reports",
    r"\bsays (?:so|it|nothing|which|what|whether|who|how)\b": "names, states, is unknown",
    r"\bwhat is odd\b": "unusual, invalid",
}

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="only the package is here, not its source tree"
)


def python_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings and comments of a Python file, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], token.string


def other_texts(path: Path) -> Iterator[tuple[int, str]]:
    """All of a file: a page, or source text in which these words can only be in comments and strings."""
    yield 1, path.read_text(encoding="utf-8")


def files() -> Iterator[Path]:
    yield from (
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "setup.py")
    )
    for folder, pattern in (
        ("zarrcore", "*.py[xi]"),
        ("zarrcore", "*.px[di]"),
        ("zarrcore", "*.py"),
        ("csrc", "*.[ch]"),
        ("docs", "*.md"),
        ("docs", "*.py"),
        ("examples", "*.*"),
        ("benchmarks", "*.md"),
        ("benchmarks", "*.py"),
        ("wheels", "*.py"),
    ):
        made = {"sources", ".envs", "data", "build", "__pycache__"}
        found = (ROOT / folder).rglob(pattern)
        yield from (p for p in found if p.is_file() and not made & set(p.parts))


def findings(path: Path) -> Iterator[str]:
    texts = python_texts if path.suffix == ".py" else other_texts
    for start, text in texts(path):
        lower = text.lower()
        for pattern, better in REFUSED.items():
            # Looked for as what begins with a letter, in one case, which takes a fraction of the time.
            for found in re.finditer(pattern.removeprefix(r"\b"), lower):
                if re.compile(r"\b").match(lower, found.start()):
                    line = start + text.count("\n", 0, found.start())
                    yield f"{path.relative_to(ROOT)}:{line}: {found[0]!r}: write {better}"


def test_words_that_made_readers_stop_do_not_come_back() -> None:
    assert [one for path in files() for one in findings(path)] == []


def test_the_check_sees_comments_and_docstrings(tmp_path: Path) -> None:
    assert re.search("|".join(REFUSED), "Three files, of which one is new")
    assert not re.search("|".join(REFUSED), "Three files, one of which is new")
    source = tmp_path / "module.py"
    source.write_text('"""Made anew."""\nanew = 1  # side by side\n', encoding="utf-8")
    assert [text for _, text in python_texts(source)] == ['"""Made anew."""', "# side by side"]
