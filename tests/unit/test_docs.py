"""The pages in docs that are generated, and those that show code."""

from __future__ import annotations

import os
import re
import runpy
import struct
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from zarrcore import errors

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# The package of this tree, also where another one is installed.
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="only the package is here, not its source tree")


@pytest.mark.parametrize("script", ["make_formats.py", "make_interop.py", "make_settings.py", "make_tour.py"])
def test_generated_pages_are_up_to_date(script: str) -> None:
    pytest.importorskip("ml_dtypes")
    # In a process of its own: tests register codecs and data types, and change settings.
    made = subprocess.run(
        [sys.executable, DOCS / script, "--check"],
        cwd=ROOT,
        env=ENVIRON,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


def test_the_notebook_runs_in_jupyter(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(DOCS / "tour.ipynb", as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=100, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in sorted(DOCS.rglob("*.md")))]
)
def test_links_and_paths_exist(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8"))
    missing = [
        f"{file}#{anchor}"
        for file, anchor in links
        if not (path.parent / file).exists()
        or (anchor and anchor not in anchors(path.parent / file if file else path))
    ]
    assert missing == []


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_of_the_guide_has_all_pages() -> None:
    index = (DOCS / "guide" / "index.md").read_text(encoding="utf-8")
    assert sorted({*re.findall(r"\((\w[\w-]*\.md)\)", index), "index.md"}) == sorted(
        path.name for path in (DOCS / "guide").glob("*.md")
    )


def test_the_page_about_installing_names_all_extras_for_users() -> None:
    page = (DOCS / "install.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {*project["optional-dependencies"]} - {"demo", "dev", "lint", "peers", "test", "wheels"}
    rows = re.findall(r"^\| (`[^|]*`) \|", page.partition("## Against the libraries")[0], re.MULTILINE)
    assert sorted(re.findall(r"`(.*?)`", " ".join(rows))) == sorted(extras)


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


MAPPED = ["arrays", "display", "engine", "groups", "inspection", "nodes", "storage"]


@pytest.mark.parametrize("folder", MAPPED)
def test_the_architecture_page_names_all_files_of_a_folder(folder: str) -> None:
    """Of storage/ it named a third: nobody saw from the page where a thing lives."""
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    files = {path.name for path in (ROOT / "zarrcore" / folder).glob("*.py")} - {"__init__.py"}
    assert {name for name in files if f"`{name}`" not in page and f"/{name}`" not in page} == set()


def test_the_guide_lists_all_errors_and_their_bases() -> None:
    guide = (DOCS / "guide" / "errors.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(ArrayIndexError.*?)```", guide, re.DOTALL)
    assert shown == ["\n".join([*error_tree(), ""])]


def test_pictures_are_well_formed_and_described() -> None:
    for path in DOCS.glob("*.svg"):
        root = ElementTree.parse(path).getroot()
        assert root.findtext("{http://www.w3.org/2000/svg}title")
        assert "prefers-color-scheme:dark" in path.read_text(encoding="utf-8")


def test_what_others_show_of_a_link_has_a_picture_in_a_format_that_they_take() -> None:
    page = (DOCS / "templates" / "page.html").read_text(encoding="utf-8")
    assert 'property="og:image" content="{{ site|e }}card.png"' in page
    assert "pictures/card.png" in (DOCS / "conf.py").read_text(encoding="utf-8")
    head = (DOCS / "pictures" / "card.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", head[16:]) == (1280, 640)
