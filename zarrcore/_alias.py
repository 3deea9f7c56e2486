"""``sys.modules["zarr"] = zarrcore``: programs that import ``zarr.storage`` then get zarrcore.storage."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

_PLACES = {
    "core.chunk_grids": "grids",
    "core.config": "config",
    "core.metadata": "metadata",
    "storage._common": "compat.places",
}
"""Parts of zarr-python that other packages import, and that have other names here."""


class InZarrsPlace:
    """A finder for ``zarr.storage`` and its like, once ``zarr`` is this package.

    Without it they would be found as files and loaded a second time, with classes that are not those of
    zarrcore.  It also is the loader: what it loads is there already.
    """

    def __init__(self, package: ModuleType) -> None:
        self._package = package
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a part of zarrcore under its name in zarr-python."""
        if not name.startswith("zarr.") or sys.modules.get("zarr") is not self._package:
            return None
        from importlib.util import find_spec

        found = find_spec(self._own(name))
        if found is None:
            return None
        return ModuleSpec(name, self, is_package=found.submodule_search_locations is not None)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of zarrcore, which keeps its own name."""
        from importlib import import_module

        module = import_module(self._own(spec.name))
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)

    def _own(self, name: str) -> str:
        part = name.removeprefix("zarr.")
        for theirs, ours in _PLACES.items():
            if part == theirs or part.startswith(f"{theirs}."):
                part = ours + part.removeprefix(theirs)
        return f"{self._package.__name__}.{part}"
