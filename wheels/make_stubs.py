# SPDX-License-Identifier: MIT
"""Write the stubs of the packages that load names lazily, from their own tables.

``make_stubs.py`` writes an ``__init__.pyi`` next to each table ``HOMES``; with ``--check`` it writes nothing
and exits with 1 if one of them is out of date.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import fill
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "zarrcore"
HEAD = "# Written by `make stubs`, from the table in the module itself.\n# ruff: noqa: I001\n"


def lazy_modules() -> Iterator[Path]:
    """Sources of the modules that load names lazily."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "= attach(__name__" in path.read_text(encoding="utf-8"):
            yield path


def module_of(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def stub(path: Path) -> str:
    """The text of a module's stub."""
    module = module_of(path)
    package = module.__package__
    assert package is not None
    homes = {f"{package}.{home}": names.split() for home, names in module.HOMES.items()}
    homes |= eager(path, module)
    imports = [reexport(package, getattr(module, "MODULES", "").split())]
    imports += [reexport(home, names) for home, names in sorted(homes.items())]
    return f"{HEAD}\n{''.join(imports)}\n__all__: list[str]\n"


def reexport(home: str, names: list[str]) -> str:
    """An import that offers `names`: in a stub those are offered that are imported ``as`` themselves."""
    if not names:
        return ""
    items = ", ".join(f"{name} as {name}" for name in names)
    plain = f"from {home} import {items}\n"
    if len(plain) <= 110:
        return plain
    unbroken = items.replace(" as ", "\xa0as\xa0")  # where textwrap breaks no line
    lines = fill(unbroken, 108, initial_indent="    ", subsequent_indent="    ").replace("\xa0", " ")
    return f"from {home} import (\n{lines},\n)\n"


def eager(path: Path, module: ModuleType) -> dict[str, list[str]]:
    """What the module imports at once and offers."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [alias.name for alias in node.names if alias.name in module.__all__]
            found.update({node.module: names} if names else {})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a stub is out of date")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT))
    stale = 0
    for path in lazy_modules():
        target, text = path.with_suffix(".pyi"), stub(path)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            stale += 1
            print(f"{target.relative_to(ROOT)} {'is out of date: make stubs' if check else 'written'}")
            if not check:
                target.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
