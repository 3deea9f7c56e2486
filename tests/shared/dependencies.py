# SPDX-License-Identifier: MIT
"""Which file needs which: imports of Python files, calls between C files, and circles among either."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "zarrcore"
CORE = ROOT / "csrc"

Graph = Mapping[str, set[str]]


def circles(graph: Graph) -> list[set[str]]:
    """The sets of nodes that reach each other, of two nodes and more (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        open_nodes.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_nodes:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            members = set(open_nodes[open_nodes.index(node) :])
            del open_nodes[open_nodes.index(node) :]
            if len(members) > 1:
                found.append(members)

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def way_round(graph: Graph, start: str) -> list[str]:
    """A shortest way from a node back to itself."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for other in sorted(graph.get(way[-1], ())):
            if other == start:
                return [*way, start]
            if other not in seen:
                seen.add(other)
                ways.append([*way, other])
    raise AssertionError(f"{start} is in no circle")


# ---- Python ------------------------------------------------------------------------------------------


@cache
def python_files() -> dict[str, Path]:
    """The files of the package by their name below it, such as ``arrays/array.py``."""
    return {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def python_graph() -> dict[str, set[str]]:
    """For each file those that it imports, whether at once, in a function or for types alone."""
    return {name: _imported(path) - {name} for name, path in python_files().items()}


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "zarrcore"]
            found |= {file for name in names if (file := _file_of(name))}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "zarrcore":
            found |= {file for alias in node.names if (file := _home_of(node.module or "", alias.name))}
    return found


def _file_of(module: str) -> str | None:
    """The file of a module; None for compiled ones."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.exists():
            return candidate.relative_to(PACKAGE).as_posix()
    return None


def _home_of(module: str, name: str) -> str | None:
    """The file that a name comes from, which a package may load lazily from one of its modules."""
    file = _file_of(f"{module}.{name}") or _file_of(module)
    home = _lazy_names(file).get(name) if file else None
    return _home_of(home, name) if home and _file_of(home) != file else file


@cache
def _lazy_names(file: str) -> dict[str, str]:
    """The names that a file hands on, and their modules, as its stub has them."""
    stub = (PACKAGE / file).with_suffix(".pyi")
    if not stub.exists():
        return {}
    nodes = ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: node.module or "" for node in imports for alias in node.names}


# ---- Cython ------------------------------------------------------------------------------------------

_COMPILED_IMPORT = re.compile(r"^from zarrcore\._core\.(\w+\.\w+) c?import", re.MULTILINE)


def compiled_graph() -> dict[str, set[str]]:
    """For each compiled module in a folder of ``_core``, such as ``engine.chains``, those that it needs."""
    core = PACKAGE / "_core"
    graph = {f"{path.parent.name}.{path.stem}": set[str]() for path in sorted(core.glob("*/*.pyx"))}
    for name, needed in graph.items():
        path = core / name.replace(".", "/")
        sources = [file for suffix in (".pyx", ".pxd") if (file := path.with_suffix(suffix)).exists()]
        for source in sources:
            needed |= set(_COMPILED_IMPORT.findall(source.read_text(encoding="utf-8"))) & set(graph)
        needed.discard(name)
    return graph


# ---- C -----------------------------------------------------------------------------------------------

_NAME = re.compile(r"\b(?:zc_|zarrcore_|ZC_)\w+\b")
_FUNCTION = re.compile(
    r"^(?P<head>(?!typedef|return|else|#)[A-Za-z_][^;{}()=#]*?)\b(?P<name>(?:zc_|zarrcore_)\w+)\([^;{}]*\)\s*\{",
    re.MULTILINE,
)
_DECLARED = re.compile(r"^(?!typedef|static|#)[A-Za-z_][\w\s*()]*?\b(zc_\w+)\([^;{}]*\)\s*;", re.MULTILINE)
_OBJECT = re.compile(r"^(?!typedef|static|extern)[A-Za-z_][\w\s*]*?\b(zc_\w+)(?:\[\w*\])*\s*=", re.MULTILINE)
_STAMPED = re.compile(r"^[A-Z][A-Z0-9_]*\((zc_\w+)", re.MULTILINE)
_PASTED = re.compile(r"\b(zc_\w+)##")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE)
_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def core_files(folders: Iterable[str]) -> dict[str, str]:
    """The text of the C files and headers by their name below csrc, without comments and strings."""
    paths = [path for folder in folders for path in sorted((CORE / folder).glob("*.[ch]"))]
    return {
        path.relative_to(CORE).as_posix(): _COMMENT.sub(" ", path.read_text(encoding="utf-8"))
        for path in paths
    }


def core_graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """For each C file those that define what it uses, also through macros and inline functions of headers."""
    sources = {file: text for file, text in texts.items() if file.endswith(".c")}
    within = _inside_headers(texts)
    homes: dict[str, set[str]] = {}
    for file, text in sources.items():
        for name in defined(text):
            homes.setdefault(name, set()).add(file)
    for name in declared(texts) - homes.keys():
        homes[name] = {file for file, text in sources.items() if _pastes(text, name)}
    graph = {}
    for file, text in sources.items():
        used = _with_what_is_within(set(_NAME.findall(text)), within)
        others = [homes[name] for name in used if name in homes and file not in homes[name]]
        graph[file] = set().union(*others)
    return graph


def defined(text: str) -> set[str]:
    """The functions and objects that a C file defines for others, those that macros stamp included."""
    functions = {m["name"] for m in _FUNCTION.finditer(text) if not re.search(r"\bstatic\b", m["head"])}
    return functions | set(_STAMPED.findall(text)) | set(_OBJECT.findall(text))


def _pastes(text: str, name: str) -> bool:
    """Whether a macro of a C file may put a name together that begins in this way."""
    return name.startswith(tuple(_PASTED.findall(text)))


def declared(texts: Mapping[str, str]) -> set[str]:
    """The functions that headers declare."""
    return {name for file, text in texts.items() if file.endswith(".h") for name in _DECLARED.findall(text)}


def _inside_headers(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """For each inline function and macro of a header the names in it."""
    found: dict[str, set[str]] = {}
    for file, text in texts.items():
        if file.endswith(".h"):
            for match in _FUNCTION.finditer(text):
                body = text[match.end() : text.find("\n}", match.end())]
                found.setdefault(match["name"], set()).update(_NAME.findall(body))
            for name, body in _MACRO.findall(text):
                found.setdefault(name, set()).update(_NAME.findall(body))
    return found


def _with_what_is_within(names: set[str], within: Mapping[str, set[str]]) -> set[str]:
    todo = list(names)
    while todo:
        for name in within.get(todo.pop(), set()) - names:
            names.add(name)
            todo.append(name)
    return names
