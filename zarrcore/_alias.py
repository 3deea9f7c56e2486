"""``import zarr`` loads zarrcore: programs that import ``zarr.storage`` then get what zarrcore has there."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

_PLACES = {
    "codecs.crc32c_": "codecs",
    "codecs.vlen_utf8": "codecs",
    "core.attributes": "attributes",
    "core.dtype.registry": "dtypes.registry",
    "metadata.migrate_v3": "compat.migrating",
    "storage._common": "compat.places",
}
for _part in ("", ".bool", ".bytes", ".complex", ".float", ".int", ".string", ".structured", ".time"):
    _PLACES[f"core.dtype.npy{_part}"] = "core.dtype"
"""Parts of zarr-python that other packages import, and that have other names here."""


_ENTRY = "<zarrcore in the place of zarr-python>"


class InZarrsPlace:
    """A finder for ``zarr.storage`` and its like, once ``zarr`` is this package or stands for it.

    Without it they would be found as files and loaded a second time, with classes that are not those of
    zarrcore.  It also is the loader: what it loads is there already.  A finder that comes before it, as that
    of pytest, looks into ``__path__``, and meets it there again: in an entry of packages that it has loaded.
    """

    def __init__(self, package: ModuleType) -> None:
        self._package = package
        self._specs: dict[str, ModuleSpec | None] = {}

    def enter(self, package: ModuleType) -> None:
        """Be the first that looks for modules of a package."""
        if self._of_entry not in sys.path_hooks:
            sys.path_hooks.append(self._of_entry)
        if _ENTRY not in package.__path__:
            package.__path__ = [_ENTRY, *package.__path__]

    def _of_entry(self, entry: str) -> InZarrsPlace:
        if entry != _ENTRY:
            raise ImportError(entry)
        return self

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of a part of zarrcore under its name in zarr-python."""
        found = self._found(name)
        if found is None:
            return None
        return ModuleSpec(name, self, is_package=found.submodule_search_locations is not None)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of zarrcore, which keeps its own name."""
        from importlib import import_module

        found = self._found(spec.name)
        assert found is not None
        module = import_module(found.name)
        if hasattr(module, "__path__"):
            self.enter(module)
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)

    def _found(self, name: str) -> ModuleSpec | None:
        """Return the specification of what has a name of zarr-python."""
        part = name.removeprefix("zarr.")
        own = self._package.__name__
        top = getattr(sys.modules.get("zarr"), "__name__", None)
        if part == name or top not in (own, f"{own}.compat.zarr"):
            return None
        from importlib.util import find_spec

        above, _, last = name.rpartition(".")
        parent = sys.modules[above].__name__  # has been loaded, from here
        found = find_spec(f"{parent}.{last}")
        return found or find_spec(f"{own}.{_PLACES.get(part, part)}")
