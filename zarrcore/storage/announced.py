"""Changes of keys, announced to the engine: whatever it has kept of their values counts no more.

Every store class has those of its methods wrapped that change values, so that no caller can forget it.
"""

from __future__ import annotations

import sys
from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from zarrcore.storage.validation import is_document

if TYPE_CHECKING:
    from collections.abc import Callable


def _prefix(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


_ONE_KEY = ("set", "set_if_not_exists", "delete")  # methods that change the key that is their first argument

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
_ENGINE = "zarrcore._core.engine"  # not loaded, or loaded in part, it has kept nothing
_while_changing: Any = None  # the engine's function of that name, once it is loaded

_documents_too = False


def announce_documents() -> None:
    """Announce changes of metadata documents from now on: the engine keeps nothing of them, but others do."""
    global _documents_too
    _documents_too = True


def announce_changes(cls: type) -> None:
    """Have the methods that a store class defines itself announce the keys that they change."""
    own = vars(cls)
    for name in filter(own.__contains__, _ONE_KEY):
        if isfunction(own[name]):
            setattr(cls, name, _announcing_one(own[name]))
    for name in filter(own.__contains__, _CHANGED):
        if isfunction(own[name]):
            setattr(cls, name, _announcing(own[name], _CHANGED[name], many=name in _MANY))


def _of_engine() -> Any:
    global _while_changing
    _while_changing = getattr(sys.modules.get(_ENGINE), "while_changing", None)
    return _while_changing


def _announcing_one(method: Any) -> Any:
    @wraps(method)
    def announced(self: Any, key: str, *args: Any, **kwargs: Any) -> Any:
        while_changing = _while_changing or _of_engine()
        if while_changing is None or (not _documents_too and is_document(key)):
            return method(self, key, *args, **kwargs)
        return while_changing(self._scope(""), (key,), method, (self, key, *args), kwargs)

    return announced


def _announcing(method: Any, changed: Callable[..., list[str]], *, many: bool) -> Any:
    @wraps(method)
    def announced(self: Any, *args: Any, **kwargs: Any) -> Any:
        while_changing = _while_changing or _of_engine()
        if while_changing is None:
            return method(self, *args, **kwargs)
        if many and args:
            args = ([*args[0]], *args[1:])
        elif many:
            kwargs = {name: [*value] for name, value in kwargs.items()}
        keys = [key for key in changed(*args, *kwargs.values()) if _documents_too or not is_document(key)]
        if not keys:
            return method(self, *args, **kwargs)
        return while_changing(self._scope(""), keys, method, (self, *args), kwargs)

    return announced
