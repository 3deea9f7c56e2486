"""Changes of keys, announced to the engine: whatever it has kept of their values counts no more.

Every store class has those of its methods wrapped that change values, so that no caller can forget it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from sys import modules
from typing import Any, TypeVar

from zarrcore.storage.validation import is_document

MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def _prefix(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


# Methods that change the key that is their first argument.
_ONE_KEY = ("set", "set_if_not_exists", "delete", "_replace_version", "_set_parts")

# For each other method the keys that a call changes, from its arguments; a prefix ends with a slash.
_CHANGED: dict[str, Callable[..., list[str]]] = {
    "set_partial_values": lambda parts, *rest: [key for key, *_ in parts],
    "erase_values": lambda keys, *rest: keys,
    "erase_prefix": lambda prefix, *rest: [_prefix(prefix)],
    "delete_dir": lambda prefix, *rest: [_prefix(prefix)],
    "clear": lambda *rest: [""],
    "_rename_prefix": lambda source, dest, *rest: [_prefix(source), _prefix(dest)],
}
_MANY = ("erase_values", "set_partial_values")  # take an iterable, which can be walked once
ENGINE = "zarrcore._core.engine"  # not loaded, or loaded in part, it has kept nothing
_documents_too = False


def announce_documents() -> None:
    """Announce changes of metadata documents from now on: the engine keeps nothing of them, but others do."""
    global _documents_too
    _documents_too = True


def announce_changes(cls: type) -> None:
    """Have the methods that a store class defines itself announce the keys that they change."""
    for name, method in [*vars(cls).items()]:
        changes = name in _ONE_KEY or name in _CHANGED
        if changes and isfunction(method) and not hasattr(method, "announces"):
            setattr(cls, name, announces_itself(_announcing(name, method)))


def announces_itself(method: MethodT) -> MethodT:
    """Mark a method that has the engine announce the keys that it changes."""
    method.announces = True  # type: ignore[attr-defined]
    return method


def changed_by(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """Return the keys and prefixes that a call of a method of a store changes."""
    if method in _ONE_KEY:
        return [args[0] if args else kwargs["key"]]
    return _CHANGED[method](*args, *kwargs.values()) if method in _CHANGED else []


def repeatable(
    method: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, with a list of keys in place of what can be walked once."""
    if method not in _MANY:
        return args, kwargs
    if args:
        return ([*args[0]], *args[1:]), kwargs
    return args, {name: [*value] for name, value in kwargs.items()}


def _announcing(name: str, method: Any) -> Any:
    has_one_key = name in _ONE_KEY

    @wraps(method)
    def announced(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            while_changing = modules[ENGINE].while_changing
        except (KeyError, AttributeError):
            return method(self, *args, **kwargs)
        if has_one_key and args:
            keys = () if not _documents_too and is_document(args[0]) else args[:1]
        else:
            args, kwargs = repeatable(name, args, kwargs)
            keys = tuple(k for k in changed_by(name, args, kwargs) if _documents_too or not is_document(k))
        if not keys:
            return method(self, *args, **kwargs)
        return while_changing(self._scope(""), keys, method, (self, *args), kwargs)

    return announced
