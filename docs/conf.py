"""How Sphinx makes the site: `make docs`.  The pages are the same files that are read in the repository."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

from zarrcore import __version__  # noqa: E402

project = "zarrcore"
author = "The zarrcore developers"
project_copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
# Headings begin at lower levels on some pages; types of parameters are words, and "path" is an attribute too.
suppress_warnings = ["myst.header", "ref.python"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_typehints = "none"  # they are in the docstrings
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"zarrcore {version}"
html_logo = html_favicon = "logo.svg"
html_static_path: list[str] = []
html_extra_path = ["tour.ipynb", "card.svg"]
html_show_sourcelink = False

#: Where links to files of the repository lead that are no pages; without it they are plain text.
REPOSITORY = os.environ.get("ZARRCORE_REPOSITORY", "")

#: Modules with a page of the reference, and what the page is about.
MODULES = {
    "zarrcore": "Arrays and groups",
    "zarrcore.storage": "Stores",
    "zarrcore.codecs": "Codecs",
    "zarrcore.dtype": "Data types",
    "zarrcore.grids": "Chunk grids",
    "zarrcore.keys": "Chunk keys",
    "zarrcore.kernels": "Kernels",
    "zarrcore.errors": "Errors and warnings",
    "zarrcore.registry": "Registries",
    "zarrcore.dask": "dask",
}

# What users hold has its methods from several classes; elsewhere those of the base have their own entry.
_WITH_INHERITED = {"Array", "AsyncArray", "Group", "AsyncGroup"}

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?!https?:|mailto:|#)[^)\s]+)\)")


def links_of_the_site(text: str, folder: Path) -> str:
    """Return a page with links that work on the site, or in the repository to files that are no pages."""

    def link(found: re.Match[str]) -> str:
        name, _, anchor = found[2].partition("#")
        target = (folder / name).resolve()
        pages = {ROOT / "CHANGELOG.md": "changelog.md", ROOT / "CONTRIBUTING.md": "contributing.md"}
        if target in pages:
            return f"[{found[1]}](/{pages[target]})"
        if target.is_relative_to(DOCS) and target.suffix == ".md":
            return f"[{found[1]}](/{target.relative_to(DOCS).as_posix()}{'#' + anchor if anchor else ''})"
        if REPOSITORY and target.is_relative_to(ROOT):
            return f"[{found[1]}]({REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()})"
        return found[1]

    return _LINK.sub(link, text)


def on_page(app: Any, docname: str, source: list[str]) -> None:
    """Change the links of a page before it is parsed."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md":
        source[0] = links_of_the_site(source[0], path.parent)


def on_include(app: Any, path: Path, parent: str, content: list[str]) -> None:
    """Change the links of a file that a page includes."""
    content[0] = links_of_the_site(content[0], (DOCS / path).resolve().parent)


def without_signature(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Leave out the line with which NumPy begins the docstring of a ufunc: its signature."""
    if lines and lines[0].startswith(f"{name.rpartition('.')[2]}("):
        del lines[0]


def reference(module: str) -> Iterator[str]:
    """Yield what Sphinx shows of each public name of a module."""
    found = importlib.import_module(module)
    names = found.__all__ or [name for name in dir(found) if not name.startswith("_")]
    for name in sorted(names):
        value = getattr(found, name)
        if name.startswith("__") or inspect.ismodule(value):
            continue
        if isinstance(value, type):
            inherited = "\n   :inherited-members: object" if name in _WITH_INHERITED else ""
            is_error = issubclass(value, BaseException)
            directive = "autoexception" if is_error else "autoclass"
            yield f".. {directive}:: {module}.{name}{inherited}\n"
        elif get_origin(value) is not None:  # what it stands for is more than a page has room for
            yield f".. py:data:: {name}\n\n   A type for annotations.\n"
        elif inspect.isroutine(value) or hasattr(value, "__wrapped__") or hasattr(value, "ufunc"):
            yield f".. autofunction:: {module}.{name}\n"
        else:
            yield f".. autodata:: {module}.{name}\n   :no-value:\n"


def write_reference(app: Any) -> None:
    """Write a page for each module into docs/api."""
    folder = DOCS / "api"
    folder.mkdir(exist_ok=True)
    for module, title in MODULES.items():
        head = f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {module}\n"
        page = "\n".join([head, *reference(module)])
        path = folder / f"{module}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Connect the functions above."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", on_page)
    app.connect("include-read", on_include)
    app.connect("autodoc-process-docstring", without_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
