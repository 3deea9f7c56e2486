"""Packages whose names are loaded from their modules when they are first asked for (PEP 562).

Such a package has one table of the module that each name comes from.  Type checkers read the stub next to the
package, which ``make stubs`` writes from that table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    module: str, homes: Mapping[str, str], *, modules: str = "", package: str | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` for a module that loads its names lazily.

    `homes` are, for each module of the package, the names that come from it, separated by blanks; `modules`
    are modules that are attributes as well, but not part of ``__all__``.  Both are in `package`, by default
    the module itself.
    """
    package = package or module
    home_of = {name: f"{package}.{home}" for home, names in homes.items() for name in names.split()}
    submodules = frozenset(modules.split())

    def load(name: str) -> Any:
        from importlib import import_module

        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        import_module("zarrcore._core")  # refuses subinterpreters, in which what is loaded next may crash
        value = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        own = vars(sys.modules[module])
        return sorted({*own["__all__"], *submodules, *(name for name in own if name.startswith("__"))})

    return sorted(home_of), load, names
