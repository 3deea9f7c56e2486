"""The pages in docs that are generated, and those that show code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="only the package is here, not its source tree")


def test_formats_page_is_up_to_date() -> None:
    # In a process of its own: tests register codecs and data types.
    made = subprocess.run(
        [sys.executable, DOCS / "make_formats.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in sorted(DOCS.glob("*.md")))])
def test_links_and_paths_exist(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", ["stores.md"])
def test_code_runs(page: str) -> None:
    """The Python blocks of a page, one after the other in one namespace, with what they print."""
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    source = "\n".join(blocks)
    ran = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
