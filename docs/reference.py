"""The pages of the reference: one for each module, with a table of its names, and one for each name.

Descriptions and examples are those of the docstrings.  What has no docstring of its own (constants and types
for annotations), coroutines, which have that of the function that they run, and errors, whose examples are
longer than all else about them, have theirs in docs/examples.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from numpy import ufunc

EXAMPLES = Path(__file__).parent / "examples"

#: Modules with a page of the reference, and what the page is about.
MODULES = {
    "zarrcore": "Arrays and groups",
    "zarrcore.api.synchronous": "The same functions under zarr-python's name",
    "zarrcore.api.asynchronous": "The same as coroutines",
    "zarrcore.storage": "Stores",
    "zarrcore.codecs": "Codecs",
    "zarrcore.dtype": "Data types",
    "zarrcore.grids": "Chunk grids",
    "zarrcore.keys": "Chunk keys",
    "zarrcore.transformers": "Storage transformers",
    "zarrcore.kernels": "Kernels",
    "zarrcore.errors": "Errors and warnings",
    "zarrcore.config": "Settings",
    "zarrcore.registry": "Registries",
    "zarrcore.metadata": "Metadata documents",
    "zarrcore.migration": "From format 2 to 3",
    "zarrcore.typing": "Types of arguments",
    "zarrcore.types": "Types of zarr-python",
    "zarrcore.abc.buffer": "Base classes: buffers",
    "zarrcore.abc.codec": "Base classes: codecs",
    "zarrcore.abc.store": "Base classes: stores",
    "zarrcore.buffer": "Buffers",
    "zarrcore.buffer.cpu": "Buffers in memory",
    "zarrcore.testing.process": "Tests: processes",
    "zarrcore.testing.store": "Tests: stores",
    "zarrcore.testing.strategies": "Tests: random arrays",
    "zarrcore.testing.threads": "Tests: threads",
    "zarrcore.dask": "dask",
    "zarrcore.torch": "PyTorch",
    "zarrcore.xarray": "xarray",
}

# What users hold has its methods from several classes; elsewhere those of the base have their own entry.
_WITH_INHERITED = {"Array", "AsyncArray", "Group", "AsyncGroup"}

_GROUPS = {
    "function": "Functions",
    "coroutine": "Coroutines",
    "class": "Classes",
    "error": "Errors and warnings",
    "constant": "Constants and types",
}
_DIRECTIVES = {
    "function": "autofunction",
    "coroutine": "py:function",
    "class": "autoclass",
    "error": "autoexception",
    "constant": "py:data",
}


@dataclass(frozen=True)
class Entry:
    """A public name: where it is, and what stands on its page."""

    module: str
    name: str
    page: str
    first: Entry | None = None  # what two modules have is looked up where it is first
    is_module: bool = False  # a module of that name has the place in the index

    @property
    def value(self) -> Any:
        """What the name stands for."""
        return getattr(import_module(self.module), self.name)

    @property
    def kind(self) -> str:
        """Its group: "function", "coroutine", "class", "error" or "constant"."""
        value = self.value
        if isinstance(value, type) and value.__module__.startswith("zarrcore"):
            return "error" if issubclass(value, BaseException) else "class"
        if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
            return "coroutine"
        is_function = inspect.isroutine(value) or isinstance(value, ufunc) or hasattr(value, "ufunc")
        return "function" if is_function else "constant"

    @property
    def text(self) -> str:
        """What docs/examples has about it: an example, and of a constant first what it is."""
        return written(self.module).get(self.name, "")

    @property
    def summary(self) -> str:
        """The first line about it."""
        text = self.text if self.kind == "constant" else inspect.getdoc(self.value) or ""
        lines = iter(text.splitlines())
        first = next(lines, "")
        if first.startswith(f"{self.name}("):  # with its signature begins what NumPy or Cython has documented
            first = next(filter(None, lines), "")
        return first

    def lines(self) -> Iterator[str]:
        """Yield its page."""
        title = f"{self.name} ({self.module})"  # several modules have the same names, which a search finds
        yield from (title, "=" * len(title), "", f".. currentmodule:: {self.module}", "")
        if self.first:
            same = f":doc:`{self.first.module}.{self.first.name} <{self.first.page}>`"
            yield f"The same as {same}{'' if self.text else '; its example begins as it does there'}.\n"
        kind, text = self.kind, indent(self.text, "   ")
        name = f"{self.module}.{self.name}"
        shown = {"constant": self.name, "coroutine": f"{self.name}(*args, **kwargs)"}.get(kind, name)
        yield f".. {_DIRECTIVES[kind]}:: {shown}"
        if self.first or self.is_module:
            yield "   :no-index:"
        if self.name in _WITH_INHERITED:
            yield "   :inherited-members: object"
        if kind == "coroutine":
            yield from (
                "   :async:",
                "",
                f"   {self.summary}",
                "",
                f"   Takes what :func:`zarrcore.{self.name}` takes.",
            )
        if text and kind != "constant":
            yield from ("", "   .. rubric:: Examples")
        yield from ("", text)


@cache
def written(module: str) -> dict[str, str]:
    """Return the texts of docs/examples about the names of a module."""
    path = EXAMPLES / f"{module}.txt"
    found: dict[str, str] = {}
    for part in path.read_text(encoding="utf-8").strip().split("\n\n\n") if path.is_file() else ():
        name, _, text = part.partition("\n")
        found[name] = dedent(text).strip()
    return found


def names(module: str) -> list[str]:
    """Return the public names of a module that are no modules."""
    found = import_module(module)
    public = [name for name in found.__all__ if not name.startswith("__")]
    return sorted(name for name in public if not inspect.ismodule(getattr(found, name)))


def entries() -> Iterator[Entry]:
    """Yield every public name, each with a page that has another name in small letters too.

    Some file systems do not tell ``zarrcore.Array`` from ``zarrcore.array``.
    """
    taken = {module.lower() for module in MODULES}
    seen: list[Entry] = []
    for module in MODULES:
        for name in names(module):
            entry = Entry(module, name, f"{module}.{name}", is_module=f"{module}.{name}" in MODULES)
            if entry.page.lower() in taken:
                entry = replace(entry, page=f"{entry.page}-{entry.kind}")
            if entry.kind != "constant":
                entry = replace(entry, first=next((one for one in seen if one.value is entry.value), None))
            taken.add(entry.page.lower())
            seen.append(entry)
            yield entry


def overview(module: str, title: str, found: list[Entry]) -> Iterator[str]:
    """Yield the page of a module: its docstring, and a table of each group of names."""
    yield from (title, "=" * len(title), "", f".. automodule:: {module}", "   :no-members:", "")
    everything = f" and ``from {module} import *``" if module != "zarrcore" else ""
    yield f"The examples begin with ``import numpy as np``, ``import zarrcore``{everything}.\n"
    for kind, heading in _GROUPS.items():
        group = [entry for entry in found if entry.kind == kind]
        if group:
            yield from (heading, "-" * len(heading), "", ".. list-table::", "   :widths: 30 70", "")
        for entry in group:
            yield f"   * - :doc:`{entry.name} <{entry.page}>`\n     - {entry.summary}"
        yield ""
    yield from (".. toctree::", "   :hidden:", "", *(f"   {entry.name} <{entry.page}>" for entry in found))


def write(folder: Path) -> None:
    """Write all pages into a folder; those that stay as they are keep their time, and Sphinx its work."""
    folder.mkdir(exist_ok=True)
    of_module: dict[str, list[Entry]] = {module: [] for module in MODULES}
    pages = {}
    for entry in entries():
        of_module[entry.module].append(entry)
        pages[entry.page] = entry.lines()
    for module, title in MODULES.items():
        pages[module] = overview(module, title, of_module[module])
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, lines in pages.items():
        path = folder / f"{name}.rst"
        page = "\n".join([*lines, ""])
        if not path.is_file() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")
