# SPDX-License-Identifier: MIT
"""Every public name of the documented modules has a page of its own, and an example that runs."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import zarrcore
from zarrcore import registry
from zarrcore.dtype import data_type_registry

DOCS = Path(__file__).resolve().parents[2] / "docs"
if not DOCS.is_dir():
    pytest.skip("only the package is here, not its source tree", allow_module_level=True)


def reference_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


reference = reference_script()
for needed in ("dask", "xarray"):
    if importlib.util.find_spec(needed) is None:
        del reference.MODULES[f"zarrcore.{needed}"]
NAMES = [(module, name) for module in reference.MODULES for name in reference.names(module)]
BEGINS = {
    (one.module, one.name): one.module if one.text or not one.first else one.first.module
    for one in reference.entries()
}


def example(module: str, name: str) -> str:
    """The text with the example of a name: its docstring, or what docs/examples has."""
    entry = reference.Entry(module, name, "")
    return entry.text if entry.text else inspect.getdoc(entry.value) or ""


@pytest.fixture
def registries() -> Iterator[None]:
    """Forget what examples register."""
    changed = [found for found in vars(registry).values() if hasattr(found, "_classes")]
    changed = [*changed, registry._buffers, registry._ndbuffers, registry._pipelines, data_type_registry]
    kept = [(found, dict(found._classes)) for found in changed]
    yield
    for found, classes in kept:
        found._classes = classes
    registry.note_registration()


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_has_an_example_that_runs(
    module: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = example(module, name)
    for package in re.findall(r">>> (?:import|from) (\w+)", text):
        pytest.importorskip(package)
    if "ml_dtypes" in text or getattr(getattr(import_module(module), name), "bits", 0):
        pytest.importorskip("ml_dtypes")
    if name == "FsspecStore":
        pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    found = import_module(BEGINS[module, name])
    names = {public: getattr(found, public) for public in found.__all__}
    names |= {"np": np, "zarrcore": zarrcore, "__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(text, names, f"{module}.{name}", None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert result.attempted > 0, "no example"
    assert result.failed == 0


def test_every_public_name_has_its_page(tmp_path: Path) -> None:
    reference.write(tmp_path / "api")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "api").iterdir()}
    entries = list(reference.entries())
    assert [(entry.module, entry.name) for entry in entries] == NAMES
    assert sorted(pages) == sorted([*reference.MODULES, *(entry.page for entry in entries)])
    assert len({page.lower() for page in pages}) == len(NAMES) + len(reference.MODULES)  # on any file system
    for entry in entries:
        assert re.search(
            rf"^\.\. [\w:]+:: ({entry.module}\.)?{entry.name}(\(.*\))?$", pages[entry.page], re.MULTILINE
        )
        row = rf":doc:`{entry.name} <{entry.page}>`\n     - \S"
        assert re.search(row, pages[entry.module]), f"{entry.module}.{entry.name} has no description"
        assert f"   {entry.name} <{entry.page}>\n" in pages[entry.module]  # in the tree of contents


def test_pages_that_are_gone_or_the_same(tmp_path: Path) -> None:
    (tmp_path / "zarrcore.removed.rst").touch()
    reference.write(tmp_path)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert tmp_path / "zarrcore.removed.rst" not in written
    reference.write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == written


def test_docs_examples_are_of_public_names_without_docstrings() -> None:
    """Elsewhere the docstring has the example, which `help` shows too."""
    stems = {path.stem for path in (DOCS / "examples").glob("*.txt")}
    assert stems <= set(reference.MODULES)
    for module in stems:
        for name in reference.written(module):
            entry = reference.Entry(module, name, "")
            assert name in reference.names(module)
            has_own = entry.kind in ("function", "class") and not inspect.ismethod(entry.value)
            assert not has_own, f"{module}.{name}"


@pytest.mark.parametrize("module", reference.MODULES)
def test_the_reference_has_the_module(module: str) -> None:
    assert f"\napi/{module}\n" in (DOCS / "reference.md").read_text(encoding="utf-8")
