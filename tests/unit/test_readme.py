"""The examples of the README and the user guide are run, those of a page in order, in a fresh directory."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
# The least number of statements that the pages must have together, and what some of them need.
LEAST = 260
NEEDS = {
    "README.md": ("dask", "xarray"),
    "docs/guide/cloud.md": ("obstore",),
    "docs/guide/dask.md": ("dask",),
    "docs/guide/hdf5.md": ("h5py",),
    "docs/guide/same-code.md": ("zarr",),
    "docs/guide/stores.md": ("fsspec", "obstore"),
    "docs/guide/training.md": ("torch",),
    "docs/guide/xarray.md": ("xarray",),
    "docs/guide/zarr-python.md": ("dask", "zarr"),
}
TASKS = [str(page.relative_to(ROOT)) for page in GUIDE if page.stem != "index"]
PAGES = ["README.md", "docs/index.md", "docs/install.md", *TASKS]

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
    for package in NEEDS.get(page, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(zarrcore.__file__).parents[1]))
    # Three dots stand for what differs between machines: paths, versions, sizes after compression.
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples(page))
    assert result.failed == 0, capsys.readouterr().out


def test_every_page_has_examples() -> None:
    counts = {page: len(examples(page).examples) for page in PAGES}
    assert min(counts.values()) >= 5
    assert sum(counts.values()) >= LEAST


def test_no_other_page_has_examples_that_are_not_run() -> None:
    pages = [path for path in ROOT.glob("docs/**/*.md") if ">>> " in path.read_text(encoding="utf-8")]
    others = {"docs/kernels.md", "docs/extending.md"}  # tests/kernels, test_extending.py
    assert {str(path.relative_to(ROOT)) for path in pages} <= set(PAGES) | others


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
