"""The pages in docs that are generated, and those that show code."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from zarrcore import errors
from zarrcore.testing.store import StoreTests

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# The package of this tree, also where another one is installed.
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="only the package is here, not its source tree")


def test_formats_page_is_up_to_date() -> None:
    pytest.importorskip("ml_dtypes")
    # In a process of its own: tests register codecs and data types.
    made = subprocess.run(
        [sys.executable, DOCS / "make_formats.py", "--check"],
        cwd=ROOT,
        env=ENVIRON,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in sorted(DOCS.glob("*.md")))]
)
def test_links_and_paths_exist(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert missing == []


def code_of(page: str) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(
        r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def test_code_runs() -> None:
    # In a process of its own: it registers a codec and a data type.
    source = "\n".join(code_of("stores.md"))
    assert source
    ran = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, env=ENVIRON, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


class TestStoreOfThePage(StoreTests):
    """The SQLite store that the page shows, with the switches that it shows."""

    validates_keys = False
    atomic_create = False
    picklable = False

    @pytest.fixture(autouse=True)
    def _closed(self) -> Iterator[None]:
        self._made: list[Any] = []
        yield
        for store in self._made:
            store.close()

    def make_store(self, tmp_path: Path) -> Any:
        names: dict[str, Any] = {}
        exec(code_of("stores.md")[0], names)
        self._made.append(names["SQLiteStore"](tmp_path / "zarr.db"))
        return self._made[-1]


def test_benchmarks_section() -> None:
    make = runpy.run_path(str(DOCS / "make_benchmarks.py"))
    run = make["document"].load(make["RESULTS"] / "latest.json")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert make["filled"](readme, make["section"](run)) == readme, "run python docs/make_benchmarks.py"
    section = readme.partition(make["BEGIN"])[2].partition(make["END"])[0]
    assert run.about["versions"] in section
    assert "| times faster than | cases | zarr-python | zarrs | tensorstore |" in section
    shown = re.findall(r"\]\(([^)]+)\)", section) + re.findall(r"\]\(\.\./([^)]+)\)", make["page"](run))
    assert {"benchmarks/results/families.svg", "benchmarks/results/latest.md"} <= set(shown)
    assert [path for path in shown if not (ROOT / path).is_file()] == []
    with pytest.raises(SystemExit, match="lost its markers"):
        make["filled"]("nothing", "text")


def test_files_that_the_architecture_page_names_exist() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:[\w/]*/)?(\w+\.(?:py|pyx|pxd|[ch]))`", page))
    folders = ("zarrcore", "csrc", "tests", "docs")
    found = {path.name for folder in folders for path in (ROOT / folder).rglob("*.*")}
    assert len(named) > 50
    assert named - found == set()


def error_tree(base: type | None = None, depth: int = 0) -> Iterator[str]:
    """The classes of zarrcore.errors, each below its base class, with further base classes in brackets."""
    classes = [getattr(errors, name) for name in errors.__all__]
    for found in classes:
        first, *others = found.__bases__
        if (first if first in classes else None) is base:
            further = others if base else found.__bases__
            names = f" ({', '.join(other.__name__ for other in further)})" if further else ""
            yield f"{'    ' * depth}{found.__name__}{names}"
            yield from error_tree(found, depth + 1)


def test_the_guide_lists_all_errors_and_their_bases() -> None:
    guide = (DOCS / "guide.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(ArrayIndexError.*?)```", guide, re.DOTALL)
    assert shown == ["\n".join([*error_tree(), ""])]


def test_pictures_are_well_formed_and_described() -> None:
    for path in DOCS.glob("*.svg"):
        root = ElementTree.parse(path).getroot()
        assert root.findtext("{http://www.w3.org/2000/svg}title")
        assert "prefers-color-scheme:dark" in path.read_text(encoding="utf-8")
