"""The examples of the README and of the guide are run, those of a page in order, in one directory."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Pages with examples, and the least number of statements that each must have.
PAGES = {"README.md": 12, "docs/guide.md": 38}

pytestmark = pytest.mark.skipif(
    not (ROOT / "README.md").is_file(), reason="only the package is here, not its source tree"
)


def examples(page: str) -> doctest.DocTest:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)


@pytest.mark.parametrize("page", PAGES)
def test_examples(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    test = examples(page)
    assert len(test.examples) >= PAGES[page]
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0, capsys.readouterr().out


def test_no_other_page_has_examples_that_are_not_run() -> None:
    pages = [path for path in ROOT.glob("docs/*.md") if ">>> " in path.read_text(encoding="utf-8")]
    assert {str(path.relative_to(ROOT)) for path in pages} <= set(PAGES) | {"docs/kernels.md"}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
