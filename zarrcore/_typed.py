"""What the module typing has for tuples and dictionaries, without compiling the text of each annotation.

The annotations stay as they are written.  In all else the classes of tuples are those of typing; of the
classes of dictionaries, which are for type checkers alone, nothing but the annotations is left.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Annotated as Annotated
    from typing import NamedTuple as NamedTuple
    from typing import TypedDict as TypedDict


class _NamedTuples(type):
    """Makes the classes that are derived from NamedTuple, which are no classes of this one."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        names = namespace.get("__annotations__", {})
        defaults = [namespace[field] for field in names if field in namespace]
        made = namedtuple(name, names, defaults=defaults, module=namespace["__module__"])  # type: ignore[misc]
        for key, value in namespace.items():
            if key not in names and key != "__module__":
                setattr(made, key, value)
        return made


class _TypedDict:
    """Stands for a class of dictionaries: it has the annotations of all its bases, and nothing else."""

    def __init__(self, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], **_: bool) -> None:
        self.__name__ = name
        self.__doc__ = namespace.get("__doc__")
        self.__annotations__ = {}
        for base in bases:
            self.__annotations__ |= base.__annotations__
        # From Python 3.14 on classes alone know how to make them.
        self.__annotations__ |= namespace.get("__annotations__") or type(name, (), namespace).__annotations__


class _Annotated:
    """A type, or the text of one, with more about what has it."""

    def __init__(self, origin: Any, *metadata: Any) -> None:
        self.__origin__ = origin
        self.__metadata__ = metadata

    def __class_getitem__(cls, items: tuple[Any, ...]) -> _Annotated:
        return cls(*items)


if not TYPE_CHECKING:
    Annotated = _Annotated
    NamedTuple = type.__new__(_NamedTuples, "NamedTuple", (), {})
    TypedDict = _TypedDict("TypedDict", (), {})
