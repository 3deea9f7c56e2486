"""Dataclasses whose methods are compiled when they are first used.

:func:`dataclasses.dataclass` compiles up to six methods of each class when the module that has the class is
imported, and most of them are never called: that was a fifth of what zarrcore took to open its first array.
In all else what is made here is a dataclass: for :func:`dataclasses.fields` and :func:`dataclasses.replace`,
for classes derived from it, for pickles and for type checkers.
"""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass


def _dataclass(cls: Any = None, /, **options: bool) -> Any:
    """Make a dataclass of a class, with the options eq, frozen, kw_only and repr."""
    if cls is None:
        return partial(_dataclass, **options)
    own = vars(cls)
    chosen = {"eq": True, "frozen": False, "kw_only": False, "repr": True} | options
    _declare(cls, chosen)
    methods: dict[str, Any] = {"__init__": _Late(cls, "__init__")}
    if chosen["repr"]:
        methods["__repr__"] = _repr
    if chosen["eq"]:
        methods["__eq__"] = _late(cls, "__eq__")
        methods["__hash__"] = _late(cls, "__hash__") if chosen["frozen"] else None
        if "__eq__" in own and own["__hash__"] is None:  # which Python has added
            del cls.__hash__
    if chosen["frozen"]:
        methods |= _guards(cls)
    if "__slots__" in own:
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    if sys.version_info >= (3, 13):
        methods["__replace__"] = dataclasses.replace
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _declare(cls: Any, chosen: dict[str, bool]) -> None:
    """Give a class what the functions of the module dataclasses look for, made when it is first looked up."""
    declared = {name: vars(cls)[name] for name in cls.__annotations__ if name in vars(cls)}
    for name, value in declared.items():
        if isinstance(value, dataclasses.Field):
            delattr(cls, name)
            if value.default is not dataclasses.MISSING:
                setattr(cls, name, value.default)
    for name in _DECLARED:
        setattr(cls, name, _Declared(cls, name, declared, chosen))


_DECLARED = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")


class _Declared:
    """What a dataclass has beside its methods, made and put in its place when some of it is looked up."""

    def __init__(self, owner: type, name: str, declared: dict[str, Any], chosen: dict[str, bool]) -> None:
        self._owner = owner
        self._name = name
        self._declared = declared
        self._chosen = chosen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = self._made()
        for name in _DECLARED:
            setattr(self._owner, name, made[name])
        return made[self._name]

    def _made(self) -> dict[str, Any]:
        cls, chosen = self._owner, self._chosen
        # The module finds the fields itself, in a class that has nothing else.  It would look for ClassVar
        # and its like in the text of each type, which takes longest.
        types = {name: text if "Var" in str(text) else object for name, text in cls.__annotations__.items()}
        body = {"__annotations__": types, "__module__": cls.__module__}
        plain: Any = type(cls.__name__, (), self._declared | body)
        plain.__doc__ = cls.__doc__ or cls.__name__  # or it would look for its signature
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=chosen["kw_only"])(plain)
        for name, field in plain.__dataclass_fields__.items():
            field.type = cls.__annotations__[name]
        fields: dict[str, Any] = {}
        for base in (*cls.__mro__[:0:-1], plain):
            fields |= getattr(base, "__dataclass_fields__", {})
        params = plain.__dataclass_params__
        for name in ("eq", "frozen", "repr"):
            setattr(params, name, chosen[name])
        params.init = True
        plain.__dataclass_fields__ = fields
        names = tuple(field.name for field in _arguments(plain) if not field.kw_only)
        return dict(zip(_DECLARED, (fields, params, names), strict=True))


def _arguments(cls: Any) -> list[Any]:
    """Return the fields of a class that are arguments, in their order."""
    fields = [field for field in dataclasses.fields(cls) if field.init]
    return sorted(fields, key=lambda field: field.kw_only)


def _late(owner: type, name: str) -> Any:
    """Return a method that is compiled, and put in its place, when it is first called.

    Not when it is looked up: what is raised there, as by Ctrl-C, is lost for Python where it compares or
    hashes, and items were different then, or had no hash.
    """

    def method(self: Any, *others: Any) -> Any:
        return _compiled(owner, name)(self, *others)

    method.__name__, method.__qualname__ = name, f"{owner.__qualname__}.{name}"
    return method


def _compiled(owner: type, name: str) -> Any:
    arguments, body, known = _TEXTS[name](owner)
    known["__name__"] = owner.__module__
    exec(f"def {name}(self{arguments}):\n " + "\n ".join(body), known)
    method = known[name]
    method.__qualname__ = f"{owner.__qualname__}.{name}"
    if name == "__init__":
        method.__annotations__ = {field.name: field.type for field in _arguments(owner)}
        method.__annotations__["return"] = None
    setattr(owner, name, method)
    return method


class _Late:
    """A method that is compiled, and put in its place, when it is first looked up."""

    def __init__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return _compiled(self._owner, self._name).__get__(instance, owner)


_Text = tuple[str, list[str], dict[str, Any]]  # arguments after self, lines, and what their names mean


class _Made:
    """The default of an argument that a function makes, in signatures."""

    def __repr__(self) -> str:
        return "<factory>"


def _init(cls: Any) -> _Text:
    arguments, body = "", []
    known: dict[str, Any] = {"_keep": object.__setattr__, "_made": _Made()}
    for field in _arguments(cls):
        name = value = field.name
        if field.kw_only and "*" not in arguments:
            arguments += ", *"
        arguments += f", {name}"
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _made else {name}"
            arguments += "=_made"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            arguments += f"=_default_{name}"
        frozen = cls.__dataclass_params__.frozen
        body.append(f"_keep(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return arguments, body or ["pass"], known


def _values(cls: Any, of: str) -> str:
    """Return the text of a tuple of what is compared."""
    names = (field.name for field in dataclasses.fields(cls) if field.compare)
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _eq(cls: type) -> _Text:
    equal = f"{_values(cls, 'self')} == {_values(cls, 'other')}"
    return ", other", [f"return {equal} if other.__class__ is self.__class__ else NotImplemented"], {}


def _hash(cls: type) -> _Text:
    return "", [f"return hash({_values(cls, 'self')})"], {}


_TEXTS = {"__init__": _init, "__eq__": _eq, "__hash__": _hash}


@recursive_repr()
def _repr(self: Any) -> str:
    names = (field.name for field in dataclasses.fields(self) if field.repr)
    shown = ", ".join(f"{name}={_shown(getattr(self, name))}" for name in names)
    return f"{type(self).__qualname__}({shown})"


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except (OverflowError, ValueError):  # a time of NumPy that no calendar has, or without a unit
        is_time = getattr(getattr(value, "dtype", None), "kind", "") == "M"
        return f"{value.view('i8')} in steps of {value.dtype}" if is_time else f"<{type(value).__name__}>"


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in _names(type(self))]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(_names(type(self)), state, strict=True):
        object.__setattr__(self, name, value)


def _names(cls: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]


def _guards(cls: Any) -> dict[str, Any]:
    """Return the methods of a frozen class that refuse changes."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in _names(cls):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in _names(cls):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


if not TYPE_CHECKING:
    dataclass = _dataclass
