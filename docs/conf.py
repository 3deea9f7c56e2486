"""How Sphinx makes the site: `make docs`.  The pages are the same files that are read in the repository."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.ext.autodoc.mock import mock

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS)]

import reference  # noqa: E402

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

autodoc_mock_imports = ["torch"]  # what their pages need is here without them
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
html_extra_path = ["tour.ipynb", "pictures/card.png"]
html_baseurl = os.environ.get("ZARRCORE_SITE", "")  # where the site will be; the card of a link needs it
html_context = {"site": html_baseurl}
templates_path = ["templates"]
html_show_sourcelink = False

#: Where links to files of the repository lead that are no pages; without it they are plain text.
REPOSITORY = os.environ.get("ZARRCORE_REPOSITORY", "")

_BLANK = re.compile(r"\n\n+```$", re.MULTILINE)  # doctest wants an empty line before the end of a block
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
        if target.is_relative_to(DOCS) and target.suffix == ".ipynb":
            return f"[{found[1]}](/{target.relative_to(DOCS).as_posix()})"
        if REPOSITORY and target.is_relative_to(ROOT):
            return f"[{found[1]}]({REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()})"
        return found[1]

    return _LINK.sub(link, text)


def on_page(app: Any, docname: str, source: list[str]) -> None:
    """Change the links of a page before it is parsed."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md":
        source[0] = _BLANK.sub("\n```", links_of_the_site(source[0], path.parent))


def on_include(app: Any, path: Path, parent: str, content: list[str]) -> None:
    """Change the links of a file that a page includes."""
    content[0] = links_of_the_site(content[0], (DOCS / path).resolve().parent)


def without_signature(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Leave out the line with which NumPy begins the docstring of a ufunc: its signature."""
    if lines and lines[0].startswith(f"{name.rpartition('.')[2]}("):
        del lines[0]


def write_reference(app: Any) -> None:
    """Write the pages of the reference into docs/api."""
    with mock(autodoc_mock_imports):
        reference.write(DOCS / "api")


def short_navigation(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Show in the margin, of all names of the reference, those of the module of the page alone."""
    if "toctree" in context:
        whole = context["toctree"]
        context["toctree"] = lambda **options: whole(**{**options, "collapse": True})


def setup(app: Any) -> dict[str, bool]:
    """Connect the functions above."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", on_page)
    app.connect("include-read", on_include)
    app.connect("autodoc-process-docstring", without_signature)
    app.connect("html-page-context", short_navigation, priority=100)  # before the theme asks for it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
