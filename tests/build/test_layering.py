# SPDX-License-Identifier: MIT
"""Dependencies run one way, downwards: imports in the Python package, #include lines in the C core."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from dependencies import (
    CORE,
    PACKAGE,
    Graph,
    circles,
    compiled_graph,
    core_files,
    core_graph,
    declared,
    defined,
    python_files,
    python_graph,
    way_round,
)

# Modules that hand on what is in zarrcore.compat, integrations or the house, under names that users expect.
HANDED_ON = {"abc", "buffer", "core", "dask", "dtype", "experimental", "torch", "types", "xarray"}

# From the bottom to the top; a file or sub-package of zarrcore may import from its own layer and from
# those above it in this list.  A new one needs a place here.
LAYERS = [
    {"_version", "_alias", "_lazy", "_typing", "errors", "_validate", "_extension", "_log", "_typed"}
    | {"include_dir", "progress", "_threads", "_pools", "_awaited", "_weak", "_records", "_patterns"},
    {"config", "_core", "_locks"},
    {"registry", "show", "counting"},
    {"dtypes", "codecs", "grids", "keys", "kernels", "transformers"},
    {"metadata", "storage", "indexing", "engine"},
    {"nodes", "migration"},
    {"arrays", "attributes", "display", "info", "node", "inspection"},
    {"groups"},
    {"api", "typing"},
    {"__init__", "__main__", "cli", "integrations", "testing", "compat", *HANDED_ON},
]

# Within one layer: who must not know whom.
APART = {("metadata", "storage"), ("storage", "metadata"), ("storage", "indexing")}

CORE_MAY_INCLUDE = {
    "base": {"base"},
    "kernels": {"kernels", "base"},
    "numpy": {"numpy", "kernels", "base"},
    "io": {"io", "base"},
    "codecs": {"codecs", "kernels", "base"},
    "engine": {"engine", "codecs", "io", "kernels", "base"},
    "include": {"include"},
    "capi": {"capi", "include", "engine", "codecs", "io", "kernels", "base"},
    "document": {"document", "capi", "include", "engine", "codecs", "io", "kernels", "base"},
}


def unit_of(path: Path) -> str:
    """The file or sub-package directly below zarrcore to which a source file belongs."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def layer_of(unit: str) -> int:
    for number, layer in enumerate(LAYERS):
        if unit in layer:
            return number
    raise AssertionError(f"zarrcore.{unit} has no layer: give it one in {Path(__file__).name}")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(node: ast.AST) -> Iterator[str]:
    """Unit of zarrcore for each import that is ever executed, inside of functions too."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            for alias in child.names:
                if alias.name.startswith("zarrcore."):
                    yield alias.name.split(".")[1]
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"relative import on line {child.lineno}"
            top, _, rest = (child.module or "").partition(".")
            if top == "zarrcore":
                yield from [rest.split(".")[0]] if rest else [alias.name for alias in child.names]
        else:
            yield from imports(child)


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or any(PACKAGE.glob(f"{name}.py*"))


def test_python_imports_point_downwards() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        unit = unit_of(path)
        height = layer_of(unit)
        for target in set(imports(ast.parse(path.read_text(encoding="utf-8")))):
            if target == unit or not is_module(target):
                continue
            assert layer_of(target) <= height, f"{path}: {unit} imports {target}, which is above it"
            assert (unit, target) not in APART, f"{path}: {unit} must not know {target}"


def test_compiled_modules_know_errors_only() -> None:
    """Of the package itself; a deferred import counts too."""
    statement = re.compile(r"^\s*(?:from|c?import)\s+zarrcore\.([\w.]+)", re.MULTILINE)
    paths = sorted(p for p in (PACKAGE / "_core").rglob("*") if p.suffix in (".py", ".pyi", ".pyx", ".pxd"))
    assert len(paths) > 30
    for path in paths:
        for target in statement.findall(path.read_text(encoding="utf-8")):
            assert target.split(".")[0] in ("_core", "errors"), f"{path.name} imports zarrcore.{target}"


def includes(path: Path) -> list[str]:
    """The files that #include "..." names, relative to csrc."""
    text = path.read_text(encoding="utf-8")
    names = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text, re.MULTILINE)
    return [name if "/" in name else f"{path.parent.name}/{name}" for name in names]


def core_paths() -> list[Path]:
    return [path for part in CORE_MAY_INCLUDE for path in sorted((CORE / part).glob("*.[ch]"))]


def test_every_directory_of_the_core_has_a_rule() -> None:
    assert {path.name for path in CORE.iterdir() if path.is_dir()} - {"tests", "fuzz"} <= set(
        CORE_MAY_INCLUDE
    )


def test_core_includes_point_downwards() -> None:
    for path in core_paths():
        part = path.parent.name
        for name in includes(path):
            if (CORE / name).exists():
                target = name.split("/")[0]
                assert target in CORE_MAY_INCLUDE[part], f'{path}: {part} includes "{name}"'
            else:
                assert name.rpartition("/")[2] in ("blosc.h", "zlib.h", "zstd.h", "lz4.h"), (
                    f'{path}: no csrc file "{name}"'
                )


def test_core_knows_no_python() -> None:
    for path in core_paths():
        if path.parent.name != "numpy":
            assert not re.search(
                r"#\s*include\s*[<\"](Python\.h|numpy/)", path.read_text(encoding="utf-8")
            ), path


# ---- files ---------------------------------------------------------------------------------------


def check_circles(graph: Graph) -> None:
    """No file is in a circle."""
    for file in sorted(set().union(*circles(graph))):
        raise AssertionError("a circle: " + " -> ".join(way_round(graph, file)))


def test_python_files_do_not_import_each_other_in_circles() -> None:
    """Imports inside of functions and for types alone count too."""
    graph = python_graph()
    assert len(graph) > 150
    assert "errors.py" in graph["api/nodes.py"]
    check_circles(graph)


def test_compiled_modules_do_not_import_each_other_in_circles() -> None:
    graph = compiled_graph()
    assert {"engine.arrays", "engine.threads", "vlen.decoding"} <= set(graph)
    assert "engine.selections" in graph["engine.masks"]
    check_circles(graph)


@pytest.mark.parametrize("package", ["engine", "vlen"])
def test_compiled_modules_are_loaded_after_those_that_they_need(package: str) -> None:
    loaded: list[str] = []
    tree = ast.parse((PACKAGE / "_core" / package / "__init__.py").read_text(encoding="utf-8"))
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    graph = compiled_graph()
    for name in ast.literal_eval(call.args[1]):
        assert graph[f"{package}.{name}"] <= set(loaded), name
        loaded.append(f"{package}.{name}")
    assert set(loaded) == {name for name in graph if name.startswith(f"{package}.")}


def test_c_files_do_not_call_each_other_in_circles() -> None:
    texts = core_files(CORE_MAY_INCLUDE)
    check_circles(core_graph(texts))


def test_calls_of_the_core_are_seen() -> None:
    """Of nearly every function that a header declares there is a definition; some are made by macros."""
    texts = core_files(CORE_MAY_INCLUDE)
    found = set().union(*(defined(text) for file, text in texts.items() if file.endswith(".c")))
    names = declared(texts)
    assert len(names) > 300
    assert len(names - found) < 20, sorted(names - found)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"f"}, "f": {"e"}, "g": {"a"}}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["e", "f"]]
    assert way_round(graph, "b") == ["b", "c", "a", "b"]
    with pytest.raises(AssertionError, match="a -> b -> c -> a"):
        check_circles(graph)
    check_circles({"a": {"b"}, "b": set()})


def test_no_file_name_twice_in_the_core() -> None:
    names = Counter(path.name for path in core_paths())
    assert [name for name, count in names.items() if count > 1] == []


def test_the_house_does_not_need_what_is_there_for_zarr_python() -> None:
    compat = HANDED_ON | {"compat"}
    users = {
        (file, target)
        for file, targets in python_graph().items()
        for target in targets
        if target.split("/")[0].removesuffix(".py") in compat
    }
    assert {file for file, _ in users if file.split("/")[0].removesuffix(".py") not in compat} == set()


def test_modules_that_hand_names_on_define_nothing() -> None:
    files = [file for file in python_files() if file.split("/")[0].removesuffix(".py") in HANDED_ON]
    assert len(files) > 10
    for file in files:
        for node in ast.parse(python_files()[file].read_text(encoding="utf-8")).body:
            is_code = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            assert not is_code, f"{file} defines {node.name}"


def test_files_kept_apart_exist() -> None:
    units = {unit_of(path) for path in python_files().values()}
    assert {unit for pair in APART for unit in pair} <= units
