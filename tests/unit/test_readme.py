"""The README's examples are run, one after the other in one directory."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.skipif(not README.is_file(), reason="only the package is here, not its source tree")
def test_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, README.name, README.name, 0)
    assert len(test.examples) > 20
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0, capsys.readouterr().out
