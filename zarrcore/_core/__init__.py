# SPDX-License-Identifier: MIT
"""The compiled modules, for the main interpreter of a process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any


def _refuse_subinterpreters() -> None:
    """Raise ImportError in a subinterpreter, before any module is loaded: one that fails is lost for all.

    Threads of the pool call stores through PyGILState_Ensure, which knows the main interpreter alone: objects
    of another one would get mixed up with its own.
    """
    for name in ("_interpreters", "_xxsubinterpreters"):  # of CPython 3.13, and older
        try:
            interpreters: Any = __import__(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError("zarrcore works in the main interpreter only, not in a subinterpreter")
        return


_refuse_subinterpreters()


def load_modules(package: str, modules: Mapping[str, str]) -> None:
    """Load the compiled modules of a package, which are in one shared object, `_modules`.

    They share what is linked into it: one C core, with one pool of threads.  `modules` has them each after
    those that it needs, and the names in them that the package offers.
    """
    parent = sys.modules[package]
    found = PathFinder.find_spec(f"{package}._modules", parent.__path__)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"{package}: the compiled modules are missing", name=f"{package}._modules")
    for module, names in modules.items():
        full = f"{package}.{module}"
        if full not in sys.modules:  # an earlier import may have failed half-way
            _load(full, found.origin)
        loaded = sys.modules[full]
        vars(parent).update({module: loaded} | {name: getattr(loaded, name) for name in names.split()})


def _load(name: str, path: str) -> None:
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
