"""Docstrings of everything public: a first line that begins with a verb, and every parameter named."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

import zarrcore

PUBLIC = [
    "zarrcore",
    *(f"zarrcore.{name}" for name in ("codecs", "config", "dtypes", "errors", "grids", "kernels", "keys")),
    *(f"zarrcore.{name}" for name in ("metadata", "migration", "registry", "storage", "transformers")),
]

#: What first lines begin with.  A new verb is welcome here; a noun is not.
VERBS = set(
    """
    Add Append Call Change Check Close Compare Compress Compute Convert Copy Create Decode Decompress Encode
    Find Forget Iterate List Make Move Open Overwrite Pack Parse Permute Print Raise Read Register Release
    Remove Repair Replace Restore Return Reverse Rewrite Set Store Unpack Write Yield
    """.split()
)


def public_routines() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function and every public method of a public class, with its name."""
    for name in PUBLIC:
        module = import_module(name)
        for public in module.__all__:
            found = getattr(module, public)
            if not inspect.isclass(found):
                yield public, found
                continue
            for member in vars(found):
                if member[0] != "_":
                    yield f"{public}.{member}", getattr(found, member)


def is_ours(routine: Any) -> bool:
    # From CPython 3.14 on a cached property says in which module it is, too.
    is_routine = inspect.isroutine(routine) and not isinstance(routine, cached_property)
    return is_routine and (routine.__module__ or "").startswith("zarrcore")


ROUTINES = {where: routine for where, routine in public_routines() if is_ours(routine)}


def docstring(where: str) -> str:
    """The docstring of a routine, for one of AsyncArray or AsyncGroup with that of its synchronous form."""
    text = inspect.getdoc(ROUTINES[where]) or ""
    name, _, member = where.removeprefix("Async").partition(".")
    twin = getattr(getattr(zarrcore, name, None), TWINS.get(member, member), None)
    return f"{text}\n{inspect.getdoc(twin)}" if where.startswith("Async") and twin is not None else text


TWINS = {"getitem": "__getitem__", "setitem": "__setitem__", "delitem": "__delitem__"}


def names(text: str, parameter: str) -> bool:
    """Return whether a docstring describes a parameter: under "Parameters", or in its sentences."""
    listed = rf"^\s*(?:\*{{0,2}}\w+, )*\*{{0,2}}{parameter}(?:, \*{{0,2}}\w+)*(?: :|$)"
    return bool(re.search(rf"{listed}|`{parameter}`", text, re.MULTILINE))


def test_there_are_many() -> None:
    assert len(ROUTINES) > 500


def test_the_first_line_begins_with_a_verb() -> None:
    for where in ROUTINES:
        text = re.sub(r"^\S+\(.*\) -> .*\s+", "", docstring(where))  # Cython begins with the signature
        assert text, f"{where} has no docstring"
        assert text.split()[0] in VERBS, f"{where}: {text.splitlines()[0]}"


def test_every_parameter_is_described() -> None:
    """In the docstring itself, or in that of the function to which it refers."""
    for where, routine in ROUTINES.items():
        text = docstring(where)
        parameters = [name for name in inspect.signature(routine).parameters if name[0] != "_"]
        refers = re.search(r":(?:func|meth|class):`", text)
        missing = [name for name in parameters if name not in ("self", "cls") and not names(text, name)]
        assert refers or missing == [], where


@pytest.mark.parametrize("name", ["Group", "AsyncGroup"])
def test_help_says_what_methods_of_groups_return(name: str) -> None:
    cls = getattr(zarrcore, name)
    shown = [line for line in pydoc.plain(pydoc.render_doc(cls)).splitlines() if "(" in line]
    assert [line for line in shown if re.search(r"-> '?\w*(ArrayT|GroupT)", line)] == []
    result = "Array" if name == "Group" else "Awaitable[AsyncArray]"
    for method in (cls.get_array, cls.create_array, cls.zeros):
        assert inspect.signature(method).return_annotation == result
    assert inspect.signature(cls.open).parameters.keys() == {
        "store",
        "zarr_format",
        "use_consolidated",
        "storage_options",
    }

    class Own(cls):  # type: ignore[misc]
        """A subclass needs nothing more."""

    assert Own.get_array is cls.get_array
